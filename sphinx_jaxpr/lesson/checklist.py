"""``lesson-checklist`` and ``lesson-auto``: what a reader ticks, and what ticks itself."""

from __future__ import annotations

import hashlib
from typing import Final

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from ..ext.lines import find_lines
from ..ext.records import Finding
from .nodes import lesson_auto, lesson_checklist
from .parts import Part
from .records import Auto, Item

VERBS: Final = ("open", "answer")


class LessonChecklist(Part):
    """Around a bullet list; each of its items is one to tick."""

    def run(self) -> list[nodes.Node]:
        """Leave one ``lesson_checklist`` whose items have keys."""
        self.begin()
        body = self.parse_content_to_nodes()
        lists = [node for node in body if isinstance(node, nodes.bullet_list)]
        if not lists:
            self.tell("has no items; write them as a bullet list")
        for item in [item for one in lists for item in one.children]:
            # From the text as written: it is the same in all languages, and a new item
            # or another order costs no tick.
            if isinstance(item, nodes.list_item):
                item["lesson_key"] = key_of(item)
        return [self.signed(lesson_checklist(), body)]


def key_of(item: nodes.list_item) -> str:
    """A short name for an item by what it says."""
    own = [node["expression"] for node in autos_of(item)]
    text = " ".join([*own, item.astext()])
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:6]


def autos_of(item: nodes.Element) -> list[lesson_auto]:
    """The roles of an item itself, not of items below it."""
    found = item.findall(lesson_auto)
    return [node for node in found if _item_around(node) is item]


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


def collect(doctree: nodes.document) -> tuple[tuple[Item, ...], list[Finding]]:
    """The items of a page with keys of their own, and roles that belong to none."""
    autos = list(doctree.findall(lesson_auto))
    find_lines(doctree, lesson_auto)
    items: list[Item] = []
    used: list[lesson_auto] = []
    taken: set[str] = set()
    for checklist in doctree.findall(lesson_checklist):
        for item in checklist.findall(nodes.list_item):
            if "lesson_key" not in item:
                continue
            item["lesson_key"] = _unique(item["lesson_key"], taken)
            own = autos_of(item)[:1]
            used += own
            items.append(Item(item["lesson_key"], auto_of(own[0]) if own else None))
    stray = [
        Finding(
            "auto",
            f"lesson-auto {node['expression']!r} completes nothing: it begins an item of a"
            " lesson-checklist, one for each",
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
    found, count = key, 2
    while found in taken:
        found, count = f"{key}-{count}", count + 1
    taken.add(found)
    return found
