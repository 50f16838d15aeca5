"""Specs with a call: the program is the one that JAX gives for the same objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.tracing import grammar
from sphinx_jaxpr.tracing.masking import mask
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.worker.failures import RequestError, hint_of
from sphinx_jaxpr.worker.recorder import DependencyRecorder
from sphinx_jaxpr.worker.stage import Stage
from sphinx_jaxpr.worker.tracer import Tracer
from tests.worker import made
from tests.worker.made import Data, Model

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def tracer() -> Tracer:
    return Tracer(DependencyRecorder("/nowhere"), [])


def request(target: str, args: str, transforms: str = "", static: str = "", **more: Any) -> Request:
    chains = grammar.transforms(transforms)
    wanted = Request(
        f"{made.__name__}:{target}",
        grammar.arguments(args),
        grammar.static(static),
        chains[0].steps if chains else (),
        **more,
    )
    assert Request.from_json(wanted.to_json()).digest == wanted.digest
    return wanted


def trace(tracer: Tracer, wanted: Request) -> tuple[dict[str, Any], Stage]:
    target = tracer.prepare(wanted, lambda module: None)
    result = tracer.trace(wanted, target).to_json()
    return result, tracer._stage(wanted, *target)


def by_hand(call: str, stage: Stage) -> str:
    """The shown call, run as a reader would, traced directly."""
    # The call is our own text, made by the code under test.
    fn = eval(call, {"jax": jax, "jnp": jnp, **vars(made)})  # noqa: S307 - that the call shown runs is tested
    return mask(str(jax.make_jaxpr(fn)(*stage.args)))


def refusal(tracer: Tracer, wanted: Request) -> str:
    with pytest.raises(RequestError) as caught:
        trace(tracer, wanted)
    assert caught.value.report.kind == "option"
    assert caught.value.report.option == "args"
    return str(caught.value)


def array(*shape: int, dtype: Any = jnp.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


STATE = ({"w": array(4)}, array(dtype=jnp.int32))

# The target, what the page says of its arguments, and what a direct call is given.
SAME: list[tuple[str, str, Callable[[], tuple[Any, ...]]]] = [
    ("leaves", "Model(w=f32[2,3], b=f32[3])", lambda: (Model(array(2, 3), array(3)),)),
    ("leaves", "Model(f32[2,3])", lambda: (Model(array(2, 3), 0.5),)),
    ("leaves", "Model({a: f32[], b: (2, i32[3])}, b=Model(bf16[4], 3))",
     lambda: (Model({"a": array(), "b": (2, array(3, dtype=jnp.int32))},
                    Model(array(4, dtype=jnp.bfloat16), 3)),)),
    ("leaves", "{m: [Model(w=f32[2])]}", lambda: ({"m": [Model(array(2))]},)),
    ("leaves", "Model(PARAMS, b=None)", lambda: (Model(made.PARAMS, None),)),
    ("powered", "Data(w=f32[2,3], power=3), x=f32[3]", lambda: (Data(array(2, 3), 3), array(3))),
    ("powered", "data=Data(f32[2,3]), x=f32[3]", lambda: (Data(array(2, 3)), array(3))),
    ("update", "params={w: f32[4]}, state=init(params)", lambda: ({"w": array(4)}, STATE)),
    ("update", "state=OPTIMIZER.init(params, scale=2.0), params={w: f32[4]}",
     lambda: ({"w": array(4)}, STATE)),
    ("update", "PARAMS, init(PARAMS)", lambda: (made.PARAMS, STATE)),
    ("update", "params=PARAMS, state=init(params)", lambda: (made.PARAMS, STATE)),
    ("leaves", "grid(5, 'bfloat16')", lambda: (array(5, dtype=jnp.bfloat16),)),
    ("leaves", "jnp.ones((128,64))", lambda: (array(128, 64),)),
    ("leaves", "jax.random.key_data(jax.random.key(0))", lambda: (jax.random.key_data(KEY),)),
    ("leaves", "Model(jnp.asarray(2.0), jax.random.normal(key<fry>[], (3,)))",
     lambda: (Model(jnp.asarray(2.0), array(3)),)),
]  # fmt: skip


def _named(item: object) -> str:
    return "direct" if callable(item) else str(item)[:40]


@pytest.mark.parametrize(("target", "args", "direct"), SAME, ids=_named)
def test_the_program_is_that_of_the_object(
    tracer: Tracer, target: str, args: str, direct: Callable[[], tuple[Any, ...]]
) -> None:
    result, stage = trace(tracer, request(target, args))
    objects = direct()
    assert result["text"] == mask(str(jax.make_jaxpr(getattr(made, target))(*objects)))
    assert jax.tree.structure(stage.args) == jax.tree.structure(objects)
    assert by_hand(result["call"], stage) == result["text"]
    # Own transforms are shown what makes the arguments.
    path = (("twice", f"{made.__name__}:doubled"),)
    result, stage = trace(tracer, request(target, args, "twice(times=3)", third_party=path))
    assert by_hand(result["call"], stage) == result["text"]


def test_leaves_have_the_names_that_jax_gives_them(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("update", "Model(f32[4], f32[]), state=init(params)"))
    assert [leaf for _, leaf in result["inputs"]] == [
        "params.w", "params.b", "state[0].w", "state[0].b", "state[1]",
    ]  # fmt: skip


@pytest.mark.parametrize("transforms", ["", "grad", "vmap(in_axes=x)", "jit | grad", "hessian"])
@pytest.mark.parametrize("net", ["NET", "Net(2, key<fry>[], jnp.sin, rate=0.1)", "Net(2, KEY)"])
def test_what_jax_refuses_in_an_object_is_static(
    tracer: Tracer, monkeypatch: pytest.MonkeyPatch, net: str, transforms: str
) -> None:
    monkeypatch.setattr(made, "KEY", KEY, raising=False)
    result, stage = trace(tracer, request("apply", f"net={net}, x=f32[2]", transforms))
    assert [leaf for _, leaf in result["inputs"]] == ["net[<flat index 0>]", "x"]
    assert by_hand(result["call"], stage) == result["text"]
    if not transforms:
        act = jnp.sin if "sin" in net else jnp.tanh
        direct = jax.make_jaxpr(lambda w, x: act(w @ x))(array(2, 2), array(2))
        assert result["text"] == mask(str(direct))


def test_an_object_that_is_returned_gives_its_arrays(tracer: Tracer) -> None:
    result, stage = trace(tracer, request("step", "NET, f32[2]"))
    assert by_hand(result["call"], stage) == result["text"]
    assert len(result["facts"]["programs"][0]["outputs"]) == 2


def test_a_function_in_a_dict_is_the_mistake_that_jax_reports(tracer: Tracer) -> None:
    with pytest.raises(TypeError, match=r"tree\['act'\]"):
        trace(tracer, request("leaves", "tree={net: NET, act: ACT}"))


REFUSED = [
    ("leaves", "Model(v=f32[2])", "args: tree: Model has no field 'v'; its fields are w, b", ""),
    ("leaves", "Model(bb=1, w=2)", "has no field 'bb', did you mean 'b'?", ""),
    ("leaves", "Model()", "Model needs 'w' too, as in w=f32[8]; its fields are w, b", ""),
    ("leaves", "Model(1, 2, 3)", "Model: too many positional arguments", ""),
    ("leaves", "grid(3)", "grid needs 'kind' too", ""),
    ("leaves", "init(1, q=2)", "init has no parameter 'q'; its parameters are params, scale", ""),
    ("leaves", "Modle(f32[2])", "no attribute 'Modle', did you mean 'Model'?", ""),
    ("leaves", "PARAMS(f32[2])", "'PARAMS' is of type dict: it can't be called", ""),
    ("leaves", "Model", "takes parameters", "or call it, as in Model(w=f32[8])"),
    ("leaves", "Plain(f32[2])", "Plain makes a Plain", "register_dataclass(Plain)"),
    ("leaves", "bare(f32[2])", "bare makes a Plain", "register_dataclass(Plain)"),
    ("update", "params=init(state), state=init(params)", "params -> state -> params", ""),
    ("update", "params=init(params), state=f32[]", "params -> params", ""),
    ("update", "params=init(parms), state=f32[]", "no attribute 'parms'", ""),
    ("leaves", "nmp.random.rand(3, 4)", "no attribute 'nmp'", "; for an array, write f32[3,4]"),
    ("leaves", "jax.random.normal(kye, (8,))", "no attribute 'kye'", "write f32[8]"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "args", "part", "other"), REFUSED)
def test_a_wrong_call_is_refused(
    tracer: Tracer, target: str, args: str, part: str, other: str
) -> None:
    text = refusal(tracer, request(target, args))
    assert part in text
    assert other in text


def test_an_error_of_the_call_says_which_argument(tracer: Tracer) -> None:
    for args, hint in [
        ("boom(f32[2])", "raised by boom(f32[2]), which makes the argument 'tree'"),
        ("tree=Data(f32[2])", "raised by Data(f32[2]), which makes the argument 'tree'"),
    ]:
        with pytest.raises(ValueError, match=r"no luck|1 axes") as caught:
            trace(tracer, request("leaves", args))
        assert hint_of(caught.value) == hint


def test_calls_obey_the_list_of_allowed_modules(tracer: Tracer) -> None:
    own = (made.__name__,)
    result, _ = trace(tracer, request("leaves", "Model(init(f32[2]), 3)", allowed=own))
    assert result["text"].startswith("{ lambda ; a:f32[2]")
    for args in ("jax.random.key(0)", "Model(jnp.load('x'))", "dataclasses.replace(f32[])"):
        text = refusal(tracer, request("leaves", args, allowed=own))
        assert "jaxpr_allowed_modules (tests.worker.made)" in text


def test_a_static_argument_may_be_named(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("three", "grid(y, 'float32')", static="y=5"))
    assert result["inputs"] == [["x", "x"]]
    assert result["text"].startswith("{ lambda ; a:f32[5]")


# -- specs without a name that follow others

# What the page says, and the dtype that each parameter gets.
FOLLOWING = [
    ("x=f32[], f16[]", {"x": "f32[]", "y": "f16[]"}),
    ("y=f32[], f16[]", {"x": "f16[]", "y": "f32[]"}),
    ("z=f32[], f16[], i32[]", {"x": "f16[]", "y": "i32[]", "z": "f32[]"}),
    ("x=f32[], f16[], y=i32[]", {"x": "f32[]", "y": "i32[]", "z": "f16[]"}),
    ("scale=f32[], f16[], i32[]", {"x": "f16[]", "y": "i32[]", "scale": "f32[]"}),
    ("z=f32[], f16[], i32[], u8[], i8[]",
     {"x": "f16[]", "y": "i32[]", "z": "f32[]", "rest0": "u8[]", "rest1": "i8[]"}),
    ("f16[], y=f32[], i32[], u8[]", {"x": "f16[]", "y": "f32[]", "z": "i32[]", "rest0": "u8[]"}),
]  # fmt: skip


@pytest.mark.parametrize(("args", "types"), FOLLOWING)
def test_a_spec_behind_one_with_a_name_takes_what_is_free(
    tracer: Tracer, args: str, types: dict[str, str]
) -> None:
    result, stage = trace(tracer, request("three", args))
    assert dict(result["args"]) == types
    assert by_hand(result["call"], stage) == result["text"]
    result, _ = trace(tracer, request("three", args, f"jit | vmap(in_axes={min(types)})"))
    assert dict(result["args"])[min(types)].endswith("[8]")


def test_positional_only_and_further_keywords(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("both", "y=f32[], f16[], more=i32[]"))
    assert dict(result["args"]) == {"x": "f16[]", "y": "f32[]", "more": "i32[]"}


@pytest.mark.parametrize(
    ("args", "part"),
    [
        ("z=f32[], f16[]", "args: f16[] has no name and follows a spec with one, so it may be for"
         " 'x' or 'y' of three(x, y, z=1.0, *rest, scale=2.0); name it, as in x=f16[]"),
        ("f16[], x=f32[]", "argument 'x' is given by position and by name"),
    ],
)  # fmt: skip
def test_what_could_be_for_several_is_refused(tracer: Tracer, args: str, part: str) -> None:
    assert part in refusal(tracer, request("three", args))


def test_too_many_specs_are_counted(tracer: Tracer) -> None:
    text = refusal(tracer, request("update", "params=f32[], f32[], f32[]"))
    assert text == "args has 3 specs, but update(params, state) takes 2 positional arguments"


def test_tuples_of_numbers_may_be_meant_as_shapes(tracer: Tracer) -> None:
    with pytest.raises(TypeError) as caught:
        trace(tracer, request("counted", "(128, 64), x=(64,)"))
    assert hint_of(caught.value) == (
        "(128, 64) is a tuple of numbers; for an array write f32[128,64], x=f32[64]"
    )
