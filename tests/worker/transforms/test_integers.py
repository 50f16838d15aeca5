"""Integers, flags and keys inside an argument are left out of differentiation, with a word."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.tracing.masking import mask
from sphinx_jaxpr.tracing.result import Result, remarks
from sphinx_jaxpr.worker.failures import hint_of
from sphinx_jaxpr.worker.recorder import DependencyRecorder
from sphinx_jaxpr.worker.tracer import Tracer
from tests.worker import made
from tests.worker.targets.test_calls import array, by_hand, request, trace

ARGS = "p={w: f32[3], n: i32[], key: key<fry>[], c: 2}, x=f32[3]"
LEFT_OUT = [["p['c']", "i32[]"], ["p['key']", "key<fry>[]"], ["p['n']", "i32[]"]]
KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def tracer() -> Tracer:
    return Tracer(DependencyRecorder("/nowhere"), [])


@pytest.mark.parametrize(
    "transforms",
    ["grad", "value_and_grad(argnums=(x, p))", "hessian", "jacfwd", "jacrev", "jit | grad",
     "grad | vmap(in_axes=x)", "grad | grad", "remat | value_and_grad | jit"],
)  # fmt: skip
def test_the_rest_is_differentiated(tracer: Tracer, transforms: str) -> None:
    result, stage = trace(tracer, request("noisy", ARGS, transforms))
    assert by_hand(result["call"], stage) == result["text"]
    assert result["undifferentiated"] == LEFT_OUT
    assert [leaf for _, leaf in result["inputs"]][:4] == ["p['c']", "p['key']", "p['n']", "p['w']"]
    (remark, *_) = remarks(Result.from_json(result))
    assert remark == "not differentiated: p['c'] (i32[]), p['key'] (key<fry>[]), p['n'] (i32[])"


def test_the_program_is_that_of_the_floats_alone(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("noisy", ARGS, "value_and_grad"))

    def direct(c: Any, key: Any, n: Any, w: Any, x: Any) -> Any:
        def loss(w: Any) -> Any:
            return made.noisy({"w": w, "n": n, "key": key, "c": c}, x).sum()

        return jax.value_and_grad(loss)(w)

    types = (2, KEY, array(dtype=jnp.int32), array(3), array(3))
    assert result["text"] == mask(str(jax.make_jaxpr(direct)(*types)))
    phases = {row[1] for row in result["facts"]["programs"][0]["equations"]}
    assert {"forward", "transpose"} <= phases


@pytest.mark.parametrize("transforms", ["jvp", "vjp", "linearize", "grad(argnums=x)"])
def test_jax_itself_takes_the_others(tracer: Tracer, transforms: str) -> None:
    result, stage = trace(tracer, request("noisy", ARGS, transforms))
    assert by_hand(result["call"], stage) == result["text"]
    assert "undifferentiated" not in result


@pytest.mark.parametrize("transforms", ["grad", "value_and_grad"])
def test_allow_int_is_that_of_jax(tracer: Tracer, transforms: str) -> None:
    args = "p={w: f32[3], n: i32[], c: 2}, x=f32[3]"
    result, stage = trace(tracer, request("scaled", args, f"{transforms}(allow_int=True)"))
    call = f"jax.{transforms}(lambda p, x: scaled(p, x).sum(), allow_int=True)"
    assert result["call"] == call
    assert by_hand(call, stage) == result["text"]
    assert "float0" in result["text"]
    assert "undifferentiated" not in result


def test_an_argument_without_floats_is_an_error_with_a_hint(tracer: Tracer) -> None:
    for transforms, more in [
        ("grad", "; allow_int=True gives zeros of type float0"),
        ("jacfwd", ""),
    ]:
        with pytest.raises(TypeError, match="int32") as caught:
            trace(tracer, request("counted", "n=i32[3], x=f32[3]", transforms))
        hint = "'n' is i32[3]; argnums names another argument (x)"
        assert hint_of(caught.value) == hint + more


def test_long_lists_of_leaves_are_cut() -> None:
    leaves = tuple((f"m.a{number}", "i32[]") for number in range(9))
    (remark,) = remarks(Result(undifferentiated=leaves))
    assert remark.endswith("m.a5 (i32[]) and 3 more")
