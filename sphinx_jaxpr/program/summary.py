"""How a variant differs from its base, in one computed line.

Every number comes from the match of the two programs; the transform's name is
never looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from .bodies import bare as shape_of
from .match import ADDED, RESHAPED, Match
from .model import Equation, Printed, Program, Variable, walk

_TYPE = re.compile(r"(?P<dtype>[^\[\]{}]+)\[(?P<dims>[^\]]*)\](?:\{(?P<mark>[^}]*)\})?")


@dataclass(frozen=True)
class Part:
    """One way in which a transform acted: a verb, and what it did."""

    verb: str
    text: str


def summary(base: Printed, variant: Printed, found: Match) -> tuple[Part, ...]:
    """The parts of the line: ``grows``, ``reshapes``, ``splits``, ``nests``, ``drops``, ``keeps``.

    Empty where one of the two is no program.
    """
    if base.program is None or variant.program is None:
        return ()
    parts = [
        *_grows(base.program, variant.program, found),
        *_nests(base.program, variant, found),
        *_reshapes(base, variant, found),
        *_drops(base, found),
    ]
    if not parts:
        parts.append(Part("keeps", f"all {_equations(len(base.program.equations))}"))
    return tuple(parts)


def counts(printed: Printed) -> tuple[int, int]:
    """Equations at the top level, and at any depth (a shared program once)."""
    if printed.program is None:
        return 0, 0
    shared = sum(1 for _, program in printed.shared for _ in walk(program))
    return len(printed.program.equations), shared + sum(1 for _ in walk(printed.program))


def _equations(count: int) -> str:
    return f"{count} equation{'' if count == 1 else 's'}"


def _grows(base: Program, variant: Program, found: Match) -> list[Part]:
    before, after = len(base.equations), len(variant.equations)
    if after <= before or found.nested:
        return []
    new = Counter(e.primitive for e in variant.equations if found.change[e.start] == ADDED)
    text = f"{before} \u2192 {_equations(after)}"
    if 0 < len(new) <= 3:
        named = ", ".join(name if n == 1 else f"{n} \u00d7 {name}" for name, n in new.items())
        text += f", adds {named}"
    return [Part("grows", text)]


def _nests(base: Program, variant: Printed, found: Match) -> list[Part]:
    if not found.nested:
        return []
    total = len(base.equations)
    parts = []
    for equation in variant.walk():
        for parameter in equation.parameters:
            for program in parameter.programs:
                count = found.nested.get(program.start, 0)
                if count:
                    whole = "the body" if count == total else f"{count} of {_equations(total)}"
                    parts.append(Part("nests", f"{whole} in {equation.primitive}.{parameter.name}"))
    return parts


def _reshapes(base: Printed, variant: Printed, found: Match) -> list[Part]:
    """Values with another shape than their partner's, among those of the same programs."""
    partners = {equation.start: equation for equation in base.walk()}
    fronts: Counter[int] = Counter()
    splits: Counter[str] = Counter()
    other = total = 0
    for program in _compared(variant, found):
        for equation in program.equations:
            total += len(equation.outputs)
            if found.change[equation.start] != RESHAPED:
                continue
            partner = partners[found.partner[equation.start]]
            for old, new in zip(partner.outputs, equation.outputs, strict=False):
                front, axis = _front(old, new), _split(old, new)
                if front:
                    fronts[front] += 1
                elif axis:
                    splits[axis] += 1
                elif shape_of(old.type) != shape_of(new.type):
                    other += 1
    parts = [
        Part("reshapes", f"{n} of {total} values (axis of {size} in front)")
        for size, n in fronts.items()
    ]
    parts += [Part("splits", f"{n} of {total} values over {axis}") for axis, n in splits.items()]
    if other:
        parts.append(Part("reshapes", f"{other} of {total} values"))
    return parts


def _compared(variant: Printed, found: Match) -> list[Program]:
    """The programs in which equations of the base were found again."""
    programs = [program for _, program in variant.shared]
    if variant.program is not None:
        programs.append(variant.program)
    for equation in variant.walk():
        programs.extend(equation.programs)
    return [
        program
        for program in programs
        if any(equation.start in found.partner for equation in program.equations)
    ]


def _dims(variable: Variable) -> tuple[str, list[str], str] | None:
    parsed = _TYPE.fullmatch(variable.type)
    if parsed is None:
        return None
    dims = parsed["dims"].split(",") if parsed["dims"] else []
    return parsed["dtype"], dims, parsed["mark"] or ""


def _front(old: Variable, new: Variable) -> int:
    """The size of an axis that ``new`` has in front of ``old``'s, or 0."""
    before, after = _dims(old), _dims(new)
    if before is None or after is None or before[0] != after[0]:
        return 0
    fits = after[1][1:] == before[1] and after[1] and after[1][0].isdigit()
    return int(after[1][0]) if fits else 0


def _split(old: Variable, new: Variable) -> str:
    """The mesh axes over which ``new`` holds a part of ``old``, or nothing."""
    before, after = _dims(old), _dims(new)
    if before is None or after is None or len(before[1]) != len(after[1]) or not after[2]:
        return ""
    smaller = False
    for one, two in zip(before[1], after[1], strict=True):
        if one == two:
            continue
        if not (one.isdigit() and two.isdigit() and int(two) and int(one) % int(two) == 0):
            return ""
        smaller = True
    return after[2].removeprefix("V:") if smaller else ""


def _drops(base: Printed, found: Match) -> list[Part]:
    gone = dropped(base, found)
    return [Part("drops", _names(gone))] if gone else []


def dropped(base: Printed, found: Match) -> list[Equation]:
    """The equations of the base without a partner, in printed order."""
    gone = frozenset(found.removed)
    return [equation for equation in base.walk() if equation.start in gone] if gone else []


def in_words(equation: Equation) -> str:
    """An equation without types and parameters: ``c = tanh b``."""
    results = _some([variable.name for variable in equation.outputs])
    operands = _some([operand.text for operand in equation.inputs])
    return f"{results} = {equation.primitive} {operands}".strip().removeprefix("= ")


def _some(words: list[str], most: int = 6) -> str:
    """Words with blanks; of many only the first."""
    return " ".join(words if len(words) <= most else [*words[: most - 1], "..."])


def _names(equations: list[Equation]) -> str:
    named = Counter(equation.primitive for equation in equations)
    if len(named) > 3:
        return _equations(len(equations))
    return ", ".join(name if n == 1 else f"{n} \u00d7 {name}" for name, n in named.items())
