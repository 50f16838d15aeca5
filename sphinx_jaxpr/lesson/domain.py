"""The domain ``lesson``: what all pages have of lessons, kept across builds and processes."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any, ClassVar

from docutils import nodes
from sphinx.domains import Domain

from ..ext.records import Finding
from . import checklist
from .nodes import lesson_checklist, lesson_reveal
from .records import Lesson


class LessonDomain(Domain):
    """Parts by page; directives and roles are registered for themselves."""

    name = "lesson"
    label = "lesson"
    initial_data: ClassVar[dict[str, Any]] = {"lessons": {}, "findings": {}}
    data_version = 1

    def clear_doc(self, docname: str) -> None:
        """Forget a page that is read again or gone."""
        for kept in self.data.values():
            if isinstance(kept, dict):
                kept.pop(docname, None)

    def merge_domaindata(self, docnames: Set[str], otherdata: dict[str, Any]) -> None:
        """Take over what another process read."""
        for kind in self.initial_data:
            for docname in docnames & set(otherdata[kind]):
                self.data[kind][docname] = otherdata[kind][docname]

    @property
    def lessons(self) -> dict[str, Lesson]:
        """The pages that have parts."""
        found: dict[str, Lesson] = self.data["lessons"]
        return found

    @property
    def has_parts(self) -> bool:
        """Whether any page has something of ours to show."""
        return bool(self.lessons)

    def findings(self) -> Iterator[Finding]:
        """What was wrong with directives when their pages were read, page by page."""
        for docname in sorted(self.data["findings"]):
            yield from self.data["findings"][docname]

    def collect(self, docname: str, doctree: nodes.document) -> None:
        """Note the parts of a page that was read."""
        parts = [node for node in doctree.findall(nodes.Element) if is_part(node)]
        findings = [found for node in parts for found in node.attributes.pop("findings", ())]
        questions: dict[str, str] = {}
        for node in parts:
            node["lesson"] = docname
            if node.get("question") and node["ids"]:
                questions.setdefault(node["question"], node["ids"][0])
        items, stray = checklist.collect(doctree)
        if parts:
            self.lessons[docname] = Lesson(items, tuple(questions.items()))
        if findings or stray:
            self.data["findings"][docname] = [*findings, *stray]


def is_part(node: nodes.Element) -> bool:
    """Whether a node is a part of a lesson."""
    kinds = (lesson_reveal, lesson_checklist)
    return isinstance(node, kinds) or "lesson-goal" in node.get("classes", ())
