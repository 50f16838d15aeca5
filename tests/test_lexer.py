"""The Pygments lexer: whole jaxprs by their structure, fragments by their look."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pygments.token import Error, Keyword, Name, Number, Token, _TokenType

from sphinx_jaxpr.lexer import JaxprLexer

DATA = sorted((Path(__file__).parent / "program/data").glob("*.txt"))


def coloured(text: str) -> list[tuple[str, _TokenType]]:
    """The pieces of a text, checked to be all of it, without blanks and punctuation."""
    position = 0
    found = []
    for start, kind, value in JaxprLexer().get_tokens_unprocessed(text):
        assert start == position
        assert value
        assert kind is not Error
        position += len(value)
        assert text[start:position] == value
        if kind in Name or kind in Keyword or kind in Number:
            found.append((value, kind))
    assert position == len(text)
    return found


def test_the_names_of_the_lexer() -> None:
    assert JaxprLexer.name == "jaxpr"
    assert JaxprLexer.aliases == ["jaxpr"]
    assert JaxprLexer.mimetypes == ["text/x-jaxpr"]


EQUATION = [
    ("b", Name.Variable),
    ("f32[8]{V:x}", Keyword.Type),
    ("mul", Name.Function),
    ("x", Name.Attribute),
    ("1", Number),
    ("a", Name.Variable),
    ("2.0", Number),
    ("f32[]", Keyword.Type),
]


def test_an_equation_is_the_same_alone_and_in_a_program() -> None:
    equation = "b:f32[8]{V:x} = mul[x=1] a 2.0:f32[]"
    assert coloured(equation) == EQUATION
    program = coloured(f"{{ lambda ; a:i32[]. let {equation} in (b,) }}")
    assert program == [
        ("lambda", Keyword),
        ("a", Name.Variable),
        ("i32[]", Keyword.Type),
        ("let", Keyword),
        *EQUATION,
        ("in", Keyword),
        ("b", Name.Variable),
    ]


@pytest.mark.parametrize(
    ("fragment", "word", "kind"),
    [
        ("b:f32[] = mul a 2.0", "2.0", Number),
        ("b:f32[] = mul a 2.0", "mul", Name.Function),
        ("_:bf16[4,64] = tanh a", "_", Name.Variable),
        ("_:bf16[4,64] = tanh a", "bf16[4,64]", Keyword.Type),
        ("dot_general[\n  precision=None\n] a b", "precision", Name.Attribute),
        ("e:f32[] <- a[b,:]", "b", Name.Variable),
        ("  in (c,) }", "in", Keyword),
        ("let", "let", Keyword),
        ("{ lambda ; a:f32[2]", "lambda", Keyword),
        ("{ lambda ; a:f32[2]", "f32[2]", Keyword.Type),
    ],
)
def test_fragments_are_coloured_by_their_look(fragment: str, word: str, kind: _TokenType) -> None:
    assert (word, kind) in coloured(fragment)


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_all_of_a_text_is_covered(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert coloured(text)
    choose = random.Random(path.stem)
    for _ in range(100):
        start, end = sorted(choose.sample(range(len(text)), 2))
        coloured(text[start:end])
        coloured(text[:start] + choose.choice("\0\t\r\"'[]{}<§") + text[end:])


def test_pygments_needs_no_whole_program() -> None:
    kinds = {kind for kind, _ in JaxprLexer().get_tokens("b:f32[] = mul a 2.0\n")}
    assert Token.Error not in kinds
    assert Name.Function in kinds
