"""Changes, while it is traced, what modules that were imported long before use."""

import jax.numpy as jnp


def kind(x):
    type(x).__mul__ = lambda a, b: a
    return x * 3.0


def lazy(x):
    import jax.scipy.special as special

    special.erf = jnp.sin
    return special.erf(x)
