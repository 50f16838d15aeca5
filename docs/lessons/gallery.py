"""What the lesson "Transforms are jaxpr rewrites" traces."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

Function = Callable[[jax.Array], jax.Array]


def dense(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    """One dense layer: ``x`` holds a row for each example."""
    return jnp.tanh(x @ w + b)


def plain(function: Function) -> Function:
    return function


def count_runs(wrap: Callable[[Function], Function] = plain) -> jax.Array:
    """As many zeros as there were runs of ``square``."""
    runs = []

    def square(x: jax.Array) -> jax.Array:
        runs.append("run")
        return x * x

    function = wrap(square)
    x = jnp.float32(1)
    function(x)
    jax.grad(function)(x)
    jax.vmap(function)(jnp.ones(8))
    jax.checkpoint(function)(x)
    return jnp.zeros(len(runs))
