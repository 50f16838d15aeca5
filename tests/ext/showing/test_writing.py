"""``jaxpr_claim_mark = "all"``: what those who write see on the page, and nobody else."""

from __future__ import annotations

import re
from typing import Any

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from sphinx_jaxpr.ext.showing.writing import mark_numbers
from tests.support import Build, Project

pytestmark = pytest.mark.once

MD = """
# Page {jaxpr:prim}`tahn`

It has 4 equations, four of them.

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[2,4], w=f32[4,8], b=f32[8]
:caption: In a caption {jaxpr:claim}`six <len(dense) == 6>`.

[cos]
    A note about nothing.
```

There are {jaxpr:val}`len(dense)` equations, {jaxpr:claim}`four <len(dense) == 4>`, not
{jaxpr:claim}`<b>five</b> <len(dense) == 5>`; {jaxpr:val}`dense.gard`,
{jaxpr:eqn}`the cosine <dense[cos]>`, {jaxpr:claim}`no predicate`.

```{jaxpr-claims}
len(dense) == 4
"mul" in ops(dense)
```
"""
RST = """
Page :jaxpr:prim:`tahn`
=======================

It has 4 equations, four of them.

.. jaxpr-transform:: layers:dense
   :args: x=f32[2,4], w=f32[4,8], b=f32[8]
   :caption: In a caption :jaxpr:claim:`six <len(dense) == 6>`.

   [cos]
       A note about nothing.

There are :jaxpr:val:`len(dense)` equations, :jaxpr:claim:`four <len(dense) == 4>`, not
:jaxpr:claim:`<b>five</b> <len(dense) == 5>`; :jaxpr:val:`dense.gard`,
:jaxpr:eqn:`the cosine <dense[cos]>`, :jaxpr:claim:`no predicate`.

.. jaxpr-claims::

   len(dense) == 4
   "mul" in ops(dense)
"""
CLEAN = """
# Clean

```{jaxpr-transform} layers:dense
:args: x=f32[2,4], w=f32[4,8], b=f32[8]
```

It has {jaxpr:claim}`four equations <len(dense) == 4>`.
"""
#: Shows a block of another page; one let has no value, which is one finding.
SHOWS = """
# Shows

Three words.

```{jaxpr-show} dense

[+broken]
    Kept.
```

{jaxpr:val}`broken` {jaxpr:claim}`twice <len(dense) == 5>` {jaxpr:claim}`twice <len(dense) == 5>`

```{jaxpr-claims}
not used: len(dense) == 4
let broken = nope.x
len(dense) == 6
```
"""
ALL = ("-D", "jaxpr_claim_mark=all")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    pages = {"docs/index.md": MD, "docs/second.rst": RST, "docs/clean.md": CLEAN}
    pages["docs/shows.md"] = SHOWS
    conf = 'suppress_warnings = ["toc.not_included"]\n'
    return Project(tmp_path_factory.mktemp("writing"), pages, conf)


@pytest.fixture(scope="module")
def marked(project: Project) -> Build:
    return project.build("html", *ALL)


def texts(build: Build, page: str, selector: str) -> list[str]:
    return [" ".join(each.get_text().split()) for each in build.page(page).select(selector)]


@pytest.mark.parametrize("page", ["index", "second"])
def test_each_finding_is_text_at_its_sentence(marked: Build, page: str) -> None:
    in_captions, html, value, link, no_predicate = texts(marked, page, "span.jaxpr-finding")
    assert in_captions == "✗ false: len(dense) is 4"
    # HTML is words in Markdown alone; in rST its `<` ends them.
    says = {"index": "✗ false: len(dense) is 4", "second": "✗ this is not a Python expression"}
    assert html.startswith(says[page])
    assert value.startswith("✗ dense has no variant or attribute gard")
    assert link.startswith("✗ dense has no equation cos; it has: dot_general (1)")
    assert no_predicate.startswith("✗ 'no predicate' has no predicate, and no line of")
    # Where readers see nothing, the mark is in its place.
    (line,) = texts(marked, page, "p.jaxpr-finding")
    assert line.startswith("✗ claim is false on JAX") and line.endswith('["mul" in ops(dense)]')
    # What is true has the mark of readers.
    assert [each.find_parent(class_="jaxpr-claim").get_text() for each in marks(marked, page)] == [
        "four\u00a0✓"
    ]
    # Nothing is in the title, which Sphinx copies.
    assert not marked.page(page).select("h1 .jaxpr-finding, nav .jaxpr-finding")


def marks(build: Build, page: str) -> list[Any]:
    return build.page(page).select(".jaxpr-checked")


@pytest.mark.parametrize("page", ["index", "second"])
def test_a_list_under_the_title_has_every_finding(marked: Build, page: str) -> None:
    name = {"index": "index.md", "second": "second.rst"}[page]
    told = [line for line in marked.warnings if f"/{name}:" in line]
    soup = marked.page(page)
    (box,) = soup.select("h1 + .jaxpr-findings")
    head, *items = [each.get_text() for each in box.select("p")]
    assert head == "✗ 8 findings, 3 statements checked, 2 numbers that nothing checks (dotted)."
    wanted = [
        re.sub(r"^.*?:(\d+): WARNING: ", r"line \1: ", line).replace("`", "") for line in told
    ]
    assert sorted(items) == sorted(wanted)
    numbers = [int(re.findall(r"\d+", item)[0]) for item in items]
    assert numbers == sorted(numbers)
    # Each leads to its mark; the note and the title have none.
    links = [each["href"] for each in box.select("a")]
    assert len(set(links)) == 6
    assert all(len(soup.select(str(link))) == 1 for link in links)
    assert "dense" in [code.get_text() for code in box.select("code")]


def test_numbers_that_nothing_checks(marked: Build) -> None:
    assert texts(marked, "index", ".jaxpr-unchecked") == ["4", "four"]
    assert texts(marked, "clean", ".jaxpr-findings") == ["✓ 1 statement checked."]
    assert "jaxpr-clean" in marked.page("clean").select_one(".jaxpr-findings")["class"]


def test_a_page_that_shows_a_block_of_another(marked: Build) -> None:
    """Its numbers are loose too; what waits for a let says so, and the let alone is a finding."""
    assert texts(marked, "shows", ".jaxpr-unchecked") == ["Three"]
    value, *_ = texts(marked, "shows", "span.jaxpr-finding")
    assert value == "✗ not checked: a let that it uses has no value"
    assert sum("/shows.md:" in line for line in marked.warnings) == 4
    # Marks of lines are in the order of the lines, and equal findings link to the first mark.
    lines = texts(marked, "shows", "p.jaxpr-finding")
    assert [re.findall("not used|broken|== 6", line)[0] for line in lines] == [
        "not used", "broken", "== 6",
    ]  # fmt: skip
    first, second = marked.page("shows").select(".jaxpr-claim + .jaxpr-finding")
    assert first.get("id") == "jaxpr-finding-1" and second.get("id") is None


def test_a_build_writes_nothing_beside_its_output(project: Project, marked: Build) -> None:
    """Whoever watches these folders would build for ever."""
    files = {path.relative_to(project.folder).as_posix() for path in project.folder.rglob("*")}
    pages = {
        "docs",
        *(f"docs/{name}" for name in ("conf.py", "index.md", "second.rst", "clean.md", "shows.md")),
    }
    watched = {path for path in files if not path.startswith("out")}
    assert watched == {*pages, "src", "src/layers.py"}


def test_they_follow_code_that_changes_and_are_gone_without_the_option(
    project: Project, marked: Build
) -> None:
    """Pages are written again whose findings changed; a published build has none of it."""
    code = project.folder / "src/layers.py"
    before = code.read_text("utf-8")
    code.write_text(before.replace("x @ w + b", "2 * (x @ w + b)"), "utf-8")
    try:
        changed = project.build("html", *ALL)
    finally:
        code.write_text(before, "utf-8")
    assert texts(changed, "clean", ".jaxpr-finding") == ["✗ false: len(dense) is 5"]
    published = project.build("html")
    for page in ("index", "clean"):
        text = (published.out / f"{page}.html").read_text("utf-8")
        assert "jaxpr-finding" not in text and "jaxpr-unchecked" not in text
        assert "jaxpr-writing" not in text and "✗" not in text and "✓" not in text


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        (
            "It has 4 equations, four of them, 1,024 bytes, 0.5 of it.",
            ["4", "four", "1,024", "0.5"],
        ),
        ("Two programs, used TWICE.", ["Two", "TWICE"]),
        ("Everyone, tenfold, 64-bit, f32, 2D, x4, a/2, 8x8, two-way.", []),
        ("JAX 0.12 and Python 3.11, JAX 0.12.0.1, 1.2.3, step 2, Figure 4.", []),
        ("A ``literal 2``, `a title 3`, a `link 4 <https://a.b>`_, a note [5]_.", []),
        ("*Three* and **9**", ["Three", "9"]),
        ("Since 12 May 2024, 90% or 90 % of $4, #7, page 2, Line 3; 2048 pages.", ["12", "2048"]),
        ("- 2 in a list\n- more", ["2"]),
        ("Part 2\n======\n\n5. five\n6. six", ["five", "six"]),
        ("::\n\n   2 in code", []),
        ("= =\n1 2\n= =", []),
        ("One of 2\nlines and 3", ["2", "3"]),
    ],
)
def test_what_counts_as_a_number(text: str, marked: list[str]) -> None:
    document = publish_doctree(text + "\n\n.. [5] A footnote of 7.\n")
    before = document.astext()
    assert mark_numbers(document) == len(marked)
    inlines = document.findall(nodes.inline)
    assert [each.astext() for each in inlines if "jaxpr-unchecked" in each["classes"]] == marked
    assert document.astext() == before
