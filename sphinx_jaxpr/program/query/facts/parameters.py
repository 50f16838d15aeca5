"""Values that come out of a program, kept apart from what an author writes.

A value in ``params[...]`` may be compared with anything, since the primitive alone
defines its kind; so numbers, texts and lists from there are marked as given.
A size of an axis is a number or, where it is symbolic, a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...dtypes import is_dtype, short_dtype
from ...glossary.glossary import Gathered
from ..base import Asking
from ..vocabulary import Dtype, PartWord, Word
from .numbers import EquationIndex, LiteralNumber


class Given:
    """A value of a parameter."""

    __slots__ = ()


class Flag(int):
    """True or false with a mark, which Python's own can't carry."""

    def __repr__(self) -> str:
        return str(bool(self))

    __str__ = __repr__


class GivenFlag(Given, Flag):
    """True or false from a parameter."""


class GivenInt(Given, int):
    """A whole number from a parameter."""


class GivenFloat(Given, float):
    """A number from a parameter."""


class GivenText(Given, str):
    """A text from a parameter."""

    __slots__ = ()


class GivenDtype(Given, Dtype):
    """A dtype from a parameter."""

    __slots__ = ()


class DtypeText(GivenDtype):
    """A text from a parameter that may be the name of a dtype, or any other text."""

    __slots__ = ()

    def means(self, text: str, asking: Asking) -> bool:
        return self.key == short_dtype(text)


class GivenList(Given, tuple[Any, ...]):
    """A list from a parameter."""


class GivenSet(GivenList):
    """A set from a parameter: it has elements in printed order, and equals a set of them."""


class Size(int):
    """The size of an axis."""


class SymbolicSize(str):
    """The size of an axis that is not a number, as printed."""

    __slots__ = ()


def freeze(value: Any) -> Any:
    """A parameter of the facts as a value of the language."""
    match value:
        case {"dtype": str(name)}:
            return GivenDtype(name)
        case {"text": str(text)}:
            try:
                return GivenFloat(text)
            except ValueError:
                return GivenText(text)
        case bool():
            return GivenFlag(value)
        case int():
            return GivenInt(value)
        case float():
            return GivenFloat(value)
        case Gathered():
            return GivenSet(freeze(item) for item in value)
        case list() | tuple():
            return GivenList(freeze(item) for item in value)
        case dict():
            return GivenText(value)
        case str() if is_dtype(value) and short_dtype(value) != value:
            return DtypeText(value)
        case str():
            return GivenText(value)
    return value


def sizes(shape: Iterable[Any]) -> tuple[Any, ...]:
    """A shape as a value of the language."""
    return tuple(SymbolicSize(n) if isinstance(n, str) else Size(n) for n in shape)


def is_flag(value: Any) -> bool:
    """Whether it is true or false, which Python would take for a number."""
    return isinstance(value, (bool, Flag))


def plain(value: Any) -> Any:
    """A value without marks, for those who ask from outside."""
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, frozenset):
        return frozenset(plain(item) for item in value)
    if isinstance(value, Flag):
        return bool(value)
    if isinstance(value, (Word, PartWord, Given, SymbolicSize)) and isinstance(value, str):
        return str(value)
    if isinstance(value, GivenFloat):
        return float(value)
    if isinstance(value, LiteralNumber):
        return float(value)
    if isinstance(value, (GivenInt, Size, EquationIndex)):
        return int(value)
    return value
