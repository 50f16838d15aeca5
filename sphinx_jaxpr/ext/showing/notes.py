"""Notes of a directive as nodes and marks: the list under a block, the marker at an equation."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from docutils import nodes

from ..judging.path_targets import PathTarget
from ..locale import _
from ..nodes import jaxpr_note

if TYPE_CHECKING:
    from ...block import TracedBlock


def as_list(
    items: list[tuple[PathTarget, jaxpr_note, str]], link: Callable[[PathTarget], nodes.Node]
) -> list[nodes.Node]:
    """Notes as a numbered list; each item has its id and begins with a link to its equation."""
    if not items:
        return []
    rows = nodes.enumerated_list(classes=["jaxpr-notes"], enumtype="arabic", prefix="", suffix=".")
    for target, node, identity in items:
        item = nodes.list_item("", nodes.paragraph("", "", link(target)), ids=[identity])
        item += node.children
        rows += item
    return [rows]


def marker(number: int, identity: str) -> str:
    """The mark at an equation, as HTML."""
    label = escape(_("note {number}").format(number=number))
    return (
        f'<a class="jaxpr-marker" id="{identity}-at" href="#{identity}"'
        f' aria-label="{label}">{number}</a>'
    )


def letters(block: TracedBlock, target: PathTarget) -> str:
    """The name of an equation on paper: the letters that it binds, or its primitive."""
    for equation in block.printed.walk():
        if equation.start == target.start:
            return " ".join(v.name for v in equation.outputs) or equation.primitive
    return target.note.path
