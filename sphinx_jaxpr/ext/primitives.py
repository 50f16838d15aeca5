"""Where a primitive is explained, for links that authors write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from .definitions import anchor
from .domain import JaxprDomain
from .links import link

if TYPE_CHECKING:
    from .engine import Engine

#: Where JAX documents its functions, for a project whose intersphinx does not say.
_PAGES: Final = "https://docs.jax.dev/en/latest/_autosummary/{}.html"


def address(
    app: Sphinx, domain: JaxprDomain, engine: Engine, page: str, name: str
) -> nodes.reference | None:
    """An empty link to what ``name`` means: a term, JAX's page, a list here, a block's fold."""
    href, away = engine.meanings.href(name, page)
    if href:
        return nodes.reference("", "", internal=not away, refuri=href)
    known = engine.meanings.glossary.entry(name)
    place = _listed(app, domain, engine, page, name)
    if place is not None:
        found = link(app.builder, page, *place)
        if found is not None:
            return found
    if known is not None and known.page:
        return nodes.reference("", "", internal=False, refuri=_PAGES.format(known.page))
    return None


def _listed(
    app: Sphinx, domain: JaxprDomain, engine: Engine, page: str, name: str
) -> tuple[str, str] | None:
    """The page and id of a definition in this project: of this page first."""
    pages = [page, *sorted(domain.lists)]
    for other in pages:
        scopes = domain.lists.get(other, ())
        where = [other] if "project" not in scopes else sorted(domain.galleries)
        if scopes and any(_meets(engine, domain, one, name) for one in where):
            return other, f"jaxpr-primitive-{name}"
    if not isinstance(app.builder, StandaloneHTMLBuilder):
        return None
    identity = _meets(engine, domain, page, name)
    return (page, anchor(identity, name)) if identity else None


def _meets(engine: Engine, domain: JaxprDomain, page: str, name: str) -> str:
    """The id of the first block of a page that meets a primitive and explains it."""
    for gallery in domain.visible_galleries(engine.app.tags, page):
        for block in gallery.blocks:
            outcome = engine.outcome(block) if block.shown else None
            if outcome and name in outcome.seen.names:
                return engine.renamed.get((page, block.identity), block.identity)
    return ""
