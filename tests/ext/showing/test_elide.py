"""What ``elide`` folds away: words, paths, wrong ones; nothing is ever lost from the text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bs4 import Tag

from tests.ext.cases import warned
from tests.support import Build, Project

pytestmark = pytest.mark.once

CODE = """
import jax
import jax.numpy as jnp


def mixed(x, w):
    unused = jnp.sin(x) * 2.0
    jax.debug.print("{}", x)
    low = jnp.dot(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16))
    wide = jnp.broadcast_to(jnp.cos(w), (4, 4, 4)).sum(0)

    def body(carry, _):
        lost = jnp.exp(carry)
        return jnp.tanh(carry) + wide, None

    return jax.lax.scan(body, low.astype(jnp.float32), None, length=3)[0]


def small(x):
    jnp.sin(x)
    return -x
"""

ARGS = ":args: x=f32[4,4], w=f32[4,4]\n"
#: Name of a block and what its ``elide`` says.
BLOCKS = {
    "none": "none",
    "casts": "casts",
    "dead": "dead, params",
    "paths": "[broadcast_in_dim] .all[tanh]",
    "both": "params, casts,dead, [sin], vmap.added, [cos]",
    "all": "all",
}
NAMES = {"none": "plain"}

CONF = """
jaxpr_cache_dir = "../cache"
copyright = "2026"
version = release = "1"
"""


def directive(name: str, elide: str) -> str:
    target = "mixing:mixed"
    return (
        f"```{{jaxpr-transform}} {target}\n{ARGS}:transforms: vmap\n:name: {name}_block\n"
        f":elide: {elide}\n```\n\n"
    )


PAGE = "# P\n\n" + "".join(directive(*item) for item in BLOCKS.items()) + (
    "```{jaxpr-transform} mixing:small\n:args: x=f32[4]\n:elide: dead\n```\n"
)  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    files = {"docs/index.md": PAGE, "src/mixing.py": CODE}
    return Project(tmp_path_factory.mktemp("elide"), files, CONF)


@pytest.fixture(scope="module")
def built(project: Project) -> Build:
    done = project.build("html", "-W", "-n")
    assert (done.code, done.stderr) == (0, "")
    return done


def folds(built: Build, block: str) -> list[tuple[str, list[str]]]:
    """The summaries of the folds of a block, with the primitives of the equations in each."""
    figure = built.page("index").find(id=f"jaxpr-{block}")
    assert isinstance(figure, Tag)
    found = []
    for fold in figure.select("details.jaxpr-elided"):
        assert not fold.has_attr("open")
        assert fold.summary is not None and not fold.summary.select(".jaxpr-line")
        inside = [str(e["data-primitive"]) for e in fold.select(":scope > .jaxpr-eqn")]
        found.append((fold.summary.get_text(), inside))
    return found


def test_texts_are_the_same_whatever_is_folded(built: Build) -> None:
    texts = built.texts("index")
    for name in BLOCKS:
        assert texts[f"jaxpr-{name}_block"] == texts["jaxpr-none_block"], name
        assert texts[f"jaxpr-{name}_block.vmap"] == texts["jaxpr-none_block.vmap"], name


def test_words(built: Build) -> None:
    assert folds(built, "none_block") == []
    assert folds(built, "casts_block") == [
        ("2 casts", ["convert_element_type"] * 2),
        ("1 cast", ["convert_element_type"]),
    ]
    # An equation that only an unused one uses is unused, in a nested program too; print is not.
    assert folds(built, "dead_block") == [
        ("2 unused equations", ["sin", "mul"]),
        ("1 unused equation", ["exp"]),
    ]
    figure = built.page("index").find(id="jaxpr-dead_block")
    assert isinstance(figure, Tag) and figure.select(".jaxpr-body .jaxpr-elided")


def test_paths_are_of_the_block_they_name(built: Build) -> None:
    assert folds(built, "paths_block") == [
        ("1 equation: broadcast_in_dim", ["broadcast_in_dim"]),
        ("1 equation: tanh", ["tanh"]),
    ]
    assert folds(built, "paths_block.vmap") == []
    (whole,) = folds(built, "all_block")  # one fold: what is inside is folded with it
    assert whole[0].startswith("11 equations: 3 \u00d7 convert_element_type, ")
    assert whole[0].endswith(", ...")


def test_all_together(built: Build) -> None:
    both = folds(built, "both_block")
    # Unused is what says more of ``sin``; the rest keeps its own reason.
    assert both[0] == ("2 unused equations", ["sin", "mul"])
    assert ("1 equation: cos", ["cos"]) in both
    figure = built.page("index").find(id="jaxpr-both_block")
    assert isinstance(figure, Tag)
    assert figure.select("details.jaxpr-more:not(.jaxpr-elided)")


def test_what_shares_its_line_stays(built: Build) -> None:
    assert folds(built, "small") == []
    assert "\n" not in built.texts("index")["jaxpr-small"]


def test_the_project_decides_where_a_directive_does_not(tmp_path: Path) -> None:
    page = PAGE.replace(":elide: none\n", "")
    project = Project(tmp_path, {"docs/index.md": page, "src/mixing.py": CODE})
    first = project.build("html", "-W")
    assert folds(first, "none_block") == []
    done = project.build("html", "-W", "-D", "jaxpr_elide=casts, dead")
    assert (done.code, done.traced) == (0, 0), done.stderr
    assert [said for said, _ in folds(done, "none_block")] == [
        "2 unused equations", "2 casts", "1 cast", "1 unused equation",
    ]  # fmt: skip
    assert len(folds(done, "casts_block")) == 2


@pytest.mark.parametrize("builder", ["text", "latex", "man", "epub"])
def test_nothing_is_folded_elsewhere(project: Project, built: Build, builder: str) -> None:
    doctrees = str(project.folder / "out" / "html" / ".doctrees")
    done = project.build(builder, "-W", "-d", doctrees)
    assert (done.code, done.stderr, done.traced) == (0, "", 0)
    if builder == "text":
        text = (done.out / "index.txt").read_text("utf-8")
        assert text.count(" = exp ") == 2 * len(BLOCKS)
        # What the directive asks for; a value that JAX drops has no letter.
        assert re.search(r"Casts: d, e, \w+\. Unused: c, mul, \w+\.", text)
        assert "Casts: " in text
    if builder == "epub":
        assert "jaxpr-elided" not in (done.out / "index.xhtml").read_text("utf-8")


def test_a_note_keeps_its_equation_in_sight(tmp_path: Path) -> None:
    page = directive("b", "casts, dead").replace("```\n\n", "\n[sin]\n    See here.\n```\n")
    project = Project(tmp_path, {"docs/index.md": f"# P\n\n{page}", "src/mixing.py": CODE})
    done = project.build("html", "-W")
    assert done.code == 0, done.stderr
    assert folds(done, "b_block")[0] == ("1 unused equation", ["mul"])


WRONG = """
# P

```{jaxpr-transform} mixing:mixed
---
args: x=f32[4,4], w=f32[4,4]
transforms: vmap
elide: |
  params, cast
  [sine],
  vmap[tan]
  none
---
```

```{jaxpr-transform} mixing:mixed
:args: x=f32[4,4], w=f32[4,4]
:transforms: vmap, grad(argnums=w)
:elide: vamp
```

```{jaxpr-transform} mixing:mixed
:args: x=f32[4,4], w=f32[4,5]
:name: fails
:elide: [sin]
```
"""


def test_wrong_parts_are_told_at_their_lines(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": WRONG, "src/mixing.py": CODE})
    for _ in range(2):
        done = project.build("html", "-W", "--keep-going")
        told = {(w.line, w.kind): w.text for w in warned(done)}
        assert "unknown word 'cast', did you mean 'casts'" in told[8, "option"]
        assert "elide: at '[sine]': `mixed` has no equation `sine`" in told[9, "path"]
        assert "nearest: sin (1)" in told[9, "path"]
        assert "`mixed.vmap` has no equation `tan`" in told[10, "path"]
        assert "elide: 'none' can't be combined" in told[11, "option"]
        assert "unknown word 'vamp', did you mean 'vmap'" in told[18, "option"]
        # The failure alone is told of a block that fails.
        assert [place for place in told if place[0] >= 21] == [(21, "trace")]
        assert len(told) == len(warned(done)) == 6
    # What was understood holds.
    figure = done.page("index").find(id="jaxpr-mixed")
    assert isinstance(figure, Tag) and figure.select("details.jaxpr-more")
