"""The function that the lesson's gallery rewrites."""

import jax
import jax.numpy as jnp


def dense(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    """One dense layer: ``x`` holds a row for each example."""
    return jnp.tanh(x @ w + b)
