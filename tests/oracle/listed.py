"""An ordered collection, as the views of several equations, values or programs are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .dataflow import Refused


class Listed:
    """An ordered collection."""

    what = "thing"

    def __init__(self, world: Any, items: Iterable[Any]) -> None:
        self.world = world
        self.items = list(items)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __contains__(self, other: object) -> bool:
        return any(item == other for item in self.items)

    def only(self) -> Any:
        """The one element."""
        if len(self.items) != 1:
            raise Refused(f"{len(self.items)} of {self.what}")
        return self.items[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.only(), name)

    def at(self, key: Any) -> Any:
        """An element by its place, or a slice."""
        if isinstance(key, slice):
            if key.start is not None and key.start > len(self.items):
                raise Refused("a slice that begins beyond the end")
            return self.items[key]
        if not -len(self.items) <= key < len(self.items):
            raise Refused(f"no [{key}] of {len(self.items)}")
        return self.items[key]
