"""Other extensions' scripts and styles on pages with blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.ext.builds import beside

pytestmark = [pytest.mark.browser, pytest.mark.once]

#: In place of what the page of sphinx-tippy loads from elsewhere.
TIPPY = "window.tippy = link => { link.dataset.tip = 'yes'; return { destroy() {} } }"


@pytest.fixture(scope="module", params=["last", "notebooks-first"])
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    done = beside.built(tmp_path_factory.mktemp("beside"), request.param)
    return (done.out / "index.html").as_uri()


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    context = browser.new_context(
        viewport={"width": 1280, "height": 900},
        permissions=["clipboard-read", "clipboard-write"],
        reduced_motion="reduce",
    )
    errors: list[str] = []

    def opened(hash: str = "") -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.route("**/unpkg.com/**", lambda route: route.abort())
        page.add_init_script(TIPPY)
        page.goto(address + hash)
        page.wait_for_load_state("load")
        return page

    yield opened
    context.close()
    assert errors == []


def test_copy_buttons_are_each_ones_own(visit: Callable[..., Page]) -> None:
    page = visit()
    assert page.locator("figure.jaxpr button.copybtn").count() == 0
    listing = page.locator(".jaxpr-source").first
    listing.hover()
    listing.locator("button.copybtn").click()
    page.wait_for_function("navigator.clipboard.readText().then(t => t.startsWith('def '))")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines()[:1] == ["def dense(x, w, b):"]
    assert not any(line.lstrip()[:1].isdigit() for line in copied.splitlines())
    page.locator("#jaxpr-dense").get_by_role("button", name="Copy jaxpr").click()
    page.wait_for_function("navigator.clipboard.readText().then(t => t.startsWith('{ lambda'))")


def test_links_lead_into_what_others_hide(visit: Callable[..., Page]) -> None:
    for name in ("dropped", "toggled"):
        page = visit(f"#jaxpr-{name}-eqn-0-0-1")
        page.wait_for_function(
            f"document.getElementById('jaxpr-{name}-eqn-0-0-1').checkVisibility()", timeout=5000
        )
        page.wait_for_function(
            f"document.activeElement.id === 'jaxpr-{name}-eqn-0-0-1'", timeout=5000
        )


def test_marks_and_lines_work(visit: Callable[..., Page]) -> None:
    page = visit()
    page.locator("#jaxpr-dense .jaxpr-marker").click()
    assert page.url.endswith("#jaxpr-dense-note-1")
    page.locator(".jaxpr-source .linenos a").first.hover()
    assert page.locator(".jaxpr-made").count() > 3
    page.locator("#jaxpr-dense .jaxpr-var").first.hover()
    assert page.locator(".jaxpr-hit").count() == 2


LOOK = """selector => [...document.querySelectorAll(selector)].map(e => {
  const s = getComputedStyle(e);
  return ['display', 'margin', 'padding', 'borderLeftWidth', 'backgroundColor', 'fontSize',
    'listStyleType'].map(name => s[name]) })"""


def test_blocks_look_the_same_inside_others(visit: Callable[..., Page]) -> None:
    page = visit()
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    page.evaluate("document.querySelectorAll('.sd-tab-set input')[1].click()")
    looks = {
        name: page.evaluate(LOOK, f"#jaxpr-{name} summary, #jaxpr-{name} pre.jaxpr-line")
        for name in ("tabbed", "dropped", "carded", "toggled")
    }
    assert len(looks["tabbed"]) > 10
    for name, look in looks.items():
        assert look == looks["tabbed"], name
