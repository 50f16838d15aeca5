"""Links to ids of this project, in every builder."""

from __future__ import annotations

from docutils import nodes
from sphinx.builders import Builder
from sphinx.errors import NoUri
from sphinx.util.nodes import make_refnode


def link(
    builder: Builder, page: str, other: str, identity: str, *content: nodes.Node
) -> nodes.reference | None:
    """A link on ``page`` to an id on another one; ``None`` where that one is not in the book."""
    if builder.name == "singlehtml":  # where Sphinx would put the page's id before it
        page = other
    try:
        return make_refnode(builder, page, other, identity, list(content))
    except NoUri:
        return None
