"""The nodes of this extension.

``jaxpr_blocks`` is what the directive leaves; the post-transform replaces it.
``jaxpr_figure`` and ``jaxpr_source`` are what HTML builders get; all others get
standard nodes.
"""

from __future__ import annotations

import re
from html import escape
from types import MethodType
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxTranslator


class jaxpr_blocks(nodes.General, nodes.Element):
    """One directive, not yet shown; ``directive`` is its record, its child a caption."""


class jaxpr_note(nodes.General, nodes.Element):
    """A note at an equation; ``path`` says at which, its children are its text."""


class jaxpr_primitives(nodes.General, nodes.Element):
    """A list of primitives, not yet made; ``scope`` says of which pages."""


class jaxpr_statement(nodes.Inline, nodes.TextElement):
    """A role, not yet shown: ``what`` it is, its ``expression``; its text are the words."""


class jaxpr_claims(nodes.Invisible, nodes.Element):
    """Claims that readers don't see; ``lines`` are expressions with the lines of their file."""


class jaxpr_when(nodes.General, nodes.Element):
    """A part of a page that is kept where its ``expression`` is true."""


class jaxpr_words(nodes.Invisible, nodes.Element):
    """Words by which the search finds a block; shown nowhere."""


class _ForHTML(nodes.General, nodes.Element):
    def walkabout(self, visitor: nodes.NodeVisitor) -> bool:
        """As any node, but known to every translator that writes HTML.

        Sphinx hands a translator the visitors registered for the builder's name
        or else for its format: a builder may have other ones than ``html``.
        """
        if hasattr(visitor, "body") and not hasattr(visitor, "visit_jaxpr_source"):
            for name, (visit, depart) in _HTML.items():
                setattr(visitor, f"visit_{name}", MethodType(visit, visitor))
                setattr(visitor, f"depart_{name}", MethodType(depart, visitor))
        return super().walkabout(visitor)


class jaxpr_figure(_ForHTML):
    """One block as HTML: ``before`` and ``after`` surround its caption.

    ``is_beside``: it stands beside another one.
    """


class jaxpr_source(_ForHTML):
    """A listing of Python as HTML, its child.

    ``source`` is the name that figures of its equations have too; ``lines`` has
    for each line, by the id that the child's lines get, its number as HTML.
    """


def visit_figure(self: SphinxTranslator, node: nodes.Element) -> None:
    """Write the block; its children are its caption."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(node["before"])


def depart_figure(self: SphinxTranslator, node: nodes.Element) -> None:
    """Close the block."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(node["after"])


def visit_source(self: SphinxTranslator, node: nodes.Element) -> None:
    """Open the listing; what its child writes comes next."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(f'<div data-source="{escape(node["source"])}">')
    node["begin"] = len(body)


def depart_source(self: SphinxTranslator, node: nodes.Element) -> None:
    """Number the lines of what the child has written."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    begin, lines = node["begin"], node["lines"]
    written = "".join(body[begin:])
    body[begin:] = [_LINE.sub(lambda line: lines.get(line[1], line[0]), written), "</div>\n"]


#: What Pygments writes before a line.
_LINE = re.compile(r'<span id="([^"]+)">')


def skip(self: SphinxTranslator, node: nodes.Element) -> None:
    """Show nothing of the node."""
    raise nodes.SkipNode


def pass_through(self: SphinxTranslator, node: nodes.Element) -> None:
    """Show the children alone: where a node is met before it is replaced."""


HTML: tuple[Any, Any] = (visit_figure, depart_figure)
SOURCE: tuple[Any, Any] = (visit_source, depart_source)
HIDDEN: tuple[Any, Any] = (skip, pass_through)
PLAIN: tuple[Any, Any] = (pass_through, pass_through)

_HTML = {"jaxpr_figure": HTML, "jaxpr_source": SOURCE, "jaxpr_words": HIDDEN}
