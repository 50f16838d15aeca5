"""Lists of primitives: the domain's index, and the nodes of ``jaxpr-glossary`` as lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains import Index, IndexEntry
from sphinx.environment import BuildEnvironment

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

if TYPE_CHECKING:
    from ...program.glossary.glossary import Entry

#: The heading of names that do not begin with a letter.
_OTHER = "Symbols"


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


class PrimitiveIndex(Index):
    """``jaxpr-primitives``: a page of its own where the builder has such, and a label."""

    name = "primitives"
    localname = "Index of primitives"
    shortname = "primitives"

    def generate(
        self, docnames: Iterable[str] | None = None
    ) -> tuple[list[tuple[str, list[IndexEntry]]], bool]:
        """The primitives by their first letter; nothing where no block shows any."""
        domain: Any = self.domain  # ours, which names this class
        build: RunningBuild | None = domain.build
        if build is None:
            return [], False
        app: Sphinx = domain.app
        pages = domain.visible(app.tags)
        if docnames is not None:
            wanted = set(docnames)
            pages = {docname: page for docname, page in pages.items() if docname in wanted}
        letters: dict[str, list[IndexEntry]] = {}
        primitives = uses_of_primitives(build.session, pages)
        is_html = app.builder.format == "html"
        # Definitions are read from a file: not for a book, nor where nothing needs them.
        definitions = build.meanings.glossary.entries(primitives) if primitives and is_html else {}
        for name, uses in primitives.items():
            letter = name[0].upper() if name[0].isalpha() else _OTHER
            entries = letters.setdefault(letter, [])
            if is_html:
                entries.extend(_entries(definitions.get(name), app.env, name, uses))
            else:  # on paper once for each block
                entries.extend(
                    IndexEntry(name, 0, docname, block.identity, block.name, "", "")
                    for docname, block in uses
                )
        return list(letters.items()), False


def _entries(
    entry: Entry | None, env: BuildEnvironment, name: str, uses: list[tuple[str, Block]]
) -> Iterator[IndexEntry]:
    """One primitive with all its blocks below it."""
    yield IndexEntry(name, 1, "", "", "", "", entry.meaning if entry else "")
    for docname, block in uses:
        title = env.titles.get(docname)
        page = title.astext() if title is not None else docname
        yield IndexEntry(block.name, 2, docname, block.identity, page, "", "")


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
