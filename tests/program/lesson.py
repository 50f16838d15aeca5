"""The lesson's blocks, traced by the running JAX, as a scope for expressions."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from sphinx_jaxpr.program.facts import InputNames, output_names
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.program.query.blocks import QueryBlock
from sphinx_jaxpr.program.query.evaluate import Scope
from sphinx_jaxpr.tracing.masking import mask
from tests.program.recordings import collected

NEW_TANH = tuple(int(part) for part in jax.__version__.split(".")[:2]) >= (0, 12)


def dense(x: Any, w: Any, b: Any) -> Any:
    return jnp.tanh(x @ w + b)


def bf16(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def block(
    name: str, fn: Any, args: Any, names: str = "", base: QueryBlock | None = None
) -> QueryBlock:
    jaxpr, out = jax.make_jaxpr(fn, return_shape=True)(*args)
    paths = jax.tree_util.tree_flatten_with_path(out)[0]
    leaves = output_names([f"result{jax.tree_util.keystr(path)}" for path, _ in paths], len(paths))
    printed = parse(mask(str(jaxpr)))
    return QueryBlock(name, printed, collected(jaxpr), named(names), base, outputs=leaves)


def named(names: str) -> InputNames:
    """A name for each input; that of a tree several times."""
    found = names.split()
    leaves = [f"{n}[{at}]" if found.count(n) > 1 else n for at, n in enumerate(found)]
    return InputNames(tuple(found), tuple(leaves), tuple(dict.fromkeys(found)))


@cache
def scope() -> Scope:
    args = (bf16(32, 64), bf16(64, 64), bf16(64))
    mesh = AbstractMesh((8,), ("data",), axis_types=(AxisType.Auto,))
    spec = PartitionSpec
    sharded = jax.shard_map(
        dense, mesh=mesh, in_specs=(spec("data"), spec(), spec()), out_specs=spec("data")
    )
    loss = jax.grad(lambda x, w, b: dense(x, w, b).sum(), argnums=1)
    saved = jax.grad(lambda x, w, b: jax.checkpoint(dense)(x, w, b).sum(), argnums=1)
    base = block("dense", dense, args, "x w b")
    variants = {
        "grad": (loss, args),
        "vmap": (jax.vmap(dense, in_axes=(0, None, None)), (bf16(8, 32, 64), *args[1:])),
        "vmap_all": (jax.vmap(dense), (bf16(8, 32, 64), bf16(8, 64, 64), bf16(8, 64))),
        "scan": (
            lambda x, w, b: jax.lax.scan(lambda c, w: (dense(c, w, b), None), x, w)[0],
            (args[0], bf16(4, 64, 64), args[2]),
        ),
        "remat": (jax.checkpoint(dense), args),
        "remat_grad": (saved, args),
        "shard_map": (sharded, args),
        "jit": (jax.jit(dense), args),
    }
    blocks = {"dense": base}
    for label, (fn, given) in variants.items():
        blocks[f"dense.{label}"] = block(f"dense.{label}", fn, given, "x w b", base)
    blocks["dense.plain_grad"] = QueryBlock(
        "dense.plain_grad",
        None,
        base=base,
        error=("TypeError", "Gradient only defined for scalar-output functions."),
    )
    twice = jax.jit(lambda x: jnp.sin(x) * 2)
    one = jnp.float32(1)
    blocks["twice"] = block("twice", lambda x: twice(twice(x)) + twice(x), (one,), "x")
    blocks["choose"] = block(
        "choose", lambda p, x: jax.lax.cond(p, jnp.sin, jnp.cos, x), (True, one), "p x"
    )
    blocks["loop"] = block(
        "loop", lambda x: jax.lax.while_loop(lambda c: c < 3, lambda c: c + 1, x), (one,), "x"
    )
    blocks["scatter"] = block("scatter", lambda x: x.at[0].add(1.0), (jnp.ones(3),), "x")
    blocks["tree"] = block(
        "tree", lambda p, x: p["a"] * x + p["b"], ({"a": one, "b": one}, one), "p p x"
    )
    array = jnp.ones(1, jnp.int32)
    blocks["hoisted"] = block("hoisted", lambda x: (x + array).sum(), (jnp.ones(3),), "x")
    blocks["speaks"] = block("speaks", lambda x: jax.debug.print("{}", x), (one,), "x")
    versions = {"jax": jax.__version__, "jaxlib": "0.10.2", "python": "3.11.9"}
    return Scope(blocks, versions)
