"""Notes at equations: the body of ``jaxpr-transform``.

A note is a line that is a path, then an indented text in the page's own markup.
It is shown as a numbered marker at the equation and as text under the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from docutils import nodes

from ..tracing.grammar import shorten
from .nodes import jaxpr_note
from .pointing import Pointed, pointed
from .records import Gallery

if TYPE_CHECKING:
    from .engine import Engine


def split(content: Sequence[str]) -> tuple[list[tuple[int, str, str]], list[tuple[int, str]]]:
    """The notes of a body as (line, path, text), and what is no note as (line, message).

    Lines are counted from the body's first, 0.  The text begins on the line
    after its path.
    """
    found: list[tuple[int, str, str]] = []
    problems: list[tuple[int, str]] = []
    place = 0
    while place < len(content):
        line = content[place]
        if not line.strip():
            place += 1
            continue
        end = place + 1
        while end < len(content) and (not content[end].strip() or content[end][:1].isspace()):
            end += 1
        text = dedent("\n".join(content[place + 1 : end])).rstrip()
        if line[:1].isspace():
            problems.append(
                (place, f"a note begins with its path; found the text {shorten(line.strip())}")
            )
        elif not text:
            problems.append(
                (
                    place,
                    f"the note at {shorten(line.strip())} has no text; indent it below its path",
                )
            )
        else:
            found.append((place, line.strip(), text))
        place = end
    return found, problems


def node_of(path: str, children: list[nodes.Node]) -> jaxpr_note:
    """The node of a note; its children are its text."""
    node = jaxpr_note(path=path)
    node += children
    return node


def placed(engine: Engine, gallery: Gallery) -> list[Pointed]:
    """Where each note of a directive belongs."""
    return pointed(engine, gallery, gallery.notes, "note", "note at")


def as_list(
    items: list[tuple[Pointed, jaxpr_note, str]], link: Callable[[Pointed], nodes.Node]
) -> list[nodes.Node]:
    """Notes as a numbered list; each item has its id and begins with a link to its equation."""
    if not items:
        return []
    rows = nodes.enumerated_list(classes=["jaxpr-notes"], enumtype="arabic", prefix="", suffix=".")
    for found, node, identity in items:
        item = nodes.list_item("", nodes.paragraph("", "", link(found)), ids=[identity])
        item += node.children
        rows += item
    return [rows]


def marker(number: int, identity: str) -> str:
    """The mark at an equation, as HTML."""
    return (
        f'<a class="jaxpr-marker" id="{identity}-at" href="#{identity}"'
        f' aria-label="note {number}">{number}</a>'
    )


def letters(engine: Engine, found: Pointed) -> str:
    """How to name an equation on paper: the letters that it binds, or its primitive."""
    printed: Any = engine.printed(found.block) if found.block else None
    for equation in printed[0].walk() if printed else ():
        if equation.start == found.start:
            return " ".join(v.name for v in equation.outputs) or str(equation.primitive)
    return found.note.path
