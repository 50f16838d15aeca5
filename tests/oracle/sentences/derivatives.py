"""Gradients, phases, residuals, recomputation, mapped programs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

from tests.oracle.sentences.model import Sentence, f32, subject
from tests.oracle.sentences.objects import (
    contracted,
    inner,
    multiplications,
    nbytes,
    number,
    outline,
    shape,
)

POLICIES = jax.checkpoint_policies


@subject(f32(16, 4), f32(8, 16), chains="grad")
def linear(w, x):
    return x @ w


@subject(f32(16, 4), f32(8, 16), chains="grad")
def layer(w, x):
    return jnp.tanh(x @ w)


@subject(f32(32, 4), f32(8, 32), chains="grad")
def deep(w, x):
    return jnp.sin(jnp.sin(x @ w))


@subject(f32(8), chains="grad")
def exponential(x):
    return jnp.exp(x)


@subject(f32(8), chains="grad, jvp, vmap")
def sine(x):
    return jnp.sin(x)


@subject(f32(8), chains="grad")
def exponential_of_sine(x):
    """Its gradient begins with the sine and, before the exponential, a cosine."""
    return jnp.exp(jnp.sin(x))


@subject(f32(8), chains="grad")
def scaled(x):
    return 2.0 * x


@subject(f32(4), f32(4), f32(), chains="grad")
def loss(w, x, y):
    error = x @ w - y
    return error * error


@subject(f32(4), f32(4), f32())
def distance(w, x, y):
    return jnp.sqrt(jnp.sum(jnp.sin(w)))


@subject(f32(4), f32(4), chains="grad")
def half_stopped(x, y):
    return x * jax.lax.stop_gradient(jnp.sin(x)) + jnp.cos(y)


@subject(f32(4), f32(4), chains="grad")
def all_used(x, y):
    return x * jnp.sin(y)


@subject(f32(8, 8), f32(8), chains="vmap")
def pointwise(x, y):
    return jnp.sin(x) * 2.0 + 1.0


@subject(f32(8), f32(3), chains="vmap")
def with_shared(x, y):
    return jnp.outer(x, y)


# -- saving or recomputing


def _network(w1, w2, x):
    hidden = checkpoint_name(jnp.sin(jnp.exp(x @ w1)), "hidden")
    return jnp.sin(jnp.exp(hidden @ w2))


@subject(f32(4, 16), f32(16, 2), f32(8, 4), chains="grad, remat, remat | grad")
def network(w1, w2, x):
    return _network(w1, w2, x)


@subject(f32(4, 16), f32(16, 2), f32(8, 4), chains="grad")
def network_anew(w1, w2, x):
    return jax.checkpoint(_network)(w1, w2, x)


@subject(f32(4, 16), f32(16, 2), f32(8, 4), chains="grad")
def network_of_products(w1, w2, x):
    return jax.checkpoint(_network, policy=POLICIES.dots_saveable)(w1, w2, x)


@subject(f32(4, 16), f32(16, 2), f32(8, 4), chains="grad")
def network_by_name(w1, w2, x):
    policy = POLICIES.save_only_these_names("hidden")
    return jax.checkpoint(_network, policy=policy)(w1, w2, x)


CHECKPOINT_PAGE = "JAX docs: gradient checkpointing"
SAVING = "our lesson: saving"
TRANSFORMS = "our lesson: transforms"
COMPOSING = "our lesson: composing"
REFERENCE = "our reference: recipes"
TRIALS = "the table of trials"


def computed(program):
    """The residuals that equations have made."""
    results = [v for e in program.eqns for v in e.outvars]
    return [v for v in program.residuals if v in results]


def is_residual(value, program):
    return any(v is value for v in program.residuals)


SENTENCES = [
    Sentence(
        "The forward part of the gradient is the function.",
        REFERENCE,
        "same(f.grad[:2], f[:2])",
        layer,
        lambda f: outline(f.grad.eqns[:2]) == outline(f.base.eqns[:2]),
        exponential_of_sine,
    ),
    Sentence(
        "In the gradient a transpose appears.",
        REFERENCE,
        "f.grad[transpose]",
        linear,
        lambda f: bool(f.grad.named("transpose")),
        sine,
    ),
    Sentence(
        "The last product belongs to the backward part.",
        REFERENCE,
        'f.grad[mul][-1].phase == "transpose"',
        loss,
        lambda f: f.grad.phases.of(f.grad.named("mul")[-1]) == "transpose",
        instead='f.grad[mul][0].phase == "transpose"',
        oracle_instead=lambda f: f.grad.phases.of(f.grad.named("mul")[0]) == "transpose",
    ),
    Sentence(
        "All of the forward part comes before the backward part.",
        TRANSFORMS,
        "f.grad.forward[-1].index < f.grad.transpose[0].index",
        layer,
        lambda f: (
            f.grad.eqns.index(f.grad.of_phase("forward")[-1])
            < f.grad.eqns.index(f.grad.of_phase("transpose")[0])
        ),
        instead="f.grad.forward[-1].index < f.grad.transpose[0].index - 1",
        oracle_instead=lambda f: (
            f.grad.eqns.index(f.grad.of_phase("forward")[-1])
            < f.grad.eqns.index(f.grad.of_phase("transpose")[0]) - 1
        ),
    ),
    Sentence(
        "The cotangent begins with one.",
        TRANSFORMS,
        "f.grad.transpose[0].inputs[0].value == 1.0",
        sine,
        lambda f: number(f.grad.of_phase("transpose")[0].invars[0]) == 1.0,
        instead="f.grad.transpose[0].inputs[0].value == 2.0",
        oracle_instead=lambda f: number(f.grad.of_phase("transpose")[0].invars[0]) == 2.0,
    ),
    Sentence(
        "The loss itself is dead code in its gradient.",
        COMPOSING,
        "f.grad.forward[mul].uses == 0",
        loss,
        lambda f: not f.grad.readers(f.grad.only("mul", "forward").outvars[0]),
        instead="f.grad.forward[sub].uses == 0",
        oracle_instead=lambda f: not f.grad.readers(f.grad.only("sub", "forward").outvars[0]),
    ),
    Sentence(
        "What comes back in two ways is added.",
        COMPOSING,
        "f.grad[add_any]",
        loss,
        lambda f: bool(f.grad.named("add_any")),
        sine,
    ),
    Sentence(
        "The gradient's product contracts the examples.",
        TRANSFORMS,
        "f.grad.transpose[dot_general].contracts == ((0, 0),)",
        linear,
        lambda f: contracted(f.grad.only("dot_general", "transpose")) == ((0, 0),),
        loss,
    ),
    Sentence(
        "The backward product costs as much as the forward one.",
        "blogs: counting FLOPs",
        "f.grad[dot_general][-1].flops == f[dot_general].flops",
        layer,
        lambda f: (
            multiplications(f.grad.named("dot_general")[-1])
            == multiplications(f.base.only("dot_general"))
        ),
        instead="f.grad[dot_general][-1].flops == 2 * f[dot_general].flops",
        oracle_instead=lambda f: (
            multiplications(f.grad.named("dot_general")[-1])
            == 2 * multiplications(f.base.only("dot_general"))
        ),
    ),
    Sentence(
        "Only the cotangent of w has the shape of w.",
        COMPOSING,
        "f.grad.outputs[0].type == f.inputs[w].type",
        linear,
        lambda f: shape(f.grad.outs[0]) == shape(f.base.ins[0]),
        instead="f.grad.outputs[0].type == f.inputs[x].type",
        oracle_instead=lambda f: shape(f.grad.outs[0]) == shape(f.base.ins[1]),
    ),
    Sentence(
        "The tangent of a sine is multiplied by a cosine.",
        "JAX docs: autodidax",
        "reads(f.jvp.tangent[mul], f.jvp[cos])",
        sine,
        lambda f: f.jvp.only("mul", "tangent") in f.jvp.readers(f.jvp.only("cos").outvars[0]),
        instead="reads(f.jvp.tangent[mul], f.jvp[sin])",
        oracle_instead=lambda f: (
            f.jvp.only("mul", "tangent") in f.jvp.readers(f.jvp.only("sin").outvars[0])
        ),
    ),
    Sentence(
        "The derivative of the sine does not depend on a tangent.",
        "JAX docs: autodidax",
        'f.jvp[cos].phase == "forward"',
        sine,
        lambda f: f.jvp.phases.of(f.jvp.only("cos")) == "forward",
        instead='f.jvp[mul].phase == "forward"',
        oracle_instead=lambda f: f.jvp.phases.of(f.jvp.only("mul")) == "forward",
    ),
    Sentence(
        "The gradient for x does not depend on y.",
        "JAX docs: stop_gradient",
        "not depends(f.grad.transpose[-1], f.grad.inputs[y])",
        half_stopped,
        lambda f: not f.grad.depends(f.grad.of_phase("transpose")[-1], f.grad.ins[1]),
        all_used,
    ),
    # -- residuals
    Sentence(
        "The forward part hands one value to the backward part.",
        TRIALS,
        "len(f.grad.residuals) == 1",
        sine,
        lambda f: len(f.grad.residuals) == 1,
        deep,
    ),
    Sentence(
        "A linear function keeps nothing.",
        CHECKPOINT_PAGE,
        "len(f.grad.residuals) == 0",
        scaled,
        lambda f: not f.grad.residuals,
        sine,
    ),
    Sentence(
        "An exponential is its own residual.",
        SAVING,
        "f.grad[0].outputs[0] in f.grad.residuals",
        exponential,
        lambda f: is_residual(f.grad.eqns[0].outvars[0], f.grad),
        sine,
    ),
    Sentence(
        "For the gradient of w only x is kept.",
        TRANSFORMS,
        "f.grad.residuals[:] == [f.grad.inputs[x]]",
        linear,
        lambda f: [id(v) for v in f.grad.residuals] == [id(f.grad.ins[1])],
        layer,
    ),
    Sentence(
        "Differentiation keeps 32 bytes.",
        TRIALS,
        "sum(v.bytes for v in f.grad.residuals) == 32",
        sine,
        lambda f: sum(map(nbytes, f.grad.residuals)) == 32,
        linear,
    ),
    Sentence(
        "The cosine is kept, as the derivative of the sine.",
        CHECKPOINT_PAGE,
        "f.grad[cos].outputs[0] in f.grad.residuals",
        sine,
        lambda f: is_residual(f.grad.only("cos").outvars[0], f.grad),
        instead="f.grad[sin].outputs[0] in f.grad.residuals",
        oracle_instead=lambda f: is_residual(f.grad.only("sin").outvars[0], f.grad),
    ),
    # -- recomputing
    Sentence(
        "Under `remat` only arguments are kept.",
        CHECKPOINT_PAGE,
        'all(v.origin == "input" for v in f.grad.residuals)',
        network_anew,
        lambda f: not computed(f.grad),
        network_of_products,
    ),
    Sentence(
        "The policy keeps the two products.",
        CHECKPOINT_PAGE,
        'sum(v.origin == "equation" for v in f.grad.residuals) == 2',
        network_of_products,
        lambda f: len(computed(f.grad)) == 2,
        network_by_name,
    ),
    Sentence(
        "No product is computed again.",
        SAVING,
        "not f.grad.all.recomputed[dot_general]",
        network_of_products,
        lambda f: (
            not any(f.grad.phases.of(e) == "recomputed" for e in f.grad.inside("dot_general"))
        ),
        network_anew,
    ),
    Sentence(
        "The policy keeps one value, the named one.",
        CHECKPOINT_PAGE,
        'sum(v.origin == "equation" for v in f.grad.residuals) == 1',
        network_by_name,
        lambda f: len(computed(f.grad)) == 1,
        network_of_products,
    ),
    Sentence(
        "The exponentials are computed twice.",
        CHECKPOINT_PAGE,
        "len(f.grad.all[exp]) == 2 * len(f.grad[exp])",
        network_anew,
        lambda f: len(f.grad.inside("exp")) == 2 * len(f.grad.named("exp")),
        network,
    ),
    Sentence(
        "The compiler must not merge the two computations.",
        SAVING,
        "f.grad[remat2].params[prevent_cse]",
        network_anew,
        lambda f: f.grad.only("remat2").params["prevent_cse"] is True,
        instead="not f.grad[remat2].params[differentiated]",
        oracle_instead=lambda f: not f.grad.only("remat2").params["differentiated"],
    ),
    Sentence(
        "`remat` alone changes nothing but the wrapping.",
        TRANSFORMS,
        "same(f.remat[remat2].jaxpr[:], f[:])",
        network,
        lambda f: outline(inner(f.remat.only("remat2")).eqns) == outline(f.base.eqns),
        instead="same(f.remat_grad[remat2].jaxpr[:], f[:])",
        oracle_instead=lambda f: (
            outline(inner(f.remat_grad.only("remat2")).eqns) == outline(f.base.eqns)
        ),
    ),
    # -- vmap
    Sentence(
        "Under `vmap` it is the same program but for shapes.",
        TRIALS,
        "same(f.vmap, f, shapes=False)",
        pointwise,
        lambda f: outline(f.vmap.eqns, shapes=False) == outline(f.base.eqns, shapes=False),
        with_shared,
    ),
    Sentence(
        "The shared argument keeps its type.",
        TRANSFORMS,
        "f.vmap.inputs[y].type == f.inputs[y].type",
        with_shared,
        lambda f: shape(f.vmap.ins[1]) == shape(f.base.ins[1]),
        instead="f.vmap.inputs[x].type == f.inputs[x].type",
        oracle_instead=lambda f: shape(f.vmap.ins[0]) == shape(f.base.ins[0]),
    ),
    Sentence(
        "Every value gains an axis of 8.",
        REFERENCE,
        "sorted(v.shape for v in f.vmap.variables) == sorted((8,) + v.shape for v in f.variables)",
        sine,
        lambda f: (
            sorted(shape(v) for v in f.vmap.variables)
            == sorted((8, *shape(v)) for v in f.base.variables)
        ),
        pointwise,
        long="the language can't pair the values of two blocks",
    ),
]
