"""The small language of options: what it reads, what it refuses and where."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest

from sphinx_jaxpr.tracing.grammar import (
    DTYPES,
    KEYS,
    Aval,
    Call,
    Chain,
    GrammarError,
    Name,
    Step,
    arguments,
    static,
    transforms,
)
from sphinx_jaxpr.tracing.lock import written
from sphinx_jaxpr.tracing.request import (
    RESERVED,
    RESERVED_LABELS,
    Request,
    check_chain,
    check_name,
    decode,
    encode,
    local_name,
)
from sphinx_jaxpr.tracing.specs import TRANSFORMS

pytestmark = pytest.mark.once

SPECS = {
    "f32[]": Aval("f32", ()),
    "bf16[32, 64]": Aval("bf16", (32, 64)),
    "key<fry>[2]": Aval("key<fry>", (2,)),
    "f8_e4m3fn[16]": Aval("f8_e4m3fn", (16,)),
    "3": 3,
    "-1.5e3": -1500.0,
    "2j": 2j,
    "None": None,
    "(f32[], 1)": (Aval("f32", ()), 1),
    "(f32[],)": (Aval("f32", ()),),
    "(f32[])": Aval("f32", ()),
    "[f32[2], [1]]": [Aval("f32", (2,)), [1]],
    "{w: f32[2], 'b': (1, 2), 3: 4}": {"w": Aval("f32", (2,)), "b": (1, 2), 3: 4},
    "{}": {},
    "()": (),
    "params.small": Name("params.small"),
    "helpers:linear": Name("helpers:linear"),
    "{w: a.b:C.d, s: jax.random:key(0)}": {"w": Name("a.b:C.d"), "s": Call("jax.random:key", (0,))},
    "make()": Call("make", ()),
    "Model(w=f32[2,3], b=[f32[3]])": Call(
        "Model", (), (("w", Aval("f32", (2, 3))), ("b", [Aval("f32", (3,))]))
    ),
    "opt.init({w: params}, 3, axis='x', flag=True, inner=Inner(f32[]),)": Call(
        "opt.init",
        ({"w": Name("params")}, 3),
        (("axis", "x"), ("flag", True), ("inner", Call("Inner", (Aval("f32", ()),)))),
    ),
    "(init(key<fry>[]), {s: init(-inf)})": (
        Call("init", (Aval("key<fry>", ()),)),
        {"s": Call("init", (-math.inf,))},
    ),
}


@pytest.mark.parametrize("text", SPECS)
def test_specs(text: str) -> None:
    assert arguments(text) == (("", SPECS[text]),)
    assert arguments(f" x = {text} ,\n") == (("x", SPECS[text]),)
    assert decode(json.loads(json.dumps(encode(SPECS[text])))) == SPECS[text]
    assert arguments(written(SPECS[text])) == (("", SPECS[text]),)


def test_every_dtype_is_a_spec() -> None:
    for dtype in (*DTYPES, *KEYS):
        assert arguments(f"{dtype}[2,3]") == (("", Aval(dtype, (2, 3))),)
        assert str(Aval(dtype, (2, 3))) == f"{dtype}[2,3]"


def test_separators_are_commas_and_lines() -> None:
    expected = (("", Aval("f32", ())), ("w", 1), ("b", 2))
    for text in (
        "f32[], w=1, b=2",
        "f32[]\nw=1\nb=2",
        "f32[],\nw=1,\n\nb=2,",
        "\nf32[] , w=1\nb=2",
    ):
        assert arguments(text) == expected
    assert arguments("") == arguments(" \n ") == ()


def test_static_values() -> None:
    text = "n=3, act=jax.nn.relu, 1=4, mode='a', flag=True, t=(1, 'x'), s=\"it's\""
    assert static(text) == (
        ("n", 3), ("act", Name("jax.nn.relu")), (1, 4), ("mode", "a"), ("flag", True),
        ("t", (1, "x")), ("s", "it's"),
    )  # fmt: skip


def test_chains_and_labels() -> None:
    text = "grad(argnums=w) | vmap(axis_size=8) as both, remat\nvmap(in_axes={x: 0, w: None})\njit"
    assert transforms(text) == (
        Chain((Step("grad", (("argnums", Name("w")),)), Step("vmap", (("axis_size", 8),))), "both"),
        Chain((Step("remat"),), "remat", 45),
        Chain((Step("vmap", (("in_axes", {"x": 0, "w": None}),)),), "vmap", 51),
        Chain((Step("jit"),), "jit", 81),
    )
    (chain,) = transforms("remat |\n grad")
    assert chain.label == "remat_grad"
    (chain,) = transforms('remat(policy=save_only_these_names("a", "b"))')
    assert chain.steps[0].options == (("policy", Call("save_only_these_names", ("a", "b"))),)


REFUSED: list[tuple[Any, str, str, int]] = [
    (arguments, "x=", "expected a value, found the end", 2),
    (arguments, "x y", "expected ',' before 'y'", 2),
    (arguments, "x=f32[-1]", "a dimension of f32[...] is a number", 2),
    (arguments, "x=f32[True]", "a dimension of f32[...] is a number", 2),
    (arguments, "f99[2]", "unknown dtype 'f99'", 0),
    (arguments, "float64[2]", "did you mean 'f64'?", 0),
    (arguments, "key<frt>[]", "did you mean 'key<fry>'?", 0),
    (arguments, "key<fry[]", "expected '>'", 7),
    (arguments, "(1, 2", "expected", 5),
    (arguments, "(1 2)", "expected ',' or ')', found '2)'", 2),
    (arguments, "{f32[2]: 1}", "a key is a name, a string or an integer", 1),
    (arguments, "{a 1}", "expected ':' after the key 'a'", 2),
    (arguments, "{a: 1 b: 2}", "expected ',' or '}', found 'b: 2}'", 5),
    (arguments, "x=1, x=2", "argument 'x' is given twice", 5),
    (arguments, "x='a'", "they belong in static", 0),
    (arguments, "x={a: [True]}", "they belong in static", 0),
    (arguments, "f(x=1, 2)", "f(...) is given an argument by position behind one by name", 6),
    (arguments, "f(x=1, x=2)", "f(...) is given 'x' twice", 6),
    (arguments, "f(1 2)", "expected ',' or ')', found '2)'", 3),
    (arguments, "f(1", "expected ',' or ')', found the end", 3),
    (arguments, "f(1).g(2)", "expected ',' before '.g(2)'; a call has no attributes here", 4),
    (arguments, "x={a: [True, f(True)]}", "they belong in static", 0),
    (arguments, "f(" * 60, "nested more than 40 deep", 80),
    (arguments, "lambda x: x", "options hold no code: define the function in a module", 0),
    (arguments, "x=1+1", "expected ',' before '+1'; options compute nothing", 3),
    (arguments, "x=1_", "'1_' is not a number", 2),
    (arguments, "x=`a`", "expected a value", 2),
    (arguments, "'unclosed", "expected a value", 0),
    (arguments, "[" * 60, "nested more than 40 deep", 40),
    (arguments, "a" * 10_001, "longer than 10000 characters", 10_000),
    (static, "n", "expected name=value or position=value", 0),
    (static, "n=f32[2]", "specs belong in args", 0),
    (static, "n=f(f32[2])", "'n' is a spec, f32[2]: specs belong in args", 0),
    (static, "n=a(b(c(d(e(1)))))", "has more than 4 calls inside each other", 0),
    (static, "n=1, n=2", "'n' is given twice", 5),
    (static, "a.b=2", "expected name=value", 0),
    (transforms, "grad |", "expected the name of a transform, found the end", 6),
    (transforms, "| grad", "expected the name of a transform", 0),
    (transforms, "grad(w)", "an option of 'grad' is written option=value", 5),
    (transforms, "grad(sum=True, sum=False)", "option 'sum' of 'grad' is given twice", 14),
    (transforms, "grad(sum=True", "expected ',' or ')' in the options of 'grad'", 13),
    (transforms, "grad as", "expected a label after 'as'", 7),
    (transforms, "grad vmap", "expected ',' before 'vmap'", 5),
    (transforms, "grad, 3", "expected the name of a transform, found '3'", 6),
]


# What people write from other languages, and what they mean.
SPELLED: list[tuple[Any, str, str, int]] = [
    (static, "act=lambda x: x", "options hold no code", 4),
    (arguments, "W[0]", "unknown dtype 'W'; an attribute takes no index here", 0),
    (arguments, "x: f32[128,64]", "expected ',' before ': f32[128,64]'; write x=f32[128,64]", 1),
    (arguments, "f32[], x: key<fry>[]", "; write x=key<fry>[]", 8),
    (arguments, "x: make", "a name is joined with '=', as in x=f32[8]", 1),
    (arguments, "x=jnp.float32[2]", "unknown dtype 'jnp.float32', did you mean 'f32'?", 2),
    (arguments, "F32[2]", "did you mean 'f32'?", 0),
    (arguments, "float[2]", "did you mean 'f32'?", 0),
    (arguments, "int[2]", "did you mean 'i32'?", 0),
    (arguments, "f8[2]", "did you mean 'f8_", 0),
    (arguments, "i31[2]", "did you mean 'i32'?", 0),
    (arguments, "bf32[2]", "did you mean 'bf16'?", 0),
    (arguments, "f32(2, 3)", "dimensions go in brackets, as in f32[2, 3]", 0),
    (arguments, "f32(n)", "dimensions go in brackets, as in f32[8,128]", 0),
    (arguments, "float('-inf')", "a call of float is not a spec; write -inf", 0),
    (static, 'x=float("Infinity")', "'x' is a call; write inf", 0),
    (arguments, "Ref[f32[3]]", "a mutable array is written Ref{f32[3]}", 0),
    (arguments, "Ref(f32[3])", "a mutable array is written Ref{f32[3]}", 0),
    (arguments, "ref{f32[3]}", "a mutable array is written Ref{f32[3]}", 3),
    (arguments, "f32[4]@a", "mesh axes follow a dimension, as in f32[4@a,8]", 6),
    (arguments, "f32[a@4]", "before @ is a dimension, as in f32[4@a,8]", 0),
    (arguments, "f32[@a,4]", "before @ is a dimension, as in f32[4@a,8]", 0),
]


@pytest.mark.parametrize(("parse", "text", "says", "offset"), [*REFUSED, *SPELLED])
def test_what_is_refused_and_where(parse: Any, text: str, says: str, offset: int) -> None:
    with pytest.raises(GrammarError) as caught:
        parse(text)
    assert says in str(caught.value)
    assert caught.value.offset == offset


def test_any_text_is_read_or_refused() -> None:
    pieces = [
        *"()[]{},:=|<>\"'\\ \n#+-.",
        "grad",
        "f(",
        "w=",
        "f32",
        "x",
        "3",
        "as",
        "1e",
        "é",
        "\0",
        "key<",
    ]
    chance = random.Random(7)
    for _ in range(3_000):
        text = "".join(chance.choices(pieces, k=chance.randrange(12)))
        for parse in (arguments, static, transforms):
            try:
                found = parse(text)
            except GrammarError as error:
                assert 0 <= error.offset <= len(text)
            else:
                values = [value for _, value in found] if parse is not transforms else []
                assert repr(decode(encode(values))) == repr(values)


def test_names() -> None:
    for name in ("dense", "grad", "_x", "x1"):
        assert check_name(name, "name") == ""
    for name in (*sorted(RESERVED), "while", "None", "3d", "a.b", "a-b", "größe", ""):
        assert check_name(name, "name") != "", name
        assert name in check_name(name, "name")
    assert local_name("pkg.mod:Class.method") == "method"
    assert local_name("pkg.mod:sum") == "sum_"
    assert local_name("pkg.mod:größe") == "gr__e"
    for target in ("m:ä", "m:1", "m:class", "m:λ", "m.f", ""):
        assert check_name(local_name(target), "name") == ""


def test_facts_of_the_language_are_no_labels() -> None:
    for name in sorted(RESERVED_LABELS):
        (chain,) = transforms(f"grad as {name}")
        assert f"label '{name}' is a reserved word, try '{name}_'" == check_chain(chain, {})
        assert check_name(name, "name") == "" and local_name(f"m:{name}") == name
    assert not RESERVED_LABELS & RESERVED


def test_transforms_are_checked_by_name_and_option() -> None:
    for name, transform in TRANSFORMS.items():
        for option in transform.options:
            (chain,) = transforms(f"{name}({option}=1)")
            assert check_chain(chain, {}) == ""
        (chain,) = transforms(f"{name}(wrong=1)")
        assert f"unknown option 'wrong' of {name!r}" in check_chain(chain, {})
    (chain,) = transforms("own(anything=1) | grda")
    assert "did you mean 'grad'?" in check_chain(chain, {"own": "a:b"})
    assert "unknown transform 'own'" in check_chain(chain, {})


def test_equal_requests_have_one_digest() -> None:
    def request(args: str, chain: str) -> Request:
        (found,) = transforms(chain)
        return Request("m:f", arguments(args), (), found.steps)

    one = request("x=f32[2,3]", "grad(argnums=x) as one")
    same = request(" x = f32[2, 3],", "grad( argnums = x ) as other")
    assert one.digest == same.digest
    assert Request.from_json(one.to_json()) == one
    assert request("x=f32[2,4]", "grad(argnums=x)").digest != one.digest
    assert request("x=f32[2,3]", "grad").digest != one.digest
    assert request("x=(1, 2)", "grad").digest != request("x=[1, 2]", "grad").digest
    assert request("x=1", "grad").digest != request("x=1.0", "grad").digest
