"""The events for other extensions, tried with the extension that the documentation shows."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docutils import nodes
from sphinx.events import EventManager

from sphinx_jaxpr.block import TracedBlock
from sphinx_jaxpr.ext.judging.events import (
    BLOCK_TRACED,
    FIGURE,
    add_events,
    emit_figures,
    emit_traced,
)
from sphinx_jaxpr.ext.judging.names.appearances import Appearances
from sphinx_jaxpr.ext.judging.names.project import ProjectNames
from sphinx_jaxpr.ext.records import Block
from sphinx_jaxpr.tracing.result import Result
from tests.support import PROJECT, Project

pytestmark = pytest.mark.once

PAGE = """
# Page

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:transforms: grad(argnums=w), vmap
:base: hide
:class: mine
```

```{jaxpr-transform} layers:dense
:name: wrong
:class: mine
:args: x=f32[2,3], w=f32[5,4], b=f32[4]
```

```{jaxpr}
{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }
```
"""
# Notes what it gets; and is loaded before sphinx_jaxpr.
RECORDER = """
import jaxpr_list


def note(app, docname, block, node):
    row = (app.builder.name, docname, block.name, block.label, block.target, type(node).__name__)
    with open(app.srcdir / "figures.txt", "a") as file:
        print(*row, node.parent is not None, file=file)


def setup(app):
    jaxpr_list.setup(app)
    app.connect("jaxpr-figure", note)
"""


def test_another_extension_gets_every_block(tmp_path: Path) -> None:
    example = (PROJECT / "docs/examples/jaxpr_list.py").read_text("utf-8")
    conf = 'extensions.insert(0, "recorder")\n'
    files = {"docs/index.md": PAGE, "src/jaxpr_list.py": example, "src/recorder.py": RECORDER}
    project = Project(tmp_path, files, conf)
    shared = ("-d", str(tmp_path / "doctrees"))
    first, second = project.build("html", *shared), project.build("text", *shared)
    assert (first.traced, second.traced) == (4, 1)  # all else is stored, but no failure
    rows = json.loads((first.out / "jaxprs.json").read_text("utf-8"))
    again = json.loads((second.out / "jaxprs.json").read_text("utf-8"))
    assert again == rows
    # The hidden base is not among them, nor what nothing traced.
    assert [(row["page"], row["name"]) for row in rows] == [
        ("index", "dense.grad"), ("index", "dense.vmap"), ("index", "wrong"),
    ]  # fmt: skip
    grad, vmap, wrong = rows
    assert grad["lines"] > 15 and vmap["lines"] > 2 and grad["error"] is vmap["error"] is None
    assert wrong["lines"] == 0 and "TypeError" in wrong["error"]
    assert len({row["jax"] for row in rows}) == 1 and grad["jax"]
    # A class goes to the figure, behind those that it has.
    figures = first.page("index").select("figure.jaxpr")
    assert [figure["class"] for figure in figures] == [
        ["jaxpr", "mine", "is-long"], ["jaxpr", "mine", *["is-long"] * (vmap["lines"] > 15)],
        ["jaxpr", "jaxpr-error", "mine"], ["jaxpr"],
    ]  # fmt: skip
    seen = (project.docs / "figures.txt").read_text("utf-8").splitlines()
    shown = [
        "index dense.grad grad layers:dense", "index dense.vmap vmap layers:dense",
        "index wrong  layers:dense", "index pasted  ",
    ]  # fmt: skip
    kinds = ["literal_block", "literal_block", "error", "literal_block"]
    assert seen == [
        *(f"html {block} jaxpr_figure True" for block in shown),
        *(f"text {block} {kind} True" for block, kind in zip(shown, kinds, strict=True)),
    ]


LINKS = """
# Other

```{jaxpr-links}
index
```

```{jaxpr-links}
:what: ever
indx
```
"""


def test_a_directive_of_another_extension(tmp_path: Path) -> None:
    example = (PROJECT / "docs/examples/jaxpr_links.py").read_text("utf-8")
    jaxpr = "```{jaxpr}\n:name: NAME\n\n{ lambda ; a:f32[]. let  in (a,) }\n```\n"
    page = f"# Page\n\n```{{toctree}}\nother\n```\n\n{jaxpr}"
    files = {
        "docs/index.md": page.replace("NAME", "first"),
        "docs/other.md": LINKS,
        "src/jaxpr_links.py": example,
    }
    project = Project(tmp_path, files, 'extensions.append("jaxpr_links")\n')
    shared = ("-d", str(tmp_path / "doctrees"))
    for builder, address, name in (
        ("html", "index.html#jaxpr-first", "first"),
        ("singlehtml", "#jaxpr-first", "first"),
        ("html", "index.html#jaxpr-second", "second"),
    ):
        (project.docs / "index.md").write_text(page.replace("NAME", name), "utf-8")
        build = project.build(builder, *shared)
        shown = build.page("other" if builder == "html" else "index")
        assert [a.text for a in shown.select(f'li a[href="{address}"]')] == [name]
        listed = [line for line in build.stderr.splitlines() if "[jaxpr-links." in line]
        assert [line.partition("other.md:")[2] for line in listed] == [
            "8: WARNING: jaxpr-links takes no options; found 'what' [jaxpr-links.option]",
            "7: WARNING: no page 'indx', did you mean 'index'? [jaxpr-links.page]",
        ]


def test_nothing_is_loaded_where_no_handler_is_connected() -> None:
    """An application's own events, and a session that notes what it is asked for."""
    app: Any = SimpleNamespace(pdb=False)
    app.events = events = EventManager(app)
    app.emit = events.emit
    add_events(SimpleNamespace(add_event=events.add))  # type: ignore[arg-type] # enough
    asked: list[str] = []

    class Session:
        mode = "trace"

        def mend(self, blocks: list[Any]) -> None:
            asked.append("mend")

        def traced(self, directive: Any, block: Block) -> TracedBlock:
            asked.append(block.name)
            return TracedBlock(block.name, result=Result(jax="1"))

    block = Block("f", "", "jaxpr-f", None, "")
    directive: Any = SimpleNamespace(blocks=[block])
    session: Any = Session()
    appearances = Appearances(ProjectNames({"index": [directive]}), {})
    for connected in (False, True):
        if connected:
            for event in (BLOCK_TRACED, FIGURE):
                events.connect(event, lambda *arguments: None, 500)
        emit_traced(app, session, appearances)
        emit_figures(app, session, "index", directive, [(block, nodes.container())])
        assert asked == ["mend", "f", "f"] * connected
