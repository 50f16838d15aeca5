"""A transform of a project's own: everything in low precision."""

import jax
import jax.numpy as jnp


def lowered(fn, args, dtype="bfloat16"):
    """The function with its floating arguments, and so its work, in ``dtype``."""

    def low(*values):
        return fn(*jax.tree.map(lambda leaf: _cast(leaf, dtype), values))

    return low, args


def _cast(leaf, dtype):
    floating = jnp.issubdtype(leaf.dtype, jnp.floating)
    return leaf.astype(dtype) if floating else leaf
