"""Where the paths of a directive lead: those of its notes, and of what is folded away."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..program.quoted import clipped
from .records import TRUE, Block, Finding, Gallery, Note, Quote

if TYPE_CHECKING:
    from .engine import Engine


@dataclass(frozen=True)
class Pointed:
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
    engine: Engine, gallery: Gallery, paths: Iterable[Note], what: str, said: str
) -> list[Pointed]:
    """Where each of ``paths`` leads inside of ``gallery``; nowhere where nothing is traced.

    ``what`` is the kind of quote, ``said`` how a problem begins.
    """
    if engine.mode == "skip":
        return [Pointed(path, None, ()) for path in paths]
    blocks = {block.name: block for block in gallery.blocks}
    found = []
    for path in paths:
        quote = Quote(what, path.path, "", path.source, path.line)
        verdict = engine.verdicts.of("", quote, gallery)
        if verdict.state == TRUE:
            found.append(Pointed(path, blocks[verdict.block], verdict.starts))
        else:  # of a block that could not be traced the author has been told already
            problem = f"{said} {clipped(path.path, 100)!r}: {verdict.text}" if verdict.text else ""
            found.append(Pointed(path, None, (), problem))
    return found


def findings(found: Iterable[Pointed]) -> list[Finding]:
    """What to tell of paths that lead nowhere, or to more than they may."""
    return [
        Finding("path", one.problem, one.note.source, one.note.line) for one in found if one.problem
    ]
