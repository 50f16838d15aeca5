"""``.residuals``, ``reads``, ``depends`` and ``same(..., shapes=False)``: answers and messages."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import jax.numpy as jnp
import pytest
from jax import lax

from sphinx_jaxpr.program.facts import Facts
from sphinx_jaxpr.program.query.evaluate import PathError, Scope, evaluate, judge
from sphinx_jaxpr.testing import trace
from tests.program.lesson import block


def _function(x: Any, y: Any) -> Any:
    first, second = lax.scan(lambda c, a: (c * 2, a + 1), jnp.sin(x), y)
    return first + 1, second


def _tree(state: Any, x: Any) -> Any:
    return {"sum": jnp.sin(state["w"]) * x, "same": state["b"]}


@cache
def scope() -> Scope:
    f = block("f", _function, (jnp.ones(3), jnp.ones((4, 3))), "x y")
    transforms = "grad, grad | jit, jvp, linearize, vmap"
    of_tree = trace(_tree, "{w: f32[3], b: f32[3]}, f32[3]", transforms=transforms, name="t")
    assert f.printed is not None
    text = f.printed
    blocks = {"f": f, "text": replace(f, name="text", facts=Facts())}
    return Scope({**Scope.of({"pasted": text}).blocks, **blocks, **Scope.of(of_tree).blocks})


@pytest.mark.parametrize(
    "claim, answer",
    [
        ("reads(f[scan], f[sin])", True),
        ("reads(f[add], f[scan])", True),
        ("reads(f[add], f[sin])", False),
        ("reads(f[scan], f.inputs[y])", True),
        ("reads(f[add], f.inputs[y])", False),
        ("reads(f[add], f[scan].outputs[0])", True),
        ("reads(f[add], f[scan].outputs[1])", False),
        ("depends(f[add], f[sin])", True),
        ("depends(f[add], f[scan])", True),
        ("depends(f[add], f.inputs[y])", False),
        ("depends(f[sin], f[add])", False),
        ("depends(f[sin], f[sin])", False),
        ("depends(f[sin].outputs[0], f[sin])", True),
        ("depends(f.outputs[0], f.inputs[x])", True),
        ("depends(f.outputs[0], f.inputs[y])", False),
        ("depends(f.outputs[1], f.inputs[x])", False),
        ("depends(f.inputs[x], f.inputs[x])", True),
        ("any(depends(v, f.inputs[y]) for v in f.outputs)", True),
        ("depends(f[scan].jaxpr.outputs[0], f[scan].jaxpr.inputs[xs])", False),
        ("reads(t[mul], t.inputs[x])", True),
        ("reads(t[mul], t.inputs[\"state['w']\"])", False),
        ("reads(t[sin], t.inputs[\"state['w']\"])", True),
        ("any(depends(t.outputs[\"result['sum']\"], v) for v in t.inputs[state])", True),
        ("depends(t.outputs[\"result['sum']\"], t.inputs[\"state['b']\"])", False),
        ("depends(t.vmap.outputs[\"result['sum']\"], t.vmap.inputs[\"state['w']\"])", True),
        ("t.grad.inputs[\"state['w']\"] in t.grad.residuals", False),
        ("t.grad.inputs[x] in t.grad.residuals", True),
        ("sum(v.bytes for v in t.grad.residuals) == 24", True),
        ("same(t, t.vmap)", False),
        ("same(t[sin], t.vmap[sin], shapes=False)", True),
        ("same(t[sin], t.vmap[mul], shapes=False)", False),
    ],
)
def test_answers(claim: str, answer: bool) -> None:
    assert judge(claim, scope()).is_true is answer


@pytest.mark.parametrize(
    "expression, message",
    [
        ("reads(f.inputs[x], f[sin])", "`depends` takes both"),
        ("reads(f, f[sin])", "takes equations or values, not `f` (a program)"),
        ("depends(f.inputs, f[sin])", "any(depends(v, ...) for v in f.inputs)"),
        ("depends(f[sin], t.inputs[x])", "are in different blocks"),
        ("depends(f[scan].jaxpr[mul], f[sin])", "ask about the equation that holds"),
        ("depends(f[sin], f[add].inputs[1])", "is a literal"),
        ("depends(f[sin])", "takes 2 arguments"),
        ("depends(f[sin], f[cos])", "has no equation `cos`"),
        ("same(f, f, shape=False)", "did you mean `shapes`?"),
        ("same(f, f, shapes=0)", "`shapes` of `same` is `True` or `False`"),
        ("len(f, shapes=False)", "`len` takes no named arguments"),
        ("t.residuals", "`t` has no phases"),
        ("t.vmap.residuals", "`t.vmap` has no phases"),
        ("t.grad_jit.residuals", "`t.grad_jit[jit].jaxpr.residuals`"),
        ("t.jvp.residuals", "no backward part"),
        ("t.linearize.residuals", "its equations are forward and tangent"),
        ("t.grad[sin].residuals", "is an equation and has no `.residuals`"),
        ("t.grad.residual", "did you mean `residuals`?"),
        ("pasted.residuals", "only the text of `pasted` is known"),
        ("depends(pasted.outputs[0], pasted.inputs[1])", "only the text of `scan` is known"),
        ("depends(text.outputs[0], text.inputs[1])", "may or may not depend"),
    ],
)
def test_messages(expression: str, message: str) -> None:
    with pytest.raises(PathError) as caught:
        evaluate(expression, scope())
    assert message in str(caught.value)


def test_a_text_still_says_what_needs_no_facts() -> None:
    assert judge("depends(pasted[add], pasted[scan].outputs[0])", scope()).is_true
    assert judge("not depends(pasted[sin], pasted.inputs[1])", scope()).is_true
    assert judge("reads(pasted[scan], pasted[sin])", scope()).is_true


def test_what_an_older_release_recorded_says_so() -> None:
    new = scope().blocks["t.grad"]
    data = new.facts.to_json()
    for program in data["programs"]:
        program.pop("kept", None)
        del program["flows"]
    older = Scope({"g": replace(new, name="g", facts=Facts.from_json(data), base=None)})
    with pytest.raises(PathError, match="an older release recorded `g`, without what it keeps"):
        evaluate("g.residuals", older)
    assert judge("depends(g[mul][0], g[sin])", older).is_true


def test_facts_survive_being_stored() -> None:
    for name in ("f", "t.grad"):
        facts = scope().blocks[name].facts
        assert Facts.from_json(facts.to_json()) == facts


SUM = (
    "{{ lambda ; a:{0}[{1}]. let b:{0}[{2}] = {3}[axes=({4},) out_sharding=None] a;"
    " c:{0}[{2}] = mul b {5}:{0}[] in (c,) }}"
)


@pytest.mark.parametrize(
    "other, answer",
    [
        (("f32", "3,8,4", "3,8", "reduce_sum", "2", "2.0"), True),
        (("bf16", "3,8,4", "3,8", "reduce_sum", "2", "2.0"), False),
        (("f32", "3,8,4", "3,8", "reduce_max", "2", "2.0"), False),
        (("f32", "3,8,4", "3,8", "reduce_sum", "2", "3.0"), False),
    ],
)
def test_equal_but_for_shapes(other: tuple[str, ...], answer: bool) -> None:
    programs = {"f": SUM.format("f32", "8,4", "8", "reduce_sum", "1", "2.0")}
    programs["g"] = SUM.format(*other)
    assert judge("same(f, g, shapes=False)", programs).is_true is answer
    assert not judge("same(f, g)", programs).is_true


@pytest.mark.parametrize("parameter, answer", [("y=2", True), ("y=3", False)])
def test_parameters_that_are_no_shapes_count(parameter: str, answer: bool) -> None:
    power = "{{ lambda ; a:f32[{0}]. let b:f32[{0}] = integer_pow[{1}] a in (b,) }}"
    programs = {"f": power.format("8", "y=2"), "g": power.format("4,8", parameter)}
    assert judge("same(f, g, shapes=False)", programs).is_true is answer


def test_wiring_counts_without_shapes() -> None:
    text = "{{ lambda ; a:f32[{0}] b:f32[{0}]. let c:f32[{0}] = sub {1} in (c,) }}"
    programs = {"f": text.format("8", "a b"), "g": text.format("9", "b a")}
    assert not judge("same(f, g, shapes=False)", programs).is_true


@pytest.mark.parametrize("name", ["reads", "depends"])
def test_a_block_may_have_the_name_of_a_function(name: str) -> None:
    text = "{ lambda ; a:f32[] b:f32[]. let c:f32[] = sin a; d:f32[] = mul c b in (d,) }"
    programs = {name: text}
    for claim in (
        f"len({name}) == 2",
        f"{name}({name}[mul], {name}[sin])",
        f"all({name}(e, {name}[0]) for e in {name}[1:])",
        f"not {name}({name}[sin], {name}.inputs[1])",
    ):
        assert judge(claim, programs).is_true, claim
    with pytest.raises(PathError, match=f"`{name}` has no variant or attribute `gard`"):
        judge(f"len({name}) == 2 or {name}.gard", programs)
    with pytest.raises(ValueError, match="`len` cannot name a program"):
        judge("len(len) == 2", {"len": text})
