"""What the body of a module changed in its process."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from .state import MISSING, StateSlot, same

#: How the state differs from that of the start, slot by slot and key by key.
State = dict[tuple[StateSlot, Hashable], Any]


class Refused(BaseException):
    """This process can't trace the request as if it were alone; the text says why."""


@dataclass(frozen=True)
class StateChange:
    """One entry of one slot, and what a module's body changed it to."""

    slot: StateSlot
    key: Hashable
    new: Any


@dataclass
class Script:
    """What the body of a module changed and which modules it imported, in order."""

    module: str
    given: State  # how the state differed from the start's when it began
    steps: list[StateChange | str] = field(default_factory=list)
    blurred: set[str] = field(default_factory=set)  # modules that may have done it instead

    def imports(self, name: str) -> None:
        """Note the first import of a name; later ones change nothing."""
        if name not in self.steps:
            self.steps.append(name)


def equal(first: State, second: State) -> bool:
    """Whether two states are the same."""
    return len(first) == len(second) and all(
        same(v, second.get(k, MISSING)) for k, v in first.items()
    )
