"""The post-transform that shows paths: their lists, and at each lesson what leads on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment

from ..ext.api import PageTransform
from .domain import LessonDomain
from .nodes import element, is_interactive, lesson_steps, words
from .records import Lesson, Path

# --- where each lesson stands in its paths


@dataclass(frozen=True)
class Position:
    """The place of a lesson in a path: the lessons of the path, and which of them it is."""

    page: str
    lessons: tuple[str, ...]
    place: int

    @property
    def previous(self) -> str:
        """The lesson before, or ``""``."""
        return self.lessons[self.place - 1] if self.place else ""

    @property
    def next(self) -> str:
        """The lesson after, or ``""``."""
        return self.lessons[self.place + 1] if self.place + 1 < len(self.lessons) else ""


class LessonPaths:
    """The paths of a project, of those pages that there are."""

    def __init__(self, env: BuildEnvironment, domain: LessonDomain) -> None:
        self.env = env
        self.domain = domain

    def lessons(self, path: Path) -> tuple[str, ...]:
        """The pages of a path that there are, in order."""
        return tuple(one.docname for one in path.steps if one.docname in self.env.found_docs)

    @cached_property
    def positions(self) -> dict[str, list[Position]]:
        """For each lesson its places, one in each path that names it."""
        found: dict[str, list[Position]] = {}
        for page, paths in sorted(self.domain.paths.items()):
            for path in paths:
                lessons = self.lessons(path)
                for place, lesson in enumerate(lessons):
                    found.setdefault(lesson, []).append(Position(page, lessons, place))
        return found

    def keys(self, lessons: tuple[str, ...]) -> str:
        """The items of all lessons of a path, for the script."""
        known = {name: self.domain.lessons.get(name, Lesson()).keys for name in lessons}
        known = {name: keys for name, keys in known.items() if keys}
        return json.dumps(known) if known else ""

    def digests(self) -> dict[str, str]:
        """For each page what it shows of others: their titles and their items."""
        found: dict[str, str] = {}
        for lesson, positions in self.positions.items():
            shown = [part for one in positions for part in self._shown(one)]
            found[lesson] = repr(shown)
        for page, paths in self.domain.paths.items():
            lists = [self.lessons(path) for path in paths]
            shown = [part for names in lists for part in (*names, self.keys(names))]
            found[page] = f"{found.get(page, '')} {shown}"
        return found

    def _shown(self, position: Position) -> Iterator[str]:
        yield from (position.page, str(position.place), self.keys(position.lessons))
        for name in (position.page, position.previous, position.next):
            yield name
            yield self.env.titles[name].astext() if name in self.env.titles else ""


# --- the post-transform that shows paths: their lists, and at each lesson what leads on

#: Formats that put all pages into one document, where the order itself leads on.
_ONE_DOCUMENT: Final = ("latex", "man", "texinfo")


class ShowPaths(PageTransform):
    """Replaces every ``lesson_steps``, and ends lessons with links to their neighbours."""

    domain_name = "lesson"
    default_priority = 8  # before references are resolved

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        builder = self.app.builder
        if builder.name == "gettext":
            return
        self.domain = LessonDomain.of(self.env)
        self.paths = LessonPaths(self.env, self.domain)
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
