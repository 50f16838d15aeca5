"""The list of primitives: of a page, of the project, in every format."""

from __future__ import annotations

import re
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
        assert "Used in" in (done.out / "all.txt").read_text("utf-8")


def test_a_wrong_scope_and_no_blocks(tmp_path: Path) -> None:
    page = "# P\n\n```{jaxpr-glossary}\n:scope: projekt\n```\n"
    project = Project(tmp_path, {"docs/index.md": page})
    for _ in range(2):
        done = project.build("html")
        (warning,) = done.warnings
        assert "index.md:4: WARNING: scope: 'projekt' is not one of project, page" in warning
        assert "did you mean 'project'?" in warning
        assert "[jaxpr.glossary]" in warning
    assert "No primitives in this project." in done.page("index").get_text()


def test_an_unknown_option(tmp_path: Path) -> None:
    page = "# P\n\n```{jaxpr-glossary}\n:scop: page\n```\n"
    project = Project(tmp_path, {"docs/index.md": page})
    for _ in range(2):
        (warning,) = project.build("html").warnings
        assert "index.md:4: WARNING: unknown option 'scop', did you mean 'scope'?" in warning


SEVERAL = """
# P

```{toctree}
other
```

```{jaxpr-transform} layers:dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:name: primitive
```

````{only} latex
```{jaxpr-glossary}
```
````

```{jaxpr-glossary}
:scope: page
```

```{jaxpr-glossary}
```

```{glossary}
add
  The sum.
```

{jaxpr:prim}`tanh` {jaxpr:prim}`sin` {jaxpr:prim}`add`
"""
LISTED = """
# Other

```{jaxpr-transform} more:wave
:args: x=f32[3]
```

```{jaxpr-transform} layers:dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:name: again
```

```{jaxpr-glossary}
:scope: page
```

{jaxpr:prim}`tanh` {jaxpr:prim}`sin`
"""


@pytest.mark.parametrize("builder", ["html", "singlehtml", "latex"])
def test_ids_differ_and_links_land(several: Project, builder: str) -> None:
    done = several.build(builder, "-W", "-n", "-d", str(several.folder / "doctrees"))
    assert (done.code, done.stderr) == (0, "")
    if builder == "latex":
        text = (done.out / "p.tex").read_text("utf-8")
        labels = re.findall(r"\\label\{\\detokenize\{(.*?)\}\}", text)
        assert sum("jaxpr-primitive" in label for label in labels) > 10
        assert len(set(labels)) == len(labels)
        asked = re.findall(r"\\hyperref\[\\detokenize\{(.*?)\}\]", text)
        assert {one for one in asked if "jaxpr" in one} <= {*labels}
        return
    pages = {f"{p.stem}.html": done.page(p.stem) for p in done.out.glob("[io]*.html")}
    ids = {}
    for name, page in pages.items():
        found = [str(one["id"]) for one in page.find_all(id=True)]
        assert sorted({*found}) == sorted(found), name
        ids[name] = {*found}
    links = []
    for name, page in pages.items():
        for one in page.select(".body a[href*='#']"):
            other, _, identity = str(one["href"]).partition("#")
            assert identity in ids[other or name], one
            links.append(f"{other or name}#{identity}")
        own = page.select("a:has(.jaxpr-link)")
        # Of several lists the page's own, the first there; but a term comes first.
        assert own
        assert all(str(one["href"]).startswith("#") for one in own), own
    assert sum("jaxpr-primitive" in link for link in links) >= 3


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Project:
    files = {**FILES, "docs/index.md": SEVERAL, "docs/other.md": LISTED}
    files = {name: text for name, text in files.items() if "sub/" not in name and "all" not in name}
    return Project(tmp_path_factory.mktemp("several"), files)


def test_what_nobody_knows_is_told(tmp_path: Path) -> None:
    conf = """
jaxpr_glossary = {
    "sin": "nowhere",
    "tahn": "The Term",
    "rotate": {"meaning": "Turns it."},
}
"""
    block = "```{jaxpr-transform} layers:dense\n:args: x=f32[2,3], w=f32[3,4], b=f32[4]\n```\n"
    page = (
        f"# P\n\n{block}\n```{{glossary}}\nThe term\n  Is defined.\n```\n\n{{jaxpr:prim}}`TANH`\n"
    )
    project = Project(tmp_path, {"docs/index.md": page}, conf)
    line = (project.docs / "conf.py").read_text("utf-8").split("\n").index("jaxpr_glossary = {") + 1
    told = "\n".join(project.build("html").warnings)
    assert told.count("WARNING") == 3
    assert f"conf.py:{line}: WARNING: jaxpr_glossary: no glossary of this project has" in told
    assert "the term 'nowhere'" in told
    assert "'tahn' is not a primitive" in told
    assert re.search(r"'tahn' is not a primitive .*, did you mean '\w*tan\w*'?", told)
    assert "there is no primitive `TANH`, did you mean `tanh`" in told
