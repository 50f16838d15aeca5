"""The code of pages as modules, which Python's import system finds and runs like any other."""

from __future__ import annotations

import ast
import importlib.machinery
import linecache
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import CodeType
from typing import Any

from ...tracing.pagecode import first_lines, is_page_code, module_name


class PageCode:
    """The code that requests brought, by the name of its module; one of Python's finders."""

    def __init__(self) -> None:
        self.parts: dict[str, tuple[str, ...]] = {}

    def install(self) -> None:
        """Let imports find the modules; once per process."""
        sys.meta_path.insert(0, self)

    def add(self, code: str, parts: Sequence[str]) -> None:
        """Note the parts of a code, which a request names by its digest."""
        if code:
            self.parts[module_name(code)] = tuple(parts)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The module of a page, if there is one of that name."""
        parts = self.parts.get(name) if is_page_code(name) else None
        if parts is None:
            return None
        spec = ModuleSpec(name, _Loader(name, parts), origin=name)
        spec.has_location = True  # so that the module has a ``__file__``
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    """Runs the parts of a page's code as one module; its file exists by name only."""

    def __init__(self, name: str, parts: Sequence[str]) -> None:
        super().__init__(name, name)
        self.texts = tuple(parts)

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
