"""The domain's index: every primitive of the project, and the blocks that use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sphinx.application import Sphinx
from sphinx.domains import Index, IndexEntry
from sphinx.environment import BuildEnvironment

from ..judging.build import RunningBuild
from ..judging.meanings import Meanings
from ..judging.session import BuildSession
from ..records import Block, DirectiveRecord

#: The heading of names that don't begin with a letter.
_OTHER = "Symbols"


def uses_of_primitives(
    session: BuildSession, pages: Mapping[str, list[DirectiveRecord]]
) -> dict[str, list[tuple[str, Block]]]:
    """For each primitive, in order, the shown blocks that use it, with their pages.

    Reads no result.
    """
    uses: dict[str, list[tuple[str, Block]]] = {}
    for docname, directives in pages.items():
        for block in (b for directive in directives for b in directive.blocks if b.is_shown):
            outcome = session.outcome(block)
            # A primitive may have any name, even an empty one.
            for name in filter(str.strip, outcome.seen.names if outcome else ()):
                uses.setdefault(name, []).append((docname, block))
    return dict(sorted(uses.items(), key=lambda item: (item[0].lower(), item[0])))


class PrimitiveIndex(Index):
    """``jaxpr-primitives``: a separate page, if the builder has such, and a label."""

    name = "primitives"
    localname = "Index of primitives"
    shortname = "primitives"

    def generate(
        self, docnames: Iterable[str] | None = None
    ) -> tuple[list[tuple[str, list[IndexEntry]]], bool]:
        """The primitives by their first letter; empty if no block shows any."""
        domain: Any = self.domain  # ours, which names this class
        build: RunningBuild | None = domain.build
        if build is None:
            return [], False
        app: Sphinx = domain.app
        pages = domain.visible(app.tags)
        if docnames is not None:
            wanted = set(docnames)
            pages = {docname: page for docname, page in pages.items() if docname in wanted}
        letters: dict[str, list[IndexEntry]] = {}
        for name, uses in uses_of_primitives(build.session, pages).items():
            letter = name[0].upper() if name[0].isalpha() else _OTHER
            entries = letters.setdefault(letter, [])
            if app.builder.format == "html":
                entries.extend(_entries(build.meanings, app.env, name, uses))
            else:  # on paper once for each block
                entries.extend(
                    IndexEntry(name, 0, docname, block.identity, block.name, "", "")
                    for docname, block in uses
                )
        return list(letters.items()), False


def _entries(
    meanings: Meanings, env: BuildEnvironment, name: str, uses: list[tuple[str, Block]]
) -> Iterator[IndexEntry]:
    """One primitive with all its blocks below it."""
    entry = meanings.glossary.entry(name)
    yield IndexEntry(name, 1, "", "", "", "", entry.meaning if entry else "")
    for docname, block in uses:
        title = env.titles.get(docname)
        page = title.astext() if title is not None else docname
        yield IndexEntry(block.name, 2, docname, block.identity, page, "", "")
