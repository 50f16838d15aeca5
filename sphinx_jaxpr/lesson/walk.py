"""The post-transform that shows paths: their lists, and at each lesson what leads on."""

from __future__ import annotations

from typing import Any, Final, cast

from docutils import nodes
from sphinx import addnodes

from ..ext.pages import PageTransform
from .domain import LessonDomain
from .nodes import element, is_interactive, lesson_steps, words
from .paths import Paths, Position

#: Formats that put all pages into one document, where the order itself leads on.
_ONE_DOCUMENT: Final = ("latex", "man", "texinfo")


class ShowPaths(PageTransform):
    """Replaces every ``lesson_steps``, and ends lessons with links to their neighbours."""

    of = "lesson"
    default_priority = 8  # before references are resolved

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        builder = self.app.builder
        if builder.name == "gettext":
            return
        self.domain = cast(LessonDomain, self.env.get_domain("lesson"))
        self.paths = Paths(self.env, self.domain)
        for node in list(self.document.findall(lesson_steps)):
            node.replace_self(self.listed(node))
        if builder.format in _ONE_DOCUMENT or builder.name == "singlehtml":
            return
        for position in self.paths.positions.get(self.env.docname, ()):
            self.document += self.way(position)

    def listed(self, node: lesson_steps) -> list[nodes.Node]:
        """The lessons of a path in order."""
        page, path = node["lesson"], node["path"]
        lessons = self.paths.lessons(path)
        links = [nodes.paragraph("", "", self.link(page, name)) for name in lessons]
        if not links:
            return []
        if not is_interactive(self.app.builder):
            rows = nodes.enumerated_list(enumtype="arabic", prefix="", suffix=".")
            rows += [nodes.list_item("", link) for link in links]
            return [rows]
        items = [
            element("li", "step", link, data_lesson=name)
            for name, link in zip(lessons, links, strict=True)
        ]
        return [element("div", "path", element("ol", "steps", *items), **self.data(lessons))]

    def way(self, position: Position) -> nodes.Node:
        """What stands at the end of a lesson: where one is, the lesson before, the one after."""
        here = self.env.docname
        place = f", lesson {position.place + 1} of {len(position.lessons)}"
        line: list[nodes.Node] = [self.link(here, position.page), nodes.Text(place)]
        steps: list[list[nodes.Node]] = [
            [nodes.Text(f"{what}: "), self.link(here, name)]
            for what, name in (("Previous", position.previous), ("Next", position.next))
            if name
        ]
        if not is_interactive(self.app.builder):
            parts = [line, *steps]
            return nodes.compound("", *(nodes.paragraph("", "", *part) for part in parts))
        shown = [nodes.paragraph("", "", *part) for part in steps]
        if position.next:
            shown[-1]["classes"].append("lesson-next")
        title = self.env.titles.get(position.page)
        return element(
            "nav",
            "nav",
            nodes.paragraph("", "", words("place", *line)),
            element("div", "ways", *shown),
            aria_label=title.astext() if title else "Lessons",
            **self.data(position.lessons),
        )

    def data(self, lessons: tuple[str, ...]) -> dict[str, str]:
        """By what the script counts along a path, where there is something to count."""
        keys = self.paths.keys(lessons)
        return {"data_project": self.config.project, "data_path": keys} if keys else {}

    def link(self, page: str, name: str) -> addnodes.pending_xref:
        """A link to a page that shows its title, which Sphinx resolves."""
        shown = nodes.inline("", "", classes=["xref", "std", "std-doc"])
        return addnodes.pending_xref(
            "",
            shown,
            refdomain="std",
            reftype="doc",
            reftarget=f"/{name}",
            refdoc=page,
            refexplicit=False,
            refwarn=False,
        )
