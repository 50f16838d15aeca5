"""Where a directive stands: its file, its line, the lines as the author wrote them."""

from __future__ import annotations

import os
import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from ..nodes import jaxpr_statement

# --- where a directive stands: its file, its line, the lines as the author wrote them

_OPTION = re.compile(r"^[\s>]*:?(?P<key>[\w-]+):(?:\s+(?P<value>.*))?$")
_BLOCK_SCALAR = re.compile(r"[|>][-+\d]*(\s+#.*)?")
_REACH = (0, -1, 1, -2, 2)  # myst-parser 4 is off by one in included files


@dataclass(frozen=True)
class SourceSpan:
    """The source of one directive.

    ``lines`` are the author's own, from the directive's first line on; empty
    where there is no file to read (a docstring).
    """

    source: str
    line: int
    lines: tuple[str, ...]
    markdown: bool

    def option(self, key: str) -> int:
        """The line where an option's value begins, or the directive's own."""
        for offset, (found, raw) in self.options().items():
            if found == key:
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
        found: dict[int, tuple[str, str]] = {}
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
                found[offset] = (match["key"], (match["value"] or "").strip())
            elif not block and not self._continues(line):
                break
        return found

    def _continues(self, line: str) -> bool:
        """Whether a line may go on with an option's value (rST), or the argument."""
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
        """The offset of the first line among MyST's options that begins none, 0 without one."""
        known = self.options()
        inside = enumerate(self.lines[1 : self.body()], 1)
        lines = ((offset, line.strip(" >\t")) for offset, line in inside if offset not in known)
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
    """The place of a directive, in its own file where it was included."""
    source, line = directive.get_source_info()
    if os.path.exists(source):
        source = os.path.abspath(source)  # docutils names an included file from the current folder
    markdown = is_markdown(directive)
    lines = lines_of(source)
    for shift in _REACH:
        start = line - 1 + shift
        if 0 <= start < len(lines) and directive.name in lines[start]:
            return SourceSpan(source, line + shift, lines[start : start + 200], markdown)
    return SourceSpan(source, line, (), markdown)


_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_DOCSTRING = re.compile(r":docstring of ([\w.]+)$")


def documented(directive: SphinxDirective, source: str) -> str:
    """What a text is about, as ``module:object``, or a module; ``""`` where it is no docstring.

    Autodoc names the object in the source of its text, by the module that defines it, and
    has imported that module.  Other tools write the signature alone, under a module that
    may only re-export the object.
    """
    found = _DOCSTRING.search(source)
    if found:
        parts = found[1].split(".")
        for count in range(len(parts), 0, -1):
            if (name := ".".join(parts[:count])) in sys.modules:
                return f"{name}:{'.'.join(parts[count:])}".rstrip(":")
        return ""
    context = directive.env.ref_context
    module = context.get("py:module") or ""
    name = directive.env.current_document.obj_desc_name or context.get("py:class") or ""
    if not name or not _DOTTED.fullmatch(name):
        return ""
    if not module:  # the signature has the whole name
        module, _, name = name.rpartition(".")
    return f"{module}:{name}" if module else ""


def lines_of(source: str) -> tuple[str, ...]:
    """The lines of a file, none where it can't be read."""
    path = Path(source)
    try:
        state = path.stat()
    except OSError:
        return ()
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, mtime: int, size: int) -> tuple[str, ...]:
    try:
        # Not by splitlines: a form feed ends no line for parsers and editors.
        return tuple(path.read_text("utf-8", errors="replace").split("\n"))
    except OSError:
        return ()


# --- the exact lines of roles: parsers know that of the paragraph, which may be long

#: What stands at the beginning of a continued line: indentation, quotes, borders of tables.
_BETWEEN = r"[ \t]*(?:[ \t|]*\n[\s>|]*)?"


def find_lines(
    doctree: nodes.document, kind: type[nodes.Element] = jaxpr_statement
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
