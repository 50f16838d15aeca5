"""The header of a block in words: how a variant differs from its base, its phases, its marks.

Every number comes from the match of the two programs; the transform's name is
never looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from ..model import Equation, EquationFacts, Printed, Program, Variable, programs
from ..text import expect, plural, size_words
from .match import ADDED, KEPT, RESHAPED, Match
from .numbering import bare

# --- how a variant differs from its base, in one computed line

_TYPE = re.compile(r"(?P<dtype>[^\[\]{}]+)\[(?P<dims>[^\]]*)\](?:\{(?P<mark>[^}]*)\})?")
_SHARDED = re.compile(r"@(\([^()]*\)|[^,()]*)")


#: Where programs are in the facts, by their ``start``.
Places: TypeAlias = Mapping[int, int]
NOWHERE: Final[Places] = MappingProxyType({})


@dataclass(frozen=True)
class SummaryPart:
    """One way in which a transform acted: a verb, and what it did."""

    verb: str
    text: str

    def __str__(self) -> str:
        return f"{self.verb} {self.text}".strip()


def summary(
    base: Printed,
    variant: Printed,
    match: Match,
    places: Places = NOWHERE,
    before: Places = NOWHERE,
) -> tuple[SummaryPart, ...]:
    """The parts of the line.

    ``grows``, ``nests``, ``reshapes``, ``splits``, ``drops``, ``rewrites``, ``keeps``.

    Empty where one of the two is not a program.  ``places`` are those of the variant's
    programs in its facts, ``before`` those of the base's: see :func:`distinct`.
    """
    if base.program is None or variant.program is None:
        return ()
    census = _census(distinct(base, before)), _census(distinct(variant, places))
    parts = [
        *([] if match.nested else _grows(base, variant, *census)),
        *_nests(base.program, variant, match),
        *_reshapes(base, variant, match, places),
        *_drops(dropped(base, match, before), *census),
    ]
    count = len(base.program.equations)
    if not parts and count and _is_kept(variant, match):
        parts.append(
            SummaryPart("keeps", f"all {count} equations" if count > 1 else "its one equation")
        )
    return tuple(parts)


def distinct(printed: Printed, places: Places = NOWHERE) -> list[Equation]:
    """The equations at any depth, in printed order, those of a shared program once.

    JAX prints a program that objects hold in each of them, and once more in front.
    ``places`` are those of programs in the facts: texts of one place count once.
    """
    return sorted(
        (e for p in _once(programs(printed), places) for e in p.equations), key=lambda e: e.start
    )


def _once(every: list[Program], places: Places) -> list[Program]:
    """The first of each program's texts."""
    once = {places.get(p.start, -1 - p.start): p for p in reversed(every)}
    return list(once.values())


def counts(printed: Printed, places: Places = NOWHERE) -> tuple[int, int]:
    """Equations at the top level, and at any depth (a shared program once)."""
    if printed.program is None:
        return 0, 0
    return len(printed.program.equations), len(distinct(printed, places))


def _grows(
    base: Printed, variant: Printed, fewer: Counter[str], everywhere: Counter[str]
) -> list[SummaryPart]:
    """More equations at the top level; by which primitives, where few account for all of it.

    What a primitive adds is net: how many more equations of it the variant has.
    """
    assert base.program is not None and variant.program is not None
    before, after = base.program.equations, variant.program.equations
    if len(after) <= len(before):
        return []
    text = f"{len(before)} \u2192 {plural(len(after), 'equation')}"
    more = Counter(e.primitive for e in after)
    more.subtract(e.primitive for e in before)
    named = {name: count for name, count in more.items() if count}
    if len(named) <= 3 and all(
        0 < n <= everywhere[name] - fewer[name] for name, n in named.items()
    ):
        text += f", adds {_list(named)}"
    return [SummaryPart("grows", text)]


def _census(equations: Iterable[Equation]) -> Counter[str]:
    """How many equations of each primitive there are."""
    return Counter(equation.primitive for equation in equations)


def _list(named: Mapping[str, int]) -> str:
    return ", ".join(name if n == 1 else f"{n} \u00d7 {name}" for name, n in named.items())


def _nests(base: Program, variant: Printed, match: Match) -> list[SummaryPart]:
    if not match.nested:
        return []
    total = len(base.equations)
    parts = []
    left, shared = dict(match.nested), variant.named
    for equation in variant.walk():
        for parameter in equation.parameters:
            for member in parameter.members:
                program = shared.get(member) if isinstance(member, str) else member
                count = left.pop(program.start, 0) if program is not None else 0
                if count:
                    whole = (
                        "the body" if count == total else f"{count} of {plural(total, 'equation')}"
                    )
                    parts.append(
                        SummaryPart("nests", f"{whole} in {equation.primitive}.{parameter.name}")
                    )
    return parts


def _reshapes(base: Printed, variant: Printed, match: Match, places: Places) -> list[SummaryPart]:
    """Values with another shape than their partner's, among those of the same programs."""
    before = {v.index: v for equation in base.walk() for v in equation.outputs}
    fronts: Counter[int] = Counter()
    splits: Counter[str] = Counter()
    other = total = 0
    for program in _compared(variant, match, places):
        for equation in program.equations:
            total += len(equation.outputs)
            if match.change[equation.start] != RESHAPED:
                continue
            for new in equation.outputs:
                old = before.get(match.results.get(new.index, -1))
                if old is None:
                    continue
                front, axis = _front(old, new), _split(old, new)
                if front:
                    fronts[front] += 1
                elif axis:
                    splits[axis] += 1
                elif bare(old.type) != bare(new.type):
                    other += 1
    parts = [
        SummaryPart("reshapes", f"{n} of {total} values (axis of {size} in front)")
        for size, n in fronts.items()
    ]
    parts += [
        SummaryPart("splits", f"{n} of {total} values over {axis}") for axis, n in splits.items()
    ]
    if other:
        parts.append(SummaryPart("reshapes", f"{other} of {total} values"))
    return parts


def _compared(variant: Printed, match: Match, places: Places) -> list[Program]:
    """The programs in which equations of the base were found again."""
    found_in = [
        program
        for program in programs(variant)
        if any(equation.start in match.partner for equation in program.equations)
    ]
    return _once(found_in, places)


def _dims(variable: Variable) -> tuple[str, list[str], str] | None:
    parsed = _TYPE.fullmatch(variable.type)
    if parsed is None:
        return None
    # An axis may be sharded over several axes of a mesh: ``f32[8@(a,b),16]``.
    dims = _SHARDED.sub("", parsed["dims"])
    return parsed["dtype"], dims.split(",") if dims else [], parsed["mark"] or ""


def _front(old: Variable, new: Variable) -> int:
    """The size of an axis that ``new`` has in front of ``old``'s, or 0."""
    before, after = _dims(old), _dims(new)
    if before is None or after is None or before[0] != after[0]:
        return 0
    fits = after[1][1:] == before[1] and after[1] and _is_size(after[1][0])
    return int(after[1][0]) if fits else 0


def _is_size(text: str) -> bool:
    """Whether it is a number that an axis can have; a pasted text may hold any."""
    return text.isascii() and text.isdecimal() and len(text) < 20


def _split(old: Variable, new: Variable) -> str:
    """The mesh axes over which ``new`` holds a part of ``old``, or nothing."""
    before, after = _dims(old), _dims(new)
    if before is None or after is None or len(before[1]) != len(after[1]) or not after[2]:
        return ""
    smaller = False
    for whole, part in zip(before[1], after[1], strict=True):
        if whole == part:
            continue
        if not (_is_size(whole) and _is_size(part) and int(part) and int(whole) % int(part) == 0):
            return ""
        smaller = True
    return after[2].removeprefix("V:") if smaller else ""


def _is_kept(variant: Printed, match: Match) -> bool:
    """Whether nothing at all changed."""
    return not match.removed and all(match.change[e.start] == KEPT for e in variant.walk())


def _drops(
    removed: Iterable[Equation], before: Counter[str], after: Counter[str]
) -> list[SummaryPart]:
    """Primitives that the variant has less often; what else it does not compute, it rewrites."""
    gone = _census(removed)
    if not gone:
        return []
    fewer = before - after
    drops = {name: min(n, fewer[name]) for name, n in gone.items() if fewer[name] > 0}
    total = sum(drops.values())
    parts = []
    if drops:
        parts.append(
            SummaryPart("drops", _list(drops) if len(drops) <= 3 else plural(total, "equation"))
        )
    if rewritten := sum(gone.values()) - total:
        parts.append(SummaryPart("rewrites", plural(rewritten, "equation")))
    return parts


def dropped(base: Printed, match: Match, places: Places = NOWHERE) -> list[Equation]:
    """The equations of the base that the variant does not compute, in printed order."""
    gone = frozenset(e.start for e in match.removed)
    holding = [p for p in programs(base) if any(e.start in gone for e in p.equations)]
    return sorted(
        (e for p in _once(holding, places) for e in p.equations if e.start in gone),
        key=lambda e: e.start,
    )


# --- what a block says of its program, beside the text: how it was made, its phases, its marks


def acted(
    printed: Printed,
    base: Printed | None,
    match: Match,
    places: Places = NOWHERE,
    before: Places = NOWHERE,
) -> list[SummaryPart]:
    """The computed line: first the counts of equations, then how the transform acted.

    ``found`` is the match with ``base``; the base itself, and a text alone, has none.
    ``places`` are those of programs in the facts, ``before`` those of the base's: a program
    that is printed twice counts once.
    """
    if printed.program is None:
        return []
    own, nested = counts(printed, places)
    text = plural(own, "equation")
    more = f" ({nested} with nested)" if nested != own else ""
    if base is None or base.program is None:
        return [SummaryPart("", text + more)]
    parts = list(summary(base, printed, match, places, before))
    before_count = len(base.program.equations)
    if not before_count and not own:
        return [SummaryPart("", "no equations"), *parts]
    first = SummaryPart("", f"{before_count} \u2192 {text}{more}")
    if parts and parts[0].verb == "grows":
        adds = parts.pop(0).text.partition(", ")[2]
        first = SummaryPart("grows", first.text + (f", {adds}" if adds else ""))
    return [first, *parts]


def keeps(sizes: Sequence[int | None]) -> list[SummaryPart]:
    """What a program keeps for its backward part, from the bytes of each value.

    A size that is unknown leaves out all of them.
    """
    if not sizes:
        return []
    known = [size for size in sizes if size is not None]
    total = f", {size_words(sum(known))}," if len(known) == len(sizes) else ""
    return [SummaryPart("keeps", f"{plural(len(sizes), 'value')}{total} for the backward part")]


def summarize(match: Match) -> str:
    """How a variant differs from its base, in one line, as a block's header says it.

    >>> base = parse("{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }")
    >>> variant = parse(
    ...     "{ lambda ; a:f32[4,8]. let b:f32[4,8] = tanh a; c:f32[4,8] = neg b in (c,) }"
    ... )
    >>> summarize(match(base, variant))
    'grows 1 \u2192 2 equations, adds neg; reshapes 1 of 2 values (axis of 4 in front)'
    """
    expect(match, Match, "what `match` returns")
    return "; ".join(map(str, acted(match.variant, match.base, match)))


def phases(printed: Printed, facts: Mapping[int, EquationFacts]) -> list[str]:
    """The phases that the equations are in, in printed order; none if only one."""
    each = [facts[e.start].phase for e in printed.walk() if e.start in facts]
    several = list(dict.fromkeys(phase for phase in each if phase))
    return several if len(several) > 1 else []


def marks(
    printed: Printed,
    facts: Mapping[int, EquationFacts],
    change: Mapping[int, str],
    more: Mapping[int, str] | None = None,
) -> list[tuple[str, str]]:
    """What colours and gutter show in HTML, as text: a mark, and the letters it is on.

    An equation that binds no letter is named by its primitive.  ``more`` are
    marks of the caller's, which come last.
    """
    several = phases(printed, facts)
    marked: dict[str, list[tuple[int, str]]] = {}
    for index, equation in enumerate(printed.walk()):
        letters = [v.name for v in equation.outputs if v.name != "_"]
        names = " ".join(letters) or equation.primitive
        mark = change.get(equation.start, "")
        phase = facts[equation.start].phase if equation.start in facts else ""
        words = (
            mark if mark in (ADDED, RESHAPED) else "",
            phase if phase in several else "",
            (more or {}).get(equation.start, ""),
        )
        for word in filter(None, words):
            marked.setdefault(word, []).append((index, names))
    return [(mark, _runs(places)) for mark, places in sorted(marked.items(), key=_by_mark)]


_ALSO: Final = ("casts", "unused")
_MARKS: Final = (ADDED, RESHAPED, "forward", "tangent", "transpose", "recomputed", *_ALSO)


def _by_mark(item: tuple[str, list[tuple[int, str]]]) -> int:
    return _MARKS.index(item[0]) if item[0] in _MARKS else len(_MARKS)


def _runs(places: list[tuple[int, str]]) -> str:
    """Letters in printed order, neighbours put together: ``d, h to q``."""
    runs: list[list[tuple[int, str]]] = []
    for index, names in places:
        if runs and runs[-1][-1][0] == index - 1:
            runs[-1].append((index, names))
        else:
            runs.append([(index, names)])
    parts = []
    for run in runs:
        ends = (run[0][1], run[-1][1])
        parts += [" to ".join(ends)] if len(run) > 2 else [names for _, names in run]
    return ", ".join(parts)
