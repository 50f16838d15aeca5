"""A Sphinx extension: the directive ``jaxpr-links`` lists the blocks of another page."""

from dataclasses import dataclass
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from sphinx_jaxpr.ext.api import (
    CheckedDirective,
    Finding,
    PageDomain,
    PageTransform,
    ProjectBlocks,
    data_version_of,
    link,
    nearest,
    register_node,
    report,
    writes_pages,
)


@dataclass(frozen=True)
class Listed:
    """The page that a directive lists, and where it was written."""

    page: str
    source: str
    line: int


class jaxpr_links(nodes.General, nodes.Element):
    """What the directive leaves until pages are written: its ``listed`` and ``findings``."""


class JaxprLinks(CheckedDirective):
    """The body is the name of a page."""

    def run(self) -> list[nodes.Node]:
        self.begin()
        self.check_myst_options()
        self.check_option_names()
        page = "".join(self.content).strip()
        listed = Listed(page, self.span.source, self.span.line)
        return [jaxpr_links(listed=listed, findings=self.findings)]


class LinksDomain(PageDomain):
    """What directives list, and what is wrong with them, by page."""

    name = "jaxpr-links"
    label = "links to blocks"
    initial_data: ClassVar[dict[str, Any]] = {"listed": {}, "findings": {}, "seal": ""}
    data_version = data_version_of(Listed, Finding)


class ShowLinks(PageTransform):
    """Replaces the nodes by links; blocks have their ids since priority 5."""

    default_priority = 9
    domain_name = "jaxpr-links"

    def run(self, **options: Any) -> None:
        """Of one page, when it is written."""
        blocks = ProjectBlocks(self.env)
        here = self.env.docname
        for node in list(self.document.findall(jaxpr_links)):
            page = node["listed"].page
            items = nodes.bullet_list()
            for name in blocks.ids(page):
                text, identity = nodes.Text(name), blocks.shown_id(page, name)
                linked = link(self.app.builder, here, page, identity, text) or text
                items += nodes.list_item("", nodes.paragraph("", "", linked))
            node.replace_self(items if items.children else [])


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """A page was read: keep what its directives say."""
    data, page = LinksDomain.of(app.env).data, app.env.docname
    for node in doctree.findall(jaxpr_links):
        data["listed"].setdefault(page, []).append(node["listed"])
        data["findings"].setdefault(page, []).extend(node.attributes.pop("findings"))


def update(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """All pages were read: report, and say which must be written again."""
    domain, blocks = LinksDomain.of(env), ProjectBlocks(env)
    findings = [each for page in domain.data["findings"].values() for each in page]
    shown = {}
    for page, listed in domain.data["listed"].items():
        for entry in listed:
            if entry.page not in env.found_docs:
                message = f"no page {entry.page!r}{nearest(entry.page, env.found_docs)}"
                findings.append(Finding("page", message, entry.source, entry.line))
        shown[page] = "".join(str(blocks.ids(entry.page)) for entry in listed)
    report(findings, str(app.srcdir), "jaxpr-links")
    return domain.outdated_pages(app, shown) if writes_pages(app.builder) else []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all of it."""
    register_node(app, jaxpr_links)
    LinksDomain.connect(app)
    app.add_directive("jaxpr-links", JaxprLinks)
    app.add_post_transform(ShowLinks)
    app.connect("doctree-read", collect)
    app.connect("env-updated", update, priority=600)  # after blocks have been traced
    return {"parallel_read_safe": True, "parallel_write_safe": True}
