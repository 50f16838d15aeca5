"""The nodes of this extension.

``jaxpr_gallery`` is what the directive leaves; the post-transform replaces it.
``jaxpr_figure`` is what HTML builders get; all others get standard nodes.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxTranslator


class jaxpr_gallery(nodes.General, nodes.Element):
    """One directive, not yet shown; ``gallery`` is its record, its child a caption."""


class jaxpr_note(nodes.General, nodes.Element):
    """A note at an equation; ``path`` says at which, its children are its text."""


class jaxpr_primitives(nodes.General, nodes.Element):
    """A list of primitives, not yet made; ``scope`` says of which pages."""


class jaxpr_quote(nodes.Inline, nodes.TextElement):
    """A role, not yet shown: ``what`` it is, its ``expression``; its text are the words."""


class jaxpr_claims(nodes.Invisible, nodes.Element):
    """Claims that readers don't see; ``lines`` are expressions with the lines of their file."""


class jaxpr_when(nodes.General, nodes.Element):
    """A part of a page that is kept where its ``expression`` is true."""


class jaxpr_words(nodes.Invisible, nodes.Element):
    """Words by which the search finds a block; shown nowhere."""


class jaxpr_figure(nodes.General, nodes.Element):
    """One block as HTML: ``before`` and ``after`` surround its caption."""

    def walkabout(self, visitor: nodes.NodeVisitor) -> bool:
        """As any node, but known to every translator that writes HTML.

        Sphinx hands a translator the visitors registered for the builder's name
        or else for its format: a builder may have other ones than ``html``.
        """
        if hasattr(visitor, "body") and not hasattr(visitor, "visit_jaxpr_figure"):
            for name, (visit, depart) in _HTML.items():
                setattr(visitor, f"visit_{name}", MethodType(visit, visitor))
                setattr(visitor, f"depart_{name}", MethodType(depart, visitor))
        return super().walkabout(visitor)


def visit_figure(self: SphinxTranslator, node: nodes.Element) -> None:
    """Write the block; its children are its caption."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(node["before"])


def depart_figure(self: SphinxTranslator, node: nodes.Element) -> None:
    """Close the block."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(node["after"])


def skip(self: SphinxTranslator, node: nodes.Element) -> None:
    """Show nothing of the node."""
    raise nodes.SkipNode


def pass_through(self: SphinxTranslator, node: nodes.Element) -> None:
    """Show the children alone: where a node is met before it is replaced."""


HTML: tuple[Any, Any] = (visit_figure, depart_figure)
HIDDEN: tuple[Any, Any] = (skip, pass_through)
PLAIN: tuple[Any, Any] = (pass_through, pass_through)

_HTML = {"jaxpr_figure": HTML, "jaxpr_words": HIDDEN}
