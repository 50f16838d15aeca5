"""The equations that the paths of a directive name: of its notes and of ``elide``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...program.text import clipped
from ..records import TRUE, UNJUDGED, Block, DirectiveRecord, Finding, Note, Statement
from ..values import Mode
from .verdicts import VerdictCache


class PathTarget(NamedTuple):
    """A path with the block and the equations (by their ``start``) that it resolves to."""

    note: Note
    block: Block | None
    starts: tuple[int, ...]
    problem: str = ""

    @property
    def start(self) -> int:
        """The equation of a path to exactly one, else -1."""
        return self.starts[0] if self.starts else -1


class PathTargets:
    """Resolves the paths of directives.

    ``elide`` are the words that conf.py folds away; in mode ``skip`` nothing is traced, so
    no path resolves.
    """

    def __init__(self, verdicts: VerdictCache, mode: Mode, elide: frozenset[str]) -> None:
        self.verdicts = verdicts
        self.is_skipped = mode == "skip"
        self.elide = elide

    def notes(self, directive: DirectiveRecord) -> list[PathTarget]:
        """The equation of each note."""
        return self._resolve(directive, directive.notes, "note", "note at")

    def elided(self, directive: DirectiveRecord) -> list[PathTarget]:
        """The equations of each path of the option ``elide``."""
        return self._resolve(directive, directive.elided, "elide", "elide: at")

    def elided_words(self, directive: DirectiveRecord) -> frozenset[str]:
        """The words of ``elide`` that hold for a directive: its own, or the project's."""
        if directive.elide or directive.elided:
            return frozenset(directive.elide)
        return self.elide

    def lost(self, directive: DirectiveRecord) -> list[Finding]:
        """Findings about paths that resolve to nothing, or to too many equations."""
        targets = [*self.notes(directive), *self.elided(directive)]
        return [
            Finding("path", target.problem, target.note.source, target.note.line)
            for target in targets
            if target.problem
        ]

    def _resolve(
        self, directive: DirectiveRecord, paths: Iterable[Note], kind: str, prefix: str
    ) -> list[PathTarget]:
        if self.is_skipped:
            return [PathTarget(path, None, ()) for path in paths]
        blocks = {block.name: block for block in directive.blocks}
        targets = []
        for path in paths:
            statement = Statement(kind, path.path, "", path.source, path.line)
            verdict = self.verdicts.of_path(directive, statement)
            if verdict.state == TRUE:
                targets.append(PathTarget(path, blocks[verdict.block], verdict.starts))
                continue
            problem = ""
            if verdict.state != UNJUDGED:  # what it waits for is a finding already
                problem = f"{prefix} {clipped(path.path, 100)!r}: {verdict.text}"
            targets.append(PathTarget(path, None, (), problem))
        return targets
