"""Lists of primitives: which blocks use each, and the nodes of ``jaxpr-glossary`` as lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from docutils import nodes

from ...program.html.definitions import listed
from ..judging.build import RunningBuild
from ..judging.domain import JaxprDomain
from ..judging.session import BuildSession
from ..judging.start import running
from ..links import link
from ..locale import _
from ..nodes import jaxpr_primitives
from ..pages import PageTransform
from ..records import Block, DirectiveRecord, PrimitiveList


def uses_of_primitives(
    session: BuildSession, pages: Mapping[str, list[DirectiveRecord]]
) -> dict[str, list[tuple[str, Block]]]:
    """For each primitive, in order, the shown blocks that use it, with their pages.

    No result is read for it.
    """
    uses: dict[str, list[tuple[str, Block]]] = {}
    for docname, directives in pages.items():
        for block in (b for directive in directives for b in directive.blocks if b.is_shown):
            outcome = session.outcome(block)
            # A primitive may be called anything, also nothing.
            for name in filter(str.strip, outcome.seen.names if outcome else ()):
                uses.setdefault(name, []).append((docname, block))
    return dict(sorted(uses.items(), key=lambda item: (item[0].lower(), item[0])))


class ShowGlossaries(PageTransform):
    """Replaces every ``jaxpr_primitives`` by a definition list."""

    domain_name = "jaxpr"
    default_priority = 6

    def run(self, **kwargs: Any) -> None:
        """Fill the lists of a page, or of several put together."""
        if self.app.builder.name == "gettext":
            return
        pending = list(self.document.findall(jaxpr_primitives))
        if not pending:
            return
        build = running(self.app)
        for number, node in enumerate(pending, 1):
            page, listing = node["docname"], node["listing"]
            build.ids.show_list(page, listing.number, number)
            node.replace_self(self.replacement(build, listing, page))

    def replacement(
        self, build: RunningBuild, listing: PrimitiveList, page: str
    ) -> list[nodes.Node]:
        """The definition list, or a line that says why there is none."""
        if build.session.mode == "skip":
            return [nodes.paragraph("", _("Not traced: jaxpr_mode is skip."))]
        domain = cast(JaxprDomain, self.env.get_domain("jaxpr"))
        if listing.scope == "page":
            pages = {page: domain.visible_directives(self.app.tags, page)}
        else:
            pages = domain.visible(self.app.tags)
        primitives = uses_of_primitives(build.session, pages)
        if not primitives:
            on_page, nowhere = _("No primitives on this page."), _("No primitives in this project.")
            return [nodes.paragraph("", on_page if listing.scope == "page" else nowhere)]
        number = build.ids.number_of_list(page, listing.number)
        items = [
            self.item(build, page, listed(number, name), name, uses)
            for name, uses in primitives.items()
        ]
        return [nodes.definition_list("", *items, classes=["jaxpr-glossary"])]

    def item(
        self,
        build: RunningBuild,
        page: str,
        identity: str,
        name: str,
        uses: list[tuple[str, Block]],
    ) -> nodes.definition_list_item:
        """One primitive: what it means, and links to the blocks that use it."""
        entry = build.meanings.glossary.entry(name)
        term = nodes.term("", "", nodes.literal(name, name), ids=[identity])
        meaning = nodes.paragraph("", entry.meaning if entry else _("No definition is known."))
        if entry is not None and entry.kind != "custom":
            meaning += nodes.Text(f" ({entry.kind})")
        used = nodes.paragraph("", _("Used in "))
        for index, (docname, block) in enumerate(uses):
            if index:
                used += nodes.Text(", ")
            label = nodes.literal(block.name, block.name)
            target = build.ids.of_block(docname, block.identity)
            reference = link(self.app.builder, page, docname, target, label)
            used += reference if reference is not None else label
        used += nodes.Text(".")
        return nodes.definition_list_item("", term, nodes.definition("", meaning, used))
