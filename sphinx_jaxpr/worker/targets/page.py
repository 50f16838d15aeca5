"""The code of pages as modules, which Python's import system finds and runs like any other."""

from __future__ import annotations

import ast
import importlib.machinery
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.machinery import ModuleSpec
from json import dumps
from types import CodeType, ModuleType
from typing import Any, Final

from ...tracing.jobs import (
    PAGE,
    CodeToRun,
    digest_of,
    first_lines,
    is_page_code,
    module_name,
    public,
)
from ...tracing.result import Reply, Result, TraceError, relocated, relocated_error


class Unshared(Exception):
    """A module that several requests would share can't be used; each has to run its own code."""


class PageCode:
    """The code that requests brought, by the name of its module; one of Python's finders."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[str, ...]] = {}
        self.shared: dict[str, tuple[str, CodeToRun]] = {}  # by the digest in requests
        self.failed: set[str] = set()  # shared modules that can't be run

    def install(self) -> None:
        """Let imports find the modules; once per process."""
        sys.meta_path.insert(0, self)

    def add(self, code: str, to_run: CodeToRun) -> None:
        """Note what to run for the code that a request names by its digest."""
        name = module_name(digest_of(to_run.parts))
        if name in self.failed:
            to_run = to_run.alone
            name = module_name(code)
        self.parts[name] = to_run.parts
        self.shared[code] = name, to_run

    def module_of(self, code: str) -> str:
        """The name of the module that has the code of a request."""
        return self.shared[code][0]

    def load(self, code: str, load: Callable[[str], ModuleType]) -> ModuleType:
        """The module with the code of a request; raises what the code does.

        Raises :class:`Unshared` where that may be the fault of code that others share.
        """
        name, to_run = self.shared[code]
        try:
            return load(name)
        except Exception as error:
            if not to_run.is_shared:
                raise
            self.failed.add(name)
            raise Unshared("the code of its page fails for another block") from error

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module of a page, if there is one of that name."""
        parts = self.parts.get(name) if is_page_code(name) else None
        if parts is None:
            return None
        spec = ModuleSpec(name, _Loader(name, parts), origin=name)
        spec.has_location = True  # so that the module has a ``__file__``
        return spec

    # -- the lines of a module that several requests share

    def relocated(self, reply: Reply, code: str) -> Reply:
        """A reply with lines of the request's own code, in which the module is ``<page>``.

        Raises :class:`Unshared` where a line belongs to code that the request does not name.
        """
        lines = _Lines(*self.shared[code])
        error = lines.error(reply.error) if reply.error is not None else None
        made, known = (
            lines.result(part) if part is not None else None for part in (reply.made, reply.known)
        )
        return replace(reply, made=made, error=error, known=known)


class _Lines:
    """The lines of a shared module as lines of what one request uses of it."""

    def __init__(self, name: str, to_run: CodeToRun) -> None:
        self.name = name
        self.is_shared = to_run.is_shared
        counts = [text.count("\n") + 1 for text in to_run.parts]
        own = first_lines(counts[number] for number in to_run.used)
        #: For each line of the module that of the request's code, from 1; 0 for other lines.
        self.lines = [0] * (sum(counts) + 1)
        firsts = first_lines(counts)
        for number, first in zip(to_run.used, own, strict=True):
            for offset in range(counts[number]):
                self.lines[firsts[number] + offset] = first + offset
        self.pattern = re.compile(rf'{re.escape(name)}(:|", line )(\d+)')

    def line(self, line: int) -> int:
        if not 0 < line < len(self.lines):
            return line
        if not self.lines[line]:
            raise Unshared("it uses code of its page that no name of it leads to")
        return self.lines[line]

    def at(self, file: str, line: int) -> tuple[str, int]:
        return (PAGE, self.line(line)) if file == self.name else (file, line)

    def result(self, result: Result) -> Result:
        if self.is_shared and result.program is not None and self.name in result.program.text:
            # JAX breaks lines by their length, which depends on the number that follows.
            raise Unshared("its program names lines of the page's code")
        moved = relocated(result, self.at)
        data = moved.to_json()
        return Result.from_json(self.texts(data)) if self.name in dumps(data) else moved

    def error(self, error: TraceError) -> TraceError:
        return TraceError.from_json(self.texts(relocated_error(error, self.at).to_json()))

    def texts(self, data: Any) -> Any:
        """JSON data whose texts name the module as everybody does."""
        if isinstance(data, str):
            if self.name in data:
                data = self.pattern.sub(
                    lambda match: f"{PAGE}{match[1]}{self.line(int(match[2]))}", data
                )
            return public(data)
        if isinstance(data, list):
            return [self.texts(item) for item in data]
        if isinstance(data, dict):
            return {key: self.texts(item) for key, item in data.items()}
        return data


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs the parts of a page's code as one module; its file exists by name only."""

    def __init__(self, name: str, parts: Sequence[str]) -> None:
        super().__init__(name, name)
        self.texts: Final = tuple(parts)

    def get_source(self, fullname: str) -> str:
        """All parts, one below the other."""
        return "\n".join(self.texts)

    def get_code(self, fullname: str) -> CodeType:
        """The code of the module, with the lines of :meth:`get_source`.

        As in a notebook, imports from ``__future__`` may begin any part.
        """
        lines = self.get_source(fullname).splitlines(keepends=True)
        # Python looks for no file of such a name, but uses what is here.
        linecache.cache[self.path] = (sum(map(len, lines)), None, lines, self.path)
        body = list(self._statements())
        body.sort(key=lambda statement: not _is_future(statement))  # the others keep their order
        code: CodeType = self.source_to_code(ast.Module(body, type_ignores=[]), self.path)
        return code

    def _statements(self) -> Iterator[ast.stmt]:
        counts = [text.count("\n") + 1 for text in self.texts]
        for first, text in zip(first_lines(counts), self.texts, strict=True):
            yield from ast.parse("\n" * (first - 1) + text, self.path).body


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
