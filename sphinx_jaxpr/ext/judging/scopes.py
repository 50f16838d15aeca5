"""The names in expressions of a page: its own blocks first, then the project's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from ..records import BlockOnPage, DirectiveRecord
from .session import BuildSession

if TYPE_CHECKING:
    from ...program.query.blocks import QueryBlock
    from ...program.query.scope import Scope

_WORD = re.compile(r"[^\W\d]\w*")


class Scopes:
    """Names and programs for all pages of a build; a program is read on first use.

    ``directives`` are those that this build shows, ``declared`` all of the project, both by
    page; ``own_primitives`` are those that the project explains.
    """

    def __init__(
        self,
        session: BuildSession,
        directives: Mapping[str, list[DirectiveRecord]],
        declared: Mapping[str, list[DirectiveRecord]],
        own_primitives: Iterable[str] = (),
    ) -> None:
        self.session = session
        self.directives = directives
        self.declared = declared
        self.own_primitives = tuple(own_primitives)
        self._names: dict[str, dict[str, BlockOnPage]] = {}
        self._vocabulary: dict[str, list[str]] = {}
        self._left_out: dict[str, frozenset[str]] = {}

    @cached_property
    def versions(self) -> dict[str, str]:
        """The versions of the tracing environment."""
        return self.session.versions()

    @cached_property
    def shared(self) -> dict[str, BlockOnPage]:
        """Blocks with a name for the whole project; of two, the first page's."""
        shared: dict[str, BlockOnPage] = {}
        taken: dict[str, DirectiveRecord] = {}
        for page in sorted(self.directives):
            for directive in self.directives[page]:
                if directive.explicit and taken.setdefault(directive.name, directive) is directive:
                    shared.update(
                        (b.name, BlockOnPage(page, directive, b)) for b in directive.blocks
                    )
        return shared

    def names(self, page: str) -> dict[str, BlockOnPage]:
        """The blocks that a page may name; of two with one name, the first on the page."""
        if page not in self._names:
            own: dict[str, DirectiveRecord] = {}
            for directive in self.directives.get(page, ()):
                own.setdefault(directive.name, directive)
            names = {
                block.name: BlockOnPage(page, directive, block)
                for directive in own.values()
                for block in directive.blocks
            }
            for name, target in self.shared.items():
                if target.directive.name not in own:
                    names[name] = target
            self._names[page] = names
        return self._names[page]

    def visible(self, page: str, inside: DirectiveRecord | None) -> dict[str, BlockOnPage]:
        """The names for a page, or inside a directive, whose notes see its own blocks."""
        if inside is None:
            return self.names(page)
        return {block.name: BlockOnPage(page, inside, block) for block in inside.blocks}

    def mentioned(
        self, page: str, text: str, inside: DirectiveRecord | None = None
    ) -> list[BlockOnPage]:
        """The blocks that an expression may use, by the words in it."""
        words = set(_WORD.findall(text))
        targets = self.visible(page, inside).values()
        return [target for target in targets if inside or target.directive.name in words]

    def of(self, page: str, text: str, inside: DirectiveRecord | None = None) -> Scope:
        """The scope of one expression, of a page or ``inside`` of a directive."""
        from ...program.query.scope import Scope

        mentioned = self.primitives(self.mentioned(page, text, inside))
        primitives = frozenset((*mentioned, *self.vocabulary(page)))
        blocks = _Blocks(self.session, self.visible(page, inside))
        return Scope(blocks, self.versions, primitives, self.left_out(page))

    def left_out(self, page: str) -> frozenset[str]:
        """Names of directives that a page could use if this build showed them."""
        if page not in self._left_out:
            own = {directive.name for directive in self.declared.get(page, ())}
            seen = {target.directive.name for target in self.names(page).values()}
            self._left_out[page] = self._hidden | (own - seen)
        return self._left_out[page]

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """Names for the whole project that this build does not show."""
        directives = (d for page in self.declared.values() for d in page if d.explicit)
        seen = {target.directive.name for target in self.shared.values()}
        return frozenset({directive.name for directive in directives} - seen)

    def vocabulary(self, page: str) -> list[str]:
        """Names of primitives that a page may use: of its blocks, and the project's own."""
        if page not in self._vocabulary:
            directives = self.directives.get(page, ())
            blocks = (BlockOnPage(page, d, block) for d in directives for block in d.blocks)
            self._vocabulary[page] = sorted({*self.primitives(blocks), *self.own_primitives})
        return self._vocabulary[page]

    def primitives(self, blocks: Iterable[BlockOnPage]) -> Iterator[str]:
        """The primitives of blocks, without reading them."""
        for target in blocks:
            outcome = self.session.outcome(target.block)
            yield from outcome.seen.names if outcome else ()


class _Blocks(Mapping[str, "QueryBlock"]):
    """Programs by name, each read on first use."""

    def __init__(self, session: BuildSession, targets: Mapping[str, BlockOnPage]) -> None:
        self.session = session
        self.targets = targets

    def __getitem__(self, name: str) -> QueryBlock:
        target = self.targets[name]
        return self.session.traced(target.directive, target.block).query

    def __contains__(self, name: object) -> bool:
        return name in self.targets

    def __iter__(self) -> Iterator[str]:
        return iter(self.targets)

    def __len__(self) -> int:
        return len(self.targets)
