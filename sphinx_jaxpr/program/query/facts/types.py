"""Printed types as texts: with and without the axes of a mesh, and what may be one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from ...dtypes import MEANT_DTYPES, is_dtype, is_known_dtype, short_dtype

#: The axis, or the axes, over which a dimension is sharded.
_SHARDED: Final = re.compile(r"@(\([^()]*\)|[^,()\[\]{}]+)")
#: Behind the dimensions: over which axes the value varies, is unreduced, or is reduced.
_MARKED: Final = re.compile(r"(?<=\])((?:\{[^{}]*\})+)")
_GROUP: Final = re.compile(r"\{([^{}]*)\}")
_VARYING: Final = re.compile(r"(?:^|, ?)V:(\([^()]*\)|[^,()]+)")
_PREFIX: Final = re.compile(r"\b\w+:")
_WORD: Final = re.compile(r"[^\s,()]+")


def plain_type(kind: str) -> str:
    """A printed type without names of axes: ``f32[4,8]`` of ``f32[4@a,8]{V:data}``."""
    if "@" not in kind and "]{" not in kind:
        return kind
    return _SHARDED.sub("", _MARKED.sub("", kind))


def varying_axes(kind: str) -> tuple[str, ...]:
    """The axes over which a value of a printed type varies, as printed.

    >>> varying_axes("f32[1]{V:(data,model), U:x}"), varying_axes("f32[1]{data}")
    (('data', 'model'), ('data',))
    """
    axes: list[str] = []
    for marks in _MARKED.findall(kind):
        for group in _GROUP.findall(marks):
            if ":" not in group:  # as JAX 0.7 prints them
                axes += _WORD.findall(group)
            for listed in _VARYING.findall(group):
                axes += _WORD.findall(listed)
    return tuple(axes)


def axes_in(kind: str) -> frozenset[str]:
    """All names of axes in a printed type."""
    if "@" not in kind and "]{" not in kind:
        return frozenset()
    groups = (group for marks in _MARKED.findall(kind) for group in _GROUP.findall(marks))
    texts = [*_SHARDED.findall(kind), *(_PREFIX.sub("", group) for group in groups)]
    return frozenset(name for text in texts for name in _WORD.findall(text))


#: ``bf16<host>[4,n]``, also inside of ``Ref<vmem>{...}``: what stands around, dtype, dimensions.
_TYPE: Final = re.compile(
    r"(?P<outer>(?:[A-Za-z]\w*(?:<\w*>)?\{)*)(?P<dtype>[A-Za-z_][\w.]*)"
    r"(?P<marks>(?:<[\w ]*>)*)\[(?P<dims>[^\[\]{}]*)\](?P<closing>\}*)"
)


class TypeParts(NamedTuple):
    """The parts of a type's text: around the array, its dtype, its memory, its sizes."""

    outer: str
    dtype: str
    marks: str
    dims: tuple[str, ...]

    def __str__(self) -> str:
        closing = "}" * self.outer.count("{")
        return f"{self.outer}{self.dtype}{self.marks}[{','.join(self.dims)}]{closing}"


def type_parts(text: str) -> TypeParts | None:
    """The parts of a text that looks like the type of an array; ``None`` for any other."""
    match = _TYPE.fullmatch("".join(text.split()))
    if match is None or match["outer"].count("{") != len(match["closing"]):
        return None
    dtype, marks = match["dtype"], match["marks"]
    if dtype == "key":  # `key<fry>` is all of it the dtype
        impl, closing, marks = marks.partition(">")
        dtype += impl + closing
    dims = match["dims"].split(",") if match["dims"] else []
    return TypeParts(match["outer"], short_dtype(dtype), marks, tuple(dims))


def canonical_type(text: str) -> str:
    """A type as jaxprs print it: without blanks, with the short name of its dtype."""
    parts = type_parts(text)
    return "".join(text.split()) if parts is None else str(parts)


def type_problem(
    text: str, dtypes: Iterable[str], symbols: Iterable[str], near: Callable[[str], str]
) -> tuple[str, str]:
    """What is wrong with a text as a type, and the type that was meant; ``("", "")`` if nothing.

    ``dtypes`` and ``symbols`` (sizes that are not numbers) are those of the programs that are
    asked about; ``near`` gives the dtype that is most like a text.
    """
    parts = type_parts(text)
    if parts is None:
        bare = plain_type("".join(text.split()))
        if bare != text and type_parts(bare) is not None:
            return "a type has no names of axes (`.varying` has some)", canonical_type(bare)
        name = text.rpartition(".")[2]
        name = MEANT_DTYPES.get(name.lower(), name)
        if is_dtype(name):
            return "a type has sizes, too (the dtype alone is `.dtype`)", f"{short_dtype(name)}[]"
        return f"unknown type `{text[:80]}`", ""
    if any("@" in size for size in parts.dims):
        return "a type has no names of axes", plain_type(canonical_type(text))
    if not (is_known_dtype(parts.dtype) or parts.dtype in {*dtypes}):
        name = parts.dtype.rpartition(".")[2]
        meant = name if is_dtype(name) else MEANT_DTYPES.get(name.lower(), "") or near(name)
        fixed = str(parts._replace(dtype=short_dtype(meant))) if meant else ""
        return f"unknown dtype `{parts.dtype[:40]}` in a type", fixed
    if sizes := [size for size in parts.dims if size] if "" in parts.dims else []:
        return f"unknown type `{text[:80]}`", str(parts._replace(dims=tuple(sizes)))
    known = {*symbols}  # numbers are printed without leading zeros
    for size in parts.dims:
        if not ((size.isdecimal() and size == str(int(size))) or size in known):
            return f"no axis has the size `{size[:40]}`", ""
    return "", ""
