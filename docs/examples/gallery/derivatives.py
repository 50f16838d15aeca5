"""Derivatives: rules of one's own, Jacobians, recomputation."""

import jax
import jax.numpy as jnp


@jax.custom_jvp
def log1pexp(x):
    """The softplus, whose derivative would overflow if left to the chain rule."""
    return jnp.log(1 + jnp.exp(x))


@log1pexp.defjvp
def _log1pexp_jvp(primals, tangents):
    (x,), (x_dot,) = primals, tangents
    return log1pexp(x), jax.nn.sigmoid(x) * x_dot


@jax.custom_vjp
def clip_gradient(x):
    """The identity, but no gradient above one passes through."""
    return x


def _clip_forward(x):
    return x, None


def _clip_backward(_, cotangent):
    return (jnp.clip(cotangent, -1.0, 1.0),)


clip_gradient.defvjp(_clip_forward, _clip_backward)


def tall(x):
    """Two numbers in, six out."""
    return jnp.sin(jnp.outer(x, jnp.arange(3.0)).ravel())


def residual_block(x, w_in, w_out):
    """Two layers and a way around them."""
    return x + jnp.tanh(jnp.tanh(x @ w_in) @ w_out)
