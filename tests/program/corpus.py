"""Many small jaxprs, for every JAX from 0.4.30 on.

``PROGRAMS`` maps a name to a :class:`Traced`.  Calling it traces the function;
``missing()`` names what this JAX lacks for it, or is ``""``.  A few hundred more
come from :func:`random_program`, which is seeded.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        from jax.experimental import pallas as pl
    except ImportError:
        pl = None
    try:
        from jax.experimental.pallas import tpu as pltpu
    except ImportError:
        pltpu = None
    try:
        from jax.extend.core import Primitive
    except ImportError:
        from jax.core import Primitive
    HAS_MASKS = hasattr(pl, "load")  # gone since 0.8
    from jax.ad_checkpoint import checkpoint_name
    from jax.experimental import checkify, io_callback

    with contextlib.suppress(ImportError):
        import jax.export

X = jax.ShapeDtypeStruct((8, 4), jnp.float32)
V = jax.ShapeDtypeStruct((4,), jnp.float32)
W = jax.ShapeDtypeStruct((4, 4), jnp.float32)
S = jax.ShapeDtypeStruct((), jnp.float32)
N = jax.ShapeDtypeStruct((), jnp.int32)
B = jax.ShapeDtypeStruct((4,), jnp.bool_)
Z = jax.ShapeDtypeStruct((4,), jnp.complex64)


@dataclass(frozen=True)
class Traced:
    """A function, the types of its arguments, and what of JAX it needs."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] | Callable[[], tuple[Any, ...]]
    needs: tuple[str, ...] = ()

    def missing(self) -> str:
        """The first attribute of ``jax`` that this program needs and JAX lacks."""
        for path in self.needs:
            if path == "pallas":
                if pl is None:
                    return "pallas"
                continue
            try:
                functools.reduce(getattr, path.split("."), jax)
            except AttributeError:
                return f"jax.{path}"
        return ""

    def __call__(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = self.arguments() if callable(self.arguments) else self.arguments
            return jax.make_jaxpr(self.function)(*arguments)


PROGRAMS: dict[str, Traced] = {}


def add(name: str, function: Callable[..., Any], *arguments: Any, needs: str = "") -> None:
    assert name not in PROGRAMS, name
    PROGRAMS[name] = Traced(function, arguments, tuple(needs.split()))


def program(*arguments: Any, needs: str = "") -> Callable[[Callable[..., Any]], Any]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        add(function.__name__.strip("_"), function, *arguments, needs=needs)
        return function

    return keep


# -- elementwise, reductions, shapes ------------------------------------------

for _name in (
    "sin cos tanh exp log log1p expm1 sqrt rsqrt logistic erf neg sign floor ceil round abs"
    " is_finite erf_inv lgamma digamma integer_pow"
).split():
    _function = partial(lax.integer_pow, y=3) if _name == "integer_pow" else getattr(lax, _name)
    add(f"unary_{_name}", partial(lambda f, x: f(x), _function), X)
for _name in "add sub mul div max min pow rem atan2 nextafter eq ne lt le gt ge".split():
    add(f"binary_{_name}", partial(lambda f, x, y: f(x, y), getattr(lax, _name)), X, X)
for _name in "sum prod max min argmax argmin any all".split():
    add(f"reduce_{_name}", partial(lambda f, x: f(x, axis=0), getattr(jnp, _name)), X)
for _name in "cumsum cumprod cummax cummin cumlogsumexp".split():
    add(f"scan_{_name}", partial(lambda f, x: f(x), getattr(lax, _name)), X)

add("matmul", lambda x, w: x @ w, X, W)
add("einsum", lambda a, b: jnp.einsum("bij,bjk->bik", a, b), *[np.ones((2, 3, 3), np.float32)] * 2)
add("dense", lambda x, w, b: jnp.tanh(x @ w + b), X, W, V)
add("dot_bf16", lambda x, w: lax.dot(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)), X, W)
add("conv", lambda x, k: lax.conv(x, k, (1, 1), "SAME"), np.ones((1, 3, 8, 8), np.float32),
    np.ones((4, 3, 3, 3), np.float32))  # fmt: skip
add("gather", lambda x, i: x[i], X, np.arange(3))
add("scatter", lambda x, i: x.at[i].set(0.0).at[i, 1].add(2.0), X, np.arange(3))
add("slices", lambda x: (x[1:3, ::2], x[::-1], lax.dynamic_slice(x, (1, 0), (2, 2))), X)
add("dynamic_update", lambda x, i: lax.dynamic_update_slice(x, x[:2], (i, 0)), X, N)
add("sort", lambda x: (jnp.sort(x), jnp.argsort(x), lax.top_k(x, 2)), X)
add("sorted", jnp.sort, X)
add("pad_concat", lambda x: jnp.concatenate([jnp.pad(x, 1), jnp.zeros((2, 6))]), X)
add("reduce_window", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 1), "VALID"), X)
add("reduce_custom", lambda x: lax.reduce(x, 0.0, lambda a, b: a + b * 2, (0,)), X)
add("select", lambda b, v: jnp.where(b, v, -v), B, V)
add("clamp", lambda x: jnp.clip(x, -1.0, 1.0), X)
add("iota", lambda: (jnp.arange(7), lax.broadcasted_iota(jnp.int32, (2, 3), 1)))
add("casts", lambda x: [x.astype(t) for t in ("bfloat16", "float16", "int8", "uint8", "bool")], X)
add("float8", lambda x: x.astype(jnp.float8_e4m3fn), X)
add("bitcast", lambda x: lax.bitcast_convert_type(x, jnp.int32), X)
add("linalg", lambda w: (jnp.linalg.cholesky(w), jnp.linalg.eigh(w), jnp.linalg.qr(w)), W)
add("solve", lambda w, v: jnp.linalg.solve(w, v), W, V)
add("fft", lambda z: jnp.fft.fft(z), Z)
add("complex_literals", lambda z: z * (1 + 2j) + 1j - jnp.real(z), Z)
add("softmax", jax.nn.softmax, X)
add("gelu", jax.nn.gelu, X)
add("logsumexp", jax.nn.logsumexp, X)
add("one_hot", lambda i: jax.nn.one_hot(i, 5), N)
add("literals", lambda x: (x + np.inf, x * -1e-30, x - np.nan, x > -np.inf, x * 2**20), X)
add("literal_bool", lambda b: jnp.logical_xor(b, True), B)
add("literal_ints", lambda n: (n + 1, n * -7, n << 2), N)
add("literal_outputs", lambda: (1.0, 2, True, -0.0))
add("passed_on", lambda x, y: (x, y, x), S, V)
add("identity", lambda x: x, S)
add("nothing", lambda: ())
add("ignores_all", lambda x, y: (), X, V)
add("dead_code", lambda x: (jnp.sin(x), x)[1], X)
add("drops", lambda x: lax.top_k(x, 2)[1], X)
add("drops_all", lambda x: (lax.top_k(x, 2), x)[1], X)
add("constant", lambda x: x + np.arange(32, dtype=np.float32).reshape(8, 4), X)
add("constants", lambda: (np.arange(3.0), np.arange(5), np.ones((2, 2), bool)))
add("scalar_constant", lambda x: x * jnp.array(3.0), X)
add("many_inputs", lambda *a: sum(a), *[X] * 40)
add("many_outputs", lambda x: [x * i for i in range(40)], X)
add("many_of_both", lambda *a: lax.optimization_barrier(list(a)), *[X] * 40,
    needs="lax.optimization_barrier")  # fmt: skip
add("tree", lambda t: {"b": t["a"][0] + t["c"], "n": None, "p": (t["c"],)}, {"a": [S, V], "c": S})
add("long_names", lambda x: functools.reduce(lambda a, _: jnp.sin(a), range(300), x), S)
add("very_long", lambda x: functools.reduce(lambda a, _: a * 2.0, range(1000), x), S)
add("prngs", lambda k: jax.random.uniform(jax.random.split(k)[0], (3,)), jax.random.PRNGKey(0))
add("keys", lambda k: jax.random.normal(jax.random.fold_in(k, 1), (2,)), jax.random.key(0))
add("key_types", lambda: jax.random.split(jax.random.key(3), 2))
add("rbg_key", lambda: jax.random.key(3, impl="rbg"))
add("key_data", lambda k: (jax.random.key_data(k), jax.random.clone(k)), jax.random.key(0))
add("permutation", lambda k: jax.random.permutation(k, 10), jax.random.key(0))
add("float0", jax.grad(lambda x, n: x * n, argnums=1, allow_int=True), S, N)
add("reduce_precision", lambda x: lax.reduce_precision(x, 5, 10), X)
add("name_checkpoint", lambda x: checkpoint_name(x, "odd name ]"), X)
add("named_scope", jax.named_scope("a b]")(lambda x: jnp.sin(x)), X)


# -- control flow -----------------------------------------------------------------


def _step(c: Any, x: Any) -> Any:
    return jnp.tanh(c + x), c.sum()


def _scan(x: Any, **options: Any) -> Any:
    return lax.scan(_step, jnp.ones(4), x, **options)


add("scan", _scan, X)
add("scan_options", partial(_scan, reverse=True, unroll=2), X)
add("scan_no_xs", lambda x: lax.scan(lambda c, _: (c * 2, None), x, None, length=3), S)
add("scan_no_carry", lambda x: lax.scan(lambda _, v: (None, v + 1), None, x), X)
add("scan_closure", lambda x, w: lax.scan(lambda c, v: (c @ w + v, c), x[0], x), X, W)
add("scan_in_scan", lambda x: lax.scan(lambda c, v: (lax.scan(_step, c, x)[0], v), x[0], x), X)
add("map", lambda x: lax.map(jnp.sin, x), X)
add("associative_scan", lambda x: lax.associative_scan(jnp.add, x), X)
add("while_loop", lambda x: lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * 2, c[1] + 1),
    (x, 0)), X)  # fmt: skip
add("while_closure", lambda x, y: lax.while_loop(lambda c: c.sum() < y, lambda c: c * y, x), X, S)
add("fori", lambda x: lax.fori_loop(0, 5, lambda i, c: c + i, x), X)
add("fori_dynamic", lambda x, n: lax.fori_loop(0, n, lambda i, c: c + i, x), X, N)
add("cond", lambda p, x: lax.cond(p > 0, jnp.sin, jnp.cos, x), S, X)
add("cond_tiny", lambda p: lax.cond(p > 0, lambda: 1.0, lambda: 2.0), S)
add("cond_same", lambda p, x: lax.cond(p > 0, jax.nn.relu, jax.nn.relu, x), S, X)
add("cond_nested", lambda p, x: lax.cond(p > 0, lambda v: lax.cond(p > 1, jnp.sin, jnp.cos, v),
    jnp.tan, x), S, X)  # fmt: skip
add("switch", lambda n, x: lax.switch(n, [jnp.sin, jnp.cos, lambda v: v * 2, jax.nn.relu], x), N, X)
add("switch_outputs", lambda n, x: lax.switch(n, [lambda v: (v, 1, {}), lambda v: (-v, 2, {})], x),
    N, X)  # fmt: skip
add("platform", lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos), X)
add("linear_solve", lambda x: lax.custom_linear_solve(
    lambda v: v * 2, x, lambda m, b: b / 2, lambda m, b: b / 2), X)  # fmt: skip
add("linear_solve_long", lambda x, w: lax.custom_linear_solve(lambda v: w @ v + sum(
    v * i for i in range(9)), x, lambda m, b: b / 2, lambda m, b: b / 3), V, W)  # fmt: skip
add("root", lambda x: lax.custom_root(lambda v: v - x, x, lambda f, v: v, lambda g, y: y), S)
add("jit_linear_solve", lambda x: jax.jit(PROGRAMS["linear_solve_long"].function)(x, W_), V)
W_ = np.eye(4, dtype=np.float32)


# -- calls ------------------------------------------------------------------------


@jax.jit
def _inner(x: Any) -> Any:
    return jnp.sin(x) * 2


@jax.jit
def _outer(x: Any) -> Any:
    return _inner(_inner(x)) + _inner(x + 1)


def _named(name: str) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        return jnp.sin(x)

    function.__name__ = name
    return jax.jit(function)


add("jit", jax.jit(lambda x: x + 1), X)
add("jit_of_jit", jax.jit(_outer), X)
add("jit_shared", _outer, X)
add("jit_shapes", lambda x, v: (_inner(x), _inner(v), _inner(x)), X, V)
add("jit_donated", lambda x: jax.jit(jnp.sin, donate_argnums=0, inline=False)(x), X)
add("jit_inline", lambda x: jax.jit(jnp.sin, inline=True)(x), X)
add("jit_keep_unused", lambda x: jax.jit(lambda a, b: a, keep_unused=True)(x, x), X)
add("jit_nothing", lambda: jax.jit(lambda: ())())
add("jit_static", lambda x: jax.jit(lambda n, a: a * n, static_argnums=0)(3, x), X)
for _name in ("f{", "<lambda>", "a b", "jaxpr", "x]", "name=f", "it's", 'q"', "in", "let", "é"):
    _function = _named(_name)
    add(f"named {_name}", partial(lambda f, x: (f(x), x), _function), X)
    add(f"named {_name} shared", partial(lambda f, x: (f(x), f(x) + 1, f(f(x))), _function), X)
add("relus", lambda x: functools.reduce(lambda a, _: jax.nn.relu(a), range(4), x), X)
add("closed_call", lambda x: jax.named_call(jnp.sin, name="s")(x), X)
add("big_body", jax.jit(lambda x: functools.reduce(lambda a, _: a + 1, range(12), x)), S)
add("big_body_in_cond", lambda p, x: lax.cond(p > 0, PROGRAMS["big_body"].function, jnp.sin, x),
    S, S)  # fmt: skip
add("deep", functools.reduce(lambda f, _: jax.jit(lambda x: f(x) + 1.0), range(20), jnp.sin), S)
add("deep_scans", functools.reduce(
    lambda f, _: (lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]),
    range(6), jnp.sin), S)  # fmt: skip


@jax.custom_jvp
def _clip(x: Any) -> Any:
    return jnp.where(x > 1, 1.0, x)


@_clip.defjvp
def _clip_jvp(primals: Any, tangents: Any) -> Any:
    return _clip(primals[0]), tangents[0] * 2.0


@jax.custom_vjp
def _scaled(x: Any) -> Any:
    return jnp.sin(x) * 3


_scaled.defvjp(lambda x: (_scaled(x), x), lambda r, g: (g * jnp.cos(r),))

add("custom_jvp", _clip, X)
add("custom_vjp", _scaled, X)
add("custom_jvp_twice", lambda x: _clip(_clip(x)), X)
add("custom_vjp_const", lambda x, w: (jax.custom_vjp(lambda v: v @ w), _scaled(x))[1], X, W)
add("checkpoint", jax.checkpoint(lambda x: jnp.sin(jnp.cos(x))), X)
add("checkpoint_policy", jax.checkpoint(
    lambda x: jnp.sin(x @ x), policy=jax.checkpoint_policies.dots_saveable), W)  # fmt: skip
add("checkpoint_names", jax.checkpoint(
    lambda x: jnp.sin(x), policy=jax.checkpoint_policies.save_only_these_names("a]", "b")),
    W)  # fmt: skip


# -- transforms of the above --------------------------------------------------------


def _derive(name: str) -> None:
    """Add the transforms of a program that has one array argument or more."""
    base = PROGRAMS[name]
    f, arguments = base.function, base.arguments

    def total(*a: Any) -> Any:
        leaves = jax.tree_util.tree_leaves(f(*a))
        leaves = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, np.inexact)]
        return sum(jnp.real(leaf).sum() for leaf in leaves)

    zeros = [np.zeros(a.shape, a.dtype) for a in arguments]
    floats = tuple(i for i, a in enumerate(arguments) if jnp.issubdtype(a.dtype, np.floating))
    add(f"grad {name}", jax.grad(total, floats), *arguments)
    add(f"jit grad {name}", jax.jit(jax.grad(jax.jit(total), floats)), *arguments)
    add(f"remat grad {name}", jax.grad(jax.checkpoint(total), floats), *arguments)
    add(f"grad grad {name}", jax.grad(lambda *a: jax.grad(total, floats)(*a)[0].sum(), floats),
        *arguments)  # fmt: skip
    add(f"vmap {name}", jax.vmap(f), *[np.zeros((3, *a.shape), a.dtype) for a in arguments])
    add(f"vmap grad {name}", jax.vmap(jax.grad(total, floats)),
        *[np.zeros((3, *a.shape), a.dtype) for a in arguments])  # fmt: skip
    if len(floats) == len(arguments):
        add(f"jvp {name}", lambda *a: jax.jvp(total, a, a), *arguments)
        add(f"vjp {name}", lambda *a: jax.vjp(total, *a)[1](1.0), *arguments)
        add(f"linearize {name}", lambda *a: jax.linearize(total, *a)[1](*zeros), *arguments)
        add(f"jacrev {name}", jax.jacrev(f), *arguments)
        add(f"jacfwd {name}", jax.jacfwd(f), *arguments)


for _name in (
    "dense matmul softmax gelu scan scan_closure scan_in_scan cond cond_same custom_jvp"
    " checkpoint checkpoint_policy jit_shared relus solve logsumexp gather sorted linear_solve"
).split():
    _derive(_name)
add("grad custom_vjp", jax.grad(lambda x: _scaled(x).sum()), X)
add("vmap custom_vjp", jax.vmap(_scaled), X)
add("jit custom_vjp", jax.jit(lambda x: _scaled(_scaled(x))), X)
add("vmap while", jax.vmap(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * 2, x)), V)
add("jvp while", lambda x: jax.jvp(PROGRAMS["fori"].function, (x,), (x,)), X)
add("hessian", jax.hessian(lambda x: jnp.sin(x).sum()), V)
add("pmean", jax.vmap(lambda x: x - lax.pmean(x, "i"), axis_name="i"), X)


# -- effects and callbacks --------------------------------------------------------------

_FORMATS = {
    "plain": "x = {}", "bracket": "{} ]", "brackets": "][ {} }}{{ )( <{}>", "quote": "it's {}",
    "quotes": "\"{}' '", "assign": "a=1 ordered=2 {}", "lines": "one\ntwo {}\n    in ({},) }}\n",
    "lambda": "{{ lambda ; a. let", "empty": "", "equation": "\n    b:f32[] = sin {}\n    ] c",
    "semicolon": "a; b:f32[] = sin a in (b,) }}", "comment": "# {} #", "space": " {} ",
}  # fmt: skip


def _print(text: str) -> Callable[..., Any]:
    def function(x: Any) -> Any:
        holes = text.replace("{{", "").replace("}}", "").count("{}")
        jax.debug.print(text, *[x] * holes)
        return jnp.sin(x)

    return function


for _name, _text in _FORMATS.items():
    _function = _print(_text)
    add(f"print {_name}", _function, S)
    add(f"print {_name} jit", jax.jit(_function), S)
    add(f"print {_name} cond", partial(lambda f, x: lax.cond(x > 0, f, jnp.cos, x), _function), S)
add("print named", lambda x: jax.debug.print("{a} {b:}", a=x, b=2 * x), S)
add("print ordered", lambda x: (jax.debug.print("{}", x, ordered=True), x)[1], S)
add("print vmap", jax.vmap(lambda x: (jax.debug.print("{}", x), x)[1]), V)
add("debug_callback", lambda x: (jax.debug.callback(lambda v: None, x), x)[1], S)
add("pure_callback", lambda x: jax.pure_callback(np.sin, X, x), X)
add("pure_callback two", lambda x: jax.pure_callback(lambda v: (v, v), (X, X), x), X)
add("io_callback", lambda x: io_callback(lambda v: v, X, x, ordered=True), X)
add("io_callback out", lambda x: (io_callback(lambda v: None, None, x), x)[1], X)


@program(S)
def checked(x: Any) -> Any:
    def function(v: Any) -> Any:
        checkify.check(v > 0, "not {} ]", v)
        return jnp.log(v)

    return checkify.checkify(function)(x)


# -- sharding ---------------------------------------------------------------------------


def _mesh() -> Any:
    # Its signature changed in 0.5: pairs before, sizes and names since.
    kind = getattr(jax.sharding, "AxisType", None)
    try:
        auto = {} if kind is None else {"axis_types": (kind.Auto, kind.Auto)}
        return jax.sharding.AbstractMesh((2, 4), ("x", "y"), **auto)
    except (TypeError, ValueError):
        return jax.sharding.AbstractMesh((("x", 2), ("y", 4)))


def _sharded(f: Callable[..., Any], ins: Any, outs: Any, **options: Any) -> Callable[..., Any]:
    def function(*a: Any) -> Any:
        shard = getattr(jax, "shard_map", None)
        if shard is None:
            from jax.experimental.shard_map import shard_map as shard
        return shard(f, mesh=_mesh(), in_specs=ins, out_specs=outs, **options)(*a)

    return function


P = jax.sharding.PartitionSpec
_MESH = "sharding.AbstractMesh"
add("shard_map", _sharded(lambda x: x * 2, P("x", "y"), P("x", "y")), X, needs=_MESH)
add("shard_map psum", _sharded(lambda x: lax.psum(x, "x"), P("x"), P()), X, needs=_MESH)
add("shard_map psum both", _sharded(lambda x: lax.psum(x, ("x", "y")), P("x", "y"), P()), X,
    needs=_MESH)  # fmt: skip
add("shard_map dense", _sharded(lambda x, w: jnp.tanh(x @ w), (P("x"), P()), P("x")), X, W,
    needs=_MESH)  # fmt: skip
add("shard_map gather", _sharded(lambda x: lax.all_gather(x, "x"), P("x"), P("x")), X, needs=_MESH)
add("shard_map ppermute", _sharded(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)]), P("x"),
    P("x")), X, needs=_MESH)  # fmt: skip
add("shard_map index", _sharded(lambda x: x + lax.axis_index("x"), P("x"), P("x")), X, needs=_MESH)
add("shard_map scan", _sharded(lambda x: lax.scan(lambda c, v: (c, v + 1), 0.0, x)[1], P("x"),
    P("x")), X, needs=_MESH)  # fmt: skip
add("shard_map grad", jax.grad(
    lambda x, w: PROGRAMS["shard_map dense"].function(x, w).sum(), (0, 1)),
    X, W, needs=_MESH)  # fmt: skip
add("shard_map vmap", jax.vmap(PROGRAMS["shard_map"].function),
    jax.ShapeDtypeStruct((3, 8, 4), np.float32), needs=_MESH)  # fmt: skip
add("constraint", lambda x: lax.with_sharding_constraint(
    x, jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(jax.devices()[:1]), ("x",)), P("x"))),
    X)  # fmt: skip


@program(X, W, needs="sharding.AbstractMesh sharding.AxisType sharding.use_abstract_mesh")
def explicit(x: Any, w: Any) -> Any:
    kind = jax.sharding.AxisType.Explicit
    mesh = jax.sharding.AbstractMesh((2, 4), ("x", "y"), axis_types=(kind, kind))
    with jax.sharding.use_abstract_mesh(mesh):
        sharded = jax.sharding.reshard(x, P("x", None)) if hasattr(jax.sharding, "reshard") else x
        return jnp.sin(sharded) @ w


def _symbolic() -> tuple[Any, ...]:
    """Dimensions with names, products and sums in them."""
    a, b = jax.export.symbolic_shape("a, b")
    types = (a, 2 * b + 1), (a, a // 2 + 3)
    return tuple(jax.ShapeDtypeStruct(shape, jnp.float32) for shape in types)


PROGRAMS["symbolic"] = Traced(
    lambda x, y: (jnp.concatenate([x, y], 1), x.sum(), y.reshape(-1), jnp.sin(y)),
    _symbolic,
    ("export.symbolic_shape",),
)


# -- references and Pallas ----------------------------------------------------------------


@program(X, N, needs="new_ref freeze")
def references(x: Any, n: Any) -> Any:
    ref = jax.new_ref(x)
    y = ref[...]
    ref[0] = y[1]
    ref[:, 1:3] += 1.0
    ref[n] = ref[n] * 2
    ref[n, 1] = ref[0, n]
    z = jax.ref.swap(ref, (n,), y[0])
    jax.ref.addupdate(ref, (0,), y[0])
    jax.ref.addupdate(ref, (n, slice(0, 2)), y[0, :2])
    w = ref[np.array([1, 2])], ref[jnp.array([0, 1]) + n, 0], ref[1:7:2], ref[2:4, n]
    return jax.freeze(ref), z, w


@program(X, needs="new_ref")
def reference_in_scan(x: Any) -> Any:
    ref = jax.new_ref(jnp.zeros(4))

    def body(c: Any, v: Any) -> Any:
        ref[...] += v
        return c + ref[0], None

    return lax.scan(body, 0.0, x)[0], ref[...]


def _kernel(x_ref: Any, o_ref: Any) -> None:
    i = pl.program_id(0)
    o_ref[...] = x_ref[...] + 1
    o_ref[i, :] = x_ref[i]
    o_ref[pl.ds(i, 2), 0:2] = x_ref[pl.ds(i, 2), 0:2]
    o_ref[0, 1] = x_ref[i, 2] + x_ref[0, i]


def _pallas(kernel: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return lambda x: pl.pallas_call(
        kernel, out_shape=jax.ShapeDtypeStruct((8, 4), jnp.float32), **options
    )(x)


def _masked(x_ref: Any, o_ref: Any) -> None:
    index = (pl.ds(0, 4), slice(None))
    mask = jnp.ones((4, 4), bool)
    z = pl.load(x_ref, index, mask=mask, other=0.0)
    pl.store(o_ref, index, z, mask=z > 0)
    w = pl.swap(o_ref, index, z)
    pl.store(o_ref, index, pl.load(x_ref, index) + w)
    v = pl.swap(o_ref, index, w, mask=mask)
    pl.store(o_ref, index, v)


def _copies(x_ref: Any, o_ref: Any, scratch: Any, semaphore: Any) -> None:
    copy = pltpu.make_async_copy(x_ref.at[pl.ds(0, 4)], scratch.at[pl.ds(0, 4)], semaphore)
    copy.start()
    copy.wait()
    o_ref[...] = scratch[...]
    pl.when(pl.program_id(0) == 0)(lambda: o_ref.__setitem__(0, o_ref[1]))


add("pallas", _pallas(_kernel, grid=(2,)), X, needs="pallas")
add("pallas interpret", _pallas(_kernel, grid=(2,), interpret=True), X, needs="pallas")
if pl is not None:
    add("pallas specs", _pallas(lambda x, o: o.__setitem__(..., x[...] * 2), grid=(2,),
        in_specs=[pl.BlockSpec(block_shape=(4, 4), index_map=lambda i: (i, 0))],
        out_specs=pl.BlockSpec(block_shape=(4, 4), index_map=lambda i: (i, 0))), X)  # fmt: skip
    if HAS_MASKS:
        add("pallas masked", _pallas(_masked), X)
    if pltpu is not None and "scratch_shapes" in inspect.signature(pl.pallas_call).parameters:
        add("pallas copies", _pallas(_copies, grid=(2,), scratch_shapes=[
            pltpu.VMEM((8, 4), jnp.float32), pltpu.SemaphoreType.DMA]), X)  # fmt: skip


# -- primitives of one's own ------------------------------------------------------------------


def _primitive(name: str, outputs: int | None = None) -> Any:
    primitive = Primitive(name)
    primitive.multiple_results = outputs is not None
    primitive.def_abstract_eval(lambda *a, **k: a[0] if outputs is None else [a[0]] * outputs)
    return primitive


class _Odd(NamedTuple):
    """Prints as if it were a parameter list."""

    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


_VALUES: dict[str, Any] = {
    "plain": 3, "negative": -2.5e-7, "none": None, "flag": True, "string": "abc", "empty": "",
    "tuple": (1, "a ]", None), "nested": ((1, (2, (3, (4, ())))),), "set": frozenset({1}),
    "dict": _Odd(str({"a": [1], "]": "}"})), "dtype": np.dtype("int8"),
    "array": _Odd(str(np.arange(40).reshape(4, 10))),
    "open": _Odd("f{"), "close": _Odd("}"), "bracket": _Odd("x]"), "brackets": _Odd("]] ]["),
    "quote": _Odd("don't"), "quotes": _Odd("\"'\""), "lines": _Odd("a\nb\n  c"),
    "lambda": lambda: 0, "partial": partial(max, 1), "name": _Odd("a=1"), "spaces": _Odd("a b  c"),
    "equation": _Odd("\n    q:f32[] = sin a"), "program": _Odd("{ lambda"),
}  # fmt: skip
_ONE, _NONE, _TWO = _primitive("my-one"), _primitive("my.none", 0), _primitive("my_two", 2)
for _name, _value in _VALUES.items():
    add(f"own {_name}", lambda x, v=_value: (_ONE.bind(x, value=v), jnp.sin(x)), S)
    add(f"own {_name} long", lambda x, v=_value: jax.jit(lambda y: (
        _ONE.bind(y, another="a" * 60, value=v, zero=0), jnp.sin(y)))(x), S)  # fmt: skip
    add(f"own {_name} wide", lambda x, v=_value: [
        *_TWO.bind(x, value=v, zero=0), *_NONE.bind(x, a=1, value=v), jnp.sin(x)], S)  # fmt: skip
add("own nothing", lambda x: (_NONE.bind(x), _NONE.bind(x, x, x), jnp.sin(x)), S)
add("own many", lambda x: _TWO.bind(*[x] * 60), X)
for _name in ("in", "let", "a:b", "odd<name>", "x-y/z", "1st", "f(x)"):
    _own = _primitive(_name)
    add(f"own primitive {_name}", partial(lambda p, x: (p.bind(x), p.bind(x, n=1)), _own), S)
add("own jaxpr", lambda x: _ONE.bind(x, a=jax.make_jaxpr(jnp.sin)(x), b=1, c=()), S)
add("own jaxprs", lambda x: _ONE.bind(
    x, a=(jax.make_jaxpr(jnp.sin)(x), jax.make_jaxpr(jnp.cos)(x))), S)  # fmt: skip


# -- random programs --------------------------------------------------------------------------


def random_program(seed: int) -> Traced:
    """An expression over one vector, with nested calls, loops and branches."""
    choose = random.Random(seed)

    def leaf(x: Any) -> Any:
        return choose.choice([x, x, x, 1.0, -2.5, np.float32(np.inf), jnp.arange(4.0), 3])

    def expression(x: Any, depth: int) -> Any:
        if depth == 0:
            return x + leaf(x)
        a = expression(x, depth - 1)
        kind = choose.randrange(12)
        if kind < 4:
            return choose.choice([jnp.sin, jnp.cos, jnp.tanh, jax.nn.relu, jax.nn.softmax])(a)
        if kind < 7:
            b = expression(x, choose.randrange(depth))
            return choose.choice([jnp.add, jnp.multiply, jnp.maximum, jnp.subtract])(a, b)
        if kind == 7:
            return jax.jit(lambda y: expression(y, depth - 1))(a)
        if kind == 8:
            return lax.scan(lambda c, v: (expression(c, depth - 2 if depth > 1 else 0), v), a, a)[0]
        if kind == 9:
            return lax.cond(a.sum() > 0, lambda y: expression(y, 1) * 1.0, lambda y: y * 2.0, a)
        if kind == 10:
            return jax.checkpoint(lambda y: expression(y, depth - 1))(a)
        return jnp.where(a > 0, a, leaf(x))

    def function(x: Any) -> Any:
        choose.seed(seed)
        return expression(x, 2 + seed % 5)

    if seed % 4 == 1:
        return Traced(jax.grad(lambda x: jnp.sum(function(x))), (V,))
    if seed % 4 == 2:
        return Traced(jax.vmap(function), (W,))
    return Traced(function, (V,))
