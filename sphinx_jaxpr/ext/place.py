"""Where a directive stands: its file, its line, the lines as the author wrote them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

_OPTION = re.compile(r"^[\s>]*:?(?P<key>[\w-]+):(?:\s+(?P<value>.*))?$")
_BLOCK_SCALAR = re.compile(r"[|>][-+\d]*(\s+#.*)?")
_REACH = (0, -1, 1, -2, 2)  # myst-parser 4 is off by one in included files


@dataclass(frozen=True)
class Place:
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


def locate(directive: SphinxDirective) -> Place:
    """The place of a directive, in its own file where it was included."""
    source, line = directive.get_source_info()
    if os.path.exists(source):
        source = os.path.abspath(source)  # docutils names an included file from the current folder
    markdown = is_markdown(directive)
    lines = lines_of(source)
    for shift in _REACH:
        start = line - 1 + shift
        if 0 <= start < len(lines) and directive.name in lines[start]:
            return Place(source, line + shift, lines[start : start + 200], markdown)
    return Place(source, line, (), markdown)


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
