"""Every transform: the call that is shown, run by hand, gives the shown program."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.tracing import grammar
from sphinx_jaxpr.tracing.masking import mask
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.specs import TRANSFORMS
from sphinx_jaxpr.worker.failures import RequestError
from sphinx_jaxpr.worker.recorder import DependencyRecorder
from sphinx_jaxpr.worker.stage import Stage
from sphinx_jaxpr.worker.tracer import Tracer
from sphinx_jaxpr.worker.transforms import table
from tests.worker import callables

MODULE = callables.__name__
DENSE = "x=bf16[32,64], w=bf16[64,64], b=bf16[64]"


@pytest.fixture(scope="module")
def tracer() -> Tracer:
    return Tracer(DependencyRecorder("/nowhere"), [])


def request(
    target: str, args: str = "", transforms: str = "", static: str = "", **more: Any
) -> Request:
    chains = grammar.transforms(transforms)
    return Request(
        f"{MODULE}:{target}",
        grammar.arguments(args),
        grammar.static(static),
        chains[0].steps if chains else (),
        **more,
    )


def ignore(module: str) -> None:
    """Nobody needs to know which module is imported here."""


def trace(tracer: Tracer, wanted: Request) -> tuple[dict[str, Any], Stage]:
    found = tracer.prepare(wanted, ignore)
    result = tracer.trace(wanted, found).to_json()
    return result, tracer._stage(wanted, *found)


def by_hand(call: str, stage: Stage) -> str:
    """The shown call, run as a reader would, traced directly."""
    # The call is our own text, made by the code under test.
    fn = eval(call, {"jax": jax, "jnp": jnp, **vars(callables)})  # noqa: S307 - that the call shown runs is tested
    return mask(str(jax.make_jaxpr(fn)(*stage.args)))


CASES = [
    ("dense", DENSE, ""),
    *(
        ("dense", DENSE, chain)
        for chain in (
            "jit",
            "grad",
            "grad(argnums=w)",
            "grad(argnums=(x, b))",
            "grad(argnums=-1)",
            "value_and_grad(argnums=w)",
            "hessian(argnums=b)",
            "jvp",
            "jvp(argnums=(x, w, b))",
            "jvp(argnums=w)",
            "vjp",
            "vjp(argnums=(w, b))",
            "linearize(argnums=w)",
            "jacfwd(argnums=b)",
            "jacrev(argnums=(x, b))",
            "vmap",
            "vmap(in_axes=w)",
            "vmap(in_axes=(x, b))",
            "vmap(in_axes=0, axis_size=3)",
            "vmap(in_axes=(0, None, 0))",
            'vmap(in_axes={x: 1, w: None}, out_axes=1, axis_size=5, axis_name="i")',
            "vmap(in_axes={x: -1})",
            "scan",
            "scan(over=w, length=3, reverse=True, unroll=3)",
            "scan(over=(w, b))",
            "scan(over=b, carry=x)",
            "checkpoint",
            "remat | grad(argnums=w)",
            "checkpoint(policy=dots_saveable) | grad",
            'remat(policy=save_only_these_names("a", "b")) | grad',
            "shard_map",
            "shard_map(mesh={data: 4})",
            'shard_map(mesh={"a": 2, "b": 4}, in_specs={x: (("a", "b"), None)})',
            'shard_map(mesh={"a": 2, "b": 4}, in_specs={x: ("a",), w: (None, "b"), b: ("b",)},'
            ' out_specs=("a", "b"))',
            "shard_map | grad(argnums=w)",
            "grad(argnums=w) | vmap(in_axes=x)",
            "vmap | grad(argnums=w) | jit",
            "jit | vmap | scan(over=w)",
            "scan | grad(argnums=w)",
            "jit | remat | grad | vmap",
        )
    ),
    ("loss", "w=f32[4,2], x=f32[3,4]", "grad"),
    ("loss", "w=f32[4,2], x=f32[3,4]", "value_and_grad"),
    ("loss", "w=f32[4,2], x=f32[3,4]", "hessian | vmap(in_axes=x)"),
    ("tree", "params={w: f32[4,2], b: f32[2]}, x=f32[3,4]", "grad"),
    ("tree", "params={w: f32[4,2], b: f32[2]}, x=f32[3,4]", "jvp"),
    ("tree", "params={w: f32[4,2], b: f32[2]}, x=f32[3,4]", "vjp"),
    (
        "tree",
        "params={w: f32[4,2], b: f32[2]}, x=f32[3,4]",
        "vmap(in_axes={params: {w: 0, b: None}})",
    ),
    ("tree", "params=make_params, x=f32[3,4]", "vmap(in_axes=x) | grad"),
    ("step", "carry=f32[], x=f32[3]", "scan"),
    ("square", "x=f32[]", "grad"),
    ("square", "x=f32[]", "scan"),
    ("square", "3.0", "grad | vmap"),
    ("square", "3", "vmap"),
    ("square", "f32[3]", "grad(sum=True)"),
    ("shadow", "f32[], f32[3]", "grad | vmap"),
    ("shadow", "f32[3], f32[3]", "scan"),
    ("keyword", "x=f32[3], scale=f32[]", "grad(argnums=scale)"),
    ("over_axis", "f32[2]", 'vmap(axis_name="i", axis_size=3)'),
    ("over_axis", "f32[2]", "vmap(axis_name=i)"),
    ("model.apply", "f32[3]", "grad"),
    ("half", "x=f32[2,2], w=f32[2,2]", "grad(argnums=w)"),
    ("program", "", "grad"),
    ("program", "", "vmap"),
]


@pytest.mark.parametrize(("target", "args", "chain"), CASES)
def test_shown_call_gives_shown_program(tracer: Tracer, target: str, args: str, chain: str) -> None:
    result, stage = trace(tracer, request(target, args, chain))
    assert by_hand(result["call"], stage) == result["text"]
    equations = result["facts"]["programs"][0]["equations"]
    assert equations


def test_jit_flag_traces_once_and_rewrites_that(tracer: Tracer) -> None:
    result, stage = trace(tracer, request("dense", DENSE, "grad(argnums=w)", jit=True))
    assert result["call"] == "jax.grad(lambda x, w, b: jax.jit(dense)(x, w, b).sum(), argnums=1)"
    assert by_hand(result["call"], stage) == result["text"]


@pytest.mark.parametrize(
    ("transforms", "call"),
    [
        ("grad(argnums=w)", "jax.grad(lambda x, w, b: dense(x, w, b).sum(), argnums=1)"),
        ("vmap(axis_size=8)", "jax.vmap(dense, in_axes=(0, None, None), axis_size=8)"),
        ("remat", "jax.remat(dense)"),
        (
            "scan(over=w)",
            "lambda x, w, b: jax.lax.scan(lambda x, w: (dense(x, w, b), None), x, w, length=4)[0]",
        ),
    ],
)
def test_call(tracer: Tracer, transforms: str, call: str) -> None:
    assert trace(tracer, request("dense", DENSE, transforms))[0]["call"] == call


def test_a_scalar_result_is_not_summed(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("loss", "w=f32[4,2], x=f32[3,4]", "grad"))
    assert result["call"] == "jax.grad(loss)"


def test_shard_map_splits_shapes_on_one_device(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("dense", DENSE, "shard_map"))
    inner = result["facts"]["programs"][1]
    assert inner["inputs"][0].startswith("bf16[4,64]")
    assert inner["inputs"][1].startswith("bf16[64,64]")


def test_third_party(tracer: Tracer) -> None:
    path = (("twice", f"{MODULE}:doubled"),)
    result, stage = trace(
        tracer, request("square", "f32[3]", "grad | twice(times=3)", third_party=path)
    )
    assert by_hand(result["call"], stage) == result["text"]
    assert "3.0" in result["text"]


REFUSED = [
    ("dense", DENSE, "grad(argnums=q)", "'q', which is not an argument"),
    ("dense", DENSE, "grad(argnums=3)", "there are 3 arguments (x, w, b)"),
    ("dense", DENSE, 'grad(sum="no")', "sum must be True or False"),
    ("nothing", "", "grad", "grad needs a function with an argument"),
    ("nothing", "", "vmap", "vmap needs a function with an argument"),
    ("dense", DENSE, "vmap(axis_size=0)", "axis_size must be a positive number, not 0"),
    ("dense", DENSE, "vmap(in_axes={x: 5})", "x is bf16[32,64], which cannot gain axis 5"),
    ("dense", DENSE, "vmap(in_axes=(0, None))", "one axis for each of x, w, b"),
    ("dense", DENSE, "vmap(in_axes={z: 0})", "'z', which is not an argument"),
    ("dense", DENSE, "scan(carry=b)", "it must return the carry's type (b: bf16[64])"),
    ("dense", DENSE, "scan(over=x)", "'x' is both carry and over"),
    ("dense", DENSE, "remat(policy=dots_savable)", "did you mean 'dots_saveable'?"),
    ("dense", DENSE, "remat(policy=save_only_these_names(3))", "takes strings"),
    ("dense", DENSE, "shard_map(mesh={data: 5})", 'try mesh={"data": 4}'),
    ("dense", "x=bf16[30,64], w=bf16[64,64], b=bf16[64]", "shard_map", 'mesh={"data": 6}'),
    ("dense", DENSE, "shard_map(mesh=8)", 'such as {"data": 8}'),
    ("dense", DENSE, 'shard_map(in_specs={x: ("model",)})', "'model' is not an axis of the mesh"),
    ("dense", DENSE, 'shard_map(in_specs={b: ("data", None)})', "has 2 entries"),
    ("dense", DENSE, 'shard_map(mesh={"data": 5}, in_specs={w: (None, "data")})', "do not divide"),
]


@pytest.mark.parametrize(("target", "args", "chain", "part"), REFUSED)
def test_refused_with_the_right_thing(
    tracer: Tracer, target: str, args: str, chain: str, part: str
) -> None:
    with pytest.raises(RequestError) as caught:
        trace(tracer, request(target, args, chain))
    assert part in str(caught.value)
    assert caught.value.report.kind == "option"


def test_phases(tracer: Tracer) -> None:
    def phases(chain: str, place: int = 0) -> list[str]:
        result, _ = trace(tracer, request("dense", DENSE, chain))
        return [row[1] for row in result["facts"]["programs"][place]["equations"]]

    assert set(phases("vmap")) == {""}
    gradient = phases("grad(argnums=w)")
    assert gradient[:4] == ["forward"] * 4
    assert gradient[-1] == "transpose"
    assert set(phases("jvp(argnums=w)")) == {"forward", "tangent"}
    assert "recomputed" in phases("remat | grad(argnums=w)", place=1)
    assert "transpose" in phases("remat | grad(argnums=w)", place=1)


def test_each_listed_transform_has_a_function_and_no_other_does() -> None:
    assert set(table.BUILTIN) == set(table._FUNCTIONS) == set(TRANSFORMS)
