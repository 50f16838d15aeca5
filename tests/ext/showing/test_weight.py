"""What a block adds to a page, compressed, against the same text as Pygments shows it."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tests.support import PROJECT, Build, Project

pytestmark = pytest.mark.once

LIMIT = 2.2
#: Of the two blocks of the lesson that are nearly all ids and links.
LIMIT_ALONE = 2.5
#: Of all blocks of a directive with what their primitives mean, which Pygments says nothing of.
LIMIT_EXPLAINED = 3.0


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The lesson of the documentation."""
    files = {"docs/index.md": (PROJECT / "docs/lessons/transforms.md").read_text("utf-8")}
    conf = 'myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]\n'
    done = Project(tmp_path_factory.mktemp("lesson"), files, conf).build("html")
    assert done.code == 0
    return done


def weight(html: str) -> int:
    return len(gzip.compress(html.encode(), 6, mtime=0))


def highlighted(text: str) -> str:
    html: str = highlight(text, PythonLexer(), HtmlFormatter())
    return html


def parts(page: Path) -> tuple[list[str], list[str]]:
    """The figures and the lists of definitions of a page, as they were written."""
    text = page.read_text("utf-8")
    figures = [f"<figure {part}" for part in text.split("<figure ")[1:]]
    figures = [part[: part.index("</figure>") + 9] for part in figures]
    lists = text.split('<details class="jaxpr-meanings"')[1:]
    return figures, [part[: part.index("</details>") + 10] for part in lists]


def test_blocks_of_the_lesson_are_light(lesson: Build) -> None:
    figures, lists = parts(lesson.out / "index.html")
    named = lesson.texts("index")
    # What an author writes below a block, and the text of an error, is no markup of ours.
    caption = re.compile(
        r'<span class="jaxpr-caption">.*?(?=<span class="jaxpr-footer">|</figcaption>)', re.DOTALL
    )
    pairs = [
        (name, caption.sub("", figure))
        for name, figure in zip(named, figures, strict=True)
        if named[name]
    ]
    figures = [figure for _, figure in pairs]
    texts = [named[name] for name, _ in pairs]
    assert len(texts) >= 6 and lists
    plain = [highlighted(text) for text in texts]
    ratios = {
        name: weight(figure) / weight(other)
        for (name, figure), other in zip(pairs, plain, strict=True)
    }
    heavy = {name: ratio for name, ratio in ratios.items() if ratio >= LIMIT}
    # Many calls of one shared program: little text, and a link and an id for each equation.
    assert set(heavy) <= {"jaxpr-count", "jaxpr-recount"}, heavy
    assert max(ratios.values()) < LIMIT_ALONE
    # Blocks of a page share what compresses well: all of them at once, and with their list.
    assert weight("".join(figures)) / weight("".join(plain)) < LIMIT
    assert weight("".join(figures + lists)) / weight("".join(plain)) < LIMIT_EXPLAINED
