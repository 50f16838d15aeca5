"""What the expressions of a page may name: its own blocks first, then the project's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, cast

from ..records import Block, BlockOnPage, DirectiveRecord
from .session import BuildSession

if TYPE_CHECKING:
    from ...program.query import blocks as programs
    from ...program.query.views import Scope
    from .domain import JaxprDomain

_WORD = re.compile(r"[^\W\d]\w*")


class Scopes:
    """Names and programs for all pages of a build; a program is read when first asked for."""

    def __init__(
        self, session: BuildSession, directives: Mapping[str, list[DirectiveRecord]]
    ) -> None:
        self.session = session
        self.directives = directives
        self._names: dict[str, dict[str, BlockOnPage]] = {}
        self._spoken: dict[str, list[str]] = {}
        self._left_out: dict[str, frozenset[str]] = {}
        self._made: dict[tuple[str, str, str], programs.QueryBlock] = {}

    @cached_property
    def versions(self) -> dict[str, str]:
        """Versions of what traces."""
        return self.session.versions()

    @cached_property
    def shared(self) -> dict[str, BlockOnPage]:
        """Blocks with a name for the whole project; of two, the first page's."""
        found: dict[str, BlockOnPage] = {}
        taken: dict[str, DirectiveRecord] = {}
        for page in sorted(self.directives):
            for directive in self.directives[page]:
                if directive.explicit and taken.setdefault(directive.name, directive) is directive:
                    found.update(
                        (b.name, BlockOnPage(page, directive, b)) for b in directive.blocks
                    )
        return found

    def names(self, page: str) -> dict[str, BlockOnPage]:
        """The blocks that a page may name; of two with one name, the first on the page."""
        if page not in self._names:
            own: dict[str, DirectiveRecord] = {}
            for directive in self.directives.get(page, ()):
                own.setdefault(directive.name, directive)
            found = {
                block.name: BlockOnPage(page, directive, block)
                for directive in own.values()
                for block in directive.blocks
            }
            for name, place in self.shared.items():
                if place.directive.name not in own:
                    found[name] = place
            self._names[page] = found
        return self._names[page]

    def places(self, page: str, inside: DirectiveRecord | None) -> dict[str, BlockOnPage]:
        """What may be named on a page, or inside of a directive: by a note, its own blocks."""
        if inside is None:
            return self.names(page)
        return {block.name: BlockOnPage(page, inside, block) for block in inside.blocks}

    def mentioned(
        self, page: str, text: str, inside: DirectiveRecord | None = None
    ) -> list[BlockOnPage]:
        """The blocks that an expression may ask of, by the words in it."""
        words = set(_WORD.findall(text))
        places = self.places(page, inside).values()
        return [place for place in places if inside or place.directive.name in words]

    def of(self, page: str, text: str, inside: DirectiveRecord | None = None) -> Scope:
        """The scope of one expression, of a page or ``inside`` of a directive."""
        from ...program.query.views import Scope

        met = self.met(self.mentioned(page, text, inside))
        primitives = frozenset((*met, *self.spoken(page)))
        blocks = _Blocks(self, self.places(page, inside))
        return Scope(blocks, self.versions, primitives, self.left_out(page))

    def left_out(self, page: str) -> frozenset[str]:
        """Names of directives that a page might name, did this build show them."""
        if page not in self._left_out:
            own = {directive.name for directive in self._declared.get(page, ())}
            seen = {place.directive.name for place in self.names(page).values()}
            self._left_out[page] = self._hidden | (own - seen)
        return self._left_out[page]

    @cached_property
    def _declared(self) -> dict[str, list[DirectiveRecord]]:
        domain = cast("JaxprDomain", self.session.app.env.get_domain("jaxpr"))
        return domain.all_directives

    @cached_property
    def _hidden(self) -> frozenset[str]:
        """Names for the whole project that this build does not show."""
        directives = (g for page in self._declared.values() for g in page if g.explicit)
        seen = {place.directive.name for place in self.shared.values()}
        return frozenset({directive.name for directive in directives} - seen)

    def spoken(self, page: str) -> list[str]:
        """Names of primitives that a page may use: of its blocks, and the project's own."""
        if page not in self._spoken:
            directives = self.directives.get(page, ())
            places = (BlockOnPage(page, g, block) for g in directives for block in g.blocks)
            meanings = self.session.meanings
            self._spoken[page] = sorted({*self.met(places), *meanings.terms_of, *meanings.defined})
        return self._spoken[page]

    def met(self, places: Iterable[BlockOnPage]) -> Iterator[str]:
        """The primitives of blocks, without reading them."""
        for place in places:
            outcome = self.session.outcome(place.block)
            yield from outcome.seen.names if outcome else ()

    def program(self, place: BlockOnPage) -> programs.QueryBlock:
        """A block as paths see it."""
        base, block = place.directive.blocks[0], place.block
        key = (base.digest, block.digest, block.name)
        if key not in self._made:
            above = (
                self.program(BlockOnPage(place.page, place.directive, base))
                if block.label
                else None
            )
            self._made[key] = self._read(block, above)
        return self._made[key]

    def _read(self, block: Block, base: programs.QueryBlock | None) -> programs.QueryBlock:
        from ...program.facts import names_of
        from ...program.query import blocks as programs

        result, printed = self.session.result(block), self.session.printed(block)
        if result is not None and result.error is not None:  # an expected one
            said = (result.error.type, result.error.message.partition("\n")[0])
            return programs.QueryBlock(block.name, None, error=said)
        if result is None or printed is None or printed[0].program is None:
            return programs.QueryBlock(block.name, None, failed=result is None)
        data = result.to_json()
        names = names_of(data, len(printed[0].program.inputs))
        return programs.QueryBlock(block.name, printed[0], data["facts"], names, base)


class _Blocks(Mapping[str, "programs.QueryBlock"]):
    """Programs by name, each read when it is first asked for."""

    def __init__(self, scopes: Scopes, places: Mapping[str, BlockOnPage]) -> None:
        self.scopes = scopes
        self.places = places

    def __getitem__(self, name: str) -> programs.QueryBlock:
        return self.scopes.program(self.places[name])

    def __contains__(self, name: object) -> bool:
        return name in self.places

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)
