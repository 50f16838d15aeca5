"""The markup of single programs: whatever JAX prints, and whatever is pasted."""

from __future__ import annotations

from collections.abc import Iterator

import html5lib
import jax
import pytest
from bs4 import BeautifulSoup, Tag

from sphinx_jaxpr.ext.showing import listings
from sphinx_jaxpr.program.facts import align as align_facts
from sphinx_jaxpr.program.html import code
from sphinx_jaxpr.program.html.side_by_side import Column, align
from sphinx_jaxpr.program.matching.match import match
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.worker.facts import facts
from tests.program import corpus
from tests.program.recordings import collected

PASTED = {
    "nothing": "",
    "no jaxpr": "Traceback (most recent call last):\n\n  <b>bold</b> & more",
    "an equation": "b:f32[] = sin a",
    "cut short": "{ lambda ; a:f32[8]. let\n    b:f32[8] = sin a\n    c:f32[8] = ",
    "old": "{ lambda ; a.\n  let b = sin a\n      c = mul b 2.0\n  in (c,) }",
    "packed": "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0; c:f32[] = add b a in (c,) }",
    "packed body": (
        "{ lambda ; a:f32[]. let b:f32[] = jit[name=f jaxpr={ lambda ; c:f32[]. let"
        " d:f32[] = sin c; e:f32[] = cos d in (e,) }] a; f:f32[] = neg b in (f,) }"
    ),
    "long header": (
        "{ lambda ; a:f32[]\n  b:f32[]. let\n    c:f32[] = jit[\n      jaxpr={ lambda ; d:f32[]\n"
        "          e:f32[]. let\n          f:f32[] = add d e\n        in (f,) }\n      name=g\n"
        "    ] a b\n  in (c,) }"
    ),
    "bodies that touch": (
        "{ lambda ; a:i32[]. let\n    b:f32[] = cond[\n      branches=({ lambda ; . let\n"
        "          c:f32[] = sin 1.0\n        in (c,) } { lambda ; . let\n"
        "          d:f32[] = cos 1.0\n        in (d,) })\n    ] a\n  in (b,) }"
    ),
    "windows": "{ lambda ; a:f32[8]. let\r\n    b:f32[8] = sin a\r\n  in (b,) }",
    "spaces": "  { lambda ; a:f32[8]. let\n\n\n    b:f32[8] = sin a   \n\n  in (b,) }  \n",
}


def traced() -> Iterator[tuple[str, jax.extend.core.ClosedJaxpr]]:
    for name, program in corpus.PROGRAMS.items():
        if not program.missing():
            yield name, program()


def check(name: str, text: str, markup: str) -> BeautifulSoup:
    page = BeautifulSoup(markup, "html.parser")
    assert "\n".join(line.get_text() for line in page.select(".jaxpr-line")) == text, name
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    tree = parser.parseFragment(markup)  # as browsers read it
    assert [e.tag for e in tree.iter()][1:] == [e.name for e in page.find_all(True)], name
    ids = [str(element["id"]) for element in page.select("[id]")]
    assert len(ids) == len(set(ids)), name
    for inline in page.select("span, pre, summary"):
        assert not inline.find(["div", "pre", "details", "p"]), name
    for body in page.select("details"):
        first = body.find(True)
        assert isinstance(first, Tag) and first.name == "summary" and body.has_attr("open"), name
    return page


@pytest.mark.slow
def test_every_program_keeps_its_text_and_its_equations() -> None:
    count = 0
    for name, jaxpr in traced():
        text = facts.mask(str(jaxpr))
        printed = parse(text)
        page = check(
            name, text, code.code(printed, align_facts(printed, collected(jaxpr)).equations, "b")
        )
        wanted = sum(1 for _ in printed.walk())
        marks = page.select(".jaxpr-eqn[id^=b-][data-primitive]")
        assert len(marks) == wanted, name
        count += wanted
    assert count > 300


def test_generated_programs() -> None:
    for seed in range(15):
        jaxpr = corpus.random_program(seed)()
        text = facts.mask(str(jaxpr))
        check(f"seed {seed}", text, code.code(parse(text), {}, "b"))


@pytest.mark.parametrize("name", PASTED)
def test_any_text(name: str) -> None:
    text = PASTED[name]
    markup = code.code(parse(text), {}, "b")
    if "\r" not in text:  # which HTML can't hold
        check(name, text, markup)
    assert "<b>" not in markup


def test_folds() -> None:
    def bodies(name: str) -> list[str]:
        page = BeautifulSoup(code.code(parse(PASTED[name]), {}, "b"), "html.parser")
        return [
            " ".join(note.get_text() for note in body.select(":scope > summary > .jaxpr-note"))
            for body in page.select("details.jaxpr-body")
        ]

    assert bodies("long header") == ["1 equation"]
    assert bodies("bodies that touch") == ["1 equation", "1 equation"]
    # What stands on one line can't fold.
    assert bodies("packed body") == []


def test_packed_equations_are_parts_of_their_line() -> None:
    page = BeautifulSoup(code.code(parse(PASTED["packed body"]), {}, "b"), "html.parser")
    [line] = page.select(".jaxpr-line.jaxpr-packed")
    assert [str(e["id"]) for e in line.select(".jaxpr-eqn")] == [
        "b-eqn-0", "b-eqn-0-0-0", "b-eqn-0-0-1", "b-eqn-1",
    ]  # fmt: skip


def test_letters_for_tex() -> None:
    assert listings.letter_definitions("größe é x_1 {}") == ""
    found = listings.letter_definitions("λ→ΑΛ中λ")
    assert found.count("\n") == 4 and found.endswith("%")
    for letter, shape in {
        "λ": r"\ensuremath{\lambda}",
        "Λ": r"\ensuremath{\Lambda}",
        chr(0x391): "A",
        "→": r"\mbox{[U+2192]}",
        "中": r"\mbox{[U+4E2D]}",
    }.items():
        name = rf"\csname u8:\detokenize{{{letter}}}\endcsname"
        assert rf"\expandafter\gdef{name}{{{shape}}}\fi%" in found
    # Every Greek letter has a command that TeX knows.
    assert r"\lamda" not in listings.letter_definitions("".join(map(chr, range(0x391, 0x3CA))))


def test_paged_formats_end_between_equations() -> None:
    text = PASTED["long header"]
    assert listings._cut(parse(text), 2) == (len(text), 0)
    cut, rest = listings._cut(parse(text), 1)
    assert rest == 1 and text[:cut].endswith("e:f32[]. let")
    assert listings._cut(parse(PASTED["packed"]), 1) == (0, 1)


@pytest.mark.parametrize("start", range(3))
def test_side_by_side_every_program_keeps_its_text(start: int) -> None:
    programs = [(name, parse(facts.mask(str(jaxpr)))) for name, jaxpr in list(traced())[start::9]]
    count = 0
    for (name, one), (_, other) in zip(programs, [*programs[1:], programs[0]], strict=True):
        if one.program is None or other.program is None:
            continue
        sides = Column(one), Column(other)
        if not align(*sides, match(one, other)):
            continue
        for printed, side in zip((one, other), sides, strict=True):
            page = check(name, printed.text, code.code(printed, {}, "b", code.Marks(side=side)))
            assert not any(gap.get_text() for gap in page.select(".jaxpr-gap")), name
            # Whatever stands in a grid has a row in it.
            for inner in page.select(".jaxpr-grid > :not(summary)"):
                assert {"jaxpr-cell", "jaxpr-gap"} & set(inner["class"]), name
            count += 1
    assert count > 10
