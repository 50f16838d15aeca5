"""A network of many layers, whose parameters are types alone."""

import jax
import jax.numpy as jnp
from jax import lax

DEPTH, WIDTH = 24, 512


def init(key):
    """Random weights for every layer, stacked."""
    return {
        "w": jax.random.normal(key, (DEPTH, WIDTH, WIDTH)) / jnp.sqrt(WIDTH),
        "b": jnp.zeros((DEPTH, WIDTH)),
    }


def params():
    """The types of what ``init`` makes; nothing is computed."""
    return jax.eval_shape(init, jax.random.key(0))


def layer(x, weights):
    return x + jnp.tanh(x @ weights["w"] + weights["b"])


def unrolled(params, x):
    """One layer after the other: Python's loop leaves its copies in the program."""
    for w, b in zip(params["w"], params["b"], strict=True):
        x = layer(x, {"w": w, "b": b})
    return x


def scanned(params, x):
    """The same with a loop that JAX sees."""
    return lax.scan(lambda x, weights: (layer(x, weights), None), x, params)[0]
