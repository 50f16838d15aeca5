"""Where a primitive is explained, for links that authors write."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder

from .definitions import anchor, listed
from .domain import JaxprDomain
from .engine import Engine
from .links import link
from .records import Listing

#: Where JAX documents its functions, for a project whose intersphinx does not say.
_PAGES: Final = "https://docs.jax.dev/en/latest/_autosummary/{}.html"


class Addresses:
    """Finds what explains a primitive: a term, JAX's page, a list here, a block's fold."""

    def __init__(self, engine: Engine, domain: JaxprDomain) -> None:
        self.engine = engine
        self.domain = domain
        self.builder = engine.app.builder
        self.lists = domain.visible_lists(engine.app.tags)
        self._met: dict[str, dict[str, str]] = {}

    def link(self, page: str, name: str) -> nodes.reference | None:
        """An empty link on ``page`` to what ``name`` means."""
        href, away = self.engine.meanings.href(name, page)
        if href:
            return nodes.reference("", "", internal=not away, refuri=href)
        for other, identity in self._here(page, name):
            found = link(self.builder, page, other, identity)
            if found is not None:
                return found
        known = self.engine.meanings.glossary.entry(name)
        if known is not None and known.page:
            return nodes.reference("", "", internal=False, refuri=_PAGES.format(known.page))
        return None

    def address(self, page: str, name: str) -> str:
        """Where that link leads, ``""`` where there is none."""
        found = self.link(page, name)
        if found is None:
            return ""
        return str(found.get("refuri") or f"#{found.get('refid')}")

    def _here(self, page: str, name: str) -> Iterator[tuple[str, str]]:
        """The pages and ids of definitions in this project, the nearest first."""
        for other, one in self._lists(page):
            if name in (self.met(other) if one.scope == "page" else self.met_anywhere):
                number = self.engine.renumbered.get((other, one.number), one.number)
                yield other, listed(number, name)
        if not isinstance(self.builder, StandaloneHTMLBuilder):
            return
        folds = self.engine.explained
        block = self.met(page).get(name)
        # While no page is written, where the fold will be.
        identity = folds.get(name) if folds is not None else block and anchor(block, name)
        if identity:
            yield page, identity

    def _lists(self, page: str) -> Iterator[tuple[str, Listing]]:
        """The lists of this page, those of the project, those of other pages."""
        yield from ((page, one) for one in self.lists.get(page, ()))
        for scope in ("project", "page"):
            for other, found in self.lists.items():
                if other != page:
                    yield from ((other, one) for one in found if one.scope == scope)

    @cached_property
    def met_anywhere(self) -> frozenset[str]:
        """The primitives that some page meets."""
        return frozenset(name for page in self.domain.galleries for name in self.met(page))

    def met(self, page: str) -> dict[str, str]:
        """For each primitive that a page meets the id of the first block that explains it."""
        if page not in self._met:
            found: dict[str, str] = {}
            for gallery in self.domain.visible_galleries(self.engine.app.tags, page):
                for block in gallery.blocks:
                    outcome = self.engine.outcome(block) if block.shown else None
                    for name in outcome.seen.names if outcome else ():
                        found.setdefault(name, block.identity)
            self._met[page] = found
        return self._met[page]
