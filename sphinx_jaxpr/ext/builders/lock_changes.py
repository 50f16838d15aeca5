"""The lock against what this build traced: the findings of ``jaxpr-check``, and ``jaxpr-lock``.

Importing it loads everything that compares programs, which no other build needs.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...block import TracedBlock
from ...program.drift.compare import Drift, compare, counted, table
from ...program.drift.levels import Level
from ...tracing import lock
from ...tracing.files import remove_temporary, write_atomically
from ...tracing.lock import LockFile
from ..records import Block, DirectiveRecord, Finding

if TYPE_CHECKING:
    from ...tracing.lock import LockFolder
    from ..judging.session import BuildSession

#: Differences that one finding names.
NAMED: Final = 3
_MAKE: Final = "`sphinx-build -b jaxpr-lock`"


@dataclass
class LockComparison:
    """How blocks differ from the lock.

    ``drifts`` has the drift of each block that has a file, by the block's name, with the
    page before it where the name holds for that alone.
    """

    findings: list[Finding] = field(default_factory=list)
    drifts: dict[str, Drift] = field(default_factory=dict)


def compare_with_lock(
    session: BuildSession,
    directives: Mapping[str, Iterable[DirectiveRecord]],
    declared: Mapping[str, Iterable[DirectiveRecord]],
) -> LockComparison:
    """Compare the results of ``directives`` with the lock, where the project has one.

    ``declared`` are all directives of the project, those too that this build hides:
    a file that none of them asks for is an orphan.
    """
    comparison = LockComparison()
    if not session.locks.exists:
        return comparison
    seen: set[str] = set()
    for page in directives.values():
        for directive in page:
            for block in directive.blocks:
                if block.lock not in seen and not session.from_lock(block):
                    seen.add(block.lock)
                    _compare_block(session, directive, block, comparison)
    asked = {b.lock for page in declared.values() for d in page for b in d.blocks}
    for file in lock.stored(session.locks.folder):
        if file not in asked:
            damaged = session.locks.data(file) is None
            more = "it is not a complete lock file either" if damaged else f"{_MAKE} removes it"
            message = f"no block asks for it; {more}"
            path = str(Path(session.locks.folder) / file)
            comparison.findings.append(Finding("lock", message, path, 1))
    return comparison


def _compare_block(
    session: BuildSession, directive: DirectiveRecord, block: Block, comparison: LockComparison
) -> None:
    """Compare one block; one that could not be traced is a finding already."""
    traced = session.traced(directive, block)
    if traced.result is None or block.request is None:
        return
    problem = session.locks.problem(block.lock, block.request)
    data = session.locks.data(block.lock)
    if problem or data is None:
        message = f"{block.name}: {problem}"
        comparison.findings.append(Finding("lock", message, directive.source, block.line))
        return
    locked = recorded(block.name, data)
    drift = compare(locked, traced)
    comparison.drifts[block.full_name] = drift
    if drift.level is Level.PROGRAM:
        message = f"{block.name}: {_words(block, drift, locked, traced)}"
        comparison.findings.append(Finding("drift", message, directive.source, block.line))


def recorded(name: str, file: LockFile) -> TracedBlock:
    """The block in a file of the lock."""
    return TracedBlock(name, result=file.result)


def _words(block: Block, drift: Drift, locked: TracedBlock, traced: TracedBlock) -> str:
    assert locked.result is not None and traced.result is not None
    then, now = locked.result.jax, traced.result.jax
    versions = f"JAX {then} there, {now} here" if then != now else f"JAX {now} in both"
    named = "; ".join(difference.words(block.name) for difference in drift.highest[:NAMED])
    more = len(drift.highest) - NAMED
    rest = f"; and {more} more" if more > 0 else ""
    return f"differs from the program in the lock ({versions}): {named}{rest}; {_MAKE} accepts it"


# --- what ``jaxpr-lock`` does to the files, and its report

NEW: Final = "new"
CHANGED: Final = "changed"
UNCHANGED: Final = "unchanged"
KEPT: Final = "kept"


@dataclass(frozen=True)
class LockChange:
    """One block: its name (with the page, if it holds for that alone), its file, old and new."""

    block: str
    file: str
    state: str
    old: LockFile | None = None
    new: LockFile | None = None

    @property
    def drift(self) -> Drift:
        """How the program differs from the one in the lock."""
        if self.old is None or self.new is None:
            return Drift(Level.SAME)
        return compare(recorded(self.block, self.old), recorded(self.block, self.new))

    def lines(self) -> Iterator[str]:
        """The changes that the new file accepts."""
        if self.state == NEW:
            yield f"{self.block}: new"
        elif self.state == CHANGED and self.old is None:
            yield f"{self.block}: recreated, the file was damaged"
        elif self.state == CHANGED and self.old is not None and self.new is not None:
            drift = self.drift
            versions = [file.versions["jax"] for file in (self.old, self.new)]
            jax = f" (JAX {' -> '.join(dict.fromkeys(versions))})"
            if drift.level is Level.SAME:
                yield f"{self.block}: {', '.join(self.parts())}{jax}"
            else:
                yield f"{self.block}: {drift.level.words}{jax}"
                yield from (f"  {line}" for line in table(drift))

    def parts(self) -> list[str]:
        """What differs beside the program."""
        names = self.old.differing_parts(self.new) if self.old and self.new else []
        return ["lines of the source" if name == "facts" else name for name in names]


@dataclass(frozen=True)
class Plan:
    """Everything that ``jaxpr-lock`` is about to do."""

    locks: LockFolder
    changes: list[LockChange]
    orphans: list[str]
    strange: list[str]

    def lines(self) -> Iterator[str]:
        """The report."""
        for change in self.changes:
            yield from change.lines()
        for file in self.orphans:
            yield f"{self.locks.display_name}/{file}: removed, no block asks for it"
        for file in self.strange:
            reason = "it is not a lock file and no block asks for it"
            yield f"{self.locks.display_name}/{file}: left alone, {reason}"
        states = Counter(change.state for change in self.changes)
        counts = [f"{states[s]} {s}" for s in (NEW, CHANGED, UNCHANGED, KEPT) if states[s]]
        if self.orphans:
            counts.append(f"{len(self.orphans)} removed")
        drifts = [c.drift for c in self.changes if c.state == CHANGED]
        levels = f"; changes: {counted(drifts)}" if drifts else ""
        yield f"lock in {self.locks.display_name}: {', '.join(counts) or 'no blocks'}{levels}"

    def write(self) -> str:
        """Write and remove the files; what went wrong, or ``""``."""
        for folder, _, _ in os.walk(self.locks.folder):
            remove_temporary(Path(folder), time.time())
        done = 0
        file = ""
        try:
            for change in self.changes:
                if change.state in (NEW, CHANGED) and change.new is not None:
                    file = change.file
                    write_atomically(self.locks.folder / file, change.new.text())
                    done += 1
            for file in self.orphans:
                path = self.locks.folder / file
                path.unlink()
                with contextlib.suppress(OSError):  # it holds other files
                    for parent in path.relative_to(self.locks.folder).parents[:-1]:
                        (self.locks.folder / parent).rmdir()
        except OSError as error:
            reason = error.strerror or str(error)
            path_name = f"{self.locks.display_name}/{file}"
            return f"{path_name} can't be written: {reason} ({done} were before it)"
        return ""


def plan(
    session: BuildSession,
    blocks: Iterable[tuple[DirectiveRecord, Block]],
    hidden: set[str] | None,
) -> Plan:
    """Compare what was traced with what is there.

    ``hidden`` are files of blocks that this build does not show; with ``None`` no
    file is an orphan.
    """
    locks = session.locks
    installed = session.store.installed
    versions = {"jaxlib": installed.version("jaxlib"), "python": installed.python_version}
    changes: dict[str, LockChange] = {}
    for directive, block in blocks:
        if block.lock in changes:  # one docstring on two pages
            continue
        if session.from_lock(block):
            changes[block.lock] = LockChange(block.full_name, block.lock, KEPT)
            continue
        result = session.recorded(directive, block)
        if result is None or block.request is None:  # a base that only its variants need
            continue
        new = LockFile.of(block.name, block.request, result, versions)
        old = locks.data(block.lock)
        there = lock.signature(locks.folder / block.lock) is not None
        same = old is not None and old.is_unchanged(new)
        state = UNCHANGED if same else CHANGED if there else NEW
        changes[block.lock] = LockChange(block.full_name, block.lock, state, old, new)
    asked = {*changes, *(hidden or ())}
    others = [] if hidden is None else [f for f in lock.stored(locks.folder) if f not in asked]
    strange = [file for file in others if locks.data(file) is None]
    orphans = [file for file in others if file not in strange]
    return Plan(locks, list(changes.values()), orphans, strange)
