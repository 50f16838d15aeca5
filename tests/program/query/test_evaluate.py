"""Values of expressions on the lesson's programs, and the lesson's claims."""

from __future__ import annotations

import random
import re
import sys
from typing import Any

import jax
import pytest

from sphinx_jaxpr.program.query import base
from sphinx_jaxpr.program.query.base import words
from sphinx_jaxpr.program.query.evaluate import (
    PathError,
    Scope,
    evaluate,
    resolve_block,
    resolve_equation,
)
from tests.program.lesson import NEW_TANH, scope

VERSION = tuple(int(part) for part in jax.__version__.split(".")[:2])
MODERN = pytest.mark.skipif(VERSION < (0, 10), reason="judged on JAX 0.10.2 and 0.12")


def value(text: str) -> Any:
    return evaluate(text, scope()).value


def refused(text: str, **given: str) -> str:
    with pytest.raises(PathError) as raised:
        resolve_equation(text, scope(), **given) if given else evaluate(text, scope())
    assert raised.value.offset >= 0, raised.value
    return raised.value.message


# The claims of the lesson that a jaxpr can judge: number, claim, true on 0.10, on 0.12.
BATCHED = "v.shape[0] == 8 and len(v.shape) > 1"
BODY = "dense.remat_grad[remat2].jaxpr"
SHARD = "dense.shard_map[shard_map].jaxpr"
CLAIMS = [
    ("C3", "len(dense[tanh].outputs) == 1 and all(len(e.outputs) == 1 for e in dense)", 1, 1),
    ("C4", 'all(v.shape != None and v.dtype != "" for e in dense.grad for v in e.inputs)', 1, 1),
    (
        "C5",
        "len(dense.grad) > len(dense) and len(dense.vmap) == len(dense)"
        " and same(dense.scan[scan].jaxpr[:], dense[:])",
        0,
        0,
    ),
    (
        "C6",
        "[v.shape for v in dense.inputs] == [(32, 64), (64, 64), (64,)]"
        ' and {v.dtype for v in dense.inputs} == {"bf16"}',
        1,
        1,
    ),
    ("C9", "dense.plain_grad.error.type != 'TypeError'", 0, 0),
    ("C9 told right", '"scalar" in dense.plain_grad.error.message', 1, 1),
    ("C10", "same(dense.grad[:4], dense)", 1, 1),
    ("C10 by match", "len(dense.grad.kept) == len(dense) and not dense.grad.removed", 1, 1),
    ("C11", "len(dense) == 4 and len(dense.grad) == 15", 1, 0),
    ("C11 on 0.12", "len(dense) == 4 and len(dense.grad) == 13", 0, 1),
    (
        "C11 after",
        'not any(e.phase == "transpose" for e in dense.grad[:len(dense.grad.forward)])',
        1,
        1,
    ),
    ("C12", "len(dense.grad.transpose[transpose]) == 1", 1, 1),
    (
        "C13",
        "dense.grad[transpose].inputs[0] == dense.grad.transpose[dot_general].outputs[0]",
        1,
        1,
    ),
    ("C14", "len(dense.grad[mul]) > 0 and len(dense.grad[sub]) > 0", 1, 0),
    ("C14 in text", '"mul" in ops(dense.grad) and "sub" in ops(dense.grad)', 1, 0),
    ("C15 squared", "any(e.primitive == 'one_minus_square' for e in dense.grad)", 0, 1),
    ("C16", "all(e.phase == 'transpose' for e in dense.grad[tanh].uses)", 0, 0),
    ("C16 follows", "dense.grad[4] in dense.grad[tanh].uses", 1, 1),
    ("C17", "len(dense.grad[add_any]) == 1", 1, 0),
    ("C18", "dense.grad[tanh].inputs[0].uses > 1", 0, 0),
    ("C19", "len(dense.grad[mul]) == 2", 1, 0),
    ("C20", f"all({BATCHED} for v in dense.vmap.variables)", 0, 0),
    ("C20 told right", f"sum({BATCHED} for v in dense.vmap.variables) == 4", 1, 1),
    ("C20 of 8", "len(dense.vmap.variables) == 8", 1, 1),
    ("C21", "ops(dense.vmap) == ops(dense)", 0, 0),
    ("C21 all mapped", "ops(dense.vmap_all) == ops(dense)", 1, 1),
    ("C22", "len(dense.vmap[dot_general]) == len(dense.vmap[tanh]) == 1", 1, 1),
    (
        "C22 axis",
        "dense.vmap[dot_general].params[dimension_numbers][0][0] == (2,)"
        " and dense[dot_general].params[dimension_numbers][0][0] == (1,)",
        1,
        1,
    ),
    ("C23", "set(ops(dense.vmap)) <= set(ops(dense))", 1, 1),
    ("C24", "all(len(v.shape) == 3 for e in dense.vmap for v in e.inputs)", 0, 0),
    ("C25", "len(dense.vmap.reshaped) == len(dense.vmap) and not dense.vmap.added", 0, 0),
    (
        "C25 told right",
        "len(dense.vmap.reshaped) == 3 and ops(dense.vmap.added) == ['broadcast_in_dim']",
        1,
        1,
    ),
    ("C26", "len(dense.scan) == 1 and ops(dense.scan[scan].jaxpr) == ops(dense)", 1, 1),
    ("C27", "same(dense.scan[scan].jaxpr[:], dense[:])", 1, 1),
    ("C28", "dense.scan[scan].inputs[1] == dense.scan.inputs[x]", 1, 1),
    ("C28 out", "dense.scan[scan].outputs[0] == dense.scan.outputs[0]", 1, 1),
    ("C29", "dense.scan[scan].params[length] == 4", 1, 1),
    ("C29 carry", '"num_carry" in dense.scan[scan].params', 1, 0),
    ("C30", "not dense.remat[remat2]", 0, 0),
    ("C30 told right", "dense.remat[remat2].params[differentiated] == False", 1, 1),
    ("C31", f"len({BODY}.recomputed) > 0", 1, 1),
    ("C32", f"len({BODY}) == len({BODY}.recomputed)", 0, 0),
    ("C32 body", f"len({BODY}) == 10", 1, 0),
    ("C33", f"same({BODY}, dense)", 0, 0),
    ("C33 before", "same(dense.remat[remat2].jaxpr, dense)", 1, 1),
    (
        "C34",
        "[v.origin for v in dense.remat_grad[remat2].inputs]"
        " == ['input', 'input', 'input', 'equation']",
        1,
        1,
    ),
    ("C34 unused", "dense.remat_grad[remat2] not in dense.remat_grad[tanh].uses", 1, 1),
    ("C35", "len(dense.remat[remat2].params[jaxpr]) == 4", 1, 1),
    ("C36", f"all(v.shape[0] == 4 for v in {SHARD}.variables)", 0, 0),
    (
        "C36 of x",
        f"{SHARD}[tanh].shape == (4, 64) and dense.shard_map.inputs[x].shape[0] == 32",
        1,
        1,
    ),
    ("C37", f'"pbroadcast" in ops({SHARD})', 1, 1),  # an old name of pvary
    ("C37 told right", f"len({SHARD}[pvary]) == 2", 1, 1),
    ("C38", 'not any("psum" in name for name in ops(dense.shard_map.all))', 1, 1),
    (
        "C39",
        "len(dense.grad[mul]) > 0 and len(dense.grad[sub]) > 0 and len(dense.grad[transpose]) > 0",
        1,
        0,
    ),
    ("C40", "same(dense.vmap, dense)", 0, 0),
    ("C41", "all(v.shape[0] == 8 for v in dense.vmap.variables)", 0, 0),
    ("C41 second", "len(dense.scan[scan].jaxpr) == 4", 1, 1),
]


@MODERN
@pytest.mark.parametrize(("claim", "text", "on_10", "on_12"), CLAIMS)
def test_claims_of_the_lesson(claim: str, text: str, on_10: int, on_12: int) -> None:
    assert evaluate(text, scope()).is_true is bool(on_12 if NEW_TANH else on_10), claim


def test_no_claim_is_too_much_for_an_older_jax() -> None:
    for _, text, *_ in CLAIMS:
        try:
            evaluate(text, scope())
        except PathError as error:
            assert error.message


@MODERN
@pytest.mark.parametrize(
    "text",
    [
        '"input_shape" in hoisted[reduce_sum].params',
        '"linear" in choose[cond].params',
        'hoisted.consts[0].dtype == "f32"',
        '"linear" in dense.scan[scan].params',
        '"backend" in dense.jit[jit].params or "device" in dense.jit[jit].params',
        'any("*" in e.text for e in dense.grad)',
    ],
)
def test_false_sentences_of_an_executed_page(text: str) -> None:
    assert evaluate(text, scope()).value is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 + 3 * 4 - 1", 13),
        ("7 // 2 + 7 % 4 + 2 ** 3", 14),
        ("7 / 2", 3.5),
        ("-(2) + +3", 1),
        ("abs(-3) + round(2.6) + round(2.25, 1)", 8.2),
        ("min(3, 1, 2) + max([4, 5])", 6),
        ("sum([1, 2, 3]) + sum(n * n for n in [1, 2])", 11),
        ("sorted([3, 1, 2])", (1, 2, 3)),
        ("sorted({'b', 'a'})", ("a", "b")),
        ("[1, 2] == (1, 2)", True),
        ("[1] + [2] == [1, 2] and [0] * 3 == [0, 0, 0]", True),
        ("{1, 2} - {2} | {3} == {1, 3}", True),
        ("{1} < {1, 2} and not {1, 3} <= {1, 2}", True),
        ("set() == set([])", True),
        ("1 < 2 < 3 and not 1 < 3 < 2", True),
        ("2 in [1, 2] and 3 not in {1, 2} and 'an' in 'tanh'", True),
        ("any(n > 1 for n in [1, 2]) and all([]) and not any([])", True),
        ("[n for n in [1, 2, 3, 4] if n % 2 == 0 if n > 2]", (4,)),
        ("[(a, b) for a in [1, 2] for b in [a]]", ((1, 1), (2, 2))),
        ("[a + b for a, b in [(1, 2), (3, 4)]]", (3, 7)),
        ("{n % 2 for n in [1, 2, 3]}", frozenset({0, 1})),
        ("[1, 2, 3][1:] + [1, 2, 3][-1:]", (2, 3, 3)),
        ("'tanh'[0] + 'x' * 3", "txxx"),
        ("len('four') == len([1, 2, 3, 4]) == len({1, 2, 3, 4})", True),
        ("None == None and 1 != None", True),
        ("0 or [] or ''", False),
    ],
)
def test_plain_values(text: str, expected: Any) -> None:
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "division by zero"),
        ("9**9**9", "too large"),
        ("2**255 * 2**255", "too large"),
        ("1e308 * 10", "is not finite"),
        ("(-1) ** 0.5", "is not finite"),
        ("2.0 ** 99999", "too large"),
        ("'a' * 10**9", "longer than 100,000"),
        ("[0] * 10**9", "longer than 20,000"),
        ("'%9999999d' % 1", "`%` can't be used on the text"),
        ("1 + 'a'", '`+` can\'t be used on a number and the text "a"'),
        ("1 < 'a'", "can't compare a number with the text"),
        ("[1] < 2", "can't compare a list with a number"),
        ("[1] < ['a']", "can't compare"),
        ("sorted([1, 'a'])", "`sorted` can't be used"),
        ("min([])", "of an empty list"),
        ("min(dense)", "`min` takes numbers or texts, not `dense[0]` (an equation)"),
        ("sum(dense)", "`sum` adds numbers"),
        ("sum([1e308] * 10)", "is not finite"),
        ("abs('a')", "`abs` takes a number"),
        ("round(1, 10**9)", "number of digits"),
        ("len()", "`len` takes 1 argument, not 0"),
        ("same(dense)", "`same` takes 2 arguments, not 1"),
        ("len(3)", "`len` takes a list or a program, not a number"),
        ("ops([1])", "`ops` takes a program or equations"),
        ("same(dense, 1)", "`same` compares programs"),
        ("[a for a in 3]", "`for` takes a list"),
        ("[a for a, b in [1]]", "cannot unpack a number into 2 names"),
        ("[1, 2][5]", "there is no `[5]`"),
        ("[1, 2]['a']", "takes a position in brackets"),
        ("[1, 2][::0]", "can't be 0"),
        ("dense[::0]", "can't be 0"),
        ("dense[1.5]", "brackets take a word, a number or a slice"),
        ("dense['a':]", "a slice takes numbers"),
        ("(1).real", "a number has no `.real`"),
        ("-dense", "a sign cannot precede"),
        ("len", "`len` is a function"),
        ("mul", 'the primitive is written `"mul"`'),
        ("dens", "there is no block `dens`, did you mean `dense`"),
        ("q_q", "there is no block `q_q` (blocks: "),
        ("dense == 4", "did you mean `len(dense)`"),
        ("dense[tanh].outputs[0] == 'd'", "letters of variables change"),
        ("dense == dense.grad", "compare with `same(dense, dense.grad)`"),
        ("'tanh' in dense", '`"tanh" in ops(dense)`'),
        ("1 in 'abc'", "`in` a text takes a text"),
        ("jax >= 0.12", 'compares with a text, as in `jax >= "0.12"`'),
        ('jax == "new"', 'is not a version such as "0.12"'),
        ("numpy", "there is no block `numpy`"),
    ],
)
def test_errors(text: str, message: str) -> None:
    assert message in refused(text)


def test_work_is_bounded() -> None:
    nested = " ".join(f"for a{n} in dense" for n in range(60))
    for text in (
        f"[1 {nested}]",
        "[a for a in [(1,) * 9999] for b in [(a,) * 9999] for c in [(b,) * 9999] if c == c]",
        "{c for a in [(1,) * 9999] for b in [(a,) * 9999] for c in [(b,) * 9999]}",
        "[" + " + ".join(["'x' * 99"] * 40) + " for a in [0] * 20000 for b in [0] * 20000]",
        "all(e == f for a in [0] * 20000 for e in dense for f in dense[0:1] if e in dense)",
    ):
        assert "takes more than 100,000 steps" in refused(text)


def test_versions() -> None:
    versions = {"jax": "0.10.2", "python": "3.11.9"}
    here = Scope({}, versions)
    for text in (
        'jax >= "0.10"',
        'jax > "0.9.9"',
        '"0.7" <= jax < "0.12"',
        'jax == "0.10.2.0" and jax != "0.10"',
        'jax in ("0.10.2", "0.12")',
        'python >= "3.11"',
    ):
        assert evaluate(text, here).value is True, text
    with pytest.raises(PathError, match="version of `jaxlib` is not known"):
        evaluate('jaxlib > "1"', here)
    order = ["0.12.0.dev1", "0.12.0a1", "0.12.0rc2", "0.12", "0.12.0.post1", "0.12.0.1", "0.12.1"]
    assert sorted(order, key=base.version) == order


def test_messages_are_short() -> None:
    assert len(refused("dense['a' * 99999]")) < 1100
    assert len(refused("dense.inputs['a' * 99999]")) < 1100
    assert len(refused("jax > 'a' * 99999")) < 1100


def test_hints_and_sides() -> None:
    result = evaluate("len(dense.jit[pjit].jaxpr) == 5", scope())
    assert result.sides == (("len(dense.jit[pjit].jaxpr)", 4), ("5", 5))
    assert not result.is_true
    if VERSION >= (0, 10):
        assert result.hints == ("the primitive `pjit` is `jit` here",)
        assert evaluate("dense.shard_map.all[pbroadcast]", scope()).hints == (
            "the primitive `pbroadcast` is `pvary` here",
        )
        assert evaluate("dense.remat[checkpoint].jaxpr[tanh]", scope()).hints
    assert not evaluate("dense.jit.all[tanh]", scope()).hints


def test_notes_start_inside_their_directive() -> None:
    def path(text: str) -> str:
        return resolve_equation(text, scope(), inside="dense")[0].path

    assert path("[tanh]") == "dense[tanh]"
    assert path("grad[tanh]") == "dense.grad[tanh]"
    assert path("grad.transpose[dot_general]") == "dense.grad.transpose[dot_general]"
    assert path(" scan[scan] .jaxpr[tanh]") == "dense.scan[scan].jaxpr[tanh]"
    assert path("dense.grad[tanh]") == path("grad[tanh]")
    assert path("[3]") == "dense[3]"
    assert path(".all[tanh]") == path("all[tanh]") == "dense.all[tanh]"
    assert path("vmap.added") == "dense.vmap.added"
    for text, message in (
        ("grd[tanh]", "did you mean `grad`"),
        ("[tanhh]", "`dense` has no equation `tanhh`; nearest: tanh (1)"),
        ("grad[convert_element_type]", "is 3 equations: choose one, as in"),
        ("grad", "is a program, not one equation"),
        ("len(dense)", "this is a number, not one equation"),
        ("scan[tanh]", "1 further inside: `dense.scan.all[tanh]`"),
        ("[while]", '["while"]'),
    ):
        assert message in refused(text, inside="dense")


def test_blocks() -> None:
    assert resolve_block("dense.grad", scope()).block.name == "dense.grad"
    with pytest.raises(PathError, match="not a block"):
        resolve_block("dense[tanh]", scope())
    with pytest.raises(PathError, match="no variant or attribute `grd`, did you mean `grad`"):
        resolve_block("dense.grd", scope())


# -- fuzz ---------------------------------------------------------------------------------

_SEEDS = [text for _, text, *_ in CLAIMS] + [
    'loop["while"].cond_jaxpr[lt]',
    "twice.all[sin].calls",
    "choose[cond].branches[0]",
    "[len(dense[p]) for p in sorted(set(ops(dense)))]",
    '"0.7" <= jax < "0.12"',
    "dense.grad.all[mul].calls",
]
_PIECES = """dense . grad [ ] ( ) mul tanh 0 -1 : , == < in not and or for e v len( all( any( set(
 sum( min( max( sorted( abs( round( ops( same( .shape .dtype .params[ .inputs .outputs .uses .text
 .line .phase .origin .consts .effects .variables .added .reshaped .kept .removed .error .type
 .message jax jaxlib "0.12" 'a' ** * // % + - | & ^ {1, [0]*9 999999 1e300 None True .all .jaxpr
 .branches lambda __class__ .__dict__ eval( open( import \u00e9 \0 \\ # ; \n := @ ~ >> f'{ b'' 1j
 twice choose loop scatter tree .calls .primitive .scan .remat_grad .plain_grad""".split(" ")


def fuzzed(count: int, seed: int = 0) -> list[str]:
    """Random and mutated expressions."""
    chance = random.Random(seed)
    texts = []
    for _ in range(count):
        kind = chance.randrange(5)
        if kind == 0:
            text = "".join(chance.choice(_PIECES) for _ in range(chance.randrange(1, 25)))
        elif kind == 1:
            text = " ".join(chance.choice(_PIECES) for _ in range(chance.randrange(1, 12)))
        elif kind == 2:  # other words, so that much of it has a value
            words_of = re.findall(r"\w+|\W", chance.choice(_SEEDS))
            for _ in range(chance.randrange(1, 3)):
                other = re.findall(r"\w+", chance.choice(_SEEDS))
                place = chance.randrange(len(words_of))
                if words_of[place].isalnum():
                    words_of[place] = chance.choice(other)
            text = "".join(words_of)
        else:
            text = chance.choice(_SEEDS)
            for _ in range(chance.randrange(1, 6)):
                start = chance.randrange(len(text) + 1)
                end = min(len(text), start + chance.randrange(6))
                middle = chance.choice([*_PIECES, chance.choice(_SEEDS), text[start:end] * 9])
                text = text[:start] + middle + text[end:]
        texts.append(text)
    return texts


def outcome(text: str) -> str:
    """``value`` or ``refused``; anything else escapes."""
    try:
        found = evaluate(text, scope())
    except PathError as error:
        assert error.message and error.offset >= 0
        return "refused"
    assert len(words(found.value)) <= base.MAX_SHOWN + 3
    return "value"


def test_fuzz() -> None:
    happened: list[str] = []
    listening = [False]

    def hook(event: str, _: object) -> None:
        if listening[0] and event in ("exec", "import", "open", "os.system", "subprocess.Popen"):
            happened.append(event)

    for text in _SEEDS:  # what is loaded at first use
        outcome(text)
    sys.addaudithook(hook)
    listening[0] = True
    try:
        outcomes = [outcome(text) for text in fuzzed(3000)]
    finally:
        listening[0] = False
    assert not happened
    assert outcomes.count("value") > 100
    for text in fuzzed(300, seed=1):
        try:
            resolve_equation(text, scope(), inside="dense")
        except PathError as error:
            assert error.offset >= 0


def test_control_characters_of_a_value_are_spelled_out() -> None:
    assert words("a\x1b[31m\x00") == "a\\x1b[31m\\x00"
