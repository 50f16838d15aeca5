"""JAX looks for devices once in a process: what the settings were then decides for all requests."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable
from typing import Final

import jax

from .places import Place
from .scripts import State, equal


class Devices:
    """Under which settings this process looks, or looked, for devices."""

    def __init__(self) -> None:
        self.settings: State | None = None
        self.settled = False  # whether it surely did

    def others(self, now: State) -> str:
        """Why the devices may be others than ``now`` asks for, or ``""``."""
        asked = {key: new for key, new in now.items() if _decide(*key)}
        if self.settings is None:
            self.settings = asked
        if equal(self.settings, asked):
            return ""
        place, name = next(iter(asked or self.settings))
        return f"{place.label(name)} was another when JAX looked for devices"

    def settle(self) -> None:
        """Have JAX look for devices, where a request sets how many there are."""
        if self.settings and not self.settled:
            with contextlib.suppress(Exception):  # none of that kind is here
                jax.devices()
                self.settled = True


def _decide(place: Place, key: Hashable) -> bool:
    """Whether JAX reads a setting when it first looks for devices, and never again."""
    if place.name == "os.environ":
        return str(key).startswith("XLA_")
    return place.name == "jax.config" and any(word in str(key) for word in _OF_DEVICES)


_OF_DEVICES: Final = ("platform", "num_cpu_devices", "_backend", "cpu_collectives", "distributed")
