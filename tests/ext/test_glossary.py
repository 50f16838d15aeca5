"""The list of primitives: of a page, of the project, in every format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import Build, Project

pytestmark = pytest.mark.once

BLOCK = """
```{jaxpr-transform} layers:dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:name: dense
:transforms: jit
```
"""

OTHER = """
# Other

```{jaxpr-transform} more:wave
:args: x=f32[3]
```

```{jaxpr-glossary}
:scope: page
```
"""

FILES = {
    "docs/index.md": f"# P\n\n```{{toctree}}\nsub/other\nall\n```\n{BLOCK}",
    "docs/sub/other.md": OTHER,
    "docs/all.md": "# All\n\n```{jaxpr-glossary}\n```\n",
    "src/more.py": "import jax.numpy as jnp\n\n\ndef wave(x):\n    return jnp.sin(x)\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("glossary"), FILES)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    return done


def test_scopes(built: Build) -> None:
    def listed(name: str) -> list[str]:
        return [term.get_text() for term in built.page(name).select("dl.jaxpr-glossary dt code")]

    assert listed("sub/other") == ["sin"]
    every = listed("all")
    assert every == sorted(every)
    assert {"sin", "tanh", "dot_general", "jit", "add"} <= set(every)


def test_each_links_to_where_it_is_met(built: Build) -> None:
    page = built.page("all")
    definition = page.find(id="jaxpr-primitive-tanh").find_next("dd")
    links = [str(link["href"]) for link in definition.select("a")]
    assert links == ["index.html#jaxpr-dense", "index.html#jaxpr-dense.jit"]
    assert "hyperbolic tangent" in definition.get_text()
    local = built.page("sub/other").select("dl.jaxpr-glossary dd a")
    assert [str(link["href"]) for link in local] == ["#jaxpr-wave"]


def test_it_is_written_again_when_a_block_elsewhere_changes(project: Project, built: Build) -> None:
    project.write("src/more.py", FILES["src/more.py"].replace("sin", "cos"))
    again = project.build("html", "-W", "-n")
    assert again.code == 0
    assert again.page("all").find(id="jaxpr-primitive-cos") is not None
    assert again.page("all").find(id="jaxpr-primitive-sin") is None


@pytest.mark.parametrize("builder", ["text", "latex", "man", "texinfo", "singlehtml", "gettext"])
def test_other_formats(project: Project, built: Build, builder: str) -> None:
    done = project.build(builder, "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    if builder == "text":
        assert "Met in" in (done.out / "all.txt").read_text("utf-8")


def test_a_wrong_scope_and_no_blocks(tmp_path: Path) -> None:
    page = "# P\n\n```{jaxpr-glossary}\n:scope: projekt\n```\n"
    project = Project(tmp_path, {"docs/index.md": page})
    for _ in range(2):
        done = project.build("html")
        (warning,) = done.warnings
        assert "index.md:4: WARNING: scope: 'projekt' is none of project, page" in warning
        assert "did you mean 'project'?" in warning
        assert "[jaxpr.glossary]" in warning
    assert "No block here meets a primitive." in done.page("index").get_text()


def test_an_unknown_option(tmp_path: Path) -> None:
    page = "# P\n\n```{jaxpr-glossary}\n:scop: page\n```\n"
    project = Project(tmp_path, {"docs/index.md": page})
    for _ in range(2):
        (warning,) = project.build("html").warnings
        assert "index.md:4: WARNING: unknown option 'scop', did you mean 'scope'?" in warning
