"""Classes and functions that a page calls to make arguments, and functions that take those."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class Model(NamedTuple):
    """A named tuple."""

    w: Any
    b: Any = 0.5


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Data:
    """A dataclass with a static field, which checks what it is given."""

    w: Any
    power: int = dataclasses.field(metadata={"static": True}, default=2)

    def __post_init__(self) -> None:
        if getattr(self.w, "ndim", 2) != 2:
            raise ValueError(f"w has {self.w.ndim} axes")


@jax.tree_util.register_pytree_node_class
class Net:
    """A class that makes its weights itself, and keeps a function among its leaves."""

    def __init__(self, size: int, key: Any, act: Any = jnp.tanh, *, rate: float = 0.5) -> None:
        self.leaves = (jax.random.normal(key, (size, size)) / size, act, rate)

    def tree_flatten(self) -> tuple[Any, None]:
        return self.leaves, None

    @classmethod
    def tree_unflatten(cls, _: None, leaves: Any) -> Any:
        net = object.__new__(cls)
        net.leaves = leaves
        return net

    def __call__(self, x: Any) -> Any:
        w, act, rate = self.leaves
        return act(w @ x) if rate > 0 else x


class Plain:
    """No pytree."""

    def __init__(self, w: Any) -> None:
        self.w = w


class Optimizer(NamedTuple):
    """What a factory makes."""

    init: Any
    update: Any


def init(params: Any, scale: float = 1.0) -> Any:
    return jax.tree.map(lambda leaf: leaf * scale, params), jnp.zeros((), jnp.int32)


def update(params: Any, state: Any) -> Any:
    return jax.tree.map(lambda p, s: p + s, params, state[0]), state[1] + 1


def grid(size: int, kind: str) -> Any:
    return jnp.linspace(0.0, 1.0, size, dtype=kind)


def boom(x: Any) -> Any:
    raise ValueError("no luck")


def bare(x: Any) -> Any:
    return Plain(x)


OPTIMIZER = Optimizer(init, update)
PARAMS = {"w": jnp.ones(4)}
ACT = "tanh"
NET = Net(2, jax.random.key(0))


def leaves(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf + leaf, tree)


def powered(data: Any, x: Any) -> Any:
    return data.w @ x**data.power


def apply(net: Any, x: Any) -> Any:
    return net(x)


def step(net: Any, x: Any) -> Any:
    return net, net(x)


def three(x: Any, y: Any, z: Any = 1.0, *rest: Any, scale: Any = 2.0) -> Any:
    return x, y, z, rest, scale


def both(x: Any, /, y: Any, **more: Any) -> Any:
    return x, y, more


def noisy(p: Any, x: Any) -> Any:
    return (p["w"] * x * p["n"] + p["c"]) * jax.random.normal(p["key"], (3,))


def scaled(p: Any, x: Any) -> Any:
    return p["w"] * x * p["n"] + p["c"]


def counted(n: Any, x: Any) -> Any:
    return (n * x).sum()


def doubled(fn: Any, args: Any, times: int = 2) -> Any:
    return lambda *values: jax.tree.map(lambda leaf: leaf * times, fn(*values)), args
