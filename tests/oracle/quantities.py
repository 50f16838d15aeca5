"""What the oracle knows of one value, from its abstract value or its literal, and of primitives."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

#: Kinds of the commonest primitives, by hand; of the others the oracle says nothing.
KINDS = {
    "elementwise": "add sub mul div neg sin cos tan tanh exp log log1p expm1 logistic max min abs"
    " sign sqrt rsqrt pow integer_pow square lt gt le ge eq ne and or not xor select_n clamp rem"
    " erf erf_inv atan2 floor ceil round is_finite add_any",
    "control flow": "scan while cond",
    "call": "jit pjit closed_call checkpoint remat2 custom_jvp_call custom_vjp_call",
    "collective": "psum psum2 psum_invariant pmax pmin all_gather all_gather_invariant all_to_all"
    " reduce_scatter ppermute",
    "sharding": "pvary shard_map axis_index reshard sharding_constraint",
    "contraction": "dot_general",
    "convolution": "conv_general_dilated",
    "reduction": "reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or argmax argmin",
    "conversion": "convert_element_type bitcast_convert_type",
    "shape": "reshape broadcast_in_dim transpose squeeze concatenate rev pad",
    "indexing": "slice dynamic_slice dynamic_update_slice gather scatter scatter-add",
    "state": "get swap addupdate new_ref",
    "random": "random_bits random_wrap random_unwrap random_seed",
    "sorting": "sort top_k",
    "cumulative": "cumsum cumprod cummax cumlogsumexp",
    "callback": "debug_callback pure_callback io_callback",
    "constant": "iota",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}


class Type(str):
    """A type, equal with blanks and with long names of dtypes."""

    __slots__ = ()

    @property
    def plain(self) -> str:
        text = re.sub(r"\s", "", self)
        for long, brief in (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i")):
            text = re.sub(rf"^{long}(?=[1-9])", brief, text)
        return text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.plain == Type(other).plain

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.plain)


class Axes(tuple[str, ...]):
    """Names of axes, in any order."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, list, set, frozenset)) and {*self} == {*other}

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(frozenset(self))


class Number(float):
    """The number of a literal, as NumPy prints it; a whole one as it is.

    NumPy rounds what it is compared with to its dtype.
    """

    dtype: Any
    exact: float

    def __new__(cls, value: float, dtype: Any) -> Number:
        scalar = np.asarray(value).astype(dtype)[()]
        exact = float(scalar)
        is_whole = exact.is_integer() and abs(exact) < 2**53
        number = super().__new__(cls, exact if is_whole else float(str(scalar)))
        number.dtype, number.exact = dtype, exact
        return number

    def other(self, number: Any) -> float:
        with np.errstate(all="ignore"):
            return float(np.asarray(float(number)).astype(self.dtype))

    def __eq__(self, number: object) -> bool:
        return self.exact == self.other(number)

    def __ne__(self, number: object) -> bool:
        return not self == number

    def __lt__(self, number: Any) -> bool:
        return self.exact < self.other(number)

    def __le__(self, number: Any) -> bool:
        return self.exact <= self.other(number)

    def __gt__(self, number: Any) -> bool:
        return self.exact > self.other(number)

    def __ge__(self, number: Any) -> bool:
        return self.exact >= self.other(number)

    __hash__ = float.__hash__


def type_of(aval: Any, short: Callable[[Any], str]) -> Type | None:
    """The type of an array as jaxprs print it, without axes; ``None`` for anything else."""
    if hasattr(aval, "inner_aval") or not hasattr(aval, "shape") or not hasattr(aval, "dtype"):
        return None
    memory = str(getattr(getattr(aval, "memory_space", None), "name", "Device")).lower()
    space = "" if memory in ("device", "any", "none") else f"<{memory}>"
    return Type(f"{short(aval.dtype)}{space}[{','.join(map(str, aval.shape))}]")


def size_of(aval: Any) -> int | None:
    """The number of elements; ``None`` where a size is symbolic, or there is no array."""
    sizes = getattr(aval, "shape", None)
    if sizes is None or not all(hasattr(size, "__index__") for size in sizes):
        return None
    return math.prod(int(size) for size in sizes)


def bytes_of(aval: Any) -> int | None:
    size = size_of(aval)
    return None if size is None else size * int(aval.dtype.itemsize)


def varying_of(aval: Any) -> Axes:
    """The axes over which a value varies, by whatever name this JAX has for them."""
    axes = getattr(aval, "vma", None)
    if axes is None:
        axes = getattr(getattr(aval, "mat", None), "varying", ())
    return Axes(sorted(axes))


def number_of(literal: Any) -> Any:
    """The number that a literal is; ``None`` where it is none, or is no number of a line."""
    if np.shape(literal.val) or "float0" in str(literal.aval.dtype):
        return None
    value = np.asarray(literal.val)
    if isinstance(literal.val, bool) or value.dtype == np.bool_:
        return bool(value)
    dtype = literal.aval.dtype
    if "complex" in str(dtype):
        if complex(value).imag:
            return None
        value, dtype = value.real, np.zeros(0, dtype).real.dtype
    if "int" in str(dtype):
        return int(value)
    return Number(float(value), dtype)
