"""Paths: the position of each lesson in them, and the post-transform that shows them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment

from ..ext.api import PageTransform, translator
from .domain import LessonDomain
from .nodes import element, is_interactive, lesson_steps, words
from .records import Lesson, Path

_ = translator("sphinx_jaxpr")


@dataclass(frozen=True)
class Position:
    """The position of a lesson in a path: the path's page, its lessons, the lesson's index."""

    page: str
    lessons: tuple[str, ...]
    index: int

    @property
    def previous(self) -> str:
        """The lesson before, or ``""``."""
        return self.lessons[self.index - 1] if self.index else ""

    @property
    def next(self) -> str:
        """The lesson after, or ``""``."""
        return self.lessons[self.index + 1] if self.index + 1 < len(self.lessons) else ""


class LessonPaths:
    """The paths of a project, without the pages that don't exist."""

    def __init__(self, env: BuildEnvironment, domain: LessonDomain) -> None:
        self.env = env
        self.domain = domain

    def lessons(self, path: Path) -> tuple[str, ...]:
        """The pages of a path that exist, in order."""
        return tuple(step.docname for step in path.steps if step.docname in self.env.found_docs)

    @cached_property
    def positions(self) -> dict[str, list[Position]]:
        """The positions of each lesson, one for each path that names it."""
        positions: dict[str, list[Position]] = {}
        for page, paths in sorted(self.domain.paths.items()):
            for path in paths:
                lessons = self.lessons(path)
                for index, lesson in enumerate(lessons):
                    positions.setdefault(lesson, []).append(Position(page, lessons, index))
        return positions

    def keys(self, lessons: tuple[str, ...]) -> str:
        """The items of all lessons of a path, as JSON for the script."""
        by_lesson = {name: self.domain.lessons.get(name, Lesson()).keys for name in lessons}
        by_lesson = {name: keys for name, keys in by_lesson.items() if keys}
        return json.dumps(by_lesson) if by_lesson else ""

    def digests(self) -> dict[str, str]:
        """A digest, for each page, of the titles and items that it shows of others."""
        by_page: dict[str, str] = {}
        for lesson, positions in self.positions.items():
            parts = [part for position in positions for part in self._parts(position)]
            by_page[lesson] = repr(parts)
        for page, paths in self.domain.paths.items():
            lists = [self.lessons(path) for path in paths]
            parts = [part for names in lists for part in (*names, self.keys(names))]
            by_page[page] = f"{by_page.get(page, '')} {parts}"
        return by_page

    def _parts(self, position: Position) -> Iterator[str]:
        yield from (position.page, str(position.index), self.keys(position.lessons))
        for name in (position.page, position.previous, position.next):
            yield name
            yield self.env.titles[name].astext() if name in self.env.titles else ""


#: Formats that combine all pages in one document, where the next lesson simply follows.
_ONE_DOCUMENT: Final = ("latex", "man", "texinfo")


class ShowPaths(PageTransform):
    """Replaces every ``lesson_steps``, and ends lessons with links to their neighbours.

    For browsers a path becomes::

        <lesson_element tag="div" classes="lesson-path" attributes="data-project, data-path">
            <lesson_element tag="ol" classes="lesson-steps">
                <lesson_element tag="li" classes="lesson-step" attributes="data-lesson">
                    <paragraph>
                        <pending_xref reftype="doc" ...>

    and a numbered list in other formats.
    """

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
        """The end of a lesson: its number in the path, the lessons before and after."""
        here = self.env.docname
        number = _(", lesson {number} of {count}").format(
            number=position.index + 1, count=len(position.lessons)
        )
        line: list[nodes.Node] = [self.link(here, position.page), nodes.Text(number)]
        neighbours = ((_("Previous"), position.previous), (_("Next"), position.next))
        steps: list[list[nodes.Node]] = [
            [nodes.Text(f"{label}: "), self.link(here, name)] for label, name in neighbours if name
        ]
        if not is_interactive(self.app.builder):
            parts = [line, *steps]
            return nodes.compound("", *(nodes.paragraph("", "", *part) for part in parts))
        ways = [nodes.paragraph("", "", *step) for step in steps]
        if position.next:
            ways[-1]["classes"].append("lesson-next")
        title = self.env.titles.get(position.page)
        return element(
            "nav",
            "nav",
            nodes.paragraph("", "", words("place", *line)),
            element("div", "ways", *ways),
            aria_label=title.astext() if title else _("Lessons"),
            **self.data(position.lessons),
        )

    def data(self, lessons: tuple[str, ...]) -> dict[str, str]:
        """The data for the script to count ticks along a path; empty if it has no items."""
        keys = self.paths.keys(lessons)
        return {"data_project": self.config.project, "data_path": keys} if keys else {}

    def link(self, page: str, name: str) -> addnodes.pending_xref:
        """A link to a page by its title; Sphinx resolves it."""
        return addnodes.pending_xref(
            "",
            nodes.inline("", "", classes=["xref", "std", "std-doc"]),
            refdomain="std",
            reftype="doc",
            reftarget=f"/{name}",
            refdoc=page,
            refexplicit=False,
            refwarn=False,
        )
