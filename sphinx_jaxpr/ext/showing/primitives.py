"""Lists of primitives: which blocks use each, and the nodes of ``jaxpr-glossary`` as lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from docutils import nodes

from ...program.html.definitions import listed
from ...tracing.store import Seen
from ..judging.build import RunningBuild
from ..judging.names.appearances import FigureOnPage
from ..judging.session import BuildSession
from ..judging.start import running
from ..links import link
from ..locale import _
from ..nodes import jaxpr_primitives
from ..pages import PageTransform
from ..records import PrimitiveList


def shown_blocks(
    session: BuildSession, figures: Iterable[FigureOnPage]
) -> Iterator[tuple[FigureOnPage, Seen]]:
    """The figures of blocks that have an outcome.  No result is read."""
    for figure in figures:
        if (outcome := session.outcome(figure.block)) is not None:
            yield figure, outcome.seen


def uses_of_primitives(
    session: BuildSession, figures: Iterable[FigureOnPage]
) -> dict[str, list[FigureOnPage]]:
    """For each primitive, in order, the figures of blocks that use it."""
    uses: dict[str, list[FigureOnPage]] = {}
    for figure, seen in shown_blocks(session, figures):
        for name in _named(seen.names):
            uses.setdefault(name, []).append(figure)
    return {name: uses[name] for name in sorted(uses, key=_in_order)}


def numbers_of_uses(session: BuildSession, figures: Iterable[FigureOnPage]) -> dict[str, int]:
    """For each primitive, in order, the number of blocks that use it."""
    # Many blocks have the same primitives, which are a text until they are asked for.
    alike = Counter(seen.primitives for _figure, seen in shown_blocks(session, figures))
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
        appearances = build.appearances
        figures = appearances.on(page) if listing.scope == "page" else appearances.once()
        primitives = uses_of_primitives(build.session, figures)
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
        uses: list[FigureOnPage],
    ) -> nodes.definition_list_item:
        """One primitive: what it means, and links to the blocks that use it."""
        entry = build.meanings.glossary.entry(name)
        term = nodes.term("", "", nodes.literal(name, name), ids=[identity])
        meaning = nodes.paragraph("", entry.meaning if entry else _("No definition is known."))
        if entry is not None and entry.kind != "custom":
            meaning += nodes.Text(f" ({entry.kind})")
        used = nodes.paragraph("", _("Used in "))
        for index, figure in enumerate(uses):
            if index:
                used += nodes.Text(", ")
            label = nodes.literal(figure.block.name, figure.block.name)
            used += self.link(build, page, figure, label)
        used += nodes.Text(".")
        return nodes.definition_list_item("", term, nodes.definition("", meaning, used))

    def link(
        self, build: RunningBuild, page: str, figure: FigureOnPage, label: nodes.literal
    ) -> nodes.Node:
        """A link on ``page`` to the nearest figure of the same block, or else the label."""
        target = build.appearances.declared(figure)
        for docname, identity in build.appearances.nearest(page, target) if target else ():
            shown_id = build.ids.of_block(docname, identity)
            reference = link(self.app.builder, page, docname, shown_id, label)
            if reference is not None:
                return reference
        return label
