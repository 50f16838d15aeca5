"""Notes at equations: the body of ``jaxpr-transform``.

A note is a line with a path, then an indented text in the page's markup.  Readers see a
numbered marker at the equation and the text under the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import dedent

from docutils import nodes

from ...program.text import shorten
from ..nodes import jaxpr_note


def split(content: Sequence[str]) -> tuple[list[tuple[int, str, str]], list[tuple[int, str]]]:
    """The notes of a body as (line, path, text), and its problems as (line, message).

    Lines count from 0, the first line of the body.  A text begins on the line after its path.
    """
    notes: list[tuple[int, str, str]] = []
    problems: list[tuple[int, str]] = []
    start = 0
    while start < len(content):
        line = content[start]
        if not line.strip():
            start += 1
            continue
        end = start + 1
        while end < len(content) and (not content[end].strip() or content[end][:1].isspace()):
            end += 1
        text = dedent("\n".join(content[start + 1 : end])).rstrip()
        if line[:1].isspace():
            problems.append(
                (start, f"a note begins with its path; found the text {shorten(line.strip())}")
            )
        elif not text:
            problems.append(
                (
                    start,
                    f"the note at {shorten(line.strip())} has no text; indent it below its path",
                )
            )
        else:
            notes.append((start, line.strip(), text))
        start = end
    return notes, problems


def node_of(path: str, children: list[nodes.Node]) -> jaxpr_note:
    """The node of a note; its children are its text."""
    node = jaxpr_note(path=path)
    node += children
    return node
