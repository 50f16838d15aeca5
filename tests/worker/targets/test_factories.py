"""``make`` and ``then``: the target is called, and a part of what it returns is traced."""

from __future__ import annotations

import re
from typing import Any

import jax
import pytest

from sphinx_jaxpr.tracing.masking import mask
from sphinx_jaxpr.tracing.options import read_options
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import ErrorKind
from sphinx_jaxpr.worker.failures import RequestError, describe, hint_of
from sphinx_jaxpr.worker.recorder import DependencyRecorder
from sphinx_jaxpr.worker.stage import Stage
from sphinx_jaxpr.worker.tracer import Tracer
from tests.worker import factories, factory_helpers

MODULE = factories.__name__
HELPERS = factory_helpers.__name__
GRADS = "grads={w: f32[3]}, state=init({w: f32[3]})"


@pytest.fixture(scope="module")
def tracer() -> Tracer:
    return Tracer(DependencyRecorder("/nowhere"), [])


def request(target: str, allowed: tuple[str, ...] = (), **texts: str) -> Request:
    options = read_options(**texts)
    assert not options.problems, options.problems
    wanted = options.request(target if ":" in target else f"{MODULE}:{target}", allowed=allowed)
    if options.transforms:
        wanted = wanted.variant(options.transforms[0], {})
    again = Request.from_json(wanted.to_json())
    assert (again, again.digest) == (wanted, wanted.digest)
    return wanted


def trace(tracer: Tracer, wanted: Request) -> dict[str, Any]:
    return tracer.trace(wanted, tracer.prepare(wanted, lambda module: None)).to_json()


def stage_of(tracer: Tracer, wanted: Request) -> Stage:
    return tracer._stage(wanted, *tracer.prepare(wanted, lambda module: None))


def refused(tracer: Tracer, wanted: Request) -> RequestError:
    with pytest.raises(RequestError) as caught:
        trace(tracer, wanted)
    return caught.value


CALLS = [
    ("momentum", {"make": "0.1", "then": "update", "args": GRADS}, "momentum(0.1).update"),
    (
        "momentum",
        {"make": "rate=0.1, act=jnp.tanh", "then": "update", "args": GRADS},
        "momentum(rate=0.1, act=jax.numpy.tanh).update",
    ),
    (
        "momentum",
        {"make": "0.1", "then": "update", "args": GRADS, "transforms": "vmap(axis_name=made)"},
        'jax.vmap(momentum(0.1).update, in_axes=(0, None), axis_size=8, axis_name="made")',
    ),
    (
        "momentum",
        {"make": "0.1", "then": "update", "args": GRADS, "transforms": "grad"},
        "(lambda made: jax.grad(lambda grads, state:"
        " sum(leaf.sum() for leaf in jax.tree.leaves(made.update(grads, state)))))(momentum(0.1))",
    ),
    ("momentum", {"make": "0.1", "then": "init", "args": "{w: f32[3]}"}, "momentum(0.1).init"),
    ("pair", {"make": "3", "then": "1", "args": "f32[2]"}, "pair(3)[1]"),
    ("plain", {"make": "()", "args": "f32[2]"}, "plain()"),
    ("Dense", {"make": "4", "args": "f32[8]"}, "Dense(4)"),
    ("Dense", {"make": "4", "then": "apply", "args": "f32[8]"}, "Dense(4).apply"),
    (
        "Dense",
        {"make": "4, key=jax.random.key(0)", "args": "f32[8]"},
        "Dense(4, key=jax.random.key(0))",
    ),
    (
        "activated",
        {"static": "act=jax.nn.relu", "args": "x=f32[3]"},
        "lambda x: activated(x, jax.nn.relu)",
    ),
    (
        "activated",
        {"static": f"act={HELPERS}:doubled", "args": f"x={HELPERS}:SHAPE"},
        f"lambda x: activated(x, {HELPERS}.doubled)",
    ),
    (
        "model",
        {"static": "weights=Dense(4)", "args": "x=f32[8]"},
        "(lambda weights: lambda x: model(x, weights))(Dense(4))",
    ),
    (
        "Dense.apply",
        {"static": f"self={HELPERS}:dense", "args": "x=f32[8]"},
        f"lambda x: Dense.apply({HELPERS}.dense, x)",
    ),
    # What a call returns is a constant, also where the call that is shown is traced.
    (
        "scaled",
        {"static": "weights=jnp.ones((3,))", "args": "x=f32[3]", "transforms": "grad"},
        "(lambda weights: jax.grad(lambda x: scaled(x, weights).sum()))(jax.numpy.ones((3,)))",
    ),
    # Words of the call that names of the page, or texts in it, repeat.
    ("reader", {"make": "()", "then": "made", "args": "f32[2]"}, "reader().made"),
    (
        "reader",
        {"make": "()", "then": "made", "args": "f32[2]", "transforms": 'vmap(axis_name="a made")'},
        'jax.vmap(reader().made, in_axes=0, axis_size=8, axis_name="a made")',
    ),
    (
        "activate",
        {"args": "x=Optimizer(f32[3], jnp.tanh), whole_x=f32[3]"},
        "(lambda whole_x_: lambda x, whole_x: activate(jax.tree.map(lambda leaf, kept: kept if leaf"
        " is None else leaf, x, whole_x_, is_leaf=lambda leaf: leaf is None), whole_x))"
        "(Optimizer(jax.numpy.zeros((3,), 'float32'), jax.numpy.tanh))",
    ),
]


@pytest.mark.parametrize(("target", "texts", "call"), CALLS)
def test_the_shown_call_runs(tracer: Tracer, target: str, texts: dict[str, str], call: str) -> None:
    wanted = request(target, **texts)
    result = trace(tracer, wanted)
    assert result["call"] == call
    # The call is our own text, made by the code under test.
    names = {"jax": jax, "tests": __import__(HELPERS), **vars(factories)}
    function = eval(result["call"], names)  # noqa: S307 - that the call shown runs is tested
    by_hand = mask(str(jax.make_jaxpr(function)(*stage_of(tracer, wanted).args)))
    assert by_hand == result["text"]


def test_the_source_is_that_of_what_is_traced(tracer: Tracer) -> None:
    result = trace(tracer, request("momentum", make="0.1", then="init", args="{w: f32[3]}"))
    assert result["source"]["text"].startswith("def init(params):")


def test_each_request_makes_its_own_object(tracer: Tracer) -> None:
    """``Dense`` counts its calls, and multiplies by their number."""
    base = request("Dense", make="4", args="f32[8]")
    variant = request("Dense", make="4", args="f32[8]", transforms="jit")
    texts = [trace(tracer, each)["text"] for each in (base, variant, base)]
    assert texts[0] == texts[2]
    assert all("mul" in text and "1.0" in text for text in texts)
    held = request("model", static="weights=Dense(4)", args="x=f32[8]")
    assert trace(tracer, held)["text"] == trace(tracer, held)["text"]
    assert not held.is_shareable


def test_static_binds_arguments_of_what_was_made(tracer: Tracer) -> None:
    texts = {"make": "0.1", "then": "update", "args": "grads={w: f32[3]}"}
    wanted = request("momentum", **texts, static="state={trace: 0.0, count: 0}, params=None")
    call = "lambda grads: made.update(grads, {'trace': 0.0, 'count': 0}, None)"
    assert trace(tracer, wanted)["call"] == f"(lambda made: {call})(momentum(0.1))"


REFUSED = [
    ("momentum", {"make": "0.1"}, "make", "name one of its functions, as in then: init or then: "),
    (
        "momentum",
        {"make": "()"},
        "make",
        "missing a required argument: 'rate'; momentum takes rate",
    ),
    ("momentum", {"make": "0.1, rat=2"}, "make", "unexpected keyword argument 'rat'"),
    ("momentum", {"make": "0.1, act=jnp.tahn"}, "make", "make: act: module 'jax.numpy' has no"),
    ("momentum", {"make": "0.1", "then": "updat"}, "then", "did you mean 'update'?"),
    ("momentum", {"make": "0.1", "then": "go"}, "then", "its functions: init, update"),
    ("momentum", {"make": "0.1", "then": "rate"}, "then", "momentum(0.1).rate is of type float"),
    ("pair", {"make": "3"}, "make", "as in then: 0 or then: 1"),
    ("pair", {"make": "3", "then": "2"}, "then", "without a position 2"),
    ("five", {"make": "()"}, "make", "five() is of type int, which can't be called"),
    ("five", {"make": "nowhere:x"}, "make", "make: no module 'nowhere'"),
    ("plain", {"make": "()", "static": "x=nowhere:x"}, "static", "static: no module 'nowhere'"),
    ("momentum", {"make": f"{HELPERS}:nothing"}, "make", f"module '{HELPERS}' has no attribute"),
]


@pytest.mark.parametrize(("target", "texts", "option", "says"), REFUSED)
def test_what_is_refused(
    tracer: Tracer, target: str, texts: dict[str, str], option: str, says: str
) -> None:
    error = refused(tracer, request(target, **texts))
    assert (error.report.kind, error.report.option) == ("option", option)
    assert says in str(error), str(error)


@pytest.mark.parametrize("texts", [{"make": "3"}, {"static": "n=broken(3)"}])
def test_an_exception_of_a_factory_is_one_of_its_option(
    tracer: Tracer, texts: dict[str, str]
) -> None:
    target = "broken" if "make" in texts else "pair"
    with pytest.raises(ValueError, match="no 3") as caught:
        trace(tracer, request(target, **texts))
    report = describe(caught.value, ErrorKind.TRACE, "/nowhere")
    assert report.option in texts
    assert "broken(3) raised it" in report.hint
    assert report.frames[-1].function == "broken"


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("momentum.update", "target {}:momentum, make: rate=... and then: update"),
        ("Dense.kernel", "it is a class: for 'kernel' of what it returns"),
        ("plain.a.b", "target {}:plain, make: () and then: a.b"),
    ],
)
def test_an_attribute_of_a_factory(tracer: Tracer, target: str, says: str) -> None:
    assert says.format(MODULE) in str(refused(tracer, request(target)))


@pytest.mark.parametrize(
    ("target", "texts", "hint"),
    [
        ("momentum", {"args": "0.1"}, "make: 0.1 and then: init or update"),
        ("momentum", {"static": "rate=0.1"}, "make: rate=0.1 and then: init or update"),
        ("pair", {"args": "f32[3]"}, "make: with its arguments and then: 0 or 1"),
        ("plain", {}, "make: ()"),
        ("plain", {"transforms": "vmap"}, ""),
    ],
)
def test_a_factory_that_is_traced(
    tracer: Tracer, target: str, texts: dict[str, str], hint: str
) -> None:
    with pytest.raises((TypeError, RequestError)) as caught:
        trace(tracer, request(target, **texts))
    assert hint_of(caught.value).endswith(hint) or not hint
    assert bool(hint_of(caught.value)) == bool(hint)


def test_a_factory_without_its_arguments(tracer: Tracer) -> None:
    error = refused(tracer, request("momentum"))
    assert "to trace one, write make: rate=... and then: init or update" in str(error)


def test_no_message_names_a_line_of_the_product(tracer: Tracer) -> None:
    with pytest.raises(TypeError, match="returned a value of type") as caught:
        trace(tracer, request("momentum", static="rate=0.1"))
    folder = re.sub(r"worker/stage\.py$", "", Stage.of.__code__.co_filename)
    assert folder in str(caught.value)
    report = describe(caught.value, ErrorKind.TRACE, folder)
    assert report.message.startswith("function <lambda> traced for jit returned")


# -- under jaxpr_allowed_modules


def test_what_is_made_obeys_the_allowed_modules(tracer: Tracer) -> None:
    texts = {"make": "0.1", "then": "update", "args": GRADS}
    assert trace(tracer, request("momentum", (MODULE,), **texts))["text"]
    texts["make"] = "0.1, act=jax.nn.relu"
    assert trace(tracer, request("momentum", (MODULE,), **texts))["text"]
    texts["make"] = f"0.1, act={HELPERS}:doubled"
    assert "outside jaxpr_allowed_modules" in str(
        refused(tracer, request("momentum", (MODULE,), **texts))
    )
    assert trace(tracer, request("momentum", (MODULE, HELPERS), **texts))["text"]
    key = {"make": "4, key=jax.random.key(0)", "args": "f32[8]"}
    assert "jaxpr_allowed_modules" in str(refused(tracer, request("Dense", (MODULE,), **key)))
    assert trace(tracer, request("Dense", (MODULE, "jax.random"), **key))["text"]
    for then in ("__init__.__globals__", "__class__", "apply.__func__"):
        wanted = request("Dense", (MODULE,), make="4", then=then)
        assert "jaxpr_allowed_modules" in str(refused(tracer, wanted))


@pytest.mark.parametrize(
    ("target", "texts"),
    [
        ("builtins:eval", {"make": "'lambda x: x'", "args": "f32[2]"}),
        ("builtins:exec", {"static": "0='print(1)'"}),
        ("activated", {"static": "act=builtins:eval('lambda x: x')", "args": "x=f32[2]"}),
        ("activated", {"static": "act=functools:partial(builtins:eval)", "args": "x=f32[2]"}),
        ("activated", {"args": "x=builtins:compile('1', 'a', 'eval'), act=f32[2]"}),
    ],
)
def test_no_text_of_a_page_is_evaluated(tracer: Tracer, target: str, texts: dict[str, str]) -> None:
    assert "evaluates a text; the code of a page goes in jaxpr-code" in str(
        refused(tracer, request(target, **texts))
    )


REFUSED = [
    # Names that modules have by convention alone.
    ("jnp:tanh", {"args": "f32[2]"}, "no module 'jnp'; write jax.numpy"),
    ("lax.linalg:svd", {"args": "f32[2,2]"}, "no module 'lax'; write jax.lax.linalg"),
    (
        "activated",
        {"args": "f32[2]", "static": "act=jnp:tanh"},
        "static: no module 'jnp'; write jax.numpy",
    ),
    # What an argument is made of, if it can't be traced.
    (
        "model",
        {"args": f"x=f32[2], weights={HELPERS}:dense"},
        f"args: '{HELPERS}:dense' is of type Dense, which JAX can't trace; give it in static",
    ),
    (
        "model",
        {"args": "x=f32[2], weights=plain()"},
        "args: weights: plain returns a function, not arrays; an argument that isn't traced goes in"
        " static",
    ),
]


@pytest.mark.parametrize(("target", "texts", "message"), REFUSED)
def test_messages_name_the_nearest_right_thing(
    tracer: Tracer, target: str, texts: dict[str, str], message: str
) -> None:
    assert str(refused(tracer, request(target, **texts))) == message


def test_a_part_that_a_page_may_not_have_is_named(tracer: Tracer) -> None:
    wanted = request("momentum", (MODULE,), make="0.1", then="init.__globals__", args="f32[3]")
    message = str(refused(tracer, wanted))
    assert message.startswith("then: '__globals__' uses '__globals__'")
    assert message.endswith("; it is a part of momentum(0.1).init")


def test_numbers_in_objects_are_traced_too(tracer: Tracer) -> None:
    wanted = request("gated", args="state=Optimizer(f32[2], None, True), x=f32[2]")
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        trace(tracer, wanted)
    assert hint_of(caught.value) == (
        "state.rate is traced, like each number and flag of an object in args; to keep it as it"
        " is, give the object in static"
    )
