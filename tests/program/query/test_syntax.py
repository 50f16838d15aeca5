"""Reading expressions: what is allowed, what is not, and how that is said."""

from __future__ import annotations

import ast
import contextlib
import warnings

import pytest

from sphinx_jaxpr.program.query.blocks import PHASES
from sphinx_jaxpr.program.query.syntax import FUNCTIONS, MAX_CHARACTERS, VERSIONS, PathError, parse
from sphinx_jaxpr.program.query.values import OF_VALUES
from sphinx_jaxpr.program.query.views import OF_EQUATIONS, OF_PROGRAMS
from sphinx_jaxpr.program.renames import table
from sphinx_jaxpr.tracing.request import RESERVED, RESERVED_LABELS


@pytest.mark.parametrize(
    "text",
    [
        "dense",
        "dense.grad[mul][-1].shape",
        'dense["scatter-add"]',
        "dense[:4]",
        "dense[1:4:2]",
        "all(v.shape[0] == 8 for v in dense.variables if v.origin == 'equation')",
        "{e.dtype for e in dense} | {1}",
        "[a for a, b in [(1, 2)]]",
        "1 < 2 <= 3 and not 4 or -5 == +6",
        '"0.7" <= jax < "0.12"',
        "  dense \n\t [tanh]  ",
        "None",
        "\ufb01eld",
    ],
)
def test_what_is_allowed(text: str) -> None:
    expression = parse(text)
    assert expression.text == " ".join(text.split())
    assert isinstance(expression.body, ast.expr)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing"),
        (" \n", "missing"),
        ("dense[", "not a Python expression"),
        ("dense dense", "not a Python expression"),
        ("dense[while]", '`while` is a keyword of Python: write `["while"]`'),
        ("dense[cond].branches[0][ lambda ]", '["lambda"]'),
        ("dense = 4", "compare with `==`"),
        ("dense && jax", "`&&` is not Python: write `and`"),
        ("len(dense) || 1", "write `or`"),
        ("!dense", "write `not`"),
        ("lambda: 1", "a lambda can't be used here: allowed are paths"),
        ("(x := 4)", "an assignment"),
        ("1 if 2 else 3", "a conditional expression"),
        ("{1: 2}", "a dict"),
        ("{a: 1 for a in dense}", "a dict"),
        ("f'{dense}'", "an f-string"),
        ("[*dense]", "a `*`"),
        ("len(*dense)", "a `*`"),
        ("len(**dense)", "takes no named arguments"),
        ("sorted(dense, key=len)", "`sorted` takes no named arguments"),
        ("dense is None", "compare with `==`"),
        ("dense @ dense", "`@`"),
        ("1 << 9", "`<<`"),
        ("~1", "write `not`"),
        ("await dense", "await"),
        ("[a async for a in dense]", "async"),
        ("[1 for a.b in dense]", "`for` takes a name"),
        ("[1 for [a] in dense]", "`for` takes a name"),
        ("...", "can't be used here"),
        ("b'x'", "can't be used here"),
        ("1j", "can't be used here"),
        ("9" * 60, "too large"),
        ("0x" + "f" * 1000, "too large"),
        ("dense.__class__", "begins with `_`"),
        ("dense._block", "begins with `_`"),
        ("dense.keys()", "only functions can be called"),
        ("eval('1')", "there is no function `eval`"),
        ("lne(dense)", "did you mean `len`"),
        ("__import__('os')", "there is no function"),
        ("\0", "no"),
        ("\ud800", "no"),
    ],
)
def test_what_is_not(text: str, message: str) -> None:
    with pytest.raises(PathError) as raised:
        parse(text)
    assert message in raised.value.message
    assert 0 <= raised.value.offset <= len(text) + 1


@pytest.mark.parametrize(
    "text",
    [
        "a" * (MAX_CHARACTERS + 1),
        "a " * MAX_CHARACTERS * 3,
        "(" * 1000 + ")" * 1000,
        "[" * 150 + "]" * 150,
        "-" * 1500 + "1",
        "not " * 450 + "1",
        "+".join("a" * 900),
        "a" + ".b" * 900,
        "a" + "[0]" * 600,
        "1" + "**1" * 600,
        "".join(f"[a{n} for a{n} in " for n in range(60)) + "x" + "]" * 60,
    ],
)
def test_no_size_and_no_nesting_is_too_much(text: str) -> None:
    with pytest.raises(PathError):
        parse(text)


def test_limits_come_before_python_reads() -> None:
    assert parse("a" * MAX_CHARACTERS).text == "a" * MAX_CHARACTERS
    with pytest.raises(PathError, match="2001 characters; at most 2000 are allowed"):
        parse("a" * (MAX_CHARACTERS + 1))
    with pytest.raises(PathError, match="too long"):
        parse("(" * 10**6)


def test_odd_spellings_of_python_warn_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (r"'\d'", "1in [1]", "0x1for x in a", "1 == (1)"):
            with contextlib.suppress(PathError):
                parse(text)


def test_places_count_characters_not_bytes() -> None:
    expression = parse('"\u00e9\u00e9" == dense.grad[mul]')
    assert isinstance(expression.body, ast.Compare)
    right = expression.body.comparators[0]
    assert expression.offset(right) == 8
    assert expression.place(right) == 18
    assert expression.segment(right) == "dense.grad[mul]"


def test_no_label_hides_a_word_of_the_language() -> None:
    words = FUNCTIONS | VERSIONS | PHASES | set(OF_PROGRAMS) | {"jax", "in"}
    assert words <= RESERVED | RESERVED_LABELS
    assert {*OF_EQUATIONS, *OF_VALUES} <= RESERVED | RESERVED_LABELS | {"primitive"}


def test_renames() -> None:
    names = table()
    assert names.primitive("pjit", {"jit", "mul"}) == "jit"
    assert names.primitive("jit", {"pjit"}) == "pjit"
    assert names.primitive("mul", {"jit"}) == ""
    assert names.parameter("shard_map", "check_rep", {"check_vma"}) == "check_vma"
    assert names.parameter("pjit", "call_jaxpr", {"jaxpr"}) == "jaxpr"
    assert names.parameter("scan", "num_carry", {"ft_in", "ft_out"}) == ""
    assert "`ft_in` and `ft_out`" in names.hint("scan", "num_carry")
    assert "older" in names.hint("shard_map", "check_vma")
    assert "gone" in names.hint("cond", "linear")
    assert names.hint("cond", "branches") == ""
    groups = [name for group in names.primitives for name in group]
    assert len(groups) == len(set(groups))
