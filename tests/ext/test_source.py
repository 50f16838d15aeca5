"""``source``: the function's Python, its lines linked with the equations they made."""

from __future__ import annotations

from pathlib import Path

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
    assert "5" in [number.get_text().strip() for number in page.select(".jaxpr-source .linenos")]

    # The lines move: where they are shown the page is written again.
    project.write("src/m.py", "# One line more.\n" + CODE)
    again = project.build("html", "-W", "-n")
    assert again.code == 0
    moved = [
        eqn["data-line"] for eqn in again.page("index").select('[id="jaxpr-layer"] .jaxpr-eqn')
    ]
    assert moved == ["8", "9", "9"]
