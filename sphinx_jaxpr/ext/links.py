"""Links to ids of this project, in every builder."""

from __future__ import annotations

from docutils import nodes
from sphinx.builders import Builder
from sphinx.util.nodes import make_refnode


def link(
    builder: Builder, page: str, other: str, identity: str, content: nodes.Node | None = None
) -> nodes.reference:
    """A link on ``page`` to an id on another one; empty where there is no content."""
    if builder.name == "singlehtml":  # where Sphinx would put the page's id before it
        page = other
    found = make_refnode(builder, page, other, identity, content or nodes.Text(""))
    if content is None:
        found.clear()
    return found
