"""The names of blocks: those of a page itself, laid over those of the whole project."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ...records import BlockOnPage, DirectiveRecord


class DirectiveOnPage(NamedTuple):
    """A directive with its page."""

    page: str
    directive: DirectiveRecord

    def blocks(self) -> list[BlockOnPage]:
        """Its blocks, base first; of two with one name, which is an error, the last."""
        named = {block.name: block for block in self.directive.blocks}
        return [BlockOnPage(self.page, self.directive, block) for block in named.values()]


@dataclass(frozen=True)
class PageNames:
    """The directives that a page may name: its ``own``, laid over those that all pages share.

    Iterating gives the names of all their blocks, those of the page first.
    """

    own: Mapping[str, DirectiveOnPage]
    shared: Mapping[str, DirectiveOnPage]

    def directive(self, name: str) -> DirectiveOnPage | None:
        """The directive with this name."""
        return self.own.get(name) or self.shared.get(name)

    def block(self, full_name: str) -> BlockOnPage | None:
        """The block with this name, ``dense`` or ``dense.grad``."""
        named = self.directive(full_name.partition(".")[0])
        blocks = named.blocks() if named is not None else ()
        return next((target for target in blocks if target.block.name == full_name), None)

    def __iter__(self) -> Iterator[str]:
        others = (named for name, named in self.shared.items() if name not in self.own)
        for named in (*self.own.values(), *others):
            yield from dict.fromkeys(block.name for block in named.directive.blocks)


class ProjectNames:
    """The directives that each page may name, of ``directives`` by page."""

    def __init__(self, directives: Mapping[str, list[DirectiveRecord]]) -> None:
        self.directives = directives
        self._names: dict[str, PageNames] = {}

    @cached_property
    def shared(self) -> dict[str, DirectiveOnPage]:
        """Directives with a name for the whole project; of two, the first page's."""
        shared: dict[str, DirectiveOnPage] = {}
        for page in sorted(self.directives):
            for directive in self.directives[page]:
                if directive.explicit:
                    shared.setdefault(directive.name, DirectiveOnPage(page, directive))
        return shared

    def of(self, page: str) -> PageNames:
        """What a page may name; of two directives with one name, the first on the page."""
        if page not in self._names:
            own: dict[str, DirectiveOnPage] = {}
            for directive in self.directives.get(page, ()):
                own.setdefault(directive.name, DirectiveOnPage(page, directive))
            self._names[page] = PageNames(own, self.shared)
        return self._names[page]
