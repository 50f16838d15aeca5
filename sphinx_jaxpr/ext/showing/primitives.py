"""Lists of primitives: which blocks use each, and the nodes of ``jaxpr-glossary`` as lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from docutils import nodes

from ...program.html.definitions import listed
from ...tracing.store import Seen
from ..judging.build import RunningBuild
from ..judging.domain import JaxprDomain
from ..judging.session import BuildSession
from ..judging.start import running
from ..links import link
from ..locale import _
from ..nodes import jaxpr_primitives
from ..pages import PageTransform
from ..records import Block, DirectiveRecord, PrimitiveList


def shown_blocks(
    session: BuildSession, pages: Mapping[str, list[DirectiveRecord]]
) -> Iterator[tuple[str, Block, Seen]]:
    """The shown blocks of pages that have an outcome, with their pages.  No result is read."""
    for docname, directives in pages.items():
        for block in (b for directive in directives for b in directive.blocks if b.is_shown):
            if (outcome := session.outcome(block)) is not None:
                yield docname, block, outcome.seen


def uses_of_primitives(
    session: BuildSession, pages: Mapping[str, list[DirectiveRecord]]
) -> dict[str, list[tuple[str, Block]]]:
    """For each primitive, in order, the shown blocks that use it, with their pages."""
    uses: dict[str, list[tuple[str, Block]]] = {}
    for docname, block, seen in shown_blocks(session, pages):
        for name in _named(seen.names):
            uses.setdefault(name, []).append((docname, block))
    return {name: uses[name] for name in sorted(uses, key=_in_order)}


def numbers_of_uses(
    session: BuildSession, pages: Mapping[str, list[DirectiveRecord]]
) -> dict[str, int]:
    """For each primitive, in order, the number of shown blocks that use it."""
    # Many blocks have the same primitives, which are a text until they are asked for.
    alike = Counter(seen.primitives for _docname, _block, seen in shown_blocks(session, pages))
    numbers: Counter[str] = Counter()
    for primitives, blocks in alike.items():
        for name in _named(primitives.split("\n")):
            numbers[name] += blocks
    return {name: numbers[name] for name in sorted(numbers, key=_in_order)}


def _named(primitives: Iterable[str]) -> Iterator[str]:
    """Those with a name: a primitive may be called anything, also nothing."""
    return filter(str.strip, primitives)


def _in_order(primitive: str) -> tuple[str, str]:
    return primitive.lower(), primitive


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
