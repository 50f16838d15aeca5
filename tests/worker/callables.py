"""Functions and objects of every kind that a page may name."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np


def dense(x: Any, w: Any, b: Any) -> Any:
    return jnp.tanh(x @ w + b)


def loss(w: Any, x: Any) -> Any:
    return jnp.mean(jnp.sin(x @ w) ** 2)


def square(x: Any) -> Any:
    return x * x


def tree(params: Any, x: Any) -> Any:
    return {"out": x @ params["w"] + params["b"], "norm": jnp.sum(params["w"])}


def step(carry: Any, x: Any) -> Any:
    return carry * 2.0 + jnp.sum(x), jnp.sum(x)


def keyword(x: Any, *, scale: Any, shift: Any = 0.0) -> Any:
    return x * scale + shift


def defaults(x: Any, n: int = 2, y: Any = 1.0, *, flip: bool = False) -> Any:
    return (-x if flip else x) ** n + y


def positional(x: Any, /, y: Any) -> Any:
    return x - y


def star(x: Any, *rest: Any, **named: Any) -> Any:
    return x + sum(rest) + sum(named.values())


def shadow(jax: Any, sum: Any) -> Any:
    return jax * sum


def nothing() -> Any:
    return jnp.arange(3) + 1


def identity(x: Any) -> Any:
    return x


def prints(x: Any) -> Any:
    jax.debug.print("{}", x)
    return jnp.sin(x)


def no_result(x: Any) -> None:
    jax.debug.print("{}", x)


def uniform(key: Any) -> Any:
    return jax.random.uniform(key, (2,))


def total(x: Any) -> Any:
    return jnp.sum(x)


def over_axis(x: Any) -> Any:
    return jax.lax.psum(x, "i")


def branch(x: Any, act: Any, n: int) -> Any:
    for _ in range(n):
        x = act(x)
    return x


@functools.partial(jax.jit, static_argnames="n")
def jitted(x: Any, n: int) -> Any:
    return x * n


@functools.partial(jax.jit, static_argnums=1)
def jitted_by_position(x: Any, n: int) -> Any:
    return x * n


half = functools.partial(dense, b=1.0)
with_number = functools.partial(branch, act=jnp.sin)


class Model:
    """A model with a method, callable as well."""

    def __init__(self) -> None:
        self.scale = 2.0

    def apply(self, x: Any) -> Any:
        return x * self.scale

    def __call__(self, x: Any, y: Any = 1.0) -> Any:
        return x + y

    @staticmethod
    def fixed(x: Any) -> Any:
        return x + 1

    @classmethod
    def made(cls, x: Any) -> Any:
        return x + 2


model = Model()


@functools.partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["kind"])
@dataclass
class Params:
    """A registered dataclass with an array and a string."""

    w: Any
    kind: str


params = Params(jnp.ones((4, 4)), "linear")
shapes = {"w": jax.ShapeDtypeStruct((4, 2), jnp.float32), "b": np.zeros(2, np.float32)}


def make_params() -> Any:
    return {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}


def needs_argument(n: Any) -> Any:
    return n


def use(p: Any, x: Any) -> Any:
    return x @ p.w if p.kind == "linear" else x


TABLE = np.zeros((400, 400), np.float32)


def lookup(x: Any) -> Any:
    return x @ TABLE


program = jax.make_jaxpr(square)(jnp.float32(3.0))


def doubled(fn: Any, args: Any, times: int = 2, label: str = "") -> Any:
    """A third-party transform."""
    return (lambda *values: jax.tree.map(lambda leaf: leaf * times, fn(*values))), args


def wrong(fn: Any, args: Any) -> Any:
    return fn


number = 3


odd_p = jax.extend.core.Primitive("odd")
odd_p.def_abstract_eval(lambda x, **_: x)


def odd_text(x: Any) -> Any:
    """A parameter with what XML can't hold."""
    return odd_p.bind(x, text="\x1b[31m\x00")
