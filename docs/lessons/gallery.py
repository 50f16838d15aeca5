"""A layer that several pages show without its code; the lesson on transforms has its own."""

import jax
import jax.numpy as jnp


def dense(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    """One dense layer: ``x`` holds a row for each example."""
    return jnp.tanh(x @ w + b)
