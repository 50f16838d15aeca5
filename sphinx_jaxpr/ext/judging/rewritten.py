"""Pages to write again: those that show something else than when they were last written."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from sphinx.application import Sphinx

from ... import __version__
from ...tracing.files import Cache, digest
from ..records import DirectiveRecord, PrimitiveList
from .session import BuildSession


def page_digests(
    session: BuildSession,
    meanings: str,
    directives: Mapping[str, list[DirectiveRecord]],
    lists: Mapping[str, list[PrimitiveList]],
    statements: Mapping[str, str],
) -> dict[str, str]:
    """For each page a digest of all that its blocks, statements and lists show.

    ``meanings`` is the digest of what primitives mean, ``statements`` that of what a page
    shows of its statements.
    """
    pages = {}
    for docname, records in directives.items():
        parts = [session.mode, __version__, meanings]
        for directive in records:
            for block in directive.blocks:
                outcome = session.outcome(block)
                parts.append(outcome.seen.program if outcome else block.problem)
                if outcome and directive.with_source:
                    parts.append(outcome.seen.source)
        pages[docname] = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]
    blocks = [
        (docname, block.name, block.identity, block.shown)
        for docname, records in directives.items()
        for directive in records
        for block in directive.blocks
    ]
    project = digest([pages, blocks])
    for docname, statement in statements.items():
        pages[docname] = f"{pages.get(docname, '')} {statement}"
    for docname, page_lists in lists.items():
        if any(listing.scope == "project" for listing in page_lists):
            pages[docname] = f"{pages.get(docname, '')} {project}"
    return pages


class Written:
    """Digests of what pages show, kept in ``folder`` for each builder's output.

    The folder is one of the doctrees: what lies elsewhere may be older or newer than they are.
    ``now`` has what each page shows in this build, as any text.
    """

    def __init__(self, app: Sphinx, folder: Path, now: dict[str, str]) -> None:
        self.app = app
        self.shown = now
        self.now = {page: _digest(shown) for page, shown in now.items()}
        output = _digest(f"{app.builder.name}\n{app.outdir}")
        self.kept = Cache(folder)
        self.file = f"pages-{output}.txt"
        self.resolved: set[str] = set()  # pages that this build has made nodes of

    def before(self) -> dict[str, str]:
        """The digests as of the last finished build of this builder."""
        digests = self.kept.data(self.file)
        return digests if isinstance(digests, dict) else {}

    def outdated(self) -> list[str]:
        """Pages that show something else than when they were last written."""
        # What can't be replaced may be of any build.
        before = self.before() if os.access(self.kept.folder, os.W_OK) else {}
        pages = {*self.now, *before} & self.app.env.found_docs
        return sorted(page for page in pages if before.get(page) != self.now.get(page))

    def keep(self) -> None:
        """Remember the digests of a finished build, which may have left pages out."""
        before = self.before()
        digests = {
            page: kept
            for page in {*self.now, *before} & self.app.env.found_docs
            if (kept := (self.now if page in self.resolved else before).get(page))
        }
        if digests != before and not self.kept.keep(self.file, digests):
            with contextlib.suppress(OSError):  # rather all pages again than too few
                (self.kept.folder / self.file).unlink()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
