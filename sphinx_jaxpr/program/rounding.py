"""Rounds numbers to the floating-point dtypes of JAX, with the standard library alone.

>>> rounded(0.1, "bf16"), rounded(0.1, "f32")
(0.10009765625, 0.10000000149011612)
>>> shortest(0.10009765625, "bf16")
0.1
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple


class FloatFormat(NamedTuple):
    """``bits`` behind the leading one, the exponent of the least normal number, the largest one.

    ``overflow`` is what larger numbers become: infinity, NaN, or the largest one.
    """

    bits: int
    least: int
    largest: float
    overflow: float


#: Up to this all digits of a whole number count.
_WHOLE: Final = 2.0**53
_INF: Final = math.inf
_NAN: Final = math.nan
#: By the short names of dtypes; those of 8 bits and less are as ``ml_dtypes`` has them.
FORMATS: Final[dict[str, FloatFormat]] = {
    "f64": FloatFormat(52, -1022, math.ldexp(2 - 2**-52, 1023), _INF),
    "f32": FloatFormat(23, -126, math.ldexp(2 - 2**-23, 127), _INF),
    "f16": FloatFormat(10, -14, 65504.0, _INF),
    "bf16": FloatFormat(7, -126, math.ldexp(2 - 2**-7, 127), _INF),
    "f8_e3m4": FloatFormat(4, -2, 15.5, _INF),
    "f8_e4m3": FloatFormat(3, -6, 240.0, _INF),
    "f8_e4m3fn": FloatFormat(3, -6, 448.0, _NAN),
    "f8_e4m3fnuz": FloatFormat(3, -7, 240.0, _NAN),
    "f8_e4m3b11fnuz": FloatFormat(3, -10, 30.0, _NAN),
    "f8_e5m2": FloatFormat(2, -14, 57344.0, _INF),
    "f8_e5m2fnuz": FloatFormat(2, -15, 57344.0, _NAN),
    "f6_e2m3fn": FloatFormat(3, 0, 7.5, 7.5),
    "f6_e3m2fn": FloatFormat(2, -2, 28.0, 28.0),
    "f4_e2m1fn": FloatFormat(1, 0, 6.0, 6.0),
}


def rounded(value: float, dtype: str) -> float:
    """The number of ``dtype`` that is nearest to ``value``, of two the even one.

    A number stays as it is where ``dtype`` is not a float's.
    """
    form = FORMATS.get(dtype)
    if form is None or not math.isfinite(value) or value == 0:
        return value
    exponent = max(math.frexp(value)[1] - 1, form.least)
    unit = exponent - form.bits  # of the last bit
    nearest = math.ldexp(round(math.ldexp(value, -unit)), unit)
    if abs(nearest) > form.largest:
        return math.copysign(form.overflow, value)
    return nearest


def shortest(value: float, dtype: str) -> float:
    """The number with the fewest digits that ``dtype`` rounds to ``value``; a whole one stays."""
    if dtype not in FORMATS or not math.isfinite(value):
        return value
    if value.is_integer() and abs(value) < _WHOLE:
        return value
    for digits in range(1, 17):
        short = float(f"{value:.{digits}g}")
        if rounded(short, dtype) == value:
            return short
    return value
