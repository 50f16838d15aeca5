"""What the lesson "Composing transforms" traces."""

import jax


def loss(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """The squared error of a linear model on one example."""
    error = x @ w - y
    return error * error
