"""Primitives lead to a glossary's term, to JAX's inventory, or to a definition below the block."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag

from tests.support import Build, Project

pytestmark = pytest.mark.once

BLOCK = """
```{jaxpr-transform} layers:dense
:args: x=bf16[32,64], w=bf16[64,64], b=bf16[64]
:transforms: vmap
```
"""

TERMS = """
# Terms

```{glossary}
Tanh
hyperbolic tangent
    A squashing function.

matrix product
    Rows by columns.
```
"""

CONF = """
extensions.append("sphinx.ext.intersphinx")
intersphinx_mapping = {"jax": ("https://jax.invalid/", "objects.inv")}
jaxpr_glossary = {
    "dot_general": "Matrix product",
    "add": {"meaning": "Our <own> addition.", "kind": "collective"},
}
"""


def inventory(*names: str) -> bytes:
    head = "# Sphinx inventory version 2\n# Project: jax\n# Version: 1\n"
    head += "# The remainder of this file is compressed using zlib.\n"
    rows = "".join(f"{name} py:function 1 lax.html#$ -\n" for name in names)
    return head.encode() + zlib.compress(rows.encode())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    claim = '{jaxpr:claim}`it moves data <dense[add].kind == "collective">`'  # as defined above
    index = f"# P\n\n```{{toctree}}\nterms\nsub/page\n```\n{BLOCK}\n{claim}\n"
    files = {"docs/index.md": index, "docs/terms.md": TERMS, "docs/sub/page.md": f"# S\n{BLOCK}"}
    project = Project(tmp_path_factory.mktemp("meanings"), files, CONF)
    data = inventory("jax.lax.broadcast_in_dim", "jax.lax.add", "jax.lax.tanh")
    (project.docs / "objects.inv").write_bytes(data)
    return project


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    return done


def link(page: BeautifulSoup, primitive: str) -> Tag:
    found = page.select_one(f'#jaxpr-dense [data-primitive="{primitive}"] .jaxpr-prim')
    assert found is not None
    return found


def test_a_term_comes_first_whatever_its_case(built: Build) -> None:
    page = built.page("index")
    assert link(page, "tanh")["href"] == "terms.html#term-Tanh"
    assert link(page, "dot_general")["href"] == "terms.html#term-matrix-product"
    assert link(built.page("sub/page"), "tanh")["href"] == "../terms.html#term-Tanh"


def test_then_the_inventory_of_jax(built: Build) -> None:
    found = link(built.page("index"), "broadcast_in_dim")
    assert str(found["href"]).endswith("lax.html#jax.lax.broadcast_in_dim")
    assert "external" in found["class"]


def test_definitions_stand_below_with_parameters_in_words(built: Build) -> None:
    page = built.page("index")
    found = page.select("details.jaxpr-meanings")
    assert len(found) == 1 and found[0].find_parent("figure") is None
    words = " ".join(found[0].get_text(" ").split())
    assert "contracts axis 2 of the left with axis 0 of the right, no batch axes: vmap d" in words
    assert "Our <own> addition." in words
    links = found[0].select("li a")
    assert {str(a["href"]).partition("-eqn-")[0] for a in links} == {
        "#jaxpr-dense", "#jaxpr-dense.vmap",
    }  # fmt: skip
    for link in links:
        assert page.find(id=str(link["href"]).removeprefix("#"))["class"] == ["jaxpr-eqn"]


TWICE = f"""
# P

:::{{only}} draft
```{{jaxpr-transform}} layers:dense
:args: x=f32[8,16], w=f32[16,4], b=f32[4]
:name: hidden
```
:::
{BLOCK}
```{{jaxpr-transform}} more:wave
:args: x=f32[3]
```
"""
MORE = "import jax.numpy as jnp\n\n\ndef wave(x):\n    return jnp.tanh(jnp.sin(x))\n"


@pytest.mark.parametrize("builder", ["html", "singlehtml"])
def test_a_page_defines_each_once(tmp_path: Path, builder: str) -> None:
    conf = 'myst_enable_extensions = ["colon_fence"]\n'
    project = Project(tmp_path, {"docs/index.md": TWICE, "src/more.py": MORE}, conf)
    page = project.build(builder, "-W", "-n").page("index")
    _, second = page.select("details.jaxpr-meanings")
    assert [dt.get_text() for dt in second.select("dt")] == ["sin"]
    assert page.get_text().count("The hyperbolic tangent of each element") == 1
    ids = [dt.get("id") for dt in page.select(".jaxpr-meanings dt")]
    assert len(ids) == len(set(ids)) and "jaxpr-dense-prim-tanh" in ids
    for link in page.select("a.jaxpr-prim"):
        assert page.find(id=str(link["href"]).removeprefix("#")).name == "dt", link
    tanh = page.find(id="jaxpr-wave").select_one('[data-primitive="tanh"] a.jaxpr-prim')
    assert tanh["href"] == "#jaxpr-dense-prim-tanh"


def test_without_glossary_and_inventory_nothing_warns(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": f"# P\n{BLOCK}"})
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    page = done.page("index")
    for found in page.select("a.jaxpr-prim"):
        assert str(found["href"]).startswith("#jaxpr-dense")
        assert page.find(id=str(found["href"]).removeprefix("#")) is not None


def test_a_new_term_is_linked_by_pages_that_were_not_read_again(
    project: Project, built: Build
) -> None:
    project.write("docs/terms.md", TERMS.replace("matrix product", "matrix product\nAdd"))
    again = project.build("html", "-W", "-n")
    assert (again.code, again.traced) == (0, 0)
    assert link(again.page("index"), "add")["href"] == "terms.html#term-Add"
