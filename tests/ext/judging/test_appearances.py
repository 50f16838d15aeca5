"""Where blocks appear: on which pages, under which ids, and which of them a link prefers."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.ext.judging.names.appearances import Appearance, Appearances
from sphinx_jaxpr.ext.judging.names.project import ProjectNames
from sphinx_jaxpr.ext.records import COMPARE, Block, BlockOnPage, DirectiveRecord, ShowRecord

pytestmark = pytest.mark.once

Page = list[DirectiveRecord | ShowRecord]


def declared(
    name: str, shown: str = "", *, explicit: bool = True, suffix: str = ""
) -> DirectiveRecord:
    """A directive with the base and a variant ``grad``; ``shown`` are the labels that it shows."""
    labels = shown.split()
    blocks = tuple(
        Block(f"{name}{dot}{label}", label, f"jaxpr-{name}{dot}{label}{suffix}", None, "",
              is_shown=(label or "base") in labels)
        for dot, label in (("", ""), (".", "grad"))
    )  # fmt: skip
    return DirectiveRecord("page.md", 1, name, explicit, blocks)


def show(path: str, **options: str) -> ShowRecord:
    return ShowRecord("page.md", 1, path, **options)  # type: ignore[arg-type] # only texts here


def arranged(**pages: Page) -> Appearances:
    """The appearances on pages, each with its records in order."""
    numbered = {
        page: [record._replace(number=number) for number, record in enumerate(records)]
        for page, records in pages.items()
    }
    directives = {
        page: [each for each in records if isinstance(each, DirectiveRecord)]
        for page, records in numbered.items()
    }
    shows = {
        page: [each for each in records if isinstance(each, ShowRecord)]
        for page, records in numbered.items()
    }
    return Appearances(ProjectNames(directives), {page: own for page, own in shows.items() if own})


def ids(appearances: Appearances, page: str) -> list[str]:
    """The ids of the figures of a page, in order."""
    return [
        block.identity
        for directive in appearances.pages[page]
        for block in directive.blocks
        if block.is_shown
    ]


def links(appearances: Appearances, page: str, origin: str, record: DirectiveRecord) -> list[str]:
    """Where links on a page to the base of a directive lead, the nearest first."""
    target = BlockOnPage(origin, record, record.blocks[0])
    return [f"{each.page}#{each.identity}" for each in appearances.nearest(page, target)]


def test_without_jaxpr_show_records_are_what_pages_show() -> None:
    first, second = declared("f", "base grad"), declared("g", "grad")
    appearances = arranged(a=[first], b=[second])
    assert appearances.pages["a"] == [first] and appearances.pages["b"] == [second]
    assert appearances.of("a", first.blocks[0]) == [Appearance("a", "jaxpr-f")]
    assert appearances.of("b", second.blocks[0]) == []
    assert [figure.block.name for figure in appearances.once()] == ["f", "f.grad", "g.grad"]


def test_the_first_place_on_a_page_has_the_ids() -> None:
    record = declared("f", "base")
    above = arranged(a=[show("f"), record, show("f"), show("f.grad")])
    assert ids(above, "a") == ["jaxpr-f", "jaxpr-f-2", "jaxpr-f-3", "jaxpr-f.grad"]
    assert ids(arranged(a=[declared("f"), show("f")]), "a") == ["jaxpr-f"]


def test_a_suffix_is_never_another_blocks_id() -> None:
    """A second block of one name, which nothing can point at, keeps its suffixed id."""
    own = declared("f", "base", explicit=False)
    second = declared("f", "base", explicit=False, suffix="-2")
    assert ids(arranged(a=[show("f"), own, second]), "a") == ["jaxpr-f", "jaxpr-f-3", "jaxpr-f-2"]


def test_beside_the_base_both_appear() -> None:
    record = declared("f", "grad")
    appearances = arranged(a=[record, show("f.grad", layout=COMPARE), show("f", layout=COMPARE)])
    assert ids(appearances, "a") == ["jaxpr-f.grad", "jaxpr-f", "jaxpr-f.grad-2", "jaxpr-f-2"]
    assert links(appearances, "a", "a", record) == ["a#jaxpr-f", "a#jaxpr-f-2"]


def test_links_prefer_their_own_page_then_the_declaring_one() -> None:
    record = declared("f", "base")
    appearances = arranged(a=[show("f")], b=[record], c=[show("f"), show("f")], d=[])
    assert links(appearances, "d", "b", record) == [
        "b#jaxpr-f", "a#jaxpr-f", "c#jaxpr-f", "c#jaxpr-f-2",
    ]  # fmt: skip
    assert links(appearances, "c", "b", record)[0] == "c#jaxpr-f"
    hidden = declared("f")
    elsewhere = arranged(a=[show("f")], b=[hidden], c=[show("f")])
    assert links(elsewhere, "b", "b", hidden) == ["a#jaxpr-f", "c#jaxpr-f"]
    assert links(arranged(b=[hidden]), "b", "b", hidden) == []


def test_a_page_finds_its_own_blocks_before_those_of_others() -> None:
    local, shared = declared("f", "base", explicit=False), declared("f")
    appearances = arranged(a=[local, show("f")], b=[shared], c=[show("f")], d=[show(" f . grad ")])
    assert len(appearances.of("a", local.blocks[0])) == 2
    assert appearances.of("b", shared.blocks[0]) == [Appearance("c", "jaxpr-f")]
    assert appearances.of("b", shared.blocks[1]) == [Appearance("d", "jaxpr-f.grad")]


def test_a_block_is_listed_once() -> None:
    appearances = arranged(
        a=[show("f"), show("f.grad"), show("f")], b=[declared("f", "base")], c=[show("nothing")]
    )
    once = [(figure.page, figure.block.identity) for figure in appearances.once()]
    assert once == [("a", "jaxpr-f.grad"), ("b", "jaxpr-f")]
    assert [figure.block.name for figure in appearances.on("a")] == ["f", "f.grad"]
    assert list(appearances.once(["a", "none"])) == [*appearances.once()][:1]
    assert appearances.on("c") == []


def test_what_names_no_block_is_shown_as_that() -> None:
    appearances = arranged(a=[show("f"), show("f[0]"), show("")])
    assert [record.path for _page, record in appearances.unresolved] == ["f", "f[0]", ""]
    assert ids(appearances, "a") == ["jaxpr-f", "jaxpr-block", "jaxpr-block-2"]
    assert all(view.blocks[0].problem for view in appearances.pages["a"])
    assert appearances.view("a", 3) is None


def test_a_show_has_options_of_its_own() -> None:
    record = declared("f", "base")._replace(opened="all", classes=("wide",), caption="declared")
    appearances = arranged(a=[record], b=[show("f.grad", opened="none", caption="shown")])
    view = appearances.view("b", 0)
    assert view is not None and (view.inside, view.name) == ("f.grad", "f")
    assert (view.opened, view.classes, view.caption) == ("none", (), "shown")
    assert [block.is_shown for block in view.blocks] == [False, True]
