"""What can't be undone in a process: the devices that JAX found, the types registered with it."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Container, Hashable
from dataclasses import dataclass
from typing import Any, Final

import jax

from .scripts import State, equal
from .state import StateSlot

# --- devices: JAX looks for them once, and the settings of that moment decide for all requests


class Devices:
    """The settings under which this process looks, or looked, for devices."""

    def __init__(self) -> None:
        self.settings: State | None = None
        self.settled = False  # whether it surely did

    def others(self, now: State) -> str:
        """Why the devices may differ from those that ``now`` asks for, or ``""``."""
        asked = {key: new for key, new in now.items() if _decide(*key)}
        if self.settings is None:
            self.settings = asked
        if equal(self.settings, asked):
            return ""
        slot, name = next(iter(asked or self.settings))
        return f"{slot.label(name)} had another value when JAX looked for devices"

    def settle(self) -> None:
        """Make JAX look for devices if a request sets their number."""
        if self.settings and not self.settled:
            with contextlib.suppress(Exception):  # this machine has none of that kind
                jax.devices()
                self.settled = True


def _decide(slot: StateSlot, key: Hashable) -> bool:
    """Whether JAX reads a setting only when it first looks for devices."""
    if slot.name == "os.environ":
        return str(key).startswith("XLA_")
    return slot.name == "jax.config" and any(word in str(key) for word in _OF_DEVICES)


_OF_DEVICES: Final = ("platform", "num_cpu_devices", "_backend", "cpu_collectives", "distributed")


# --- types registered with JAX

#: The public functions that register a type with JAX for good; each takes the type first.
_REGISTERING: Final = (
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_pytree_key_paths",
    "register_dataclass",
    "register_static",
)


@dataclass(frozen=True)
class _Registration:
    by: str  # the module whose body registered it, "" for a traced function
    request: int
    type: type


class Registrations:
    """Registrations of types that the registering module doesn't define: others may hold them.

    ``by_whom`` returns the module whose body runs, and the number of the request.
    """

    def __init__(self, by_whom: Callable[[], tuple[str, int] | None]) -> None:
        self.by_whom = by_whom
        self.all: list[_Registration] = []

    def install(self) -> None:
        """Make JAX's functions note what they register."""
        for name in _REGISTERING:
            plain = getattr(jax.tree_util, name, None)
            if plain is not None:
                setattr(jax.tree_util, name, self._noting(plain))

    def foreign(self, active: Container[str], base: Container[str], request: int) -> str:
        """A type registered only for other requests that this one can reach, in words."""
        for registration in self.all:
            home = registration.type.__module__
            reachable = home in active or home.partition(".")[0] in base
            if reachable and registration.by not in active and registration.request != request:
                by = f"by {registration.by} " if registration.by else ""
                return (
                    f"{home}.{registration.type.__qualname__} was registered {by}for another block"
                )
        return ""

    def _noting(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(plain)
        def register(*args: Any, **more: Any) -> Any:
            if args and isinstance(args[0], type):
                caller = str(sys._getframe(1).f_globals.get("__name__", ""))
                self._note(args[0], caller.partition(".")[0])
            return plain(*args, **more)

        return register

    def _note(self, registered: type, caller: str) -> None:
        who = self.by_whom()
        if who is None:
            return
        home = registered.__module__
        local = "<locals>" in registered.__qualname__  # no other module can have it
        if not local and home != who[0] and home.partition(".")[0] != caller:
            self.all.append(_Registration(*who, registered))
