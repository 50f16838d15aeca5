"""A module that ``jaxpr_allowed_modules`` lists: what is its own, and what it has of others."""
# mypy: disable-error-code="no-untyped-call, no-untyped-def, misc, assignment, method-assign"

from __future__ import annotations

import builtins
import enum
import functools
import io
import logging
import os
import sys
import types
from contextlib import contextmanager
from dataclasses import dataclass
from os import system
from typing import Any, NamedTuple

import jax
import jax.extend.core
import jax.numpy as jnp
import numpy as np
from jax import lax, nn
from jax.numpy import load as load_it  # noqa: F401 - a name of the module

from . import house_guest
from .house_guest import Base, Optimizer, decorated, strange
from .house_guest import instance as guest
from .house_guest import settings as guest_settings  # noqa: F401 - a name of the module

# -- its own


def relu(x):
    return jnp.maximum(x, 0)


def dense(x, w, act=relu):
    return act(x @ w)


def apply(x, fn=None):
    return fn(x) if callable(fn) else x


def scaled(x, by=2):
    return x * by


def cast(x, dtype=None):
    return x.astype(dtype)


def keep(x, what=None):
    return x


def make_x():
    return jnp.ones(3)


relu.variants = {"a": 1}
relu.leaky = lambda x: jnp.where(x > 0, x, 0.1 * x)
jitted = jax.jit(relu)
jitted_partial = jax.jit(functools.partial(scaled, by=3))
half = functools.partial(scaled, by=0.5)
batched = jax.vmap(functools.partial(scaled, by=3))
gradient = jax.grad(lambda x: x**2)
rematted = jax.checkpoint(relu)
cached = functools.lru_cache(relu)
leaf = jax.tree_util.Partial(scaled, by=2)
vectorized = jnp.vectorize(relu)
program = jax.make_jaxpr(relu)(1.0)
wrapped = decorated(relu)
gelu = functools.partial(nn.gelu, approximate=True)
squashed = jax.jit(jnp.tanh)


@jax.custom_jvp
def softplus(x):
    return jnp.log1p(jnp.exp(x))


softplus.defjvps(lambda g, ans, x: g * nn.sigmoid(x))


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda res, g: (jnp.clip(g, -1, 1),))


class Linear:
    scale = 2.0

    def __init__(self, w=2.0):
        self.w = w

    def __call__(self, x):
        return x * self.w

    def __matmul__(self, x):
        return x * self.w

    def forward(self, x):
        return self(x)

    @functools.partial(jax.jit, static_argnums=0)
    def fast(self, x):
        return self(x)

    @staticmethod
    def plain(x):
        return -x

    @classmethod
    def made(cls, x):
        return cls()(x)

    @property
    def doubled(self):
        return functools.partial(scaled, by=2 * self.w)

    @property
    def loader(self):
        return jnp.load

    thief = staticmethod(jnp.load)
    console = staticmethod(system)


class Derived(Base):
    def own(self, x):
        return x


class Proxy(Base):
    __call__ = staticmethod(jnp.load)


class Given:
    """What its class gives when it is asked or called is of others."""

    __call__ = functools.partialmethod(strange)
    scale = functools.partialmethod(strange)
    got = property(strange)
    kept = functools.cached_property(strange)
    other = house_guest.Getter()

    def times(self, x, by):
        return x * by

    twice = functools.partialmethod(times, by=2)


class Returned:
    __call__ = property(lambda self: strange)


class Fetched:
    __call__ = house_guest.Getter()


class Twice:
    def run(self, x, by):
        return x * by

    __call__ = functools.partialmethod(run, by=2)
    both = functools.partialmethod(run, by=3)


class Answered(house_guest.Answering):
    def own(self, x):
        return x


class Made(metaclass=house_guest.Meta):
    pass


class Endless:
    pass


class Mapped(np.memmap):
    pass


class Stream(io.FileIO):
    pass


class Bound(functools.partial):
    pass


class Noted:
    def __init__(self, fn):
        functools.update_wrapper(self, fn)
        self.fn = fn

    def __call__(self, *args):
        return self.fn(*args)


class Lying:
    __module__ = property(lambda self: "tests.worker.house")  # type: ignore[assignment] # it lies

    def __call__(self, x):
        return x


class Params(NamedTuple):
    w: Any
    b: Any


@dataclass
class Config:
    width: int = 3
    act: Any = relu


@dataclass
class Begun(house_guest.Beginning):
    width: int = 3


class Act(enum.Enum):
    RELU = "relu"
    LOAD = (jnp.load,)


class Wrong(Exception):
    pass


@contextmanager
def opened():
    yield 1


linear = Linear()
given = Given()
returned = Returned()
fetched = Fetched()
twice = Twice()
answered = Answered()
endless = Endless()
Endless.__call__ = Endless()
Endless.__call__ = type("Other", (), {"__module__": __name__, "__call__": endless})()
another = house_guest.Another(relu)
derived = Derived()
proxy = Proxy()
params = Params(jnp.ones((3, 3)), jnp.zeros(3))
config = Config()
space = types.SimpleNamespace(act=relu, n=3, load=jnp.load, inner=os)
wrong = Wrong("x")
mesh = jax.sharding.AbstractMesh((2,), ("a",))
handlers = {"relu": relu, "tanh": jnp.tanh}
precision = lax.Precision.HIGHEST
optimizer = Optimizer(strange)
sizes = (3, 4)

# -- what it has of others

loads = jax.jit(jnp.load, static_argnums=0)
saves = functools.partial(jnp.save, "here")
deep = functools.partial(jax.jit(functools.partial(jnp.load, mmap_mode=None)))
mapped = jax.vmap(jnp.load)
bound = Bound(jnp.load)
noted = Noted(jnp.load)
remembered = functools.lru_cache(jnp.load)
tree = jax.tree_util.Partial(jnp.load)
lower = jitted.lower
tangent = jax.linearize(relu, 1.0)[1]
guest_method = guest.inherited
guest_wrapped = decorated(jnp.load)
made_by_exec = eval("lambda x: x", {})  # noqa: S307 - a function of no module
thieves = {"x": [(jnp.load,)]}
initializer = nn.initializers.he_normal()
log = logging.getLogger("house")
generator = (n for n in range(3))
frame = sys._getframe()
code = relu.__code__
numpy_sin = np.sin
appended = [].append
environ = os.environ
opener = open
evaluate = builtins.eval
config_update = jax.config.update
unsaid = types.FunctionType(relu.__code__, relu.__globals__)
unsaid.__module__ = 3
modular = types.FunctionType(relu.__code__, relu.__globals__)
modular.__module__ = house_guest.__name__
looped = lambda x: x  # noqa: E731 - a lambda is what is tried
looped.__wrapped__ = looped
lying = Lying()
