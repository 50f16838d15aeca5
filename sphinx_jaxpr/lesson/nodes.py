"""The nodes of lesson parts.

The first ones are what directives and roles leave; post-transforms replace them by
standard nodes, or, for builders that write HTML, by ``lesson_element``.
"""

from __future__ import annotations

from html import escape
from types import MethodType
from typing import Any

from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.util.docutils import SphinxTranslator

from ..ext.nodes import HIDDEN, PLAIN


class lesson_reveal(nodes.General, nodes.Element):
    """A question (its first child, a paragraph) and its answer; ``kind`` says which part."""


class lesson_checklist(nodes.General, nodes.Element):
    """Around a list of things to tick."""


class lesson_auto(nodes.Inline, nodes.TextElement):
    """At the beginning of an item that completes by itself: ``verb`` and ``target``."""


class lesson_steps(nodes.General, nodes.Element):
    """A path, not yet shown; ``path`` is its record."""


class lesson_element(nodes.General, nodes.Element):
    """One HTML element: its ``tag``, its ``attributes``, its classes and ids."""

    def walkabout(self, visitor: nodes.NodeVisitor) -> bool:
        """As any node, but known to every translator that writes HTML (see ``jaxpr_figure``)."""
        if hasattr(visitor, "body") and not hasattr(visitor, "visit_lesson_element"):
            for name, method in zip(("visit", "depart"), ELEMENT, strict=True):
                setattr(visitor, f"{name}_lesson_element", MethodType(method, visitor))
        return super().walkabout(visitor)


def element(tag: str, name: str, *children: nodes.Node, **attributes: str) -> lesson_element:
    """An HTML element of the class ``lesson-<name>``; ``_`` in attributes stands for ``-``."""
    known = {key.replace("_", "-"): text for key, text in attributes.items()}
    return lesson_element("", *children, tag=tag, attributes=known, classes=[f"lesson-{name}"])


def words(name: str, *children: nodes.Node) -> nodes.inline:
    """A ``span`` of the class ``lesson-<name>``, which may hold links."""
    return nodes.inline("", "", *children, classes=[f"lesson-{name}"])


def visit_element(self: SphinxTranslator, node: nodes.Element) -> None:
    """Open the element."""
    known = {"class": " ".join(node["classes"]), **node["attributes"]}
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    if node["ids"]:
        known["id"], *others = node["ids"]
        body.extend(f'<span id="{escape(other)}"></span>' for other in others)
    text = "".join(f' {key}="{escape(value)}"' for key, value in known.items())
    body.append(f"<{node['tag']}{text}>")


def depart_element(self: SphinxTranslator, node: nodes.Element) -> None:
    """Close the element."""
    body: list[str] = self.body  # type: ignore[attr-defined]  # those of HTML do
    body.append(f"</{node['tag']}>\n")


ELEMENT: tuple[Any, Any] = (visit_element, depart_element)

#: For each node of a page that is not yet shown, what a builder without post-transforms does.
UNSHOWN: dict[type[nodes.Element], tuple[Any, Any]] = {
    lesson_reveal: PLAIN,
    lesson_checklist: PLAIN,
    lesson_auto: HIDDEN,
    lesson_steps: HIDDEN,
}


def is_interactive(builder: Any) -> bool:
    """Whether readers have a browser: neither paper nor a book of which readers vary."""
    return isinstance(builder, StandaloneHTMLBuilder) and not builder.embedded
