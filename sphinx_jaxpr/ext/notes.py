"""Notes at equations: the body of ``jaxpr-transform``.

A note is a line that is a path, then an indented text in the page's own markup.
It is shown as a numbered marker at the equation and as text under the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from docutils import nodes

from .nodes import jaxpr_note
from .records import TRUE, Block, Finding, Gallery, Note, Quote

if TYPE_CHECKING:
    from .engine import Engine


@dataclass(frozen=True)
class Placed:
    """A note with the block and the equation (by its ``start``) that it is about."""

    note: Note
    block: Block | None
    start: int
    problem: str = ""


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
                (place, f"a note begins with its path; found the text {line.strip()!r}")
            )
        elif not text:
            problems.append(
                (place, f"the note at {line.strip()!r} has no text; indent it below its path")
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


def placed(engine: Engine, gallery: Gallery) -> list[Placed]:
    """Where each note of a directive belongs; nothing is judged without a program."""
    if engine.mode == "skip":  # there are no equations, but the texts stay
        return [Placed(note, None, -1) for note in gallery.notes]
    if not gallery.notes:
        return []
    found = []
    by_name = {block.name: block for block in gallery.blocks}
    for note in gallery.notes:
        quote = Quote("note", note.path, "", note.source, note.line)
        verdict = engine.verdicts.of("", quote, gallery)
        if verdict.state == TRUE:
            found.append(Placed(note, by_name[verdict.block], verdict.start))
        else:  # of a block that could not be traced the author has been told already
            problem = f"note at {note.path!r}: {verdict.text}" if verdict.text else ""
            found.append(Placed(note, None, -1, problem))
    return found


def findings(engine: Engine, gallery: Gallery) -> list[Finding]:
    """Notes whose paths lead nowhere, or to more than one equation."""
    return [
        Finding("path", found.problem, found.note.source, found.note.line)
        for found in placed(engine, gallery)
        if found.problem
    ]


def as_list(
    items: list[tuple[Placed, jaxpr_note, str]], link: Callable[[Placed], nodes.Node]
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


def letters(engine: Engine, found: Placed) -> str:
    """How to name an equation on paper: the letters that it binds, or its primitive."""
    printed: Any = engine.printed(found.block) if found.block else None
    for equation in printed[0].walk() if printed else ():
        if equation.start == found.start:
            return " ".join(v.name for v in equation.outputs) or str(equation.primitive)
    return found.note.path
