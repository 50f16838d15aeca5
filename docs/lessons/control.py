"""What the lesson "Control flow nests" traces."""

import jax


def undecided(x: jax.Array) -> jax.Array:
    if x > 0:
        return x
    return 0.25 * x


def keep(x: jax.Array) -> jax.Array:
    return x


def shrink(x: jax.Array) -> jax.Array:
    return 0.25 * x


def leaky(x: jax.Array) -> jax.Array:
    return jax.lax.cond(x > 0, keep, shrink, x)


def halve(x: jax.Array) -> jax.Array:
    """Half of ``x``, again and again, until it is at most one."""
    return jax.lax.while_loop(lambda v: v > 1.0, lambda v: v / 2.0, x)


def running(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The sum of ``x``, and all the sums on the way to it."""

    def step(total: jax.Array, value: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = total + value
        return total, total

    return jax.lax.scan(step, jax.numpy.float32(0), x)


def root(a: jax.Array) -> jax.Array:
    """The square root of ``a``, by five steps of Newton's method."""
    return jax.lax.fori_loop(0, 5, lambda _, x: 0.5 * (x + a / x), a)


def root_in(a: jax.Array, steps: jax.Array) -> jax.Array:
    """The same with a number of steps that is not known before the call."""
    return jax.lax.fori_loop(0, steps, lambda _, x: 0.5 * (x + a / x), a)
