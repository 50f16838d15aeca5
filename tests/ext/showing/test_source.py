"""``source``: the function's Python, its lines linked with the equations they made."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.support import Project

CODE = '''
import jax.numpy as jnp


def layer(x, w):
    """A layer."""
    h = x @ w
    return jnp.tanh(h).sum()
'''

PAGE = """
# P

```{jaxpr-transform} m:layer
:args: x=f32[2,3], w=f32[3,4]
:transforms: grad
:source:
```

```{jaxpr-transform} m:layer
:args: x=f32[2,3], w=f32[3,4]
:name: bare
```
"""


def test_equations_name_and_link_their_lines(tmp_path: Path) -> None:
    project = Project(tmp_path, {"src/m.py": CODE, "docs/index.md": PAGE})
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    page = done.page("index")
    lines = [eqn.get("data-line") for eqn in page.select('[id="jaxpr-layer"] .jaxpr-eqn')]
    assert lines == ["6", "7", "7"]
    variant = page.find(id="jaxpr-layer.grad")
    assert {eqn["data-line"] for eqn in variant.select(".jaxpr-eqn")} == {"6", "7"}
    links = variant.select("a.jaxpr-at")
    assert links[0].get_text() == "line 6"
    for link in links:
        target = page.find(id=str(link["href"]).removeprefix("#"))
        assert target is not None
        assert ("x @ w" in target.get_text()) == (link.get_text() == "line 6")
    assert not page.find(id="jaxpr-bare").select("[data-line], .jaxpr-at")
    numbers = page.select(".jaxpr-source .linenos a")
    assert [a["href"] for a in numbers] == ["#jaxpr-layer-eqn-0", "#jaxpr-layer-eqn-1"]
    for number in numbers:
        line = number.get_text()
        count = len(page.select(f'.jaxpr-eqn[data-line="{line}"]'))
        assert count > 1 and number["aria-label"] == f"line {line}: {count} equations"
    assert "5" in [number.get_text().strip() for number in page.select(".jaxpr-source .linenos")]

    # The lines move: where they are shown the page is written again.
    project.write("src/m.py", "# One line more.\n" + CODE)
    again = project.build("html", "-W", "-n")
    assert again.code == 0
    moved = [
        eqn["data-line"] for eqn in again.page("index").select('[id="jaxpr-layer"] .jaxpr-eqn')
    ]
    assert moved == ["8", "9", "9"]


@pytest.mark.parametrize("builder", ["dirhtml", "singlehtml", "epub"])
@pytest.mark.parametrize("style", ["table", "inline"])
def test_lines_lead_to_equations_in_all_of_html(tmp_path: Path, builder: str, style: str) -> None:
    page = PAGE.replace(":source:", ":source:\n:base: hide")
    conf = f"html_codeblock_linenos_style = {style!r}\nversion = copyright = '1'\n"
    project = Project(tmp_path, {"src/m.py": CODE, "docs/index.md": page}, conf)
    done = project.build(builder, "-W", "-n", "-d", str(tmp_path / "doctrees"))
    assert (done.code, done.stderr) == (0, "")
    name = "index.xhtml" if builder == "epub" else "index.html"
    soup = BeautifulSoup((done.out / name).read_text("utf-8"), "html.parser")
    links = soup.select(".jaxpr-source .linenos a")
    assert [link.get_text() for link in links] == ["6", "7"]
    for link in links:
        assert soup.find(id=str(link["href"])[1:])["data-line"] == link.get_text()
    # As often as there are lines, and nothing else numbers them.
    assert len(soup.select(".jaxpr-source .linenos")) == 4
    assert not soup.select(".jaxpr-source table")
