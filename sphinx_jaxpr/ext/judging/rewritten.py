"""Digests of what pages show: a page whose digest changes is written again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from ... import __version__
from ...tracing.files import digest
from ..records import Block, DirectiveRecord, PrimitiveList
from .session import BuildSession


def page_digests(
    session: BuildSession,
    meanings: str,
    directives: Mapping[str, list[DirectiveRecord]],
    lists: Mapping[str, list[PrimitiveList]],
    statements: Mapping[str, str],
) -> dict[str, str]:
    """A digest, for each page, of everything that its blocks, statements and lists show.

    ``meanings`` is the digest of what primitives mean, ``statements`` that of what a page
    shows of its statements.  ``directives`` are those of
    :attr:`~sphinx_jaxpr.ext.judging.names.appearances.Appearances.pages`.
    """
    pages = {}
    for docname, records in directives.items():
        parts = [session.mode, __version__, meanings]
        for directive in records:
            if directive.focus:  # declared on a page that may be another one
                parts.append(digest([directive.raises, [_declared(b) for b in directive.blocks]]))
            for block in directive.blocks:
                outcome = session.outcome(block)
                parts.append(block.identity)
                parts.append(outcome.seen.program if outcome else block.problem)
                if outcome and directive.with_source:
                    parts.append(outcome.seen.source)
            parts += (f"{span.source}:{span.line}" for span in directive.code)
        pages[docname] = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]
    blocks = [
        (docname, block.name, block.identity, block.is_shown)
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


def _declared(block: Block) -> list[object]:
    """What a figure shows of its block beside the program; ids and places are no part of it."""
    return [block.name, block.label, block.digest, block.problem, block.locked]
