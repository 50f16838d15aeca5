"""The names in expressions of a page: its own blocks first, then the project's.

What all pages share is computed once for a build, and a page's own names are looked up before
those of the project; nothing of the project is copied for a page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING
from unicodedata import normalize

from ...records import BlockOnPage, DirectiveRecord, ShowRecord
from ..session import BuildSession
from .appearances import Appearances
from .project import DirectiveOnPage, PageNames, ProjectNames

if TYPE_CHECKING:
    from ....block import TracedBlock
    from ....program.query.blocks import QueryBlock
    from ....program.query.scope import Scope

_WORD = re.compile(r"[^\W\d]\w*")


def words_of(text: str) -> dict[str, None]:
    """The words of an expression: every name in it, as Python spells names, is one of them."""
    return dict.fromkeys(_WORD.findall(normalize("NFKC", text)))


class Scopes:
    """Names and programs for all pages of a build; a program is read on first use.

    ``directives`` are those that this build shows, ``declared`` all of the project, both by
    page; ``own_primitives`` are those that the project explains, ``own_kinds`` their kinds.
    ``shows`` place blocks on further pages.
    """

    def __init__(
        self,
        session: BuildSession,
        directives: Mapping[str, list[DirectiveRecord]],
        declared: Mapping[str, list[DirectiveRecord]],
        own_primitives: Iterable[str] = (),
        shows: Mapping[str, list[ShowRecord]] | None = None,
        own_kinds: Mapping[str, str] | None = None,
    ) -> None:
        self.session = session
        self.directives = directives
        self.declared = declared
        self.own_primitives = tuple(own_primitives)
        self.own_kinds = own_kinds or {}
        self.project = ProjectNames(directives)
        self.appearances = Appearances(self.project, shows or {})
        self._vocabulary: dict[str, list[str]] = {}
        self._page_primitives: dict[str, frozenset[str]] = {}

    @cached_property
    def versions(self) -> dict[str, str]:
        """The versions of the tracing environment."""
        return self.session.versions()

    # -- names

    @property
    def shared(self) -> dict[str, DirectiveOnPage]:
        """Directives with a name for the whole project."""
        return self.project.shared

    def names(self, page: str) -> PageNames:
        """What a page may name."""
        return self.project.of(page)

    def visible(self, page: str, inside: DirectiveRecord | None) -> PageNames:
        """The names for a page, or inside a directive, whose notes see its own blocks."""
        if inside is None:
            return self.names(page)
        return PageNames({inside.name: DirectiveOnPage(page, inside)}, {})

    def declares(self, page: str, name: str) -> bool:
        """Whether a page itself has a directive of this name, also one that is left out."""
        return any(directive.name == name for directive in self.declared.get(page, ()))

    def mentioned(
        self,
        page: str,
        text: str,
        inside: DirectiveRecord | None = None,
        lets: Collection[str] = (),
    ) -> list[DirectiveOnPage]:
        """The directives whose blocks an expression may use, by the words in it.

        Inside a directive it is that one, which a path need not name. A word that is one of
        ``lets`` means no block: another page's, since a let has the name of none of its own.
        """
        if inside is not None:
            return [DirectiveOnPage(page, inside)]
        names = self.names(page)
        named = (names.directive(word) for word in words_of(text) if word not in lets)
        return [directive for directive in named if directive is not None]

    def left_out(self, page: str, text: str) -> frozenset[str]:
        """The words of an expression that would name a block if this build showed it."""
        names = self.names(page)
        declared = {directive.name for directive in self.declared.get(page, ())}
        return frozenset(
            word
            for word in words_of(text)
            if word in self._hidden or (word in declared and names.directive(word) is None)
        )

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """Names for the whole project that this build does not show."""
        directives = (d for page in self.declared.values() for d in page if d.explicit)
        return frozenset(d.name for d in directives if d.name not in self.shared)

    def of(
        self,
        page: str,
        text: str,
        inside: DirectiveRecord | None = None,
        lets: Mapping[str, str] | None = None,
    ) -> Scope:
        """The scope of one expression, of a page or ``inside`` of a directive.

        ``text`` has its words and those of the lets that it uses.
        """
        from ....program.query.scope import Scope

        blocks = [
            target
            for named in self.mentioned(page, text, inside, lets or ())
            for target in named.blocks()
        ]
        primitives = frozenset((*self.primitives(blocks), *self.vocabulary(page)))
        return Scope(
            _Blocks(self.session, {target.block.name: target for target in blocks}),
            self.versions,
            primitives,
            self.left_out(page, text),
            self.visible(page, inside),
            lets or {},
            self.own_kinds,
        )

    # -- primitives

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

    def meets(self, page: str, primitive: str) -> bool:
        """Whether a block that the page may name has this primitive."""
        own = self.names(page).own
        if page not in self._page_primitives:
            blocks = (target for named in own.values() for target in named.blocks())
            self._page_primitives[page] = frozenset(self.primitives(blocks))
        if primitive in self._page_primitives[page]:
            return True
        return any(name not in own for name in self._users.get(primitive, ()))

    def met(self, page: str) -> list[str]:
        """The primitives of all blocks that the page may name."""
        own = (target for named in self.names(page).own.values() for target in named.blocks())
        every = {*self.primitives(own), *self._users}
        return [primitive for primitive in every if self.meets(page, primitive)]

    @cached_property
    def _users(self) -> dict[str, list[str]]:
        """For each primitive the names of the directives with it that all pages share."""
        users: dict[str, list[str]] = {}
        for name, named in self.shared.items():
            for primitive in frozenset(self.primitives(named.blocks())):
                users.setdefault(primitive, []).append(name)
        return users


class _Blocks(Mapping[str, "QueryBlock"]):
    """Programs by name, each read on first use, and held as long as an expression is judged.

    An expression may name a program many times, and it has to be the same one each time.
    """

    def __init__(self, session: BuildSession, targets: Mapping[str, BlockOnPage]) -> None:
        self.session = session
        self.targets = targets
        self._held: dict[str, TracedBlock] = {}

    def __getitem__(self, name: str) -> QueryBlock:
        block = self._held.get(name)
        if block is None:
            target = self.targets[name]
            block = self._held[name] = self.session.traced(target.directive, target.block)
        return block.query

    def __contains__(self, name: object) -> bool:
        return name in self.targets

    def __iter__(self) -> Iterator[str]:
        return iter(self.targets)

    def __len__(self) -> int:
        return len(self.targets)
