"""What a list or a verdict looked at: a claim about nothing proves nothing.

An empty list that was made of a path remembers why it is empty, and a verdict that
rests on empty lists alone is an :class:`Idle` one.  It may be part of a larger verdict
that looked at something; a whole expression that is idle says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .base import View
from .facts.parameters import Flag
from .syntax import PathError
from .values import Residuals, Values
from .views import Equations, Programs, ProgramView, Uses


class SaysNothing(PathError):
    """A claim that says nothing: it looked at no equation and no value."""


@dataclass(frozen=True)
class Nothing:
    """Why a list is empty, in words; ``path`` is what has no elements, if it is a path.

    ``is_drawn`` is a list that an operation has drawn from such a one: that it is empty
    says more than that there is none, and says it about nothing.
    """

    text: str
    path: str = ""
    is_drawn: bool = False


class EvidenceList(tuple[Any, ...]):
    """A list made from a path; ``reason`` says why it is empty."""

    reason: Nothing | None


class Pile(frozenset[Any]):
    """A set of such things."""

    reason: Nothing | None


class Idle(Flag):
    """True or false about nothing.

    ``stays`` says that no side of a comparison had anything, so that also the
    contrary would say nothing.
    """

    reason: Nothing | None
    stays: bool


def listing(items: Iterable[Any], reason: Nothing | None = None) -> EvidenceList:
    """A list; ``reason`` counts where it is empty."""
    made = EvidenceList(items)
    made.reason = None if made else reason
    return made


def pile(items: Iterable[Any], reason: Nothing | None = None) -> Pile:
    """A set; ``reason`` counts where it is empty."""
    made = Pile(items)
    made.reason = None if made else reason
    return made


def idle(holds: bool, reason: Nothing, *, stays: bool = False) -> Idle:
    """A verdict about nothing."""
    verdict = Idle(holds)
    verdict.reason, verdict.stays = reason, stays
    return verdict


def reason_of(value: Any) -> Nothing | None:
    """Why there is nothing in a value at which it looked; ``None`` where there is something.

    That nothing uses a value is a fact about it, and so is that nothing is kept for a backward
    part, and a program without equations, where it is compared as a program.
    """
    if isinstance(value, (Idle, EvidenceList, Pile)) and value.reason is not None:
        return value.reason
    if isinstance(value, View):
        return None if isinstance(value, ProgramView) else emptiness(value)
    if isinstance(value, (tuple, frozenset)) and value:
        reasons = [reason_of(item) for item in value]
        return reasons[0] if all(reasons) else None
    return None


def emptiness(value: Any) -> Nothing | None:
    """Why a collection has no elements to look at."""
    match value:
        case Uses() | Residuals():
            return None
        case Equations(equations=()):
            return Nothing(f"`{value.path}` has no equations", value.path)
        case Values(values=()):
            return Nothing(f"`{value.path}` has no values", value.path)
        case Programs(programs=()):
            return Nothing(f"`{value.path}` has no programs", value.path)
        case EvidenceList() | Pile():
            return value.reason
    return None


def drawn(reason: Nothing | None) -> Nothing | None:
    """The reason of what an operation draws from something empty."""
    return None if reason is None else replace(reason, is_drawn=True)


def verdict_of(value: Any) -> Any:
    """A value as a verdict: an idle one where it was drawn from nothing."""
    if isinstance(value, Pile) and value.reason is not None and value.reason.is_drawn:
        return idle(False, value.reason)
    return value


def nothing(reason: Nothing) -> SaysNothing:
    """The error of a whole expression that is idle."""
    how = f"`not {reason.path}`" if reason.path else "`len([...]) == 0` or `not f[primitive]`"
    return SaysNothing(f"this says nothing: {reason.text}; to say that there are none, write {how}")
