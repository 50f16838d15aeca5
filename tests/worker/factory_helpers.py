"""What pages name from another module than the target's."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from __future__ import annotations

import jax

from . import factories

SHAPE = jax.ShapeDtypeStruct((2, 3), "float32")
dense = factories.Dense(4)
mesh = jax.sharding.AbstractMesh((8,), ("data",))


class Scale:
    by = 2.0


def doubled(x):
    return x * Scale.by
