"""Facts of one value: its type and what follows from it, whether it is weak, a literal's number."""

from __future__ import annotations

import ast
import math
from typing import Any

from ...dtypes import itemsize
from ...rounding import FORMATS
from ..blocks import QueryBlock, dtype_of, shape_of
from ..syntax import PathError
from .numbers import NOT_FINITE, LiteralNumber
from .types import plain_type, varying_axes
from .words import ArrayType, AxisName, AxisNames

#: Facts that follow from a type.
OF_TYPES = ("type", "size", "bytes")


def of_type(name: str, path: str, kind: str) -> Any:
    """A fact that follows from a printed type, one of :data:`OF_TYPES`."""
    match name:
        case "type":
            if not kind:
                raise PathError(f"`{path}` has no printed type")
            return ArrayType(plain_type(kind))
        case "size":
            return size(path, kind)
    return bytes_of(path, kind)


def size(path: str, kind: str) -> int:
    """The number of elements; of a reference those of what it holds."""
    shape = shape_of(kind)
    if shape is None:
        raise PathError(f"`{path}` has no size{f': its type is {kind}' if kind else ''}")
    if symbolic := next((str(n) for n in shape if isinstance(n, str)), ""):
        raise PathError(
            f"`{path}` has the symbolic size `{symbolic}` in its type {kind}, so the number of its"
            " elements is unknown"
        )
    return math.prod(shape)


def bytes_of(path: str, kind: str) -> int:
    """The bytes of all elements, as JAX counts them."""
    count, dtype = size(path, kind), dtype_of(kind)
    each = itemsize(dtype)
    if each is None:
        raise PathError(f"`{path}`: the bytes of one element of `{dtype}` are unknown")
    return count * each


def varying(block: QueryBlock, path: str, kind: str, variable: int) -> AxisNames:
    """The axes over which a value varies, in the order of the mesh; -1 is no variable."""
    if variable in block.untracked:
        raise PathError(
            f"`{path}`: this `shard_map` has `check_vma=False`, so JAX does not record over which"
            " axes values vary"
        )
    if not kind and variable >= 0:
        raise PathError(f"`{path}` has no printed type, which names the axes")
    axes = varying_axes(kind)
    order = {name: n for n, name in enumerate(block.axes)}
    return AxisNames(map(AxisName, sorted(axes, key=lambda name: order.get(name, len(order)))))


def weak(block: QueryBlock, path: str, variable: int, literal: int) -> bool:
    """Whether a variable, else the literal that starts at an offset, is weakly typed."""
    weakness = block.weakness
    known = weakness.literals if variable < 0 else weakness.variables
    answer = known.get(literal if variable < 0 else variable)
    if answer is not None:
        return answer
    if not block.facts.programs:
        why = "only the text is known, which does not say what is weakly typed"
    elif weakness.is_older:
        why = (
            "this program was recorded before recordings said what is weakly typed;"
            " `sphinx-build -b jaxpr-lock` records it again"
        )
    else:
        why = "nothing is known of its type beyond the text"
    raise PathError(f"`{path}.weak` is unknown: {why}")


def literal_value(path: str, text: str, kind: str) -> Any:
    """The number that a literal is: whole, true or false, or a :class:`LiteralNumber`."""
    dtype = dtype_of(kind)
    if text in ("True", "False"):
        return text == "True"
    if text in NOT_FINITE:
        return LiteralNumber(NOT_FINITE[text], dtype)
    try:
        number = ast.literal_eval(text) if len(text) < 400 else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        number = None
    if isinstance(number, complex) and not number.imag:
        number, dtype = number.real, {"c64": "f32", "c128": "f64"}.get(dtype, dtype)
    match number:
        case int() if dtype in FORMATS:
            return LiteralNumber(float(number), dtype)
        case int():
            return number
        case float():
            return LiteralNumber(number, dtype)
        case complex():
            raise PathError(
                f"`{path}` is the complex number {text}, which no expression can write; its real"
                f' and imaginary parts are in the text, `{path}.text == "{text}"`'
            )
    raise PathError(
        f"`{path}` is a literal without a number: it is printed as `{text[:40]}`"
        + (f", of the type {kind}" if kind else "")
    )


def not_literal(path: str, origin: str) -> PathError:
    """That a value has no number in the program."""
    noun = {"equation": "the result of an equation", "input": "an input"}.get(origin, f"a {origin}")
    values = "; its values are not recorded" if origin == "constant" else ""
    return PathError(
        f"`{path}` is {noun}, not a literal, so it has no `.value`{values}; where it comes from is"
        f" `{path}.origin`"
    )
