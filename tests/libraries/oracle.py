"""JAX's own text of each block of ``docs/examples/libraries``: the same programs, by hand.

A program of its own, which imports the libraries and nothing of this project: it prints the
texts as JSON, by the names of blocks.  It runs with the worker's ``PYTHONHASHSEED``, since
NumPyro flattens distributions in the order of a set.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import blackjax
import equinox
import jax
import jax.numpy as jnp
import numpyro
import optax
from flax import nnx
from numpyro import distributions
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.util import potential_energy

Programs = dict[str, Any]

f32 = jax.ShapeDtypeStruct((), jnp.float32)
i32 = f32.update(dtype=jnp.int32)
vector = f32.update(shape=(3,))
key = jax.eval_shape(lambda: jax.random.key(0))
seed = jax.random.key(0)


def of(*shape: int) -> jax.ShapeDtypeStruct:
    return f32.update(shape=shape)


def summed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: function(*args).sum()


def grad_of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient in those leaves of the first argument that are real numbers."""

    def gradient(tree: Any, *others: Any) -> Any:
        leaves, structure = jax.tree.flatten(tree)
        real = [jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves]

        def of_floats(floats: list[Any]) -> Any:
            rest = iter(floats)
            merged = [
                next(rest) if is_real else leaf for is_real, leaf in zip(real, leaves, strict=True)
            ]
            return function(jax.tree.unflatten(structure, merged), *others).sum()

        floats = [leaf for is_real, leaf in zip(real, leaves, strict=True) if is_real]
        return jax.grad(of_floats)(floats)

    return gradient


def of_optax() -> Programs:
    params = {"w": of(8, 4), "b": of(4)}
    adam = optax.adam(1e-3)
    clipped = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, momentum=0.9))
    loss = optax.softmax_cross_entropy_with_integer_labels
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 100, 1000)
    labels = i32.update(shape=(8,))
    halves = {"w": of(8, 4).update(dtype=jnp.bfloat16)}
    return {
        "adam": jax.make_jaxpr(adam.update)(params, jax.eval_shape(adam.init, params)),
        "clipped": jax.make_jaxpr(clipped.update)(params, jax.eval_shape(clipped.init, params)),
        "loss": jax.make_jaxpr(loss)(of(8, 10), labels),
        "loss.grad": jax.make_jaxpr(jax.grad(summed(loss)))(of(8, 10), labels),
        "schedule": jax.make_jaxpr(schedule)(i32),
        "apply": jax.make_jaxpr(optax.apply_updates)(halves, {"w": of(8, 4)}),
    }


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.hidden = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.out(self.dropout(nnx.relu(self.norm(self.hidden(x)))))


def of_flax() -> Programs:
    def abstract(module: Any, *args: Any, **kwargs: Any) -> Any:
        return jax.eval_shape(lambda: module(*args, **kwargs, rngs=nnx.Rngs(0)))

    linear = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
    norm = abstract(nnx.LayerNorm, 8)
    attention = abstract(nnx.MultiHeadAttention, num_heads=2, in_features=8, decode=False)
    dropout = abstract(nnx.Dropout, 0.5)
    net = abstract(Net)

    def call(module: Any, x: Any) -> Any:
        return module(x)

    return {
        "linear": jax.make_jaxpr(linear)(of(2, 4)),
        "norm": jax.make_jaxpr(call)(norm, of(2, 8)),
        "norm.grad": jax.make_jaxpr(jax.grad(summed(call)))(norm, of(2, 8)),
        "attention": jax.make_jaxpr(call)(attention, of(2, 5, 8)),
        "dropout": jax.make_jaxpr(call)(dropout, of(2, 8)),
        "net": jax.make_jaxpr(call)(net, of(2, 4)),
        "net.grad": jax.make_jaxpr(grad_of_floats(call))(net, of(2, 4)),
    }


def of_equinox() -> Programs:
    abstract = equinox.filter_eval_shape
    linear = equinox.nn.Linear(4, 3, key=seed)
    mlp = abstract(equinox.nn.MLP, in_size=2, out_size=1, width_size=8, depth=2, key=seed)
    arrays, static = equinox.partition(mlp, lambda leaf: hasattr(leaf, "shape"))
    gru = abstract(equinox.nn.GRUCell, 4, 3, key=seed)
    conv = abstract(equinox.nn.Conv2d, 3, 4, kernel_size=3, key=seed)

    def call(model: Any, x: Any) -> Any:
        return model(x)

    def call_mlp(arrays: Any, x: Any) -> Any:
        return equinox.combine(arrays, static)(x)

    def step(gru: Any, x: Any, hidden: Any) -> Any:
        return gru(x, hidden)

    def scanned(gru: Any, xs: Any, hidden: Any) -> Any:
        return jax.lax.scan(lambda carry, x: (gru(x, carry), None), hidden, xs)

    def loss(model: Any, x: Any) -> Any:
        return jnp.sum(model(x) ** 2)

    return {
        "projection": jax.make_jaxpr(linear)(of(4)),
        "projection.vmap": jax.make_jaxpr(jax.vmap(linear))(of(8, 4)),
        "mlp": jax.make_jaxpr(call_mlp)(arrays, of(2)),
        "mlp.grad": jax.make_jaxpr(jax.grad(summed(call_mlp)))(arrays, of(2)),
        "gru": jax.make_jaxpr(step)(gru, of(4), vector),
        "gru.scan": jax.make_jaxpr(scanned)(gru, of(8, 4), vector),
        "conv": jax.make_jaxpr(call)(conv, of(3, 8, 8)),
        "filtered": jax.make_jaxpr(equinox.filter_grad(loss))(linear, of(4)),
    }


def model(data: Any) -> None:
    mean = numpyro.sample("mean", distributions.Normal(0.0, 1.0))
    with numpyro.plate("points", 8):
        numpyro.sample("data", distributions.Normal(mean, 1.0), obs=data)


def guide(data: Any) -> None:
    centre = numpyro.param("centre", 0.0)
    width = numpyro.param("width", 1.0, constraint=distributions.constraints.positive)
    numpyro.sample("mean", distributions.Normal(centre, width))


def of_numpyro() -> Programs:
    normal = jax.eval_shape(distributions.Normal, f32, f32)
    stick = distributions.transforms.StickBreakingTransform()
    gamma = distributions.Gamma(2.0, 1.0)
    svi = SVI(model, guide, optax.adam(1e-3), Trace_ELBO())
    state = jax.eval_shape(svi.init, key, of(8))

    def energy(args: Any, params: Any) -> Any:
        return potential_energy(model, args, {}, params)

    def log_prob(normal: Any, value: Any) -> Any:
        return normal.log_prob(value)

    return {
        "normal": jax.make_jaxpr(log_prob)(normal, of(8)),
        "normal.grad": jax.make_jaxpr(jax.grad(summed(log_prob)))(normal, of(8)),
        "stick": jax.make_jaxpr(stick.log_abs_det_jacobian)(of(8), of(9)),
        "gamma": jax.make_jaxpr(lambda key: gamma.sample(key, (3,)))(key),
        "energy": jax.make_jaxpr(energy)((of(8),), {"mean": f32}),
        "energy.grad": jax.make_jaxpr(jax.grad(energy, argnums=1))((of(8),), {"mean": f32}),
        "svi": jax.make_jaxpr(svi.update)(state, of(8)),
    }


def logdensity(x: Any) -> Any:
    return jnp.sum(jax.scipy.stats.norm.logpdf(x))


def kinetic_energy(momentum: Any, position: Any = None) -> Any:
    return jnp.sum(momentum**2) / 2


def of_blackjax() -> Programs:
    samplers = {
        "hmc": blackjax.hmc(logdensity, 0.1, jnp.ones(3), 10),
        "nuts": blackjax.nuts(logdensity, 0.1, jnp.ones(3)),
        "mala": blackjax.mala(jax.scipy.stats.norm.logpdf, 0.1),
        "slices": blackjax.elliptical_slice(logdensity, mean=jnp.zeros(3), cov=jnp.ones(3)),
    }
    states = {
        name: jax.eval_shape(sampler.init, f32 if name == "mala" else vector)
        for name, sampler in samplers.items()
    }
    integrators = blackjax.mcmc.integrators
    verlet = integrators.velocity_verlet(logdensity, kinetic_energy)
    state = integrators.IntegratorState(vector, vector, f32, vector)
    steps = {
        name: jax.make_jaxpr(sampler.step)(key, states[name]) for name, sampler in samplers.items()
    }
    return steps | {"verlet": jax.make_jaxpr(verlet)(state, f32)}


PAGES = {
    "optax": of_optax,
    "flax": of_flax,
    "equinox": of_equinox,
    "numpyro": of_numpyro,
    "blackjax": of_blackjax,
}


if __name__ == "__main__":
    texts = {
        page: {name: str(program) for name, program in programs().items()}
        for page, programs in PAGES.items()
    }
    json.dump(texts, sys.stdout)
