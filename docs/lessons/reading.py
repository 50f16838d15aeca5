"""What the lesson "Reading a jaxpr" traces."""

import jax
import jax.numpy as jnp
import numpy as np


def straight(x: jax.Array, slope: jax.Array, start: jax.Array) -> jax.Array:
    return x * slope + start


def distance(a: jax.Array, b: jax.Array) -> jax.Array:
    step = a - b
    return jnp.sqrt(jnp.sum(step * step))


def power(x: jax.Array, n: int) -> jax.Array:
    result = x
    for turn in range(n - 1):
        print("turn", turn)
        result = result * x
    return result


TABLE = jnp.arange(5.0)


def shifted(x: jax.Array) -> jax.Array:
    forgotten = jnp.sin(x)
    return 2.0 * x + TABLE


SCALE = jnp.float32(2.5)
OFFSET = np.float32(0.5)


def scaled(x: jax.Array) -> jax.Array:
    return x * SCALE + OFFSET


@jax.jit
def half(x: jax.Array) -> jax.Array:
    return x * 0.5


def middle(a: jax.Array, b: jax.Array) -> jax.Array:
    return half(a) + half(b)


def bounded(x: jax.Array) -> jax.Array:
    return jax.nn.relu(jnp.clip(x, -1.0, 1.0))
