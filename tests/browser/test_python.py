"""Lines of Python and the equations that they made: each lights the other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.browser.test_block import CLOSE_ALL, CONTRAST, OPEN_ALL
from tests.support import Build

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]

GRAD = '[id="jaxpr-dense.grad"]'
NUMBER = "[data-source] .linenos a"
#: The ids of what is lit.
LIT = "() => [...document.querySelectorAll('.jaxpr-made')].map(e => e.id)"
#: How many equations of one line of Python each block has.
COUNTS = """line => [...document.querySelectorAll('figure[data-source="jaxpr-dense"]')].map(f =>
  f.querySelectorAll(`[data-line="${line}"]`).length)"""


def line_of(page: Page) -> str:
    line: str = page.locator(NUMBER).first.inner_text()
    return line.strip()


def all_of(page: Page) -> list[str]:
    """The line and its equations in all blocks."""
    line = line_of(page)
    counts = page.evaluate(COUNTS, line)
    assert len(counts) == 6 and min(counts) >= 3
    found: list[str] = page.evaluate(
        "l => [...document.querySelectorAll(`[data-line='${l}']`)].map(e => e.id)", line
    )
    assert len(found) == 1 + sum(counts)
    assert found[0] == f"jaxpr-dense-line-{line}"
    return found


def test_by_mouse(visit: Visit) -> None:
    page = visit("furo")
    wanted = all_of(page)
    page.locator(f"id={wanted[0]}").hover()
    assert page.evaluate(LIT) == wanted
    page.mouse.move(2, 2)
    assert page.evaluate(LIT) == []
    # And back; what a line inside of the equation says is the equation's.
    page.locator(f"{GRAD} .jaxpr-eqn").nth(1).hover(position={"x": 250, "y": 5})
    assert page.evaluate(LIT) == wanted[:1]
    page.locator(f"{GRAD} .jaxpr-at").first.hover()
    assert page.evaluate(LIT) == wanted[:1]
    page.locator(f"{GRAD} .jaxpr-eqn .jaxpr-var").first.hover()
    assert page.evaluate(LIT) == wanted[:1]
    assert page.locator(".jaxpr-hit").count() > 1
    # A block without its Python, and a line that made nothing.
    page.locator("#jaxpr-relus .jaxpr-eqn").first.hover(position={"x": 250, "y": 5})
    assert page.evaluate(LIT) == []
    page.locator(".jaxpr-source [id]:not([data-line])").first.hover()
    assert page.evaluate(LIT) == []


def test_by_keyboard(visit: Visit) -> None:
    page = visit("furo")
    wanted = all_of(page)
    number = page.locator(NUMBER).first
    told = number.get_attribute("aria-label")
    assert told == f"line {line_of(page)}: {len(wanted) - 1} equations"
    page.locator('[id="jaxpr-dense"] > details > summary').focus()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.parentElement.className") == "linenos"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    assert page.evaluate(LIT) == wanted
    # What the mouse passes over changes nothing for good.
    page.locator(f"{GRAD} .jaxpr-at").first.hover()
    page.locator("h1").first.hover()
    assert page.evaluate(LIT) == wanted
    page.keyboard.press("Escape")
    assert page.evaluate(LIT) == []
    # It leads to the first equation; from there a link leads back.
    number.focus()
    page.evaluate(CLOSE_ALL)
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id === 'jaxpr-dense-eqn-0'", timeout=5000)
    assert page.evaluate("document.activeElement.checkVisibility()")
    assert page.evaluate(LIT) == wanted[:1]
    page.locator('[id="jaxpr-dense"] .jaxpr-at').focus()
    assert page.evaluate(LIT) == wanted[:1]
    page.keyboard.press("Enter")
    assert page.url.endswith(f"#{wanted[0]}")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.parentElement.className") == "linenos"


def test_by_touch(visit: Visit) -> None:
    page = visit("furo", 390, has_touch=True, is_mobile=True)
    wanted = all_of(page)
    line = page.locator(f"id={wanted[0]}")
    address = page.url
    line.locator("a").tap()
    assert page.evaluate(LIT) == wanted and page.url == address
    page.locator("h1").first.tap()
    assert page.evaluate(LIT) == []
    line.locator(".k").first.tap()
    assert page.evaluate(LIT) == wanted
    page.locator(f"{GRAD} .jaxpr-eqn .jaxpr-type").first.tap()
    assert page.evaluate(LIT) == wanted[:1]
    page.locator("h1").first.tap()
    assert page.evaluate(LIT) == []
    # A second tap follows.
    line.locator("a").tap()
    line.locator("a").tap()
    page.wait_for_function("document.activeElement.id === 'jaxpr-dense-eqn-0'", timeout=5000)


@pytest.mark.parametrize("theme", ["furo", "alabaster", "pydata_sphinx_theme"])
def test_without_script_links_lead_there_and_back(visit: Visit, theme: str) -> None:
    page = visit(theme, java_script_enabled=False)
    page.locator(NUMBER).first.click()
    assert page.url.endswith("#jaxpr-dense-eqn-0")
    page.locator('[id="jaxpr-dense"] .jaxpr-at').click()
    assert page.url.endswith(f"#jaxpr-dense-line-{line_of(page)}")


@pytest.mark.parametrize("theme", ["furo", "alabaster", "pydata_sphinx_theme"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_is_readable_and_moves_nothing(visit: Visit, theme: str, scheme: str) -> None:
    page = visit(theme, color_scheme=scheme)
    page.evaluate(OPEN_ALL)
    place = "[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
    before = page.evaluate(place)
    page.locator(NUMBER).first.hover()
    page.evaluate("document.querySelectorAll('.jaxpr-made').length") or pytest.fail("no light")
    assert page.evaluate(place) == before
    kinds = [".jaxpr-made .jaxpr-type", ".jaxpr-made .jaxpr-prim", ".jaxpr-made .jaxpr-var"]
    ratios = page.evaluate(CONTRAST, kinds)
    assert min(ratios.values()) >= 4.5, ratios
    number = page.evaluate(CONTRAST.replace("figure.jaxpr ", ""), [NUMBER])
    assert min(number.values()) >= 4.5, number


def test_forced_colours_show_the_light(visit: Visit) -> None:
    page = visit("furo", forced_colors="active")
    page.locator(NUMBER).first.hover()
    look = "getComputedStyle(document.querySelector('figure .jaxpr-made')).outlineStyle"
    assert page.evaluate(look) == "dashed"


def test_a_selection_is_copied_with_what_is_folded_in_it(
    visit: Visit, sites: Callable[[str], Build]
) -> None:
    texts = sites("furo").texts("blocks")
    page = visit("furo", permissions=["clipboard-read", "clipboard-write"])
    block = "jaxpr-dense.scan"
    lines = texts[block].splitlines()
    assert page.locator(f"[id='{block}'] .jaxpr-more:not([open])").count() > 0
    choose = """([id, first, last, from, to]) => {
      const lines = document.getElementById(id).querySelectorAll('.jaxpr-line');
      const at = (node, place) => {
        const walk = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
        for (let text; (text = walk.nextNode()); place -= text.length)
          if (place <= text.length) return [text, place];
      };
      getSelection().setBaseAndExtent(...at(lines[first], from), ...at(lines[last], to));
    }"""
    page.evaluate(choose, [block, 0, len(lines) - 1, 2, 4])
    page.keyboard.press("Control+c")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "\n".join([lines[0][2:], *lines[1:-1], lines[-1][:4]])
    # On one line, and outside of programs, the browser copies.
    page.evaluate(choose, [block, 0, 0, 2, 8])
    page.keyboard.press("Control+c")
    assert page.evaluate("navigator.clipboard.readText()") == lines[0][2:8]
    page.evaluate("getSelection().selectAllChildren(document.querySelector('h1'))")
    page.keyboard.press("Control+c")
    assert "Blocks" in page.evaluate("navigator.clipboard.readText()")
