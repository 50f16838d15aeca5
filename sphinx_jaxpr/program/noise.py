"""Which printed lines say little: parameters with neutral values, and huge ones."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from .model import Equation, Parameter, Printed

#: Values that say that something is not there or not done.
NEUTRAL: Final = frozenset({"None", "False", "()", "{}", "[]", "frozenset()", "set()", "''"})
#: Values that a parameter has unless somebody asks for another.
DEFAULTS: Final = {
    ("scan", "unroll"): "1",
    ("remat2", "prevent_cse"): "True",
    ("checkpoint", "prevent_cse"): "True",
    ("shard_map", "check_vma"): "True",
    ("gather", "indices_are_sorted"): "False",
    ("dot_general", "precision"): "None",
}
#: Characters from which a value is huge.
HUGE: Final = 160


@dataclass(frozen=True, slots=True)
class Fold:
    """Neighbouring lines that may be folded, and the parameters on them."""

    first: int
    last: int
    names: tuple[str, ...]


def is_noise(equation: Equation, parameter: Parameter, text: str) -> bool:
    """Whether a parameter is neutral or huge; one that holds a program never is."""
    value = text[parameter.start : parameter.end]
    if parameter.members or "{ lambda" in value:  # also one that an object's repr shows
        return False
    default = DEFAULTS.get((equation.primitive, parameter.name))
    neutral = value in NEUTRAL or value == default or set(value) <= set("(False, )")
    return neutral or len(value) > HUGE


def folds(printed: Printed) -> list[Fold]:
    """Lines that hold nothing but such parameters, two or more together or a huge one."""
    starts = [0, *(place + 1 for place, c in enumerate(printed.text) if c == "\n")]
    found: list[Fold] = []
    for equation in printed.walk():
        run: list[tuple[int, int, str]] = []
        for parameter in equation.parameters:
            lines = _own_lines(parameter, printed.text, starts)
            if lines is None or not is_noise(equation, parameter, printed.text):
                found.extend(_fold(run, printed.text, starts))
                run = []
            elif run and lines[0] != run[-1][1] + 1:
                found.extend(_fold(run, printed.text, starts))
                run = [(*lines, parameter.name)]
            else:
                run.append((*lines, parameter.name))
        found.extend(_fold(run, printed.text, starts))
    return found


def _own_lines(parameter: Parameter, text: str, starts: list[int]) -> tuple[int, int] | None:
    """First and last line of ``name=value`` where nothing else stands on them."""
    begin = parameter.start - len(parameter.name) - 1
    first, last = bisect_right(starts, begin) - 1, bisect_right(starts, parameter.end - 1) - 1
    end = text.find("\n", parameter.end)
    around = text[starts[first] : begin] + text[parameter.end : end if end >= 0 else len(text)]
    return None if around.strip() else (first, last)


def _fold(run: list[tuple[int, int, str]], text: str, starts: list[int]) -> list[Fold]:
    if not run:
        return []
    first, last = run[0][0], run[-1][1]
    end = starts[last + 1] if last + 1 < len(starts) else len(text)
    if last == first and end - starts[first] < HUGE:
        return []
    return [Fold(first, last, tuple(name for _, _, name in run))]
