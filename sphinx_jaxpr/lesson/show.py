"""The post-transforms that put parts into pages."""

from __future__ import annotations

from typing import Any, Final

from docutils import nodes

from ..ext.api import BlockIndex, PageTransform
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

#: For each kind of question: its name, and what its fold says while closed.
LABELS: Final = {
    "predict": ("Predict", "Then look"),
    "check": ("Check yourself", "Show the answer"),
}
ANSWER: Final = "Answer"


class ShowReveals(PageTransform):
    """Questions become folds where there is a browser; elsewhere the answer follows."""

    domain_name = "lesson"
    default_priority = 4  # before blocks, which may stand in answers

    def run(self, **kwargs: Any) -> None:
        """Replace every ``lesson_reveal``."""
        if self.app.builder.name == "gettext":
            return
        show = _fold if is_interactive(self.app.builder) else _paragraphs
        # Inner ones first: an answer may ask again.
        for node in reversed(list(self.document.findall(lesson_reveal))):
            node.replace_self(show(node))


def _fold(node: lesson_reveal) -> list[nodes.Node]:
    # The question is no part of the fold's button: it may hold links.
    question, *answer = node.children
    label, ask = LABELS[node["kind"]]
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
    label, _ = LABELS[node["kind"]]
    assert isinstance(question, nodes.Element)
    question.insert(0, [nodes.strong("", f"{label}:"), nodes.Text(" ")])
    told = nodes.paragraph("", "", nodes.strong("", f"{ANSWER}:"))
    if answer and isinstance(answer[0], nodes.paragraph):
        first = answer.pop(0)
        told += [nodes.Text(" "), *first.children]
    target = [nodes.target("", "", ids=node["ids"])] if node["ids"] else []
    return [*target, question, told, *answer]


class ShowChecklists(PageTransform):
    """Items get the marks by which the script knows them; elsewhere they are a list."""

    domain_name = "lesson"
    default_priority = 8  # after blocks, whose ids may have become others

    def run(self, **kwargs: Any) -> None:
        """Replace every ``lesson_checklist`` and the roles in it."""
        if self.app.builder.name == "gettext":
            return
        for node in list(self.document.findall(lesson_checklist)):
            interactive = is_interactive(self.app.builder)
            node.replace_self(self.shown(node) if interactive else self.plain(node))
        for stray in list(self.document.findall(lesson_auto)):
            stray.replace_self([])

    def plain(self, node: lesson_checklist) -> list[nodes.Node]:
        """The list, its items as their authors wrote them."""
        for item in _items(node):
            del item["lesson_key"]
            self.fill(item, "")
        return node.children

    def shown(self, node: lesson_checklist) -> list[nodes.Node]:
        """The list, each item with its key and with what completes it."""
        page = node["lesson"]
        for item in _items(node):
            own = autos_of(item)
            identity = self.identity(page, own[0]) if own else ""
            self.fill(item, identity)
            known = {"data_key": item["lesson_key"], "data_watch": identity}
            known = {key: value for key, value in known.items() if value}
            item.replace_self(element("li", "item", *item.children, **known))
        for rows in [one for one in node.children if isinstance(one, nodes.bullet_list)]:
            rows.replace_self(element("ul", "items", *rows.children))
        return [element("div", "checklist", *node.children, **self.mine(page))]

    def mine(self, page: str) -> dict[str, str]:
        """By what the script finds a lesson's ticks."""
        return {"data_project": self.config.project, "data_lesson": page}

    def identity(self, page: str, node: lesson_auto) -> str:
        """The id of what completes an item, or ``""``."""
        auto = auto_of(node)
        if auto.verb == "open":
            return BlockIndex(self.env).shown_id(page, auto.target)
        lessons = LessonDomain.of(self.env).lessons
        questions = dict(lessons.get(page, Lesson()).questions)
        return questions.get(auto.target, "") if auto.verb == VERBS[1] else ""

    def fill(self, item: nodes.Element, identity: str) -> None:
        """Take the role out; an item that says nothing else says what it is."""
        for node in autos_of(item):
            auto = auto_of(node)
            found: list[nodes.Node] = []
            if not item.astext().strip():
                name: nodes.Node = nodes.literal(auto.target, auto.target)
                if identity:
                    name = nodes.reference("", "", name, internal=True, refid=identity)
                found = [nodes.Text(f"{auto.verb.capitalize()} "), name]
            after = node.next_node(descend=False, siblings=True)
            if isinstance(after, nodes.Text) and not found:
                after.parent.replace(after, nodes.Text(after.lstrip()))
            node.replace_self(found)


def _items(node: nodes.Element) -> list[nodes.list_item]:
    return [item for item in node.findall(nodes.list_item) if "lesson_key" in item]
