"""The nodes of lesson parts.

Directives and roles leave the first ones; post-transforms replace them by standard nodes, or,
for builders that write HTML, by ``lesson_element``.
"""

from __future__ import annotations

from html import escape
from typing import Any, Final

from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.util.docutils import SphinxTranslator

from ..ext.api import HIDDEN, PLAIN, HtmlNode, Visitors


class lesson_reveal(nodes.General, nodes.Element):
    """A question, its first child, and the answer; ``kind`` is ``predict`` or ``check``."""


class lesson_checklist(nodes.General, nodes.Element):
    """Holds a list of items to tick."""


class lesson_auto(nodes.Inline, nodes.TextElement):
    """Begins an item that is ticked for the reader; ``expression`` is a verb and a target."""


class lesson_steps(nodes.General, nodes.Element):
    """A path of lessons; ``path`` is its record."""


def visit_element(self: SphinxTranslator, node: nodes.Element) -> None:
    """Open the element."""
    attributes = {"class": " ".join(node["classes"]), **node["attributes"]}
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    if node["ids"]:
        attributes["id"], *more = node["ids"]
        body.extend(f'<span id="{escape(identity)}"></span>' for identity in more)
    text = "".join(f' {key}="{escape(value)}"' for key, value in attributes.items())
    body.append(f"<{node['tag']}{text}>")


def depart_element(self: SphinxTranslator, node: nodes.Element) -> None:
    """Close the element."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(f"</{node['tag']}>\n")


class lesson_element(nodes.General, HtmlNode):
    """One HTML element: its ``tag``, its ``attributes``, its classes and ids."""

    html = (visit_element, depart_element)


def element(tag: str, name: str, *children: nodes.Node, **attributes: str) -> lesson_element:
    """An HTML element of the class ``lesson-<name>``; ``_`` in attributes means ``-``."""
    written = {key.replace("_", "-"): text for key, text in attributes.items()}
    return lesson_element("", *children, tag=tag, attributes=written, classes=[f"lesson-{name}"])


def words(name: str, *children: nodes.Node) -> nodes.inline:
    """A ``span`` of the class ``lesson-<name>``, which may hold links."""
    return nodes.inline("", "", *children, classes=[f"lesson-{name}"])


#: What builders without post-transforms do with the nodes of directives and roles.
UNSHOWN: Final[dict[type[nodes.Element], Visitors]] = {
    lesson_reveal: PLAIN,
    lesson_checklist: PLAIN,
    lesson_auto: HIDDEN,
    lesson_steps: HIDDEN,
}


def is_interactive(builder: Any) -> bool:
    """Whether readers have a browser, unlike those of paper or books."""
    return isinstance(builder, StandaloneHTMLBuilder) and not builder.embedded
