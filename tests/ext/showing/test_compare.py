"""``layout: compare``: each variant beside the base in HTML, one after the other elsewhere."""

from __future__ import annotations

from pathlib import Path

import html5lib
import pytest
from bs4 import BeautifulSoup, Tag

from tests.ext.cases import warned
from tests.support import Build, Project

pytestmark = pytest.mark.once

CODE = """
import jax.numpy as jnp


def dense(x, w, b):
    return jnp.tanh(x @ w + b)


def wave(x):
    return jnp.sin(x) * 2.0


def long(x):
    for _ in range(30):
        x = jnp.sin(x) * 2.0
    return x


def cosine(fn, args):
    return (lambda x: jnp.cos(x) * 2.0), args
"""
CONF = """
jaxpr_cache_dir = "../cache"
jaxpr_transforms = {"cosine": "pairs:cosine"}
copyright = "2026"
version = release = "1"
"""
DENSE = ":args: x=bf16[32,64], w=bf16[64,64], b=bf16[64]\n"
PAGE = f"""
# P

```{{jaxpr-transform}} pairs:dense
{DENSE}:transforms: grad(argnums=w), vmap, scan(over=w, length=4)
:layout: compare
:base: hide
:caption: A *caption*.

[tanh]
    At the base.

scan[scan].jaxpr[add]
    In the body.
```

```{{jaxpr-transform}} pairs:wave
:args: x=f32[8]
:transforms: vmap, cosine
:layout: compare
:elide: vmap[mul]
```

```{{jaxpr-transform}} pairs:wave
:args: x=f32[8]
:transforms: jit | grad, grad(sum=False)
:raises: TypeError
:layout: compare
:name: refused
```

```{{jaxpr-transform}} pairs:wave
:args: x=f32[8]
:layout: compare
:name: alone
```

```{{jaxpr-transform}} pairs:long
:args: x=f32[8]
:transforms: jit
:layout: compare
```
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    files = {"docs/index.md": PAGE, "src/pairs.py": CODE}
    return Project(tmp_path_factory.mktemp("compare"), files, CONF)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    return done


@pytest.fixture(scope="module")
def page(built: Build) -> BeautifulSoup:
    return built.page("index")


def pairs(page: BeautifulSoup) -> list[list[str]]:
    return [
        [str(figure["id"]) for figure in box.find_all("figure", recursive=False)]
        for box in page.select("div.jaxpr-compare")
    ]


def test_the_base_is_beside_every_variant(page: BeautifulSoup) -> None:
    assert pairs(page) == [
        ["jaxpr-dense", "jaxpr-dense.grad"],
        ["jaxpr-dense.vmap-base", "jaxpr-dense.vmap"],
        ["jaxpr-dense.scan-base", "jaxpr-dense.scan"],
        ["jaxpr-wave", "jaxpr-wave.vmap"],
        ["jaxpr-wave.cosine-base", "jaxpr-wave.cosine"],
        ["jaxpr-refused", "jaxpr-refused.jit_grad"],
        ["jaxpr-long", "jaxpr-long.jit"],
    ]
    figures = [str(figure["id"]) for figure in page.select("figure.jaxpr")]
    assert len(figures) == len(set(figures)) == 16
    # What has no program, or no variant, stands alone.
    assert {"jaxpr-refused.grad", "jaxpr-alone"} <= set(figures)


def test_ids_are_unique_and_the_page_is_valid(built: Build, page: BeautifulSoup) -> None:
    ids = [str(element["id"]) for element in page.select("[id]")]
    assert len(ids) == len(set(ids))
    assert "jaxpr-dense.scan-base-eqn-0" in ids and "jaxpr-dense-eqn-0" in ids
    html5lib.HTMLParser(strict=True).parse((built.out / "index.html").read_text("utf-8"))


def test_copies_are_jaxs_text_too(built: Build) -> None:
    texts = built.texts("index")
    copies = [name for name in texts if name.endswith("-base")]
    assert len(copies) == 3
    for name in copies:
        assert texts[name] == texts[name.partition(".")[0]]


def grid_rows(page: BeautifulSoup, identity: str) -> dict[str, int]:
    """The row of each equation in the rows of the whole pair."""
    figure = page.find(id=identity)
    assert isinstance(figure, Tag)
    found = {}
    for equation in figure.select(".jaxpr-eqn"):
        row = 1
        cell: Tag | None = equation
        while cell is not None and "jaxpr-code" not in cell["class"]:
            if "jaxpr-cell" in cell["class"]:
                row += _number(cell, "data-row") - 1
            # The summary is the first row of a body, its equations begin at the second.
            row += "jaxpr-body" in cell["class"]
            cell = cell.find_parent(class_=["jaxpr-cell", "jaxpr-code"])
        found[str(equation["id"]).removeprefix(f"{identity}-")] = row
    return found


def _number(cell: Tag, name: str) -> int:
    """A number as the style sheet sums it up: from powers of two; a span is 1 without."""
    powers = [int(word) for word in str(cell.get(name, "1")).split()]
    assert len(powers) == len(set(powers)) and all(n & (n - 1) == 0 < n <= 1024 for n in powers)
    return sum(powers)


def test_matched_equations_have_the_same_row(page: BeautifulSoup) -> None:
    base = grid_rows(page, "jaxpr-dense")
    grad = grid_rows(page, "jaxpr-dense.grad")
    assert all(base[f"eqn-{n}"] == grad[f"eqn-{n}"] for n in range(4))
    base = grid_rows(page, "jaxpr-dense.scan-base")
    scan = grid_rows(page, "jaxpr-dense.scan")
    assert all(base[f"eqn-{n}"] == scan[f"eqn-0-0-{n}"] for n in range(4))
    base = grid_rows(page, "jaxpr-dense.vmap-base")
    vmap = grid_rows(page, "jaxpr-dense.vmap")
    assert [base[f"eqn-{n}"] for n in range(4)] == [vmap[f"eqn-{n}"] for n in (0, 1, 3, 4)]
    assert vmap["eqn-2"] not in base.values()


def test_a_gap_faces_what_has_no_partner(page: BeautifulSoup) -> None:
    gaps = page.select('[id="jaxpr-dense.vmap-base"] .jaxpr-gap')
    assert [(_number(gap, "data-row"), _number(gap, "data-span")) for gap in gaps] == [(4, 1)]
    assert not page.select('[id="jaxpr-dense.vmap"] .jaxpr-gap')
    assert all(gap["aria-hidden"] == "true" for gap in page.select(".jaxpr-gap"))
    # Removed ones leave a gap in the variant; the base beside it says which, so no list does.
    assert page.select('[id="jaxpr-wave.cosine"] .jaxpr-gap')
    assert not page.select(".jaxpr-dropped")


def test_a_program_on_one_line_has_its_rows_too(page: BeautifulSoup) -> None:
    pieces = page.select("#jaxpr-wave .jaxpr-line > .jaxpr-piece")
    assert [piece.get_text().strip() for piece in pieces][1:3] == [
        "b:f32[8] = sin a;", "c:f32[8] = mul b 2.0:f32[]",
    ]  # fmt: skip
    assert [_number(piece, "data-row") for piece in pieces] == [1, 2, 3, 4]


def test_a_fold_is_one_row(page: BeautifulSoup) -> None:
    fold = page.select_one('[id="jaxpr-wave.vmap"] details.jaxpr-elided')
    assert fold is not None and "jaxpr-cell" in fold["class"] and _number(fold, "data-row") == 3


def test_only_pages_with_pairs_load_their_style(built: Build, page: BeautifulSoup) -> None:
    def sheets(name: str) -> list[str]:
        links = built.page(name).select("link[href*='jaxpr']")
        return [str(link["href"]).partition("?")[0] for link in links]

    assert sheets("index") == ["_static/jaxpr.css", "_static/jaxpr-compare.css"]
    assert sheets("jaxpr-primitives") == []
    assert (built.out / "_static/jaxpr-compare.css").exists()


def test_caption_notes_and_words_are_there_once(page: BeautifulSoup) -> None:
    (caption,) = page.select('figure[id^="jaxpr-dense"] .jaxpr-caption')
    assert caption.find_parent("figure")["id"] == "jaxpr-dense"  # type: ignore[index] # it is in one
    markers = [str(m.find_parent("figure")["id"]) for m in page.select("a.jaxpr-marker")]  # type: ignore[index] # it is in one
    assert markers == ["jaxpr-dense", "jaxpr-dense.scan"]
    assert page.get_text().count("At the base.") == page.get_text().count("In the body.") == 1


def test_a_pair_opens_together(page: BeautifulSoup) -> None:
    def is_open(identity: str) -> bool:
        figure = page.find(id=identity)
        assert isinstance(figure, Tag) and figure.details is not None
        return figure.details.has_attr("open")

    assert is_open("jaxpr-dense") and is_open("jaxpr-dense.grad")
    assert not is_open("jaxpr-long") and not is_open("jaxpr-long.jit")


@pytest.mark.parametrize("builder", ["text", "latex", "man", "texinfo", "epub", "singlehtml"])
def test_other_formats(project: Project, built: Build, builder: str) -> None:
    doctrees = str(project.folder / "out" / "html" / ".doctrees")
    done = project.build(builder, "-W", "-d", doctrees)
    assert (done.code, done.stderr, done.traced) == (0, "", 0)
    if builder == "text":  # one after the other, the base once
        text = (done.out / "index.txt").read_text("utf-8")
        assert text.count('"dense" - 4 equations') == 1
        assert "Only in the base:" in text
    if builder == "epub":
        book = BeautifulSoup((done.out / "index.xhtml").read_text("utf-8"), "html.parser")
        assert not book.select(".jaxpr-compare, .jaxpr-gap, .jaxpr-cell")
        assert len(book.select('figure[id^="jaxpr-dense"]')) == 4
    if builder == "singlehtml":
        assert len(pairs(done.page("index"))) == 7


def test_a_layout_that_is_none(tmp_path: Path) -> None:
    text = f"# P\n\n```{{jaxpr-transform}} pairs:dense\n{DENSE}:layout: beside\n```\n"
    project = Project(tmp_path, {"docs/index.md": text, "src/pairs.py": CODE})
    (told,) = warned(project.build())
    assert (told.line, told.kind) == (5, "option")
    assert told.text == "layout: 'beside' is not one of stack, compare"


def test_a_failing_variant_costs_no_other(tmp_path: Path) -> None:
    text = (
        f"# P\n\n```{{jaxpr-transform}} pairs:dense\n{DENSE}"
        ":transforms: grad(argnums=w, sum=False), vmap\n:layout: compare\n```\n"
    )
    project = Project(tmp_path, {"docs/index.md": text, "src/pairs.py": CODE})
    done = project.build()
    assert [w.kind for w in warned(done)] == ["trace"]
    page = done.page("index")
    assert pairs(page) == [["jaxpr-dense", "jaxpr-dense.vmap"]]
    assert page.select_one('figure.jaxpr-error[id="jaxpr-dense.grad"]') is not None
