"""Blocks in a real browser: themes, widths, schemes, keyboard, paper."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from sphinx_jaxpr.program.html import code
from sphinx_jaxpr.program.parser.parser import parse
from tests.support import PROJECT, Build, require

pytestmark = pytest.mark.browser

THEMES = ("furo", "alabaster")
OPEN_ALL = "document.querySelectorAll('figure.jaxpr details').forEach(d => { d.open = true })"
CLOSE_ALL = "document.querySelectorAll('figure.jaxpr details').forEach(d => { d.open = false })"

OVERFLOW = """() => {
  const wide = document.documentElement.scrollWidth - window.innerWidth;
  const all = 'figure.jaxpr, figure.jaxpr *:not(.jaxpr-spoken)';
  const inside = [...document.querySelectorAll(all)].filter(e =>
    e.getClientRects().length && getComputedStyle(e).display !== 'inline'
    && e.scrollWidth > e.clientWidth + 1).map(e => e.className || e.tagName);
  return [wide, inside];
}"""

#: The lowest contrast of the text of each kind with what is behind it.
CONTRAST = """selectors => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
      if (colour[3] !== 0) throw new Error('half transparent');
    }
    return [255, 255, 255];
  };
  return Object.fromEntries(selectors.map(selector => {
    const found = [...document.querySelectorAll('figure.jaxpr ' + selector)]
      .filter(e => e.getClientRects().length).map(e => {
        const [one, two] = [parse(getComputedStyle(e).color), behind(e)].map(light);
        return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
      });
    return [selector, found.length ? Math.min(...found) : 0];
  }));
}"""

KINDS = (
    ".jaxpr-var", ".jaxpr-binder", ".jaxpr-type", ".jaxpr-prim", ".jaxpr-kw", ".jaxpr-param",
    ".jaxpr-lit", ".jaxpr-line", ".jaxpr-call", ".jaxpr-count", ".jaxpr-note", ".jaxpr-about",
    ".jaxpr-caption", ".jaxpr-caption a", ".jaxpr-caption code", ".jaxpr-message",
    ".jaxpr-detail",
)  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", THEMES)
def test_fits_and_is_readable(visit: Callable[..., Page], theme: str, scheme: str) -> None:
    for width in (1280, 320):
        page = visit(theme, width, color_scheme=scheme)
        page.evaluate(OPEN_ALL)
        assert page.evaluate(OVERFLOW) == [0, []], width
    page.evaluate("document.querySelectorAll('.jaxpr-body').forEach(d => { d.open = false })")
    page.evaluate("document.querySelector('#jaxpr-nested .jaxpr-body').open = true")
    ratios = page.evaluate(CONTRAST, list(KINDS))
    assert {kind: ratio for kind, ratio in ratios.items() if ratio < 4.5} == {}
    # The colours of a failure, on a page that has none.
    page.evaluate("document.querySelector('#jaxpr-refused').className = 'jaxpr jaxpr-error'")
    ratios = page.evaluate(CONTRAST, [".jaxpr-message", ".jaxpr-detail"])
    assert min(ratios.values()) >= 4.5


def test_a_program_on_one_line_is_indented_where_it_is(browser: Browser) -> None:
    text = (
        "{ lambda ; a:i32[] b:f32[]. let\n    c:f32[] = cond[\n      branches=(\n"
        "        { lambda ; d:f32[]. let e:f32[] = sin d in (e,) }\n      )\n    ] a b\n  in (c,) }"
    )
    lines = code.code(parse(text), {}, "b")
    style = (PROJECT / "sphinx_jaxpr/static/jaxpr.css").read_text("utf-8")
    page = browser.new_page()
    page.set_content(
        f"<style>{style}</style><figure class=jaxpr><div class=jaxpr-code>{lines}</div></figure>"
    )
    found = page.evaluate("""() => {
      const left = (e, from) => {
        const range = document.createRange();
        range.setStart(e, from); range.setEnd(e, from + 1);
        return range.getBoundingClientRect().left;
      };
      const line = document.querySelector('.jaxpr-packed');
      const brace = left(line.firstChild, 8), start = left(line.firstChild, 0);
      const letter = left(line.querySelector(':scope > .jaxpr-eqn > .jaxpr-var').firstChild, 0);
      return [brace - start, letter - brace].map(width => width / (brace - start) * 8);
    }""")
    page.close()
    assert found == [pytest.approx(8), pytest.approx(4, abs=0.1)]


def test_furo_by_button_differs_from_the_system(visit: Callable[..., Page]) -> None:
    backgrounds = {}
    for system, chosen in (("light", "dark"), ("dark", "light"), ("dark", "auto")):
        page = visit("furo", color_scheme=system)
        page.evaluate(f"document.body.dataset.theme = '{chosen}'")
        look = "getComputedStyle(document.querySelector('figure.jaxpr')).backgroundColor"
        backgrounds[system, chosen] = page.evaluate(look)
    assert backgrounds["light", "dark"] == backgrounds["dark", "auto"]
    assert backgrounds["light", "dark"] != backgrounds["dark", "light"]


def visible_lines(page: Page, block: str) -> list[str]:
    script = """e => [...e.querySelectorAll('.jaxpr-line')]
      .filter(l => l.checkVisibility({contentVisibilityAuto: true})
                   && l.getBoundingClientRect().height > 0).map(l => l.textContent)"""
    lines: list[str] = page.locator(f"id={block}").evaluate(script)
    return lines


def test_without_script_and_style(
    visit: Callable[..., Page], sites: Callable[[str], Build]
) -> None:
    texts = sites("furo").texts("blocks")
    bare = visit("furo", style=False, java_script_enabled=False)
    for block in ("jaxpr-dense.grad", "jaxpr-nested", "jaxpr-double", "jaxpr-relus"):
        # Parameters that say little start folded; a native fold opens without script.
        bare.evaluate(OPEN_ALL)
        assert "\n".join(visible_lines(bare, block)) == texts[block]
    page = visit("furo", java_script_enabled=False)
    assert visible_lines(page, "jaxpr-tall") == []
    page.locator("id=jaxpr-tall").locator("summary").first.click()
    assert "\n".join(visible_lines(page, "jaxpr-tall")) == texts["jaxpr-tall"]


def test_spaces_are_kept_without_style(visit: Callable[..., Page]) -> None:
    """A line that is indented begins further right, also where only the markup is left."""
    script = """() => {
      const at = e => { const r = document.createRange(); const w = document.createTreeWalker(e, 4);
        let t = w.nextNode(); while (!t.data.trim()) t = w.nextNode();
        const i = t.data.search(/\\S/); r.setStart(t, i); r.setEnd(t, i + 1);
        return r.getBoundingClientRect().left };
      return [...document.querySelectorAll('[id="jaxpr-dense"] .jaxpr-line')].map(at) }"""
    for style in (True, False):
        lefts = visit("alabaster", style=style).evaluate(script)
        assert lefts[0] < lefts[-1] < lefts[1] < lefts[2]


def test_keyboard(visit: Callable[..., Page]) -> None:
    page = visit("furo", java_script_enabled=False)
    page.evaluate("document.querySelector('#jaxpr-relus summary').focus()")
    folds, links = [], []
    for _ in range(80):
        page.keyboard.press("Tab")
        if not page.evaluate("!!document.activeElement.closest('#jaxpr-nested')"):
            if folds:
                break
            continue
        outline = page.evaluate(
            "(({outlineStyle: s, outlineWidth: w}) => [s, parseFloat(w)])"
            "(getComputedStyle(document.activeElement))"
        )
        assert outline[0] not in ("none", "") and outline[1] >= 2
        if page.evaluate("document.activeElement.tagName") == "A":
            links.append(page.evaluate("document.activeElement.textContent"))
            continue
        state = "document.activeElement.parentElement.open"
        before = page.evaluate(state)
        page.keyboard.press("Enter")
        assert page.evaluate(state) is not before
        page.keyboard.press("Enter")
        assert page.evaluate(state) is before
        folds.append(page.evaluate("document.activeElement.parentElement.className"))
    # The block, its two bodies, what else folds, and each primitive once.
    assert folds[0] == "" and folds.count("jaxpr-body") == 2
    assert set(folds) <= {"", "jaxpr-body", "jaxpr-more", "jaxpr-meanings"}
    assert len(links) == len(set(links)) > 0
    assert page.locator("figure.jaxpr [tabindex]:not(a[tabindex='-1'])").count() == 0


def test_copied_text_is_jaxs(visit: Callable[..., Page], sites: Callable[[str], Build]) -> None:
    texts = sites("furo").texts("blocks")
    page = visit("furo")
    page.evaluate(OPEN_ALL)
    for block in ("jaxpr-dense.scan", "jaxpr-choose", "jaxpr-identity"):
        copied = page.evaluate(
            """id => { const e = document.getElementById(id).querySelector('.jaxpr-code');
              getSelection().selectAllChildren(e); return getSelection().toString() }""",
            block,
        )
        assert copied.strip("\n") == texts[block]


def test_paper_shows_what_is_closed(
    visit: Callable[..., Page], sites: Callable[[str], Build], tmp_path: Path
) -> None:
    require(bool(shutil.which("pdftotext")), "pdftotext")
    texts = sites("furo").texts("blocks")
    for theme in THEMES:
        page = visit(theme, color_scheme="dark")
        page.evaluate(CLOSE_ALL)
        # Furo prints its hidden link over whatever line is at the top of a page.
        page.evaluate("document.querySelectorAll('.skip-to-content').forEach(e => e.remove())")
        pdf = tmp_path / f"{theme}.pdf"
        page.pdf(path=pdf, format="A4")
        assert page.locator("figure.jaxpr details[open]").count() == 0
        command = ["pdftotext", "-layout", str(pdf), "-"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        words = re.sub(r"\s", "", printed)
        for block in ("jaxpr-nested", "jaxpr-choose", "jaxpr-tall", "jaxpr-dense.remat_grad"):
            for line in texts[block].splitlines():
                assert re.sub(r"\s", "", line) in words, (theme, block, line)
        assert sum("=cos" in re.sub(r"\s", "", p) for p in printed.split("\f")) >= 3


def test_forced_colours_keep_the_marks(visit: Callable[..., Page]) -> None:
    page = visit("furo", forced_colors="active")
    look = """([selector, part, name]) =>
      getComputedStyle(document.querySelector(selector), part)[name]"""
    for selector in ("#jaxpr-nested > details > summary", "#jaxpr-nested .jaxpr-body > summary"):
        assert page.evaluate(look, [selector, "::before", "content"]) == '"▾"'
        assert page.evaluate(look, [selector, "::before", "color"]) != page.evaluate(
            look, ["figure.jaxpr", None, "backgroundColor"]
        )
    assert page.evaluate(look, ["#jaxpr-refused", None, "borderLeftStyle"]) == "double"
    assert page.evaluate(look, ["#jaxpr-dense", None, "borderTopStyle"]) == "solid"
