"""Cards of terms: which terms have them, what they hold, when pages are written again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lesson.support import project, told
from tests.support import Build

pytestmark = pytest.mark.once

GLOSSARY = """
# Glossary

```{glossary}
jaxpr
    What JAX *sees*: equations over {term}`primitives <primitive>`, {jaxpr:val}`len(dense)` here.

    Taught in {doc}`lessons/one`, or in [the other](lessons/two.md), at {ref}`a place <place>`.

    ![A picture](p.png)

primitive
Primitive operation
    One & 1 < 2. [^note]
```

[^note]: Below.

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
```
"""
ONE = """
# One {term}`jaxpr`

A {term}`jaxpr`, a {term}`jaxpr`, {term}`operations <Primitive Operation>`, {term}`primitive`.

(place)=
## Again

The {term}`jaxpr`.
"""
FILES = {
    "index.md": "# Book\n\n```{toctree}\nglossary\nlessons/one\nlessons/two\nplain\n```\n",
    "glossary.md": GLOSSARY,
    "lessons/one.md": ONE,
    "lessons/two.md": "# Two\n\nNo {term}`jaxpr <primitive>`.\n",
    "plain.md": "# Plain\n\nNo term.\n",
}
CONF = 'myst_enable_extensions.append("attrs_inline")\nexclude_patterns = ["*.png"]\n'


def terms(build: Build, page: str) -> list[str]:
    return [node.get_text() for node in build.page(page).select(".lesson-term")]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("section", ["jaxpr", "operations", "jaxpr"]),
        ("all", ["jaxpr", "jaxpr", "operations", "primitive", "jaxpr"]),
        ("off", []),
    ],
)
def test_which_terms_have_cards(tmp_path: Path, mode: str, expected: list[str]) -> None:
    files = {**FILES, "glossary.md": GLOSSARY.replace("![A picture](p.png)", "")}
    made = project(tmp_path, files, f"lesson_cards = {mode!r}\n")
    done = made.build("html", "-W", "-n")
    assert done.code == 0, done.stderr
    assert terms(done, "lessons/one") == expected
    assert len(done.page("lessons/one").select("section p a .std-term")) == 5  # all are links
    assert terms(done, "glossary") == []  # the definition is there itself
    (cards,) = done.page("lessons/one").select("div.lesson-cards") if expected else ([],)
    if not expected:
        return
    assert cards.has_attr("hidden")
    ids = [str(tag["id"]) for tag in done.page("lessons/one").select("[id]")]
    assert len(ids) == len(set(ids))
    card = cards.select_one("#lesson-card-term-jaxpr")
    text = " ".join(card.get_text().split())
    assert text == (
        "What JAX sees: equations over primitives, 4 here."
        " Taught in One jaxpr, or in the other, at a place."
    )
    assert [a["href"] for a in card.select("a")] == [
        "../glossary.html#term-primitive", "#", "two.html", "#place"
    ]  # fmt: skip
    other = cards.select_one("#lesson-card-term-Primitive-operation, #lesson-card-term-primitive")
    assert other.get_text().strip() == "One & 1 < 2."
    assert not cards.select(".lesson-term, [id^=term], img")
    assert "lesson.css" not in str(done.page("plain")) and "lesson-" not in str(done.page("plain"))
    # What a card says is found where it is written.
    index = (done.out / "searchindex.js").read_text("utf-8")
    assert re.search(r'"?taught"?:0\b', index)  # the glossary alone, first by name


def test_pages_follow_their_definitions(tmp_path: Path) -> None:
    files = {**FILES, "glossary.md": GLOSSARY.replace("![A picture](p.png)", "")}
    made = project(tmp_path, files)
    made.build("html", "-W", "-j", "2")
    assert "no targets are out of date" in made.build("html", "-W").stdout
    before = {p: p.stat().st_mtime_ns for p in (made.folder / "out/html").rglob("*.html")}
    made.write("docs/glossary.md", files["glossary.md"].replace("One & 1 < 2", "New text"))
    done = made.build("html", "-W")
    assert done.code == 0, done.stderr
    card = done.page("lessons/two").select_one(".lesson-card")
    assert card.get_text().strip() == "New text."
    written = {p.stem for p, t in before.items() if p.stat().st_mtime_ns != t}
    assert {"one", "two"} <= written and "plain" not in written
    # A value in a definition is another one when the program is.
    made.write("src/layers.py", "def dense(x, w, b):\n    return x\n")
    done = made.build("html", "-W")
    assert "0 here" in done.page("lessons/one").select_one("#lesson-card-term-jaxpr").get_text()
    assert "no targets are out of date" in made.build("html", "-W").stdout
    # A term that has gone has no card.
    made.write("docs/glossary.md", "# Glossary\n\n```{glossary}\njaxpr\n    Alone.\n```\n")
    done = made.build("html")
    assert not done.page("lessons/two").select(".lesson-card, .lesson-term")


def test_pictures_become_words_and_one_page_has_one_card(tmp_path: Path) -> None:
    made = project(tmp_path, FILES, CONF)
    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154"
        "08d763f8cfc000000301010018dd8db00000000049454e44ae426082"
    )
    (made.docs / "p.png").write_bytes(png)
    done = made.build("singlehtml", "-n")
    assert done.code == 0, done.stderr
    page = done.page("index")
    assert len(page.select("#lesson-card-term-jaxpr")) == 1
    assert "A picture" in page.select_one("#lesson-card-term-jaxpr").get_text()
    # (Sphinx 9.0 puts the page before the anchor.)
    assert page.select_one("#lesson-card-term-jaxpr a")["href"].endswith("#term-primitive")
    for builder in ("text", "latex", "epub"):
        done = made.build(builder, "-d", str(made.folder / "doctrees"))
        assert done.code == 0, done.stderr
        assert not [p for p in done.out.rglob("*.*html") if "lesson-" in p.read_text("utf-8")]


@pytest.mark.parametrize("value", ["'some'", "3", "None", "['all']"])
def test_a_wrong_value_is_told_and_replaced(tmp_path: Path, value: str) -> None:
    files = {"index.md": "# B\n\n{term}`a` {term}`a`\n\n```{glossary}\na\n    b\n```\n"}
    made = project(tmp_path, files, f"lesson_cards = {value}\n")
    done = made.build("html")
    ((file, _, kind, text),) = told(done)
    assert (file, kind) == ("conf.py", "option")
    assert text.startswith("lesson_cards must be one of 'section', 'all', 'off', not ")
    assert text.endswith("'section' is used")
    assert len(terms(done, "index")) == 1
