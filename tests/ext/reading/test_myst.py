"""What MyST and rST make of option lines that look right: each shows the right form."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sphinx_jaxpr.ext.reading.parsers import LOGGER, MystWarnings, take_warnings
from tests.ext.cases import Warned, dedented, warned
from tests.support import Build, Project

pytestmark = pytest.mark.once


@dataclass(frozen=True)
class Trap:
    """Lines of a directive; ``at`` is the line of the warning, from 0."""

    name: str
    lines: str
    at: int
    says: tuple[str, ...]


MARKDOWN = [
    Trap("indented", """
        ```{jaxpr-transform} layers:dense
        :name: indented
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        :transforms:
          grad(argnums=w)
          vmap
        ```
        """, 4, ("the body begins indented", ":transforms: grad(argnums=w), vmap, or")),
    Trap("indented_colons", """
        :::{jaxpr-transform} layers:dense
        :name: indented_colons
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        :transforms: grad,
          vmap
        :::
        """, 4, ("the body begins indented", ":transforms: grad, vmap, or")),
    Trap("indented_args", """
        ```{jaxpr-transform} layers:dense
        :name: indented_args
        :args:
          x=f32[4,4], w=f32[4,4],
          b=f32[4]
        ```
        """, 3, ("the body begins indented", ":args: x=f32[4,4], w=f32[4,4], b=f32[4], or")),
    Trap("quoted", """
        ```{jaxpr-transform} layers:dense
        :name: quoted
        :args: "x=f32[4,4]", w=f32[4,4], b=f32[4]
        ```
        """, 2, ("option 'args': a value that begins with a quote", "without quotes")),
    Trap("quoted_block", """
        ```{jaxpr-transform} layers:dense
        ---
        name: quoted_block
        args: 'x=f32[4,4]', w=f32[4,4], b=f32[4]
        ---
        ```
        """, 3, ("option 'args': a value that begins with a quote", "''x=f32[4,4]'', w")),
    Trap("pipe", """
        ```{jaxpr-transform} layers:dense
        :name: pipe
        :caption: | pipe
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        ```
        """, 2, ("option 'caption': a value that begins with | is", ":caption: '| pipe'")),
    Trap("chain", """
        ```{jaxpr-transform} layers:dense
        :name: chain
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        :transforms: >- grad
        ```
        """, 3, ("option 'transforms': a value that begins with > is", ":transforms: '>- grad'")),
    Trap("tab", """
        ```{jaxpr-transform} layers:dense
        :name: tab
        :args: x=f32[4,4],\tw=f32[4,4], b=f32[4]
        ```
        """, 2, ("option 'args': a tab ends a value", ":args: x=f32[4,4], w=f32[4,4], b")),
    Trap("comment", """
        ```{jaxpr-transform} layers:dense
        :name: comment
        :args: x=f32[4,4], w=f32[4,4], b=f32[4] # three of them
        ```
        """, 2, ("MyST takes '# three of them' for a comment", "'x=f32[4,4], w")),
    Trap("comment_block", """
        :::{jaxpr-transform} layers:dense
        ---
        name: comment_block
        args: x=f32[4,4], w=f32[4,4], b=f32[4]
        transforms: remat(policy=save_only_these_names("a #b"))
        ---
        :::
        """, 4, ("option 'transforms': MyST takes '#b", "'remat(policy=save_only")),
    Trap("empty_args", """
        ```{jaxpr-transform} layers:dense
        :name: empty_args
        :args:
        ```
        """, 2, ("option 'args' is empty", ":args: x=f32[8]")),
    Trap("empty_transforms", """
        ```{jaxpr-transform} layers:dense
        :name: empty_transforms
        :transforms:
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        ```
        """, 2, ("option 'transforms' is empty", ":transforms: grad, vmap")),
    Trap("empty_block", """
        ```{jaxpr-transform} layers:dense
        ---
        name: empty_block
        args: x=f32[4,4], w=f32[4,4], b=f32[4]
        static:
        ---
        ```
        """, 4, ("option 'static' is empty", "n=3")),
    Trap("no_argument", """
        ```{jaxpr-transform}
        :name: no_argument
        :args: x=f32[4]
        ```
        """, 0, ("the function is missing", "```{jaxpr-transform} package.module:function")),
    Trap("below", """
        ```{jaxpr-transform}
        layers:dense
        :name: below
        :args: x=f32[4]
        ```
        """, 0, ("the function is missing", "```{jaxpr-transform} layers:dense")),
    Trap("below_rest", """
        :::{jaxpr-transform}
        :name: below_rest
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]

        layers:dense
        :::
        """, 0, ("the function is missing", ":::{jaxpr-transform} layers:dense")),
    Trap("yaml", """
        ```{jaxpr-transform} layers:dense
        ---
        name: yaml
        args: {x: f32[4,4]
        ---
        ```
        """, 3, ("args: expected ',' or '}'",)),
    Trap("list", """
        ```{jaxpr-transform} layers:dense
        ---
        name: list
        transforms: grad
        - vmap
        ---
        ```
        """, 4, ("MyST can't read the options at '- vmap' (expected ':' after key)", "on a line")),
    Trap("list_of_claims", """
        ```{jaxpr-claims}
        ---
        - a
        ---
        jax > "0.1"
        ```
        """, 2, ("MyST can't read the options at '- a'",)),
    Trap("twice", """
        ```{jaxpr-transform} layers:dense
        :name: twice
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        ```
        """, 3, ("option 'args' is given twice",)),
]  # fmt: skip

RST = [
    Trap("two_lines", """
        .. jaxpr-transform:: layers:dense
           and more of it
           :name: two_lines
           :args: x=f32[4,4], w=f32[4,4], b=f32[4]
        """, 0, ("is longer than one line", ".. jaxpr-transform:: layers:dense")),
    Trap("no_argument", """
        .. jaxpr-transform::
           :name: no_argument
           :args: x=f32[4]
        """, 0, ("the function is missing", ".. jaxpr-transform:: package.module:function")),
    Trap("empty_args", """
        .. jaxpr-transform:: layers:dense
           :name: empty_args
           :args:
        """, 2, ("option 'args' is empty",)),
]  # fmt: skip


def checked(traps: list[Trap], project: Project, name: str, title: str) -> Build:
    """Build a page of traps, and hold that each is one warning at its line."""
    text, places = title, {}
    for trap in traps:
        places[trap.name] = text.count("\n") + 1
        text += dedented(trap.lines) + "\n"
    project.write(name, text)
    built = project.build("html", "-W", "--keep-going")
    found = warned(built)
    wrong = []
    for trap in traps:
        at = places[trap.name] + trap.at
        here: list[Warned] = [w for w in found if w.line == at]
        wrong += [f"{trap.name}: {len(here)} warnings in line {at}"] if len(here) != 1 else []
        wrong += [f"{trap.name}: {w.kind}" for w in here if w.kind != "option"]
        wrong += [f"{trap.name}: {s!r} not in {w.text!r}"
                  for w in here for s in trap.says if s not in w.text]  # fmt: skip
    assert not wrong, built.stderr
    assert len(found) == len(traps), built.stderr
    return built


def test_markdown_traps_show_the_right_form(tmp_path: Path) -> None:
    project = Project(tmp_path, {}, 'myst_enable_extensions = ["colon_fence"]\n')
    built = checked(MARKDOWN, project, "docs/index.md", "# Page\n\n")
    assert built.code == 1
    again = project.build("html", "-W", "--keep-going")  # which reads nothing
    assert (again.code, again.warnings) == (1, built.warnings)
    assert len(built.page("index").select("figure.jaxpr")) >= len(MARKDOWN)
    # The right forms that the warnings show are right.
    project.write("docs/index.md", dedented("""
        # Page

        ```{jaxpr-transform} layers:dense
        :name: a
        :args: "x=f32[4,4], w=f32[4,4], b=f32[4] "
        ```

        ```{jaxpr-transform} layers:dense
        ---
        name: b
        args: x=f32[4,4], w=f32[4,4], b=f32[4]
        transforms: |
          grad(argnums=w)
          vmap
        ---
        ```

        ```{jaxpr-transform} layers:dense
        ---
        name: c
        args: 'x=f32[4,4], w=f32[4,4], b=f32[4]'
        transforms: "remat(policy=save_only_these_names('a #b'))"
        ---
        ```
        """))  # fmt: skip
    right = project.build("html", "-W")
    assert (right.code, right.stderr) == (0, "")
    assert set(right.texts("index")) == {
        "jaxpr-a", "jaxpr-b", "jaxpr-b.grad", "jaxpr-b.vmap", "jaxpr-c", "jaxpr-c.remat",
    }  # fmt: skip


def test_rst_traps_show_the_right_form(tmp_path: Path) -> None:
    built = checked(RST, Project(tmp_path, {}), "docs/index.rst", "Page\n====\n\n")
    assert built.code == 1


PAIR = {
    "md": """
        # Page

        ```{{jaxpr-transform}} layers:dense
        :name: {name}
        :args: x=bf16[32,64], w=bf16[64,64], b=bf16[64]
        :transforms: grad(argnums=w), vmap(axis_size=8), remat | grad(argnums=w) as both
        :caption: A layer, *rewritten*
        :open: both
        :class: wide
        ```
        """,
    "rst": """
        Page
        ====

        .. jaxpr-transform:: layers:dense
           :name: {name}
           :args: x=bf16[32,64], w=bf16[64,64], b=bf16[64]
           :transforms: grad(argnums=w),
              vmap(axis_size=8),
              remat | grad(argnums=w) as both
           :caption: A layer, *rewritten*
           :open: both
           :class: wide
        """,
}


def test_both_markups_give_the_same_figures(tmp_path: Path) -> None:
    files = {"docs/index.md": "# Index\n\n```{toctree}\nb\n```\n"}
    project = Project(tmp_path, files)
    written = {}
    for suffix, text in PAIR.items():
        project.write(f"docs/b.{suffix}", dedented(text.format(name="dense")))
        built = project.build("html", "-W")
        assert (built.code, built.stderr) == (0, "")
        written[suffix] = [str(figure) for figure in built.page("b").select("figure.jaxpr")]
        (tmp_path / f"docs/b.{suffix}").unlink()
    assert len(written["md"]) == 4
    assert written["md"] == written["rst"]


@pytest.mark.parametrize("argument", ["a" * 20_000, "x=" + "(" * 5_000, "x=" + "[" * 300])
def test_long_and_deep_values_are_refused(tmp_path: Path, argument: str) -> None:
    page = f"# Page\n\n```{{jaxpr-transform}} layers:dense\n:args: {argument}\n```\n"
    built = Project(tmp_path, {"docs/index.md": page}).build("dummy", "-W", "--keep-going")
    (only,) = warned(built)
    assert (built.code, only.place, only.kind) == (1, ("index.md", 4), "option")
    assert len(only.text) < 1_000


# --- MyST's own warnings, which are taken over ------------------------------


def test_a_warning_goes_to_the_directive_that_it_is_about() -> None:
    """Not to the one that runs next, nor to one of another page or another build."""
    log = logging.getLogger(LOGGER)
    before = list(log.filters)
    apps: list[Any] = [SimpleNamespace(env=SimpleNamespace(temp_data={})) for _ in range(2)]
    for app in apps:
        warnings = MystWarnings(app, ["jaxpr", "jaxpr-transform"])
        warnings.install(app, app.env, [])
        for text in ("'jaxpr': one", "'jaxpr-transform': two", "'note': three", "four"):
            record = log.makeRecord(log.name, logging.WARNING, "", 0, text, (), None)
            assert bool(log.filter(record)) == (text in ("'note': three", "four"))
        warnings.remove(app)
    first, second = (app.env for app in apps)
    assert take_warnings(first, "jaxpr-when") == []
    assert take_warnings(first, "jaxpr") == ["one"]
    assert take_warnings(first, "jaxpr") == []  # it has them
    first.temp_data.clear()  # as Sphinx does after each page
    assert take_warnings(first, "jaxpr-transform") == []
    assert take_warnings(second, "jaxpr-transform") == ["two"]
    assert log.filters == before  # the build is over
