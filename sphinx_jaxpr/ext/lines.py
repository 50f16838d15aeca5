"""The exact lines of roles: parsers know that of the paragraph, which may be long."""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from docutils import nodes

from .nodes import jaxpr_quote
from .place import lines_of

#: What stands at the beginning of a continued line: indentation, quotes, borders of tables.
_BETWEEN = r"[ \t]*(?:[ \t|]*\n[\s>|]*)?"


def find_lines(
    doctree: nodes.document, kind: type[nodes.Element] = jaxpr_quote
) -> list[nodes.Element]:
    """Set ``source`` and ``line`` of all roles of a kind; the roles, in the order of the page.

    A role is searched in its file from its block's line on; the same text again is
    the next one in the file.
    """
    pages: dict[str, _File] = {}
    literals: list[nodes.literal] = []
    found: list[nodes.Element] = []
    for node in doctree.findall(lambda node: isinstance(node, (kind, nodes.literal))):
        if isinstance(node, nodes.literal):
            if "`" in node.astext():  # it may show a role as it is written
                literals.append(node)
            continue
        assert isinstance(node, kind)
        found.append(node)
        source, line = _place(node)
        if source not in pages:
            slack = _slack() if source != doctree.get("source") else 0
            pages[source] = _File("\n".join(lines_of(source)), slack)
        node.source, node.line = source, pages[source].line_of(node, line, literals)
    return found


def _slack() -> int:
    """How far above its block's line a role of an included file may stand."""
    version = str(getattr(sys.modules.get("myst_parser"), "__version__", "5"))
    return 2 if version.startswith("4.") else 0  # which is off by one


@dataclass
class _File:
    """A text in which roles are looked for; empty where there is no file."""

    text: str
    slack: int
    after: dict[str, int] = field(default_factory=dict)  # offset behind the last one of a text
    passed: dict[str, int] = field(default_factory=dict)  # literals that are above it
    above: dict[tuple[int, str], int] = field(default_factory=dict)

    @cached_property
    def starts(self) -> list[int]:
        """Where the lines begin."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def line_of(self, node: nodes.Element, line: int, literals: list[nodes.literal]) -> int:
        """The line of a role whose block begins at ``line``."""
        raw = node["raw"]
        if not self.text:
            return line + self._above(node, raw)
        pattern = _pattern(raw)
        shown = literals[self.passed.get(raw, 0) :]
        texts = [one.astext() for one in shown if one.parent is node.parent]
        skipped = sum(len(pattern.findall(text)) for text in texts)
        first = self.starts[min(max(line - self.slack, 1), len(self.starts)) - 1]
        behind = self.after.get(raw, 0)
        found = _nth(pattern, self.text, max(first, behind), skipped)
        found = found or pattern.search(self.text, behind)
        if not found:
            return line
        self.after[raw], self.passed[raw] = found.end(), len(literals)
        return bisect_right(self.starts, found.start())

    def _above(self, node: nodes.Element, raw: str) -> int:
        """Where there is no file: the lines of the paragraph above the role."""
        parent: nodes.Element = node.parent
        while isinstance(parent, nodes.Inline) and parent.parent is not None:
            parent = parent.parent
        text = parent.rawsource
        key = (id(parent), raw)
        at = text.find(raw, self.above.get(key, 0))
        if at < 0:
            return 0
        self.above[key] = at + len(raw)
        return text.count("\n", 0, at)


def _nth(pattern: re.Pattern[str], text: str, start: int, skipped: int) -> re.Match[str] | None:
    """The match behind ``skipped`` others."""
    found = pattern.search(text, start)
    for _ in range(skipped):
        found = found and (pattern.search(text, found.end()) or found)
    return found


def _place(node: nodes.Element) -> tuple[str, int]:
    """The file and line that the parser gave; a text from a catalogue names the original's."""
    source, line = node.source or "", node.line
    parent = node.parent
    while parent is not None and (not source or line is None):
        source, line = source or parent.source or "", line if line is not None else parent.line
        parent = parent.parent
    if source.endswith(":<translated>"):
        source, _, number = source.removesuffix(":<translated>").rpartition(":")
        line = int(number) if number.isdecimal() else line
    if os.path.exists(source):
        source = os.path.abspath(source)
    return source, line or 1


_ROLE = re.compile(r"(?::([^`]*):)?`(.*?)`(?::([^`]*):)?", re.DOTALL)


def _pattern(raw: str) -> re.Pattern[str]:
    """A role as it may stand in a file: in either syntax, over several lines, in a quotation."""
    match = _ROLE.fullmatch(raw)
    before, text, after = match.groups() if match else (None, raw, None)
    words = _BETWEEN.join(map(re.escape, text.split()))
    name = rf"(?::{re.escape(before)}:|\{{{re.escape(before)}\}})" if before else ""
    return re.compile(rf"{name}`+[ ]?{words}\s*`{f':{re.escape(after)}:' if after else ''}")
