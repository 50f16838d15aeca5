"""Operands by what they are: from parameters, from programs, and where neither says it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from sphinx_jaxpr.program import PathError, evaluate, judge
from sphinx_jaxpr.program.query.scope import Scope
from tests.program.lesson import block

V = jax.ShapeDtypeStruct((3,), jnp.float32)
ROWS = jax.ShapeDtypeStruct((4, 3), jnp.float32)


@jax.custom_jvp
def ruled(x: Any, y: Any) -> Any:
    return jnp.sin(x) * y


ruled.defjvp(lambda primals, tangents: (ruled(*primals), tangents[0]))


@cache
def texts() -> dict[str, str]:
    """Programs as this JAX prints them: all that a pasted block has."""
    functions: dict[str, tuple[Callable[..., Any], int]] = {
        "loop": (lambda k, c, rows: lax.scan(lambda c, r: (c * k + r, c), c, rows), 2),
        "turns": (lambda c: lax.fori_loop(0, 3, lambda _, c: c * 2.0, c), 1),
        "until": (
            lambda k, c: lax.while_loop(
                lambda c: c[0].sum() < k.sum(), lambda c: (c[0] * k + c[1], c[1] + 1.0), (c, c)
            ),
            2,
        ),
        "chosen": (lambda a, b: lax.cond(a.sum() > 0, lambda a: a * b, jnp.sin, a), 2),
        "rule": (lambda a, b: ruled(a, b), 2),
        "called": (jax.jit(lambda a, b: jnp.sin(a) * b), 2),
        "saved": (jax.checkpoint(lambda a, b: jnp.sin(a) * b), 2),
        "solved": (
            lambda a, b: lax.custom_linear_solve(
                lambda v: v * a, b, lambda _, r: r / a, lambda _, r: r / a
            ),
            2,
        ),
    }
    arguments = {"loop": (V, V, ROWS)}
    return {
        name: str(jax.make_jaxpr(function)(*arguments.get(name, (V,) * count)))
        for name, (function, count) in functions.items()
    }


def value(expression: str) -> Any:
    return evaluate(expression, texts()).value


def refused(expression: str, **programs: str) -> str:
    with pytest.raises(PathError) as error:
        evaluate(expression, programs or texts())
    return error.value.message


@pytest.mark.parametrize(
    "claim",
    [
        "loop[scan].consts[0] == loop.inputs[0]",
        "loop[scan].carry == loop.inputs[1:2]",
        "loop[scan].xs == loop.inputs[2:]",
        "loop[scan].xs.shape == (4, 3)",
        "loop[scan].final_carry == loop.outputs[:1]",
        "loop[scan].ys == loop.outputs[1:]",
        "[len(turns[scan].carry), len(turns[scan].consts)] == [2, 0]",
        "not turns[scan].xs",
        'until["while"].cond_consts == until.inputs[:1]',
        'len(until["while"].cond_consts) == 1',
        'until["while"].body_consts[0] == until.inputs[0]',
        'until["while"].carry[0] == until.inputs[1]',
        'len(until["while"].final_carry) == 2',
        'chosen[cond].branch.origin == "equation"',
        "chosen[cond].branch.shape == ()",
        'chosen[cond].branch.dtype == "i32"',
        "all(v in chosen.inputs for v in chosen[cond].operands)",
        "called[jit].operands == called.inputs",
        "called[pjit].operands == called.inputs",
        "saved[checkpoint].operands == saved.inputs",
        "len(solved[custom_linear_solve].consts) == 4",
        "solved[custom_linear_solve].operands == solved.inputs[1:]",
        # What a body gets is named after what it gets it from.
        "loop[scan].jaxpr[mul].inputs[0] in loop[scan].jaxpr.inputs[carry]",
        "loop[scan].jaxpr[mul].inputs[1] == loop[scan].jaxpr.inputs['consts[0]']",
        "loop[scan].jaxpr.inputs[xs].shape == (3,)",
        'len(until["while"].cond_jaxpr.inputs[carry]) == 2',
        'len(until["while"].body_jaxpr.inputs[body_consts]) == 1',
        "all(len(b.inputs[operands]) == 2 for b in chosen[cond].branches)",
    ],
)
def test_claims(claim: str) -> None:
    assert judge(claim, texts()).is_true


def test_rules_for_derivatives() -> None:
    """Their constants are counted by a parameter that the text leaves out."""
    traced = block("f", lambda a, b: ruled(a, b), (V, V))
    for claim in (
        "f[custom_jvp_call].operands == f.inputs",
        "len(f[custom_jvp_call].consts) == 0",
        "f[custom_jvp_call].call_jaxpr.inputs[operands] == f[custom_jvp_call].call_jaxpr.inputs",
    ):
        assert judge(claim, Scope({"f": traced})).is_true
    assert "can't be determined" in refused("rule[custom_jvp_call].operands")


BODY = "{ lambda ; p:f32[3] c:f32[3] x:f32[]. let d:f32[3] = mul c p in (d, x) }"


def scan(parameters: str, body: str = BODY) -> str:
    """A pasted loop with the parameters of some JAX."""
    return f"""{{ lambda ; a:f32[3] b:f32[3] r:f32[4]. let
    s:f32[3] t:f32[4] = scan[{parameters} jaxpr={body} length=4 reverse=False] a b r
  in (s, t) }}"""


@pytest.mark.parametrize(
    "parameters",
    [
        "linear=(False, False, False) num_carry=1 num_consts=1 unroll=1",
        "ft_in=((None,), (None,), (None,)) ft_out=((None,), (None,)) unroll=1",
        "",
    ],
)
def test_parts_of_a_loop_need_no_parameters(parameters: str) -> None:
    programs = {"f": scan(parameters)}
    for claim in (
        "f[scan].consts == f.inputs[:1]",
        "f[scan].carry == f.inputs[1:2]",
        "f[scan].xs == f.inputs[2:]",
        "f[scan].ys == f.outputs[1:]",
    ):
        assert judge(claim, programs).is_true


def test_what_no_text_says() -> None:
    unreadable = scan("", "{ lambda ; ??? }")
    assert refused("f[scan].carry", f=unreadable) == (
        "`f[scan].carry` can't be determined: neither the parameters of `scan` nor its programs"
        " say how many there are"
    )
    # A type that isn't there is not that of a number.
    untyped = scan("").replace("a:f32[3] b:f32[3] r:f32[4]", "a b r")
    assert "can't be determined" in refused("f[scan].xs", f=untyped)
    assert evaluate("len(f[scan].ys)", {"f": scan("num_consts=1 num_carry=1", "{ ? }")}).value == 1


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "loop[scan].operands",
            "`loop[scan]` is `scan`, which has no `.operands`: it has `.consts`, `.carry`, `.xs`,"
            " `.final_carry` and `.ys`",
        ),
        (
            "loop[scan].jaxpr[mul].carry",
            "`loop[scan].jaxpr[mul]` is `mul`, which has no `.carry`, as `scan` and `while` have"
            " it; all operands are `loop[scan].jaxpr[mul].inputs`",
        ),
        (
            "called[jit].consts",
            "`called[jit]` is `jit`, which has no `.consts`: it has `.operands`",
        ),
        ("loop.carry", "`.carry` belongs to one equation"),
        ("loop[scan].cary", "did you mean `carry`?"),
        ("loop[scan].jaxpr.inputs[cary]", "did you mean `carry`"),
        ('until["while"].body_jaxpr.inputs[cond_consts]', "did you mean `body_consts`"),
        ("chosen[cond].branch[0]", "takes no `[...]`"),
        # In a part that is skipped.
        ("len(loop) or loop[scan].operands", "`scan` has no `.operands`"),
        ("len(loop) or loop[scan][0].branch", "`scan` has no `.branch`"),
        ("len(loop) or loop[scan].carry[0].xs", "is a value and has no `.xs`"),
        ("len(loop) or loop[scan].xs[0].dtype == 'f33'", "unknown dtype `f33`"),
        # About nothing.
        ("all(v.dtype == 'f32' for v in turns[scan].xs)", "`turns[scan].xs` has no values"),
        ("turns[scan].xs == turns[scan].consts", "has no values"),
    ],
)
def test_refusals(expression: str, message: str) -> None:
    assert message in refused(expression)


def test_words_keep_their_meaning_elsewhere() -> None:
    assert value("len(loop.consts)") == 0  # of a program: constants
    assert value("len(loop[scan].jaxpr.consts)") == 0
    assert value("len(chosen[cond].branches)") == 2
    assert value("loop[scan].params[length]") == 4
    label = {"f": texts()["loop"], "f.carry": texts()["called"]}
    assert evaluate("f.carry[jit].operands == f.carry.inputs", label).value is True
