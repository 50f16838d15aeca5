"""Where reading a text stopped: nowhere in what JAX prints, else at the right place."""

from __future__ import annotations

from pathlib import Path

import pytest

from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.program.parser.unparsed import unread
from tests.program import corpus
from tests.program.parser.test_parser import NOT_UNDERSTOOD

pytestmark = pytest.mark.once

DATA = Path(__file__).parents[1] / "data"
HEAD = "{ lambda ; a:f32[]. let\n    b:f32[] = sin a\n"
END = "  in (b,) }"


@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("*.txt")))
def test_all_of_an_older_text_is_read(name: str) -> None:
    assert unread(parse((DATA / f"{name}.txt").read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "name", [*sorted(set(corpus.PROGRAMS) - set(NOT_UNDERSTOOD)), *map(str, range(40))]
)
def test_all_that_jax_prints_is_read(name: str) -> None:
    if name.isdigit():
        jaxpr = corpus.random_program(int(name))()
    elif missing := corpus.PROGRAMS[name].missing():
        pytest.skip(f"this JAX has no {missing}")
    else:
        jaxpr = corpus.PROGRAMS[name]()
    assert unread(parse(str(jaxpr))) == []


@pytest.mark.parametrize(
    ("text", "at", "says"),
    [
        ("print(1)", "print(1)", "expected a jaxpr, which begins like"),
        ("", "", "expected a jaxpr, which begins like"),
        ("{ lambda a. let in () }", "{ lambda", "no jaxpr begins at '{ lambda a. let in () }'"),
        (f">>> f\n{HEAD}{END}", ">>> f", "'>>> f' precedes the jaxpr"),
        (f"{HEAD}{END}\nthe end", "the end", "'the end' follows the jaxpr"),
        (f"{HEAD}{END}\n{HEAD}{END}", HEAD, "each jaxpr needs its own directive"),
        (f"{HEAD}    c == a\n{END}", "c == a", "'c == a' cannot be read as an equation"),
        (f"{HEAD}    c == a", "c == a", "'c == a' cannot be read as an equation"),
        (HEAD, "\n", "the end is missing"),
        (f"{HEAD}  in (b,", "in (b,", "the results end with `) }`, found 'in (b,'"),
        (f"let f = {HEAD}{END} in\n", " in", "no jaxpr follows the shared programs"),
    ],
)
def test_where_and_why(text: str, at: str, says: str) -> None:
    found = unread(parse(text))[0]
    assert says in found.message
    assert text.startswith(at, found.offset)
    assert found.offset == (text.rindex(at) if at and at != "{ lambda" else 0)


def test_nested_and_several() -> None:
    inner = "{ lambda ; c:f32[]. let d:f32[] = sin c; !x == c in (d,) }"
    text = f"{HEAD}    e:f32[] = jit[name=f jaxpr={inner}] b\n    !!\n{END}"
    assert [text[one.offset :][:2] for one in unread(parse(text))] == ["!x", "!!"]


@pytest.mark.parametrize("dots", ["...", "\u2026", "  ...", "...; ..."])
def test_dots_are_what_is_left_out(dots: str) -> None:
    assert unread(parse(f"{HEAD}    {dots}\n    c:f32[] = cos b\n    {dots}\n{END}")) == []
