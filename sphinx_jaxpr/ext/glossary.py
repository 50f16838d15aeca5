"""``jaxpr-glossary``: the primitives that a page or the project meets, with their meanings."""

from __future__ import annotations

from typing import Any, ClassVar, Final, cast

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from ..tracing.grammar import nearest, shorten
from .definitions import listed
from .domain import JaxprDomain
from .engine import Engine
from .index import met
from .links import link
from .nodes import jaxpr_primitives
from .options import AnyOption, unread
from .pages import PageTransform
from .place import locate
from .records import Block, Finding, Listing
from .verdicts import judging

SCOPES: Final = ("project", "page")


class JaxprGlossary(SphinxDirective):
    """Leaves a node that the post-transform fills; ``scope`` is ``project`` or ``page``."""

    option_spec: ClassVar[Any] = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_primitives``."""
        place = locate(self)
        scope = self.options.get("scope", "project").strip()
        node = jaxpr_primitives(scope=scope if scope in SCOPES else "project")
        self.set_source_info(node)
        node["findings"] = unread(self, place, "glossary") + [
            Finding(
                "glossary",
                f"unknown option {shorten(option)}{nearest(option, ('scope',))} (known: scope)",
                place.source,
                place.option(option),
            )
            for option in self.options
            if option != "scope"
        ]
        if scope not in SCOPES:
            message = (
                f"scope: {shorten(scope)} is none of {', '.join(SCOPES)}{nearest(scope, SCOPES)}"
            )
            found = Finding("glossary", message, place.source, place.option("scope"))
            node["findings"].append(found)
        return [node]


class ShowGlossaries(PageTransform):
    """Replaces every ``jaxpr_primitives`` by a definition list."""

    of = "jaxpr"
    default_priority = 6

    def run(self, **kwargs: Any) -> None:
        """Fill the lists of a page, or of several put together."""
        if self.app.builder.name == "gettext":
            return
        domain = cast(JaxprDomain, self.env.get_domain("jaxpr"))
        for number, node in enumerate(list(self.document.findall(jaxpr_primitives)), 1):
            engine = domain.engine or judging(self.app, domain.visible(self.app.tags))
            page, listing = node["docname"], node["listing"]
            engine.renumbered[(page, listing.number)] = number
            node.replace_self(self.filled(domain, engine, listing, page))

    def filled(
        self, domain: JaxprDomain, engine: Engine, listing: Listing, page: str
    ) -> list[nodes.Node]:
        """The definition list, or a line that says why there is none."""
        if engine.mode == "skip":
            return [nodes.paragraph("", "Not traced: jaxpr_mode is skip.")]
        pages = domain.visible(self.app.tags)
        if listing.scope == "page":
            pages = {page: pages.get(page, [])}
        found = met(engine, pages)
        if not found:
            return [nodes.paragraph("", "No block here meets a primitive.")]
        number = engine.renumbered[(page, listing.number)]
        items = [
            self.item(engine, page, listed(number, name), name, places)
            for name, places in found.items()
        ]
        return [nodes.definition_list("", *items, classes=["jaxpr-glossary"])]

    def item(
        self,
        engine: Engine,
        page: str,
        identity: str,
        name: str,
        places: list[tuple[str, Block]],
    ) -> nodes.definition_list_item:
        """One primitive: what it means, and links to the blocks that meet it."""
        known = engine.meanings.glossary.entry(name)
        term = nodes.term("", "", nodes.literal(name, name), ids=[identity])
        meaning = nodes.paragraph("", known.meaning if known else "No definition is known.")
        if known is not None and known.kind != "custom":
            meaning += nodes.Text(f" ({known.kind})")
        where = nodes.paragraph("", "Met in ")
        for number, (docname, block) in enumerate(places):
            if number:
                where += nodes.Text(", ")
            shown = nodes.literal(block.name, block.name)
            other = engine.renamed.get((docname, block.identity), block.identity)
            found = link(self.app.builder, page, docname, other, shown)
            where += found if found is not None else shown
        where += nodes.Text(".")
        return nodes.definition_list_item("", term, nodes.definition("", meaning, where))
