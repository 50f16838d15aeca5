"""Plain data of jaxpr objects as values of the language: dtypes, shapes, parameters, effects."""

from __future__ import annotations

import enum
import re
from typing import Any

from .dataflow import Refused, Unsure

_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


def short(name: Any) -> str:
    """``f32`` of ``float32``: the name that jaxprs print."""
    text = "float0" if "float0" in str(name) else str(name)
    found = re.fullmatch(r"(bfloat|float|uint|int|complex)(\d+.*)", text)
    return _SHORT[found[1]] + found[2] if found and text != "float0" else text


class Dtype(str):
    """A dtype, equal by any of its names."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            raise Refused(f"a dtype and {other!r}")
        return short(str(self)) == short(str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(short(str(self)))


def shape_of(aval: Any) -> tuple[Any, ...]:
    """The shape of an abstract value."""
    found = getattr(aval, "shape", None)
    if found is None:
        raise Refused(f"{aval} has no shape")
    return tuple(int(size) if hasattr(size, "__index__") else str(size) for size in found)


def plain(value: Any) -> Any:
    """A parameter as a value of the language; :class:`Unsure` where it is none."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):  # some are numbers too, and print as words
        return _unsure(value)
    if isinstance(getattr(value, "kind", None), str) and hasattr(value, "itemsize"):
        return Dtype(short(value)) if not getattr(value, "shape", ()) else _unsure(value)
    if hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__"):
        return _unsure(value)
    if isinstance(value, (tuple, list)):
        return tuple(plain(item) for item in value)
    if isinstance(value, (int, float)):
        return value
    if hasattr(value, "__index__"):
        return int(value)
    return _unsure(value)


def _unsure(value: Any) -> Any:
    raise Unsure(repr(value))


def effect_name(effect: Any) -> str:
    """The name of an effect, free of what differs from run to run."""
    text = re.sub(r"\bVar\(id=\d+\):?", "", str(effect))
    return type(effect).__name__ if re.search(r"0x[0-9a-f]{6,}", text) else text


def word(key: Any) -> str:
    """What stands in brackets; a function of Python may be meant as the primitive."""
    return key.__name__ if callable(key) else str(key)
