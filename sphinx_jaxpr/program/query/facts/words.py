"""Closed vocabularies of facts: types, kinds of primitives, axes of meshes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from ...dtypes import all_dtypes, short_dtype
from ...glossary.kinds import KINDS, MEANT_KINDS
from ...text import similar
from ..base import Asking
from ..syntax import PathError
from ..vocabulary import Listed, Word, near_word, unknown_word
from .numbers import NOT_FINITE, check_number
from .types import canonical_type, type_parts, type_problem


class ArrayType(Word):
    """A type as jaxprs print it, equal with each name of its dtype: ``f32[8]``, ``float32[8]``."""

    __slots__ = ()
    what = "type"

    @property
    def key(self) -> str:
        return canonical_type(self)

    def means(self, text: str, asking: Asking) -> bool:
        self.check(text, asking)
        return self.key == canonical_type(text)

    @classmethod
    def check(cls, text: str, asking: Asking) -> None:
        types = {kind for block in asking.mentioned for kind in block.types}
        if text in types or canonical_type(text) in types:
            return
        parts = [part for kind in types if (part := type_parts(kind))]
        symbols = (size for part in parts for size in part.dims if not size.isdecimal())
        problem, meant = type_problem(text, (part.dtype for part in parts), symbols, _near_dtype)
        if problem:
            meant = meant or next(iter(similar(text, sorted(types), count=1)), "")
            raise PathError(problem + (f" (did you mean `{meant}`?)" if meant else ""))

    @classmethod
    def check_part(cls, text: str, asking: Asking) -> None:
        words = "".join(c if c.isalnum() or c == "_" else " " for c in text).split()
        pieces = {*cls.known(asking), *all_dtypes()}
        for word in words:
            if not word.isdecimal() and not any(word in piece for piece in pieces):
                near = _near_dtype(word)
                hint = f" (did you mean `{near}`?)" if near else ""
                raise PathError(f'no type has "{text[:80]}" in it{hint}')

    @classmethod
    def known(cls, asking: Asking) -> Iterable[str]:
        here = (kind for block in asking.mentioned for kind in block.types)
        return {*here, *(f"{name}[]" for name in all_dtypes())}

    def has(self, part: str) -> bool:
        return "".join(part.split()) in self.key


def _near_dtype(text: str) -> str:
    return short_dtype(near_word(text.lower(), all_dtypes()))


class Kind(Listed):
    """What sort of operation a primitive is."""

    __slots__ = ()
    what = "kind"
    words = tuple(KINDS)
    meant: ClassVar = MEANT_KINDS


class NumberName(Word):
    """A number of a literal that is written as a text, since it has no digits."""

    __slots__ = ()
    what = "number"

    @classmethod
    def check(cls, text: str, asking: Asking) -> None:
        check_number(text)

    @classmethod
    def known(cls, asking: Asking) -> Iterable[str]:
        return NOT_FINITE


class AxisName(Word):
    """The name of an axis of a mesh."""

    __slots__ = ()
    what = "axis"

    @classmethod
    def check(cls, text: str, asking: Asking) -> None:
        names = dict.fromkeys(cls.known(asking))
        if text not in names:
            error = unknown_word("axis of a mesh", text, near_word(text, names), names)
            raise error if names else PathError(f"there is no mesh here, so no axis `{text[:80]}`")

    @classmethod
    def known(cls, asking: Asking) -> Iterable[str]:
        return [name for block in asking.mentioned for name in block.axes]


class AxisNames(tuple[AxisName, ...]):
    """The axes over which a value varies; equal to a list or a set of them, in any order."""

    __slots__ = ()

    def means(self, other: Any) -> bool:
        """Whether a list or a set has the same axes."""
        return {*map(str, self)} == {*map(str, other)}
