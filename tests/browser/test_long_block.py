"""A long block in a browser: what is out of sight costs nothing, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from sphinx_jaxpr.program.html.code import code
from sphinx_jaxpr.program.parser.parser import parse
from tests.browser.conftest import ARGS
from tests.support import PROJECT

pytestmark = pytest.mark.browser

STATIC = PROJECT / "sphinx_jaxpr/static"
COUNT = 3000
ID = "jaxpr-long-eqn-{}"

WATCH = """() => { window.touched = new Set();
  new MutationObserver(list => list.forEach(({target}) => touched.add(target))).observe(
    document.querySelector('.jaxpr-code'), {subtree: true, attributes: true}) }"""
#: How many equations the browser has laid out.
LAID_OUT = """() => [...document.querySelectorAll('.jaxpr-eqn')].filter(
  node => node.checkVisibility({contentVisibilityAuto: true})).length"""
TOP = "id => document.getElementById(id).getBoundingClientRect().top"


def written(path: Path, count: int) -> str:
    """The address of a page with a block of ``count`` equations."""
    lines = [f"    v{i}:f32[8] = add v{i - 1} v{i // 2}" for i in range(1, count + 1)]
    text = "\n".join(["{ lambda ; v0:f32[8]. let", *lines, f"  in (v{count},) }}"])
    rows = code(parse(text), {}, "jaxpr-long")
    style, script = ((STATIC / name).as_uri() for name in ("jaxpr.css", "jaxpr.js"))
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><title>Long</title>'
        f'<link rel="stylesheet" href="{escape(style)}"><script defer src="{escape(script)}">'
        '</script><figure class="jaxpr" id="jaxpr-long"><details><summary><code'
        f' class="jaxpr-call">long</code></summary><div class="jaxpr-code">{rows}</div></details>'
        "</figure><p>After it.</p>",
        "utf-8",
    )
    return path.as_uri()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("long") / "long.html", COUNT)


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(address)
    yield page
    context.close()


def opened(page: Page) -> Page:
    page.locator("summary").click()
    return page


def test_only_what_is_near_is_laid_out_and_the_room_is_kept(page: Page) -> None:
    assert 50 < opened(page).evaluate(LAID_OUT) < 600
    height = page.evaluate("document.documentElement.scrollHeight")
    page.add_style_tag(content=".jaxpr-chunk { content-visibility: visible !important }")
    assert page.evaluate(LAID_OUT) == COUNT
    assert page.evaluate("document.documentElement.scrollHeight") == height


def test_pointing_touches_what_it_lights(page: Page) -> None:
    opened(page).evaluate(WATCH)
    page.locator(f"#{ID.format(7)} .jaxpr-binder").hover()
    lit = page.evaluate("document.querySelectorAll('.jaxpr-hit').length")
    assert page.evaluate("touched.size") == lit == 4
    page.locator(f"#{ID.format(7)} .jaxpr-binder").click()
    page.evaluate("touched.clear()")
    page.keyboard.press("ArrowDown")
    # What goes out, what lights up, and the two tab stops.
    assert 0 < page.evaluate("touched.size") <= 10


@pytest.mark.parametrize("script", [True, False], ids=["script", "bare"])
def test_an_address_leads_into_the_middle(browser: Browser, address: str, script: bool) -> None:
    context = browser.new_context(reduced_motion="reduce", java_script_enabled=script)
    page = context.new_page()
    page.goto(f"{address}#{ID.format(2000)}")
    if script:
        page.wait_for_function("document.activeElement.id !== ''", timeout=5000)
    assert page.evaluate("document.querySelector('details').open")
    margin = page.evaluate(
        f"parseFloat(getComputedStyle(document.getElementById('{ID.format(2000)}')).scrollMarginTop)"
    )
    assert abs(page.evaluate(TOP, ID.format(2000)) - margin) <= 2
    context.close()


def test_search_finds_what_is_not_laid_out(page: Page) -> None:
    opened(page)
    assert page.evaluate("find('v2500:f32[8] = add v2499 v1250')")
    found = "getSelection().anchorNode.parentElement.closest('.jaxpr-eqn')"
    assert page.evaluate(f"{found}.id") == ID.format(2499)
    page.wait_for_function(
        f"{found}.checkVisibility({{contentVisibilityAuto: true}})", timeout=5000
    )


def test_paper_has_every_line(page: Page) -> None:
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(LAID_OUT) == COUNT


def test_screen_readers_have_every_line(
    browser: Browser, chromium_path: str, tmp_path: Path
) -> None:
    # As where a screen reader runs.
    args = [*ARGS, "--force-renderer-accessibility"]
    reader = browser.browser_type.launch(executable_path=chromium_path, args=args)
    page = reader.new_page()
    page.goto(written(tmp_path / "small.html", 600))
    opened(page)
    assert page.evaluate(LAID_OUT) < 600
    tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    reader.close()
    words = [node["name"]["value"] for node in tree if node["role"]["value"] == "StaticText"]
    assert words.count("add") == 600 and "v599" in words


def test_a_selection_is_copied_whole(page: Page) -> None:
    opened(page)
    text = page.evaluate(
        """() => { const code = document.querySelector('.jaxpr-code');
          getSelection().selectAllChildren(code);
          const data = new DataTransfer();
          document.dispatchEvent(new ClipboardEvent('copy', {clipboardData: data}));
          return data.getData('text/plain') }"""
    )
    assert len(text.splitlines()) == COUNT + 2
