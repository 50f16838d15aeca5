"""Notes at equations: the body of ``jaxpr-transform``.

A note is a line that is a path, then an indented text in the page's own markup.
It is shown as a numbered marker at the equation and as text under the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent

from docutils import nodes

from ...tracing.grammar import shorten
from ..nodes import jaxpr_note


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
