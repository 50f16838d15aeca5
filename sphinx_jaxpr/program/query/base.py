"""What the values of an expression may be, beside numbers, texts, tuples and sets.

All of it is frozen; attributes are looked up by ``match`` statements, never by
``getattr``, so that a page reaches what is listed here and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NoReturn, Self

from ..model import MAX_REPR
from ..renames import table
from ..text import clipped, inert, spelled
from .blocks import QueryBlock
from .syntax import PathError

#: Steps that one expression may take, each about half a microsecond: an element
#: looked at is one, a node of the expression or a view of an equation a few.
MAX_STEPS: Final = 100_000
#: Longest shown value, in characters.
MAX_SHOWN: Final = 2000


class TooMuchWork(PathError):
    """An expression that takes more steps than one may."""


@dataclass
class Asking:
    """What is known while one expression is evaluated, and what it has cost so far.

    ``named`` are the names in the expression: only blocks that it mentions are read,
    since its verdict is kept for as long as these stay as they are.
    """

    blocks: Mapping[str, QueryBlock]
    primitives: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()
    hints: list[str] = field(default_factory=list)
    steps: int = MAX_STEPS
    pieces: dict[Any, frozenset[str]] = field(default_factory=dict)  # of words, by what they are
    totals: dict[tuple[int, int], int] = field(default_factory=dict)  # FLOPs, by block and program
    kinds: Mapping[str, str] = field(default_factory=dict)  # of primitives, as a project has them
    flows: dict[Any, Any] = field(default_factory=dict)  # what depends on a thing, by its key

    def spend(self, steps: int) -> None:
        """Count work; an expression that takes too much ends."""
        self.steps -= steps
        if self.steps < 0:
            raise TooMuchWork(f"this expression takes more than {MAX_STEPS:,} steps")

    def hint(self, text: str) -> None:
        """Something that the author should know though the expression has a value."""
        if text not in self.hints:
            self.hints.append(text)

    @cached_property
    def mentioned(self) -> list[QueryBlock]:
        """The blocks of the functions that the expression names."""
        self.spend(len(self.blocks))
        return [self.blocks[n] for n in self.blocks if n.partition(".")[0] in self.named]

    def meets(self, test: Callable[[str], bool]) -> bool:
        """Whether a block has a primitive of which ``test`` is true."""
        return any(test(primitive) for block in self.mentioned for primitive in block.primitives)

    def knows(self, primitive: str) -> bool:
        """Whether there is such a primitive in any JAX, or in any block."""
        if primitive in self.primitives or len(table().names(primitive)) > 1:
            return True
        return self.meets(lambda name: name == primitive)


class View:
    """A thing that a path points at; equal to any other view of the same thing."""

    __slots__ = ("key", "path")
    path: str
    key: tuple[Any, ...]

    def __init__(self, path: str, key: tuple[Any, ...]) -> None:
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "key", key)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("views are frozen")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a view belongs to its programs and cannot be pickled; pickle its text")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        text = clipped(f"{clipped(self.path, 60)}: {words(self)}", MAX_REPR)
        return f"<{type(self).__name__} {inert(text)}>"

    @property
    def what(self) -> str:
        """What it is, in words."""
        return "a value"

    def attribute(self, name: str, asking: Asking) -> Any:
        """``.name`` of it."""
        raise PathError(f"`{self.path}` is {self.what} and has no `.{name}`")

    def item(self, key: Any, asking: Asking) -> Any:
        """``[key]`` of it: an integer, a slice of integers, or a word."""
        raise PathError(f"`{self.path}` is {self.what} and takes no `[...]`")

    def members(self) -> tuple[Any, ...] | None:
        """What it is a collection of, or ``None``."""
        return None

    def words(self) -> str:
        """It as text, for readers."""
        return self.path


class Error(View):
    """The error of a block that could not be traced."""

    __slots__ = ("message", "type")
    type: str
    message: str

    def __init__(self, path: str, error: tuple[str, str]) -> None:
        super().__init__(path, (path, "error"))
        object.__setattr__(self, "type", error[0])
        object.__setattr__(self, "message", error[1])

    @property
    def what(self) -> str:
        return "an error"

    def attribute(self, name: str, asking: Asking) -> Any:
        match name:
            case "type":
                return self.type
            case "message":
                return self.message
        raise PathError(f"an error has `.type` and `.message`, but no `.{name}`")

    def words(self) -> str:
        return f"{self.type}: {self.message}"


class Version(View):
    """A version, which compares with texts."""

    __slots__ = ("text",)
    text: str

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, (name, text))
        object.__setattr__(self, "text", text)

    @property
    def what(self) -> str:
        return "a version"

    def words(self) -> str:
        return self.text


_VERSION: Final = re.compile(
    r"v?(\d{1,9}(?:\.\d{1,9}){0,9})[-_.]?(?:(dev|a|b|rc|post)[-_.]?(\d{0,12}))?(?:\+.*)?", re.I
)
_STAGES: Final = {"dev": 0, "a": 1, "b": 2, "rc": 3, "": 4, "post": 5}


def version(text: str) -> tuple[tuple[int, ...], int, int]:
    """A version as something that compares: ``0.12`` equals ``0.12.0``."""
    match = _VERSION.fullmatch(text.strip()[:100])
    if match is None:
        raise PathError(f'"{text[:40]}" is not a version such as "0.12" or "0.12.0.1"')
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers), _STAGES[(match[2] or "").lower()], int(match[3] or 0)


def ordered(values: Iterable[Any]) -> tuple[Any, ...]:
    """The elements of a set in an order that is the same in every process."""
    return tuple(sorted(values, key=lambda value: (type(value).__name__, words(value))))


def words(value: Any) -> str:
    """A value as text for readers and for messages; nested tuples are spelled out."""
    text = spelled(_words(value))
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def _words(value: Any) -> str:
    if isinstance(value, View):
        return value.words()
    if isinstance(value, tuple):
        inner = ", ".join(_words(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(_words(item) for item in value)) + "}"
    return str(value)
