"""Names that JAX changed between versions, from ``renames.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class ParameterRename:
    """A parameter that has, or had, another name; ``new`` is empty where it was removed."""

    primitive: str
    old: str
    new: tuple[str, ...]
    carries: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Renames:
    """The whole table: the names of one primitive, newest first, and the parameters."""

    primitives: tuple[tuple[str, ...], ...]
    parameters: tuple[ParameterRename, ...]

    def names(self, primitive: str) -> tuple[str, ...]:
        """All names of a primitive, its own included."""
        return next((group for group in self.primitives if primitive in group), (primitive,))

    def primitive(self, name: str, present: Collection[str]) -> str:
        """The name under which ``name`` is present, or ``""``."""
        if name in present:
            return name
        return next((other for other in self.names(name) if other in present), "")

    def parameter(self, primitive: str, name: str, present: Collection[str]) -> str:
        """The present parameter whose value is that of ``name``, or ``""``."""
        for rename in self.about(primitive, name):
            for other in (rename.old, *rename.new):
                if rename.carries and other in present:
                    return other
        return ""

    def hint(self, primitive: str, name: str) -> str:
        """What became of a parameter, or ``""``."""
        for rename in self.about(primitive, name):
            if rename.old != name:
                return f"`{name}` was `{rename.old}` in older JAX"
            if not rename.new:
                return f"`{name}` is gone in newer JAX"
            new = " and ".join(f"`{other}`" for other in rename.new)
            said = f"`{name}` became {new} in newer JAX"
            return f"{said}: {rename.note}" if rename.note else said
        return ""

    def about(self, primitive: str, name: str) -> list[ParameterRename]:
        names = self.names(primitive)
        return [r for r in self.parameters if r.primitive in names and name in (r.old, *r.new)]


@cache
def table() -> Renames:
    """The table that comes with this package."""
    data = tomllib.loads(files(__package__).joinpath("renames.toml").read_text("utf-8"))
    return Renames(
        tuple(tuple(row["names"]) for row in data["primitive"]),
        tuple(
            ParameterRename(
                r["primitive"], r["old"], tuple(r["new"]), r["carries"], r.get("note", "")
            )
            for r in data["parameter"]
        ),
    )
