"""What the script adds to blocks, by mouse, keyboard and touch; nothing is lost without it."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from sphinx_jaxpr.program.html.code import code
from sphinx_jaxpr.program.parser.parser import parse
from tests.browser.test_block import CLOSE_ALL, CONTRAST, OPEN_ALL, OVERFLOW
from tests.support import PROJECT, Build

pytestmark = pytest.mark.browser

STATIC = PROJECT / "sphinx_jaxpr/static"
Visit = Callable[..., Page]

GRAD = '[id="jaxpr-dense.grad"]'
#: What is lit, as (figure, letter, is binder).
LIT = """() => [...document.querySelectorAll('.jaxpr-hit')].map(e =>
  [e.closest('figure').id, e.textContent, e.classList.contains('jaxpr-binder')])"""
#: Where the keyboard is: the letter, its place among those of its binding, the equation.
HERE = """() => {
  const e = document.activeElement;
  if (!e.matches('.jaxpr-var')) return [e.tagName, e.id];
  const same = e.closest('figure').querySelectorAll(`[data-var="${e.dataset.var}"]`);
  return [e.textContent, [...same].indexOf(e), e.closest('.jaxpr-eqn')?.id ?? ''];
}"""


def variable(page: Page, block: str, letter: str, place: int) -> Any:
    """The ``place``-th of the variables of a block that show ``letter``."""
    return page.locator(f"{block} .jaxpr-var").filter(has_text=letter).nth(place)


def status(page: Page, block: str) -> str:
    text: str = page.locator(f"{block} [role=status]").inner_text()
    return text


def press(page: Page, *keys: str) -> list[Any]:
    """Press the keys; where the keyboard is after each."""
    found = []
    for key in keys:
        page.keyboard.press(key)
        found.append(page.evaluate(HERE))
    return found


def clipboard(page: Page) -> str:
    text: str = page.evaluate("navigator.clipboard.readText()")
    return text


def eqn(place: int | str) -> str:
    return f"jaxpr-dense.grad-eqn-{place}"


# --- def-use ----------------------------------------------------------------


def test_pointing_lights_a_binding(visit: Visit) -> None:
    page = visit("furo")
    variable(page, GRAD, "g", 2).hover()
    lit = page.evaluate(LIT)
    assert lit == [["jaxpr-dense.grad", "g", True], *[["jaxpr-dense.grad", "g", False]] * 3]
    # Not by colour alone.
    look = """part => { const s = getComputedStyle(document.querySelector(part));
      return [s.textDecorationLine, s.outlineStyle] }"""
    assert page.evaluate(look, ".jaxpr-hit:not(.jaxpr-binder)") == ["underline", "dotted"]
    assert page.evaluate(look, ".jaxpr-hit.jaxpr-binder") == ["underline", "solid"]
    page.keyboard.press("Escape")
    assert page.evaluate(LIT) == []
    variable(page, GRAD, "h", 0).hover()
    assert len(page.evaluate(LIT)) == 2
    page.mouse.move(0, 0)
    assert page.evaluate(LIT) == []


def test_a_letter_in_a_sentence_lights_its_variables(visit: Visit) -> None:
    page = visit("furo")
    variable(page, GRAD, "g", 2).hover()
    lit = page.evaluate(LIT)
    number = page.locator(f"{GRAD} .jaxpr-hit").first.get_attribute("data-var")
    add = """([block, number]) => {
      const letter = (block, number) => `<span class="jaxpr-letter" data-block="${block}"
        data-var="${number}"><a href="#${block}"><code>g</code></a></span>`;
      const words = `<p>${letter(block, number)} and ${letter('nowhere', '0 1')}</p>`;
      document.querySelector(`figure[id="${block}"]`).insertAdjacentHTML('beforebegin', words);
    }"""
    page.evaluate(add, ["jaxpr-dense.grad", number])
    page.keyboard.press("Escape")
    assert page.evaluate(LIT) == []
    page.locator(".jaxpr-letter code").first.hover()
    assert page.evaluate(LIT) == lit
    page.mouse.move(0, 0)
    assert page.evaluate(LIT) == []
    page.locator(".jaxpr-letter a").first.focus()
    assert page.evaluate(LIT) == lit
    page.locator(".jaxpr-letter a").nth(1).focus()  # its block is not on this page
    assert page.evaluate(LIT) == []


def test_by_scope_not_by_letter(visit: Visit) -> None:
    page = visit("furo")
    block = "#jaxpr-compares"
    letters = page.locator(f"{block} .jaxpr-var").filter(has_text="a")
    numbers = {letters.nth(i).get_attribute("data-var") for i in range(letters.count())}
    assert len(numbers) == 2
    for place in (0, letters.count() - 1):
        letters.nth(place).hover()
        number = letters.nth(place).get_attribute("data-var")
        lit = page.locator(".jaxpr-hit")
        assert {lit.nth(i).get_attribute("data-var") for i in range(lit.count())} == {number}
        assert lit.count() == page.locator(f'{block} [data-var="{number}"]').count()
        assert lit.count() < letters.count()


def test_a_click_goes_to_the_binder_then_around(visit: Visit) -> None:
    page = visit("furo", 1280)
    use = variable(page, GRAD, "g", 2)
    use.click()
    assert page.evaluate(HERE) == ["g", 0, eqn(3)]
    assert status(page, GRAD) == "g: bf16[32,64], bound by tanh, used 3 times"
    # The same place again, then wherever that leads.
    use.click()
    assert page.evaluate(HERE) == ["g", 3, eqn(11)]
    variable(page, GRAD, "g", 3).click()
    assert page.evaluate(HERE) == ["g", 1, eqn(4)]
    # From elsewhere: to where it is bound, again.
    variable(page, GRAD, "d", 1).click()
    assert page.evaluate(HERE) == ["d", 0, eqn(0)]
    assert len(page.evaluate(LIT)) == 2


def test_a_click_selects_nothing_and_a_selection_follows_nothing(visit: Visit) -> None:
    page = visit("furo")
    box = variable(page, GRAD, "g", 0).bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 0.5, box["y"] + 5, steps=4)
    page.mouse.up()
    if page.evaluate("String(getSelection())"):
        assert page.evaluate(HERE)[0] != "g"


def test_a_variable_in_a_summary_follows_and_does_not_fold(visit: Visit) -> None:
    page = visit("furo")
    body = page.locator("#jaxpr-nested .jaxpr-body").first
    body.locator("> summary .jaxpr-var").first.click()
    assert body.get_attribute("open") is not None
    assert page.evaluate(HERE)[0] == "d"
    page.keyboard.press("Enter")
    assert page.evaluate(HERE) == ["d", 0, "jaxpr-nested-eqn-0"]
    assert body.get_attribute("open") is not None
    # Where the focus has left, no summary holds a tab stop.
    stops = page.locator("#jaxpr-nested summary [tabindex]")
    assert stops.count() == 1
    page.keyboard.press("Tab")
    assert (
        stops.count() == 0
        and page.locator("#jaxpr-nested .jaxpr-code [tabindex]:not(a)").count() == 1
    )
    body.locator("> summary .jaxpr-kw").first.click()
    assert body.get_attribute("open") is None


def test_following_opens_folds(visit: Visit) -> None:
    page = visit("furo")
    page.evaluate(
        "document.querySelectorAll('#jaxpr-nested .jaxpr-body').forEach(d => { d.open = false })"
    )
    # p is bound in the body and returned on the line that closes it.
    variable(page, "#jaxpr-nested", "p", 1).click()
    assert page.evaluate(HERE) == ["p", 0, "jaxpr-nested-eqn-0-0-3"]
    assert page.locator("#jaxpr-nested .jaxpr-body").first.get_attribute("open") is not None
    assert page.locator("#jaxpr-nested .jaxpr-body").nth(1).get_attribute("open") is None
    assert page.evaluate("document.activeElement.checkVisibility()")


def test_what_binds_is_said(visit: Visit) -> None:
    page = visit("furo")
    page.evaluate(OPEN_ALL)
    said = {}
    for block, letter in (
        (GRAD, "b"), ("#jaxpr-nested", "d"), ("#jaxpr-nested", "c"), ("#jaxpr-double", "b"),
        ('[id="jaxpr-relus.grad"]', "_"), ("#jaxpr-lookup", "a"),
    ):  # fmt: skip
        variable(page, block, letter, 0).click()
        # From the binder a click leads to the first use.
        said[block, letter] = status(page, block)
    assert said[GRAD, "b"] == "b: bf16[64,64], input w, used once"
    assert said["#jaxpr-nested", "d"] == "d: f32[], input of scan, used once"
    assert said["#jaxpr-nested", "c"] == "c: f32[4,3], bound by scan, used once"
    assert said["#jaxpr-double", "b"] == "b: f32[8], bound by mul, used once"
    assert said['[id="jaxpr-relus.grad"]', "_"].endswith("not used")
    assert said["#jaxpr-lookup", "a"] == "a: f32[4000,4000], constant, used once"


# --- keyboard ---------------------------------------------------------------


def test_one_tab_stop_a_block(visit: Visit) -> None:
    page = visit("furo")
    for figure in page.locator("figure.jaxpr").all():
        stops = figure.locator("[tabindex]:not(a)").count()
        assert stops == (1 if figure.locator(".jaxpr-var[data-var]").count() else 0)
    page.evaluate("document.querySelector('#jaxpr-nested summary').focus()")
    steps = press(page, *["Tab"] * 60)
    kinds = [step[0] for step in steps]
    inside = kinds[: kinds.index("BUTTON") + 3]
    assert steps[0] == ["a", 0, ""] and inside[-3:] == ["BUTTON"] * 3
    # Links and folds are stops of their own.
    assert set(inside[1:-3]) == {"A", "SUMMARY"}


def test_arrows(visit: Visit) -> None:
    page = visit("furo")
    # Themes turn pages with the arrows.
    page.evaluate("document.addEventListener('keydown', e => { window.seen = e.key })")
    page.evaluate(f"document.querySelector('{GRAD} summary').focus()")
    assert press(page, "Tab") == [["a", 0, ""]]
    outline = page.evaluate("getComputedStyle(document.activeElement).outline")
    assert "solid" in outline and "2px" in outline
    assert len(page.evaluate(LIT)) == 3
    page.evaluate("window.seen = ''")
    assert press(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft") == [
        ["b", 0, ""], ["c", 0, ""], ["d", 0, eqn(0)], ["c", 0, ""],
    ]  # fmt: skip
    assert press(page, "ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowUp") == [
        ["d", 0, eqn(0)], ["e", 0, eqn(1)], ["c", 1, eqn(1)], ["d", 0, eqn(0)], ["a", 0, ""],
    ]  # fmt: skip
    assert press(page, "End", "ArrowRight", "Home") == [["q", 1, ""], ["q", 1, ""], ["a", 0, ""]]
    assert page.evaluate("window.seen") == ""
    assert page.locator(f"{GRAD} [tabindex]:not(a)").count() == 1
    assert press(page, "Tab", "Shift+Tab")[-1] == ["a", 0, ""]
    # With a modifier the keys are the browser's.
    assert press(page, "Shift+ArrowRight") == [["a", 0, ""]]
    assert press(page, "Escape") == [["BODY", ""]]
    assert page.evaluate(LIT) == [] and status(page, GRAD) == ""
    assert press(page, "Tab")[0][0] in ("A", "BUTTON")


def test_enter_follows(visit: Visit) -> None:
    page = visit("furo")
    variable(page, GRAD, "h", 1).click()
    assert page.evaluate(HERE) == ["h", 0, eqn(4)]
    assert press(page, "Enter", "Enter", "ArrowRight", "Enter") == [
        ["h", 1, eqn(10)], ["h", 0, eqn(4)], ["g", 1, eqn(4)], ["g", 0, eqn(3)],
    ]  # fmt: skip
    assert press(page, "Enter", "Enter", "Enter", "Enter") == [
        ["g", 2, eqn(5)], ["g", 3, eqn(11)], ["g", 1, eqn(4)], ["g", 0, eqn(3)],
    ]  # fmt: skip


def test_arrows_pass_over_what_is_folded(visit: Visit) -> None:
    page = visit("furo")
    variable(page, "#jaxpr-nested", "f", 0).click()
    page.evaluate("document.querySelectorAll('#jaxpr-nested .jaxpr-body')[0].open = false")
    # The tab stop comes out of the body that closed.
    page.wait_for_function(
        "document.querySelector('#jaxpr-nested [tabindex]:not(a)').checkVisibility()", timeout=5000
    )
    page.evaluate("document.querySelector('#jaxpr-nested [tabindex]:not(a)').focus()")
    assert page.evaluate(HERE) == ["c", 0, "jaxpr-nested-eqn-0"]
    steps = press(page, "ArrowRight", "ArrowRight", "ArrowLeft")
    assert [step[0] for step in steps] == ["d", "p", "d"]


# --- touch ------------------------------------------------------------------


def test_a_tap_lights_and_a_second_one_follows(visit: Visit) -> None:
    page = visit("furo", 390, has_touch=True, is_mobile=True)
    use = variable(page, GRAD, "g", 2)
    use.tap()
    assert page.evaluate(HERE) == ["g", 2, eqn(5)]
    assert len(page.evaluate(LIT)) == 4
    assert status(page, GRAD) == "g: bf16[32,64], bound by tanh, used 3 times"
    assert page.locator(f"{GRAD} .jaxpr-status").is_visible()
    use.tap()
    assert page.evaluate(HERE) == ["g", 0, eqn(3)]
    variable(page, GRAD, "g", 0).tap()
    assert page.evaluate(HERE) == ["g", 3, eqn(11)]
    variable(page, GRAD, "a", 0).tap()
    assert page.evaluate(HERE) == ["a", 0, ""]
    page.locator("h1").first.tap()
    assert page.evaluate(LIT) == [] and status(page, GRAD) == ""


# --- reach ------------------------------------------------------------------

DEEP = "jaxpr-nested-eqn-0-0-1-0-3"
STATE = f"""() => [document.activeElement.id, document.getElementById('{DEEP}').checkVisibility(),
  history.length]"""


def test_an_address_opens_what_hides_it(visit: Visit) -> None:
    page = visit("furo", hash=f"#{DEEP}")
    assert page.evaluate(STATE)[:2] == [DEEP, True]
    tall = visit("furo", hash="#jaxpr-tall-eqn-200")
    assert tall.evaluate(HERE) == ["DIV", "jaxpr-tall-eqn-200"]
    place = tall.evaluate("document.activeElement.getBoundingClientRect().top")
    assert 0 <= place < 900
    assert tall.evaluate("document.activeElement.tabIndex") == -1
    # The next stop is in that equation.
    assert press(tall, "Tab")[0][2] == "jaxpr-tall-eqn-200"
    broken = visit("furo", hash="#%E0%A4%A")
    assert broken.locator(".jaxpr-tools").count() == broken.locator("figure.jaxpr").count()


def test_links_open_and_the_history_is_the_browsers(visit: Visit) -> None:
    page = visit("furo")
    page.evaluate(
        f"""() => {{ const a = document.createElement('a'); a.href = '#{DEEP}'; a.id = 'to';
          a.textContent = 'there'; document.querySelector('h1').after(a) }}"""
    )
    page.evaluate(CLOSE_ALL)
    length = page.evaluate("history.length")
    page.locator("#to").click()
    page.wait_for_function(f"document.activeElement.id === '{DEEP}'", timeout=5000)
    assert page.evaluate(STATE) == [DEEP, True, length + 1]
    # The same link once more, from a closed state: there is no change of the address.
    page.evaluate(CLOSE_ALL)
    page.evaluate("scrollTo(0, 0)")
    page.locator("#to").click()
    page.wait_for_function(f"document.activeElement.id === '{DEEP}'", timeout=5000)
    page.wait_for_function(f"document.getElementById('{DEEP}').checkVisibility()", timeout=5000)
    assert page.evaluate("history.length") == length + 1
    page.evaluate("location.hash = 'jaxpr-choose-eqn-0'")
    page.wait_for_function("document.activeElement.id === 'jaxpr-choose-eqn-0'", timeout=5000)
    page.evaluate(CLOSE_ALL)
    page.go_back()
    page.wait_for_function(f"document.activeElement.id === '{DEEP}'", timeout=5000)
    assert page.evaluate(STATE) == [DEEP, True, length + 2]
    page.go_back()
    assert "#" not in page.url


def test_search_of_the_browser_opens(visit: Visit) -> None:
    """A text fragment reveals what it finds as find-in-page does."""
    page = visit("furo")
    page.evaluate(CLOSE_ALL)
    beforematch = """() => {
      const e = document.querySelector('#jaxpr-nested .jaxpr-body .jaxpr-body .jaxpr-eqn');
      e.dispatchEvent(new Event('beforematch', {bubbles: true}));
      return e.checkVisibility() }"""
    assert page.evaluate(beforematch) is True
    text = page.locator("#jaxpr-tall-eqn-200 .jaxpr-line").text_content().strip()
    found = visit("furo", hash="#:~:text=" + quote(text, safe=""))
    found.wait_for_function(
        "document.getElementById('jaxpr-tall-eqn-200').checkVisibility()", timeout=5000
    )


def test_paper_opens_all_and_closes_again(visit: Visit) -> None:
    page = visit("furo")
    page.evaluate("document.querySelector('#jaxpr-dense > details').open = false")
    count = "document.querySelectorAll('figure.jaxpr details:not([open])').length"
    before = page.evaluate(count)
    assert before >= 2
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(count) == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(count) == before
    page.emulate_media(media="print")
    assert not page.locator(".jaxpr-tools").first.is_visible()


# --- copying ----------------------------------------------------------------


def copied(page: Page, block: str, label: str) -> str:
    page.locator(block).get_by_role("button", name=label).click()
    page.wait_for_function(
        "id => document.querySelector(id + ' [role=status]').textContent.startsWith('Copied')",
        arg=block,
        timeout=5000,
    )
    return clipboard(page)


def test_buttons_copy(visit: Visit, sites: Callable[[str], Build]) -> None:
    texts = sites("furo").texts("blocks")
    allowed = ["clipboard-read", "clipboard-write"]
    page = visit("furo", permissions=allowed)
    for name in ("jaxpr-dense.scan", "jaxpr-double", "jaxpr-tall", "jaxpr-relus.grad"):
        assert copied(page, f'[id="{name}"]', "Copy jaxpr") == texts[name]
    call = copied(page, GRAD, "Copy call")
    assert call == "jax.grad(lambda x, w, b: dense(x, w, b).sum(), argnums=1)"
    address = page.url
    assert copied(page, GRAD, "Copy link") == f"{address}#jaxpr-dense.grad"
    assert status(page, GRAD) == "Copied a link to this block"
    variable(page, GRAD, "h", 1).click()
    assert copied(page, GRAD, "Copy link") == f"{address}#{eqn(4)}"
    assert status(page, GRAD) == "Copied a link to sub"
    page.evaluate(f"location.hash = '{eqn(1)}'")
    page.wait_for_function(f"document.activeElement.id === '{eqn(1)}'", timeout=5000)
    link = copied(page, GRAD, "Copy link")
    assert link == f"{address}#{eqn(1)}"
    # A copied link leads there; a block without a program has a call alone.
    names = page.locator("#jaxpr-refused .jaxpr-tools button").all_inner_texts()
    assert names == ["Copy call", "Copy link"]


def test_copying_where_there_is_no_clipboard(visit: Visit, sites: Callable[[str], Build]) -> None:
    texts = sites("furo").texts("blocks")
    page = visit("furo", permissions=["clipboard-read", "clipboard-write"])
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()) }")
    assert copied(page, "#jaxpr-nested", "Copy jaxpr") == texts["jaxpr-nested"]
    assert page.evaluate("document.activeElement.textContent") == "Copy jaxpr"
    assert page.locator("textarea").count() == 0
    page.evaluate("() => { document.execCommand = () => false }")
    page.locator("#jaxpr-nested").get_by_role("button", name="Copy call").click()
    page.wait_for_function(
        "document.querySelector('#jaxpr-nested [role=status]').textContent === 'Could not copy'",
        timeout=5000,
    )


def test_buttons_by_keyboard(visit: Visit) -> None:
    page = visit("alabaster", permissions=["clipboard-read", "clipboard-write"])
    page.locator(GRAD).get_by_role("button", name="Copy call").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        f"document.querySelector('{GRAD} [role=status]').textContent === 'Copied the call'",
        timeout=5000,
    )
    size = page.locator(GRAD).get_by_role("button", name="Copy call").bounding_box()
    assert size["height"] >= 24 and size["width"] >= 24


# --- looks, sizes -----------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_additions_are_readable_and_fit(visit: Visit, scheme: str) -> None:
    for width in (1280, 320):
        page = visit("furo", width, color_scheme=scheme)
        variable(page, GRAD, "g", 1).click()
        assert page.evaluate(OVERFLOW) == [0, []], width
        ratios = page.evaluate(
            CONTRAST, [".jaxpr-hit", ".jaxpr-tools button", ".jaxpr-status", ".jaxpr-type"]
        )
        assert {kind: ratio for kind, ratio in ratios.items() if ratio < 4.5} == {}


def test_forced_colours_show_the_light(visit: Visit) -> None:
    page = visit("furo", forced_colors="active")
    variable(page, GRAD, "h", 1).hover()
    look = """() => { const s = getComputedStyle(document.querySelector('.jaxpr-hit'));
      return [s.outlineStyle, s.textDecorationLine] }"""
    assert page.evaluate(look) == ["solid", "underline"]


def test_what_a_variable_is_stays_in_sight(visit: Visit) -> None:
    """In a block taller than the window; and the line covers no variable that has the focus."""
    page = visit("furo", hash="#jaxpr-tall-eqn-100")
    press(page, "Tab")
    for keys in (["ArrowDown"] * 40, ["ArrowUp"] * 80):
        press(page, *keys)
        top, bottom, here, height = page.evaluate(
            """() => { const box = s => document.querySelector(s).getBoundingClientRect();
              const {top, bottom} = box('#jaxpr-tall .jaxpr-status');
              const here = document.activeElement.getBoundingClientRect();
              return [top, bottom, here, innerHeight] }"""
        )
        assert 0 < top < bottom <= height
        assert here["top"] >= 0 and here["bottom"] <= top


def test_light_moves_nothing(visit: Visit) -> None:
    page = visit("furo")
    place = "[document.documentElement.scrollHeight, document.documentElement.scrollWidth]"
    before = page.evaluate(place)
    variable(page, GRAD, "g", 1).hover()
    assert page.evaluate(place) == before


def test_without_script_nothing_is_lost(visit: Visit, sites: Callable[[str], Build]) -> None:
    bare = visit("furo", java_script_enabled=False)
    page = visit("furo")
    assert bare.locator(".jaxpr-tools, [tabindex].jaxpr-var, .jaxpr-hit").count() == 0
    text = "f => f.map(e => { const c = e.cloneNode(true);"
    text += " c.querySelectorAll('.jaxpr-tools').forEach(t => t.remove()); return c.textContent })"
    figures = "figure.jaxpr"
    assert page.locator(figures).evaluate_all(text) == bare.locator(figures).evaluate_all(text)


def test_twice_is_once(visit: Visit) -> None:
    page = visit("furo")
    page.add_script_tag(path=STATIC / "jaxpr.js")
    assert page.locator(".jaxpr-tools").count() == page.locator("figure.jaxpr").count()
    variable(page, GRAD, "g", 1).click()
    assert page.evaluate(HERE) == ["g", 0, eqn(3)]


def test_files_are_small() -> None:
    assert (STATIC / "jaxpr.js").stat().st_size < 12 * 1024
    assert (STATIC / "jaxpr.css").stat().st_size < 16_000
    assert (STATIC / "jaxpr-compare.css").stat().st_size < 4_000


def test_a_large_block(browser: Browser, tmp_path: Path) -> None:
    """What is touched doesn't grow with the block."""
    lines = [f"    v{i}:f32[8] = add v{i - 1} v{i // 2}" for i in range(1, 3001)]
    text = "\n".join(["{ lambda ; v0:f32[8]. let", *lines, "  in (v3000,) }"])
    rows = code(parse(text), {}, "jaxpr-big")
    style, script = ((STATIC / name).as_uri() for name in ("jaxpr.css", "jaxpr.js"))
    path = tmp_path / "big.html"
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><title>Big</title>'
        f'<link rel="stylesheet" href="{escape(style)}"><script defer src="{escape(script)}">'
        '</script><figure class="jaxpr" id="jaxpr-big"><details open><summary><code'
        f' class="jaxpr-call">big</code></summary><div class="jaxpr-code">{rows}</div></details>'
        "</figure>",
        "utf-8",
    )
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.add_init_script(
        """window.changes = 0;
        new MutationObserver(found => { window.changes += found.length }).observe(document,
          {subtree: true, attributes: true, attributeFilter: ['class', 'tabindex', 'role']});"""
    )
    page.goto(path.as_uri())
    assert page.locator(".jaxpr-eqn").count() == 3000
    assert page.locator(".jaxpr-tools").count() == 1
    assert page.evaluate("window.changes") <= 2  # the tab stop
    page.evaluate(
        """() => { window.long = 0; new PerformanceObserver(list => {
          window.long += list.getEntries().length }).observe({type: 'longtask'}) }"""
    )
    seen = []
    for place in (3, 40, 7):
        page.evaluate("window.changes = 0")
        name = page.locator(".jaxpr-binder").nth(place).inner_text()
        page.locator(".jaxpr-binder").nth(place).hover()
        uses = page.locator(".jaxpr-hit").count()
        assert uses == page.locator(f'[data-var="{place}"]').count(), name
        seen.append((page.evaluate("window.changes"), uses))
    # What was lit goes out, what is pointed at lights up.
    assert all(changes <= 16 for changes, _ in seen), seen
    page.evaluate("window.changes = 0")
    page.locator(".jaxpr-binder").nth(3).click()
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.textContent") == "v3000"
    assert page.evaluate("window.changes") <= 40
    context.close()
