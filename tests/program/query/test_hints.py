"""Each form that authors write first is answered with what to write, and never wrongly.

``NAIVE`` are forms with what the message must propose.  What any message proposes is tried:
it has a value, or at least another error.
"""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from typing import Any

import jax
import pytest

from sphinx_jaxpr.program.functions import primitives_of
from sphinx_jaxpr.program.query.evaluate import evaluate, judge, resolve_block, resolve_equation
from sphinx_jaxpr.program.query.hints.answering import MAX_PROPOSAL, candidates
from sphinx_jaxpr.program.query.scope import Scope
from sphinx_jaxpr.program.query.syntax import FUNCTIONS, PathError
from sphinx_jaxpr.program.query.values import OF_VALUES
from sphinx_jaxpr.program.query.views import OF_EQUATIONS
from tests.program import lesson


def scope() -> Scope:
    return lesson.scope()


def refused(text: str) -> str:
    with pytest.raises(PathError) as raised:
        judge(text, scope())
    assert raised.value.offset >= 0
    return raised.value.message


NAIVE = [
    # texts that are written as names
    ("dense[tanh].dtype == bf16", 'dense[tanh].dtype == "bf16"'),
    ("dense[tanh].dtype == jnp.bfloat16", 'dense[tanh].dtype == "bfloat16"'),
    ("dense.grad[tanh].phase == forward", 'dense.grad[tanh].phase == "forward"'),
    ("dense.grad[tanh].phase != backward", 'dense.grad[tanh].phase != "transpose"'),
    ("dense[add].inputs[1].origin == argument", 'dense[add].inputs[1].origin == "input"'),
    ("dense[tanh].shape == bf16[32,64]", "dense[tanh].shape == (32, 64)"),
    ("dense[tanh].shape == '(32, 64)'", "dense[tanh].shape == (32, 64)"),
    ("dense.inputs[b].shape == 64", "dense.inputs[b].shape == (64,)"),
    ("dense[tanh].primitive == tanh", 'dense[tanh].primitive == "tanh"'),
    ("ops(dense) == [dot_general, add, tanh]", 'ops(dense) == ["dot_general", "add", "tanh"]'),
    ("tanh in dense", '"tanh" in ops(dense)'),
    ("dense contains tanh", '"tanh" in ops(dense)'),
    ("all(e.phase == fwd for e in dense.grad)", 'all(e.phase == "forward" for e in dense.grad)'),
    ("{e.dtype for e in dense} == {bf16}", '{e.dtype for e in dense} == {"bf16"}'),
    # numbers of several things, numbers as texts, JAX's words for types
    ("dense.inputs.bytes > 9", "sum(v.bytes for v in dense.inputs) > 9"),
    ("dense[:2].flops", "sum(e.flops for e in dense[:2])"),
    ("dense.all.flops > 9", "dense.flops > 9"),
    ('dense[tanh].index == "2"', "dense[tanh].index == 2"),
    ("dense[tanh].position == 2", "dense[tanh].index == 2"),
    ("dense[tanh].kind != linear_algebra", 'dense[tanh].kind != "linear algebra"'),
    ('dense[tanh].type.dtype == "bf16"', 'dense[tanh].dtype == "bf16"'),
    ("dense[tanh].vma == ()", "dense[tanh].varying == ()"),
    ("dense.scan[scan].init", "dense.scan[scan].carry"),
    # JAX's own names
    ("dense.eqns[0].primitive == 'tanh'", 'dense[0].primitive == "tanh"'),
    ("dense.jaxpr.eqns[0].shape", "dense[0].shape"),
    ("dense.equations", "dense"),
    ("dense[tanh].invars[0].aval.shape == (1,)", "dense[tanh].inputs[0].shape == (1,)"),
    ("dense[tanh].outvars[0]", "dense[tanh].outputs[0]"),
    ("len(dense.constvars) == 0", "len(dense.consts) == 0"),
    ("dense.invars[0].ndim == 2", "len(dense.inputs[0].shape) == 2"),
    ("dense[tanh].primitive.name == 'tanh'", 'dense[tanh].primitive == "tanh"'),
    ("dense[tanh].name == 'tanh'", 'dense[tanh].primitive == "tanh"'),
    ("all(e.prim != 'cos' for e in dense)", 'all(e.primitive != "cos" for e in dense)'),
    ("dense[tanh].users", "dense[tanh].uses"),
    ("dense[lax.tanh]", "dense[tanh]"),
    ("dense[jnp.matmul].shape", "dense[dot_general].shape"),
    ("dense[where]", "dense[select_n]"),
    ("dense[Tanh]", "dense[tanh]"),
    ("dense[dot general]", "dense[dot_general]"),
    ("dense['dot-general']", "dense[dot_general]"),
    # attributes, methods, functions of other languages
    ("dense.ops == ['tanh']", 'ops(dense) == ["tanh"]'),
    ("dense.len == 3", "len(dense) == 3"),
    ("len dense == 3", "len(dense) == 3"),
    ("dense[tanh].count == 1", "len(dense[tanh]) == 1"),
    ("dense.count(tanh) == 1", "len(dense[tanh]) == 1"),
    ("count(dense[tanh]) == 1", "len(dense[tanh]) == 1"),
    ("dense.tanh.shape", "dense[tanh].shape"),
    ("dense.x.shape", "dense.inputs[x].shape"),
    ("dense.inputs.x.shape", "dense.inputs[x].shape"),
    ("dense.first.shape", "dense[0].shape"),
    ("dense['tanh'].in", 'dense["tanh"].inputs'),
    ("shape(dense[tanh]) == (32, 64)", "dense[tanh].shape == (32, 64)"),
    ("dense[tanh].dtype.startswith('b')", 'dense[tanh].dtype[:1] == "b"'),
    ("any(map(lambda e: e.shape, dense))", "any(e.shape for e in dense)"),
    ("len(dense) is 3", "len(dense) == 3"),
    ("len(dense) is not 4", "len(dense) != 4"),
    ("len(dense) === 3", "len(dense) == 3"),
    ("len(dense) <> 4", "len(dense) != 4"),
    ("len(dense) ≥ 3", "len(dense) >= 3"),
    ("len(dense) = 3", "len(dense) == 3"),
    ("dense[tanh] && dense[add]", "dense[tanh] and dense[add]"),
    ("dense[tanh] || dense[add]", "dense[tanh] or dense[add]"),
    ("!dense[cos]", "not dense[cos]"),
    ("~dense[cos]", "not dense[cos]"),
    ("assert len(dense) == 3", "len(dense) == 3"),
    ("len(dense) == '3'", "len(dense) == 3"),
    ("jax > 0.10", 'jax > "0.10"'),
    ("jax >= 0.10.2", 'jax >= "0.10.2"'),
    ("jax.__version__ >= '0.7'", 'jax >= "0.7"'),
    # parameters, variants
    ("dense.scan[scan].params.length == 4", "dense.scan[scan].params[length] == 4"),
    ("dense.scan[scan].params(length) == 4", "dense.scan[scan].params[length] == 4"),
    ("dense.scan[scan][length] == 4", "dense.scan[scan].params[length] == 4"),
    ("dense.grad.backward", "dense.grad.transpose"),
    ("dense.grad(argnums=0)[tanh].shape", "dense.grad[tanh].shape"),
    ("grad(dense)[tanh].shape", "dense.grad[tanh].shape"),
    ("jax.grad(dense)[tanh].shape", "dense.grad[tanh].shape"),
    ("len(dense.remat.grad[tanh]) == 1", ""),  # both exist: `dense.remat` has no `grad`
    ("dense.scan[scan].jaxpr.eqns[0].shape", "dense.scan[scan].jaxpr[0].shape"),
    # equations and values
    ("dense[tanh].inputs[0] == dense[add]", "dense[tanh].inputs[0] == dense[add].outputs[0]"),
    ("dense[add] == dense[tanh].inputs[0]", "dense[add].outputs[0] == dense[tanh].inputs[0]"),
    ("dense[tanh, add]", '[e for e in dense if e.primitive in ("tanh", "add")]'),
]


@pytest.mark.parametrize(("text", "proposal"), NAIVE)
def test_what_to_write_is_proposed(text: str, proposal: str) -> None:
    message = refused(text)
    if proposal:
        assert f"rite `{proposal}`" in message or message.endswith(f"`{proposal}`"), message
        judge(proposal, scope())


def test_an_operand_is_read_by_what_reads_it() -> None:
    proposal = "dense[add].outputs[0] in dense[tanh].inputs"
    if "reads" in FUNCTIONS:
        proposal = "reads(dense[tanh], dense[add])"
    message = refused("dense[add] in dense[tanh].inputs")
    assert "an equation is not a value" in message
    assert f"write `{proposal}`" in message


def test_lists_of_names_give_way_to_what_to_write() -> None:
    assert refused("dense[tanh].dtype == bf16") == (
        'there is no block `bf16`; write `dense[tanh].dtype == "bf16"`'
    )
    assert refused("len(dense) is 3").startswith("`is` (compare with `==`) can't be used here; ")
    assert "did you mean `transpose`? Write" in refused("dense.grad.bwd")
    assert "round" not in refused("count(dense[tanh]) == 1")


def test_a_path_inside_a_directive_is_proposed_as_such() -> None:
    with pytest.raises(PathError, match=re.escape("rite `grad.forward[0]`")):
        resolve_equation("grad.fwd[0]", scope(), "dense")
    with pytest.raises(PathError, match=re.escape("write `[-1]`")):
        resolve_equation(".last", scope(), "dense")


def test_what_a_role_refuses_is_not_proposed() -> None:
    with pytest.raises(PathError) as raised:
        resolve_block("dense.tanh.eqns", scope())
    assert "write" not in raised.value.message
    with pytest.raises(PathError, match=r"write `dense\.grad`"):
        resolve_block("dense.grad.jaxpr", scope())


def test_of_several_equations_the_message_says_which_is_which() -> None:
    message = refused("dense.grad[dot_general].shape")
    equations = evaluate("dense.grad[dot_general]", scope()).value.members()
    assert f"has {len(equations)}: write `dense.grad[dot_general][0].shape`" in message
    first = equations[0]
    assert f"[0] is {first.phase}, line {first.source[1]}: {first.text.split('=')[0]}" in message
    phases = [equation.phase for equation in equations]
    alone = [phase for phase in phases if phases.count(phase) == 1]
    for phase in alone:
        assert f"`dense.grad.{phase}[dot_general].shape`" in message
    assert bool(alone) == (", or `dense.grad." in message)


def test_what_nothing_has_is_not_asked_of_the_first_of_several() -> None:
    message = refused("dense.grad[dot_general].fuu")
    assert "has no `.fuu`" in message
    assert "exactly one" not in message


def test_attributes_that_a_value_refuses_are_not_proposed() -> None:
    assert "did you mean" not in refused("dense.inputs[x].tex")
    assert "did you mean `text`" in refused("dense[tanh].tex")


def test_paths_with_keywords_can_be_pasted() -> None:
    loop = lesson.block("loop", _loop, (1.0,))
    inner = lesson.block("loop.jit", jax.jit(_loop), (1.0,), base=loop)
    programs = Scope({"loop": loop, "loop.jit": inner})
    for text, path in (
        ("loop[while].shape", 'loop["while"].shape'),
        ("'while' in loop", '"while" in ops(loop)'),
        ("loop == 'while'", "ops(loop)"),
        ("loop.jit['while'].shape", 'loop.jit.all["while"]'),
    ):
        with pytest.raises(PathError) as raised:
            judge(text, programs)
        assert f"`{path}`" in raised.value.message
        evaluate(path, programs)


def _loop(x: Any) -> Any:
    return jax.lax.while_loop(lambda c: c < 5, lambda c: c + 1, x)


def test_a_proposal_names_only_what_there_is() -> None:
    for text in ("dense[tanh].nbytes == 4", "prod(dense[tanh].shape) == 4", "dense[tanh] before 3"):
        for span in _quoted(refused(text)):
            used = set(re.findall(r"\.([a-z_]+)", span)) - {"grad", "nbytes"}
            assert not used & {"bytes", "size", "index"} - {*OF_EQUATIONS, *OF_VALUES}


def test_long_and_deep_texts_have_no_proposal() -> None:
    assert [*candidates("dense.eqns + " * 40 + "1", scope())] == []
    assert [*candidates("not " * 120 + "dense.eqns", scope())] == []
    assert [*candidates("(" * 5000, scope())] == []
    assert all(len(c) <= MAX_PROPOSAL for c in candidates("dense" + ".eqns" * 50, scope()))


# -- whatever a message proposes

RIGHT = [
    "len(dense.grad[mul]) == 2",
    "dense.grad.transpose[dot_general].shape == (64, 64)",
    "dense.scan[scan].jaxpr[tanh].dtype == 'bf16'",
    "dense[add].inputs[1].origin == 'equation'",
    "'tanh' in ops(dense.vmap) and not dense[cos]",
    "all(e.phase != 'tangent' for e in dense.grad)",
    "dense.scan[scan].params[length] == 4",
    "dense.inputs[w].shape == dense.grad.outputs[0].shape",
    "same(dense.vmap_all, dense) or dense.jit[jit].jaxpr[tanh].uses == 0",
    "sum(len(e.inputs) for e in dense.all) > 4",
    "jax >= '0.7' and dense[0].line > 0",
    "dense.remat_grad.all[tanh][0].outputs.dtype",
]
_WRONG = {
    "shape": "ndim", "inputs": "invars", "transpose": "backward", "primitive": "name",
    "outputs": "output", "len": "count", "dense": "dens", "params": "attrs", "==": "=",
    "and": "&&", "not": "!", "tanh": "jnp.tanh", "mul": "multiply", "add": "plus", "(": "[",
}  # fmt: skip


def _misspelt(text: str, chance: random.Random) -> tuple[str, str]:
    """An expression with one slip, and the word that is wrong."""
    words = [*re.finditer(r"[A-Za-z_]{2,}|==", text)]
    word = chance.choice(words)
    old = word[0]
    at = chance.randrange(len(old))
    new = chance.choice(
        [
            _WRONG.get(old, old[:at] + old[at + 1 :]),
            old[:at] + old[at + 1 :],
            old[:at] + old[at] + old[at:],
            old[: at - 1] + old[at - 1 : at + 1][::-1] + old[at + 1 :] if at else old.upper(),
            old[:at] + chance.choice("abcdexyz_") + old[at + 1 :],
        ]
    )
    changed = text[: word.start()] + new + text[word.end() :]
    return changed.replace("'", "") if chance.random() < 0.1 else changed, new


def _quoted(message: str) -> list[str]:
    return re.findall(r"`([^`]+)`", message)


def _proposed(message: str, text: str, wrong: str) -> Iterator[str]:
    """What a message proposes, each as a whole expression."""
    for clause in re.findall(r"did you mean ([^?]*)\?|; nearest: ([a-z_]+) \(", message):
        for word in _quoted(clause[0]) or filter(None, [clause[1]]):
            if "..." not in word and "(" not in word:
                word = word.removeprefix(".")
                is_path = "[" in word or word.partition(".")[0] in scope().blocks
                yield word if is_path and "." in word else text.replace(wrong, word, 1)
    for span in _quoted(message):
        try:
            tree = ast.parse(span, mode="eval").body
        except SyntaxError:
            continue
        is_bare = isinstance(tree, (ast.Name, ast.Constant, ast.List))
        if not is_bare and span not in text and "..." not in span and ".label." not in span:
            yield span


def test_proposals_are_never_refused() -> None:
    chance = random.Random(14)
    tried = set()
    for _ in range(200):
        text, wrong = _misspelt(chance.choice(RIGHT), chance)
        try:
            judge(text, scope())
            continue
        except PathError as error:
            message = error.message
        for proposal in _proposed(message, text, wrong):
            tried.add(proposal)
            try:
                evaluate(proposal, scope())
            except PathError as error:
                assert error.message != message, (text, proposal)
                head = message.partition(";")[0].partition(",")[0]
                assert not error.message.startswith(head), (text, message, proposal, error.message)
    assert len(tried) > 20


def test_proposed_primitives_are_those_that_jax_prints() -> None:
    assert primitives_of("softmax") == ("reduce_max", "exp", "reduce_sum", "div")
    assert "JAX prints `reduce_max`, `exp`, `reduce_sum` and `div`" in refused("dense[softmax]")
    assert "; JAX prints `reduce_sum` and `div` for it" in refused("'mean' in ops(dense)")


def test_a_count_says_what_is_inside() -> None:
    from sphinx_jaxpr.program.query.explain import explain

    there = evaluate("len(dense.remat_grad.all[mul])", scope()).value
    own = evaluate("len(dense.remat_grad[mul])", scope()).value
    text = explain(f"len(dense.remat_grad[mul]) == {there}", scope())
    path = "`dense.remat_grad.all[mul]`"
    assert (f"at any depth it is {there}: {path}" in text) or not own
    assert path in text


def test_the_program_of_an_equation_is_named() -> None:
    assert refused("dense.scan[scan].body").endswith("; it holds `dense.scan[scan].jaxpr`")
    assert refused("dense.scan[scan].call_jaxpr").endswith("it holds `dense.scan[scan].jaxpr`")


def test_an_equation_lists_only_words_that_it_has() -> None:
    message = refused("dense[tanh].zzz")
    assert "flops" in message
    assert "carry" not in message


def test_nothing_is_compared_with_itself() -> None:
    assert "write" not in refused("dense[tanh].kind != dense[tanh].primitive")
