"""One use of a primitive with what is known of it, for its words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from . import formats

_SHAPE: Final = re.compile(r"[\w<>]+\[((?:[0-9]{1,19}(?:,|(?=\])))*)\]")
_DTYPE: Final = re.compile(r"(bf|f|i|u|c)(\d.*)")
_LONG: Final = {"bf": "bfloat", "f": "float", "i": "int", "u": "uint", "c": "complex"}


@dataclass(frozen=True, slots=True)
class Applied:
    """A primitive with all that is known of one use; types are as jaxprs print them."""

    name: str
    parameters: Mapping[str, Any]
    types: Sequence[str]
    inputs: Sequence[str]
    programs: Mapping[str, Sequence[Any]]

    def ints(self, name: str) -> list[int] | None:
        return formats.integers(self.parameters.get(name))

    def number(self, name: str) -> int | None:
        return formats.integer(self.parameters.get(name))

    def is_true(self, name: str) -> bool:
        return self.parameters.get(name) is True

    def shape(self, place: int) -> list[int] | None:
        """The shape of an operand, where its type is known and says it."""
        match = _SHAPE.match(self.inputs[place]) if place < len(self.inputs) else None
        return [int(size) for size in match[1].split(",") if size] if match else None

    def dtype(self, place: int) -> str:
        """The long name of an operand's type, or ``""``."""
        short = self.inputs[place].partition("[")[0] if place < len(self.inputs) else ""
        match = _DTYPE.fullmatch(short)
        return _LONG[match[1]] + match[2] if match else short
