"""Notes at equations: the body of ``jaxpr-transform``.

A note is a line that is a path, then an indented text in the page's own markup.
It is shown as a numbered marker at the equation and as text under the block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from docutils import nodes

from .nodes import jaxpr_note
from .records import Block, Finding, Gallery, Note

if TYPE_CHECKING:
    from ..program.scope import Scope
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
    from ..program.evaluate import resolve_equation
    from ..program.paths import PathError

    scope = _scope(engine, gallery)
    by_name = {block.name: block for block in gallery.blocks}
    failed = {block.name for block in gallery.blocks if engine.result(block) is None}
    found = []
    for note in gallery.notes:
        try:
            equation = resolve_equation(note.path, scope, inside=gallery.name)
            block = by_name[equation.block.name]
            found.append(Placed(note, block, equation.equation.start))
        except PathError as error:
            # Of a block that could not be traced the author has been told already.
            told = _named(note.path, gallery) in failed
            problem = "" if told else f"note at {note.path!r}: {error}"
            found.append(Placed(note, None, -1, problem))
    return found


def _named(path: str, gallery: Gallery) -> str:
    """The block at which a path begins: the base, or the variant of that label."""
    label = re.match(r"[^\W\d]\w*", path)
    variants = {block.label: block.name for block in gallery.blocks if block.label}
    return variants.get(label[0], gallery.name) if label else gallery.name


def findings(engine: Engine, gallery: Gallery) -> list[Finding]:
    """Notes whose paths lead nowhere, or to more than one equation."""
    return [
        Finding("path", found.problem, found.note.source, found.note.line)
        for found in placed(engine, gallery)
        if found.problem
    ]


def _scope(engine: Engine, gallery: Gallery) -> Scope:
    from ..program import blocks as program
    from ..program.scope import Scope

    known: dict[str, program.Block] = {}
    base: program.Block | None = None
    versions: dict[str, str] = {}
    for block in gallery.blocks:
        result, printed = engine.result(block), engine.printed(block)
        if result is not None and "error" in result:  # an expected one
            said = (result["error"]["type"], result["error"]["message"].partition("\n")[0])
            known[block.name] = program.Block(block.name, None, error=said)
        if result is None or printed is None or printed[0].program is None:
            continue
        names = tuple(name for name, _ in result.get("args", []))
        fits = len(names) == len(printed[0].program.inputs)
        made = program.Block(
            block.name,
            printed[0],
            result["facts"],
            names if fits else (),
            base if block.label else None,
        )
        base = base or made
        known[block.name] = made
        versions = {"jax": result["jax"]}
    return Scope(known, versions, frozenset(n for b in known.values() for n in b.primitives))


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
