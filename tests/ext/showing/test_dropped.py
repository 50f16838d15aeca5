"""Equations that only the base has: listed at the variant, with links to the base's block."""

from __future__ import annotations

import pytest
from bs4 import Tag

from tests.support import Build, Project

pytestmark = pytest.mark.once

CODE = """
import jax.numpy as jnp


def wave(x):
    return jnp.sin(x) * 2.0


def many(x):
    for _ in range(11):
        x = jnp.sin(x)
    return x


def cosine(fn, args):
    return (lambda x: jnp.cos(x) * 2.0), args
"""
CONF = """
jaxpr_transforms = {"cosine": "waves:cosine"}
copyright = "2026"
version = release = "1"
"""

PAGE = """
# P

```{jaxpr-transform} waves:wave
:args: x=f32[8]
:transforms: cosine, vmap(axis_size=2)
```

```{jaxpr-transform} waves:wave
:args: x=f32[8]
:transforms: cosine
:base: hide
:name: hidden
```

```{jaxpr-transform} waves:many
:args: x=f32[8]
:transforms: cosine
```
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    files = {"docs/index.md": PAGE, "src/waves.py": CODE}
    return Project(tmp_path_factory.mktemp("dropped"), files, CONF)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    return done


def listed(built: Build, block: str) -> Tag | None:
    figure = built.page("index").find(id=f"jaxpr-{block}")
    assert isinstance(figure, Tag)
    assert not figure.select(".jaxpr-line .jaxpr-dropped, summary .jaxpr-dropped")
    return figure.select_one("details > .jaxpr-dropped")


def test_each_is_a_link_into_the_base(built: Build) -> None:
    found = listed(built, "wave.cosine")
    assert found is not None
    assert found.get_text() == "Only in the base: b = sin a, c = mul b 2.0"
    targets = [built.page("index").find(id=str(a["href"])[1:]) for a in found.select("a")]
    assert [t["data-primitive"] for t in targets if isinstance(t, Tag)] == ["sin", "mul"]
    assert all(isinstance(t, Tag) and t.find_parent(id="jaxpr-wave") for t in targets)
    # The computed line of the header counts the same ones.
    acted = built.page("index").select_one('[id="jaxpr-wave.cosine"] .jaxpr-acted')
    assert acted is not None and acted.get_text().endswith("drops sin; rewrites 1 equation")


def test_nothing_is_said_where_nothing_is_missing(built: Build) -> None:
    assert listed(built, "wave") is None
    assert listed(built, "wave.vmap") is None


def test_no_link_leads_to_a_hidden_base(built: Build) -> None:
    found = listed(built, "hidden.cosine")
    assert found is not None
    assert "b = sin a" in found.get_text() and not found.select("a")


def test_many_are_cut(built: Build) -> None:
    found = listed(built, "many.cosine")
    assert found is not None and len(found.select("a")) == 8
    assert found.get_text().endswith(", and 3 more")


@pytest.mark.parametrize("builder", ["text", "latex", "epub"])
def test_other_formats(project: Project, built: Build, builder: str) -> None:
    doctrees = str(project.folder / "out" / "html" / ".doctrees")
    done = project.build(builder, "-W", "-d", doctrees)
    assert (done.code, done.traced) == (0, 0), done.stderr
    if builder == "text":
        text = " ".join((done.out / "index.txt").read_text("utf-8").split())
        assert text.count('Only in the base: "b = sin a", "c = mul b 2.0".') == 2
