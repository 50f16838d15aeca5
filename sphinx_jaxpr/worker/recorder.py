"""Which files and distributions a traced program depends on.

Installed in the worker after JAX is imported.  The graph is kept per module,
so that the order in which requests import shared modules makes no difference:
what a request depends on is the closure of its target's module.
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import stat
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ..tracing.places import is_project_file

_UNTRACKED = ("/proc/", "/sys/", "/dev/")
_WRITING = os.O_WRONLY | os.O_RDWR


class Recorder:
    """Records imports and opened files from :meth:`install` on."""

    def __init__(self, package_folder: str) -> None:
        self.package_folder = os.path.join(package_folder, "")
        self.edges: dict[str, set[str]] = defaultdict(set)  # importer -> imported modules
        self.opened: dict[str, set[str]] = defaultdict(set)  # module or request -> files
        self.brought: dict[str, set[str]] = {}  # installed module -> what it loaded first
        self.importing: list[str] = []  # project modules being imported, outermost first
        self.request = ""  # set while a request runs
        self.hashes: dict[str, str] = {}
        self.busy = False
        self.names: dict[str, list[str]] | None = None
        self.plain_import = builtins.__import__
        self.plain_import_module = importlib.import_module

    def install(self) -> None:
        """Begin to record.  An audit hook can't be removed: call once a process."""
        builtins.__import__ = self._import
        importlib.import_module = self._import_module
        sys.addaudithook(self._audit)

    # -- imports

    def _import(
        self,
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        importer = (globals or {}).get("__name__", "")
        if not self._interesting(importer):
            return self.plain_import(name, globals, locals, fromlist or (), level)
        package = (globals or {}).get("__package__") or importer.rpartition(".")[0]
        full = importlib.util.resolve_name("." * level + name, package) if level else name
        with self._loading(importer, full):
            module = self.plain_import(name, globals, locals, fromlist or (), level)
        self._edge(importer, full, fromlist or ())
        return module

    def _import_module(self, name: str, package: str | None = None) -> ModuleType:
        importer = sys._getframe(1).f_globals.get("__name__", "")
        full = importlib.util.resolve_name(name, package) if name.startswith(".") else name
        if not self._interesting(importer):
            return self.plain_import_module(name, package)
        with self._loading(importer, full):
            module = self.plain_import_module(name, package)
        self._edge(importer, full, ())
        return module

    def load(self, name: str) -> ModuleType:
        """Import a module that a page names, and record what it brings."""
        with self._loading("", name):
            return self.plain_import_module(name)

    def _interesting(self, importer: str) -> bool:
        return importer in self.importing or importer in self.edges or self._is_project(importer)

    def _is_project(self, name: str) -> bool:
        module = sys.modules.get(name)
        path = getattr(module, "__file__", None) or ""
        return is_project_file(path) and not path.startswith(self.package_folder)

    @contextmanager
    def _loading(self, importer: str, full: str) -> Iterator[None]:
        if full in sys.modules:
            yield
            return
        before = set(sys.modules)
        self.importing.append(full)
        try:
            yield
        finally:
            self.importing.pop()
            new = set(sys.modules) - before
            for name in new:
                if not self._is_project(name):
                    self.brought.setdefault(full, set()).add(name.partition(".")[0])

    def _edge(self, importer: str, full: str, fromlist: Iterable[str]) -> None:
        names = {full, *(f"{full}.{item}" for item in fromlist)}
        self.edges[importer].update(name for name in names if name in sys.modules)

    # -- opened files

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or self.busy:
            return
        path, mode, flags = args
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or not (self.importing or self.request):
            return
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (
            isinstance(flags, int) and flags & _WRITING
        ):
            return
        self.opened[self.importing[-1] if self.importing else self.request].add(
            os.path.abspath(path)
        )

    # -- what a request depends on

    def dependencies(self, modules: Iterable[str], request: str) -> tuple[list[str], list[str]]:
        """Files outside the interpreter's folders, and installed distributions."""
        seen: set[str] = set()
        todo = [name for name in modules if name]
        files = set(self.opened.get(request, ()))
        installed: set[str] = set()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            parent = name.rpartition(".")[0]
            if parent:
                todo.append(parent)
            installed.update(self.brought.get(name, ()))
            if not self._is_project(name):
                installed.add(name.partition(".")[0])
                continue
            files.update(self.opened.get(name, ()))
            files.add(getattr(sys.modules[name], "__file__", None) or "")
            todo.extend(self.edges.get(name, ()))
        kept = {existing for file in files if (existing := self._trackable(file))}
        return sorted(kept), sorted(self._distributions(installed))

    def _trackable(self, file: str) -> str:
        """The file to watch for ``file``: itself, or the archive it lies in."""
        if not is_project_file(file) or file.startswith((*_UNTRACKED, self.package_folder)):
            return ""
        if file.endswith((".pyc", ".so", ".pyd")) and "__pycache__" in file:
            return ""
        while file and not os.path.exists(file):
            parent = os.path.dirname(file)
            file = parent if parent != file else ""
        try:
            return file if file and stat.S_ISREG(os.stat(file).st_mode) else ""
        except OSError:
            return ""

    def _distributions(self, tops: set[str]) -> set[str]:
        if self.names is None:
            self.names = dict(importlib.metadata.packages_distributions())
        return {name for top in tops for name in self.names.get(top, ())}

    def digest(self, file: str) -> str:
        """SHA-256 of a file as it was when first asked for."""
        if file not in self.hashes:
            self.busy = True
            try:
                with open(file, "rb") as stream:
                    self.hashes[file] = hashlib.file_digest(stream, "sha256").hexdigest()
            except OSError:
                self.hashes[file] = ""
            finally:
                self.busy = False
        return self.hashes[file]
