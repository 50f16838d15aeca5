"""Other extensions in any order: pages build without a warning, and blocks are what they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ext.builds import beside
from tests.ext.cases import warned
from tests.support import Build, Project

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The same functions where there is no other extension."""
    page = """
# Bare

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[32,64], w=f32[64,64], b=f32[64]
:transforms: grad(argnums=w), vmap
:source:

[tanh]
    A note with `code`.
```
"""
    done = Project(tmp_path_factory.mktemp("bare"), {"docs/index.md": page}).build("html", "-W")
    assert done.code == 0
    return done


@pytest.mark.parametrize("order", beside.ORDERS)
def test_blocks_are_the_same_in_any_order(tmp_path: Path, bare: Build, order: str) -> None:
    done = beside.built(tmp_path, order)
    texts = done.texts("index")
    assert list(texts) == [
        "jaxpr-dense", "jaxpr-dense.grad", "jaxpr-dense.vmap", "jaxpr-tabbed", "jaxpr-dropped",
        "jaxpr-carded", "jaxpr-toggled",
    ]  # fmt: skip
    page = done.page("index")
    for name, text in bare.texts("index").items():
        assert texts[name] == text
        assert page.find(id=name).select_one("details").decode_contents() == (
            bare.page("index").find(id=name).select_one("details").decode_contents()
        )
    # Markers, notes and lines of Python lead where they did.
    for link in page.select("figure.jaxpr a[href^='#'], .jaxpr-source a, ol.jaxpr-notes a"):
        assert page.find(id=str(link["href"])[1:]) is not None, link
    assert page.find(id="jaxpr-tabbed").find_parent(class_="sd-tab-content")
    assert page.find(id="jaxpr-dropped").find_parent(class_="sd-dropdown")
    assert page.find(id="jaxpr-carded").find_parent(class_="sd-card")
    assert page.find(id="jaxpr-toggled").find_parent(class_="toggle")


@pytest.mark.parametrize("order", ["last", "notebooks-first"])
def test_mistakes_are_told_at_their_lines(tmp_path: Path, order: str) -> None:
    project = beside.project(tmp_path, order)
    page = """
# P

:::{dropdown} D

```{jaxpr-transform} more:looped
:args: x=f32[8]
:opne: all

[nothing]
    A note.
```
:::

```{toctree}
other
```
"""
    project.write("docs/index.md", page)
    done = project.build("html")
    told = {(w.line, w.kind) for w in warned(done)}
    lines = page.lstrip("\n").splitlines()
    assert told == {
        (1 + lines.index(":opne: all"), "option"),
        (1 + lines.index("[nothing]"), "path"),
    }, done.stderr
