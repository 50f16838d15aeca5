"""The nodes of this extension, and nodes for HTML that others can derive from.

The directive leaves ``jaxpr_blocks``; the post-transform replaces it by
``jaxpr_figure`` and ``jaxpr_source`` for builders that write HTML, by standard nodes for
all others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from types import MethodType
from typing import Any, ClassVar, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxTranslator

#: Functions that a translator calls when it enters and leaves a node.
Visitors = tuple[Callable[[Any, Any], None], Callable[[Any, Any], None]]

#: Builder formats with translators of their own.
_FORMATS: Final = ("html", "latex", "text", "man", "texinfo")


def skip(self: SphinxTranslator, node: nodes.Element) -> None:
    """Show nothing of the node."""
    raise nodes.SkipNode


def pass_through(self: SphinxTranslator, node: nodes.Element) -> None:
    """Show the children only, for a node that hasn't been replaced yet."""


#: Visitors that show nothing of a node.
HIDDEN: Final[Visitors] = (skip, pass_through)
#: Visitors that show a node's children only.
PLAIN: Final[Visitors] = (pass_through, pass_through)


def register_node(
    app: Sphinx,
    kind: type[nodes.Element],
    visitors: Visitors = PLAIN,
    *,
    html: Visitors | None = None,
) -> None:
    """Register a node for all formats: with ``visitors``, or ``html`` for HTML if that differs."""
    by_format: dict[str, Any] = dict.fromkeys(_FORMATS, visitors)
    if html is not None:
        by_format["html"] = html
    app.add_node(kind, **by_format)


class HtmlNode(nodes.Element):
    """A node with HTML of its own, known to every translator that writes HTML.

    A subclass sets ``html`` to visitors, which append to ``self.body``.  Sphinx hands a
    translator the visitors registered for the builder's name or else for its format, so that a
    builder of another format that writes HTML has none.
    """

    html: ClassVar[Visitors]

    def walkabout(self, visitor: nodes.NodeVisitor) -> bool:
        """As for any node, but add missing visitors to the translator."""
        name = type(self).__name__
        if hasattr(visitor, "body") and not hasattr(visitor, f"visit_{name}"):
            for step, method in zip(("visit", "depart"), self.html, strict=True):
                setattr(visitor, f"{step}_{name}", MethodType(method, visitor))
        return super().walkabout(visitor)


class jaxpr_blocks(nodes.General, nodes.Element):
    """A directive that shows blocks; ``directive`` is its record.

    Its children are a caption and notes.
    """


class jaxpr_note(nodes.General, nodes.Element):
    """A note at the equation that ``path`` resolves to; its children are its text."""


class jaxpr_primitives(nodes.General, nodes.Element):
    """A list of the primitives of a ``scope``: ``page`` or ``project``."""


class jaxpr_statement(nodes.Inline, nodes.TextElement):
    """A role: its name ``role`` and its ``expression``; its text are the words."""


def visit_letter(self: SphinxTranslator, node: nodes.Element) -> None:
    """Open what names variables in a sentence."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    attributes = "".join(f' data-{name}="{escape(node[name])}"' for name in ("block", "var"))
    body.append(f'<span class="jaxpr-letter"{attributes if node["block"] else ""}>')


def depart_letter(self: SphinxTranslator, node: nodes.Element) -> None:
    """Close it."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append("</span>")


class jaxpr_letter(nodes.Inline, HtmlNode, nodes.TextElement):
    """Letters of variables, or words for them, in a sentence.

    ``block`` is the id of their figure if that is on the same page, else ``""``; ``var`` are
    the variables, with blanks between them.
    """

    html = (visit_letter, depart_letter)


class jaxpr_claims(nodes.Invisible, nodes.Element):
    """Claims that readers don't see; ``lines`` are what each line is, with its line in the file.

    Its children are names that sentences show.
    """


class jaxpr_name(nodes.TextElement):
    """The name of a line of claims, as a text that is translated; ``keys`` are how to find it."""


class jaxpr_code(nodes.Invisible, nodes.Element):
    """A piece of the page's code, ``part``, before the node that shows it, if one does."""


class jaxpr_when(nodes.General, nodes.Element):
    """A part of a page that is shown if its ``expression`` is true."""


def visit_figure(self: SphinxTranslator, node: nodes.Element) -> None:
    """Write the block; its children are its caption."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(_with_classes(node["before"], node["classes"]))


#: The classes of a figure's tag, to which others are added.
_CLASS = re.compile(r'(?<=<figure class=")([^"]*)')


def _with_classes(markup: str, classes: list[str]) -> str:
    added = "".join(f" {escape(name)}" for name in classes)
    return _CLASS.sub(lambda match: match[0] + added, markup, count=1) if added else markup


def depart_figure(self: SphinxTranslator, node: nodes.Element) -> None:
    """Close the block."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(node["after"])


#: The markup that Pygments writes before a line.
_LINE = re.compile(r'<span id="([^"]+)">')


def visit_source(self: SphinxTranslator, node: nodes.Element) -> None:
    """Open the listing; the output of its child follows."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(f'<div data-source="{escape(node["source"])}">')
    node["begin"] = len(body)


def depart_source(self: SphinxTranslator, node: nodes.Element) -> None:
    """Number the lines that the child has written."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    begin, lines = node["begin"], node["lines"]
    written = "".join(body[begin:])
    body[begin:] = [_LINE.sub(lambda line: lines.get(line[1], line[0]), written), "</div>\n"]


class jaxpr_words(nodes.Invisible, HtmlNode):
    """Words by which the search finds a block; shown nowhere."""

    html = HIDDEN


class jaxpr_figure(nodes.General, HtmlNode):
    """One block as HTML: ``before`` and ``after`` surround its children, the caption.

    Its ``classes`` are added to those of the ``figure``.  ``is_beside`` is true if it
    is shown beside another one.
    """

    html = (visit_figure, depart_figure)


class jaxpr_source(nodes.General, HtmlNode):
    """A listing of Python as HTML, its child.

    ``source`` is the name that figures of its equations share; ``lines`` has
    for each line, by the id that the child's lines get, its number as HTML.
    """

    html = (visit_source, depart_source)


def register_nodes(app: Sphinx) -> None:
    """Register all of them."""
    for kind in (jaxpr_blocks, jaxpr_primitives, jaxpr_note, jaxpr_statement, jaxpr_when):
        register_node(app, kind)
    for written in (jaxpr_figure, jaxpr_source, jaxpr_letter):
        register_node(app, written, html=written.html)
    for invisible in (jaxpr_words, jaxpr_claims, jaxpr_name, jaxpr_code):
        register_node(app, invisible, HIDDEN)
