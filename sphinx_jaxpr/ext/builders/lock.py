"""The builders ``jaxpr-lock`` and ``jaxpr-record``: they write traced programs to files.

Both trace every block that some builder shows.  Only ``jaxpr-lock`` writes into the source
folder, and only if nothing is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from sphinx.util import logging

from ...program.text import on_one_line
from ...tracing.lock import LockFolder
from ...tracing.result import Result
from ..judging.session import TracePolicy
from ..records import Block, DirectiveRecord, Finding
from .pageless import PagelessBuilder

if TYPE_CHECKING:
    from ..judging.domain import JaxprDomain

logger = logging.getLogger(__name__)

#: Types of findings that prevent writing a lock.
REFUSED: Final = frozenset({"trace", "timeout", "raises", "option", "lock"})


class _Recording(PagelessBuilder):
    """The common part: the blocks to record."""

    @property
    def domain(self) -> JaxprDomain:
        return cast("JaxprDomain", self.env.get_domain("jaxpr"))

    def blocks(self) -> Iterator[tuple[DirectiveRecord, Block]]:
        for page in self.directives(self.domain).values():
            for directive in page:
                for block in directive.blocks:
                    yield directive, block


class JaxprRecord(_Recording):
    """Writes the result of every block, a failure too, into the output folder."""

    name = "jaxpr-record"
    epilog = "The recordings are in %(outdir)s."
    needs_programs = False  # it traces whatever jaxpr_mode says

    def finish(self) -> None:
        """Write a file for each block, and remove those of blocks that are gone."""
        from ...tracing import lock
        from ...tracing.files import write_changed

        assert self.judged is not None
        session, out = self.judged.session, Path(self.outdir)
        written = set()
        for directive, block in self.blocks():
            outcome = session.outcome(block)
            if block.request is None or outcome is None or session.from_lock(block):
                continue
            traced = session.traced(directive, block)
            result = session.recorded(directive, block) or Result(error=traced.failure)
            recorded = lock.LockFile.of(block.name, block.request, result, {})
            write_changed(out / block.lock, recorded.text())
            written.add(block.lock)
        for file in set(lock.stored(out)) - written:
            if lock.load(out / file) is not None:
                (out / file).unlink()


class JaxprLock(_Recording):
    """Traces everything again, rewrites the lock, and prints the changes that it accepts."""

    name = "jaxpr-lock"
    epilog = ""

    @property
    def policy(self) -> TracePolicy:
        """Trace everything again, except locked blocks that :meth:`traces` leaves out."""
        return TracePolicy(records=True, fresh=True, judges_afresh=True, forces=self.traces)

    @property
    def only(self) -> tuple[str, ...]:
        """The names of the blocks to update; empty for all."""
        return self.settings.lock_only

    def is_named(self, block: Block) -> bool:
        """Whether ``jaxpr_lock_only`` has a block, or its directive."""
        name = block.full_name
        return name in self.only or name.removesuffix(f".{block.label}") in self.only

    def directives(self, domain: JaxprDomain) -> dict[str, list[DirectiveRecord]]:
        return {
            docname: [d for d in page if not self.only or any(map(self.is_named, d.blocks))]
            for docname, page in super().directives(domain).items()
        }

    def traces(self, block: Block, locks: LockFolder) -> bool:
        """Whether a locked block is traced: if it is named, or missing in the lock."""
        if block.request is None:
            return False
        return self.is_named(block) or bool(locks.look(block.lock, block.request, block.digest)[1])

    def finish(self) -> None:
        """Write the lock and print the accepted changes, or say why nothing is written."""
        from .lock_changes import plan  # it loads everything that compares programs

        if self.judged is None:
            return
        problem = self.problem(self.judged.findings)
        if problem:
            self.leave(f"the lock is as it was: {problem}")
            return
        changes = plan(self.judged.session, self.chosen(), self.expected())
        for line in changes.lines():
            logger.info("%s", on_one_line(line))
        problem = changes.write()
        if problem:
            self.leave(problem)

    def chosen(self) -> list[tuple[DirectiveRecord, Block]]:
        """The blocks to update."""
        return [pair for pair in self.blocks() if not self.only or self.is_named(pair[1])]

    def expected(self) -> set[str] | None:
        """Files of blocks that tags hide; ``None`` if no file counts as an orphan."""
        if self.only:
            return None
        visible = {block.lock for _, block in self.blocks()}
        declared = {b.lock for _, directive in self.domain.ordered() for b in directive.blocks}
        return declared - visible

    def problem(self, findings: list[Finding]) -> str:
        """Why nothing is written, or ``""``."""
        pages = super().directives(self.domain).values()
        blocks = [block for page in pages for directive in page for block in directive.blocks]
        names = {b.full_name for b in blocks}
        names |= {b.full_name.removesuffix(f".{b.label}") for b in blocks}
        unknown = [name for name in self.only if name not in names]
        if unknown:
            from ...tracing.grammar import nearest, shorten

            near = nearest(unknown[0], names)
            return f"jaxpr_lock_only: no block is named {shorten(unknown[0])}{near}"
        count = sum(finding.kind in REFUSED for finding in findings)
        if count:
            return f"{count} finding{'s' * (count != 1)} above"
        return ""

    def leave(self, message: str) -> None:
        """Report that the lock could not be written."""
        location = self.settings.location("jaxpr_lock_")
        logger.warning("%s", on_one_line(message), location=location, type="jaxpr", subtype="lock")
        self.fail()
