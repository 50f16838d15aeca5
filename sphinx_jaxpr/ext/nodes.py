"""The nodes of this extension.

``jaxpr_gallery`` is what the directive leaves; the post-transform replaces it.
``jaxpr_figure`` is what HTML builders get; all others get standard nodes.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxTranslator


class jaxpr_gallery(nodes.General, nodes.Element):
    """One directive, not yet shown; ``gallery`` is its record, its child a caption."""


class jaxpr_figure(nodes.General, nodes.Element):
    """One block as HTML: ``before`` and ``after`` surround its caption."""


def visit_figure(self: SphinxTranslator, node: nodes.Element) -> None:
    """Write the block; its children are its caption."""
    body: list[str] = self.body  # type: ignore[attr-defined]
    body.append(node["before"])


def depart_figure(self: SphinxTranslator, node: nodes.Element) -> None:
    """Close the block."""
    body: list[str] = self.body  # type: ignore[attr-defined]
    body.append(node["after"])


def pass_through(self: SphinxTranslator, node: nodes.Element) -> None:
    """Show the children alone: where a node is met before it is replaced."""


HTML: tuple[Any, Any] = (visit_figure, depart_figure)
PLAIN: tuple[Any, Any] = (pass_through, pass_through)
