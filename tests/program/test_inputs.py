"""Names of inputs: arguments, their leaves, and arguments that have none."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.program.facts import InputNames, input_names
from sphinx_jaxpr.testing import Traced, trace


class State(NamedTuple):
    mu: Any
    count: Any


PARAMS = {"w": jnp.ones((4, 4)), "b": [jnp.ones(4), (jnp.ones(()),)]}


def step(params: Any, opt: Any, x: Any) -> Any:
    return jnp.tanh(x @ params["w"] + params["b"][0])


def update(params: Any, state: Any) -> Any:
    return jax.tree.map(lambda p, m: p - m * state.count, params, state.mu)


@pytest.fixture(scope="module")
def traced() -> Traced:
    return trace(step, PARAMS, {}, jnp.ones(4), transforms="grad, vmap(in_axes=x), jvp, jit")


@pytest.mark.parametrize("empty", [{}, None, (), [], {"a": None}])
def test_an_empty_argument_takes_no_name_of_another(empty: Any) -> None:
    found = trace(step, PARAMS, empty, jnp.ones(4))
    found.assert_claims(
        [
            "len(step.inputs[opt]) == 0",
            "len(step.inputs[params]) == 3",
            "step.inputs[x].shape == (4,)",
            "step.inputs[x] == step.inputs[3]",
        ]
    )


def test_leaves_have_the_names_that_jax_gives(traced: Traced) -> None:
    traced.assert_claims(
        [
            """step.inputs["params['w']"].shape == (4, 4)""",
            """step.inputs["params['b'][0]"].shape == (4,)""",
            """step.inputs["params['b'][1][0]"].shape == ()""",
            """step.inputs[params][2] == step.inputs["params['w']"]""",
            """step.inputs['params["w"]'].uses == 1""",
        ]
    )
    jaxpr = jax.make_jaxpr(step)(PARAMS, {}, jnp.ones(4))
    assert traced["step"].inputs.leaves == tuple(jaxpr.jaxpr.debug_info.arg_names)


@pytest.mark.parametrize("label", ["grad", "vmap", "jit"])
def test_transforms_keep_names(traced: Traced, label: str) -> None:
    assert traced[f"step.{label}"].inputs == traced["step"].inputs


def test_tangents_have_names_of_their_own(traced: Traced) -> None:
    traced.assert_claims(
        [
            "len(step.jvp.inputs[params_dot]) == 3",
            """step.jvp.inputs["params_dot['w']"].shape == (4, 4)""",
            "len(step.jvp.inputs[opt]) == 0",
        ]
    )


def test_leaves_of_a_named_tuple() -> None:
    state = State({"w": jnp.ones((2, 2))}, jnp.ones(()))
    found = trace(update, {"w": jnp.ones((2, 2))}, state, transforms="vjp")
    found.assert_claims(
        [
            """update.inputs["state.mu['w']"].shape == (2, 2)""",
            "update.inputs['state.count'].shape == ()",
            "len(update.inputs[state]) == 2",
            "len(update.inputs[params]) == 1",
            """update.vjp.inputs["ct['w']"].shape == (2, 2)""",
        ]
    )


def test_a_name_that_is_none_is_answered_with_the_nearest(traced: Traced) -> None:
    for name, told in (("parms", "params"), ("params['v']", "params['w']")):
        with pytest.raises(ValueError, match="has no") as caught:
            traced.evaluate(f"step.inputs[{name!r}]")
        assert told in str(caught.value)


def test_a_ready_jaxpr_has_the_names_that_jax_noted() -> None:
    ready = jax.make_jaxpr(step)(PARAMS, {}, jnp.ones(4))
    found = trace(ready, name="ready")
    found.assert_claims(["len(ready.inputs[params]) == 3", "ready.inputs[x].shape == (4,)"])


def test_results_without_names_of_leaves() -> None:
    """Those of an older lock: only where each argument is one array, it is known."""
    assert input_names([("x", "f32[3]"), ("y", "f32[]")], None, 2).leaves == ("x", "y")
    assert input_names([("p", "{w: f32[3]}"), ("o", "{}")], None, 1) == InputNames(
        all_arguments=("p", "o")
    )
    assert input_names(None, None, 2) == InputNames()
