"""Where the paths of a directive lead: those of its notes, and of what is folded away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...program.text import clipped
from ..records import TRUE, Block, DirectiveRecord, Finding, Note, Statement

if TYPE_CHECKING:
    from .session import BuildSession


@dataclass(frozen=True)
class PathTarget:
    """A path with the block and the equations (by their ``start``) that it leads to."""

    note: Note
    block: Block | None
    starts: tuple[int, ...]
    problem: str = ""

    @property
    def start(self) -> int:
        """The equation of a path to exactly one, else -1."""
        return self.starts[0] if self.starts else -1


def pointed(
    session: BuildSession, directive: DirectiveRecord, paths: Iterable[Note], what: str, said: str
) -> list[PathTarget]:
    """Where each of ``paths`` leads inside of ``directive``; nowhere where nothing is traced.

    ``what`` is the kind of quote, ``said`` how a problem begins.
    """
    if session.mode == "skip":
        return [PathTarget(path, None, ()) for path in paths]
    blocks = {block.name: block for block in directive.blocks}
    found = []
    for path in paths:
        statement = Statement(what, path.path, "", path.source, path.line)
        verdict = session.verdicts.of("", statement, directive)
        if verdict.state == TRUE:
            found.append(PathTarget(path, blocks[verdict.block], verdict.starts))
        else:  # of a block that could not be traced the author has been told already
            problem = f"{said} {clipped(path.path, 100)!r}: {verdict.text}" if verdict.text else ""
            found.append(PathTarget(path, None, (), problem))
    return found


def findings(found: Iterable[PathTarget]) -> list[Finding]:
    """What to tell of paths that lead nowhere, or to more than they may."""
    return [
        Finding("path", one.problem, one.note.source, one.note.line) for one in found if one.problem
    ]


def note_targets(session: BuildSession, directive: DirectiveRecord) -> list[PathTarget]:
    """Where each note of a directive belongs."""
    return pointed(session, directive, directive.notes, "note", "note at")


def elided_targets(session: BuildSession, directive: DirectiveRecord) -> list[PathTarget]:
    """Where each path of the option leads."""
    return pointed(session, directive, directive.elided, "elide", "elide: at")


def elided_words(session: BuildSession, directive: DirectiveRecord) -> frozenset[str]:
    """The words that hold for a directive: its own, or those of the project."""
    if directive.elide or directive.elided:
        return frozenset(directive.elide)
    return session.settings.elide
