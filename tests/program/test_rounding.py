"""Rounding to the floats of JAX, against NumPy's own."""

from __future__ import annotations

import math
import random

import ml_dtypes
import numpy as np
import pytest

from sphinx_jaxpr.program.dtypes import DTYPES, itemsize
from sphinx_jaxpr.program.rounding import FORMATS, rounded, shortest

SCALARS = {
    short: getattr(ml_dtypes, DTYPES[short], None) or getattr(np, DTYPES[short])
    for short in FORMATS
    if hasattr(ml_dtypes, DTYPES[short]) or hasattr(np, DTYPES[short])
}


def numbers() -> list[float]:
    dice = random.Random(0)
    spread = [dice.choice((-1, 1)) * dice.random() * 2.0 ** dice.randint(-160, 140)
              for _ in range(300)]  # fmt: skip
    ties = [dice.randint(-600, 600) / 16 for _ in range(200)]
    return [*spread, *ties, 0.0, 0.1, 65519.9, 65520.0, 3.4028236e38, 448.0, 464.0, 465.0, 1e999]


@pytest.mark.parametrize("short", SCALARS)
def test_as_numpy_rounds(short: str) -> None:
    for number in numbers():
        if not math.isfinite(number):
            assert rounded(number, short) == number
            continue
        with np.errstate(all="ignore"):
            expected = float(SCALARS[short](number))
        found = rounded(number, short)
        assert found == expected or (math.isnan(found) and math.isnan(expected)), number


@pytest.mark.parametrize("short", SCALARS)
def test_the_shortest_rounds_back(short: str) -> None:
    for number in numbers():
        exact = rounded(number, short)
        if math.isfinite(exact):
            assert rounded(shortest(exact, short), short) == exact
            assert len(repr(shortest(exact, short))) <= len(repr(exact))


def test_other_dtypes_round_nothing() -> None:
    assert rounded(0.1, "i32") == shortest(0.1, "") == 0.1


def test_bytes_of_an_element_are_those_of_jax() -> None:
    import jax
    import jax.numpy as jnp

    for short, long in DTYPES.items():
        if hasattr(jnp, long):
            assert itemsize(short) == itemsize(long) == jnp.dtype(long).itemsize, short
    for impl, name in (("threefry2x32", "fry"), ("rbg", "rbg"), ("unsafe_rbg", "urbg")):
        assert itemsize(f"key<{name}>") == jax.random.key(0, impl=impl).dtype.itemsize
    assert itemsize("float0") == np.dtype(jax.dtypes.float0).itemsize
    assert itemsize("key<own>") is None
    assert itemsize("f5") is None
