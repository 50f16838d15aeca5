"""Parts of neural networks."""

import jax
import jax.numpy as jnp
from jax import lax


def attention(q, k, v):
    """Every query looks at every key, and takes a mean of the values."""
    scores = jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt(q.shape[-1])
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("hqk,khd->qhd", weights, v)


def layer_norm(x, scale, shift):
    """Mean zero and variance one along the last axis, then an affine map."""
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred * lax.rsqrt(variance + 1e-6) * scale + shift


def embed(table, tokens):
    """One row of the table for each token."""
    return table[tokens]


def conv(images, kernel):
    """A convolution that keeps the size: images NHWC, kernel HWIO."""
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=layout)


def dropout(key, x, rate):
    """Set a random part of ``x`` to zero and scale the rest up."""
    keep = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), 0.0)


def bilinear(x, w, y):
    """One number for each row of ``x`` and ``y``: a form in two arguments."""
    return jnp.einsum("ni,ij,nj->n", x, w, y)
