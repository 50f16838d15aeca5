"""A function whose docstring shows its own program."""

import jax
import jax.numpy as jnp


def rms_norm(x, scale):
    """Bring the last axis of ``x`` to a root mean square of one, times ``scale``.

    .. jaxpr-transform:: rms_norm
       :args: x=f32[4,16], scale=f32[16]
       :caption: All that a call computes.

    It takes :jaxpr:claim:`one square root per row`.

    .. jaxpr-claims::

       one square root per row: rms_norm[rsqrt].shape == (4, 1)
    """
    return x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True)) * scale
