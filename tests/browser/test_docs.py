"""What the documentation says about style sheets, in the themes that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.test_block import CONTRAST, KINDS, OVERFLOW
from tests.support import PROJECT, Project

pytestmark = pytest.mark.browser

PAGE = """
# Layers

```{jaxpr-transform} layers:dense
:args: x=f32[8,16], w=f32[16,4], b=f32[4]
:transforms: grad(argnums=w)
:caption: A layer, `dense`.
```
"""
GUIDE = (PROJECT / "docs/how-to/themes.md").read_text("utf-8")
FURO, PYDATA, OTHER = re.findall(r"^```css\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
SHOWN = "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
#: What the theme itself makes of its variables.
MEANT = """names => {
  const probe = document.body.appendChild(document.createElement('div'));
  probe.style.background = `var(${names[0]})`;
  probe.style.color = `var(${names[1]})`;
  const found = [getComputedStyle(probe).backgroundColor, getComputedStyle(probe).color];
  probe.remove();
  return found;
}"""


@pytest.mark.parametrize(
    ("theme", "style"),
    [("furo", FURO), ("pydata_sphinx_theme", PYDATA), ("sphinx_book_theme", PYDATA)],
)
def test_blocks_follow_a_theme(theme: str, style: str, browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip(theme)
    conf = f'html_theme = {theme!r}\nhtml_static_path = ["s"]\nhtml_css_files = ["own.css"]\n'
    project = Project(tmp_path, {"docs/index.md": PAGE, "docs/s/own.css": style + OTHER}, conf)
    built = project.build("html", "-W")
    assert built.code == 0, built.stderr
    names = re.findall(r"--jaxpr-(?:background|foreground): var\((--[\w-]+)\)", style)
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto((built.out / "index.html").as_uri())
        figure = page.locator("figure.jaxpr").first
        assert figure.evaluate(SHOWN) == page.evaluate(MEANT, names), scheme
        kinds = [kind for kind in KINDS if page.locator(f"figure.jaxpr {kind}").count()]
        assert min(page.evaluate(CONTRAST, kinds).values()) >= 4.5, scheme
        for hidden in (".jaxpr-tools", ".jaxpr-phase"):
            assert page.locator(hidden).count() > 0
            assert not any(e.is_visible() for e in page.locator(hidden).all())
        code = page.locator(".jaxpr-code").first
        assert code.evaluate("e => getComputedStyle(e).fontSize") == "12px"
        assert figure.evaluate("e => getComputedStyle(e).borderRadius") == "0px"
        assert page.evaluate(OVERFLOW) == [0, []]
        context.close()


def test_blocks_follow_furo_without_its_script(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("furo")
    text = PAGE.replace("layers:dense", "layers:no_such")  # no worker has to trace it
    project = Project(
        tmp_path, {"docs/index.md": text}, 'html_theme = "furo"\njaxpr_mode = "skip"\n'
    )
    built = project.build("html")
    found = []
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, java_script_enabled=False)
        page = context.new_page()
        page.goto((built.out / "index.html").as_uri())
        found.append(page.locator("figure.jaxpr").first.evaluate(SHOWN))
        assert page.locator("body").get_attribute("data-theme") is None
        context.close()
    assert found[0] != found[1]
