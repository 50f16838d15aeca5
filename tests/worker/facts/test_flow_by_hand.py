"""What a backward part keeps, and what depends on what: on programs of real functions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from sphinx_jaxpr import testing
from sphinx_jaxpr.program.facts import Facts
from sphinx_jaxpr.program.model import EquationFlow, Reached
from sphinx_jaxpr.program.query.blocks import QueryBlock
from sphinx_jaxpr.program.query.evaluate import PathError, evaluate
from sphinx_jaxpr.program.query.flow.residuals import kept_sizes

V = jax.ShapeDtypeStruct((4,), jnp.float32)
SCALE = np.arange(4, dtype=np.float32)


def dense(params: Mapping[str, Any], x: Any) -> Any:
    """A layer with a tree among its arguments, and a constant."""
    return jnp.exp(params["w"] @ x + params["b"] * SCALE)


PARAMS = {"w": jax.ShapeDtypeStruct((4, 4), jnp.float32), "b": V}


def traced(function: Callable[..., Any], *arguments: Any, transforms: str) -> testing.Traced:
    """The programs of a function, as ``f`` and its variants."""
    return testing.trace(function, *arguments, transforms=transforms, name="f")


def value(programs: testing.Traced, expression: str) -> Any:
    return evaluate(expression, programs.scope).value


def refusal(programs: testing.Traced, expression: str) -> str:
    with pytest.raises(PathError) as raised:
        value(programs, expression)
    return raised.value.message


def origins(programs: testing.Traced, path: str) -> list[str]:
    """What is kept: names of primitives that made it, or where else it comes from."""
    made = {}
    for variable in value(programs, f"[v for v in {path}.residuals]"):
        made[variable] = str(variable.origin)
    for equation in value(programs, f"[e for e in {path}]"):
        for output in equation.attribute("outputs", _Free()).members():
            if output in made:
                made[output] = str(equation.primitive)
    return list(made.values())


class _Free:
    """Work that nobody counts."""

    def spend(self, steps: int) -> None:
        pass


# -- residuals


@pytest.mark.parametrize("variant", ["grad", "value_and_grad", "vjp"])
def test_what_the_forward_part_hands_to_the_backward_part(variant: str) -> None:
    """The cotangent that `vjp` takes as an argument is none of it."""
    programs = traced(dense, PARAMS, V, transforms="grad, value_and_grad, vjp")
    assert origins(programs, f"f.{variant}") == ["constant", "input", "exp"]


def test_a_remat_keeps_its_inputs() -> None:
    programs = traced(dense, PARAMS, V, transforms="remat | grad")
    assert set(origins(programs, "f.remat_grad")) == {"constant", "input"}
    assert value(programs, "len(f.remat_grad.residuals)") == 4
    inner = "f.remat_grad[checkpoint].jaxpr"
    assert value(programs, f"len({inner}.residuals)") == 4
    assert value(programs, f"{inner}.inputs[-1] in {inner}.residuals") is False


def test_a_policy_keeps_what_it_names() -> None:
    chain = "remat(policy=dots_saveable) | grad as saved"
    programs = traced(dense, PARAMS, V, transforms=chain)
    made = value(programs, "[v for v in f.saved.residuals if v.origin == 'equation']")
    assert len(made) == 1
    assert value(programs, f"depends({made[0].path}, f.saved[dot_general][0])") is True


def looped(x: Any) -> Any:
    return lax.scan(lambda c, _: (jnp.sin(c), c * 2.0), x, None, length=3)[0]


def chosen(p: Any, x: Any) -> Any:
    return lax.cond(p, jnp.sin, jnp.exp, x)


def test_a_loop_stacks_what_it_keeps() -> None:
    programs = traced(looped, V, transforms="grad, vjp")
    assert value(programs, "[v.shape for v in f.grad.residuals]") == ((3, 4),)
    inner = "f.grad[scan][1].jaxpr"
    assert value(programs, f"[v.shape for v in {inner}.residuals]") == ((4,),)
    # The carry of the backward loop is a cotangent, whatever it begins with.
    assert value(programs, f"len(f.vjp.residuals) == len({inner}.residuals) == 1") is True


def test_branches_keep_what_each_of_them_needs() -> None:
    programs = traced(chosen, jax.ShapeDtypeStruct((), bool), V, transforms="grad(argnums=x)")
    kept = origins(programs, "f.grad")
    assert "cond" in kept
    assert value(programs, "all(reads(f.grad[cond][1], v) for v in f.grad.residuals)") is True


def test_rules_of_users_keep_what_they_return() -> None:
    @jax.custom_vjp
    def rule(x: Any) -> Any:
        return jnp.sin(x)

    rule.defvjp(
        lambda x: (jnp.sin(x), (jnp.cos(x), x)),
        lambda kept, ct: (ct * kept[0] * jnp.sign(kept[1]),),
    )
    programs = traced(rule, V, transforms="grad")
    assert origins(programs, "f.grad") == ["input", "cos"]


def test_the_cotangents_that_a_jacobian_makes_are_none_of_it() -> None:
    programs = traced(jnp.sin, V, transforms="jacrev, hessian, vmap | grad, grad | vmap")
    assert origins(programs, "f.jacrev") == ["cos"]
    made = ["iota", "eq", "convert_element_type", "split"]
    assert not set(made) & set(origins(programs, "f.hessian"))
    assert origins(programs, "f.vmap_grad") == origins(programs, "f.grad_vmap") == ["cos"]


def test_a_call_keeps_what_its_forward_half_returns() -> None:
    programs = traced(jax.jit(lambda x: jnp.sin(jnp.exp(x))), V, transforms="grad")
    assert set(origins(programs, "f.grad")) == {"jit"}
    inner = "f.grad[jit][1].jaxpr"
    assert value(programs, f"len({inner}.residuals) == len(f.grad.residuals)") is True


def test_nothing_is_kept_for_a_linear_function() -> None:
    programs = traced(lambda x: x * 2.0, V, transforms="grad")
    assert value(programs, "len(f.grad.residuals) == 0 and not f.grad.residuals") is True
    assert value(programs, "f.grad.inputs[x] not in f.grad.residuals") is True
    assert kept_sizes(programs["f.grad"]) == []


def test_where_there_is_no_backward_part() -> None:
    programs = traced(dense, PARAMS, V, transforms="jvp, linearize, grad | jit")
    assert "`f` has no phases" in refusal(programs, "f.residuals")
    for variant in ("jvp", "linearize"):
        message = refusal(programs, f"f.{variant}.residuals")
        assert "no backward part" in message
        assert "forward and tangent" in message
    inner = "f.grad_jit[jit].jaxpr.residuals"
    assert f"a program inside has one: `{inner}`" in refusal(programs, "f.grad_jit.residuals")
    assert value(programs, f"len({inner})") == 3


def test_cotangents_keep_their_role_inside_of_other_programs() -> None:
    programs = traced(jnp.sin, V, transforms="vjp | jit, vjp | vmap, vjp | vmap | jit")
    assert value(programs, "len(f.vjp_jit[jit].jaxpr.residuals)") == 1
    assert value(programs, "len(f.vjp_vmap.residuals)") == 1
    assert value(programs, "len(f.vjp_vmap_jit[jit].jaxpr.residuals)") == 1


def test_sizes_of_what_is_kept() -> None:
    programs = traced(dense, PARAMS, V, transforms="grad, remat | grad")
    assert kept_sizes(programs["f.grad"]) == [16, 16, 16]
    assert sum(filter(None, kept_sizes(programs["f.remat_grad"]))) == 16 * 3 + 64


# -- reads and depends


def mixed(x: Any, y: Any, z: Any) -> Any:
    """Loops, branches and programs inside that pass some of their operands on."""

    def body(carry: Any, item: Any) -> Any:
        a, b, c = carry
        return (a + item, b + a, c), c

    (a, b, c), ys = lax.scan(body, (x, y, z), jnp.ones((3, 4)))
    counted = lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2.0, s[2]), (0, x, y))
    picked = jax.jit(lambda p, q: (q, p * 2.0))(x, z)
    split = lax.sort((x, y), num_keys=1)
    branch = lax.cond(x[0] > 0, lambda p, q: (p, q), lambda p, q: (p * 3.0, q), y, z)
    return a, b, c, ys, counted[1], counted[2], picked, split, branch, x * 0.0


def test_what_changes_a_result_is_what_it_depends_on() -> None:
    """Numbers decide: a result that another input changes depends on it."""
    programs = traced(mixed, V, V, V, transforms="jit")
    start = [np.linspace(0.3, 0.9, 4, dtype=np.float32) * n for n in (1, -2, 3)]
    before = jax.tree.leaves(mixed(*start))
    for path in ("f", "f.jit"):
        for place, name in enumerate("xyz"):
            moved = [v + (n == place) * np.float32(0.7) * np.sign(v) for n, v in enumerate(start)]
            moved[place] = moved[place][::-1].copy()
            after = jax.tree.leaves(mixed(*moved))
            for result, (old, new) in enumerate(zip(before, after, strict=True)):
                asked = f"depends({path}.outputs[{result}], {path}.inputs[{name}])"
                answer = value(programs, asked)
                # What is multiplied by zero is computed from its operand, too.
                by_zero = name == "x" and result == len(before) - 1
                # A branch is chosen by x, and both choices may agree.
                assert answer is True or np.array_equal(old, new), asked
                if not by_zero and name != "x":
                    assert answer is not np.array_equal(old, new), asked


def test_each_result_of_an_equation_depends_on_its_own_operands() -> None:
    programs = traced(mixed, V, V, V, transforms="")
    loop, count = "f[scan].outputs", 'f["while"].outputs'
    assert value(programs, f"depends({loop}[1], f.inputs[x])") is True
    assert value(programs, f"depends({loop}[2], f.inputs[x])") is False
    assert value(programs, f"depends({count}[1], f.inputs[x])") is True
    assert value(programs, f"depends({count}[1], f.inputs[y])") is False
    assert value(programs, "depends(f[jit].outputs[0], f.inputs[x])") is False
    assert value(programs, "depends(f[sort].outputs[0], f.inputs[y])") is False
    assert value(programs, "depends(f[sort].outputs[1], f.inputs[x])") is True
    assert value(programs, "depends(f[cond].outputs[0], f.inputs[x])") is True


def test_reads_is_direct_and_depends_is_not() -> None:
    programs = traced(lambda x: jnp.exp(jnp.sin(jnp.cos(x))), V, transforms="")
    assert value(programs, "reads(f[sin], f[cos]) and reads(f[cos], f.inputs[x])") is True
    assert value(programs, "reads(f[exp], f[cos])") is False
    assert value(programs, "depends(f[exp], f[cos]) and not depends(f[cos], f[exp])") is True
    assert value(programs, "depends(f.outputs[0], f[exp])") is True
    assert value(programs, "depends(f[exp], f[exp])") is False
    assert value(programs, "depends(f.inputs[x], f.inputs[x])") is True
    assert value(programs, "all(depends(e, f.inputs[x]) for e in f)") is True


@pytest.mark.skipif(not hasattr(jax, "new_ref"), reason="JAX has `array_ref` instead")
def test_a_reference_passes_on_what_is_written_to_it() -> None:
    def stored(x: Any, y: Any) -> Any:
        ref = jax.new_ref(x)
        before = ref[...] * 2.0
        ref[...] = y * 3.0
        return before, ref[...]

    programs = traced(stored, V, V, transforms="")
    assert value(programs, "depends(f.outputs[1], f.inputs[y])") is True
    assert value(programs, "depends(f.outputs[0], f.inputs[y])") is False
    assert value(programs, "[depends(e, f[swap]) for e in f[get]]") == (False, True)


def test_what_cannot_be_asked() -> None:
    programs = traced(dense, PARAMS, V, transforms="grad, jit")
    message = refusal(programs, "depends(f.outputs[0], f.inputs[params])")
    assert "any(depends(..., v) for v in f.inputs[params])" in message
    assert "different blocks" in refusal(programs, "depends(f.grad[exp], f[dot_general])")
    inner = "f.jit[jit].jaxpr"
    assert "different programs" in refusal(programs, f"reads({inner}[exp], f.jit.inputs[x])")
    assert "takes an equation first" in refusal(programs, "reads(f.outputs[0], f.inputs[x])")
    assert "not a number" in refusal(programs, "depends(f[exp], 3)")
    assert "has no equation `cos`" in refusal(programs, "not depends(f[cos], f[exp])")
    assert "choose one" in refusal(programs, "reads(f[0:2], f[exp])")
    assert "is a literal" in refusal(
        traced(lambda x: x * 2.0, V, transforms=""), "reads(f[mul], f[mul].inputs[1])"
    )


# -- what is recorded


def test_facts_of_flow_are_kept_as_json() -> None:
    facts = traced(looped, V, transforms="grad")["f.grad"].facts
    assert any(program.kept for program in facts.programs)
    assert any(program.flows for program in facts.programs)
    assert Facts.from_json(json.loads(json.dumps(facts.to_json()))) == facts


def edited(block: QueryBlock, **parts: Any) -> dict[str, QueryBlock]:
    """A block with other facts of its outermost program, as a damaged file may have them."""
    first, *others = block.facts.programs
    facts = replace(block.facts, programs=(replace(first, **parts), *others))
    return {"f": QueryBlock("f", block.printed, facts, block.inputs)}


def test_without_facts_there_is_no_answer() -> None:
    whole = traced(looped, V, transforms="")["f"]
    text = {"f": QueryBlock("f", whole.printed)}
    for programs in (text, edited(whole, flows=None), edited(whole, flows={})):
        with pytest.raises(PathError, match="may or may not depend"):
            evaluate("depends(f.outputs[0], f.inputs[0])", programs)
        with pytest.raises(PathError, match=r"residuals|no phases"):
            evaluate("f.residuals", programs)


def test_facts_that_do_not_fit_the_text() -> None:
    block = traced(looped, V, transforms="grad")["f.grad"]
    for kept in (((99, 0),), ((0, 99),), ((-1, 5),), ((-2, 0),)):
        with pytest.raises(PathError, match="does not fit its text"):
            evaluate("f.residuals", edited(block, kept=kept))
        assert kept_sizes(edited(block, kept=kept)["f"]) == []
    with pytest.raises(PathError, match="an older release"):
        evaluate("f.residuals", edited(block, flows=None, kept=None))
    wrong = {0: EquationFlow((Reached(1, True),) * 9)}
    with pytest.raises(PathError, match="may or may not depend"):
        evaluate("depends(f[scan][0].outputs[0], f.inputs[0])", edited(block, flows=wrong))


# -- leaves


def test_leaves_of_results_have_jaxs_names() -> None:
    programs = traced(dense, PARAMS, V, transforms="grad, value_and_grad, vmap(in_axes=x)")
    same = "f.grad.outputs[\"result['w']\"].shape == f.inputs[\"params['w']\"].shape"
    assert value(programs, same) is True
    assert value(programs, "len(f.grad.outputs[result]) == 2") is True
    assert value(programs, "f.outputs[result] == f.outputs[0]") is True
    assert value(programs, "f.value_and_grad.outputs[\"result[1]['b']\"].shape") == (4,)
    assert value(programs, "f.vmap.inputs[\"params['w']\"].shape") == (4, 4)
    assert "result['b']" in refusal(programs, "f.grad.outputs[w]")
    assert "names" in refusal(programs, "f or f.grad.outputs[w]")


# -- equal but for shapes


def test_the_same_program_but_for_shapes() -> None:
    def summed(x: Any) -> Any:
        return jnp.exp(jnp.sin(x)).sum(axis=0) * 2.0

    matrix = jax.ShapeDtypeStruct((3, 4), jnp.float32)
    programs = traced(summed, matrix, transforms="vmap, grad")
    assert value(programs, "same(f.vmap, f)") is False
    assert value(programs, "same(f.vmap, f, shapes=False)") is True
    assert value(programs, "same(f.vmap, f, shapes=True)") is False
    assert value(programs, "same(f.grad, f, shapes=False)") is False
    assert value(programs, "same(f.grad[:1], f[:1], shapes=False)") is True


def test_dtypes_wiring_and_literals_count_without_shapes() -> None:
    half = jax.ShapeDtypeStruct((8,), jnp.bfloat16)
    for other, argument in (
        (lambda x: jnp.sin(x) * x, half),
        (lambda x: x * jnp.sin(x), jax.ShapeDtypeStruct((8,), jnp.float32)),
        (lambda x: jnp.cos(x) * x, V),
    ):
        programs = {
            "f": traced(lambda x: jnp.sin(x) * x, V, transforms="")["f"],
            "g": traced(other, argument, transforms="")["f"],
        }
        assert evaluate("same(g, f, shapes=False)", programs).value is False
