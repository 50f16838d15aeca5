"""The domain ``jaxpr``: what all pages ask for, kept across builds and processes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from sphinx import addnodes
from sphinx.builders import Builder
from sphinx.domains import ObjType
from sphinx.environment import BuildEnvironment
from sphinx.errors import NoUri

from ...program.text import place
from ...tracing.jobs import SCHEMA
from ..config import ProjectSettings
from ..links import ShownIds, link
from ..pages import PageDomain, data_version_of
from ..records import (
    Asked,
    Block,
    BlockOnPage,
    CodePart,
    CodeSpan,
    DirectiveRecord,
    Finding,
    LeftOut,
    NamedLine,
    Note,
    PageRecords,
    Pasted,
    PrimitiveList,
    ShowRecord,
    Statement,
    packed,
    unpacked,
)
from .names.appearances import Appearance, Appearances
from .names.project import ProjectNames
from .names.tags import are_met, every_kind

if TYPE_CHECKING:
    from sphinx.util.typing import RoleFunction

    from .build import RunningBuild
    from .session import BuildSession


class JaxprDomain(PageDomain):
    """What pages ask for, by page.

    ``settings`` are those of conf.py, from the event ``builder-inited`` on.  ``build`` has the
    parts of the running build, and ``ids`` those that its trees show.  ``early`` is the session
    that began a worker while pages are read.  ``index_pages`` puts together the pages that an
    index of primitives links to, with what their template shows; they differ if
    ``index_digest`` does.
    """

    name = "jaxpr"
    label = "jaxpr"
    object_types: ClassVar[dict[str, ObjType]] = {"block": ObjType("block", "ref")}
    initial_data: ClassVar[dict[str, Any]] = {
        "pages": {},  # packed, see records.py
        "judged": "",  # see verdicts.py
        "seal": "",
    }
    sealed_alone = frozenset({"judged"})
    data_version = SCHEMA + data_version_of(  # requests are kept as their JSON
        *(PageRecords, DirectiveRecord, Block, Asked, Pasted, Note),
        *(PrimitiveList, Statement, Finding, ShowRecord, NamedLine, CodePart, CodeSpan, LeftOut),
    )
    settings: ProjectSettings
    owner: int  # the process that reads pages, or starts those that do
    _records: dict[str, PageRecords] | None = None  # of all pages, once unpacked

    def setup(self) -> None:
        """Start without a build."""
        super().setup()
        self.build: RunningBuild | None = None
        self.early: BuildSession | None = None
        self.ids = ShownIds()
        self.index_digest = ""
        self.index_pages: Callable[[], dict[str, dict[str, object]]] | None = None
        self._objects: dict[str, BlockOnPage] | None = None
        self._noted: list[Finding] = []  # of the page that is read
        self.reported: list[Finding] = []  # by this build, about all pages

    def role(self, name: str) -> RoleFunction | None:
        """A role, also for a name that is near that of one: the role then has a finding."""
        role = super().role(name)
        if role is None:
            from ..reading.roles import misspelt  # few pages have one

            role = misspelt(name)
        return role

    def begin(self, build: RunningBuild) -> None:
        """Note the build that runs."""
        self.build = build
        self.ids = build.ids
        self.index_pages = None
        self._objects = None

    @property
    def records(self) -> dict[str, PageRecords]:
        """The records of each page that has any, by the names of the pages."""
        if self._records is None:
            pages: dict[str, bytes] = self.data["pages"]
            self._records = {docname: unpacked(pages[docname]) for docname in sorted(pages)}
        return self._records

    @property
    def all_directives(self) -> dict[str, list[DirectiveRecord]]:
        """The directives of each page that has any, in the order of the page."""
        return {
            docname: list(page.directives)
            for docname, page in self.records.items()
            if page.directives
        }

    def directives_of(self, docname: str) -> tuple[DirectiveRecord, ...]:
        """The directives of a page; those of others stay packed."""
        if self._records is not None:
            page = self._records.get(docname)
        else:
            data = self.data["pages"].get(docname)
            page = unpacked(data) if data is not None else None
        return page.directives if page is not None else ()

    def get_objects(self) -> Iterable[tuple[str, str, str, str, str, int]]:
        """Blocks with an explicit name that this build shows, for inventories and the search."""
        appearances = self.appearances
        for name, target in self.objects.items():
            appearance = appearances.main(target)
            if appearance is not None:
                yield name, name, "block", *appearance, 1

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: addnodes.pending_xref,
        contnode: nodes.Element,
    ) -> list[tuple[str, nodes.reference]]:
        """Blocks with a name for the whole project, for ``any`` and Markdown links."""
        if target not in self.objects:
            return []
        appearances = self.appearances.nearest(fromdocname, self.objects[target])
        for docname, identity in appearances:
            identity = self.ids.of_block(docname, identity)
            reference = link(builder, fromdocname, docname, identity, contnode)
            if reference is not None:
                return [("jaxpr:ref", reference)]
        raise NoUri(appearances[0].page, "jaxpr")  # so that Sphinx keeps the bare words

    @property
    def objects(self) -> dict[str, BlockOnPage]:
        """The block of each object; collected once a build, for all links."""
        if self._objects is None or self.build is None:
            self._objects = {}
            appearances = self.appearances
            directives: dict[str, tuple[str, DirectiveRecord]] = {}
            for docname, directive in self.ordered():
                if self.build and not are_met(directive.only, self.app.tags):
                    continue
                if directive.explicit:
                    directives.setdefault(directive.name, (docname, directive))
            for docname, directive in directives.values():
                for block in directive.blocks:
                    if appearances.of(docname, block):
                        target = BlockOnPage(docname, directive, block)
                        self._objects.setdefault(block.name, target)
        return self._objects

    @property
    def appearances(self) -> Appearances:
        """Where blocks appear: in the running build, or while there is none, in any."""
        if self.build is not None:
            return self.build.appearances
        shows = {docname: list(page.shows) for docname, page in self.records.items()}
        return Appearances(ProjectNames(self.all_directives), shows)

    def ids_on(self, docname: str) -> dict[str, str]:
        """The ids of the blocks that a page shows, by name; those that this build shows first."""
        ids: dict[str, str] = {}
        views = self.appearances.pages.get(docname, [])
        for directive in (*views, *self.directives_of(docname)):
            for block in directive.blocks:
                if block.is_shown:
                    ids.setdefault(block.name, block.identity)
        return ids

    def addresses(self, docname: str) -> list[tuple[str, Appearance]]:
        """Where links of a page lead that have no role of ours, by the names in them."""
        page = self.records.get(docname)
        names = [name for name in page.links if name in self.objects] if page else []
        return [(name, self.appearances.nearest(docname, self.objects[name])[0]) for name in names]

    def ordered(self) -> Iterator[tuple[str, DirectiveRecord]]:
        """All directives of the project, by the names of the pages."""
        for docname, page in self.records.items():
            for directive in page.directives:
                yield docname, directive

    def note(self, findings: list[Finding]) -> None:
        """Note findings about the page that is read, before all of it is collected."""
        self._noted = findings

    def keep(self, docname: str, page: PageRecords) -> None:
        """Store what a page asks for, until it is read again or removed."""
        page = page._replace(findings=(*self._noted, *page.findings))
        self._noted = []
        if any(page):
            self.data["pages"][docname] = packed(page)
        self.pages_changed()

    def pages_changed(self) -> None:
        """Unpack the records again when they are next needed."""
        self._records = None

    def visible_lists(self, tags: Any) -> dict[str, list[PrimitiveList]]:
        """The lists of primitives that this build shows, by page."""
        return {
            docname: [listing for listing in page.lists if are_met(listing.only, tags)]
            for docname, page in self.records.items()
            if page.lists
        }

    def reading_findings(self) -> list[Finding]:
        """The findings from reading the pages, beside those about blocks."""
        return [finding for page in self.records.values() for finding in page.findings]

    def findings_of(self, docname: str) -> list[Finding]:
        """What this build reported about a page: about a file whose text is on it."""
        page = self.records.get(docname, PageRecords())
        kinds = (page.directives, page.shows, page.statements, page.named, page.code)
        sources = {record.source for records in (*kinds, page.findings) for record in records}
        return [finding for finding in self.reported if finding.source in sources]

    def visible(self, tags: Any) -> dict[str, list[DirectiveRecord]]:
        """The directives that this build shows, without those in a false ``only``.

        ``tags`` may be those of several builders.
        """
        return {
            docname: [directive for directive in page.directives if are_met(directive.only, tags)]
            for docname, page in self.records.items()
            if page.directives
        }

    def visible_directives(self, tags: Any, docname: str) -> list[DirectiveRecord]:
        """The directives of one page that are shown; ``tags`` may be those of several builders."""
        directives = self.directives_of(docname)
        return [directive for directive in directives if are_met(directive.only, tags)]

    def visible_statements(
        self, tags: Any, pages: Iterable[str] | None = None
    ) -> dict[str, list[Statement]]:
        """The statements that this build shows, by page; those of some pages, or of all."""
        return {
            docname: [each for each in self.records[docname].statements if are_met(each.only, tags)]
            for docname in (self.records if pages is None else pages)
            if docname in self.records and self.records[docname].statements
        }

    def visible_shows(self, tags: Any) -> dict[str, list[ShowRecord]]:
        """The blocks that this build shows by ``jaxpr-show``, by page."""
        return {
            docname: [show for show in page.shows if are_met(show.only, tags)]
            for docname, page in self.records.items()
            if page.shows
        }

    def visible_anywhere(self, tags: Any) -> dict[str, list[DirectiveRecord]]:
        """The directives that some builder shows, with the other tags of this build."""
        return self.visible(every_kind(tags))

    def _line_of(self, directive: DirectiveRecord) -> str:
        source = directive.source
        if "docstring of" not in source:
            source = os.path.relpath(source, self.env.srcdir)
        return place(source, directive.line)

    def name_clashes(self) -> list[Finding]:
        """Names that two directives claim for the whole project."""
        first: dict[str, tuple[str, DirectiveRecord]] = {}
        findings = []
        for docname, directive in self.ordered():
            if not directive.explicit:
                continue
            if directive.name not in first:
                first[directive.name] = (docname, directive)
                continue
            other_page, other = first[directive.name]
            if _same_directive(directive, other) and docname != other_page:
                continue
            findings.append(
                Finding(
                    "option",
                    f"name {directive.name!r} is also used at {self._line_of(other)};"
                    " a name holds for the whole project",
                    directive.source,
                    directive.line,
                )
            )
        return findings


def _same_directive(first: DirectiveRecord, other: DirectiveRecord) -> bool:
    """Whether two are one: a docstring that autodoc shows twice, or a file included twice."""
    # Autodoc may name the file of the module that re-exports the object.
    documented = {directive.source.rpartition(":docstring of ")[1:] for directive in (first, other)}
    if len(documented) == 1 and all(documented.pop()):
        return _asked(first) == _asked(other)
    digests = [[block.digest for block in directive.blocks] for directive in (first, other)]
    return first.source == other.source and first.line == other.line and digests[0] == digests[1]


def _asked(directive: DirectiveRecord) -> list[str]:
    """The requests of a docstring, whatever module it is shown in."""
    digests = []
    for block in directive.blocks:
        request = block.request
        if request is not None:
            path = request.target.rpartition(":")[2]
            request = dataclasses.replace(request, target=path, around=(), bare=False)
        digests.append(request.digest if request is not None else "")
    return digests
