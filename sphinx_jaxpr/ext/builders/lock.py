"""What ``jaxpr-lock`` does to the files of the lock, and how it says so."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from sphinx.util import logging

from ...program.drift.compare import Drift, compare, counted, table
from ...program.drift.levels import Level
from ...program.text import on_one_line
from ...tracing import lock
from ...tracing.files import remove_temporary, write_atomically
from .. import config as settings
from ..records import Block, DirectiveRecord
from .pageless import PagelessBuilder

if TYPE_CHECKING:
    from ...tracing.lock import LockFolder
    from ..judging.domain import JaxprDomain
    from ..judging.session import BuildSession


# --- what ``jaxpr-lock`` does to the files of the lock, and how it says so

NEW: Final = "new"
CHANGED: Final = "changed"
UNCHANGED: Final = "unchanged"
KEPT: Final = "kept"


@dataclass(frozen=True)
class LockChange:
    """One block: its name (with the page, where it holds for that alone), its file, old and new."""

    block: str
    file: str
    state: str
    old: dict[str, Any] | None = None
    new: dict[str, Any] = field(default_factory=dict)

    @property
    def drift(self) -> Drift:
        """How the program differs from that in the lock."""
        if self.old is None:
            return Drift(Level.SAME)
        return compare(lock.decoded(self.old), lock.decoded(self.new))

    def lines(self) -> Iterator[str]:
        """What is accepted with it."""
        if self.state == NEW:
            yield f"{self.block}: new"
        elif self.state == CHANGED and self.old is None:
            yield f"{self.block}: made anew, the file was damaged"
        elif self.state == CHANGED and self.old is not None:
            drift = self.drift
            versions = [data["versions"]["jax"] for data in (self.old, self.new)]
            jax = f" (JAX {' -> '.join(dict.fromkeys(versions))})"
            if drift.level is Level.SAME:
                yield f"{self.block}: {', '.join(self.parts())}{jax}"
            else:
                yield f"{self.block}: {drift.level.words}{jax}"
                yield from (f"  {line}" for line in table(drift))

    def parts(self) -> list[str]:
        """What else than the program is another one."""
        old, new = self.old or {}, self.new
        names = [k for k in dict.fromkeys([*old, *new]) if old.get(k) != new.get(k)]
        return ["lines of the source" if name == "facts" else name for name in names]


@dataclass(frozen=True)
class Plan:
    """All that is to be done."""

    locks: LockFolder
    changes: list[LockChange]
    orphans: list[str]
    strange: list[str]

    def lines(self) -> Iterator[str]:
        """The report."""
        for change in self.changes:
            yield from change.lines()
        for file in self.orphans:
            yield f"{self.locks.shown}/{file}: removed, no block asks for it"
        for file in self.strange:
            yield f"{self.locks.shown}/{file}: left, it is no lock file and no block asks for it"
        states = Counter(change.state for change in self.changes)
        said = [f"{states[s]} {s}" for s in (NEW, CHANGED, UNCHANGED, KEPT) if states[s]]
        if self.orphans:
            said.append(f"{len(self.orphans)} removed")
        drifts = [c.drift for c in self.changes if c.state == CHANGED]
        levels = f"; changes: {counted(drifts)}" if drifts else ""
        yield f"lock in {self.locks.shown}: {', '.join(said) or 'no blocks'}{levels}"

    def write(self) -> str:
        """Do it; what went wrong, or ``""``."""
        for folder, _, _ in os.walk(self.locks.folder):
            remove_temporary(Path(folder), time.time())
        done = 0
        file = ""
        try:
            for change in self.changes:
                if change.state in (NEW, CHANGED):
                    file = change.file
                    write_atomically(self.locks.folder / file, lock.dumped(change.new))
                    done += 1
            for file in self.orphans:
                path = self.locks.folder / file
                path.unlink()
                with contextlib.suppress(OSError):  # others are in there
                    for parent in path.relative_to(self.locks.folder).parents[:-1]:
                        (self.locks.folder / parent).rmdir()
        except OSError as error:
            reason = error.strerror or str(error)
            return f"{self.locks.shown}/{file} can't be written: {reason} ({done} were before it)"
        return ""


def plan(session: BuildSession, blocks: Iterable[Block], hidden: set[str] | None) -> Plan:
    """Compare what was traced with what is there.

    ``hidden`` are files of blocks that this build does not show; with ``None`` no
    file is an orphan.
    """
    locks = session.locks
    installed = session.store.installed
    versions = {"jaxlib": installed.version("jaxlib"), "python": installed.python_version}
    changes: dict[str, LockChange] = {}
    for block in blocks:
        if block.lock in changes:  # one docstring on two pages
            continue
        if session.from_lock(block):
            changes[block.lock] = LockChange(block.full_name, block.lock, KEPT)
            continue
        result = session.result(block)
        if result is None or block.request is None:  # a base that only its variants need
            continue
        new = lock.encoded(block.name, block.request, result, versions)
        old = locks.data(block.lock)
        there = lock.signature(locks.folder / block.lock) is not None
        state = UNCHANGED if lock.unchanged(old, new) else CHANGED if there else NEW
        changes[block.lock] = LockChange(block.full_name, block.lock, state, old, new)
    known = {*changes, *(hidden or ())}
    others = [] if hidden is None else [f for f in lock.stored(locks.folder) if f not in known]
    strange = [file for file in others if locks.data(file) is None]
    orphans = [file for file in others if file not in strange]
    return Plan(locks, list(changes.values()), orphans, strange)


# --- the builders ``jaxpr-lock`` and ``jaxpr-record``: what is traced, as files

logger = logging.getLogger(__name__)

#: Findings with which no lock is written.
REFUSED: Final = frozenset({"trace", "timeout", "raises", "option", "lock"})


class _Recording(PagelessBuilder):
    """What both have in common: all blocks at the end."""

    @property
    def domain(self) -> JaxprDomain:
        return cast("JaxprDomain", self.env.get_domain("jaxpr"))

    @property
    def session(self) -> BuildSession:
        session = self.domain.session
        assert session is not None
        return session

    def blocks(self) -> Iterator[tuple[DirectiveRecord, Block]]:
        for page in self.directives(self.domain).values():
            for directive in page:
                for block in directive.blocks:
                    yield directive, block


class JaxprRecord(_Recording):
    """Writes the result of every block, a failure too, into the output folder."""

    name = "jaxpr-record"
    epilog = "The recordings are in %(outdir)s."
    needs_programs = False  # it traces whatever the pages do

    def finish(self) -> None:
        from ...tracing import lock
        from ...tracing.files import write_changed

        out = Path(self.outdir)
        written = set()
        for _, block in self.blocks():
            outcome = self.session.outcome(block)
            if block.request is None or outcome is None or self.session.from_lock(block):
                continue
            result = self.session.result(block)
            if result is None:
                result = {"error": outcome.error}
            data = lock.encoded(block.name, block.request, result, {})
            write_changed(out / block.lock, lock.dumped(data))
            written.add(block.lock)
        for file in set(lock.stored(out)) - written:  # of blocks that are gone
            if lock.load(out / file) is not None:
                (out / file).unlink()


class JaxprLock(_Recording):
    """Traces afresh and rewrites the lock, saying what is accepted with it."""

    name = "jaxpr-lock"
    epilog = ""
    fresh = True

    @property
    def only(self) -> list[str]:
        """The names of the blocks to make; empty: all."""
        return list(settings.value(self.config, "jaxpr_lock_only"))

    def is_named(self, block: Block) -> bool:
        """Whether ``jaxpr_lock_only`` has a block, or its directive."""
        name = block.full_name
        return name in self.only or name.removesuffix(f".{block.label}") in self.only

    def directives(self, domain: JaxprDomain) -> dict[str, list[DirectiveRecord]]:
        found = super().directives(domain)
        return {
            docname: [g for g in page if not self.only or any(map(self.is_named, g.blocks))]
            for docname, page in found.items()
        }

    def traces(self, session: BuildSession, block: Block) -> bool:
        """A locked block is traced where it is named, or has nothing to be taken from."""
        if block.request is None:
            return False
        return bool(
            self.is_named(block) or session.locks.look(block.lock, block.request, block.digest)[1]
        )

    def finish(self) -> None:
        if self.is_refused:
            return
        problem = self.problem()
        if problem:
            self.leave(f"the lock is as it was: {problem}")
            return
        found = plan(self.session, self.chosen(), self.expected())
        for line in found.lines():
            logger.info("%s", on_one_line(line))
        problem = found.write()
        if problem:
            self.leave(problem)

    def chosen(self) -> list[Block]:
        """The blocks to make."""
        return [block for _, block in self.blocks() if not self.only or self.is_named(block)]

    def expected(self) -> set[str] | None:
        """Files of blocks that tags hide; ``None`` where nothing is an orphan."""
        if self.only:
            return None
        shown = {block.lock for _, block in self.blocks()}
        everything = {b.lock for _, directive in self.domain.ordered() for b in directive.blocks}
        return everything - shown

    def problem(self) -> str:
        """Why nothing is written, or ``""``."""
        pages = super().directives(self.domain).values()
        blocks = [block for page in pages for directive in page for block in directive.blocks]
        known = {b.full_name for b in blocks}
        known |= {b.full_name.removesuffix(f".{b.label}") for b in blocks}
        unknown = [name for name in self.only if name not in known]
        if unknown:
            from ...tracing.grammar import nearest, shorten

            near = nearest(unknown[0], known)
            return f"jaxpr_lock_only: no block is named {shorten(unknown[0])}{near}"
        count = sum(finding.kind in REFUSED for finding in self.session.findings)
        if count:
            return f"{count} finding{'s' * (count != 1)} above"
        return ""

    def leave(self, message: str) -> None:
        """Say that the lock could not be made."""
        place = settings.place_of("jaxpr_lock_", Path(self.confdir))
        logger.warning("%s", on_one_line(message), location=place, type="jaxpr", subtype="lock")
        self.session.app.statuscode = 1
