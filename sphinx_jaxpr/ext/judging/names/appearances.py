"""Where blocks appear: what each page shows, in its order, and under which ids.

A block appears where its directive shows it, and wherever ``jaxpr-show`` places it.  On each page
the first appearance has the block's own id; links prefer their own page, then the page that
declares the block.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from ....program.text import shorten
from ...records import COMPARE, Block, BlockOnPage, DirectiveRecord, ShowRecord
from .project import ProjectNames

#: The full name of a block.
NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)


class Appearance(NamedTuple):
    """A figure: its page, and its id there."""

    page: str
    identity: str


class FigureOnPage(NamedTuple):
    """A figure, with its directive and its block as the page shows them."""

    page: str
    directive: DirectiveRecord
    block: Block


class Appearances:
    """The appearances of all blocks in one build.

    ``pages`` has what each page shows, in its order: the directives of the page, and for each
    ``jaxpr-show`` a directive made of the one that declares its block.  The ids of blocks in
    these are those of their figures; where no ``jaxpr-show`` is on a page, they are the records
    themselves.  ``unresolved`` has every ``jaxpr-show`` that names no block, with its page.
    """

    def __init__(self, names: ProjectNames, shows: Mapping[str, list[ShowRecord]]) -> None:
        self.pages: dict[str, list[DirectiveRecord]] = {}
        self.unresolved: list[tuple[str, ShowRecord]] = []
        self._listed: dict[tuple[str, str], list[Appearance]] = {}  # by page and id of the block
        self._declared: dict[Appearance, BlockOnPage] = {}  # on pages with `jaxpr-show`
        self._with_shows = frozenset(page for page in shows if shows[page])
        for page in sorted({*names.directives, *self._with_shows}):
            directives = names.directives.get(page, [])
            if page in self._with_shows:
                directives = self._arranged(page, directives, shows[page], names)
            self.pages[page] = directives

    # -- questions

    def of(self, page: str, block: Block) -> list[Appearance]:
        """The appearances of a block that ``page`` declares, in the order of the pages."""
        listed = self._listed.get((page, block.identity), [])
        if block.is_shown and page not in self._with_shows:
            listed = sorted([*listed, Appearance(page, block.identity)], key=_page)
        return listed

    def nearest(self, page: str, target: BlockOnPage) -> list[Appearance]:
        """The appearances of a block as links on ``page`` prefer them.

        First those on their own page, then those on the page that declares the block.
        """
        listed = self.of(target.page, target.block)
        return sorted(listed, key=lambda each: (each.page != page, each.page != target.page))

    def main(self, target: BlockOnPage) -> Appearance | None:
        """Where links from outside of the project lead."""
        return next(iter(self.nearest(target.page, target)), None)

    def declared(self, figure: FigureOnPage) -> BlockOnPage | None:
        """The block that a figure shows, as its page declares it; ``None`` if there is none."""
        if figure.page not in self._with_shows:
            return BlockOnPage(*figure)
        return self._declared.get(Appearance(figure.page, figure.block.identity))

    def on(self, page: str) -> list[FigureOnPage]:
        """The blocks that a page shows, each once, at its first figure there."""
        figures = self._figures(page)
        if page not in self._with_shows:
            return list(figures)
        first: dict[tuple[str, str], FigureOnPage] = {}
        for figure in figures:
            target = self.declared(figure)
            if target is not None:
                first.setdefault((target.page, target.block.identity), figure)
        return list(first.values())

    def once(self, pages: Iterable[str] | None = None) -> Iterator[FigureOnPage]:
        """Each block that appears on one of ``pages``, or of all, at its main appearance."""
        for page in self.pages if pages is None else sorted({*self.pages} & {*pages}):
            for figure in self._figures(page):
                if page not in self._with_shows:
                    yield figure
                    continue
                target = self.declared(figure)
                if target and self.main(target) == (page, figure.block.identity):
                    yield figure

    def view(self, page: str, number: int) -> DirectiveRecord | None:
        """What a page shows at a position; ``None`` for what this build leaves out."""
        return next((each for each in self.pages.get(page, ()) if each.number == number), None)

    def _figures(self, page: str) -> Iterator[FigureOnPage]:
        for directive in self.pages.get(page, ()):
            for block in directive.blocks:
                if block.is_shown:
                    yield FigureOnPage(page, directive, block)

    # -- pages with `jaxpr-show`

    def _arranged(
        self,
        page: str,
        directives: list[DirectiveRecord],
        shows: list[ShowRecord],
        names: ProjectNames,
    ) -> list[DirectiveRecord]:
        """What a page shows, with ids that are unique on it, given in the order of the page."""
        ids = _PageIds(b.identity for d in directives for b in d.blocks if b.is_shown)
        arranged = []
        records: list[DirectiveRecord | ShowRecord] = [*directives, *shows]
        for record in sorted(records, key=lambda each: each.number):
            if isinstance(record, DirectiveRecord):
                arranged.append(self._with_ids(page, record, page, record, ids))
            elif (target := names.of(page).block(block_name(record.path))) is not None:
                view = _shown(record, target)._replace(page=page)
                arranged.append(self._with_ids(page, view, target.page, target.directive, ids))
            else:
                self.unresolved.append((page, record))
                arranged.append(_unknown(record, ids))
        return arranged

    def _with_ids(
        self,
        page: str,
        view: DirectiveRecord,
        origin: str,
        declared: DirectiveRecord,
        ids: _PageIds,
    ) -> DirectiveRecord:
        """A view with the ids of its figures, which are noted as appearances.

        ``declared`` is the record, of the page ``origin``, that the view was made of.
        """
        by_identity = {block.identity: block for block in declared.blocks}
        blocks = []
        for block in view.blocks:
            if block.is_shown:
                own = block.identity if origin == page else f"jaxpr-{block.name}"
                appearance = Appearance(page, ids.take(own))
                self._listed.setdefault((origin, block.identity), []).append(appearance)
                target = BlockOnPage(origin, declared, by_identity[block.identity])
                self._declared[appearance] = target
                block = block._replace(identity=appearance.identity)
            blocks.append(block)
        return view._replace(blocks=tuple(blocks))


class _PageIds:
    """The ids of one page; suffixed ones are never those that a block has without a suffix."""

    def __init__(self, own: Iterable[str]) -> None:
        self._own = frozenset(own)
        self._taken: set[str] = set()

    def take(self, identity: str) -> str:
        """The id itself where it is free, else the next suffixed one."""
        candidate, count = identity, 2
        while candidate in self._taken or (candidate != identity and candidate in self._own):
            candidate = f"{identity}-{count}"
            count += 1
        self._taken.add(candidate)
        return candidate


def block_name(path: str) -> str:
    """The full name of a block, from a path as an author may write it."""
    return re.sub(r"\s*\.\s*", ".", path.strip())


def _page(appearance: Appearance) -> str:
    return appearance.page


def _shown(show: ShowRecord, target: BlockOnPage) -> DirectiveRecord:
    """The directive that declares a block, as ``show`` shows it: that block, and how.

    Beside a variant the base is kept, shown or not: variants are compared with it.
    """
    base, block = target.directive.blocks[0], target.block
    blocks = [base._replace(is_shown=show.layout == COMPARE or not block.label)]
    if block.label:
        blocks.append(block._replace(is_shown=True))
    return _as_written(show, target.directive)._replace(blocks=tuple(blocks), focus=block.name)


def _unknown(show: ShowRecord, ids: _PageIds) -> DirectiveRecord:
    """What stands where no block is: a figure that says so."""
    name = block_name(show.path)
    identity = ids.take(f"jaxpr-{name if NAME.fullmatch(name) else 'block'}")
    problem = f"there is no block {shorten(name)} to show" if name else "no block is named"
    block = Block(name, "", identity, None, "", problem, line=show.line)
    return _as_written(show, DirectiveRecord("", 0, name, False, (block,)))


def _as_written(show: ShowRecord, directive: DirectiveRecord) -> DirectiveRecord:
    """A directive whose place, options and notes are those of a ``jaxpr-show``."""
    return directive._replace(
        source=show.source,
        line=show.line,
        opened=show.opened,
        elide=show.elide,
        elided=show.elided,
        layout=show.layout,
        with_source=show.with_source,
        classes=show.classes,
        caption=show.caption,
        findings=(),
        notes=show.notes,
        only=show.only,
        number=show.number,
        hints=(),
    )
