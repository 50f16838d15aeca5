"""Functions whose phases are asked for."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

_INNER = jax.jit(lambda a, b: jnp.sin(a) * b)


def chain(x: Any, y: Any) -> Any:
    return jnp.sin(x) * x * y


def of_tree(p: Any) -> Any:
    return jnp.sin(p["w"]) * p["b"]


def looped(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * y, x)


def stacked(x: Any, y: Any) -> Any:
    return lax.scan(lambda c, a: (c * a, jnp.sin(c)), y, x[:, None] * jnp.ones((4, 4)))


def decay(x: Any, y: Any) -> Any:
    return lax.scan(lambda c, a: (c * 0.9 + a, None), 0.0, x)[0] * y


def summed(x: Any, y: Any) -> Any:
    """Two carries, of which one is never a tangent's."""
    return lax.scan(lambda c, a: ((c[0] + 1.0, c[1] + a * c[0]), c[0]), (0.0, 0.0), x)[0][1] * y


def until(x: Any, y: Any) -> Any:
    return lax.while_loop(lambda c: jnp.sum(c * y) < 9.0, lambda c: c * 1.5 + jnp.sin(c), x)


def while_of_both(x: Any, y: Any) -> Any:
    """A condition and a body with constants of their own."""
    bound = jnp.sin(y) * x
    return lax.while_loop(
        lambda c: jnp.sum(c[0] * bound) < 9.0, lambda c: (c[0] * y, jnp.sum(c[0]) > 0), (x, True)
    )[0]


def nested(x: Any, y: Any) -> Any:
    def outer(c: Any, a: Any) -> Any:
        inner = lax.scan(lambda d, b: (d * b + a, d), 0.0, y)
        return c + inner[0], inner[1]

    return lax.scan(outer, 0.0, x)


def branched(x: Any, y: Any) -> Any:
    return lax.cond(jnp.sum(y) > 0, lambda a: jnp.sin(a) * y, lambda a: jnp.cos(a), x)


def shared_body(x: Any, y: Any) -> Any:
    return _INNER(_INNER(x, y), y)


def twice_shared(x: Any, y: Any) -> Any:
    """One program, with and without tangents of its first operand under ``jvp`` of x."""
    return _INNER(_INNER(x, y), y) + lax.scan(lambda c, a: (_INNER(c, a), None), 1.0, y)[0]


def relu(x: Any, y: Any) -> Any:
    return jax.nn.relu(x) * jax.nn.softplus(y) * jax.nn.silu(x * y)


def after_a_loop(x: Any, y: Any) -> Any:
    """What reads the primal result of a loop is no tangent."""
    last, each = lax.scan(lambda c, a: (jnp.sin(c) * a, c), 1.0, x)
    return jnp.cos(jnp.cos(last)) * each * y


def indexed(x: Any, y: Any) -> Any:
    return x.at[1].set(jnp.sin(y[0])) * x[jnp.argmax(y)]


def under_remat(x: Any, y: Any) -> Any:
    return jax.checkpoint(lambda a: jnp.sin(jnp.sin(a)) * y)(x)
