"""Functions of the oracle's corpus; each is a target, ``tests.oracle.functions:dense``.

:data:`CASES` holds them with the types of their arguments.  No name of an argument
is that of a function of the language of paths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = jax.ShapeDtypeStruct((8, 4), jnp.float32)
V = jax.ShapeDtypeStruct((8,), jnp.float32)
B = jax.ShapeDtypeStruct((4,), jnp.float32)
W = jax.ShapeDtypeStruct((4, 4), jnp.float32)
S = jax.ShapeDtypeStruct((), jnp.float32)
N = jax.ShapeDtypeStruct((), jnp.int32)
I = jax.ShapeDtypeStruct((3,), jnp.int32)  # noqa: E741 - positions
Q = jax.ShapeDtypeStruct((8, 4), jnp.bool_)
IMAGE = jax.ShapeDtypeStruct((1, 3, 8, 8), jnp.float32)
KERNEL = jax.ShapeDtypeStruct((4, 3, 3, 3), jnp.float32)
KEY = jax.eval_shape(lambda: jax.random.key(0))
TABLE = np.arange(32, dtype=np.float32).reshape(8, 4)


@dataclass(frozen=True)
class Case:
    """A function and the types of its arguments.

    ``needs`` are attributes of ``jax`` without which it can't be traced; ``own`` are chains
    of transforms that are always tried, beside those that all functions share; ``heavy``
    ones are tried with few.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    needs: str = ""
    own: tuple[str, ...] = ()
    heavy: bool = False

    @property
    def missing(self) -> str:
        """The attribute that this JAX lacks."""
        if self.needs.startswith("jax."):
            return "" if find_spec(self.needs) else self.needs
        return "" if not self.needs or hasattr(jax, self.needs) else f"jax.{self.needs}"


CASES: dict[str, Case] = {}


def case(
    *arguments: Any, needs: str = "", own: str = "", heavy: bool = False
) -> Callable[[Any], Any]:
    """Enter the function that follows."""

    def enter(function: Any) -> Any:
        name = function.__name__
        assert name not in CASES, name
        chains = tuple(chain.strip() for chain in own.split(",") if chain.strip())
        CASES[name] = Case(name, function, arguments, needs, chains, heavy)
        return function

    return enter


# -- elementwise, shapes, reductions


@case(S)
def single(x):
    return jnp.sin(x)


@case(V)
def chained(x):
    return jnp.cos(jnp.sin(x))


@case(V)
def product(x):
    return jnp.sin(x) * x


@case(V)
def repeated(x):
    return jnp.tanh(x) + jnp.tanh(x)


@case(V)
def squares(x):
    y = x * x
    return y * y + 3.0 * y


@case(X, W, B)
def dense(x, w, b):
    return jnp.tanh(x @ w + b)


@case(X, W, B)
def softmaxed(x, w, b):
    return jax.nn.softmax(x @ w + b, axis=-1)


@case(X)
def normalized(x):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)


@case(V)
def rounded(x):
    return x.astype(jnp.bfloat16).astype(jnp.float32) * 2


@case(V)
def casts(x):
    return x.astype(jnp.int32) + 1, x.astype(jnp.bool_), x.astype("float16")


@case(X)
def reduced(x):
    return x.sum(axis=0), x.max(), x.prod(axis=1), jnp.argmax(x, axis=1)


@case(X)
def shaped(x):
    return x.reshape(4, 8).T[None], jnp.squeeze(x[:1]), jnp.flip(x, 0)


@case(X)
def joined(x):
    return jnp.concatenate([x, x[:2] * 2.0], axis=0)


@case(X, X)
def compared(x, y):
    return jnp.where(x > y, x, y - x)


@case(X)
def clipped(x):
    return jnp.clip(x, -1.0, 1.0)


@case(V)
def powers(x):
    return x**3 + x**-1 + jnp.power(2.0, x)


@case(X, Q)
def masked(x, mask):
    return jnp.where(mask, x, -jnp.inf).max(axis=1)


@case()
def nothing_in():
    return jnp.arange(4) * 2


@case(V)
def identity(x):
    return x


@case(V)
def twice_out(x):
    return x, jnp.sin(x), x


@case(V)
def literal_out(x):
    return 1.0, x * 0.1, True


@case(V)
def unused_part(x):
    jnp.cos(x)
    return jnp.sin(x)


@case(X)
def sorted_rows(x):
    return jnp.sort(x, axis=1), jnp.argsort(x, axis=0)


@case(X)
def largest(x):
    return lax.top_k(x, 2)


@case(X, I)
def gathered(x, i):
    return x[i] * 2.0


@case(X, I)
def scattered(x, i):
    return x.at[i].add(1.0).at[0].set(0.0)


@case(X, N)
def sliced(x, n):
    return lax.dynamic_slice(x, (n, 0), (2, 4)), lax.dynamic_update_slice(x, x[:1], (n, 0))


@case(V)
def spectrum(x):
    return jnp.fft.fft(x).real, jnp.abs(jnp.fft.rfft(x))


@case(IMAGE, KERNEL, heavy=True)
def convolved(image, kernel):
    return lax.conv(image, kernel, (1, 1), "SAME")


@case(X)
def pooled(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID")


@case(X)
def folded(x):
    return lax.reduce(x, 0.0, lambda p, q: p + q * 2, (0,))


@case(V)
def running(x):
    return jnp.cumsum(x), lax.associative_scan(jnp.multiply, x)


@case(X, X)
def einsummed(x, y):
    return jnp.einsum("ij,kj->ik", x, y)


@case(V)
def stopped(x):
    return lax.stop_gradient(jnp.exp(x)) * x


@case(V)
def named(x):
    with jax.named_scope("transpose(q)"):
        y = jnp.sin(x)
    with jax.named_scope("rematted_computation"):
        return jnp.cos(y)


@case(V)
def barred(x):
    return lax.optimization_barrier((jnp.sin(x), x))


# -- arrays that are captured, constants


@case(X)
def captured(x):
    return x * jnp.asarray(TABLE)


@case(X)
def captured_in_jit(x):
    return jax.jit(lambda v: v * jnp.asarray(TABLE))(x) + 1.0


@case(V)
def captured_in_loop(x):
    row = jnp.asarray(TABLE[:, 0])
    return lax.scan(lambda c, _: (c * row, None), x, None, length=3)[0]


@case(V)
def captured_number(x):
    return x * jnp.float32(2.5) + np.float32(0.5)


# -- calls


@jax.jit
def _inner(x):
    return jnp.sin(x) * 2.0


@jax.jit
def _outer(x):
    return _inner(_inner(x)) + _inner(x + 1.0)


@case(V)
def jitted(x):
    return _inner(x) + 1.0


@case(V)
def shared(x):
    return _outer(x)


@case(V, B)
def shared_shapes(x, y):
    return _inner(x), _inner(y), _inner(x)


@case(V)
def nested(x):
    return jax.jit(lambda v: jax.jit(lambda u: jnp.exp(u) + 1.0)(v) * v)(x)


@case(V)
def relus(x):
    return jax.nn.relu(jax.nn.relu(x) - 1.0)


@case(X)
def gelued(x):
    return jax.nn.gelu(x) + jax.nn.silu(x)


@case(V)
def saved(x):
    return jax.checkpoint(lambda v: jnp.cos(jnp.sin(v)))(x) * x


@case(V, own="remat | grad")
def saved_dots(x):
    kept = jax.checkpoint_policies.dots_saveable
    return jax.checkpoint(lambda v: jnp.sin(jnp.dot(v, v) * v), policy=kept)(x)


@jax.custom_jvp
def _bounded(x):
    return jnp.where(x > 1.0, 1.0, x)


@_bounded.defjvp
def _bounded_jvp(primals, tangents):
    return _bounded(primals[0]), tangents[0] * 2.0


@jax.custom_vjp
def _scaled(x):
    return jnp.sin(x) * 3.0


_scaled.defvjp(lambda x: (_scaled(x), x), lambda kept, ct: (ct * jnp.cos(kept),))


@case(V)
def custom_forward(x):
    return _bounded(_bounded(x) * 2.0)


@case(V)
def custom_backward(x):
    return _scaled(x) + _scaled(x * 2.0)


# -- control flow


@case(V, V)
def scanned(c, x):
    def step(state, item):
        return jnp.tanh(state + item), state * 2.0

    return lax.scan(step, c, jnp.stack([x, x * 2.0]))


@case(jax.ShapeDtypeStruct((4,), jnp.float32), own="jvp, grad, jvp | vmap, linearize, jvp | jit")
def decayed(xs):
    return lax.scan(lambda c, x: (c * 0.9 + x, None), 0.0, xs)[0]


@case(V)
def scan_in_scan(x):
    def inner(c, _):
        return c * 0.5 + x, c

    def outer(c, _):
        return lax.scan(inner, c, None, length=2)[0], None

    return lax.scan(outer, jnp.zeros(8), None, length=3)[0]


@case(V)
def scan_of_jit(x):
    return lax.scan(lambda c, _: (_inner(c), c.sum()), x, None, length=3)


@case(V, own="jvp, jvp | vmap, jvp | jit, linearize")
def looped(x):
    return lax.while_loop(lambda c: c.sum() < 9.0, lambda c: c * 2.0, x)


@case(S, S, own="jvp, jvp | vmap")
def looped_between(x, y):
    return lax.while_loop(lambda c: c < jnp.sin(y) * x, lambda c: c * x + y, 0.5)


@case(S, own="jvp, jvp | vmap")
def counted(x):
    """Carries that depend on one another only after several rounds."""
    return lax.while_loop(
        lambda c: c[0] < 5, lambda c: (c[0] + 1, c[2], c[3], c[3] * x), (0, 0.0, 0.0, 1.0)
    )


@case(V, own="jvp, grad, jvp | vmap")
def fori(x):
    return lax.fori_loop(0, 5, lambda i, c: c * x + i, jnp.zeros(8))


@case(V, N)
def fori_dynamic(x, n):
    return lax.fori_loop(0, n, lambda i, c: jnp.sin(c), x)


@case(V, S, own="grad, jvp, jvp | vmap")
def branched(x, p):
    return lax.cond(p > 0, jnp.sin, jnp.cos, x)


@case(V, S)
def branched_alike(x, p):
    return lax.cond(p > 0, jax.nn.relu, jax.nn.relu, x)


@case(V, S)
def branched_twice(x, p):
    def deeper(v):
        return lax.cond(p > 1, lambda u: jnp.sin(u), lambda u: u * 2.0, v)

    return lax.cond(p > 0, deeper, jnp.tan, x)


@case(V, N)
def switched(x, n):
    return lax.switch(n, [jnp.sin, lambda v: v, lambda v: _inner(v) + 1.0], x)


@case(V)
def mapped(x):
    return lax.map(lambda v: jnp.sin(v) + 1.0, x)


@case(V)
def loop_of_branches(x):
    def step(c, i):
        return lax.cond(i > 1, lambda v: v * x, jnp.sin, c), None

    return lax.scan(step, x, jnp.arange(4))[0]


# -- trees


class State(NamedTuple):
    """What an optimizer keeps."""

    mu: Any
    count: Any


PARAMS = {"w": W, "b": B}


@case(PARAMS, {}, own="grad, vmap")
def step_without_state(params, opt):
    return {name: value * 0.9 for name, value in params.items()}


@case({}, PARAMS, None)
def step_with_gaps(opt, params, none):
    return params["w"] @ params["b"], opt, none


@case(PARAMS, (State({"w": W, "b": B}, N), ()), X)
def trained(params, state, x):
    def loss(values):
        return ((x @ values["w"] + values["b"]) ** 2).mean()

    grads = jax.grad(loss)(params)
    mu = jax.tree.map(lambda m, g: 0.9 * m + g, state[0].mu, grads)
    new = jax.tree.map(lambda v, m: v - 0.1 * m, params, mu)
    return new, (State(mu, state[0].count + 1), ())


@case({"a": [S, V], "c": (S, None)})
def tree_out(t):
    return {"b": t["a"][0] + t["a"][1], "n": None, "p": (t["c"][0], [])}


# -- randomness, effects, callbacks


@case(KEY)
def drawn(key):
    first, second = jax.random.split(key)
    return jax.random.uniform(first, (3,)), jax.random.key_data(second)


@case(V, KEY)
def dropped_out(x, key):
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x * 2.0, 0.0)


@case(V)
def printed(x):
    jax.debug.print("x = {}", x)
    return jnp.sin(x)


@case(V)
def called_back(x):
    return jax.pure_callback(np.sin, V, x) * 2.0


@case(V, needs="new_ref")
def with_ref(x):
    ref = jax.new_ref(x)
    ref[...] = x * 2.0
    ref[0] += 1.0
    return ref[...]


@case(V, needs="new_ref")
def loop_on_ref(x):
    ref = jax.new_ref(jnp.zeros(()))

    def body(i, _):
        ref[...] += x[i]

    lax.fori_loop(0, 8, body, None)
    return ref[...]


# -- linear algebra


@case(W, B, heavy=True)
def solved(w, b):
    return jnp.linalg.solve(w, b)


@case(W, heavy=True)
def decomposed(w):
    return jnp.linalg.cholesky(w), jnp.linalg.qr(w)


@case(V)
def linear(x):
    return lax.custom_linear_solve(lambda v: v * 2, x, lambda m, r: r / 2, lambda m, r: r / 2)


@case(B, W, heavy=True)
def conjugate(b, w):
    return jax.scipy.sparse.linalg.cg(lambda v: w @ v, b, maxiter=3)[0]


@case(S)
def root(x):
    return lax.custom_root(lambda v: v * v - x, x, lambda f, v: v / 2, lambda g, y: y / g(1.0))


# -- primitives whose parameters hold programs in containers


def _program(function):
    return jax.make_jaxpr(function)(np.zeros(8, np.float32))


class Rows(list):
    """A list as a parameter, which JAX wants to be hashable."""

    def __hash__(self):
        return len(self)


class Named(dict):
    """A dict as a parameter."""

    def __hash__(self):
        return len(self)


class Pair(NamedTuple):
    """Two programs."""

    first: Any
    second: Any


_SINE, _TWO = _program(lambda v: jnp.sin(v)), _program(lambda v: jnp.cos(v) * v)


def _holder(name):
    from jax.extend.core import Primitive

    found = Primitive(name)
    found.def_abstract_eval(lambda x, **_: x)
    return found


_IN_LIST, _IN_DICT, _IN_TUPLES, _IN_PAIR, _IN_MIX = map(
    _holder, ["held_list", "held_dict", "held_tuples", "held_pair", "held_mix"]
)


@case(V)
def in_list(x):
    return _IN_LIST.bind(x, parts=Rows([_SINE, _TWO]), size=2)


@case(V)
def in_dict(x):
    return _IN_DICT.bind(x, parts=Named(a=_SINE, b=_TWO))


@case(V)
def in_tuples(x):
    return _IN_TUPLES.bind(x, parts=((_SINE,), (_TWO, _SINE)))


@case(V)
def in_pair(x):
    return _IN_PAIR.bind(x, parts=Pair(_SINE, _TWO))


@case(V)
def in_mix(x):
    return _IN_MIX.bind(jnp.exp(x), parts=Rows([Named(a=(_SINE, 1)), Pair(_TWO, None)]), whole=_TWO)


# -- collectives and meshes


def _mesh(kind="Auto"):
    axis = getattr(jax.sharding.AxisType, kind)
    return jax.sharding.AbstractMesh((2, 4), ("i", "j"), axis_types=(axis,) * 2)


P = jax.sharding.PartitionSpec


def _split(function, into, out):
    return jax.shard_map(function, mesh=_mesh(), in_specs=into, out_specs=out)


@case(V, own="grad, jvp, jit")
def summed_over(x):
    return _split(lambda v: lax.psum(v, "i"), P("i"), P())(x)


@case(X, own="grad, jvp, jit")
def split_dense(x):
    def local(v):
        return jnp.tanh(v) * 2.0 + lax.pmean(v.sum(), ("i", "j"))

    return _split(local, P("i", "j"), P("i", "j"))(x)


@case(V, own="jvp, jit")
def passed_round(x):
    def local(v):
        moved = lax.ppermute(v, "i", [(0, 1), (1, 0)])
        return moved + lax.all_gather(v, "j").sum() + lax.axis_index("i")

    return _split(local, P(("i", "j")), P(("i", "j")))(x)


@case(X)
def centred(x):
    return jax.vmap(lambda v: v - lax.pmean(v, "batch"), axis_name="batch")(x)


# -- kernels


@case(V, needs="jax.experimental.pallas", own="jit, vmap")
def kernel(x):
    from jax.experimental import pallas as pl

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0 + 1.0

    return pl.pallas_call(body, out_shape=V)(x)


# -- long ones


@case(V)
def long_chain(x):
    for place in range(30):
        x = x * 1.5 if place % 3 else jnp.sin(x)
    return x


@case(X, W, B)
def layered(x, w, b):
    for _ in range(4):
        x = jax.nn.relu(x @ w + b)
    return x.sum()


@case(V, V)
def alike_parts(x, y):
    left, right = jnp.sin(x) * 2.0, jnp.sin(y) * 2.0
    return left * right - jnp.sin(x)
