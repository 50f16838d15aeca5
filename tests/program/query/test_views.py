"""Every row of the path table (DESIGN 2.2) on real programs."""

from __future__ import annotations

from typing import Any

import jax
import pytest

from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.program.query.base import words
from sphinx_jaxpr.program.query.blocks import QueryBlock, dtype_of, shape_of
from sphinx_jaxpr.program.query.evaluate import PathError, Scope, evaluate, resolve_equation
from tests.program.lesson import NEW_TANH, scope

VERSION = tuple(int(part) for part in jax.__version__.split(".")[:2])


def value(text: str, where: Scope | None = None) -> Any:
    return evaluate(text, where or scope()).value


def refused(text: str, where: Scope | None = None) -> str:
    with pytest.raises(PathError) as raised:
        evaluate(text, where or scope())
    return raised.value.message


def test_blocks_and_positions() -> None:
    assert value("len(dense)") == 4
    assert value("ops(dense)") == ("dot_general", "broadcast_in_dim", "add", "tanh")
    assert value("ops(dense[0]) == ops(dense[:1]) == ['dot_general']") is True
    assert value("ops(dense[-2:]) == ['add', 'tanh']") is True
    assert value("dense[0] == dense[dot_general] and dense[-1] == dense[tanh]") is True
    assert "has 4 equations, so there is no `[4]`" in refused("dense[4]")
    assert words(value("dense.vmap.removed")) == "no equations"


def test_phases() -> None:
    assert value("dense.grad.forward[:4] == dense.grad[:4]") is True
    assert value("len(dense.grad.forward) + len(dense.grad.transpose) == len(dense.grad)") is True
    assert value("len(dense.grad.tangent) == len(dense.grad.recomputed) == 0") is True
    assert value("all(e.phase == 'transpose' for e in dense.grad.transpose)") is True
    assert "`dense` has no phases: JAX records them" in refused("dense.forward")
    assert "`dense.vmap.all` has no phases" in refused("dense.vmap.all.transpose")
    result = evaluate("dense[tanh].phase", scope())
    assert result.value == "" and "`dense` has no phases" in result.hints[0]
    result = evaluate("dense.remat_grad.recomputed", scope())
    assert words(result.value) == "no equations"
    assert "`dense.remat_grad.all.recomputed`" in result.hints[0]
    inside = "dense.remat_grad[remat2].jaxpr.recomputed"
    assert value(f"dense.remat_grad.all.recomputed == {inside}") is True


def test_primitives() -> None:
    count = 1 if NEW_TANH else 2
    assert value("len(dense.grad[mul])") == count
    assert value(f"dense.grad[mul][-1] == dense.grad[mul][{count - 1}]") is True
    assert value('loop["while"].primitive') == "while"
    assert value('scatter["scatter-add"].shape') == (3,)
    assert 'quoted: `["scatter-add"]`' in refused("scatter[scatter-add]")
    assert value("[len(dense.grad[p]) for p in ('tanh', 'dot_general')]") == (1, 2)
    assert value("len(dense[sin])") == 0
    assert value("dense[sin] and True") is False
    assert "has no equation `tanhh`; nearest: tanh (1)" in refused("len(dense.grad[tanhh])")
    assert "`dense.grad` has no equation `sin`; it has: " in refused("dense.grad[sin].shape")
    assert "has no equation `sin`" in refused("dense.grad[sin][0]")
    assert "an input is `dense.inputs[w]`" in refused("dense[w]")
    assert "equations are `dense[tanh]`" in refused("dense.tanh")


def test_nested_programs() -> None:
    assert value("dense.scan[scan].jaxpr[tanh].shape") == (32, 64)
    assert value("ops(choose[cond].branches[0]) == ['cos']") is True
    assert value("ops(choose[cond].branches[1]) == ['sin']") is True
    assert value("len(choose[cond].branches)") == 2
    assert value("[ops(p) for p in choose[cond].branches]") == (("cos",), ("sin",))
    assert "`choose[cond].branches[0][sin]`" in refused("choose[cond].branches[sin]")
    assert value('ops(loop["while"].cond_jaxpr)') == ("lt",)
    assert value('ops(loop["while"].body_jaxpr)') == ("add",)
    assert "did you mean `jaxpr`" in refused("dense.scan[scan].japr")
    assert "`dense.scan[scan].params[length]`" in refused("dense.scan[scan].length")
    assert "further inside: `dense.scan.all[tanh]`" in refused("dense.scan[tanh].shape")
    assert value("dense.scan[scan].jaxpr == dense.scan[scan].params[jaxpr]") is True


def test_any_depth_and_calls() -> None:
    assert value("len(twice.all[sin])") == 1
    assert value("twice.all[sin].calls") == 3
    assert value("twice.all[add].calls") == 1
    assert value("twice.all[sin].calls + twice.all[mul].calls == twice.all.calls - 4") is True
    assert value("twice.calls") == 1
    assert value("{p.jaxpr.calls for p in twice if p.primitive != 'add'}") == frozenset({3})
    assert value("len(twice[0].jaxpr.all)") == 2
    assert value("ops(dense.scan.all)") == ("scan", *value("ops(dense)"))
    text = """let f = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in
let g = { lambda ; a:f32[]. let
    b:f32[] = pjit[name=f jaxpr=f] a
    c:f32[] = pjit[name=f jaxpr=f] b
  in (c,) } in
{ lambda ; a:f32[]. let
    b:f32[] = pjit[name=g jaxpr=g] a
    c:f32[] = pjit[name=g jaxpr=g] b
    d:f32[] = pjit[name=f jaxpr=f] c
  in (d,) }"""
    here = Scope({"f": QueryBlock("f", parse(text))})
    assert value("f.all[sin].calls", here) == 5
    assert value("len(f.all)", here) == 6
    assert value("ops(f[0].jaxpr.all) == ['sin', 'pjit', 'pjit']", here) is True


def test_facts_of_one_equation() -> None:
    assert value("dense[tanh].shape == (32, 64) and dense[tanh].dtype == 'bf16'") is True
    assert value("dense.scan[scan].params[length]") == 4
    assert value("dense.scan[scan].params[reverse]") is False
    kept = "dense.grad[convert_element_type][0].params[new_dtype]"
    assert value(f"{kept} == 'f32' and {kept} == 'float32' and {kept} != 'bf16'") is True
    assert value("dense[dot_general].params[dimension_numbers] == (([1], [0]), ([], []))") is True
    assert value("dense.shard_map[shard_map].params[in_specs][0]") == ("data",)
    assert value("dense[tanh].inputs[0] == dense[add].outputs[0]") is True
    assert value("dense[add].uses == 1 and dense[add].uses[0] == dense[tanh]") is True
    assert value("len(dense[tanh].uses) == 0 and not dense[tanh].uses") is True
    assert value("dense.grad[tanh].uses > 1 and len(dense.grad[tanh].uses[mul]) < 2") is True
    assert "tanh f" in value("dense[tanh].text")
    assert value("dense[tanh].line") > 0
    assert value("dense[tanh].calls") == 1
    some = "`.shape` needs exactly one equation; `dense.grad[dot_general]` has 2: write"
    assert f"{some} `dense.grad[dot_general][0].shape`" in refused("dense.grad[dot_general].shape")
    assert "`dense[0].shape`" in refused("dense.shape")
    assert "no parameter `lenth`, did you mean `length`" in refused(
        "dense.scan[scan].params[lenth]"
    )
    assert "in brackets: `dense.scan[scan].params[length]`" in refused(
        "dense.scan[scan].params.length"
    )
    assert "did you mean `shape`" in refused("dense[tanh].shpe")


def test_parameters_that_changed() -> None:
    if NEW_TANH:
        message = refused("dense.scan[scan].params[num_carry]")
        assert "`num_carry` became `ft_in` and `ft_out` in newer JAX" in message
    else:
        assert value("dense.scan[scan].params[num_carry]") == 1
    assert value("dense.shard_map[shard_map].params[check_rep]") is True
    hints = evaluate("dense.shard_map[shard_map].params[check_rep]", scope()).hints
    assert hints == ("the parameter `check_rep` of `shard_map` is `check_vma` here",)
    result = evaluate('"linear" in choose[cond].params', scope())
    assert (result.value, result.hints) == (False, ("`linear` is gone in newer JAX",))


def test_values() -> None:
    assert value("dense.inputs[w].shape") == (64, 64)
    assert value("dense.inputs[w] == dense[dot_general].inputs[1]") is True
    assert value("dense.inputs[w] in dense[dot_general].inputs") is True
    assert value("dense.inputs[w].uses == 1") is True
    assert value("dense.inputs[w] in dense.inputs") is True
    assert value("dense.outputs[0] == dense[tanh].outputs[0]") is True
    assert value("dense.outputs.shape == dense.outputs[0].shape") is True
    assert value("dense.inputs[0].origin") == "input"
    assert value("dense[tanh].inputs[0].origin") == "equation"
    assert value("loop['while'].cond_jaxpr[lt].inputs[1].origin") == "literal"
    assert value("loop['while'].cond_jaxpr[lt].inputs[1].text") == "3.0"
    assert value("loop['while'].cond_jaxpr[lt].inputs[1].dtype") == "f32"
    assert value("len(dense.consts) == 0 and dense.effects == []") is True
    assert value("len(dense.variables)") == 7
    assert "(names: x, w, b)" in refused("dense.inputs[q]")
    assert "its letter changes" in refused("dense.inputs[w].text")
    assert value("len(tree.inputs[p])") == 2
    assert "(names: consts, carry, xs" in refused("dense.scan[scan].jaxpr.inputs[w]")
    assert "use a number" in refused("dense.remat_grad[remat2].jaxpr.inputs[w]")


def test_constants_and_effects() -> None:
    assert value("len(hoisted.consts) == 1 and hoisted.consts.dtype == 'i32'") is True
    assert value("hoisted.consts[0].origin") == "constant"
    assert value("hoisted.consts[0].uses == 1 and hoisted.consts[0].shape == (1,)") is True
    assert value("len(speaks.effects)") == 1
    assert value("dense.scan[scan].jaxpr.effects == []") is True


def test_changes() -> None:
    assert value("ops(dense.vmap.added)") == ("broadcast_in_dim",)
    assert value("ops(dense.vmap.reshaped)") == ("dot_general", "add", "tanh")
    assert value("dense.vmap.added == dense.vmap[broadcast_in_dim][1]") is True
    assert value("len(dense.scan.kept) == len(dense) and ops(dense.scan.added) == ['scan']") is True
    assert value("len(dense.scan[scan].jaxpr.kept)") == 4
    assert value("len(dense.scan.removed)") == 0
    assert value("dense.grad.forward.kept == dense.grad[:4]") is True
    assert "`dense` is a base" in refused("dense.added")


def test_errors_of_blocks() -> None:
    assert value("dense.plain_grad.error.type") == "TypeError"
    assert value('"scalar" in dense.plain_grad.error.message') is True
    assert "`dense.plain_grad` has no program: TypeError" in refused("len(dense.plain_grad)")
    assert "has no error: it could be traced" in refused("dense.error.type")


def test_same() -> None:
    assert value("same(dense.remat[remat2].jaxpr, dense)") is True
    assert value("same(dense.jit[0].jaxpr, dense)") is True
    assert value("same(dense[0], dense.grad[0]) and not same(dense[0], dense[3])") is True
    assert value("same([e for e in dense], dense)") is True
    result = evaluate("same(dense.scan[scan].jaxpr, dense)", scope())
    assert result.value is False
    assert "same(dense.scan[scan].jaxpr[:], dense[:])" in result.hints[0]

    def pair(one: str, two: str) -> bool:
        head = "{ lambda ; a:f32[] b:f32[]. let "
        texts = {"p": f"{head}{one} }}", "q": f"{head}{two} }}"}
        blocks = {name: QueryBlock(name, parse(text)) for name, text in texts.items()}
        assert all(b.printed is not None and b.printed.program is not None for b in blocks.values())
        return bool(value("same(p, q)", Scope(blocks)))

    assert pair("c:f32[] = sub a b in (c,)", "z:f32[] = sub a b in (z,)")
    assert not pair("c:f32[] = sub a b in (c,)", "c:f32[] = sub b a in (c,)")
    assert not pair("c:f32[] = sub a b in (c,)", "c:f32[] = sub a b in (a,)")
    assert not pair("c:f32[] = sub a b in (c,)", "c:bf16[] = sub a b in (c,)")
    assert not pair("c:f32[] = mul a 2.0 in (c,)", "c:f32[] = mul a 3.0 in (c,)")
    assert not pair("c:f32[] = f[n=1] a in (c,)", "c:f32[] = f[n=2] a in (c,)")


def test_text_alone() -> None:
    here = Scope({"p": QueryBlock("p", parse("{ lambda ; a. let b = sin a in (b,) }"))})
    assert value("ops(p) == ['sin']", here) is True
    assert "has no shape" in refused("p[sin].shape", here)
    assert "only its text is known" in refused("p.forward", here)
    assert "its phase is unknown" in refused("p[sin].phase", here)
    assert "source line is unknown" in refused("p[sin].line", here)
    assert "nothing is known of its effects" in refused("p.effects", here)
    none = Scope({"p": QueryBlock("p", parse("no program"))})
    assert "has no program that can be read" in refused("len(p)", none)
    assert "has no program that can be read" in refused("p", none)


def test_types() -> None:
    assert shape_of("bf16[4,64]{V:data}") == (4, 64)
    assert shape_of("f32[n,8@data]") == ("n", 8)
    assert shape_of("key<fry>[]") == ()
    assert dtype_of("Ref{f32[8]}") == "f32"
    assert shape_of("Token") is None


def test_views_are_frozen() -> None:
    view = resolve_equation("dense[tanh]", scope())[0]
    with pytest.raises(AttributeError):
        view.path = "other"
    assert view == resolve_equation("dense[3]", scope())[0]
    assert len({view, resolve_equation("dense[3]", scope())[0]}) == 1


def test_a_page_has_its_own_blocks_first() -> None:
    other = QueryBlock("dense", parse("{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"))
    assert value("ops(dense)", Scope({**scope().blocks, "dense": other})) == ("sin",)
