"""Loops and branches."""

import jax
import jax.numpy as jnp
from jax import lax


def rnn(state, inputs, w):
    """A recurrent network: the state goes from step to step."""

    def step(state, x):
        state = jnp.tanh(x + state @ w)
        return state, state

    return lax.scan(step, state, inputs)


def newton_sqrt(a):
    """Square root by Newton's method, until a step changes little."""

    def unfinished(state):
        last, root = state
        return jnp.abs(root - last) > 1e-6

    def step(state):
        _, root = state
        return root, 0.5 * (root + a / root)

    return lax.while_loop(unfinished, step, (jnp.zeros_like(a), a))[1]


def activation(kind, x):
    """One of three functions, chosen while the program runs."""
    return lax.switch(kind, [jax.nn.relu, jnp.tanh, jnp.sin], x)


def running_sum(x):
    """A cumulative sum: one primitive."""
    return jnp.cumsum(x)


def linear_recurrence(decay, x):
    """All states of ``h = decay * h + x``, in a number of steps that grows with log n."""

    def join(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    return lax.associative_scan(join, (decay, x))[1]
