"""``jaxpr-glossary``: the primitives that a page or the project meets, with their meanings."""

from __future__ import annotations

from typing import Any, cast

from docutils import nodes

from ...program.html.definitions import listed
from ..judging.domain import JaxprDomain
from ..judging.session import BuildSession
from ..judging.verdicts import judging
from ..links import link
from ..locale import _
from ..nodes import jaxpr_primitives
from ..pages import PageTransform
from ..records import Block, PrimitiveList
from .index import met


class ShowGlossaries(PageTransform):
    """Replaces every ``jaxpr_primitives`` by a definition list."""

    domain_name = "jaxpr"
    default_priority = 6

    def run(self, **kwargs: Any) -> None:
        """Fill the lists of a page, or of several put together."""
        if self.app.builder.name == "gettext":
            return
        domain = cast(JaxprDomain, self.env.get_domain("jaxpr"))
        for number, node in enumerate(list(self.document.findall(jaxpr_primitives)), 1):
            session = domain.session or judging(self.app, domain.visible(self.app.tags))
            page, listing = node["docname"], node["listing"]
            session.renumbered[(page, listing.number)] = number
            node.replace_self(self.filled(domain, session, listing, page))

    def filled(
        self, domain: JaxprDomain, session: BuildSession, listing: PrimitiveList, page: str
    ) -> list[nodes.Node]:
        """The definition list, or a line that says why there is none."""
        if session.mode == "skip":
            return [nodes.paragraph("", _("Not traced: jaxpr_mode is skip."))]
        pages = domain.visible(self.app.tags)
        if listing.scope == "page":
            pages = {page: pages.get(page, [])}
        found = met(session, pages)
        if not found:
            return [nodes.paragraph("", _none(listing))]
        number = session.renumbered[(page, listing.number)]
        items = [
            self.item(session, page, listed(number, name), name, places)
            for name, places in found.items()
        ]
        return [nodes.definition_list("", *items, classes=["jaxpr-glossary"])]

    def item(
        self,
        session: BuildSession,
        page: str,
        identity: str,
        name: str,
        places: list[tuple[str, Block]],
    ) -> nodes.definition_list_item:
        """One primitive: what it means, and links to the blocks that meet it."""
        known = session.meanings.glossary.entry(name)
        term = nodes.term("", "", nodes.literal(name, name), ids=[identity])
        meaning = nodes.paragraph("", known.meaning if known else _("No definition is known."))
        if known is not None and known.kind != "custom":
            meaning += nodes.Text(f" ({known.kind})")
        where = nodes.paragraph("", _("Used in "))
        for number, (docname, block) in enumerate(places):
            if number:
                where += nodes.Text(", ")
            shown = nodes.literal(block.name, block.name)
            other = session.renamed.get((docname, block.identity), block.identity)
            found = link(self.app.builder, page, docname, other, shown)
            where += found if found is not None else shown
        where += nodes.Text(".")
        return nodes.definition_list_item("", term, nodes.definition("", meaning, where))


def _none(listing: PrimitiveList) -> str:
    """What readers see in the place of an empty list."""
    if listing.scope == "page":
        return _("No primitives on this page.")
    return _("No primitives in this project.")
