"""The named lines of pages: which a sentence means, which two have one name, which lets count."""

from __future__ import annotations

from sphinx.util.tags import Tags

from sphinx_jaxpr.ext.judging.names.lines import NamedLines, used_lets
from sphinx_jaxpr.ext.judging.names.tags import every_kind
from sphinx_jaxpr.ext.records import NamedLine, Statement

DOC = "api.py:docstring of api.f"


def line(
    kind: str,
    name: str,
    number: int,
    source: str = "p.md",
    only: str = "",
    when: str = "",
    text: str = "f",
) -> NamedLine:
    conditions = ((only,) if only else (), (when,) if when else ())
    return NamedLine(kind, name, (name,), text, source, number, *conditions)


def said(name: str, source: str = "p.md", only: str = "") -> Statement:
    return Statement("claim", "", name, source, 1, (only,) if only else (), named=(name,))


def is_kept(page: str, condition: str, source: str) -> bool:
    return condition == "yes"


def numbers(lines: list[NamedLine]) -> list[int]:
    return [each.line for each in lines]


PAGE = (
    line("claim", "a", 1),
    line("claim", "a", 2, DOC),
    line("claim", "b", 3, only="html"),
    line("claim", "b", 4, only="latex"),
    line("claim", "c", 5, when="yes"),
    line("claim", "c", 6, when="no"),
    line("let", "a", 7, text="b"),
    line("let", "b", 8, when="yes", text="a + c"),
    line("let", "a", 9, DOC, text="x"),
)


def test_a_sentence_means_lines_of_its_text_and_its_format() -> None:
    html = NamedLines({"p": PAGE}, Tags(["html"]))
    assert numbers(html.claims("p", said("a"))) == [1]
    assert numbers(html.claims("p", said("a", DOC))) == [2]
    assert numbers(html.claims("p", said("b"))) == [3]
    assert html.claims("p", said("b", DOC)) == html.claims("other", said("a")) == []
    every = NamedLines({"p": PAGE}, every_kind(Tags()))
    assert numbers(every.apart(every.claims("p", said("b")))) == [3, 4]
    assert numbers(every.claims("p", said("b", only="latex"))) == [4]
    assert [*html.doubles(is_kept), *every.doubles(is_kept)] == []


def test_lines_that_are_shown_together_have_names_of_their_own() -> None:
    more = (line("claim", "b", 10), line("claim", "c", 11, when="yes"), line("let", "b", 12))
    included_twice = (*PAGE, PAGE[0], PAGE[6])
    lines = NamedLines({"p": (*included_twice, *more)}, every_kind(Tags()))
    doubles = [(one.line, other.line) for one, other in lines.doubles(is_kept)]
    assert doubles == [(10, 3), (11, 5), (12, 8)]


def test_lets_of_a_page_and_of_its_docstrings() -> None:
    lines = NamedLines({"p": PAGE}, Tags(["html"]))
    assert {name: let.line for name, let in lines.lets("p", "", is_kept).items()} == {
        "a": 7,
        "b": 8,
    }
    assert {name: let.line for name, let in lines.lets("p", DOC, is_kept).items()} == {
        "a": 9,
        "b": 8,
    }
    assert [*lines.lets("p", "", None)] == ["a"]  # for conditions
    assert lines.lets("other", "", is_kept) == {}
    lets = lines.lets("p", "", is_kept)
    assert used_lets("len(b)", lets) == {"a": "b", "b": "a + c"}
    assert used_lets("len(bb)", lets) == {}
