"""What the page about roles speaks of."""

import jax
import jax.numpy as jnp


def layer_norm(x, scale, shift):
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(variance + 1e-6) * scale + shift
