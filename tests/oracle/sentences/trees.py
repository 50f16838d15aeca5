"""Arguments that are trees: parameters, states of optimizers, batches."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from tests.oracle.sentences.model import Sentence, bf16, f32, subject
from tests.oracle.sentences.objects import dtype, nbytes, scan_groups, shape, size


class Moments(NamedTuple):
    mu: Any
    nu: Any


PARAMS = {"b": f32(4), "w": f32(4, 4)}
WIDE = {"b": f32(8), "c": f32(1), "w": f32(4, 8)}
DENSE = {"Dense_0": {"bias": f32(4), "kernel": f32(8, 4)}}
DEEPER = {"Dense_0": {"bias": f32(4), "kernel": f32(8, 16)}}


@subject(PARAMS, f32(2, 4), {}, chains="grad")
def stateless(params, x, opt):
    return jnp.tanh(x @ params["w"] + params["b"])


@subject(WIDE, f32(2, 4), {"m": f32(8)}, chains="grad")
def stateful(params, x, opt):
    return jnp.tanh(x @ params["w"] + params["b"]) * params["c"] + opt["m"]


@subject((f32(8), f32(8)))
def pair(arg):
    return arg[0] + jnp.sin(arg[1])


@subject((f32(8), f32(8), f32(8)))
def triple(arg):
    return arg[0] + jnp.sin(arg[1]) * arg[2]


@subject(DENSE, f32(2, 8))
def applied(params, x):
    layer = params["Dense_0"]
    return x @ layer["kernel"] + layer["bias"][0]


@subject(DEEPER, f32(2, 8))
def applied_deeper(params, x):
    layer = params["Dense_0"]
    return (x @ layer["kernel"]) * layer["bias"][0]


def _adam(grads, state, scale):
    """One step of Adam without corrections."""
    mu = 0.9 * state[0].mu["w"] + 0.1 * grads["w"]
    nu = 0.99 * state[0].nu["w"] + 0.01 * grads["w"] ** 2
    return scale * mu / (jnp.sqrt(nu) + 1e-8), (Moments({"w": mu}, {"w": nu}),)


@subject({"w": f32(4)}, (Moments({"w": f32(4)}, {"w": f32(4)}),), f32(4))
def adam(grads, state, params):
    step, state = _adam(grads, state, -0.1)
    return params + step, state


@subject({"w": f32(4)}, (Moments({"w": bf16(4)}, {"w": f32(4)}),), f32(4))
def adam_in_half(grads, state, params):
    decay = 0.01 * params
    step, state = _adam(grads, state, -0.1)
    return params + (step - decay), (Moments({"w": state[0].mu["w"].astype("bfloat16")}, {}),)


@subject({"w": f32(4)}, (Moments({"w": f32(4)}, {"w": f32(4)}),), f32(4))
def momentum(grads, state, params):
    mu = 0.9 * state[0].mu["w"] + grads["w"]
    return params - 0.1 * mu, (Moments({"w": mu}, state[0].nu),)


@subject({"loc": f32(), "scale": f32()}, f32(10))
def log_density(params, data):
    z = (data - params["loc"]) / params["scale"]
    return jnp.sum(-0.5 * z * z - jnp.log(params["scale"]))


@subject({"loc": f32(), "scale": f32()}, f32(10))
def log_densities(params, data):
    z = data - params["loc"]
    return -0.5 * z * z


@subject({"h": f32(4), "c": f32(4)}, f32(7, 4))
def recurrent(state, xs):
    def step(state, x):
        c = state["c"] + x
        return {"h": jnp.tanh(c), "c": c}, c

    return lax.scan(step, state, xs)


JAXPR_PAGE = "JAX docs: jaxpr page"
TRIALS = "the table of trials"
OPTAX = "docs of optax"
FLAX = "docs of flax"
NUMPYRO = "docs of numpyro"


def leaf(f, place, name):
    """The inputs by the names that JAX's own tree functions give to their leaves."""
    argument = f.made.arguments[place]
    paths = jax.tree_util.tree_flatten_with_path(argument)[0]
    before = sum(len(jax.tree.leaves(given)) for given in f.made.arguments[:place])
    names = [jax.tree_util.keystr(path) for path, _ in paths]
    return f.base.ins[before + names.index(name)]


def leaves(f, place):
    before = sum(len(jax.tree.leaves(given)) for given in f.made.arguments[:place])
    return f.base.ins[before : before + len(jax.tree.leaves(f.made.arguments[place]))]


def carry(f):
    return scan_groups(f.base.only("scan"))[1]


SENTENCES = [
    Sentence(
        "A pair of arrays becomes two inputs.",
        JAXPR_PAGE,
        "len(f.inputs[arg]) == 2",
        pair,
        lambda f: len(f.base.ins) == 2,
        triple,
    ),
    Sentence(
        "The parameters are two arrays.",
        FLAX,
        "len(f.inputs[params]) == 2",
        stateless,
        lambda f: len(leaves(f, 0)) == 2,
        stateful,
    ),
    Sentence(
        "Plain gradient descent has no state.",
        OPTAX,
        "len(f.inputs[opt]) == 0",
        stateless,
        lambda f: len(leaves(f, 2)) == 0,
        stateful,
    ),
    Sentence(
        "The weight is a matrix of 4 by 4.",
        TRIALS,
        "f.inputs[\"params['w']\"].shape == (4, 4)",
        stateless,
        lambda f: shape(leaf(f, 0, "['w']")) == (4, 4),
        stateful,
    ),
    Sentence(
        "The kernel of the first layer has 32 numbers.",
        FLAX,
        "f.inputs[\"params['Dense_0']['kernel']\"].size == 32",
        applied,
        lambda f: size(leaf(f, 0, "['Dense_0']['kernel']")) == 32,
        applied_deeper,
    ),
    Sentence(
        "The model has 36 parameters.",
        FLAX,
        "sum(v.size for v in f.inputs[params]) == 36",
        applied,
        lambda f: sum(map(size, leaves(f, 0))) == 36,
        applied_deeper,
    ),
    Sentence(
        "The state of the optimizer takes 32 bytes.",
        OPTAX,
        "sum(v.bytes for v in f.inputs[state]) == 32",
        adam,
        lambda f: sum(map(nbytes, leaves(f, 1))) == 32,
        adam_in_half,
    ),
    Sentence(
        "The first moment is kept in f32.",
        OPTAX,
        'f.inputs["state[0].mu[\'w\']"].dtype == "f32"',
        adam,
        lambda f: dtype(leaf(f, 1, "[0].mu['w']")) == "float32",
        adam_in_half,
    ),
    Sentence(
        "The gradient for w has the type of w.",
        TRIALS,
        "f.grad.outputs[1].type == f.inputs[\"params['w']\"].type",
        stateless,
        lambda f: shape(f.grad.outs[1]) == shape(leaf(f, 0, "['w']")),
        stateful,
    ),
    Sentence(
        "Each parameter has a gradient.",
        FLAX,
        "len(f.grad.outputs) == len(f.inputs[params])",
        stateless,
        lambda f: len(f.grad.outs) == len(leaves(f, 0)),
        instead="len(f.grad.outputs) == len(f.grad.inputs)",
        oracle_instead=lambda f: len(f.grad.outs) == len(f.grad.ins),
    ),
    Sentence(
        "The root of the second moment divides the step.",
        OPTAX,
        "depends(f[div], f[sqrt])",
        adam,
        lambda f: f.base.depends(f.base.only("div"), f.base.only("sqrt").outvars[0]),
        instead="depends(f[sqrt], f[div])",
        oracle_instead=lambda f: f.base.depends(f.base.only("sqrt"), f.base.only("div").outvars[0]),
    ),
    Sentence(
        "The last equation reads the parameters.",
        OPTAX,
        "reads(f[-1], f.inputs[params])",
        adam,
        lambda f: f.base.eqns[-1] in f.base.readers(leaves(f, 2)[0]),
        adam_in_half,
    ),
    Sentence(
        "The second moment plays no part.",
        OPTAX,
        "f.inputs[\"state[0].nu['w']\"].uses == 0",
        momentum,
        lambda f: not f.base.readers(leaf(f, 1, "[0].nu['w']")),
        adam,
    ),
    Sentence(
        "The log density is a single number.",
        NUMPYRO,
        'f.outputs[0].type == "f32[]"',
        log_density,
        lambda f: shape(f.base.outs[0]) == (),
        log_densities,
    ),
    Sentence(
        "The log density depends on the scale.",
        NUMPYRO,
        "depends(f[-1], f.inputs[\"params['scale']\"])",
        log_density,
        lambda f: f.base.depends(f.base.eqns[-1], leaf(f, 0, "['scale']")),
        log_densities,
    ),
    Sentence(
        "A state of two arrays is carried as two.",
        FLAX,
        "len(f[scan].carry) == len(f.inputs[state])",
        recurrent,
        lambda f: len(carry(f)) == len(leaves(f, 0)),
        instead="len(f[scan].carry) == len(f[scan].outputs)",
        oracle_instead=lambda f: len(carry(f)) == len(f.base.only("scan").outvars),
    ),
]
