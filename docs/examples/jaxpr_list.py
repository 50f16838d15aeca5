"""A Sphinx extension: lists all jaxprs in ``jaxprs.json``, and marks those that are long."""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from sphinx_jaxpr.ext.api import BlockReport

LONG = 15  # lines


class JaxprList:
    """The blocks of one build."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, app: Sphinx, docname: str, block: BlockReport) -> None:
        """A block was traced, or its result was stored."""
        lines = block.text.count("\n") + 1 if block.text else 0
        row = {"page": docname, "name": block.name, "lines": lines, "error": block.error}
        self.rows.append({**row, "jax": block.jax})

    def write(self, app: Sphinx, exception: Exception | None) -> None:
        """The build is over."""
        if exception is None:
            text = json.dumps(self.rows, indent=2)
            Path(app.outdir, "jaxprs.json").write_text(text, "utf-8")


def mark(app: Sphinx, docname: str, block: BlockReport, node: nodes.Element) -> None:
    """A block is about to be shown: a style sheet can select ``.is-long``."""
    if block.text and block.text.count("\n") + 1 > LONG:
        node["classes"].append("is-long")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the handlers."""
    app.setup_extension("sphinx_jaxpr")  # it registers the events
    found = JaxprList()
    app.connect("jaxpr-block-traced", found.add)
    app.connect("jaxpr-figure", mark)
    app.connect("build-finished", found.write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
