"""``review.md``: valid Markdown whatever authors write, and the same text in a terminal."""

from __future__ import annotations

import random
import re

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from sphinx_jaxpr.ext.builders.review import Row, Words, as_text, code, merged, prose, review
from sphinx_jaxpr.ext.judging.findings import relative
from sphinx_jaxpr.program.query.sides import Side

pytestmark = pytest.mark.once

GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HOSTILE = [
    *("a | b", "`", "``", "a ` b `` c", "<b>bold</b>", "<!-- ", "-->", "*a* **b** _c_ __d__"),
    *("# head", "1. one", "- two", "> three", "---", "\n\n# new\n\n", "```\ncode\n```", "~~gone~~"),
    *("[a](javascript:x)", "![a](b)", "[x]: y", "&amp; &#42;", "a\\", "\\*", "$x$", "$`x`$"),
    *("\u202e\u200b\x1b[31m", "x" * 5_000, "a  b\t c", '"', "{% raw %}", "|---|", "</details>"),
]


def row(words: str = "w", expression: str = "len(f) == 2", **more: object) -> Row:
    return Row("claim", expression, "true", (Words(words, "index.md:3"),), **more)  # type: ignore[arg-type] # fields of Row


def shape(tokens: list[Token]) -> list[str]:
    """The blocks of a text, without what they hold."""
    return [token.type for token in tokens]


def inline(text: str) -> list[Token]:
    (paragraph,) = [token for token in GITHUB.parse(text) if token.type == "inline"]
    return paragraph.children or []


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_is_written_the_list_keeps_its_form(text: str) -> None:
    sides = (Side(text, text), Side("len(f)", "2"))
    plain = row(sides=(Side("len(g)", "1"), Side("len(f)", "2")), message="m")
    hostile = row(text, text, sides=sides, message=text, checked_at=text, lets=(text,))
    expected = shape(GITHUB.parse(review({"page": [plain]}, {})))
    tokens = GITHUB.parse(review({text: [hostile]}, {"jax": text}))
    assert shape(tokens) == expected
    children = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in children} <= {"text", "code_inline", "text_special"} | {
        f"strong_{end}" for end in ("open", "close")
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_code_shows_a_text_as_it_is(text: str) -> None:
    (child,) = inline(code(text))
    assert child.type == "code_inline"
    shown = "".join(child.content.split())
    if len(text) < 2_000 and text.isprintable():
        assert shown == "".join(text.split())
    assert shown.isprintable() and len(shown) <= 2_000


@pytest.mark.parametrize("text", HOSTILE)
def test_words_are_shown_as_they_are(text: str) -> None:
    shown = "".join(
        f"`{child.content}`" if child.type == "code_inline" else child.content
        for child in inline(f"- x{prose(text)}x")
    )
    if text.isprintable() and "``" not in text:
        assert "".join(shown.replace("\u200b", "").split()) == "".join(f"x{text}x".split())


def test_random_signs() -> None:
    dice = random.Random(4)
    for _ in range(400):
        text = "".join(
            dice.choice("`*_<>[]()!&#|\\~$ab1. -\n:@") for _ in range(dice.randrange(1, 30))
        )
        tokens = GITHUB.parse(review({"p": [row(text, text + "x", message=text + "x")]}, {}))
        inner = [child.type for token in tokens for child in token.children or ()]
        assert set(inner) <= {"text", "code_inline", "text_special"}, text
        assert shape(tokens).count("list_item_open") == 4, text


def test_nobody_is_mentioned_and_nothing_is_referred_to() -> None:
    """GitHub looks for these in what Markdown leaves, where a backslash is gone."""
    shown = prose("thanks @someone, see #12, o/r#3 and :tada:; `@someone`")
    rendered = GITHUB.renderInline(shown)
    outside = re.sub("<code>.*?</code>", "", rendered)
    assert not re.search(r"@\w|#\d|:tada:", outside)
    assert "<code>@someone</code>" in rendered


def test_plain_sentences_stay_readable() -> None:
    for text in ("It has 4 equations, dot_general among them (twice): why?", "a - b + c = d!"):
        assert prose(text) == text
    assert prose("of `x` axis 1") == "of `x` axis 1"


def test_an_item() -> None:
    rows = [
        row("two equations", sides=(Side("len(f)", "2"),), lets=("f = d.grad",)),
        Row("val", "len(f)", "true", (Words("", "index.md:4"),), (Side("len(f)", "2"),)),
        row("a pair", "len(f)  ==  2", sides=(Side("len(f)", "2"),))._replace(
            words=(Words("a pair", "index.md:9"),)
        ),
        Row("claim", "ops(f) == 1", "wrong", (Words("", "b.md:1"),), (), "`==` can't compare it"),
        Row("when", 'jax > "9"', "false", (Words("", "b.md:5"),), (Side("jax", "0.10.2"),)),
        row("all", "all(f)", sides=(Side("all(f)", "true for 2 of 2"),), checked_at="b.md:7"),
    ]
    assert review({"index": merged(rows)}, {"jax": "0.10.2", "python": ""}) == """\
# Review

What the pages say, and what is checked for it. Do both say the same?

5 checks on 1 page: 3 true, 1 false, 1 wrong; jax 0.10.2.

## index

- claim true: "two equations"
  - also: "a pair"
  - `len(f) == 2`, where `f = d.grad`
  - `len(f)` is `2`
  - at `index.md:3`, `index.md:9`
- value `2`
  - `len(f)`
  - at `index.md:4`
- claim **wrong**, without words
  - `ops(f) == 1`
  - why: `==` can't compare it
  - at `b.md:1`
- condition false
  - `jax > "9"`
  - `jax` is `0.10.2`
  - at `b.md:5`
- claim true: "all"
  - `all(f)`
  - it is `true for 2 of 2`
  - at `index.md:3`, checked at `b.md:7`
"""  # fmt: skip


def test_a_message_that_only_repeats_the_values_is_left_out() -> None:
    sides = (Side("len(f)", "2"),)
    message = as_text(sides, "len(f) == 3")
    assert message == "`len(f)` is 2"
    text = review({"p": [row(expression="len(f) == 3", sides=sides, message=message)]}, {})
    assert text.count("is `2`") == 1 and "is 2" not in text


def test_letters_are_said_once() -> None:
    """Letters without words are the head of their item; words have them below."""
    side = Side("f[mul].inputs", "a b")
    rows = [
        Row("var", side.text, "true", (Words(words, "index.md:4"),), (side,))
        for words in ("", "its operands")
    ]
    text = review({"index": rows}, {})
    assert "- letters `a b`\n  - `f[mul].inputs`\n  - at" in text
    assert '- letters true: "its operands"\n  - `f[mul].inputs`\n  - it is `a b`\n' in text


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("/docs/a.md", "a.md"),
        ("/src/m.py:docstring of m.f", "../src/m.py:docstring of m.f"),
        ("docstring of m.f", "docstring of m.f"),
        ("a.md", "a.md"),
    ],
)
def test_no_place_depends_on_the_machine(source: str, shown: str) -> None:
    assert relative(source, "/docs") == shown


def test_a_project_that_says_nothing() -> None:
    assert review({}, {}).endswith("\n0 checks on 0 pages; nothing was traced.\n")
