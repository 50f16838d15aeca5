"""Which files and distributions a traced program depends on.

Installed in the worker after JAX is imported.  The graph is kept per module,
so that the order in which requests import shared modules makes no difference:
what a request depends on is the closure of its target's module.  The same
holds for opened files: a reader that keeps what it read opens a file for the
first request alone, so the file belongs to the reader's module as well.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import stat
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any

from ..tracing.places import is_project_file

_UNTRACKED = ("/proc/", "/sys/", "/dev/")
_WRITING = os.O_WRONLY | os.O_RDWR


class Recorder:
    """Records imports and opened files from :meth:`install` on, while ``request`` is set."""

    def __init__(self, package_folder: str) -> None:
        self.untracked = (*_UNTRACKED, os.path.join(package_folder, ""))
        # Importer -> imported modules; an installed package counts as one importer.
        self.edges: dict[str, set[str]] = defaultdict(set)
        self.opened: dict[str, set[str]] = defaultdict(set)  # module or request -> files
        self.homes: dict[str, str] = {}  # project module -> its file
        self.written: set[str] = set()  # what the code makes itself is no source of it
        self.request = ""  # set while a request runs
        self.hashes: dict[str, str] = {}
        self.local = threading.local()
        self.names: dict[str, list[str]] | None = None
        #: Told of each import statement: the module's full name, and the names wanted of it.
        self.reached: Callable[[str, Sequence[str]], None] = lambda name, names: None
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
        module = self.plain_import(name, globals, locals, fromlist or (), level)
        importer = (globals or {}).get("__name__", "")
        full = name
        if level:
            package = globals.get("__package__") or importer.rpartition(".")[0]
            full = importlib.util.resolve_name("." * level + name, package)
        self.reached(full, fromlist or ())
        if self._interesting(importer):
            names = list(fromlist or ())
            if "*" in names:
                names += getattr(module, "__all__", ())
            self._edge(importer, full, names)
        return module

    def _import_module(self, name: str, package: str | None = None) -> ModuleType:
        module = self.plain_import_module(name, package)
        importer = sys._getframe(1).f_globals.get("__name__", "")
        full = importlib.util.resolve_name(name, package) if name.startswith(".") else name
        self.reached(full, ())
        if self._interesting(importer):
            self._edge(importer, full, ())
        return module

    def load(self, name: str) -> ModuleType:
        """Import a module that a page names."""
        module = self.plain_import_module(name)
        self.reached(name, ())
        self.home(name)  # now: its code may clear sys.modules
        return module

    def _interesting(self, importer: Any) -> bool:
        """The standard library imports on behalf of others, and is no distribution."""
        return bool(
            self.request
            and isinstance(importer, str)
            and importer.partition(".")[0] not in sys.stdlib_module_names
        )

    def _edge(self, importer: str, full: str, names: Iterable[str]) -> None:
        if self.home(importer):
            found = {full, *(f"{full}.{item}" for item in names)}
            self.edges[importer].update(name for name in found if name in sys.modules)
        elif not self.home(full):
            self.edges[importer.partition(".")[0]].add(full.partition(".")[0])
        else:
            # A library loads a module of the project, as a lazy loader does: whoever
            # holds the package above it can reach it from now on.
            owners = [full.rpartition(".")[0], *self._owners(sys._getframe(2))]
            for owner in [name for name in owners if self.home(name)] or [importer]:
                self.edges[owner].add(full)

    def home(self, name: str) -> str:
        """The file of a module of the project, ``""`` for any other."""
        if name not in self.homes:
            path = getattr(sys.modules.get(name), "__file__", None)
            if not isinstance(path, str) or not self._tracked(path):
                return ""
            self.homes[name] = path
        return self.homes[name]

    def _tracked(self, path: str) -> bool:
        return is_project_file(path) and not path.startswith(self.untracked)

    # -- opened files

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or not self.request or getattr(self.local, "busy", False):
            return
        path, mode, flags = args
        with contextlib.suppress(Exception):  # else the user's own open() would raise it
            if isinstance(path, (str, bytes)):
                text = isinstance(mode, str) and bool(set(mode) & set("wax+"))
                writes = text or (isinstance(flags, int) and bool(flags & _WRITING))
                self._open(os.path.abspath(os.fsdecode(path)), writes, sys._getframe(1))

    def _open(self, path: str, writes: bool, frame: FrameType) -> None:
        if not self._tracked(path) or os.path.isdir(path):
            return
        if writes:
            self.written.add(path)
            return
        if path.endswith(".pyc"):
            path = importlib.util.source_from_cache(path)
        self.digest(path)  # now, before it is read: an edit while tracing is seen later
        for owner in (self.request, *self._owners(frame)):
            self.opened[owner].add(path)

    def _owners(self, frame: FrameType | None) -> Iterator[str]:
        """The project's modules at work: from the innermost to one being imported."""
        while frame is not None:
            file = frame.f_globals.get("__file__") or frame.f_code.co_filename
            if isinstance(file, str) and self._tracked(file):
                yield str(frame.f_globals.get("__name__", ""))
                if frame.f_code.co_name == "<module>":
                    return
            frame = frame.f_back

    def digest(self, file: str) -> str:
        """SHA-256 of a file as it was when first asked for, ``""`` where there is none."""
        if file not in self.hashes:
            self.hashes[file] = ""
            self.local.busy = True
            try:
                if stat.S_ISREG(os.stat(file).st_mode):
                    with open(file, "rb") as stream:
                        self.hashes[file] = hashlib.file_digest(stream, "sha256").hexdigest()
            except OSError:
                pass
            finally:
                self.local.busy = False
        return self.hashes[file]

    # -- what a request depends on

    def dependencies(self, modules: Iterable[str], request: str) -> tuple[list[str], list[str]]:
        """Files outside the interpreter's folders, and installed distributions."""
        seen: set[str] = set()
        todo = [name for name in modules if name]
        files = set(self.opened.get(request, ()))
        tops: set[str] = set()
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            top = name.partition(".")[0]
            tops.add(top)
            todo.extend(self.edges.get(name, ()))
            if self.home(name):
                files.add(self.homes[name])
                files.update(self.opened.get(name, ()))
                todo.append(name.rpartition(".")[0])
            elif name != top:  # installed, or a folder without __init__
                todo.append(name.rpartition(".")[0])
        kept = {file for found in files if (file := self._watched(found))}
        return sorted(kept), sorted(self._distributions(tops))

    def _watched(self, file: str) -> str:
        """The file to watch for ``file``: itself, or the archive it lies in."""
        if file in self.written:
            return ""
        if os.path.exists(file):
            return file if os.path.isfile(file) else ""
        above = file
        while above != os.path.dirname(above) and not os.path.exists(above):
            above = os.path.dirname(above)
        if os.path.isfile(above):
            return above
        # One that was looked for in vain may come; one that is gone was temporary.
        return "" if self.hashes.get(file) else file

    def _distributions(self, tops: set[str]) -> set[str]:
        if self.names is None:
            self.names = dict(importlib.metadata.packages_distributions())
        return {name for top in tops for name in self.names.get(top, ())}
