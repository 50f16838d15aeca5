import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402 - after a setting


def f(x):
    return x * jnp.arange(3)
