"""Finds the files and exact lines of directives and roles."""

from __future__ import annotations

import itertools
import os
import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from docutils import nodes
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from ...program.text import in_cell
from ..nodes import jaxpr_statement

# --- directives: the file, the line, the lines as the author wrote them

_OPTION = re.compile(r"^[\s>]*:?(?P<key>[\w-]+):(?:\s+(?P<value>.*))?$")
_BLOCK_SCALAR = re.compile(r"[|>][-+\d]*(\s+#.*)?")
_REACH = (0, -1, 1, -2, 2)  # myst-parser 4 is off by one in included files


@dataclass(frozen=True)
class SourceSpan:
    """Where a directive was written: its file and line.

    ``lines`` are the author's own, from the directive's first line on; empty if there is
    no file to read, as for a docstring.  ``markdown`` is true if MyST reads it.
    """

    source: str
    line: int
    lines: tuple[str, ...]
    markdown: bool

    def option(self, key: str) -> int:
        """The line where an option's value begins, or the directive's own."""
        for offset, (name, raw) in self.options().items():
            if name == key:
                return self.line + offset + self._below(offset, raw)
        return self.line

    def _below(self, offset: int, raw: str) -> int:
        """How many lines below its key a value begins."""
        if not (_BLOCK_SCALAR.fullmatch(raw) if self.markdown else not raw):
            return 0
        following = self.lines[offset + 1 :]
        blank = next((n for n, line in enumerate(following) if line.strip()), None)
        if blank is None or _OPTION.match(following[blank]) or not following[blank][:1].isspace():
            return 0
        return 1 + blank

    def options(self) -> dict[int, tuple[str, str]]:
        """Option lines as written: offset from the directive's line -> key, raw value."""
        return self._options

    @cached_property
    def _options(self) -> dict[int, tuple[str, str]]:
        options: dict[int, tuple[str, str]] = {}
        block = False
        for offset, line in enumerate(self.lines[1:], 1):
            text = line.strip(" >\t")
            if self.markdown and text == "---":
                if block:
                    break
                block = True
                continue
            match = _OPTION.match(line)
            if match and (block or text.startswith(":")) and not text.startswith(":::"):
                options[offset] = (match["key"], (match["value"] or "").strip())
            elif not block and not self._continues(line):
                break
        return options

    def _continues(self, line: str) -> bool:
        """Whether a line may continue an option's value (in rST), or the argument."""
        return not self.markdown and bool(line.strip())

    def body(self) -> int:
        """The offset of the first line after the options."""
        last = max(self.options(), default=0)
        if self.markdown and len(self.lines) > 1 and self.lines[1].strip(" >\t") == "---":
            for offset, line in enumerate(self.lines[2:], 2):
                if line.strip(" >\t") == "---":
                    return offset + 1
        return last + 1

    def stray(self) -> int:
        """The offset of the first line among MyST's options that isn't one; 0 if all are."""
        options = self.options()
        inside = enumerate(self.lines[1 : self.body()], 1)
        lines = ((offset, line.strip(" >\t")) for offset, line in inside if offset not in options)
        strays = (
            offset
            for offset, text in lines
            if text not in ("", "---") and not (text[0] == "#" or self._is_indented(offset))
        )
        return next(strays, 0)

    def _is_indented(self, offset: int) -> bool:
        return self.lines[offset].lstrip(">")[:1].isspace()

    def content(self, lines: Sequence[str]) -> int:
        """The line of the file at which a directive's content, as parsed, begins."""
        written = self.lines[self.body() :]
        skipped = next((n for n, line in enumerate(written) if line.strip(" >\t")), 0)
        ahead = next((n for n, line in enumerate(lines) if line.strip()), 0)
        return self.line + self.body() + skipped - ahead


def is_markdown(directive: SphinxDirective) -> bool:
    """Whether MyST runs the directive."""
    return type(directive.state).__module__.partition(".")[0] == "myst_parser"


def locate(directive: SphinxDirective) -> SourceSpan:
    """The position of a directive, in the included file if it comes from one."""
    source, line = directive.get_source_info()
    if os.path.exists(source):
        source = os.path.abspath(source)  # docutils names an included file from the current folder
    markdown = is_markdown(directive)
    line += _shift(directive.env, source, line)
    lines, first = lines_at(source, line)
    for shift in _REACH:
        start = line - first + shift
        if 0 <= start < len(lines) and directive.name in lines[start]:
            return SourceSpan(source, line + shift, lines[start : start + 200], markdown)
    return SourceSpan(source, line, (), markdown)


def _shift(env: BuildEnvironment, source: str, line: int) -> int:
    """How far a line of a page is behind the one that MyST-NB takes it for.

    MyST-NB reads a page cell by cell, each from the line in its ``source_map`` on, but without
    the blank lines at its beginning; and it counts lines of Markdown from 2.
    """
    if os.path.abspath(env.doc2path(env.docname)) != source:
        return 0
    cells = env.metadata[env.docname].get("source_map")
    if not isinstance(cells, list):
        return -1 if in_cell(source, line) else 0
    start = max((first for first in cells if first < line), default=0)
    written = itertools.islice(lines_of(source), start, None)
    return sum(1 for _ in itertools.takewhile(lambda text: not text.strip(), written)) - 1


_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_DOCSTRING = re.compile(r":docstring of ([\w.]+)$")


def documented(directive: SphinxDirective, source: str) -> str:
    """The subject of a docstring, as ``module:object`` or a module; ``""`` for other texts.

    Autodoc names the object in the source of its text, by the module that defines it, and
    has imported that module.  Other tools write the signature alone, under a module that
    may only re-export the object.
    """
    if match := _DOCSTRING.search(source):
        parts = match[1].split(".")
        for count in range(len(parts), 0, -1):
            if (name := ".".join(parts[:count])) in sys.modules:
                return f"{name}:{'.'.join(parts[count:])}".rstrip(":")
        return ""
    context = directive.env.ref_context
    module = context.get("py:module") or ""
    described = directive.env.temp_data.get("object") or context.get("py:class") or ""
    # Before Sphinx 8.2, the name in a signature of Python is a pair with that of its class.
    name = str(described[0] if isinstance(described, tuple) else described)
    if not name or not _DOTTED.fullmatch(name):
        return ""
    if not module:  # the signature has the whole name
        module, _, name = name.rpartition(".")
    return f"{module}:{name}" if module else ""


def lines_at(source: str, line: int) -> tuple[tuple[str, ...], int]:
    """The lines of the file, or of the notebook's cell, that has a line; the first's number."""
    if not source.endswith(".ipynb"):
        return lines_of(source), 1
    from .notebooks.lines import cell_lines  # few projects have notebooks

    return cell_lines(source, line)


def lines_of(source: str) -> tuple[str, ...]:
    """The lines of a file; none if it can't be read."""
    try:
        state = os.stat(source)
    except (OSError, ValueError):  # of a path that no file can have
        return ()
    return _read(source, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read(source: str, mtime: int, size: int) -> tuple[str, ...]:
    try:
        with open(source, encoding="utf-8", errors="replace") as file:
            # Not splitlines: to parsers and editors a form feed doesn't end a line.
            return tuple(file.read().split("\n"))
    except OSError:
        return ()


# --- roles: parsers know the line of the paragraph, which may be long

#: The beginning of a continued line: indentation, quotes, borders of tables.
_BETWEEN = r"[ \t]*(?:[ \t|]*\n[\s>|]*)?"


def find_lines(
    doctree: nodes.document, kind: type[nodes.Element] = jaxpr_statement
) -> list[nodes.Element]:
    """Set ``source`` and ``line`` of all roles of a kind, and return them in the page's order.

    ``kind`` is the node that the role leaves, with the role as written in ``raw``.  Each is
    searched for from the line of its block on; the same text again is the next match.
    """
    env = getattr(doctree.settings, "env", None)  # of a doctree that Sphinx reads
    texts: dict[tuple[str, int], _File] = {}
    literals: list[nodes.literal] = []
    roles: list[nodes.Element] = []
    for node in doctree.findall(lambda node: isinstance(node, (kind, nodes.literal))):
        if isinstance(node, nodes.literal):
            if "`" in node.astext():  # it may show a role as it is written
                literals.append(node)
            continue
        assert isinstance(node, kind)
        roles.append(node)
        source, line = _position(node)
        line += _shift(env, source, line) if env is not None else 0
        lines, first = lines_at(source, line)
        if (source, first) not in texts:
            slack = _slack() if source != doctree.get("source") else 0
            texts[source, first] = _File("\n".join(lines), slack)
        offset = texts[source, first].line_of(node, line - first + 1, literals) - 1
        node.source, node.line = source, first + offset
    return roles


def _slack() -> int:
    """How far above its block's line a role of an included file may be."""
    version = str(getattr(sys.modules.get("myst_parser"), "__version__", "5"))
    return 2 if version.startswith("4.") else 0  # the line is off by one


@dataclass
class _File:
    """A text that is searched for roles; empty if there is no file."""

    text: str
    slack: int
    after: dict[str, int] = field(default_factory=dict)  # by text: where its last match ends
    passed: dict[str, int] = field(default_factory=dict)  # by text: literals above that match
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
        beside = [x for x in literals[self.passed.get(raw, 0) :] if x.parent is node.parent]
        texts = [literal.astext() for literal in beside]
        skipped = sum(len(pattern.findall(text)) for text in texts)
        first = self.starts[min(max(line - self.slack, 1), len(self.starts)) - 1]
        behind = self.after.get(raw, 0)
        match = _nth(pattern, self.text, max(first, behind), skipped)
        match = match or pattern.search(self.text, behind)
        if not match:
            return line
        self.after[raw], self.passed[raw] = match.end(), len(literals)
        return bisect_right(self.starts, match.start())

    def _above(self, node: nodes.Element, raw: str) -> int:
        """Without a file: how many lines of the paragraph are above the role."""
        parent: nodes.Element = node.parent
        while isinstance(parent, nodes.Inline) and parent.parent is not None:
            parent = parent.parent
        text = parent.rawsource
        key = (id(parent), raw)
        match = _pattern(raw).search(text, self.above.get(key, 0))
        if match is None:
            return 0
        self.above[key] = match.end()
        return text.count("\n", 0, match.start())


def _nth(pattern: re.Pattern[str], text: str, start: int, skipped: int) -> re.Match[str] | None:
    """The match after ``skipped`` others."""
    match = pattern.search(text, start)
    for _ in range(skipped):
        match = match and (pattern.search(text, match.end()) or match)
    return match


def _position(node: nodes.Element) -> tuple[str, int]:
    """The parser's file and line; for a translated text, those of the original."""
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


#: A backquote of a role; in the words of another one rST has backslashes before it.
_QUOTE = r"\\*`"


def _pattern(raw: str) -> re.Pattern[str]:
    """A pattern for a role in either syntax, over several lines, in a quotation."""
    match = _ROLE.fullmatch(raw)
    before, text, after = match.groups() if match else (None, raw, None)
    words = _BETWEEN.join(re.escape(word).replace("`", _QUOTE) for word in text.split())
    name = rf"(?::{re.escape(before)}:|\{{{re.escape(before)}\}})" if before else ""
    end = f":{re.escape(after)}:" if after else ""
    return re.compile(rf"{name}(?:{_QUOTE})+[ ]?{words}\s*{_QUOTE}{end}")
