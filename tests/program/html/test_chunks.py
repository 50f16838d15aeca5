"""Long programs are cut into chunks; nothing else about their HTML changes."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from bs4 import BeautifulSoup, Tag

from sphinx_jaxpr.program.html.chunks import MOST, SHORT
from sphinx_jaxpr.program.html.code import Marks, code
from sphinx_jaxpr.program.html.folding import POINTED, Fold, runs
from sphinx_jaxpr.program.model import Printed
from sphinx_jaxpr.program.parser.parser import parse

pytestmark = pytest.mark.once


def chain(count: int, indent: str = "    ", letter: str = "v") -> str:
    lines = [f"{indent}{letter}{i}:f32[8] = sin {letter}{i - 1}" for i in range(1, count + 1)]
    return "\n".join(lines)


def flat(count: int) -> Printed:
    body = chain(count)
    return parse(f"{{ lambda ; v0:f32[8]. let\n{body}\n  in (v{count},) }}")


def nested(count: int) -> Printed:
    """A chain, a loop with another chain in it, a chain."""
    return parse(
        f"{{ lambda ; v0:f32[8]. let\n{chain(count)}\n    x:f32[8] = scan[\n"
        f"      jaxpr={{ lambda ; w0:f32[8]. let\n{chain(count, ' ' * 10, 'w')}\n"
        f"        in (w{count},) }}\n      length=4\n    ] v{count}\n"
        f"    y:f32[8] = cos x\n  in (y,) }}"
    )


def chunks_of(html: str) -> list[Tag]:
    return BeautifulSoup(html, "html.parser").select(".jaxpr-chunk")


def lines_of(chunk: Tag) -> int:
    return sum(map(int, str(chunk["data-lines"]).split()))


def without(html: str) -> str:
    """The HTML without its chunks."""
    opened: list[bool] = []

    def kept(tag: re.Match[str]) -> str:
        if tag[0] != "</div>":
            opened.append("jaxpr-chunk" in tag[0])
            return "" if opened[-1] else tag[0]
        return "" if opened.pop() else tag[0]

    return re.sub("</?div[^>]*>", kept, html)


def test_a_short_program_has_none() -> None:
    html = code(flat(SHORT - 2), {}, "b")
    assert "jaxpr-chunk" not in html
    assert "jaxpr-chunk" in code(flat(SHORT - 1), {}, "b")


@pytest.mark.parametrize("printed", [flat(1000), nested(600)], ids=["flat", "nested"])
def test_chunks_are_all_that_is_added(printed: Printed) -> None:
    html = code(printed, {}, "b")
    whole = code(printed, {}, "b", Marks(is_paged=True))
    assert without(html) == whole != html and "jaxpr-chunk" not in whole


def test_each_holds_as_many_lines_as_it_says() -> None:
    sizes = []
    for chunk in chunks_of(code(nested(600), {}, "b")):
        assert lines_of(chunk) == len(chunk.select(".jaxpr-line")) <= MOST
        sizes.append(lines_of(chunk))
    # Both chains are cut; the loop is in no chunk, what follows it is in one.
    assert sizes == [127, 127, 127, 127, 92] * 2 + [1]


def test_folds_count_as_their_summary() -> None:
    printed = flat(1000)
    html = code(printed, {}, "b", Marks(folded=[Fold(11, 20, ("x",))]))
    first = chunks_of(html)[0]
    assert lines_of(first) == MOST and len(first.select(".jaxpr-line")) == MOST + 9


def test_folds_of_equations_are_in_chunks_and_long_ones_have_their_own() -> None:
    printed = flat(1000)
    assert printed.program is not None
    starts = [equation.start for equation in printed.program.equations]
    every_other = runs(printed, dict.fromkeys(starts[:200:2], POINTED))
    long = runs(printed, dict.fromkeys(starts[400:800], POINTED))
    marks = Marks(runs=[*every_other, *long])
    html = code(printed, {}, "b", marks)
    assert without(html) == code(printed, {}, "b", replace(marks, is_paged=True))
    found = chunks_of(html)
    assert len(found[0].select("details")) == 64 and not found[0].select(".jaxpr-chunk")
    inner = [chunk for chunk in found if chunk.find_parent("details")]
    assert [lines_of(chunk) for chunk in inner] == [127, 127, 127, 19]
    around = [chunk for chunk in found if chunk.select("details .jaxpr-chunk")]
    assert [lines_of(chunk) for chunk in around] == [MOST]
