"""The exact lines of roles: parsers know that of the paragraph, which may be long."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from docutils import nodes

from .place import lines_of

#: How far above its block's line a role may stand: myst-parser 4 is off by one in includes.
_SLACK = 2
#: What stands at the beginning of a continued line: indentation, quotes.
_BETWEEN = r"[ \t]*(?:\n[\s>|]*)?"


def find_lines(quotes: Iterable[nodes.Element]) -> None:
    """Set ``source`` and ``line`` of nodes that are given in the order of the page.

    A role is searched in its file from its block's line on; the same text again is
    the next one in the file.
    """
    after: dict[tuple[str, str], int] = {}  # offset behind the last one of this text
    for node in quotes:
        source, line = _place(node)
        text = "\n".join(lines_of(source))
        if not text:
            node.source, node.line = source, line + _above(node)
            continue
        key = (source, node["raw"])
        pattern = _pattern(node["raw"])
        first = max(_offset(text, line - _SLACK), after.get(key, 0))
        found = pattern.search(text, first) or pattern.search(text, after.get(key, 0))
        if found:
            after[key] = found.end()
            line = text.count("\n", 0, found.start()) + 1
        node.source, node.line = source, line


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


def _above(node: nodes.Element) -> int:
    """Where there is no file: the lines of the paragraph above the role."""
    raw = node.parent.rawsource if isinstance(node.parent, nodes.Element) else ""
    at = raw.find(node["raw"])
    return raw.count("\n", 0, at) if at > 0 else 0


_ROLE = re.compile(r"(?::[^`]*:)?`(.*?)`(?::[^`]*:)?", re.DOTALL)


def _pattern(raw: str) -> re.Pattern[str]:
    """A role as it may stand in a file: in either syntax, over several lines, in a quotation."""
    match = _ROLE.fullmatch(raw)
    words = re.split(r"\s+", (match[1] if match else raw).strip())
    return re.compile(r"`+[ ]?" + _BETWEEN.join(map(re.escape, words)) + r"\s*`")


def _offset(text: str, line: int) -> int:
    """Where a line begins, counted from 1."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
        if not at:
            return len(text)
    return at
