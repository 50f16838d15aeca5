"""What JAX changed between versions, from ``renames.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TypedDict


@dataclass(frozen=True, slots=True)
class ParameterRename:
    """A parameter that has, or had, another name.

    ``old`` is empty where it is new, ``new`` where it was removed.  ``neutral``
    are values with which it comes or goes and nothing changes; ``groups`` says
    of a new name which group of its value has as many leaves as the old value says.
    """

    primitives: tuple[str, ...]
    old: str
    new: tuple[str, ...]
    carries: bool
    neutral: tuple[str, ...] = ()
    groups: Mapping[str, int] = field(default_factory=dict)
    seen: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Spelling:
    """Texts of one value of a parameter, as regular expressions; empty: not printed."""

    primitives: tuple[str, ...]
    parameter: str
    level: str
    patterns: tuple[re.Pattern[str], ...]

    def covers(self, old: str, new: str) -> bool:
        """Whether both texts are spellings of the value."""
        return all(any(p.fullmatch(text) for p in self.patterns) for text in (old, new))


@dataclass(frozen=True, slots=True)
class Renames:
    """The whole table: the names of one primitive, newest first, and the parameters."""

    primitives: tuple[tuple[str, ...], ...]
    parameters: tuple[ParameterRename, ...]
    spellings: tuple[Spelling, ...] = ()
    commuting: frozenset[str] = frozenset()
    unordered: frozenset[tuple[str, str]] = frozenset()
    stateful: frozenset[str] = frozenset()
    written: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    former: frozenset[str] = frozenset()
    spoken: frozenset[str] = frozenset()

    def names(self, primitive: str) -> tuple[str, ...]:
        """All names of a primitive, its own included."""
        return next((group for group in self.primitives if primitive in group), (primitive,))

    def primitive(self, name: str, present: Collection[str]) -> str:
        """The name under which ``name`` is present, or ``""``."""
        if name in present:
            return name
        return next((other for other in self.names(name) if other in present), "")

    def present_names(self, name: str, present: Collection[str]) -> tuple[str, ...]:
        """The present names of all that ``name`` means: none, one or several.

        What JAX prints for one function may differ from use to use: ``psum`` is
        ``psum_invariant`` too.  A former name that another primitive has today
        means that one where it is present.
        """
        own = self.primitive(name, present)
        if own and name in self.former:
            return (own,)
        meant = [other for now in self.names(name) for other in self.written.get(now, ())]
        others = (self.primitive(other, present) for other in meant)
        return tuple(dict.fromkeys(filter(None, (own, *others))))

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
            if not rename.old:
                return f"`{name}` came with newer JAX"
            if rename.old != name:
                return f"`{name}` was `{rename.old}` in older JAX"
            if not rename.new:
                return f"`{name}` is gone in newer JAX"
            new = " and ".join(f"`{other}`" for other in rename.new)
            text = f"`{name}` became {new} in newer JAX"
            return f"{text}: {rename.note}" if rename.note else text
        return ""

    def about(self, primitive: str, name: str) -> list[ParameterRename]:
        """The rows about a parameter, by any of its names."""
        names = self.names(primitive)
        return [
            row
            for row in self.parameters
            if name in (row.old, *row.new) and not set(names).isdisjoint(row.primitives)
        ]

    def spelling(self, primitive: str, name: str, old: str, new: str) -> str:
        """The level at which two texts are one value, or ``""``."""
        names = self.names(primitive)
        for row in self.spellings:
            about = row.parameter == name and not set(names).isdisjoint(row.primitives)
            if about and row.covers(old, new):
                return row.level
        return ""


class _RenameRow(TypedDict, total=False):
    """A row about a parameter, as the file has it."""

    primitive: str | list[str]
    old: str
    new: list[str]
    carries: bool
    neutral: list[str]
    groups: dict[str, int]
    seen: str
    note: str


def _primitives(row: _RenameRow) -> tuple[str, ...]:
    given = row["primitive"]
    return (given,) if isinstance(given, str) else tuple(given)


def _parameter(row: _RenameRow) -> ParameterRename:
    return ParameterRename(
        primitives=_primitives(row),
        old=row["old"],
        new=tuple(row["new"]),
        carries=row["carries"],
        neutral=tuple(row.get("neutral", ())),
        groups=row.get("groups", {}),
        seen=row.get("seen", ""),
        note=row.get("note", ""),
    )


@cache
def table() -> Renames:
    """The table that comes with this package."""
    data = tomllib.loads(files(__package__).joinpath("renames.toml").read_text("utf-8"))
    return Renames(
        tuple(tuple(row["names"]) for row in data["primitive"]),
        tuple(map(_parameter, data["parameter"])),
        tuple(
            Spelling(
                _primitives(row),
                row["parameter"],
                row["level"],
                tuple(map(re.compile, row["spelled"])),
            )
            for row in data["value"]
        ),
        frozenset(name for row in data["commutes"] for name in row["names"]),
        frozenset((row["primitive"], row["parameter"]) for row in data["unordered"]),
        frozenset(name for row in data["stateful"] for name in row["names"]),
        {row["name"]: tuple(row["prints"]) for row in data["written"]},
        frozenset(row["name"] for row in data["written"] if row.get("former")),
        frozenset(data["parameters"]),
    )
