"""Values in words, and templates of words with values in them.

Every format gives ``None`` for a value that is not of its sort.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..dtypes import long_dtype
from ..text import spelled

# --- values in words, and templates of words with values in them

MOST: Final = 8  # of a longer list, only so many are spelled out
_CLASS: Final = re.compile(r"<class '(?:\w+\.)*(\w+)'>")
_FIELD: Final = re.compile(r"\{(\w+)(?::(\w+)|\?([^|}]*)\|?([^}]*))\}")


def integer(value: Any) -> int | None:
    """An integer that some machine could hold; flags don't count."""
    fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**64
    return value if fits else None


def integers(value: Any) -> list[int] | None:
    """A list of integers."""
    if not isinstance(value, (list, tuple)):
        return None
    numbers = [number for item in value if (number := integer(item)) is not None]
    return numbers if len(numbers) == len(value) else None


def listed(items: Iterable[object]) -> str:
    """``0``, ``0 and 1``, ``0, 1 and 2``, ``0, 1, ... and 9 more``."""
    words = [str(item) for item in items]
    if len(words) > MOST:
        words[MOST - 1 :] = [f"{len(words) - MOST + 1} more"]
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def axes(value: Any) -> str | None:
    """``axis 0``, ``axes x and y``: by number or by name."""
    items = value if isinstance(value, (list, tuple)) else [value]
    for item in items:
        if not (item.isidentifier() if isinstance(item, str) else integer(item) is not None):
            return None
    return {0: "no axes", 1: "axis "}.get(len(items), "axes ") + listed(items)


def _axis(value: Any) -> str | None:
    """``axis 1``; a negative one counts from the end."""
    axis = integer(value)
    if axis is None:
        return None
    return "the last axis" if axis == -1 else f"axis {axis}"


def _number(value: Any) -> str | None:
    """``0.95``, ``2``."""
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else f"{value:g}"


def shape(value: Any) -> str | None:
    """``(8, 4)``."""
    numbers = integers(value)
    if numbers is None or len(numbers) <= MOST:
        return None if numbers is None else str(tuple(numbers))
    return f"({', '.join(map(str, numbers[:MOST]))}, …)"


def sizes(value: Any) -> str | None:
    """``8 × 4``."""
    numbers = integers(value) or []
    texts = [*map(str, numbers[:MOST]), *(["…"] if len(numbers) > MOST else ())]
    return " × ".join(texts) or None


def dtype(value: Any) -> str | None:
    """``float32``, also where its class is printed."""
    name = value.get("dtype") if isinstance(value, Mapping) else value
    if isinstance(name, str) and (match := _CLASS.fullmatch(name)):
        return match[1]
    return name if isinstance(name, str) and name.isidentifier() else None


def _quoted(value: Any) -> str | None:
    """A text on one line, cut where it is long."""
    if not isinstance(value, str) or not value.strip():
        return None
    line = spelled(" ".join(value.split()))
    return f'"{line if len(line) <= 60 else line[:59] + "…"}"'


def rows(value: Any, width: int) -> list[list[int]] | None:
    """A list of lists of ``width`` integers each."""
    if not isinstance(value, (list, tuple)):
        return None
    read = [row for item in value if (row := integers(item)) is not None and len(row) == width]
    return read if len(read) == len(value) else None


def _pairs(value: Any) -> str | None:
    """``0 to 1 and 1 to 0``."""
    return listed(f"{first} to {second}" for first, second in rows(value, 2) or ()) or None


def _groups(value: Any) -> str | None:
    """``(0, 1) and (2, 3)``."""
    groups = value if isinstance(value, (list, tuple)) else ()
    texts = [text for group in groups if (text := shape(group))]
    return listed(texts) if texts and len(texts) == len(groups) else None


FORMATS: Final[dict[str, Callable[[Any], str | None]]] = {
    "axes": axes,
    "axis": _axis,
    "dtype": dtype,
    "groups": _groups,
    "int": lambda value: None if integer(value) is None else str(value),
    "list": lambda value: listed(numbers) if (numbers := integers(value)) else None,
    "number": _number,
    "pairs": _pairs,
    "quoted": _quoted,
    "shape": shape,
    "sizes": sizes,
}


def fill(template: str, parameters: Mapping[str, Any]) -> Iterator[str]:
    """The pieces of a template whose values are all there."""
    for piece in template.split("; "):
        missing = False

        def value(match: re.Match[str]) -> str:
            nonlocal missing
            name, form, yes, no = match.groups()
            given = parameters.get(name)
            if form is None:
                text = (yes if given else no) if isinstance(given, bool) else None
            else:
                text = FORMATS[form](given) if form in FORMATS else None
            missing |= not text
            return text or ""

        text = _FIELD.sub(value, piece)
        if not missing:
            yield text


# --- one use of a primitive with what is known of it, for its words

_SHAPE: Final = re.compile(r"[\w<>]+\[((?:[0-9]{1,19}(?:,|(?=\])))*)\]")


@dataclass(frozen=True, slots=True)
class Applied:
    """One use of a primitive, with all that is known about it; types are as jaxprs print them."""

    name: str
    parameters: Mapping[str, Any]
    types: Sequence[str]
    inputs: Sequence[str]
    programs: Mapping[str, Sequence[Any]]

    def ints(self, name: str) -> list[int] | None:
        """A parameter that is a list of integers, else ``None``."""
        return integers(self.parameters.get(name))

    def number(self, name: str) -> int | None:
        """A parameter that is an integer, else ``None``."""
        return integer(self.parameters.get(name))

    def is_true(self, name: str) -> bool:
        """Whether a parameter is ``True``."""
        return self.parameters.get(name) is True

    def shape(self, index: int) -> list[int] | None:
        """The shape of an operand, where its type is known and says it."""
        match = _SHAPE.match(self.inputs[index]) if index < len(self.inputs) else None
        return [int(size) for size in match[1].split(",") if size] if match else None

    def dtype(self, index: int) -> str:
        """The long name of an operand's type, or ``""``."""
        short = self.inputs[index].partition("[")[0] if index < len(self.inputs) else ""
        return long_dtype(short)
