"""Where a text breaks into lines, and which lines and equations say little and may be folded."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ..model import Equation, EquationFacts, Parameter, Printed, Program
from ..text import plural

# --- the lines of a text, by offsets into it


class Lines:
    """Where each line of a text begins; lines are counted from 0."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        while newline := text.find("\n", self.starts[-1]) + 1:
            self.starts.append(newline)
        #: The offsets behind the last character of each line.
        self.ends = [*(start - 1 for start in self.starts[1:]), len(text)]
        self._inks: dict[int, tuple[int, int]] = {}

    def at(self, offset: int) -> int:
        """The line of an offset."""
        return bisect_right(self.starts, offset) - 1

    def ink(self, line: int) -> tuple[int, int]:
        """The offsets of a line's first non-blank character, and behind its last."""
        ink = self._inks.get(line)
        if ink is None:
            ink = self._inks[line] = _ink(self.text, self.starts[line], self.ends[line])
        return ink

    def own(self, begin: int, end: int) -> tuple[int, int] | None:
        """First and last line of a part of the text that has its lines to itself."""
        first, last = self.at(begin), self.at(max(end - 1, 0))
        alone = begin <= self.ink(first)[0] and self.ink(last)[1] <= end
        return (first, last) if alone else None

    def owned(self, equations: Iterable[Equation]) -> dict[int, tuple[int, int]]:
        """First and last line of those equations that have theirs to themselves, by ``start``."""
        lines = {equation.start: self.own(equation.start, equation.end) for equation in equations}
        return {start: span for start, span in lines.items() if span is not None}

    def body(self, program: Program) -> tuple[int, int] | None:
        """First and last line of the foldable part of a nested program that spans lines.

        The first one opens it; the one that closes it stays in sight, so that a
        folded program still says what it returns.
        """
        first, head = self.at(program.start), self.at(max(program.header_end - 1, 0))
        last = self.at(max(program.end - 1, 0))
        return None if last - head < 2 else (first, last - 1)


def _ink(text: str, begin: int, end: int) -> tuple[int, int]:
    line = text[begin:end]
    width = len(line) - len(line.lstrip())
    return begin + width, max(begin + len(line.rstrip()), begin)


# --- what says little and may be folded: lines of parameters, and whole equations

#: Values that mean absent or not done.
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
#: Primitives that change the dtype and nothing else.  ``bitcast_convert_type`` gives
#: another value, ``reduce_precision`` the same dtype: both compute something.
CASTS: Final = frozenset({"convert_element_type", "to_edtype", "from_edtype"})

_FALSES: Final = re.compile(r"\((False,?\s*)+\)")

# Why an equation is folded.
UNUSED: Final = "unused"
CAST: Final = "cast"
POINTED: Final = "pointed"


@dataclass(frozen=True, slots=True)
class Fold:
    """Neighbouring lines that may be folded, and the parameters on them."""

    first: int
    last: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring equations that may be folded, by their ``start``; ``text`` names them."""

    starts: tuple[int, ...]
    text: str


def is_noise(equation: Equation, parameter: Parameter, text: str) -> bool:
    """Whether a parameter is neutral or huge; one that holds a program never is."""
    if parameter.members:
        return False
    value = text[parameter.start : parameter.end]
    if "{ lambda" in value:  # one that an object's repr shows
        return False
    default = DEFAULTS.get((equation.primitive, parameter.name))
    neutral = value in NEUTRAL or value == default or _FALSES.fullmatch(value) is not None
    return neutral or len(value) > HUGE


def folds(printed: Printed) -> list[Fold]:
    """Lines that hold nothing but such parameters, two or more together or a huge one."""
    text = printed.text
    lines_of = Lines(text)
    folded: list[Fold] = []
    for equation in printed.walk():
        every = equation.parameters
        if not every or text.find("\n", equation.start, every[-1].start) < 0:
            continue  # none has a line to itself
        run: list[tuple[int, int, str]] = []
        for parameter in every:
            begin = parameter.start - len(parameter.name) - 1
            noise = is_noise(equation, parameter, text)
            lines = lines_of.own(begin, parameter.end) if noise else None
            if lines is None:
                folded.extend(_fold(run, lines_of))
                run = []
            elif run and lines[0] != run[-1][1] + 1:
                folded.extend(_fold(run, lines_of))
                run = [(*lines, parameter.name)]
            else:
                run.append((*lines, parameter.name))
        folded.extend(_fold(run, lines_of))
    return folded


def reasons(
    printed: Printed,
    facts: Mapping[int, EquationFacts],
    words: Collection[str],
    pointed: Collection[int] = (),
) -> dict[int, str]:
    """Why equations may be folded, by their ``start``.

    ``words`` are those of the option ``elide``; ``pointed`` is what its paths
    point at.  Only what the traced object says to be unused counts as that.
    """
    reasons_by_start = dict.fromkeys(pointed, POINTED)
    for equation in printed.walk():
        fact = facts.get(equation.start)
        if "casts" in words and equation.primitive in CASTS:
            reasons_by_start[equation.start] = CAST
        if "dead" in words and fact is not None and fact.unused:
            reasons_by_start[equation.start] = UNUSED
    return reasons_by_start


def runs(printed: Printed, why: Mapping[int, str]) -> list[Run]:
    """Equations to fold, neighbours together, where they have their lines for themselves.

    What is inside a folded equation is folded with it and no further.
    """
    if not why:
        return []
    lines_of = Lines(printed.text)
    folded: list[Run] = []
    todo = [program for _, program in printed.shared]
    todo += [printed.program] if printed.program is not None else []
    while todo:
        run: list[Equation] = []
        inner: list[Program] = []
        for equation in todo.pop().equations:
            lines = lines_of.own(equation.start, equation.end)
            if lines is not None and equation.start in why:
                run.append(equation)
                continue
            folded.extend(_run(run, why))
            run = []
            inner.extend(equation.programs if lines is not None else ())
        folded.extend(_run(run, why))
        todo.extend(inner)
    return folded


def _run(equations: list[Equation], why: Mapping[int, str]) -> list[Run]:
    if not equations:
        return []
    counts = Counter(why[equation.start] for equation in equations)
    parts = []
    if counts[CAST]:
        parts.append(plural(counts[CAST], "cast"))
    if counts[UNUSED]:
        only = len(counts) == 1
        parts.append(
            plural(counts[UNUSED], "unused equation") if only else f"{counts[UNUSED]} unused"
        )
    if counts[POINTED]:
        parts.append(named(e for e in equations if why[e.start] == POINTED))
    text = ", ".join(parts)
    if counts[POINTED] or len(parts) > 1:
        text = f"{plural(len(equations), 'equation')}: {text}"
    return [Run(tuple(equation.start for equation in equations), text)]


def named(equations: Iterable[Equation], most: int = 3) -> str:
    """The primitives of equations, up to ``most`` of them, with how often each is there."""
    counts = Counter(equation.primitive for equation in equations)
    if len(counts) == 1:
        return next(iter(counts))
    names = [name if n == 1 else f"{n} \u00d7 {name}" for name, n in counts.most_common(most)]
    return ", ".join([*names, *(["..."] if len(counts) > most else [])])


def _fold(run: list[tuple[int, int, str]], lines: Lines) -> list[Fold]:
    if not run:
        return []
    first, last = run[0][0], run[-1][1]
    if last == first and lines.ends[last] - lines.starts[first] < HUGE:
        return []
    return [Fold(first, last, tuple(name for _, _, name in run))]
