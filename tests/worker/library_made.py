"""Objects of libraries, and functions that take them, as their users write these."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import flax.linen as nn
import flax.struct
import jax
import optax
from flax import nnx

adam = optax.adam(1e-3)
dense = nn.Dense(3)


@flax.struct.dataclass
class Scaled:
    """A dataclass of Flax with a static field."""

    w: Any
    act: Any = flax.struct.field(pytree_node=False, default=None)


class Layer(eqx.Module):
    """A module of Equinox with a function among its leaves."""

    w: Any
    act: Any
    name: str = eqx.field(static=True, default="layer")

    def __call__(self, x: Any) -> Any:
        return self.act(self.w @ x)


class Dropped(nnx.Module):
    """A module of Flax NNX that counts its random numbers."""

    def __init__(self, rngs: Any) -> None:
        self.linear = nnx.Linear(2, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.dropout(self.linear(x))


def apply(model: Any, x: Any) -> Any:
    return model(x)


def scaled(model: Any, x: Any) -> Any:
    return model.act(model.w * x)


def linen(variables: Any, *args: Any) -> Any:
    return dense.apply(variables, *args)


def step(model: Any, state: Any, x: Any) -> Any:
    grads = eqx.filter_grad(lambda model: model(x).sum())(model)
    updates, state = adam.update(grads, state)
    return eqx.apply_updates(model, updates), state


KEY = jax.random.key(0)
