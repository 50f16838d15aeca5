"""Under a policy without inline styles and scripts a page looks and works the same."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from sphinx_jaxpr.commands import page as standalone
from tests.browser import test_lesson as lesson
from tests.ext.showing.test_compare import CODE
from tests.lesson.support import CONF
from tests.support import Project

pytestmark = [pytest.mark.browser, pytest.mark.once]

POLICY = "default-src 'self'; style-src 'self'; script-src 'self'"
PAIRS = """
# Pairs

```{jaxpr-transform} pairs:dense
:name: pair
:args: x=bf16[32,64], w=bf16[64,64], b=bf16[64]
:transforms: grad(argnums=w), scan(over=w, length=4)
:layout: compare
:source:
:caption: A *caption*.

[tanh]
    At the base.
```

```{jaxpr-transform} pairs:wave
:name: wave
:args: x=f32[8]
:transforms: vmap
:layout: compare
:elide: vmap[mul]
```

```{jaxpr-transform} pairs:long
:args: x=f32[8]
:transforms: jit
```

Its {jaxpr:eqn}`tanh <pair[tanh]>`, {jaxpr:val}`len(pair)` equations.
"""
FILES = {
    "docs/index.md": "# P\n\n```{toctree}\npairs\none\nglossary\n```\n",
    "docs/pairs.md": PAIRS,
    "docs/one.md": lesson.ONE,
    "docs/glossary.md": lesson.GLOSSARY,
    "src/pairs.py": CODE,
}
#: Without the search box of the theme, which has an inline style and a script.
BARE = 'html_sidebars = {"**": []}\n'

WATCH = """addEventListener('securitypolicyviolation', e => {
  (window.refused ??= []).push(`${e.violatedDirective} ${e.sourceFile}:${e.lineNumber}`) }, true)"""
#: Where everything of ours is, and what moves text inside of it.
LAYOUT = """() => [...document.querySelectorAll('[class*=jaxpr], [class*=lesson-]')].map(e => {
  const { left, top, width, height } = e.getBoundingClientRect();
  const { paddingLeft, textIndent, backgroundColor, color } = getComputedStyle(e);
  const name = e.getAttribute('class') ?? e.tagName;
  return [name, left, top, width, height, paddingLeft, textIndent, backgroundColor, color].join(' ')
})"""
FOLDS = [
    "() => document.querySelectorAll('details').forEach(e => { e.open = true })",
    "() => document.querySelectorAll('.jaxpr-body').forEach((e, n) => { e.open = n % 2 > 0 })",
]


class _Strict(SimpleHTTPRequestHandler):
    """Serves a folder: under ``/strict/`` with the policy, under ``/free/`` without."""

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix("/strict").removeprefix("/free"))

    def end_headers(self) -> None:
        if self.path.startswith("/strict/"):
            self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    project = Project(tmp_path_factory.mktemp("policy"), FILES, CONF + BARE)
    done = project.build("html", "-W")
    assert done.code == 0, done.stderr
    (done.out / "alone.html").write_text(standalone.page("p:f", [], "auto"), "utf-8")
    (done.out / "canary.html").write_text("<p id=p style='color: red'>P</p>", "utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Strict, directory=str(done.out)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    contexts = []

    def opened(place: str, width: int = 1280, **context: Any) -> Page:
        made = browser.new_context(
            viewport={"width": width, "height": 900}, reduced_motion="reduce", **context
        )
        contexts.append(made)
        page = made.new_page()
        page.add_init_script(WATCH)
        page.goto(f"{address}/{place}")
        page.wait_for_load_state("load")
        return page

    yield opened
    for context in contexts:
        context.close()


def refused(page: Page) -> list[str]:
    found: list[str] = page.evaluate("window.refused ?? []")
    return found


def layouts(page: Page) -> list[list[str]]:
    found = [page.evaluate(LAYOUT)]
    for fold in FOLDS:
        page.evaluate(fold)
        found.append(page.evaluate(LAYOUT))
    page.emulate_media(media="print", forced_colors="active")
    return [*found, page.evaluate(LAYOUT)]


def test_the_policy_is_in_force(visit: Callable[..., Page]) -> None:
    page = visit("strict/canary.html")
    assert [text.split()[0] for text in refused(page)] == ["style-src-attr"]


@pytest.mark.parametrize("width", [1280, 320])
def test_everything_is_where_it_is_without(visit: Callable[..., Page], width: int) -> None:
    for name, scheme in (("pairs", "dark"), ("one", "light")):
        free = visit(f"free/{name}.html", width, color_scheme=scheme)
        strict = visit(f"strict/{name}.html", width, color_scheme=scheme)
        wanted, found = layouts(free), layouts(strict)
        assert len(wanted[0]) > 50 and wanted[0] != wanted[1]
        assert found == wanted
        assert refused(strict) == []
    # Without script too.
    free = visit("free/pairs.html", width, java_script_enabled=False)
    strict = visit("strict/pairs.html", width, java_script_enabled=False)
    assert free.evaluate(LAYOUT) == strict.evaluate(LAYOUT)


def test_lines_hang_by_their_indentation(visit: Callable[..., Page]) -> None:
    page = visit("strict/pairs.html", 320)
    page.evaluate(FOLDS[0])
    hangs = page.evaluate(
        """() => { const probe = document.querySelector('pre.jaxpr-line');
        const one = document.createElement('span'); one.textContent = 'm'.repeat(10);
        probe.append(one); const ch = one.getBoundingClientRect().width / 10; one.remove();
        return [...document.querySelectorAll('pre.jaxpr-line:not(.jaxpr-packed)')].map(e =>
          [e.textContent.search(/\\S|$/), parseFloat(getComputedStyle(e).paddingLeft) / ch]) }"""
    )
    assert {4, 6, 10} <= {spaces for spaces, _ in hangs}
    for spaces, hang in hangs:
        assert hang == pytest.approx(min(spaces, 12) + 2, abs=0.1)


def test_the_script_works(visit: Callable[..., Page]) -> None:
    page = visit("strict/pairs.html", permissions=["clipboard-read", "clipboard-write"])
    figure = page.locator('[id="jaxpr-pair.grad"]')
    figure.locator(".jaxpr-binder").first.hover()
    assert page.locator(".jaxpr-hit").count() > 1
    figure.locator("[tabindex='0'].jaxpr-var").focus()
    page.keyboard.press("ArrowRight")
    assert figure.get_by_role("status").inner_text()
    for blocked in (False, True):
        if blocked:  # then a text area is copied
            page.evaluate(
                "Object.defineProperty(navigator, 'clipboard', { get() { return undefined } })"
            )
        figure.get_by_role("button", name="Copy call").click()
        expect(figure.get_by_role("status")).to_have_text("Copied the call")
    assert figure.get_by_role("group", name="Copy pair.grad").count() == 1
    page.evaluate("location.hash = '#jaxpr-long.jit-eqn-0'")
    page.wait_for_function("document.activeElement.id === 'jaxpr-long.jit-eqn-0'")
    assert refused(page) == []


def test_a_lesson_works(visit: Callable[..., Page]) -> None:
    found = []
    for place in ("free", "strict"):
        page = visit(f"{place}/one.html")
        page.get_by_role("checkbox").first.check()
        page.locator(".lesson-term > a").first.focus()
        card = page.locator(".lesson-card:popover-open")
        expect(card).to_be_visible()
        found.append(card.bounding_box())
        assert refused(page) == []
    assert found[0] == found[1]


def test_a_page_that_is_one_file_allows_itself_alone(visit: Callable[..., Page]) -> None:
    page = visit("free/alone.html")
    assert refused(page) == [] and page.evaluate("window.sphinxJaxpr")
    font = "getComputedStyle(document.body).maxWidth"
    assert page.evaluate(font) == "1024px"
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<b style=\"color: red\">x</b>')")
    assert [text.split()[0] for text in refused(page)] == ["style-src-attr"]
