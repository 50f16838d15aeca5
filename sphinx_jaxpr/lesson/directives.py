"""The directives of lessons, and the role ``lesson-auto``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import ClassVar, Final

from docutils import nodes
from sphinx import addnodes
from sphinx.util import docname_join
from sphinx.util.docutils import SphinxRole

from ..ext.api import CheckedDirective, Finding, find_lines, translator
from .nodes import lesson_auto, lesson_checklist, lesson_reveal, lesson_steps
from .records import Auto, ChecklistItem, Path, PathStep

_ = translator("sphinx_jaxpr")

# --- goals and questions: ``lesson-goal``, ``lesson-predict``, ``lesson-check``


class LessonPart(CheckedDirective):
    """A directive whose node carries its findings, see ``LessonDomain.collect``."""

    def begin(self) -> None:
        """Locate the directive in its file, and check its options."""
        super().begin()
        self.check_option_names()

    def reject(self, message: str, kind: str = "part", line: int = 0) -> None:
        """Add a finding about the directive's content."""
        self.add_finding(f"{self.name} {message}", kind, line=line)

    def with_findings(self, node: nodes.Element, children: Iterable[nodes.Node]) -> nodes.Element:
        """The node with its children, its source and the findings."""
        node.source, node.line = self.span.source, self.span.line
        node["findings"] = self.findings
        node += list(children)
        return node


class LessonGoal(LessonPart):
    """The goal of a lesson, as an admonition, which every theme and format knows.

    Leaves in the doctree::

        <admonition classes="lesson-goal" findings="...">
            <title translatable="False">
                Goal
            <paragraph>
                ...
    """

    def run(self) -> list[nodes.Node]:
        """Leave one admonition."""
        self.begin()
        if not any(line.strip() for line in self.content):
            self.reject("is empty; write what the reader can do afterwards")
        node = nodes.admonition(classes=["lesson-goal"])
        body = self.parse_content_to_nodes()
        return [self.with_findings(node, [nodes.title("", _("Goal"), translatable=False), *body])]


class Reveal(LessonPart):
    """A question whose answer the reader asks for.

    The question is the argument, or else the body's first paragraph: Markdown doesn't allow
    backticks after a fence of backticks.  Leaves in the doctree::

        <lesson_reveal kind="predict" question="how-many" ids="how-many" findings="...">
            <paragraph>
                the question
            ... the answer
    """

    optional_arguments = 1
    final_argument_whitespace = True
    option_names = ("name",)
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
        question.source, question.line = self.span.source, self.span.line
        if not text and body and isinstance(body[0], nodes.paragraph):
            question = body.pop(0)
        if not question.children:
            where = "on the directive's own line, or as the first paragraph of its body"
            self.reject(f"has no question; write it {where}")
        elif not body:
            self.reject(f"has no answer; its body is {self.answer}")
        return [self.with_findings(node, [question, *body]), *messages]


class LessonPredict(Reveal):
    """Predict first, then look."""

    kind = "predict"
    answer = "what is revealed"


class LessonCheck(Reveal):
    """A question for readers to check themselves."""

    kind = "check"
    answer = "what is shown on demand"


# --- ``lesson-checklist`` and ``lesson-auto``: items to tick, and those that tick themselves

VERBS: Final = ("open", "answer")


class LessonChecklist(LessonPart):
    """A bullet list with items to tick.  Leaves in the doctree::

    <lesson_checklist findings="...">
        <bullet_list>
            <list_item lesson_key="3f2a91">
                ...
    """

    def run(self) -> list[nodes.Node]:
        """Leave one ``lesson_checklist`` whose items have keys."""
        self.begin()
        body = self.parse_content_to_nodes()
        lists = [node for node in body if isinstance(node, nodes.bullet_list)]
        if not lists:
            self.reject("has no items; write them as a bullet list")
        for item in [item for bullets in lists for item in bullets.children]:
            # From the text as written, which is the same in all languages: neither a new
            # item nor another order loses a tick.
            if isinstance(item, nodes.list_item):
                item["lesson_key"] = key_of(item)
        return [self.with_findings(lesson_checklist(), body)]


def key_of(item: nodes.list_item) -> str:
    """A short key for an item, from its text."""
    own = [node["expression"] for node in autos_of(item)]
    text = " ".join([*own, item.astext()])
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:6]


def autos_of(item: nodes.Element) -> list[lesson_auto]:
    """The roles of an item itself, not of items nested in it."""
    return [node for node in item.findall(lesson_auto) if _item_around(node) is item]


def _item_around(node: nodes.Node) -> nodes.Node | None:
    parent = node.parent
    while parent is not None and not isinstance(parent, nodes.list_item):
        parent = parent.parent
    return parent


class LessonAuto(SphinxRole):
    """``open BLOCK`` or ``answer QUESTION``, at the beginning of an item."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave one ``lesson_auto``."""
        expression = " ".join(self.text.split())
        node = lesson_auto(self.rawtext, "", expression=expression)
        node["raw"] = self.rawtext
        node.source, node.line = self.get_source_info()
        return [node], []


def collect(doctree: nodes.document) -> tuple[tuple[ChecklistItem, ...], list[Finding]]:
    """The items of a page with unique keys, and a finding for each role outside them."""
    autos = list(doctree.findall(lesson_auto))
    find_lines(doctree, lesson_auto)
    items: list[ChecklistItem] = []
    used: list[lesson_auto] = []
    taken: set[str] = set()
    for checklist in doctree.findall(lesson_checklist):
        for item in checklist.findall(nodes.list_item):
            if "lesson_key" not in item:
                continue
            item["lesson_key"] = _unique(item["lesson_key"], taken)
            own = autos_of(item)[:1]
            used += own
            items.append(ChecklistItem(item["lesson_key"], auto_of(own[0]) if own else None))
    stray = [
        Finding(
            "auto",
            f"lesson-auto {node['expression']!r} has no effect here: use it once at the beginning"
            " of an item of a lesson-checklist",
            str(node.source),
            node.line or 1,
        )
        for node in autos
        if node not in used
    ]
    return tuple(items), stray


def auto_of(node: lesson_auto) -> Auto:
    """The record of a role."""
    verb, _, target = node["expression"].partition(" ")
    return Auto(verb, target, str(node.source), node.line or 1)


def _unique(key: str, taken: set[str]) -> str:
    unique, count = key, 2
    while unique in taken:
        unique, count = f"{key}-{count}", count + 1
    taken.add(unique)
    return unique


# --- ``lesson-path``: lessons in their order

_BULLET: Final = re.compile(r"^(?:[-*+]|\d+[.)])\s+")


class LessonPath(LessonPart):
    """One page name a line, as in a toctree; bullets and numbers are allowed.

    Leaves in the doctree::

        <lesson_steps path="Path(...)" findings="...">
        <compound classes="toctree-wrapper">
            <toctree hidden="True" ...>
    """

    def run(self) -> list[nodes.Node]:
        """Leave a hidden toctree, so that Sphinx orders the pages, and the list to show."""
        self.begin()
        page = self.env.docname
        first = self.first_line()
        steps: list[PathStep] = []
        for number, line in enumerate(self.content):
            written = _BULLET.sub("", line.strip())
            if not written:
                continue
            step = PathStep(self.docname(page, written), written, first + number)
            if problem := self.problem(step, page, steps):
                self.reject(f"lists {written!r}, {problem}", "path", step.line)
                continue
            steps.append(step)
        if not steps:
            self.reject("is empty; write the name of a page on each line", "path")
        path = Path(tuple(steps), self.span.source, self.span.line)
        # The list first: if pages are combined, they replace the toctree.
        return [self.with_findings(lesson_steps(path=path), []), self.toctree(page, path)]

    def problem(self, step: PathStep, page: str, before: list[PathStep]) -> str:
        """Why a page can't be a lesson of the path, or ``""``."""
        if step.docname == page:
            return "which is this page itself"
        if step.docname == self.config.root_doc:  # Sphinx would follow the toctrees endlessly
            return "which is the root of all pages"
        listed = any(step.docname == other.docname for other in before)
        return "which is listed already" if listed else ""

    def docname(self, page: str, written: str) -> str:
        """The page that a line names, relative to the path's own page."""
        for suffix in self.config.source_suffix:
            written = written.removesuffix(suffix)
        return docname_join(page, written)

    def toctree(self, page: str, path: Path) -> nodes.Node:
        """A hidden toctree as Sphinx's directive creates it; ``ShowPaths`` shows the list."""
        names = [step.docname for step in path.steps if step.docname in self.env.found_docs]
        tree = addnodes.toctree(
            parent=page,
            entries=[(None, name) for name in names],
            includefiles=names,
            maxdepth=1,
            caption=None,
            glob=False,
            hidden=True,
            includehidden=False,
            numbered=0,
            titlesonly=True,
        )
        tree.source, tree.line = path.source, path.line
        return nodes.compound("", tree, classes=["toctree-wrapper"])
