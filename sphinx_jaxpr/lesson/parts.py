"""Directives for what a lesson aims at and asks: ``lesson-goal``, ``-predict``, ``-check``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from ..ext.options import AnyOption
from ..ext.place import Place, locate
from ..ext.records import Finding
from ..tracing.grammar import nearest
from .nodes import lesson_reveal

GOAL: Final = "Goal"


def of_options(directive: SphinxDirective, place: Place, known: Sequence[str]) -> list[Finding]:
    """What is wrong with the options of a directive."""
    listed = f"known: {', '.join(known)}" if known else "it takes none"
    return [
        Finding(
            "option",
            f"{directive.name}: unknown option {option!r}{nearest(option, known)} ({listed})",
            place.source,
            place.option(option),
        )
        for option in directive.options
        if option not in known
    ]


class Part(SphinxDirective):
    """A directive whose mistakes are findings of its page, told by every build."""

    has_content = True
    option_spec: ClassVar[Any] = AnyOption()
    known: ClassVar[tuple[str, ...]] = ()

    def begin(self) -> None:
        """Note where the directive stands, and its options."""
        self.place = locate(self)
        self.findings = of_options(self, self.place, self.known)

    def tell(self, message: str, kind: str = "part", line: int = 0) -> None:
        """Add a finding at a line, else at the directive."""
        place = self.place
        self.findings.append(
            Finding(kind, f"{self.name} {message}", place.source, line or place.line)
        )

    def signed(self, node: nodes.Element, children: Iterable[nodes.Node]) -> nodes.Element:
        """A node that says where it is from and what is wrong with it."""
        node.source, node.line = self.place.source, self.place.line
        node["findings"] = self.findings
        node += list(children)
        return node


class LessonGoal(Part):
    """What the reader can do afterwards: an admonition, which every theme and format knows."""

    def run(self) -> list[nodes.Node]:
        """Leave one admonition."""
        self.begin()
        if not any(line.strip() for line in self.content):
            self.tell("is empty; write what the reader can do afterwards")
        node = nodes.admonition(classes=["lesson-goal"])
        body = self.parse_content_to_nodes()
        return [self.signed(node, [nodes.title("", GOAL, translatable=False), *body])]


class Reveal(Part):
    """A question whose answer the reader asks for.

    The question is the argument, or else the body's first paragraph: Markdown lets no
    backtick stand behind a fence of backticks.
    """

    optional_arguments = 1
    final_argument_whitespace = True
    known = ("name",)
    kind: ClassVar[str]
    answer: ClassVar[str]

    def run(self) -> list[nodes.Node]:
        """Leave one ``lesson_reveal``."""
        self.begin()
        node = lesson_reveal(kind=self.kind)
        name = self.options.get("name", "").strip()
        if name:
            self.options["name"] = name
            node["question"] = name
            self.add_name(node)
        text = " ".join(self.arguments[0].split()) if self.arguments else ""
        inline, messages = self.parse_inline(text, lineno=self.lineno)
        body = self.parse_content_to_nodes()
        question: nodes.Node = nodes.paragraph(text, "", *inline)
        question.source, question.line = self.place.source, self.place.line
        if not text and body and isinstance(body[0], nodes.paragraph):
            question = body.pop(0)
        if not question.children:
            where = "on the directive's own line, or as the first paragraph of its body"
            self.tell(f"has no question; write it {where}")
        elif not body:
            self.tell(f"has no answer; its body is {self.answer}")
        return [self.signed(node, [question, *body]), *messages]


class LessonPredict(Reveal):
    """Predict first, then look."""

    kind = "predict"
    answer = "what is revealed"


class LessonCheck(Reveal):
    """A question to check oneself with."""

    kind = "check"
    answer = "what is shown when asked"
