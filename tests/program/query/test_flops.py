"""Operations and contracted axes: numbers by hand, and where there is none."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from sphinx_jaxpr.program import PathError, evaluate
from sphinx_jaxpr.program.query.derived.formulas import Window, lu

V = jax.ShapeDtypeStruct((8,), jnp.float32)
M = jax.ShapeDtypeStruct((6, 6), jnp.float32)


def layers(w: Any, x: Any) -> Any:
    return jnp.tanh(jnp.tanh(x @ w) @ w).sum()


def sharded(x: Any) -> Any:
    mesh = AbstractMesh((4,), ("data",), axis_types=(AxisType.Auto,))
    spec = PartitionSpec("data")
    body = jax.shard_map(
        lambda x: lax.psum(x * x, "data"), mesh=mesh, in_specs=spec, out_specs=PartitionSpec()
    )
    return body(x)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "layers": (layers, (M, M), 2 * (2 * 6 * 6 * 6 + 36) + 35),
    "called": (jax.jit(layers), (M, M), 2 * (2 * 6 * 6 * 6 + 36) + 35),
    "twice": (lambda x: jax.nn.silu(x) + jax.nn.silu(x), (V,), 5 * 8),
    "loop": (lambda c: lax.fori_loop(0, 5, lambda _, c: c * 2.0, c), (V,), 5 * (8 + 1)),
    "chosen": (lambda x: lax.cond(True, lambda x: x * x + x, jnp.sin, x), (V,), 16),
    "sharded": (sharded, (V,), 2 + 2),  # of one device
    "moved": (lambda x: jnp.flip(x)[2:].reshape(2, 3).T, (V,), 0),
    "cast": (lambda x: lax.convert_element_type(x, jnp.bfloat16), (V,), 8),
    "arranged": (lambda x: lax.sort(x), (V,), 8 * 3),
    "emptied": (lambda x: x[:0].sum(), (V,), 0),
    "summed": (lambda x: lax.cumsum(x), (V,), 7),
    "added": (lambda x: x.at[jnp.array([1, 2])].add(1.0, mode="drop"), (V,), 2),
    "factored": (lambda a: lax.linalg.cholesky(a, symmetrize_input=False), (M,), 72),
    "solved": (lambda a: lax.linalg.triangular_solve(a, a), (M,), 6 * 36),
    "turned": (lambda x: lax.fft(x + 0j, "FFT", (8,)), (V,), 16 + 5 * 8 * 3),
    "halved": (lambda x: lax.fft(x, "RFFT", (8,)), (V,), 5 * 8 * 3 // 2),
}


@cache
def texts() -> dict[str, str]:
    made = {
        name: str(jax.make_jaxpr(function)(*arguments))
        for name, (function, arguments, _) in FUNCTIONS.items()
    }
    made["layers.grad"] = str(jax.make_jaxpr(jax.grad(layers))(M, M))
    made["layers.saved"] = str(jax.make_jaxpr(jax.grad(jax.checkpoint(layers)))(M, M))
    return made


def value(expression: str) -> Any:
    return evaluate(expression, texts()).value


def refused(expression: str, text: str) -> str:
    with pytest.raises(PathError) as error:
        evaluate(expression, {"f": text})
    return error.value.message


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_programs_by_hand(name: str) -> None:
    asked = {"added": 'added.all["scatter-add"].flops', "factored": "factored.all[cholesky].flops"}
    assert value(asked.get(name, f"{name}.flops")) == FUNCTIONS[name][2]


def test_what_recomputation_costs() -> None:
    again = value("layers.saved.flops - layers.grad.flops")
    assert again >= value("sum(e.flops for e in layers[dot_general])")
    assert value("layers.flops == sum(e.flops for e in layers)") is True
    assert value("len({called[jit].flops, called.flops, called[jit].jaxpr.flops})") == 1


def test_contracted_axes() -> None:
    assert value("layers[dot_general][0].contracts == ((1, 0),)") is True
    assert value("(1, 0) in layers[dot_general][0].contracts") is True
    outer = (
        "{ lambda ; a:f32[3] b:f32[4]. let c:f32[3,4] ="
        " dot_general[dimension_numbers=(([], []), ([], []))] a b in (c,) }"
    )
    assert evaluate("f[0].contracts == ()", {"f": outer}).value is True
    assert "is `tanh`; `.contracts` is for `dot_general`" in refused("f[0].contracts", sine("tanh"))
    reduced = sine("reduce_sum[axes=(0,)]", "f32[]")
    assert "the axes that it reduces are `f[0].params[axes]`" in refused("f[0].contracts", reduced)
    assert "contracts" in refused("f[0].contract", sine("tanh"))


def sine(primitive: str, result: str = "f32[8]", operand: str = "f32[8]") -> str:
    """A pasted program of one equation."""
    return f"{{ lambda ; a:{operand}. let b:{result} = {primitive} a in (b,) }}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (sine("eigh"), "`eigh` has no formula"),
        (sine("ffi_call[target_name=x]"), "`ffi_call` has no formula"),
        (sine("pallas_call[jaxpr={ lambda ; x:f32[8]. let  in () }]"), "`pallas_call` has no"),
        (sine("mystery"), "`mystery` has no formula"),
        (sine("sin", "f32[n,8]"), "`sin` has the size `n`, which is not a number"),
        (sine("sin", "token"), "`sin` has the type `token`, without a shape"),
        ("{ lambda ; a. let b = sin a in (b,) }", "a value whose type is not printed"),
        (sine("sort[dimension=3]"), "`sort` has parameters that don't fit its operands"),
        (sine("lu", "f32[]", "f32[]"), "`lu` has parameters that don't fit"),
        (sine("reduce_window_sum[window_dimensions=(0,)]"), "`reduce_window_sum` has parameters"),
        (sine("dot_general[dimension_numbers=(([7], [0]), ([], []))]"), "`dot_general` has para"),
        (sine("sort"), "`sort` has a parameter `dimension` that can't be read"),
        (sine("jit[jaxpr={ ??? }]"), "`jit` has no formula"),
        (
            sine(
                "while[body_jaxpr={ lambda ; c:f32[8]. let d:f32[8] = mul c c in (d,) }"
                " cond_jaxpr={ lambda ; e:f32[8]. let  in (True:bool[],) }]"
            ),
            "`while` takes as many turns as its condition says; one turn is its"
            " `.body_jaxpr.flops`",
        ),
    ],
)
def test_no_number_is_no_guess(text: str, reason: str) -> None:
    for expression in ("f.flops", "f[0].flops"):
        message = refused(expression, text)
        assert message.startswith(f"`{expression}` is unknown: ")
        assert reason in message


def test_a_turn_of_a_loop_has_a_number() -> None:
    text = sine("while[body_jaxpr={ lambda ; c:f32[8]. let d:f32[8] = mul c c in (d,) }]")
    assert evaluate("f[0].body_jaxpr.flops", {"f": text}).value == 8


def test_misspelt_in_a_part_that_is_skipped() -> None:
    text = {"f": sine("sin")}
    assert evaluate("len(f) == 1 or f.flops > f[0].flops", text).value is True
    for expression in ("len(f) or f.flosp", "len(f) or f[0].flosp == 1"):
        assert "`flops`" in refused(expression, sine("sin"))


def test_work_is_bounded() -> None:
    """Programs that call one another twice count twice, and are looked at once."""
    shared = ["let f0 = { lambda ; a:f32[8]. let b:f32[8] = sin a in (b,) } in"]
    for n in range(1, 60):
        call = f"b:f32[8] = jit[jaxpr=f{n - 1}] a; c:f32[8] = jit[jaxpr=f{n - 1}] b"
        shared.append(f"let f{n} = {{ lambda ; a:f32[8]. let {call} in (c,) }} in")
    text = "\n".join([*shared, sine("jit[jaxpr=f59]")])
    assert evaluate("f.flops", {"f": text}).value == 8 * 2**59
    huge = 10**18
    window = "window_strides=(1,) padding=((0, 0),) lhs_dilation=(1,) rhs_dilation=(1,)"
    axes = ", ".join(f"{side}_spec=(0, 1, 2)" for side in ("lhs", "rhs", "out"))
    numbers = f"dimension_numbers=ConvDimensionNumbers({axes})"
    groups = "feature_group_count=1 batch_group_count=1"
    wide = (
        f"{{ lambda ; a:f32[1,1,{huge}] k:f32[1,1,{huge}]. let b:f32[1,1,{huge}] ="
        f" conv_general_dilated[{window} {numbers} {groups}] a k in (b,) }}"
    )
    assert "takes more than" in refused("f.flops", wide)
    assert "has parameters that can't be read" in refused("f.flops", wide.replace("(1,)", "one"))
    deep = sine("sin")
    for _ in range(400):
        deep = f"{{ lambda ; a:f32[8]. let b:f32[8] = jit[jaxpr={deep}] a in (b,) }}"
    assert evaluate("f.flops", {"f": deep}).value == 8


@pytest.mark.parametrize("dilation", [1, 2, 3, 4, 6])
def test_windows_are_those_that_counting_finds(dilation: int) -> None:
    for stride in (1, 2, 3, 4):
        for spread in (1, 2, 5):
            for padding in (-3, 0, 2, 7):
                window = Window(5, 4, 6, stride, padding, dilation, spread)
                starts = [o * stride + k * spread - padding for o in range(6) for k in range(4)]
                met = [s for s in starts if 0 <= s <= 4 * dilation and not s % dilation]
                assert window.products() == len(met)


def test_factorisations() -> None:
    assert lu((6, 6)) == 2 * 6**3 // 3
    assert lu((5, 3, 3)) == 5 * 18
    assert lu((100, 60)) == lu((60, 100))  # what is eliminated, to the leading order
    exact = sum((100 - k) + 2 * (100 - k) * (60 - k) for k in range(1, 61))
    assert abs(lu((100, 60)) / exact - 1) < 0.05
