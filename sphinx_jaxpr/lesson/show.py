"""The post-transforms that put parts into pages."""

from __future__ import annotations

from typing import Any

from docutils import nodes

from ..ext.api import PageTransform, ProjectBlocks, translator
from .directives import VERBS, auto_of, autos_of
from .domain import LessonDomain
from .nodes import (
    element,
    is_interactive,
    lesson_auto,
    lesson_checklist,
    lesson_reveal,
)
from .records import Lesson

_ = translator("sphinx_jaxpr")


def _labels(kind: str) -> tuple[str, str]:
    """The name of a kind of question, and the label of its closed fold."""
    if kind == "predict":
        return _("Predict"), _("Then look")
    return _("Check yourself"), _("Show the answer")


class ShowReveals(PageTransform):
    """Questions become folds in browsers; elsewhere the answer follows the question.

    For browsers a question becomes::

        <lesson_element tag="div" classes="lesson-predict" attributes="role, aria-label">
            <paragraph classes="lesson-label">
            <paragraph classes="lesson-asked">
            <lesson_element tag="details" classes="lesson-fold">
                <lesson_element tag="summary" classes="lesson-ask">
                <lesson_element tag="div" classes="lesson-answer">
                    ...
    """

    domain_name = "lesson"
    default_priority = 4  # before blocks, which answers may contain

    def run(self, **kwargs: Any) -> None:
        """Replace every ``lesson_reveal``."""
        if self.app.builder.name == "gettext":
            return
        show = _fold if is_interactive(self.app.builder) else _paragraphs
        # Inner ones first: an answer may contain a question.
        for node in reversed(list(self.document.findall(lesson_reveal))):
            node.replace_self(show(node))


def _fold(node: lesson_reveal) -> list[nodes.Node]:
    # Outside the fold's button, since a question may contain links.
    question, *answer = node.children
    label, ask = _labels(node["kind"])
    assert isinstance(question, nodes.Element)
    question["classes"].append("lesson-asked")
    summary = element("summary", "ask", nodes.Text(ask))
    box = element(
        "div",
        node["kind"],
        nodes.paragraph("", label, classes=["lesson-label"]),
        question,
        element("details", "fold", summary, element("div", "answer", *answer)),
        role="group",
        aria_label=label,
    )
    box["ids"] = node["ids"]
    return [box]


def _paragraphs(node: lesson_reveal) -> list[nodes.Node]:
    question, *answer = node.children
    label = _labels(node["kind"])[0]
    assert isinstance(question, nodes.Element)
    question.insert(0, [nodes.strong("", f"{label}:"), nodes.Text(" ")])
    answer_label = _("Answer")
    lead = nodes.paragraph("", "", nodes.strong("", f"{answer_label}:"))
    if answer and isinstance(answer[0], nodes.paragraph):
        first = answer.pop(0)
        lead += [nodes.Text(" "), *first.children]
    target = [nodes.target("", "", ids=node["ids"])] if node["ids"] else []
    return [*target, question, lead, *answer]


class ShowChecklists(PageTransform):
    """Items get attributes for the script; without a browser they are a plain list.

    For browsers a checklist becomes::

        <lesson_element tag="div" classes="lesson-checklist" attributes="data-project, data-lesson">
            <lesson_element tag="ul" classes="lesson-items">
                <lesson_element tag="li" classes="lesson-item" attributes="data-key, data-watch">
                    ...
    """

    domain_name = "lesson"
    default_priority = 8  # after blocks, whose ids may change

    def run(self, **kwargs: Any) -> None:
        """Replace every ``lesson_checklist`` and the roles in it."""
        if self.app.builder.name == "gettext":
            return
        for node in list(self.document.findall(lesson_checklist)):
            interactive = is_interactive(self.app.builder)
            node.replace_self(self.interactive(node) if interactive else self.plain(node))
        for stray in list(self.document.findall(lesson_auto)):
            stray.replace_self([])

    def plain(self, node: lesson_checklist) -> list[nodes.Node]:
        """The list, its items as their authors wrote them."""
        for item in _items(node):
            del item["lesson_key"]
            self.fill(item, "")
        return node.children

    def interactive(self, node: lesson_checklist) -> list[nodes.Node]:
        """The list, each item with its key and the id of what ticks it."""
        page = node["lesson"]
        for item in _items(node):
            own = autos_of(item)
            identity = self.identity(page, own[0]) if own else ""
            self.fill(item, identity)
            data = {"data_key": item["lesson_key"], "data_watch": identity}
            data = {key: value for key, value in data.items() if value}
            item.replace_self(element("li", "item", *item.children, **data))
        for rows in [child for child in node.children if isinstance(child, nodes.bullet_list)]:
            rows.replace_self(element("ul", "items", *rows.children))
        return [element("div", "checklist", *node.children, **self.data(page))]

    def data(self, page: str) -> dict[str, str]:
        """The names under which the script stores a lesson's ticks."""
        return {"data_project": self.config.project, "data_lesson": page}

    def identity(self, page: str, node: lesson_auto) -> str:
        """The id of the block or question that ticks an item, or ``""``."""
        auto = auto_of(node)
        if auto.verb == "open":
            return ProjectBlocks(self.env).shown_id(page, auto.target)
        lessons = LessonDomain.of(self.env).lessons
        questions = dict(lessons.get(page, Lesson()).questions)
        return questions.get(auto.target, "") if auto.verb == VERBS[1] else ""

    def fill(self, item: nodes.Element, identity: str) -> None:
        """Remove the role; an item without other words gets some from the role."""
        for node in autos_of(item):
            auto = auto_of(node)
            words: list[nodes.Node] = []
            if not item.astext().strip():
                name: nodes.Node = nodes.literal(auto.target, auto.target)
                if identity:
                    name = nodes.reference("", "", name, internal=True, refid=identity)
                verbs = {"open": _("Open"), "answer": _("Answer")}
                verb = verbs.get(auto.verb, auto.verb.capitalize())
                words = [nodes.Text(f"{verb} "), name]
            after = node.next_node(descend=False, siblings=True)
            if isinstance(after, nodes.Text) and not words:
                after.parent.replace(after, nodes.Text(after.lstrip()))
            node.replace_self(words)


def _items(node: nodes.Element) -> list[nodes.list_item]:
    return [item for item in node.findall(nodes.list_item) if "lesson_key" in item]
