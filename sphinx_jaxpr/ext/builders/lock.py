"""The builders ``jaxpr-lock`` and ``jaxpr-record``: what is traced, as files.

Both trace all blocks that some builder shows.  ``jaxpr-lock`` is the only one that
writes into the source folder, and does it only where nothing at all is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from sphinx.util import logging

from ...program.text import on_one_line
from ..records import Block, DirectiveRecord
from .pageless import PagelessBuilder

if TYPE_CHECKING:
    from ..judging.domain import JaxprDomain
    from ..judging.session import BuildSession

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
    def only(self) -> tuple[str, ...]:
        """The names of the blocks to make; empty: all."""
        return self.settings.lock_only

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
        from .lock_changes import plan  # with all that compares programs

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
        location = self.settings.location("jaxpr_lock_")
        logger.warning("%s", on_one_line(message), location=location, type="jaxpr", subtype="lock")
        self.session.app.statuscode = 1
