"""Arguments keep what JAX knows of them: programs are those of a direct ``jax.make_jaxpr``."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from sphinx_jaxpr.tracing import grammar
from sphinx_jaxpr.tracing.masking import mask
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.worker.avals import mesh_of, under
from sphinx_jaxpr.worker.failures import RequestError, hint_of
from sphinx_jaxpr.worker.recorder import DependencyRecorder
from sphinx_jaxpr.worker.stage import Stage
from sphinx_jaxpr.worker.tracer import Tracer
from tests.worker import special
from tests.worker.special import X, on

OLD = jax.__version_info__ < (0, 10)


@pytest.fixture(scope="module")
def tracer() -> Tracer:
    return Tracer(DependencyRecorder("/nowhere"), [])


def request(
    target: str, args: str = "", transforms: str = "", static: str = "", mesh: str = "", **more: Any
) -> Request:
    chains = grammar.transforms(transforms)
    found = Request(
        f"{special.__name__}:{target}",
        grammar.arguments(args),
        grammar.static(static),
        chains[0].steps if chains else (),
        mesh=grammar.mesh(mesh),
        **more,
    )
    assert Request.from_json(found.to_json()).digest == found.digest
    return found


def trace(tracer: Tracer, wanted: Request) -> tuple[dict[str, Any], Stage]:
    found = tracer.prepare(wanted, lambda module: None)
    result = tracer.trace(wanted, found).to_json()
    with tracer._mesh(wanted, found[1]):
        return result, tracer._stage(wanted, *found)


def by_hand(call: str, stage: Stage, mesh: Any = None) -> str:
    """The shown call, run as a reader would, traced directly."""
    # The call is our own text, made by the code under test.
    fn = eval(call, {"jax": jax, "jnp": jnp, **vars(special)})  # noqa: S307 - that the call shown runs is tested
    with under(mesh):
        return mask(str(jax.make_jaxpr(fn)(*stage.args)))


def value(name: str) -> Any:
    found = getattr(special, name)
    return found() if inspect.isfunction(found) else found


def array(*shape: int, dtype: Any = jnp.float32, sharding: Any = None) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


# The target, what the page says of its arguments, and what a direct call is given.
KEPT: list[tuple[str, str, Callable[[], tuple[Any, ...]]]] = [
    *(
        (target, name, functools.partial(lambda name: (value(name),), name))
        for target, name in [
            ("turn", "X"),
            ("turn", "BOTH"),
            ("turn", "HALF"),
            ("turn", "AUTO"),
            ("turn", "PLACED"),
            ("turn", "SYMBOLIC"),
            ("double", "REDUCED"),
            ("plain", "WIDE"),
            ("plain", "LOOKS"),
            ("leaves", "TREE"),
            ("leaves", "PAIR"),
            ("draw", "KEY"),
            ("draws", "KEYS"),
            ("read", "make_ref"),
            ("read", "SHARED"),
            ("read", "make_sharded_ref"),
            ("swap_refs", "make_refs"),
            ("plain", "make_host"),
            ("plain", "INF"),
            ("leaves", "INFINITE"),
        ]
    ),
    ("turn", "make_jitted", lambda: (array(2, 3),)),
    ("turn", "make_partial", lambda: (array(2, 5),)),
    ("turn", "maker", lambda: (array(2, 7),)),
    ("call", "PARTIAL", lambda: (special.PARTIAL,)),
    ("draws", "key<fry>[4]", lambda: (special.KEYS,)),
    ("bump", "make_ref, x=f32[3]", lambda: (special.make_ref(), array(3))),
    ("cast", "WEAK, y=bf16[3]", lambda: (special.WEAK, array(3, dtype=jnp.bfloat16))),
    ("cast", "X, 2", lambda: (X, 2)),
    ("unused", "ZERO, 2.0", lambda: (special.ZERO, 2.0)),
    ("cast", "X, f32[4@a,8@b]", lambda: (X, array(4, 8, sharding=on("a", "b")))),
    ("two_refs", "make_ref, make_ref", lambda: (special.make_ref(), special.make_ref())),
    ("two_refs", "Ref{f32[3]}, make_ref", lambda: (special.make_ref(), special.make_ref())),
    ("read", "Ref{f32[3]}", lambda: (special.make_ref(),)),
    ("swap_refs", "{one: Ref{f32[3]}, two: Ref{bf16[2,2]}}", lambda: (special.make_refs(),)),
    ("plain", "f32<host>[4]", lambda: (special.make_host(),)),
    ("plain", "1e999", lambda: (float("inf"),)),
    ("plain", "-inf", lambda: (float("-inf"),)),
    ("plain", "nan", lambda: (float("nan"),)),
    ("plain", "-1e999j", lambda: (complex("-1e999j"),)),
    ("leaves", "{a: [(1e400, 2)], b: nan}",
     lambda: ({"a": [(float("inf"), 2)], "b": float("nan")},)),
]  # fmt: skip


def _named(item: object) -> str:
    return "direct" if callable(item) else str(item)[:40]


@pytest.mark.parametrize(("target", "args", "direct"), KEPT, ids=_named)
def test_the_program_is_that_of_a_direct_call(
    tracer: Tracer, target: str, args: str, direct: Callable[[], tuple[Any, ...]]
) -> None:
    result, stage = trace(tracer, request(target, args))
    assert result["text"] == mask(str(jax.make_jaxpr(getattr(special, target))(*direct())))
    assert by_hand(result["call"], stage) == result["text"]
    json.dumps(result, allow_nan=False)


@pytest.mark.skipif(OLD, reason="JAX 0.7 has no rule for unreduced values")
def test_unreduced(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("flip", "UNREDUCED"))
    assert result["text"] == str(jax.make_jaxpr(special.flip)(special.UNREDUCED))
    assert result["args"] == [["x", "f32[4@a,8]{U:b}"]]


def test_types_are_described_as_jaxprs_print_them(tracer: Tracer) -> None:
    for args, shown in [
        ("X", "f32[4@a,8@b]"),
        ("BOTH", "bf16[8@(a,b),16]"),
        ("make_ref", "Ref{f32[3]}"),
        ("make_host", "f32<host>[4]"),
        ("KEYS", "key<fry>[4]"),
        ("SYMBOLIC", "f32[n,8]"),
    ]:
        found = jax.make_jaxpr(lambda x: None)(value(args))
        assert f"a:{shown}. let" in str(found)
        result, _ = trace(tracer, request("nothing", args))
        assert result["args"] == [["x", shown]]


UNDER = [
    ("spread", "f32[4,8]", "", lambda: (array(4, 8),)),
    ("spread", "f32[4,8@b]", "", lambda: (array(4, 8, sharding=on(None, "b")),)),
    ("turn", "f32[8@(a,b),16]", "", lambda: (array(8, 16, sharding=on(("a", "b"), None)),)),
    ("contract", "f32[4@a,8], f32[6,8]", "", lambda: (array(4, 8, sharding=on("a")), array(6, 8))),
    ("zeros", "f32[4@a,8]", "", lambda: (array(4, 8, sharding=on("a", None)),)),
    ("read", "Ref{f32[4@a,8]}", "", None),
    ("plain", "make_host", "", None),
    ("spread", "f32[4,8]", "grad", None),
    ("spread", "f32[4,8]", "jit | vmap(axis_size=3)", None),
    ("turn", "f32[4@a,8@b]", "vmap(axis_size=6) | grad", None),
    ("turn", "f32[4@a,8@b]", "vjp", None),
    ("turn", "f32[4@a,8@b]", "jvp | jit", None),
    ("turn", "X", "linearize", None),
    ("double", "f32[4@a,8@b]", "scan", None),
]


@pytest.mark.parametrize("mesh", ['{a: 2, "b": 2}, axis_types="Explicit"', "MESH"])
@pytest.mark.parametrize(("target", "args", "chain", "direct"), UNDER)
def test_under_a_mesh(
    tracer: Tracer, target: str, args: str, chain: str, direct: Any, mesh: str
) -> None:
    wanted = request(target, args, chain, mesh=mesh)
    result, stage = trace(tracer, wanted)
    assert by_hand(result["call"], stage, special.MESH) == result["text"]
    if direct is not None:
        with under(special.MESH):
            jaxpr = jax.make_jaxpr(getattr(special, target))(*direct())
        assert result["text"] == mask(str(jaxpr))
    assert jax.sharding.get_abstract_mesh().empty


@pytest.mark.skipif(OLD, reason="JAX 0.7 sees no abstract mesh in with_sharding_constraint")
def test_constraints_under_an_auto_mesh(tracer: Tracer) -> None:
    result, stage = trace(tracer, request("constrain", "f32[4,8]", mesh="{a: 2}"))
    mesh = mesh_of(grammar.Mesh((("a", 2),), ("Auto",)))
    assert "sharding_constraint[" in result["text"]
    assert by_hand(result["call"], stage, mesh) == result["text"]


def test_shard_map_runs_under_the_mesh_of_the_option(tracer: Tracer) -> None:
    for kind in ("Auto", "Explicit"):
        mesh = f'{{a: 2}}, axis_types="{kind}"'
        spec = "f32[4@a,8]" if kind == "Explicit" else "f32[4,8]"
        result, stage = trace(tracer, request("over", spec, "shard_map(out_specs=None)", mesh=mesh))
        assert result["call"] == "jax.shard_map(over, in_specs=(" + (
            "jax.P('a', None),), out_specs=jax.P())"
            if kind == "Explicit"
            else "jax.P('a'),), out_specs=jax.P())"
        )
        assert by_hand(result["call"], stage, mesh_of(grammar.mesh(mesh))) == result["text"]
        assert f"'a': 2, axis_types=({kind},)" in result["text"]
    with pytest.raises(RequestError, match="is not the one of the option mesh"):
        trace(tracer, request("over", "f32[4,8]", "shard_map(mesh={a: 4})", mesh="{a: 2}"))


def test_mapped_arguments_keep_what_they_are(tracer: Tracer) -> None:
    for target, args, chain in [
        ("read", "make_ref", "vmap(axis_size=5)"),
        ("plain", "make_host", "vmap(axis_size=5)"),
        ("weigh", "make_ref, x=f32[3]", "grad(argnums=x)"),
        ("bump", "Ref{f32[3]}, x=f32[3]", "jit"),
        ("draws", "KEYS", "jit"),
        ("plain", "make_host", "vjp"),
    ]:
        result, stage = trace(tracer, request(target, args, chain))
        assert by_hand(result["call"], stage) == result["text"]
    result, _ = trace(tracer, request("read", "make_ref", "vmap(axis_size=5)"))
    assert result["args"] == [["ref", "Ref{f32[5,3]}"]]


@pytest.mark.parametrize(
    "args", ["X", "make_ref", "make_host", "KEYS", "PAIR", "WEAK", "{a: [inf]}", "f32[3]"]
)
def test_a_registered_transform_is_shown_the_arguments(tracer: Tracer, args: str) -> None:
    """The call names its arguments: each is source that makes the same type."""
    others = {"make_ref": "read", "KEYS": "draws", "PAIR": "leaves", "{a: [inf]}": "nothing"}
    target = others.get(args, "plain")
    result, stage = trace(tracer, request(target, args, "own", third_party=OWN))
    assert by_hand(result["call"], stage) == result["text"]


@pytest.mark.parametrize("chain", ["own", "vmap | own", "own | jit | own"])
@pytest.mark.parametrize(
    "args", ["NODE", "make_node", "ORDERED", "DEFAULTS", "{a: [NODE, 1.0], b: PAIR}", "PARTIAL"]
)
def test_trees_without_a_literal_are_shown_by_their_leaves(
    tracer: Tracer, args: str, chain: str
) -> None:
    result, stage = trace(tracer, request("leaves", args, chain, third_party=OWN))
    assert by_hand(result["call"], stage) == result["text"]


@pytest.mark.parametrize("args", ["Level.LOW", "WIDE", "ZERO", "(Level.LOW, nan)"])
def test_numbers_of_other_classes_are_shown_by_their_types(tracer: Tracer, args: str) -> None:
    result, stage = trace(tracer, request("nothing", args, "own", third_party=OWN))
    assert by_hand(result["call"], stage) == result["text"]


@pytest.mark.parametrize(
    ("target", "args"),
    [
        *[("read", "Ref{f32[4@a,8]}"), ("read", "Ref{f32[4]}"), ("plain", "f32<host>[4]")],
        *[("draws", "key<fry>[2]"), ("plain", "f32[4@a]")],
    ],
)
def test_shown_arguments_need_no_devices(tracer: Tracer, target: str, args: str) -> None:
    wanted = request(target, args, "own", mesh="MESH", third_party=OWN)
    result, stage = trace(tracer, wanted)
    assert by_hand(result["call"], stage, special.MESH) == result["text"]


OWN = (("own", f"{special.__name__}:doubled"),)

REFUSED = [
    ("plain", "f32[4@a,8]", "", 'add the option mesh: {a: 2}, axis_types="Explicit"'),
    ("plain", "f32[4@c,8]", "MESH", "'c', which is not an axis of the mesh"),
    ("plain", "x=f32[5@a]", "MESH", "x: 2 shards do not divide dimension 0 of f32[5@a]"),
    ("plain", "f32[4@a]", "{a: 2}", "which is Auto: types name Explicit axes only"),
    ("plain", "Ref{f32[3@a]}", "", "is split over a mesh, but there is none"),
    ("plain", "f32[4]", "MASH", "mesh: MASH: module 'tests.worker.special' has no attribute"),
    ("plain", "f32[4]", "INF", "mesh names a float"),
    ("two_refs", "SHARED, SHARED", "", "one and two would get one Ref twice"),
    ("plain", "f32", "", "has no attribute 'f32'; for the value, write f32[]"),
    ("plain", "infinity", "", "; for the value, write inf"),
    ("leaves", "(SHARED, SHARED)", "", "tree would get one Ref twice"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "args", "mesh", "part"), REFUSED)
def test_refused(tracer: Tracer, target: str, args: str, mesh: str, part: str) -> None:
    with pytest.raises(RequestError) as caught:
        trace(tracer, request(target, args, mesh=mesh))
    assert part in str(caught.value)


def test_a_gradient_of_nothing_says_so(tracer: Tracer) -> None:
    for name in ("grad", "value_and_grad", "hessian"):
        with pytest.raises(RequestError, match="returns nothing that can be differentiated"):
            trace(tracer, request("nothing", "f32[3]", name))


# -- what is passed by position --------------------------------------------------------

M = special.MLP
F = functools.partial(array)
CALLED: list[tuple[str, str, str, str, Callable[..., Any]]] = [
    ("filtered", "x=f32[3]", "m=MLP", "lambda x: filtered(MLP, x)",
     lambda x: special.filtered(M, x)),
    ("filtered", "f32[3]", "0=MLP", "lambda x: filtered(MLP, x)", lambda x: special.filtered(M, x)),
    ("by_second", "x=f32[]", "n=3", "lambda x: by_second(3, x)",
     lambda x: special.by_second(3, x)),
    ("mapped", "x=f32[4,5]", "w=W", "lambda x: mapped(W, x)",
     lambda x: special.mapped(special.W, x)),
    ("silent", "x=f32[4,4]", "w=W", "lambda x: silent(W, x)",
     lambda x: special.silent(special.W, x)),
    ("silent", "f32[4,4]", "0=W", "lambda x: silent(W, x)",
     lambda x: special.silent(special.W, x)),
    ("silent", "w=f32[4,4]", "1=W", "lambda w: silent(w, W)",
     lambda w: special.silent(w, special.W)),
    ("sharded", "x=f32[4,4]", "w=W", "lambda x: sharded(W, x)",
     lambda x: special.sharded(special.W, x)),
    ("vectorized", "x=f32[2]", "n=3", "lambda x: vectorized(3, x)",
     lambda x: special.vectorized(3, x)),
    ("checked", "x=f32[2]", "flag=True", "lambda x: checked(x, True)",
     lambda x: special.checked(x, True)),
    ("checked", "x=f32[2]", "1=False", "lambda x: checked(x, False)",
     lambda x: special.checked(x, False)),
    ("jitted", "x=f32[2]", "1=3", "lambda x: jitted(x, 3)", lambda x: special.jitted(x, 3)),
    ("spread_out", "f32[1,3]", "1=3", "lambda x: spread_out(x, 3)",
     lambda x: special.spread_out(x, 3)),
    ("named", "x=f32[2]", "n=3", "lambda x: named(x, 3)", lambda x: special.named(x, n=3)),
    ("scaled", "x=f32[2]", "n=3.0", "lambda x: scaled(x, 3.0)", lambda x: special.scaled(x, 3.0)),
    ("unsigned", "f32[2]", "0=3", "lambda args1: unsigned(3, args1)",
     lambda x: special.unsigned(3, x)),
    ("keywords", "x=f32[4]", "w=W", "lambda x: keywords(w=W, x=x)",
     lambda x: special.keywords(w=special.W, x=x)),
    ("given", "f32[4]", "", "given", lambda x: special.given(x)),
    ("given_jitted", "x=f32[4]", "", "given_jitted", lambda x: special.given_jitted(x)),
    ("given_loosely", "f32[4]", "", "given_loosely", lambda x: special.given_loosely(x)),
    ("given_loosely", "f32[4]", "n=3", "lambda w: given_loosely(w, n=3)",
     lambda x: special.given_loosely(x, n=3)),
    ("summed", "f32[2], f32[2], rest0=f32[2]", "",
     "lambda x, rest0_, rest0: summed(x, rest0_, rest0=rest0)",
     lambda x, y, z: special.summed(x, y, rest0=z)),
    ("starred", "f32[2], f32[2]", "z=2", "lambda x, rest0: starred(x, rest0, z=2)",
     lambda x, y: special.starred(x, y, z=2)),
    ("starred", "f32[2], f32[2]", "1=5, z=2", "lambda x, rest1: starred(x, 5, rest1, z=2)",
     lambda x, y: special.starred(x, 5, y, z=2)),
    ("late", "x=f32[2], k=f32[]", "", "lambda x, k: late(x, k=k)",
     lambda x, k: special.late(x, k=k)),
    ("late", "x=f32[2], other=f32[]", "n=3", "lambda x, other: late(x, 3, other=other)",
     lambda x, o: special.late(x, 3, other=o)),
    ("late", "x=f32[2], lambda=f32[]", "", "lambda x, lambda_: late(x, **{'lambda': lambda_})",
     lambda x, o: special.late(x, o=o)),
    ("first", "x=f32[2]", "z=3.0", "lambda x: first(x, z=3.0)", lambda x: special.first(x, z=3.0)),
    ("hides", "W=f32[2]", "w=W", "lambda W_: hides(W_, W)",
     lambda x: special.hides(x, special.W)),
    ("fill", "x=f32[2]", "low=-inf", 'lambda x: fill(x, float("-inf"))',
     lambda x: special.fill(x, -float("inf"))),
    ("fill", "x=f32[2]", "low=INF", "lambda x: fill(x, INF)",
     lambda x: special.fill(x, float("inf"))),
    ("shifted", "x=f32[2]", "by=1e999j", 'lambda x: shifted(x, complex(0.0, float("inf")))',
     lambda x: special.shifted(x, complex(0.0, float("inf")))),
    ("nested", "x=f32[2]", "limits={low: -1e999, high: (nan, 1)}",
     """lambda x: nested(x, {'low': float("-inf"), 'high': (float("nan"), 1)})""",
     lambda x: special.nested(x, {"low": -float("inf"), "high": (float("nan"), 1)})),
]  # fmt: skip


@pytest.mark.parametrize(("target", "args", "static", "call", "direct"), CALLED)
def test_positions_stay_positions(
    tracer: Tracer, target: str, args: str, static: str, call: str, direct: Callable[..., Any]
) -> None:
    result, stage = trace(tracer, request(target, args, static=static))
    assert result["call"] == call
    assert by_hand(call, stage) == result["text"]
    assert mask(str(jax.make_jaxpr(direct)(*stage.args))) == result["text"]


GAPS = [
    ("starred", "f32[2]", "2=5", "'rest1' of starred(x, *rest, z=1) is passed by position"),
    ("late", "f32[2]", "4=3", "static position 4: late(x, n=2, *, k=1.0, **named) takes 2"),
    ("late", "f32[2]", "999999999=3", "static position 999999999: late("),
    ("named", "f32[2]", "1=3, n=3", "static gives 'n' by position and by name"),
    ("starred", "f32[2], rest=f32[2]", "", "args names 'rest', which is not a parameter"),
    ("late", "f32[2]", "2=3", "takes 2 positional arguments; give others by name, as in k=3"),
    ("keywords", "f32[4]", "w=W",
     "args has 1 spec, but keywords(*, w, x, n=2, limits=...) takes 0 positional arguments"),
    ("given", "f32[4]", "n=3", "static names 'n', which is not a parameter of given(x)"),
    ("given_loosely", "", "", "no spec for 'w', 'x' of given_loosely(w, x, n=2, *, limits=...)"),
    ("scaled_layer", "f32[4,4]", "", "no spec for 'x' of scaled_layer(w, x, n=2, *, limits=...)"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "args", "static", "part"), GAPS)
def test_what_no_call_can_say_is_refused(
    tracer: Tracer, target: str, args: str, static: str, part: str
) -> None:
    with pytest.raises(RequestError) as caught:
        trace(tracer, request(target, args, static=static))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("target", "args", "hint"),
    [
        ("named", "x=1.0, n=3", "in static: x=1.0, n=3"),
        ("named", "x=f32[2], n=3", "in static: n=3"),
        ("jitted", "f32[2], 3", "in static: 1=3"),
        ("shaped", "x=f32[2,3], shape=(2, 3)", "in static: shape=(2, 3)"),
        ("scaled", "x=f32[2], n=3", "in static: n=3"),
        ("checked", "x=f32[2], flag=1", "in static: flag=1"),
        ("cut", "x=f32[4], n=2", "in static: n=2"),
        ("repeated", "x=f32[4], n=2", "in static: n=2"),
        ("counted", "x=f32[4], n=2", "in static: n=2"),
        ("chosen", "x=f32[4], n=2", "in static: n=2"),
        ("named", "x=f32[2], n=f32[]", "args are traced; give what must not be in static"),
    ],
)
def test_a_static_argument_in_args_gets_a_hint(
    tracer: Tracer, target: str, args: str, hint: str
) -> None:
    with pytest.raises(Exception) as caught:
        trace(tracer, request(target, args))
    assert hint_of(caught.value).endswith(hint)


def test_other_errors_get_no_hint(tracer: Tracer) -> None:
    with pytest.raises(TypeError) as caught:
        trace(tracer, request("layer", "f32[2,3], f32[2,3]"))
    assert hint_of(caught.value) == ""


@pytest.mark.parametrize(
    ("target", "chain", "call", "names"),
    [
        ("weight", "", "weight", "x weight"),
        (
            "weight", "grad(argnums=weight)",
            "jax.grad(lambda x, weight_: weight(x, weight_).sum(), argnums=1)", "x weight",
        ),
        ("weight", "vmap(in_axes={weight: 1})",
         "jax.vmap(weight, in_axes=(None, 1), axis_size=8)", "x weight"),
        ("weight", "jvp(argnums=weight) | vmap(in_axes=weight_dot)",
         "jax.vmap(lambda x, weight_, weight_dot: jax.jvp(lambda weight_: weight(x, weight_),"
         " (weight_,), (weight_dot,)), in_axes=(None, None, 0), axis_size=8)",
         "x weight weight_dot"),
        ("total", "scan(carry=jax, over=sum)",
         "lambda sum_, jax_: jax.lax.scan(lambda jax_, sum_: (total(sum_, jax_), None), jax_,"
         " sum_, length=4)[0]", "sum jax"),
    ],
)  # fmt: skip
def test_arguments_keep_their_names_where_the_call_needs_others(
    tracer: Tracer, target: str, chain: str, call: str, names: str
) -> None:
    result, stage = trace(tracer, request(target, "f32[3], f32[3]", chain))
    assert result["call"] == call
    assert [name for name, _ in result["args"]] == names.split()
    assert [argument for argument, _ in result["inputs"]] == names.split()
    assert by_hand(result["call"], stage) == result["text"]


def test_a_renamed_argument_is_proposed_by_its_own_name(tracer: Tracer) -> None:
    wanted = request("weight", "f32[3], f32[3]", "grad(argnums=wieght)")
    with pytest.raises(RequestError, match=r"did you mean 'weight'\? \(arguments: x, weight\)"):
        tracer.trace(wanted, tracer.prepare(wanted, lambda module: None))


def test_a_mesh_from_a_function(tracer: Tracer) -> None:
    result, _ = trace(tracer, request("zeros", "f32[4@a,8]", mesh="make_mesh"))
    assert result["mesh"] == "make_mesh()"
    with under(mesh_of(special.make_mesh())):
        shape = array(4, 8, sharding=NamedSharding(jax.sharding.get_abstract_mesh(), P("a")))
        assert result["text"] == mask(str(jax.make_jaxpr(special.zeros)(shape)))
    with pytest.raises(RequestError, match="mesh: 'turn' takes parameters: name a value, or a"):
        trace(tracer, request("plain", "f32[4]", mesh="turn"))


@pytest.mark.parametrize("chain", ["jvp(argnums=ref)", "jvp(argnums=(ref, x)) | jit"])
def test_the_tangent_of_a_ref_is_another_ref(tracer: Tracer, chain: str) -> None:
    result, stage = trace(tracer, request("weigh", "Ref{f32[3]}, f32[3]", chain))
    assert dict(result["args"])["ref_dot"] == "Ref{f32[3]}"
    assert by_hand(result["call"], stage) == result["text"]


@pytest.mark.parametrize("name", ["grad", "vjp", "jacfwd", "hessian"])
def test_a_ref_is_nothing_to_differentiate_by(tracer: Tracer, name: str) -> None:
    wanted = request("weigh", "Ref{f32[3]}, f32[3]", name)
    found = tracer.prepare(wanted, lambda module: None)
    with pytest.raises(RequestError) as caught:
        tracer.trace(wanted, found)
    assert "with respect to 'ref', which is Ref{f32[3]}; argnums names another argument (x)" in str(
        caught.value
    )
