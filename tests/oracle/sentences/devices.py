"""Shards, collectives, and axes along which values vary."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from tests.oracle.sentences.model import Sentence, f32, subject
from tests.oracle.sentences.objects import (
    COLLECTIVES,
    inner,
    nbytes,
    shape,
    varying,
)

MESH = AbstractMesh((8,), ("data",), axis_types=(AxisType.Auto,))
SQUARE = AbstractMesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
BOTH = P("data", "model")


@subject(f32(16))
def total(x):
    def shard(x):
        return lax.psum(jnp.sum(x), "data")

    return jax.shard_map(shard, mesh=MESH, in_specs=P("data"), out_specs=P())(x)


@subject(f32(32))
def total_of_squares(x):
    def shard(x):
        return lax.psum(jnp.sum(x * x), "data")

    return jax.shard_map(shard, mesh=MESH, in_specs=P("data"), out_specs=P())(x)


@subject(f32(8, 8))
def total_over_rows(x):
    """Summed over one axis of the mesh: along the other one, devices still differ."""

    def shard(x):
        return lax.psum(jnp.sum(x, axis=0), "data")

    return jax.shard_map(shard, mesh=SQUARE, in_specs=BOTH, out_specs=P("model"))(x)


@subject(f32(8, 8))
def total_over_all(x):
    def shard(x):
        return lax.psum(jnp.sum(x), ("data", "model"))

    return jax.shard_map(shard, mesh=SQUARE, in_specs=BOTH, out_specs=P())(x)


@subject(f32(16))
def sum_of_copies(x):
    def shard(x):
        return jnp.sum(x)

    return jax.shard_map(shard, mesh=MESH, in_specs=P(), out_specs=P())(x)


@subject(f32(64, 4), f32(16, 64), chains="grad")
def layer(w, x):
    def shard(w, x):
        return jnp.sin(x @ w)

    specs = (P(), P("data"))
    return jax.shard_map(shard, mesh=MESH, in_specs=specs, out_specs=P("data"))(w, x)


@subject(f32(16, 64), f32(64, 4), chains="grad")
def layer_for_examples(x, w):
    def shard(x, w):
        return jnp.sin(x @ w)

    specs = (P("data"), P())
    return jax.shard_map(shard, mesh=MESH, in_specs=specs, out_specs=P("data"))(x, w)


@subject(f32(64, 4), f32(16, 64), chains="grad")
def gathered(w, x):
    def shard(w, x):
        return jnp.sin(x @ lax.all_gather(w, "data", tiled=True))

    specs = (P("data"), P("data"))
    return jax.shard_map(shard, mesh=MESH, in_specs=specs, out_specs=P("data"))(w, x)


@subject(f32(64, 4), f32(16, 64))
def stacked(w, x):
    def shard(w, x):
        return jnp.sin(x @ lax.all_gather(w, "data")[0])

    specs = (P("data"), P("data", None))
    return jax.shard_map(
        lambda w, x: shard(w, x[:, :8]), mesh=MESH, in_specs=specs, out_specs=P("data")
    )(w, x)


@subject(f32(16), chains="shard_map")
def sine(x):
    return jnp.sin(x)


@subject(f32(16), f32(), chains="shard_map")
def scaled(x, by):
    return jnp.cos(x) * by


LESSON = "our lesson: collectives"
SHARDS = "JAX docs: shard_map"
TYPES = "blogs: sharding in types"
REFERENCE = "our reference: recipes"
TRIALS = "the table of trials"


def exchanged(program):
    return [e for e in program.everything if e.primitive.name in COLLECTIVES]


def shard_of(f):
    return inner(f.base.only("shard_map"))


def collective(f):
    (found,) = f.base.inside("psum")
    return found


SENTENCES = [
    Sentence(
        "No data moves between devices.",
        TRIALS,
        'not any(e.kind == "collective" for e in f.all)',
        layer,
        lambda f: not exchanged(f.base),
        total,
    ),
    Sentence(
        "The gradient for shared weights needs a collective.",
        LESSON,
        'any(e.kind == "collective" for e in f.grad.all)',
        layer,
        lambda f: bool(exchanged(f.grad)),
        layer_for_examples,
    ),
    Sentence(
        "No `psum` appears under `shard_map`.",
        REFERENCE,
        "not f.shard_map.all[psum]",
        scaled,
        lambda f: not f.shard_map.inside("psum"),
        instead="not f.shard_map.all[pvary]",
        oracle_instead=lambda f: not f.shard_map.inside("pvary"),
    ),
    Sentence(
        "None of the collectives appears under `shard_map`.",
        REFERENCE,
        'not any(e.kind == "collective" for e in f.shard_map.all)',
        scaled,
        lambda f: not exchanged(f.shard_map),
        instead='not any(e.kind == "elementwise" for e in f.shard_map.all)',
        oracle_instead=lambda f: not f.shard_map.inside("cos"),
    ),
    Sentence(
        "Nothing but a sine and its wrapping appears.",
        REFERENCE,
        'set(ops(f.shard_map.all)) <= {"shard_map", "pvary", "sin"}',
        sine,
        lambda f: {e.primitive.name for e in f.shard_map.everything} <= {"shard_map", "sin"},
        scaled,
    ),
    Sentence(
        "A sum over devices is a `psum`.",
        LESSON,
        "f.all[psum]",
        total,
        lambda f: bool(f.base.inside("psum")),
        layer,
    ),
    Sentence(
        "It sums over the axis `data`.",
        LESSON,
        'f.all[psum].params[axes] == ("data",)',
        total,
        lambda f: tuple(collective(f).params["axes"]) == ("data",),
        total_over_all,
    ),
    Sentence(
        "The sum of a shard varies over `data`.",
        TRIALS,
        'f[shard_map].jaxpr[reduce_sum].varying == ("data",)',
        total,
        lambda f: varying(shard_of(f).only("reduce_sum").outvars[0]) == {"data"},
        sum_of_copies,
    ),
    Sentence(
        "The sum over all devices does not vary.",
        LESSON,
        "not f.all[psum].varying",
        total,
        lambda f: not varying(collective(f).outvars[0]),
        total_over_rows,
    ),
    Sentence(
        "Summed over `data`, it still varies over `model`.",
        TYPES,
        'f.all[psum].varying == ("model",)',
        total_over_rows,
        lambda f: varying(collective(f).outvars[0]) == {"model"},
        total_over_all,
    ),
    Sentence(
        "Marking a value as varying moves no data.",
        LESSON,
        'f.all[pvary].kind != "collective"',
        layer,
        lambda f: not {e.primitive.name for e in f.base.inside("pvary")} & COLLECTIVES,
        instead='f.all[dot_general].kind != "contraction"',
        oracle_instead=lambda f: not f.base.inside("dot_general"),
    ),
    Sentence(
        "Each device has two of the sixteen numbers.",
        LESSON,
        'f[shard_map].jaxpr.inputs[0].type == "f32[2]"',
        total,
        lambda f: shape(shard_of(f).ins[0]) == (2,),
        total_of_squares,
    ),
    Sentence(
        "A device keeps an eighth of the bytes of x.",
        SHARDS,
        "8 * f[shard_map].jaxpr.inputs[0].bytes == f.inputs[x].bytes",
        total,
        lambda f: 8 * nbytes(shard_of(f).ins[0]) == nbytes(f.base.ins[0]),
        sum_of_copies,
    ),
    Sentence(
        "The shards of w are put together to the whole of w.",
        LESSON,
        "f.all[all_gather].type == f.inputs[w].type",
        gathered,
        lambda f: shape(f.base.inside("all_gather")[0].outvars[0]) == shape(f.base.ins[0]),
        stacked,
    ),
    Sentence(
        "Going back, the gather becomes a sum that is scattered.",
        LESSON,
        "f.grad.all[reduce_scatter]",
        gathered,
        lambda f: bool(f.grad.inside("reduce_scatter")),
        layer,
    ),
    Sentence(
        "Outside there is one equation.",
        "our lesson: transforms",
        'ops(f.shard_map) == ["shard_map"]',
        sine,
        lambda f: f.shard_map.ops == ["shard_map"],
        instead='ops(f) == ["shard_map"]',
        oracle_instead=lambda f: f.base.ops == ["shard_map"],
    ),
]
