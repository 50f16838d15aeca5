"""Which files, folders, modules and distributions a traced program depends on.

Installed in the worker after JAX is imported.  The graph is kept per module, so that the
order in which requests import shared modules doesn't matter: a request depends on the
closure of its target's module.  The same holds for opened files: a reader with a cache
opens a file for the first request only, so the file belongs to the reader's module as well.
It also holds for whatever else code asks of the file system or its environment
(:mod:`.access`).
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import Distribution, PackageNotFoundError
from types import FrameType, ModuleType
from typing import Any, Final

from ..tracing.folders import Folders, file_digest, is_project_file, kind
from ..tracing.jobs import is_page_code
from ..tracing.result import Needs

_UNTRACKED: Final = ("/proc/", "/sys/", "/dev/")
#: Of the folders that were listed and the paths that were asked for, what is there.
_LOOK: Final[dict[str, Callable[[str], str]]] = {
    "folders": lambda path: Folders().digest(path),
    "paths": kind,
    "sizes": lambda path: kind(path, sized=True),
}


_NAME: Final = re.compile(r"^Name:[ \t]*(\S+)", re.MULTILINE)


def _full(name: str, globals: Any, level: int) -> str:
    """The full name of a module that an import statement names."""
    if not level:
        return name
    package = globals.get("__package__") or globals.get("__name__", "").rpartition(".")[0]
    return importlib.util.resolve_name("." * level + name, package)


class DependencyRecorder:
    """Records imports, and what :meth:`note` gets, while ``request`` is set."""

    def __init__(self, package_folder: str) -> None:
        self.package = os.path.join(package_folder, "")
        self.untracked = (*_UNTRACKED, self.package)
        # Importer -> imported modules; an installed package counts as one importer.
        self.edges: dict[str, set[str]] = defaultdict(set)
        # Module or request -> what it needed: a part of the needs, and a name.
        self.noted: dict[str, set[tuple[str, str]]] = defaultdict(set)
        self.values: dict[tuple[str, str], str] = {}  # its state when it was first needed
        self.homes: dict[str, str] = {}  # project module -> its file
        self.written: set[str] = set()  # files that the code makes are not among its sources
        self.handed: set[str] = set()  # files that something else reads, and may write
        self.path = tuple(sys.path)
        self.preloaded = frozenset(sys.modules)  # no folder of the project can replace these
        #: Imports between preloaded libraries that are recorded: importer, name and level.  JAX's
        #: functions repeat dozens for each program, and nothing follows from another one.
        self.settled: set[tuple[str, str, int]] = set()
        self.request = ""  # set while a request runs
        self.local = threading.local()
        self.providers: dict[str, Sequence[str]] = {}  # top-level module -> its distributions
        self.installed: Mapping[str, list[str]] | None = None  # the same for all that is installed
        #: Called for each import statement with the module's full name and the imported names.
        self.reached: Callable[[str, Sequence[str]], None] = lambda name, names: None
        self.plain_import = builtins.__import__
        self.plain_import_module = importlib.import_module

    def install(self) -> None:
        """Begin to record imports; once per process."""
        builtins.__import__ = self._import
        importlib.import_module = self._import_module
        sys.meta_path.insert(0, self)

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Record nothing that this thread asks for while the context lasts."""
        before = getattr(self.local, "busy", False)
        self.local.busy = True
        try:
            yield
        finally:
            self.local.busy = before

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
        statement = (importer, name, level)
        if type(importer) is str and type(name) is str and statement in self.settled:
            return self.plain_import(name, globals, locals, fromlist or (), level)
        if globals is None:  # called by name
            caller = sys._getframe(1).f_globals.get("__name__", "")
            importer = caller if self._interesting(caller) else ""
        if not self._interesting(importer):
            module = self.plain_import(name, globals, locals, fromlist or (), level)
            self.reached(_full(name, globals, level), fromlist or ())
            return module
        full = name
        names = list(fromlist or ())
        try:
            full = _full(name, globals, level)
            module = self.plain_import(name, globals, locals, names, level)
        except BaseException:  # the import may be optional
            self._edge(importer, full, names)
            raise
        self.reached(full, names)
        if "*" in names:
            names += getattr(module, "__all__", ())
        self._edge(importer, full, names)
        if importer in self.preloaded and full.partition(".")[0] in self.preloaded:
            self.settled.add(statement)
        return module

    def _import_module(self, name: str, package: str | None = None) -> ModuleType:
        importer = sys._getframe(1).f_globals.get("__name__", "")
        full = name
        try:
            if name.startswith("."):
                full = importlib.util.resolve_name(name, package)
            module = self.plain_import_module(name, package)
            self.reached(full, ())
            return sys.modules.get(full, module)  # some put another in their place
        finally:
            if self._interesting(importer):
                self._edge(importer, full, ())

    def load(self, name: str) -> ModuleType:
        """Import a module that a page names."""
        module = self.plain_import_module(name)
        self.reached(name, ())
        module = sys.modules.get(name, module)  # some put another in their place
        self.home(name)  # now: its code may clear sys.modules
        return module

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Note that a module is searched for; as the first of Python's finders, find nothing."""
        if not self.request or getattr(self.local, "busy", False) or is_page_code(name):
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and self._is_machinery(frame):
            frame = frame.f_back
        asks = frame is None or self.is_project(frame)  # none: the page asks, through us
        if asks or self.home(name.rpartition(".")[0]):
            places = self._places(name)
            for part, hit in places.items():
                self.values.setdefault(("parts", part), hit)
            noted = {("modules", name), *(("parts", part) for part in places)}
            # And the module itself: if it is loaded, nobody searches for it.
            for owner in (name, *self.owners(frame)):
                self.noted[owner].update(noted)

    def _is_machinery(self, frame: FrameType) -> bool:
        """Whether a frame is ours or the standard library's, which import for others."""
        if frame.f_code.co_filename.startswith(self.package):
            return True
        name = frame.f_globals.get("__name__", "")
        return str(name).partition(".")[0] in sys.stdlib_module_names

    def _places(self, name: str) -> dict[str, str]:
        """The folders now searched for a module, up to its own, with what each has of it.

        For a top-level module these are the folders that code has added to ``sys.path``: the
        store knows the others.
        """
        parent, _, last = name.rpartition(".")
        if parent:
            path = getattr(sys.modules.get(parent), "__path__", ())
        else:
            path = [entry for entry in sys.path if entry not in self.path]
        with self.busy():
            folders = [os.path.abspath(folder) for folder in path if isinstance(folder, str)]
            hits = Folders().search(last, filter(self.tracked, folders))
        return {os.path.join(folder, last): hit for folder, hit in hits.items()}

    def _interesting(self, importer: Any) -> bool:
        """The standard library imports on behalf of others, and is not a distribution."""
        return bool(
            self.request
            and isinstance(importer, str)
            and importer.partition(".")[0] not in sys.stdlib_module_names
        )

    def _edge(self, importer: str, full: str, names: Iterable[str]) -> None:
        if self.home(importer):
            targets = {full, *(f"{full}.{item}" for item in names)}
            targets.update(
                _above(full)
            )  # if the import failed, these are the modules that it found
            modules = (name for name in targets if name in sys.modules or name in self.homes)
            self.edges[importer].update(modules)
        elif not self.home(full):
            top = full.partition(".")[0]
            if top in sys.modules:
                self.edges[importer.partition(".")[0]].add(top)
        else:
            # A library, such as a lazy loader, loads a module of the project: whoever
            # holds the package above it can reach it from now on.
            owners = [full.rpartition(".")[0], *self.owners(sys._getframe(2))]
            for owner in [name for name in owners if self.home(name)] or [importer]:
                self.edges[owner].add(full)

    def home(self, name: str) -> str:
        """The file of a module of the project, ``""`` for any other."""
        if name not in self.homes:
            path = getattr(sys.modules.get(name), "__file__", None)
            if not isinstance(path, str) or not self.tracked(path):
                return ""
            self.homes[name] = path
        return self.homes[name]

    # -- what code asks for

    def tracked(self, path: str) -> bool:
        """Whether a path is outside the installed libraries."""
        return is_project_file(path) and not path.startswith(self.untracked)

    def is_project(self, frame: FrameType) -> bool:
        """Whether a frame runs code of the project."""
        file = frame.f_globals.get("__file__") or frame.f_code.co_filename
        return isinstance(file, str) and self.tracked(file)

    def owners(self, frame: FrameType | None) -> Iterator[str]:
        """The request, and the project's modules at work: up to one being imported."""
        yield self.request
        while frame is not None:
            if self.is_project(frame):
                yield str(frame.f_globals.get("__name__", ""))
                if frame.f_code.co_name == "<module>":
                    return
            frame = frame.f_back

    def note(self, part: str, name: str, frame: FrameType) -> None:
        """Note something that the code above ``frame`` needed, and its present state."""
        if is_page_code(os.path.basename(name)):  # no file, though Python may look for one
            return
        look = _LOOK.get(part)
        if look is not None and (part, name) not in self.values:
            with self.busy():
                self.values[part, name] = look(name)
        for owner in self.owners(frame):
            self.noted[owner].add((part, name))

    def opened(self, path: str, frame: FrameType) -> None:
        """Note a file that is read."""
        if not self.tracked(path) or os.path.isdir(path):
            return
        if path.endswith(".pyc"):
            path = importlib.util.source_from_cache(path)
        self.digest(path)  # now, before it is read: an edit while tracing is seen later
        self.note("files", path, frame)

    def digest(self, file: str) -> str:
        """SHA-256 of a file when first asked for; ``""`` if there was none."""
        if ("files", file) not in self.values:
            with self.busy():
                self.values["files", file] = file_digest(file)
        return self.values["files", file]

    # -- what a request depends on

    def dependencies(self, modules: Iterable[str], request: str) -> Needs:
        """Everything that the closure of ``modules``, and the request itself, needed."""
        with self.busy():
            seen = self._closure(modules)
            noted = set(self.noted.get(request, ())).union(
                *(self.noted[name] for name in seen if name in self.noted)
            )
            by_part: dict[str, set[str]] = defaultdict(set)
            for part, name in noted:
                by_part[part].add(name)
            homes = {self.homes[name] for name in seen if name in self.homes}
            files = by_part["files"] | {file for file in homes if not is_page_code(file)}
            kept = {file for file_read in files if (file := self._watched(file_read))}
            tops = {name.partition(".")[0] for name in seen | by_part["modules"]} - self.preloaded
            tops = {name for name in tops if not is_page_code(name)}
            used = self._distributions(seen)
            return Needs(
                files={file: self.digest(file) for file in sorted(kept)},
                **{part: self._settled(part, by_part[part]) for part in _LOOK},
                parts={path: self.values["parts", path] for path in sorted(by_part["parts"])},
                modules=sorted(tops),
                missing=sorted(name for name in tops if not self._is_known(name)),
                distributions=sorted(used | by_part["distributions"]),
                variables=sorted(by_part["variables"]),
            )

    def _closure(self, modules: Iterable[str]) -> set[str]:
        seen: set[str] = set()
        todo = [name for name in modules if name]
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            todo.extend(self.edges.get(name, ()))
            self.home(name)
            if "." in name:
                todo.append(name.rpartition(".")[0])
        return seen

    def _is_known(self, top: str) -> bool:
        return top in sys.modules or top in self.homes

    def _watched(self, file: str) -> str:
        """The file to watch for ``file``: itself, or the archive that contains it."""
        if file in self.written or (file in self.handed and file_digest(file) != self.digest(file)):
            return ""
        if os.path.exists(file):
            return file if os.path.isfile(file) else ""
        above = file
        while above != os.path.dirname(above) and not os.path.exists(above):
            above = os.path.dirname(above)
        if os.path.isfile(above):
            return above
        # A file not found may appear later; one that is gone was temporary.
        return "" if self.digest(file) else file

    def _settled(self, part: str, names: set[str]) -> dict[str, str]:
        """The first state of what was listed or asked for; the present one if code changed it."""
        changed = {os.path.dirname(path) for path in self.written} if part == "folders" else set()
        settled = {}
        for name in sorted(names):
            before, now = self.values[part, name], _LOOK[part](name)
            if name in changed or self._is_written(name):
                before = now
            if now or not before:  # else it was temporary
                settled[name] = before
        return {
            name: value for name, value in settled.items() if value or not self._is_written(name)
        }

    def _is_written(self, path: str) -> bool:
        """Whether the code created a path, or a folder around it."""
        while path not in self.written:
            path, below = os.path.dirname(path), path
            if path == below:
                return False
        return True

    def _distributions(self, modules: set[str]) -> set[str]:
        """The distributions of these modules; of the project's own, the files count."""
        own = {name for name in modules if name in self.homes}
        own |= {above for name in own for above in _above(name) if not self._has_file(above)}
        tops = {name.partition(".")[0] for name in modules - own}
        return {name for top in tops for name in self._providers(top)}

    @staticmethod
    def _has_file(module: str) -> bool:
        return getattr(sys.modules.get(module), "__file__", None) is not None

    def _providers(self, top: str) -> Sequence[str]:
        """The distributions that provide a top-level module."""
        if top in sys.stdlib_module_names:
            return ()
        if top not in self.providers:
            self.providers[top] = self._namesake(top) or self._of_other_names(top)
        return self.providers[top]

    def _namesake(self, top: str) -> Sequence[str]:
        """The distribution of the module's own name, if it is the only one that can provide it.

        A folder without ``__init__`` may have parts of several distributions.
        """
        if not self._has_file(top):
            return ()
        try:
            distribution = Distribution.from_name(top)
        except (PackageNotFoundError, ValueError):
            return ()
        declared = (distribution.read_text("top_level.txt") or "").split()
        record = distribution.read_text("RECORD") or ""
        if top in declared or re.search(
            rf"^{re.escape(top)}(/__init__)?\.py,", record, re.MULTILINE
        ):
            return [_name_of(distribution)]
        return ()

    def _of_other_names(self, top: str) -> Sequence[str]:
        """The distributions that provide a module, whatever they are called.

        To find these, Python reads the lists of files of all distributions, which takes long.
        """
        if self.installed is None:
            self.installed = importlib.metadata.packages_distributions()
        return self.installed.get(top, ())


def _above(name: str) -> Iterator[str]:
    """The packages around a module."""
    while name := name.rpartition(".")[0]:
        yield name


def _name_of(distribution: Distribution) -> str:
    """The name of a distribution, as it writes it.  Python would parse all that is beside it."""
    match = _NAME.search(distribution.read_text("METADATA") or "")
    return match[1] if match else str(distribution.metadata["Name"])
