"""Losses, their gradients, and a step of an optimizer."""

import jax
import jax.numpy as jnp


def softmax(x):
    """Positive numbers with a sum of one, by the usual stable formula."""
    powers = jnp.exp(x - jnp.max(x))
    return powers / jnp.sum(powers)


def logsumexp(x):
    """The logarithm of a sum of exponentials, with the maximum taken out."""
    peak = jax.lax.stop_gradient(jnp.max(x))
    return peak + jnp.log(jnp.sum(jnp.exp(x - peak)))


def cross_entropy(logits, labels):
    """Mean negative log-probability of the right classes."""
    scores = jax.nn.log_softmax(logits)
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


def squared_error(w, x, y):
    """Error of a linear model on one example."""
    return (jnp.dot(x, w) - y) ** 2


def adam(state, grad, step):
    """One step of Adam: new parameters and new moments."""
    mean = 0.9 * state["mean"] + 0.1 * grad
    square = 0.999 * state["square"] + 0.001 * grad**2
    scale = jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    params = state["params"] - 1e-3 * scale * mean / (jnp.sqrt(square) + 1e-8)
    return {"params": params, "mean": mean, "square": square}
