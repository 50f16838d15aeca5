"""What a block says of its program, beside the text: how it was made, its phases, its marks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .match import ADDED, RESHAPED, Match
from .model import EquationFacts, Printed
from .summary import NOWHERE, Part, Places, counts, summary


def acted(
    printed: Printed,
    base: Printed | None,
    found: Match,
    places: Places = NOWHERE,
    before: Places = NOWHERE,
) -> list[Part]:
    """The computed line: first the counts of equations, then how the transform acted.

    ``found`` is the match with ``base``; the base itself, and a text alone, has none.
    ``places`` are those of programs in the facts, ``before`` those of the base's: a program
    that is printed twice counts once.
    """
    if printed.program is None:
        return []
    own, nested = counts(printed, places)
    text = f"{own} equation{'' if own == 1 else 's'}"
    more = f" ({nested} with nested)" if nested != own else ""
    if base is None or base.program is None:
        return [Part("", text + more)]
    parts = list(summary(base, printed, found, places, before))
    if not counts(base)[0] and not own:
        return [Part("", "no equations"), *parts]
    first = Part("", f"{counts(base)[0]} \u2192 {text}{more}")
    if parts and parts[0].verb == "grows":
        adds = parts.pop(0).text.partition(", ")[2]
        first = Part("grows", first.text + (f", {adds}" if adds else ""))
    return [first, *parts]


def phases(printed: Printed, facts: Mapping[int, EquationFacts]) -> list[str]:
    """The phases that the equations are in, in printed order; none if only one."""
    known = [facts[e.start].phase for e in printed.walk() if e.start in facts]
    found = list(dict.fromkeys(phase for phase in known if phase))
    return found if len(found) > 1 else []


def marks(
    printed: Printed,
    facts: Mapping[int, EquationFacts],
    change: Mapping[int, str],
    more: Mapping[int, str] | None = None,
) -> list[tuple[str, str]]:
    """What colours and gutter show in HTML, as text: a mark, and the letters it is on.

    An equation without a letter of its own is named by its primitive.  ``more`` are
    marks of the caller's, which come last.
    """
    several = phases(printed, facts)
    found: dict[str, list[tuple[int, str]]] = {}
    for place, equation in enumerate(printed.walk()):
        letters = [v.name for v in equation.outputs if v.name != "_"]
        names = " ".join(letters) or equation.primitive
        mark = change.get(equation.start, "")
        phase = facts[equation.start].phase if equation.start in facts else ""
        said = (
            mark if mark in (ADDED, RESHAPED) else "",
            phase if phase in several else "",
            (more or {}).get(equation.start, ""),
        )
        for word in filter(None, said):
            found.setdefault(word, []).append((place, names))
    return [(mark, _runs(places)) for mark, places in sorted(found.items(), key=_by_mark)]


_ALSO: Final = ("casts", "unused")
_MARKS: Final = (ADDED, RESHAPED, "forward", "tangent", "transpose", "recomputed", *_ALSO)


def _by_mark(item: tuple[str, list[tuple[int, str]]]) -> int:
    return _MARKS.index(item[0]) if item[0] in _MARKS else len(_MARKS)


def _runs(places: list[tuple[int, str]]) -> str:
    """Letters in printed order, neighbours put together: ``d, h to q``."""
    runs: list[list[tuple[int, str]]] = []
    for place, names in places:
        if runs and runs[-1][-1][0] == place - 1:
            runs[-1].append((place, names))
        else:
            runs.append([(place, names)])
    said = []
    for run in runs:
        ends = (run[0][1], run[-1][1])
        said += [" to ".join(ends)] if len(run) > 2 else [names for _, names in run]
    return ", ".join(said)
