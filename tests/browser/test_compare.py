"""Two programs side by side in a browser: rows stay rows, whatever wraps or folds."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.test_block import OPEN_ALL, OVERFLOW
from tests.ext.showing.test_compare import CODE, CONF, PAGE
from tests.support import Build, Project, require

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]

#: The tops of the equations of a figure, by what their ids end with; and its box.
TOPS = """id => {
  const figure = document.getElementById(id);
  const tops = {};
  for (const e of figure.querySelectorAll('.jaxpr-eqn')) {
    const { top, height } = e.getBoundingClientRect();
    if (height) tops[e.id.slice(id.length + 1)] = Math.round(top);
  }
  const lines = [...figure.querySelectorAll('.jaxpr-line')];
  const { left, right } = figure.getBoundingClientRect();
  return { tops, left, right, end: Math.round(lines.at(-1).getBoundingClientRect().bottom) };
}"""


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Build]:
    """The page of pairs in a theme, built once."""
    known: dict[str, Build] = {}
    files = {"docs/index.md": PAGE, "src/pairs.py": CODE}
    project = Project(tmp_path_factory.mktemp("pairs"), files, CONF)

    def made(theme: str) -> Build:
        if theme not in known:
            done = project.build("html", "-W", "-D", f"html_theme={theme}", "-E", "-a")
            assert done.code == 0, done.stderr
            done.out = done.out.rename(done.out.with_name(theme))
            known[theme] = done
        return known[theme]

    return made


@pytest.fixture
def visit(browser: Browser, compared: Callable[[str], Build]) -> Iterator[Visit]:
    """Opens the page in a context of its own."""
    contexts = []

    def opened(theme: str, width: int = 1280, hash: str = "", **context: Any) -> Page:
        size = {"width": width, "height": 900}
        made = browser.new_context(viewport=size, reduced_motion="reduce", **context)  # type: ignore[arg-type]  # options of any kind
        contexts.append(made)
        page = made.new_page()
        page.goto((compared(theme).out / "index.html").as_uri() + hash)
        return page

    yield opened
    for context in contexts:
        context.close()


def tops(page: Page, identity: str) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(TOPS, identity)
    return found


@pytest.mark.parametrize("theme", ["furo", "alabaster", "pydata_sphinx_theme"])
def test_matched_equations_begin_at_one_height(visit: Visit, theme: str) -> None:
    for script in (True, False):
        page = visit(theme, java_script_enabled=script)
        base, grad = tops(page, "jaxpr-dense"), tops(page, "jaxpr-dense.grad")
        assert base["right"] < grad["left"]
        for place in range(4):
            assert base["tops"][f"eqn-{place}"] == grad["tops"][f"eqn-{place}"]
        assert base["end"] == grad["end"]
        base, scan = tops(page, "jaxpr-dense.scan-base"), tops(page, "jaxpr-dense.scan")
        for place in range(4):
            assert base["tops"][f"eqn-{place}"] == scan["tops"][f"eqn-0-0-{place}"]
        base, vmap = tops(page, "jaxpr-wave"), tops(page, "jaxpr-wave.vmap")
        # A part of a line is a little higher than a line.
        assert abs(base["tops"]["eqn-0"] - vmap["tops"]["eqn-0"]) < 4
        assert base["end"] == vmap["end"]


def test_a_gap_is_as_high_as_what_it_faces(visit: Visit) -> None:
    page = visit("furo")
    box = "e => { const r = e.getBoundingClientRect(); return [r.top, r.bottom].map(Math.round) }"
    gap = page.locator('[id="jaxpr-dense.vmap-base"] .jaxpr-gap').evaluate(box)
    added = page.locator('[id="jaxpr-dense.vmap"] [data-change="added"]').evaluate(box)
    assert gap == added and gap[1] - gap[0] > 15


def test_folding_one_side_moves_both(visit: Visit) -> None:
    page = visit("furo")
    before = tops(page, "jaxpr-dense.scan-base")
    page.locator('[id="jaxpr-dense.scan"] .jaxpr-body').evaluate("e => { e.open = false }")
    base, scan = tops(page, "jaxpr-dense.scan-base"), tops(page, "jaxpr-dense.scan")
    assert base["end"] == scan["end"] < before["end"] + 1
    # The base keeps its lines, in their order, none over another.
    heights = list(base["tops"].values())
    assert heights == sorted(heights) and len(set(heights)) == 4
    page.locator('[id="jaxpr-dense.scan"] .jaxpr-body').evaluate("e => { e.open = true }")
    assert tops(page, "jaxpr-dense.scan-base") == before
    # A fold of equations that opens makes its row higher, on both sides.
    fold = page.locator('[id="jaxpr-wave.vmap"] .jaxpr-elided')
    fold.evaluate("e => { e.open = true }")
    assert tops(page, "jaxpr-wave")["end"] == tops(page, "jaxpr-wave.vmap")["end"]
    # A closed base leaves the variant as it was.
    shown = tops(page, "jaxpr-dense.vmap")
    closed = '[id="jaxpr-dense.vmap-base"] > details'
    page.locator(closed).evaluate("e => { e.open = false }")
    after = tops(page, "jaxpr-dense.vmap")
    assert after["tops"].keys() == shown["tops"].keys()
    assert after["end"] - after["tops"]["eqn-0"] <= shown["end"] - shown["tops"]["eqn-0"]


@pytest.mark.parametrize("theme", ["furo", "alabaster", "pydata_sphinx_theme"])
def test_narrow_screens_stack(visit: Visit, theme: str) -> None:
    page = visit(theme, 320)
    base, vmap = tops(page, "jaxpr-dense.vmap-base"), tops(page, "jaxpr-dense.vmap")
    assert base["left"] == vmap["left"] and base["end"] < vmap["tops"]["eqn-0"]
    gaps = "() => [...document.querySelectorAll('.jaxpr-gap')].map(e => e.offsetHeight)"
    assert set(page.evaluate(gaps)) == {0}


@pytest.mark.parametrize("theme", ["furo", "alabaster", "pydata_sphinx_theme"])
def test_nothing_leaves_its_column(visit: Visit, theme: str) -> None:
    for width in (1280, 320):
        page = visit(theme, width)
        page.evaluate(OPEN_ALL)
        assert page.evaluate(OVERFLOW)[1] == [], width
        # Of the page itself only our part counts: a theme's header may be wider.
        edges = "es => es.map(e => e.getBoundingClientRect().right)"
        assert max(page.locator("figure.jaxpr").evaluate_all(edges)) <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_violation(visit: Visit, scheme: str) -> None:
    for theme in ("furo", "pydata_sphinx_theme"):
        page = visit(theme, color_scheme=scheme)
        found = Axe().run(page).response["violations"]
        ours = [
            (violation["id"], node["html"][:200])
            for violation in found
            for node in violation["nodes"]
            if page.evaluate(
                "s => !!document.querySelector(s)?.closest('.jaxpr-compare')", node["target"][-1]
            )
        ]
        assert ours == [], theme


def test_keyboard_goes_through_the_base_first(visit: Visit) -> None:
    page = visit("furo")
    page.evaluate("document.querySelector('#jaxpr-dense summary').focus()")
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.closest('figure')?.id ?? ''"))
        if seen[-1] == "jaxpr-dense.vmap-base":
            break
    order = [name for name in dict.fromkeys(seen) if name]
    assert order == ["jaxpr-dense", "jaxpr-dense.grad", "jaxpr-dense.vmap-base"]


def test_an_address_leads_into_a_copy(visit: Visit) -> None:
    page = visit("furo", hash="#jaxpr-dense.scan-base-eqn-3")
    at = page.evaluate("document.activeElement.id")
    assert at == "jaxpr-dense.scan-base-eqn-3"


def test_an_address_opens_a_fold_of_equations(visit: Visit) -> None:
    page = visit("furo")
    fold = page.locator('[id="jaxpr-wave.vmap"] .jaxpr-elided')
    assert fold.get_attribute("open") is None
    page.evaluate("location.hash = '#jaxpr-wave.vmap-eqn-1'")
    page.wait_for_function("document.activeElement.id === 'jaxpr-wave.vmap-eqn-1'")
    assert fold.get_attribute("open") is not None


def test_paper_has_one_under_the_other(
    visit: Visit, compared: Callable[[str], Build], tmp_path: Path
) -> None:
    require(bool(shutil.which("pdftotext")), "pdftotext")
    texts = compared("furo").texts("index")
    page = visit("furo")
    page.evaluate("document.querySelectorAll('.skip-to-content').forEach(e => e.remove())")
    page.pdf(path=tmp_path / "p.pdf", format="A4")
    command = ["pdftotext", "-layout", str(tmp_path / "p.pdf"), "-"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    words = re.sub(r"\s", "", printed)
    for block in ("jaxpr-dense.vmap-base", "jaxpr-dense.vmap", "jaxpr-wave.cosine"):
        for line in texts[block].splitlines():
            assert re.sub(r"\s", "", line) in words, (block, line)
