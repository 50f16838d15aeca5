"""What functions hold: what can be set of them, and what those with a cache keep."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any, ClassVar

from .places import MISSING, Content, Place


class Function(Place):
    """What can be set of a function: its code, its defaults, its names, its attributes."""

    _NAMES: ClassVar = (
        *("__code__", "__defaults__", "__kwdefaults__"),
        *("__name__", "__qualname__", "__doc__"),
    )

    def __init__(self, name: str, function: Any) -> None:
        self.function = function
        super().__init__(name)
        self.parts = self._parts()

    def _parts(self) -> tuple[Any, ...]:
        fn = self.function
        return (*(getattr(fn, name) for name in self._NAMES), *fn.__dict__.values())

    def read(self) -> Content:
        """Those of the language and the attributes."""
        return {name: getattr(self.function, name) for name in self._NAMES} | dict(
            self.function.__dict__
        )

    def unchanged(self) -> bool:
        """The fast way: the same objects."""
        parts = self._parts()
        if len(parts) == len(self.parts) and all(map(operator.is_, parts, self.parts)):
            return True
        self.parts = parts
        return False

    def write(self, content: Content) -> None:
        """What differs."""
        now = self.read()
        for key in now:
            if key not in content:
                del self.function.__dict__[key]
        for key, value in content.items():
            if now.get(key, MISSING) is not value:
                setattr(self.function, str(key), value)
        self.parts = self._parts()

    def label(self, key: Hashable) -> str:
        """As code names it."""
        return f"{self.name}.{key}"


class Cache(Place):
    """A function that keeps what it computed.

    How full it is says nothing to a program, but what is in it may: it was
    computed for another program, perhaps while that was being traced.
    """

    def __init__(self, name: str, function: Any) -> None:
        self.function = function
        self.size = function.cache_info().currsize
        super().__init__(name)

    def read(self) -> Content:
        """Nothing that can be compared."""
        return {}

    def unchanged(self) -> bool:
        """What it keeps can't be seen."""
        return True

    def write(self, content: Content) -> None:
        """Forget, where more was kept since."""
        if self.function.cache_info().currsize > self.size:
            self.function.cache_clear()
            self.size = 0
