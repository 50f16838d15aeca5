import jax

jax.config.update("jax_default_prng_impl", "rbg")
import plain  # noqa: E402 - after a setting


def f(x):
    return plain.key(x)
