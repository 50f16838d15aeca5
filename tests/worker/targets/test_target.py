"""Targets of every kind, and how their arguments are bound."""

from __future__ import annotations

import json
from typing import Any

import jax
import pytest

from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.worker.failures import RequestError
from sphinx_jaxpr.worker.tracer import Tracer
from tests.worker.transforms.test_transforms import MODULE, by_hand, ignore, request, trace, tracer

__all__ = ["tracer"]

TARGETS = [
    ("dense", "x=f32[2,3], w=f32[3,4], b=f32[4]", "", "dense"),
    ("dense", "f32[2,3], f32[3,4], b=f32[4]", "", "dense"),
    ("dense", "w=f32[3,4], x=f32[2,3], b=f32[4]", "", "dense"),
    ("dense", "x=f32[2,3], w=f32[3,4]", "b=0.5", "lambda x, w: dense(x, w, 0.5)"),
    ("keyword", "x=f32[3], scale=f32[]", "", "lambda x, scale: keyword(x, scale=scale)"),
    ("keyword", "x=f32[3]", "scale=2.0", "lambda x: keyword(x, scale=2.0)"),
    ("defaults", "x=f32[3]", "", "defaults"),
    ("defaults", "x=f32[3], y=f32[]", "", "lambda x, y: defaults(x, y=y)"),
    ("defaults", "x=f32[3]", "n=3, flip=True", "lambda x: defaults(x, 3, flip=True)"),
    ("defaults", "x=f32[3]", "1=4", "lambda x: defaults(x, 4)"),
    ("positional", "f32[3], y=f32[]", "", "positional"),
    ("positional", "y=f32[]", "0=2.0", "lambda y: positional(2.0, y)"),
    ("star", "f32[3], f32[], f32[]", "", "star"),
    ("star", "x=f32[3], extra=f32[]", "", "lambda x, extra: star(x, extra=extra)"),
    ("branch", "x=f32[3]", "act=jax.nn.relu, n=2", "lambda x: branch(x, jax.nn.relu, 2)"),
    ("with_number", "x=f32[3]", "n=2", "lambda x: with_number(x, n=2)"),
    ("jitted", "x=f32[3]", "n=3", "lambda x: jitted(x, 3)"),
    ("jitted_by_position", "x=f32[3]", "1=3", "lambda x: jitted_by_position(x, 3)"),
    ("half", "x=f32[2,3], w=f32[3,4]", "", "half"),
    ("model", "f32[3]", "", "model"),
    ("model.apply", "x=f32[3]", "", "model.apply"),
    ("Model.apply", "x=f32[3]", "self=model", "lambda x: Model.apply(model, x)"),
    ("Model.fixed", "f32[3]", "", "Model.fixed"),
    ("Model.made", "f32[3]", "", "Model.made"),
    ("nothing", "", "", "nothing"),
    ("identity", "f32[3]", "", "identity"),
    ("no_result", "f32[3]", "", "no_result"),
    ("uniform", "key<fry>[]", "", "uniform"),
    ("uniform", "u32[2]", "", "uniform"),
    ("tree", "params=make_params, x=f32[3,4]", "", "tree"),
    ("tree", "params=shapes, x=f32[3,4]", "", "tree"),
    ("use", "p=params, x=f32[3,4]", "", "use"),
    ("square", "2.5", "", "square"),
    ("square", "f8_e4m3fn[16]", "", "square"),
    ("square", "2j", "", "square"),
    ("lookup", "f32[400]", "", "lookup"),
]


@pytest.mark.parametrize(("target", "args", "static", "call"), TARGETS)
def test_target(tracer: Tracer, target: str, args: str, static: str, call: str) -> None:
    result, stage = trace(tracer, request(target, args, static=static))
    assert result["call"] == call
    assert by_hand(result["call"], stage) == result["text"]
    json.dumps(result, allow_nan=False)


def test_ready_jaxpr_is_shown_as_it_is(tracer: Tracer) -> None:
    from tests.worker import callables

    result = tracer.trace(request("program"), tracer.prepare(request("program"), ignore))
    assert result.program is not None and result.program.text == str(callables.program)


def test_constants_are_type_and_size(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("lookup", "f32[400]"))
    assert result["constants"] == [["f32[400,400]", 400 * 400 * 4]]
    assert len(json.dumps(result)) < 5_000


def test_effects_are_named_without_addresses(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("prints", "f32[3]"))
    assert result["effects"] == ["Debug"]


def test_a_huge_shape_costs_nothing(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("total", "f32[1000000,1000000]"))
    assert "f32[1000000,1000000]" in result["text"]


def test_source_and_line(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("square", "f32[3]"))
    assert result["source"]["text"] == "def square(x: Any) -> Any:\n    return x * x"
    (source,) = result["facts"]["sources"]
    assert source[0].endswith("callables.py")
    assert source[1:] == [result["source"]["line"] + 1, "square"]


def test_dotted_target(tracer: Tracer) -> None:
    wanted = Request(f"{MODULE}.model.apply", (("", request("square", "f32[2]").args[0][1]),))
    result, _ = trace(tracer, wanted)
    assert result["call"] == "model.apply"


REFUSED = [
    ("dens", "f32[3]", "", "target", "did you mean 'dense'?"),
    ("model.aply", "f32[3]", "", "target", "did you mean 'apply'?"),
    ("number", "", "", "target", "is of type int; a target must be a function"),
    ("dense", "f32[2,3]", "", "option", "no spec for 'w', 'b' of dense(x, w, b)"),
    ("square", "f32[2], f32[3]", "", "option", "args has 2 specs, but square(x) takes 1"),
    ("square", "y=f32[2]", "", "option", "args names 'y', which is not a parameter of square(x)"),
    ("square", "f32[2], x=f32[2]", "", "option", "is given by position and by name"),
    ("defaults", "x=f32[2]", "flop=True", "option", "did you mean 'flip'?"),
    ("defaults", "x=f32[2], n=f32[]", "n=3", "option", "is in args and in static"),
    ("square", "x=f32[2]", "4=3", "option", "takes 1 positional argument"),
    ("square", "missing", "", "option", "has no attribute 'missing'"),
    ("square", "needs_argument", "", "option", "takes parameters"),
    ("branch", "f32[2]", "act=jax.nn.rellu, n=1", "option", "did you mean 'relu'?"),
]


@pytest.mark.parametrize(("target", "args", "static", "kind", "part"), REFUSED)
def test_refused(tracer: Tracer, target: str, args: str, static: str, kind: str, part: str) -> None:
    with pytest.raises(RequestError) as caught:
        trace(tracer, request(target, args, static=static))
    assert part in str(caught.value)
    assert caught.value.report.kind == kind


def test_no_module_names_the_nearest_and_what_was_searched() -> None:
    from pathlib import Path

    from sphinx_jaxpr.worker.recorder import DependencyRecorder

    here = str(Path(__file__).parents[1])
    tracer = Tracer(DependencyRecorder("/nowhere"), [here])
    with pytest.raises(RequestError) as caught:
        tracer.prepare(Request("target:f"), ignore)
    assert "no module 'target', did you mean 'targets'?" in str(caught.value)
    assert caught.value.report.searched == (here,)


def test_a_next_jax_without_closed_jaxpr_is_read_alike() -> None:
    """A JAX in which ``make_jaxpr`` gives one kind of object with equations and constants."""
    from sphinx_jaxpr.worker.facts import facts
    from sphinx_jaxpr.worker.facts.jaxprs import is_jaxpr, open_jaxpr

    closed: Any = jax.make_jaxpr(lambda x: x * 2.0 + 1.0)(1.0)
    body = open_jaxpr(closed)

    class Next:
        eqns, invars, outvars, constvars = body.eqns, body.invars, body.outvars, body.constvars
        consts, effects = closed.consts, closed.effects

    assert facts.collect(Next()) == facts.collect(closed)
    assert is_jaxpr(Next())


def test_control_characters_of_a_parameter_are_spelled_out(tracer: Tracer) -> None:
    text = trace(tracer, request("odd_text", "x=f32[3]"))[0]["text"]
    assert "text=\\x1b[31m\\x00" in text
