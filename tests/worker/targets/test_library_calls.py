"""Modules and states of libraries as specs, against the same objects made by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.tracing import grammar
from sphinx_jaxpr.tracing.masking import mask
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.worker.recorder import DependencyRecorder
from sphinx_jaxpr.worker.tracer import Tracer

pytestmark = pytest.mark.once
for library in ("equinox", "flax", "optax"):
    # Of the extra `libraries`; `tests/libraries` fails in CI where it is missing.
    pytest.importorskip(library)

import equinox as eqx  # noqa: E402 - only where it is installed

from tests.worker import library_made as made  # noqa: E402 - imports these libraries


@pytest.fixture(scope="module")
def tracer() -> Tracer:
    return Tracer(DependencyRecorder("/nowhere"), [])


def array(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def shapes(make: Callable[[], Any]) -> Any:
    return jax.eval_shape(make)


W = {"w": array(4)}
# The target, what the page says of its arguments, and what a direct call is given.
PLAIN: list[tuple[str, str, Callable[[], tuple[Any, ...]]]] = [
    ("adam.update", "updates={w: f32[4]}, state=adam.init(updates)",
     lambda: (W, jax.eval_shape(made.adam.init, W))),
    ("optax.apply_updates", "{w: f32[4]}, {w: f32[4]}", lambda: (W, W)),
    ("scaled", "Scaled(w=f32[3], act=jax.numpy.tanh), f32[3]",
     lambda: (made.Scaled(array(3), jnp.tanh), array(3))),
    ("apply", "eqx.nn.Linear(2, 3, key=key<fry>[]), f32[2]",
     lambda: (eqx.nn.Linear(2, 3, key=made.KEY), array(2))),
    ("apply", "nnx.Linear(2, 3, rngs=nnx.Rngs(0)), f32[4,2]",
     lambda: (shapes(lambda: made.nnx.Linear(2, 3, rngs=made.nnx.Rngs(0))), array(4, 2))),
    ("apply", "model=Dropped(nnx.Rngs(0)), x=f32[4,2]",
     lambda: (shapes(lambda: made.Dropped(made.nnx.Rngs(0))), array(4, 2))),
    ("linen", "variables=dense.init(jax.random.key(0), f32[5,2]), f32[5,2]",
     lambda: (jax.eval_shape(made.dense.init, made.KEY, array(5, 2)), array(5, 2))),
]  # fmt: skip


def _named(item: object) -> str:
    return "direct" if callable(item) else str(item)[:40]


def reached(target: str) -> Any:
    value: Any = made
    for part in target.split("."):
        value = getattr(value, part)
    return value


def trace(tracer: Tracer, target: str, args: str, transforms: str = "") -> dict[str, Any]:
    chains = grammar.transforms(transforms)
    steps = chains[0].steps if chains else ()
    wanted = Request(f"{made.__name__}:{target}", grammar.arguments(args), (), steps)
    traced = tracer.prepare(wanted, lambda module: None)
    result = tracer.trace(wanted, traced).to_json()
    # The call is our own text, made by the code under test.
    fn = eval(result["call"], {"jax": jax, **vars(made)})  # noqa: S307 - that the call shown runs is tested
    text = str(jax.make_jaxpr(fn)(*tracer._stage(wanted, *traced).args))
    assert mask(text) == result["text"]
    return result


@pytest.mark.parametrize(("target", "args", "direct"), PLAIN, ids=_named)
def test_as_jax_traces_it(
    tracer: Tracer, target: str, args: str, direct: Callable[[], tuple[Any, ...]]
) -> None:
    expected = jax.make_jaxpr(reached(target))(*direct())
    assert trace(tracer, target, args)["text"] == mask(str(expected))


MIXED: list[tuple[str, str, Callable[[], tuple[Any, ...]]]] = [
    ("apply", "model=Layer(f32[2,3], jax.numpy.tanh, name='a'), x=f32[3]",
     lambda: (made.Layer(array(2, 3), jnp.tanh), array(3))),
    ("apply", "eqx.nn.MLP(2, 2, 4, 1, key=key<fry>[]), f32[2]",
     lambda: (eqx.nn.MLP(2, 2, 4, 1, key=made.KEY), array(2))),
    ("step", "model=eqx.nn.MLP(2, 2, 4, 1, key=jax.random.key(0)), f32[2],"
     " state=adam.init(eqx.filter(model, eqx.is_array))",
     lambda: (mlp := eqx.nn.MLP(2, 2, 4, 1, key=made.KEY),
              made.adam.init(eqx.filter(mlp, eqx.is_array)), array(2))),
]  # fmt: skip


@pytest.mark.parametrize(("target", "args", "direct"), MIXED, ids=_named)
def test_as_equinox_traces_it(
    tracer: Tracer, target: str, args: str, direct: Callable[[], tuple[Any, ...]]
) -> None:
    expected, _, _ = eqx.filter_make_jaxpr(reached(target))(*direct())
    assert trace(tracer, target, args)["text"] == mask(str(expected))


def test_dropout_is_differentiated_by_its_floats(tracer: Tracer) -> None:
    result = trace(tracer, "apply", "model=Dropped(nnx.Rngs(0)), x=f32[4,2]", "grad")
    left_out = {kind for _, kind in result["undifferentiated"]}
    assert left_out == {"u32[]", "key<fry>[]"}
    assert len(result["facts"]["programs"][0]["outputs"]) == 2
