"""The post-transforms that put parts into pages."""

from __future__ import annotations

from typing import Any, Final

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from .nodes import element, is_interactive, lesson_reveal, words

#: For each kind of question: its name, and what its fold says while closed.
LABELS: Final = {
    "predict": ("Predict", "Then look"),
    "check": ("Check yourself", "Show the answer"),
}
ANSWER: Final = "Answer"


class ShowReveals(SphinxPostTransform):
    """Questions become folds where there is a browser; elsewhere the answer follows."""

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
    question, *answer = node.children
    label, ask = LABELS[node["kind"]]
    assert isinstance(question, nodes.Element)
    summary = element(
        "summary",
        "question",
        words("label", nodes.Text(label)),
        nodes.Text(" "),
        words("asked", *question.children),
        nodes.Text(" "),
        words("ask", nodes.Text(ask)),
    )
    fold = element("details", node["kind"], summary, element("div", "answer", *answer))
    fold["ids"] = node["ids"]
    return [fold]


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
