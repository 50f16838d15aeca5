"""Arguments whose types say more than shape and dtype; targets that care how they are called."""

from __future__ import annotations

import collections
import enum
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

reshard: Any = getattr(jax, "reshard", None) or jax.sharding.reshard

MESH = AbstractMesh((2, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)
MIXED = AbstractMesh((2, 2), ("a", "b"), axis_types=(AxisType.Explicit, AxisType.Auto))
ONE = jax.make_mesh((1,), ("a",), axis_types=(AxisType.Explicit,))


def on(*entries: Any, mesh: Any = MESH, **more: Any) -> Any:
    return NamedSharding(mesh, P(*entries, **more))


X = jax.ShapeDtypeStruct((4, 8), jnp.float32, sharding=on("a", "b"))
BOTH = jax.ShapeDtypeStruct((8, 16), jnp.bfloat16, sharding=on(("a", "b")))
HALF = jax.ShapeDtypeStruct((4, 8), jnp.float32, sharding=on("a", "b", mesh=MIXED))
REDUCED = jax.ShapeDtypeStruct((4, 8), jnp.float32, sharding=on("a", None, reduced={"b"}))
UNREDUCED = jax.ShapeDtypeStruct((4, 8), jnp.float32, sharding=on("a", None, unreduced={"b"}))
DATA = AbstractMesh((2,), ("a",), axis_types=(AxisType.Auto,))
AUTO = jax.ShapeDtypeStruct((4, 8), jnp.float32, sharding=on("a", mesh=DATA))
PLACED = jax.device_put(np.ones((4, 8), np.float32), NamedSharding(ONE, P("a", None)))
TREE = {"x": X, "plain": jnp.ones((4, 8)), "n": 3}
WEAK = jnp.asarray(2.0)
ZERO = np.zeros(3, jax.dtypes.float0)
KEY = jax.random.key(7)
KEYS = jax.random.split(KEY, 4)
WIDE = np.arange(3.0)
SYMBOLIC = jax.ShapeDtypeStruct(export.symbolic_shape("n,8"), jnp.float32)
SHARED = jax.new_ref(jnp.zeros(3))
INFINITE = {"low": -math.inf, "high": float("inf"), "none": math.nan}
INF = math.inf


class Looks:
    """No array, though it has a shape and a dtype."""

    shape = (3,)
    dtype = np.dtype(np.float32)


LOOKS = Looks()


class Pair(NamedTuple):
    """A pytree of a named kind."""

    w: Any
    b: Any


PAIR = Pair(jnp.ones((2, 2)), X)


class Node:
    """A pytree that only its own functions can make."""

    def __init__(self) -> None:
        self.children: Any = ({"w": jnp.ones((2, 3))}, 2.0)

    @classmethod
    def of(cls, _: Any, children: Any) -> Any:
        made = object.__new__(cls)
        made.children = children
        return made


jax.tree_util.register_pytree_node(Node, lambda node: (node.children, None), Node.of)
NODE = Node()
ORDERED = collections.OrderedDict(z=jnp.ones(2), a=NODE)
DEFAULTS = collections.defaultdict(list, k=jnp.ones(2))


class Level(enum.IntEnum):
    """Numbers with names."""

    LOW = 1


def make_node() -> Any:
    return Node()


def make_mesh() -> Any:
    return jax.sharding.Mesh(jax.devices()[:1], ("a",), axis_types=(AxisType.Explicit,))


def make_ref() -> Any:
    return jax.new_ref(jnp.zeros(3))


def make_refs() -> Any:
    return {"one": jax.new_ref(jnp.zeros(3)), "two": jax.new_ref(jnp.ones((2, 2), jnp.bfloat16))}


def make_host() -> Any:
    return jax.device_put(jnp.ones(4), jax.memory.Space.Host)


def make_sharded_ref() -> Any:
    return jax.new_ref(PLACED)


make_jitted = jax.jit(lambda: jnp.ones((2, 3)))
make_partial = functools.partial(jnp.ones, (2, 5))
PARTIAL = jax.tree_util.Partial(jnp.add, jnp.ones(3))


class Maker:
    """An object that returns an argument."""

    def __call__(self) -> Any:
        return jnp.ones((2, 7))


maker = Maker()


def call(f: Any) -> Any:
    return f(1.0)


def turn(x: Any) -> Any:
    return jnp.sin(x).T


def flip(x: Any) -> Any:
    return x.T


def double(x: Any) -> Any:
    return x * 2


def leaves(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf + leaf, tree)


def cast(x: Any, y: Any) -> Any:
    return x * y


def draw(key: Any) -> Any:
    return jax.random.fold_in(key, 3)


def draws(keys: Any) -> Any:
    return jax.vmap(jax.random.uniform)(keys)


def unused(x: Any, y: Any) -> Any:
    return y + 1


def read(ref: Any) -> Any:
    return jnp.sin(ref[...])


def bump(ref: Any, x: Any) -> Any:
    ref[...] += x
    return ref[...].sum()


def weigh(ref: Any, x: Any) -> Any:
    return (ref[...] * x).sum()


def swap_refs(refs: Any) -> Any:
    refs["one"][...] = refs["two"][0].sum() * refs["one"][...]
    return refs["two"][...]


def two_refs(one: Any, two: Any) -> Any:
    one[...] = two[...]


def plain(x: Any) -> Any:
    return x + 1


def fill(x: Any, low: Any = 0.0) -> Any:
    return jnp.where(x > 0, x, low)


def nested(x: Any, limits: Any) -> Any:
    return jnp.clip(x, limits["low"], limits["high"][0])


def shifted(x: Any, by: Any) -> Any:
    return x + by


def nothing(x: Any) -> None:
    pass


# -- under a mesh


def spread(x: Any) -> Any:
    return jnp.sin(reshard(x, P("a", None)))


def contract(x: Any, y: Any) -> Any:
    return jnp.einsum("ij,kj->ik", x, y, out_sharding=P("a", None))


def constrain(x: Any) -> Any:
    return jax.lax.with_sharding_constraint(x * 2, P("a"))


def zeros(x: Any) -> Any:
    return x + jnp.zeros((4, 8), out_sharding=P("a", None))


def over(x: Any) -> Any:
    return jax.lax.psum(x, "a")


# -- how a target is called


class Linear(NamedTuple):
    """A model that is called."""

    w: Any


MLP = Linear(jnp.ones(3))
W = jnp.arange(16.0).reshape(4, 4)
LIMITS = np.ones(40)


def apply(m: Any, x: Any) -> Any:
    return (m.w * x).sum()


def first_by_position(f: Any) -> Any:
    """As Equinox's ``filter_grad``: the first argument must be given by position."""

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise TypeError("the first argument must be passed by position")
        return jax.grad(lambda w: f(type(args[0])(w), *args[1:], **kwargs))(args[0].w)

    return wrapper


filtered = first_by_position(apply)


def loose(f: Any) -> Any:
    """A wrapper that tells nothing of its parameters."""

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return wrapper


unsigned = loose(lambda n, x: x * n)


def power(n: Any, x: Any) -> Any:
    return x**n


by_second = functools.partial(jax.grad, argnums=1)(power)


def layer(w: Any, x: Any) -> Any:
    return w @ x


mapped = functools.partial(jax.vmap, in_axes=(None, 1))(layer)


def cols(w: Any, x: Any) -> Any:
    return w @ x


silent = functools.partial(jax.vmap, in_axes=1)(cols)
sharded = jax.shard_map(
    layer, mesh=AbstractMesh((2,), ("a",), axis_types=(AxisType.Auto,)),
    in_specs=(P(), P(None, "a")), out_specs=P(None, "a"),
)  # fmt: skip
vectorized = functools.partial(jnp.vectorize, excluded=(0,))(power)
checked = functools.partial(jax.checkpoint, static_argnums=(1,))(lambda x, flag: -x if flag else x)
spread_out = jax.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)
jitted = jax.jit(lambda x, n: x * n, static_argnums=1)
named = jax.jit(lambda x, n: x * n, static_argnames=("n",))
shaped = jax.jit(lambda x, shape: x + jnp.zeros(shape), static_argnames=("shape",))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled(x: Any, n: Any) -> Any:
    return x * n


scaled.defvjp(lambda x, n: (x * n, None), lambda n, _, g: (g * n,))


def starred(x: Any, *rest: Any, z: Any = 1) -> Any:
    return x + sum(rest) + z


def summed(x: Any, *rest: Any, **named: Any) -> Any:
    return x + sum(rest) - sum(named.values())


def late(x: Any, n: Any = 2, *, k: Any = 1.0, **named: Any) -> Any:
    return x * n * k + sum(named.values())


def hides(W: Any, w: Any) -> Any:
    return W + w.sum()


def first(x: Any, y: Any = 1.0, /, z: Any = 2.0) -> Any:
    return x + y * z


def named_only(f: Any) -> Any:
    """A wrapper that takes keywords alone."""

    @functools.wraps(f)
    def wrapper(**named: Any) -> Any:
        return f(**named)

    return wrapper


def giving(f: Any) -> Any:
    """A wrapper that gives the first argument itself, and says so."""

    @functools.wraps(f)
    def wrapper(x: Any) -> Any:
        return f(W, x)

    return wrapper


def giving_loosely(f: Any) -> Any:
    """A wrapper that gives the first argument itself, and tells nobody."""

    @functools.wraps(f)
    def wrapper(*args: Any, **named: Any) -> Any:
        return f(W, *args, **named)

    return wrapper


def scaled_layer(w: Any, x: Any, n: Any = 2, *, limits: Any = LIMITS) -> Any:
    return (w @ x) * n + limits.sum()


keywords = named_only(scaled_layer)
given = giving(scaled_layer)
given_jitted = jax.jit(giving(scaled_layer))
given_loosely = giving_loosely(scaled_layer)


def cut(x: Any, n: Any) -> Any:
    return x[:n]


def repeated(x: Any, n: Any) -> Any:
    return jnp.stack([x] * n)


def counted(x: Any, n: Any) -> Any:
    return sum(x for _ in range(n))


def chosen(x: Any, n: Any) -> Any:
    return {1: x, 2: -x}[n]


def weight(x: Any, weight: Any) -> Any:
    return x * weight


def total(sum: Any, jax: Any) -> Any:
    return sum * jax


def doubled(fn: Any, args: Any) -> Any:
    """A registered transform that uses the arguments' types."""
    total = sum(jax.tree.leaves(jax.tree.map(lambda leaf: getattr(leaf, "ndim", 0), args)))
    return (lambda *values: jax.tree.map(lambda leaf: leaf * total, fn(*values))), args
