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
    engine: BuildSession, pages: dict[str, list[DirectiveRecord]]
) -> dict[str, list[tuple[str, Block]]]:
    """For each primitive, in order, the shown blocks with their pages that meet it.

    Known without reading a result.
    """
    found: dict[str, list[tuple[str, Block]]] = {}
    for docname, galleries in pages.items():
        for block in (b for gallery in galleries for b in gallery.blocks if b.shown):
            outcome = engine.outcome(block)
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
        engine = domain.engine
        if engine is None:  # no build is running
            return [], False
        pages = domain.visible(engine.app.tags)
        if docnames is not None:
            wanted = set(docnames)
            pages = {docname: found for docname, found in pages.items() if docname in wanted}
        letters: dict[str, list[IndexEntry]] = {}
        for name, places in met(engine, pages).items():
            letter = name[0].upper() if name[0].isalpha() else _OTHER
            letters.setdefault(letter, []).extend(_entries(engine, name, places))
        return list(letters.items()), False


def _entries(
    engine: BuildSession, name: str, places: list[tuple[str, Block]]
) -> Iterator[IndexEntry]:
    """One primitive: with all its blocks below it, or on paper once for each block."""
    builder: Any = engine.app.builder
    if builder.format != "html":
        for docname, block in places:
            yield IndexEntry(name, 0, docname, block.identity, block.name, "", "")
        return
    known = engine.meanings.glossary.entry(name)
    meaning = known.meaning if known else ""
    yield IndexEntry(name, 1, "", "", "", "", meaning)
    for docname, block in places:
        yield IndexEntry(block.name, 2, docname, block.identity, _title(engine, docname), "", "")


def _title(engine: BuildSession, docname: str) -> str:
    title = engine.app.env.titles.get(docname)
    return title.astext() if title is not None else docname
