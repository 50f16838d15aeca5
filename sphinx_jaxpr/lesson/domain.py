"""The domain ``lesson``: the parts of all pages, kept across builds and processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes

from ..ext.api import Finding, PageDomain, data_version_of
from . import directives
from .nodes import lesson_checklist, lesson_reveal, lesson_steps
from .records import Auto, ChecklistItem, Lesson, Path, PathStep


class LessonDomain(PageDomain):
    """The parts by page; directives and roles are registered separately."""

    name = "lesson"
    label = "lesson"
    initial_data: ClassVar[dict[str, Any]] = {
        "lessons": {},
        "paths": {},
        "findings": {},
        "terms": {},
        "uses": {},
        "seal": "",
    }
    data_version = data_version_of(Auto, Finding, ChecklistItem, Lesson, Path, PathStep)

    def setup(self) -> None:
        """Start without definitions."""
        super().setup()
        #: Definitions by page and anchor, loaded by the running build.
        self.glossaries: dict[str, dict[str, nodes.definition]] = {}

    @property
    def lessons(self) -> dict[str, Lesson]:
        """The pages that have parts."""
        lessons: dict[str, Lesson] = self.data["lessons"]
        return lessons

    @property
    def paths(self) -> dict[str, list[Path]]:
        """The pages that have paths."""
        paths: dict[str, list[Path]] = self.data["paths"]
        return paths

    @property
    def has_parts(self) -> bool:
        """Whether any page has a part or a card to show."""
        return bool(self.lessons or self.uses)

    @property
    def terms(self) -> dict[str, dict[str, str]]:
        """Digests of definitions by page and anchor."""
        terms: dict[str, dict[str, str]] = self.data["terms"]
        return terms

    @property
    def uses(self) -> dict[str, list[str]]:
        """The terms that each page links."""
        uses: dict[str, list[str]] = self.data["uses"]
        return uses

    def findings(self) -> Iterator[Finding]:
        """The findings of directives and roles, page by page."""
        for docname in sorted(self.data["findings"]):
            yield from self.data["findings"][docname]

    def collect(self, docname: str, doctree: nodes.document) -> None:
        """Keep the parts of a page that was read."""
        parts = [node for node in doctree.findall(nodes.Element) if is_part(node)]
        findings = [f for node in parts for f in node.attributes.pop("findings", ())]
        questions: dict[str, str] = {}
        for node in parts:
            node["lesson"] = docname
            if node.get("question") and node["ids"]:
                questions.setdefault(node["question"], node["ids"][0])
        if paths := [node["path"] for node in parts if isinstance(node, lesson_steps)]:
            self.paths[docname] = paths
        items, stray = directives.collect(doctree)
        if parts:
            self.lessons[docname] = Lesson(items, tuple(questions.items()))
        if findings or stray:
            self.data["findings"][docname] = [*findings, *stray]


def is_part(node: nodes.Element) -> bool:
    """Whether a node is a part of a lesson."""
    kinds = (lesson_reveal, lesson_checklist, lesson_steps)
    return isinstance(node, kinds) or "lesson-goal" in node.get("classes", ())
