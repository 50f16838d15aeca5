"""The domain's index: every primitive of the project, and the blocks that meet it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sphinx.domains import Index, IndexEntry

from ..records import Block, DirectiveRecord

if TYPE_CHECKING:
    from ..judging.session import BuildSession

#: The letter of names that begin with none.
_OTHER = "Symbols"


def met(
    session: BuildSession, pages: dict[str, list[DirectiveRecord]]
) -> dict[str, list[tuple[str, Block]]]:
    """For each primitive, in order, the shown blocks with their pages that meet it.

    Known without reading a result.
    """
    found: dict[str, list[tuple[str, Block]]] = {}
    for docname, directives in pages.items():
        for block in (b for directive in directives for b in directive.blocks if b.shown):
            outcome = session.outcome(block)
            # A primitive may be called anything, also nothing.
            for name in filter(str.strip, outcome.seen.names if outcome else ()):
                found.setdefault(name, []).append((docname, block))
    return dict(sorted(found.items(), key=lambda item: (item[0].lower(), item[0])))


class PrimitiveIndex(Index):
    """``jaxpr-primitives``: a page of its own where the builder has such, and a label."""

    name = "primitives"
    localname = "Index of primitives"
    shortname = "primitives"

    def generate(
        self, docnames: Iterable[str] | None = None
    ) -> tuple[list[tuple[str, list[IndexEntry]]], bool]:
        """The primitives by their first letter; nothing where no block shows any."""
        domain: Any = self.domain  # ours, which names this class
        session = domain.session
        if session is None:  # no build is running
            return [], False
        pages = domain.visible(session.app.tags)
        if docnames is not None:
            wanted = set(docnames)
            pages = {docname: found for docname, found in pages.items() if docname in wanted}
        letters: dict[str, list[IndexEntry]] = {}
        for name, places in met(session, pages).items():
            letter = name[0].upper() if name[0].isalpha() else _OTHER
            letters.setdefault(letter, []).extend(_entries(session, name, places))
        return list(letters.items()), False


def _entries(
    session: BuildSession, name: str, places: list[tuple[str, Block]]
) -> Iterator[IndexEntry]:
    """One primitive: with all its blocks below it, or on paper once for each block."""
    builder: Any = session.app.builder
    if builder.format != "html":
        for docname, block in places:
            yield IndexEntry(name, 0, docname, block.identity, block.name, "", "")
        return
    known = session.meanings.glossary.entry(name)
    meaning = known.meaning if known else ""
    yield IndexEntry(name, 1, "", "", "", "", meaning)
    for docname, block in places:
        yield IndexEntry(block.name, 2, docname, block.identity, _title(session, docname), "", "")


def _title(session: BuildSession, docname: str) -> str:
    title = session.app.env.titles.get(docname)
    return title.astext() if title is not None else docname
