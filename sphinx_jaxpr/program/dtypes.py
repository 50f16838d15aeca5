"""Names of dtypes: as jaxprs print them, as numpy has them, and what else authors write."""

from __future__ import annotations

import re
from typing import Final

_LONG: Final = {"bf": "bfloat", "f": "float", "i": "int", "u": "uint", "c": "complex"}
_SHORT: Final = {long: short for short, long in _LONG.items()}
_LONG_NAME: Final = re.compile(rf"({'|'.join(_SHORT)})(\d.*)")
_SHORT_NAME: Final = re.compile(rf"({'|'.join(_LONG)})(\d.*)")


def short_dtype(name: str) -> str:
    """``f32`` of ``float32``; other names as they are."""
    match = _LONG_NAME.fullmatch(name)
    return _SHORT[match[1]] + match[2] if match and name != "float0" else name


def long_dtype(name: str) -> str:
    """``float32`` of ``f32``; other names as they are."""
    match = _SHORT_NAME.fullmatch(name)
    return _LONG[match[1]] + match[2] if match else name


#: Bytes of an element where the name of its dtype doesn't end with its bits.
_SIZES: Final = {"bool": 1, "float0": 0, "key<fry>": 8, "key<rbg>": 16, "key<urbg>": 16}
_BITS: Final = re.compile(r"(?:bf|f|i|u|c)(\d+)(?:_\w+)?")


def item_size(dtype: str) -> int | None:
    """Bytes of an element, by the short name of its dtype; ``None`` where they are unknown.

    Elements of less than 8 bits take a byte each, as numpy and ml_dtypes store them.
    """
    if dtype in _SIZES:
        return _SIZES[dtype]
    bits = _BITS.fullmatch(dtype)
    return max(int(bits[1]), 8) // 8 if bits else None


_FLOATS: Final = (
    "f16 f32 f64 bf16 f4_e2m1fn f6_e2m3fn f6_e3m2fn f8_e3m4 f8_e4m3 f8_e4m3fn"
    " f8_e4m3fnuz f8_e4m3b11fnuz f8_e5m2 f8_e5m2fnuz f8_e8m0fnu"
)
_INTEGERS: Final = "i2 i4 i8 i16 i32 i64 u2 u4 u8 u16 u32 u64"
#: The dtypes of arrays: short name, as jaxprs print it -> the name numpy or ml_dtypes knows.
DTYPES: Final[dict[str, str]] = {
    name: long_dtype(name) for name in f"bool {_FLOATS} {_INTEGERS} c64 c128".split()
}
#: Those of keys -> the name of the generator, as ``jax.random.key`` takes it.
KEYS: Final[dict[str, str]] = {
    "key<fry>": "threefry2x32",
    "key<rbg>": "rbg",
    "key<urbg>": "unsafe_rbg",
}
_KEY: Final = re.compile(r"key<\w+>")
_ALL: Final = frozenset({*DTYPES, *KEYS, "float0", "i1", "u1"})

#: What other names of dtypes stand for.
MEANT_DTYPES: Final[dict[str, str]] = {
    "float": "f32",
    "single": "f32",
    "double": "f64",
    "half": "f16",
    "int": "i32",
    "integer": "i32",
    "uint": "u32",
    "complex": "c64",
    "bool_": "bool",
    "b1": "bool",
    "pred": "bool",
    "bf": "bf16",
    "bfloat": "bf16",
    "fp16": "f16",
    "fp32": "f32",
    "fp64": "f64",
}


def is_dtype(name: str) -> bool:
    """Whether it may be the name of a dtype, short or long; a project may have keys of its own."""
    return short_dtype(name) in _ALL or bool(_KEY.fullmatch(name))


def is_known_dtype(name: str) -> bool:
    """Whether it is the name of one of JAX's own dtypes, short or long."""
    return short_dtype(name) in _ALL


def all_dtypes() -> tuple[str, ...]:
    """All names of JAX's own dtypes, short and long, the shortest first."""
    names = {*_ALL, *map(long_dtype, _ALL)}
    return tuple(sorted(names, key=lambda name: (len(name), name)))
