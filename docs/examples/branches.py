"""Two ways to branch on a value: one that JAX can trace, one that it can't."""

import jax.numpy as jnp


def leaky(x):
    """A Python ``if`` on a traced value: tracing stops with an error."""
    return x if x > 0 else 0.1 * x


def leaky_where(x):
    """The same, by selecting between two results."""
    return jnp.where(x > 0, x, 0.1 * x)
