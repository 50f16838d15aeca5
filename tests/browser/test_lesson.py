"""Lessons in a real browser: ticks, counts, cards; nothing is lost without script or storage."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.lesson.support import project
from tests.support import Build, require

pytestmark = pytest.mark.browser

ONE = """
# One

A {term}`jaxpr` is a program; on it stand {term}`primitives <primitive>`.

```{lesson-goal}
Say what `grad` adds.
```

:::{lesson-predict} How many equations has {jaxpr:ref}`the gradient <dense.grad>`?
:name: how-many

Look:

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:transforms: grad
:open: none
```
:::

```{lesson-check} Why?
:name: why

Because of tanh.
```

```{lesson-checklist}
- I can say what a {term}`primitive` is, in a sentence that is long enough to go over two lines.
- {lesson-auto}`open dense.grad` Open {jaxpr:ref}`the gradient <dense.grad>`.
- {lesson-auto}`answer why`
- I can say more.
```
"""
TWO = (
    "# Two\n\n"
    + "A paragraph.\n\n" * 60
    + """
```{jaxpr-transform} layers:dense
:name: plain
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
```

```{lesson-checklist}
- {lesson-auto}`open plain` Look at it.
```
"""
)
GLOSSARY = """
# Glossary

```{glossary}
jaxpr
    What JAX sees of a function: equations over {term}`primitives <primitive>`.

    Taught in {doc}`one`.

primitive
    One operation.
```
"""
FILES = {
    "index.md": "# Book\n\n```{toctree}\npath\nglossary\n```\n",
    "path.md": "# The way\n\n```{lesson-path}\none\ntwo\n```\n",
    "one.md": ONE,
    "two.md": TWO,
    "glossary.md": GLOSSARY,
}
THEMES = ("furo", "pydata_sphinx_theme", "alabaster")
#: A storage that is not there, and one that is full.
BLOCKED = """Object.defineProperty(window, 'localStorage',
  { get() { throw new DOMException('blocked', 'SecurityError') } })"""
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }"
GARBAGE = "localStorage.setItem('sphinx-jaxpr-lesson:1:p:one', '{\"a\": [1')"

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def lessons(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Build]:
    """The lessons in a theme, built once."""
    known: dict[str, Build] = {}
    made = project(tmp_path_factory.mktemp("lessons"), FILES)

    def built(theme: str) -> Build:
        if theme not in known:
            done = made.build("html", "-W", "-D", f"html_theme={theme}", "-E", "-a")
            assert done.code == 0, done.stderr
            done.out = done.out.rename(done.out.with_name(theme))
            known[theme] = done
        return known[theme]

    return built


@pytest.fixture
def visit(browser: Browser, lessons: Callable[[str], Build]) -> Iterator[Open]:
    """Opens a page in a context of its own, which may be used again for another page."""
    contexts = []

    def opened(
        theme: str = "furo",
        name: str = "one.html",
        width: int = 1280,
        script: str = "",
        **context: Any,
    ) -> Page:
        made = browser.new_context(
            viewport={"width": width, "height": 800}, reduced_motion="reduce", **context
        )
        contexts.append(made)
        if script:
            made.add_init_script(script)
        page = made.new_page()
        page.goto((lessons(theme).out / name).as_uri().replace("%23", "#"))
        return page

    yield opened
    for context in contexts:
        context.close()


def go(page: Page, name: str) -> None:
    page.goto(page.url.rpartition("/")[0] + "/" + name)


def count(page: Page, where: str = ".lesson-checklist") -> str:
    return page.locator(f"{where} .lesson-count[role=status]").inner_text()


def marks(page: Page) -> list[str | None]:
    return [mark.get_attribute("aria-label") for mark in page.locator(".lesson-mark").all()]


# --- checklists -------------------------------------------------------------


def test_ticks_stay_and_are_counted_on_all_pages(visit: Open) -> None:
    page = visit()
    assert count(page) == "0 of 4 done"
    assert count(page, "nav") == "0 of 5 done along the path"
    page.get_by_label("I can say more.").check()
    page.get_by_text("in a sentence that is").click()  # the label
    assert count(page) == "2 of 4 done"
    page.reload()
    assert count(page) == "2 of 4 done"
    assert page.get_by_label("I can say more.").is_checked()
    go(page, "two.html")
    assert count(page, "nav") == "2 of 5 done along the path"
    go(page, "path.html")
    steps = page.locator(".lesson-step").all_inner_texts()
    assert [" ".join(step.split()) for step in steps] == ["One 2 of 4", "Two 0 of 1"]
    assert count(page, ".lesson-path") == "2 of 5 done"
    page.get_by_role("button", name="Reset").click()
    assert count(page, ".lesson-path") == "0 of 5 done"
    go(page, "one.html")
    assert count(page) == "0 of 4 done"


def test_by_keyboard_alone(visit: Open) -> None:
    page = visit()
    page.get_by_label("I can say more.").focus()
    page.keyboard.press("Space")
    assert count(page) == "1 of 4 done"
    look = "(({outlineStyle: s, outlineWidth: w}) => [s, parseFloat(w)])"
    style = page.evaluate(f"{look}(getComputedStyle(document.activeElement))")
    assert style[0] not in ("none", "") and style[1] >= 2
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Reset"
    page.keyboard.press("Enter")
    assert count(page) == "0 of 4 done"
    page.evaluate("document.querySelector('.lesson-check summary').focus()")
    page.keyboard.press("Enter")
    expect(page.locator(".lesson-checklist .lesson-count")).to_have_text("1 of 4 done")
    assert page.locator(".lesson-check .lesson-answer").is_visible()


def test_two_tabs_agree(visit: Open) -> None:
    page = visit()
    other = page.context.new_page()
    other.goto(page.url)
    page.get_by_label("I can say more.").check()
    expect(other.locator(".lesson-checklist .lesson-count")).to_have_text("1 of 4 done")
    assert other.get_by_label("I can say more.").is_checked()


def test_items_complete_by_what_is_opened(visit: Open) -> None:
    page = visit()
    assert marks(page) == ["not done yet", "not done yet"]
    page.locator(".lesson-check summary").click()
    page.locator(".lesson-predict > details > summary").click()
    page.wait_for_timeout(100)
    assert marks(page) == ["not done yet", "done"]
    page.locator('[id="jaxpr-dense.grad"] summary').first.click()
    expect(page.locator(".lesson-count").first).to_have_text("2 of 4 done")
    assert marks(page) == ["done", "done"]
    page.reload()
    assert marks(page) == ["done", "done"]


def test_a_link_opens_and_completes(visit: Open) -> None:
    page = visit(name="one.html#jaxpr-dense.grad-eqn-0")
    expect(page.locator(".lesson-count").first).to_have_text("1 of 4 done")
    assert marks(page) == ["done", "not done yet"]
    other = visit(name="one.html#why")  # a link to a question is none to its answer
    other.wait_for_timeout(200)
    assert marks(other) == ["not done yet", "not done yet"]


def test_what_starts_open_completes_when_it_is_seen(visit: Open) -> None:
    page = visit(name="two.html")
    page.wait_for_timeout(300)
    assert count(page) == "0 of 1 done"
    page.locator("#jaxpr-plain").scroll_into_view_if_needed()
    expect(page.locator(".lesson-count").first).to_have_text("1 of 1 done")


def test_paper_shows_answers_and_ticks_nothing(visit: Open, tmp_path: Path) -> None:
    require(bool(shutil.which("pdftotext")), "pdftotext")
    page = visit()
    page.pdf(path=tmp_path / "p.pdf", format="A4")
    command = ["pdftotext", "-layout", str(tmp_path / "p.pdf"), "-"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Because of tanh." in printed
    assert len(re.findall(r"= tanh ", printed)) >= 2
    assert "Reset" not in printed and "Show the answer" not in printed
    page.wait_for_timeout(200)
    assert page.locator(".lesson-fold[open]").count() == 0
    assert count(page) == "0 of 4 done"


@pytest.mark.parametrize("script", [BLOCKED, FULL, GARBAGE])
def test_without_a_storage_that_works(visit: Open, script: str) -> None:
    page = visit("alabaster", script=script)  # which needs no storage itself
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(error.stack or ""))
    page.get_by_label("I can say more.").check()
    page.locator(".lesson-check summary").click()
    expect(page.locator(".lesson-checklist .lesson-count")).to_have_text("2 of 4 done")
    assert count(page, "nav") == "2 of 5 done along the path"
    page.get_by_label("I can say more.").uncheck()
    assert count(page) == "1 of 4 done"
    page.get_by_role("button", name="Reset").click()
    assert count(page) == "0 of 4 done"
    page.reload()
    assert count(page) == "0 of 4 done"
    assert not [stack for stack in problems if "lesson.js" in stack]  # Sphinx's own may fail


def test_without_script(visit: Open) -> None:
    page = visit(java_script_enabled=False)
    assert page.locator(".lesson-items > li").count() == 4
    assert (
        page.locator("input[type=checkbox].lesson-box, .lesson-reset, .lesson-count").count() == 0
    )
    page.locator(".lesson-check summary").click()
    assert page.get_by_text("Because of tanh.").is_visible()
    page.locator(".lesson-term > a").first.hover()
    assert not page.locator(".lesson-card").first.is_visible()
    page.locator(".lesson-term > a").first.click()
    assert page.url.endswith("glossary.html#term-jaxpr")


# --- cards ------------------------------------------------------------------

CARD = "#lesson-card-term-jaxpr"


def test_a_card_by_pointing(visit: Open) -> None:
    page = visit()
    card = page.locator(CARD)
    assert not card.is_visible()
    term = page.locator(".lesson-term > a").first
    term.hover()
    expect(card).to_be_visible()
    assert "Taught in One." in card.inner_text()
    # It stays while it is pointed at, however long; text can be selected.
    box = card.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 15, steps=5)
    page.wait_for_timeout(600)
    assert card.is_visible()
    page.mouse.move(900, 700)
    expect(card).to_be_hidden()
    term.hover()
    expect(card).to_be_visible()
    page.keyboard.press("Escape")
    assert not card.is_visible()
    page.wait_for_timeout(400)
    assert not card.is_visible()
    page.locator(".lesson-term > a").nth(1).hover()
    expect(page.locator("#lesson-card-term-primitive").first).to_be_visible()
    term.click()
    assert page.url.endswith("glossary.html#term-jaxpr")


def test_a_card_by_keyboard(visit: Open) -> None:
    page = visit()
    card, term = page.locator(CARD), page.locator(".lesson-term > a").first
    term.focus()
    assert card.is_visible()
    assert term.get_attribute("aria-describedby") == CARD[1:]
    page.keyboard.press("Tab")  # into the card
    assert page.evaluate("document.activeElement.textContent") == "primitives"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "One"
    assert card.is_visible()
    page.keyboard.press("Escape")
    assert not card.is_visible()
    assert page.evaluate("document.activeElement.textContent") == "jaxpr"
    page.keyboard.press("Tab")
    assert not card.is_visible()
    page.keyboard.press("Shift+Tab")
    assert card.is_visible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/glossary.html#term-jaxpr")


def test_a_card_by_touch(visit: Open) -> None:
    page = visit(width=400, has_touch=True, is_mobile=True)
    term = page.locator(".lesson-term > a").first
    term.tap()
    page.wait_for_timeout(500)
    assert page.locator(CARD).is_visible()
    assert page.url.endswith("one.html")
    page.touchscreen.tap(200, 700)
    expect(page.locator(CARD)).to_be_hidden()
    assert page.url.endswith("one.html")
    term.tap()
    assert page.locator(CARD).is_visible()
    page.locator(CARD).get_by_text("What JAX sees").tap()
    assert page.locator(CARD).is_visible()
    term.tap()
    page.wait_for_url("**/glossary.html#term-jaxpr")


def test_a_card_in_a_label_ticks_nothing(visit: Open) -> None:
    # Once per section: the term in the checklist has its card in a page of `all` terms.
    page = visit()
    page.evaluate(
        """() => { const term = document.querySelector('.lesson-term');
        document.querySelector('.lesson-said').append(term) }"""
    )
    page.locator(".lesson-said .lesson-term a").hover()
    page.locator(CARD).get_by_text("What JAX sees").click()
    assert count(page) == "0 of 4 done"


def test_a_card_is_in_the_window(visit: Open) -> None:
    script = """() => { const r = document.querySelector('#lesson-card-term-jaxpr')
      .getBoundingClientRect(); return r.left >= 0 && r.top >= 0
      && r.right <= innerWidth && r.bottom <= innerHeight }"""
    for width in (1280, 320):
        page = visit(width=width)
        term = page.locator(".lesson-term > a").first
        page.evaluate("document.querySelector('.lesson-term').style.marginLeft = '60%'")
        term.hover()
        page.wait_for_timeout(300)
        assert page.evaluate(script)
        page.set_viewport_size({"width": width, "height": 230})
        term.scroll_into_view_if_needed()
        page.mouse.move(0, 0)
        page.wait_for_timeout(400)
        term.focus()
        assert page.evaluate(script)


# --- how it looks -----------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", THEMES)
def test_no_violation_and_no_overflow(visit: Open, theme: str, scheme: str) -> None:
    for width in (1280, 320):
        for name in ("one.html", "path.html"):
            page = visit(theme, name, width, color_scheme=scheme)
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            if name == "one.html":
                page.get_by_label("I can say more.").check()
                page.locator(".lesson-term > a").first.focus()
                assert page.locator(CARD).is_visible()
            found = Axe().run(page).response["violations"]
            ours = [
                (violation["id"], node["html"][:200])
                for violation in found
                for node in violation["nodes"]
                if page.evaluate(
                    "s => !!document.querySelector(s)?.closest('[class*=lesson-]')",
                    node["target"][-1],
                )
            ]
            assert ours == [], (width, name)
            wide = """() => [...document.querySelectorAll('[class^=lesson-]')].filter(e =>
              e.getClientRects().length && getComputedStyle(e).display !== 'inline'
              && e.scrollWidth > e.clientWidth + 1).map(e => e.className)"""
            assert page.evaluate(wide) == []
            right = """() => Math.max(...[...document.querySelectorAll('[class^=lesson-]')]
              .map(e => e.getBoundingClientRect().right))"""
            assert page.evaluate(right) <= width


def test_forced_colours_keep_the_marks(visit: Open) -> None:
    page = visit(forced_colors="active")
    look = "([s, name]) => getComputedStyle(document.querySelector(s))[name]"
    assert page.evaluate(look, [".lesson-predict", "borderLeftStyle"]) == "double"
    assert page.evaluate(look, [".lesson-mark", "borderTopStyle"]) == "dotted"
    page.locator(".lesson-check summary").click()
    expect(page.locator(".lesson-mark.lesson-done")).to_have_count(1)
    mark = "getComputedStyle(document.querySelector('.lesson-done'), '::before').content"
    assert page.evaluate(mark) == '"✓"'
