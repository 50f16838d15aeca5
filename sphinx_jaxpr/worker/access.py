"""Reports to the recorder what code asks of the file system and of its environment.

Python raises audit events for files that are opened and folders that are listed, but neither
for ``os.stat``, on which ``os.path.exists`` and ``pathlib`` are built, nor for reads of
``os.environ``, so these are wrapped.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from ..tracing.fingerprint import ALL_INSTALLED, FLAG_PREFIXES
from .recorder import DependencyRecorder

_WRITING: Final = os.O_WRONLY | os.O_RDWR
_LISTING: Final = ("os.listdir", "os.scandir")
#: Events about paths that code creates, moves or removes: how many paths come first, and the
#: positions of the folders that they are relative to (-1 for none).
_CHANGING: Final = {
    "os.mkdir": (1, 2),
    "os.remove": (1, 1),
    "os.rmdir": (1, 1),
    "os.truncate": (1, 2),
    "os.rename": (2, 2),
    "os.link": (2, 2),
    "os.symlink": (2, 2),
}
#: Functions that ask for paths: most of ``os.path`` and ``pathlib`` calls the first two.
_STATE: Final = ("stat", "lstat")
_ASKING: Final = (*_STATE, "access", "readlink")
#: Functions of ``os.path`` that may be written in C and then call neither.
_ASKING_PATHS: Final = ("exists", "lexists", "isfile", "isdir", "islink", "isjunction")
#: Functions of the standard library that reveal more about a file than its kind.
_TELLING: Final = frozenset({"stat", "lstat", "getsize", "getmtime", "getctime", "getatime"})
#: Where a look at the environment comes from, seen from ``os.environ``.
_ENVIRON: Final = ("os", "collections.abc", "_collections_abc")
#: Functions of the standard library that expand variables in the caller's text.
_FILLING: Final = frozenset(
    (module, name)
    for module, names in {
        **dict.fromkeys(("posixpath", "ntpath"), ("expandvars", "repl")),
        "string": ("convert",),
    }.items()
    for name in names
)
#: Libraries whose behavior depends on their version alone, whatever they ask.
_OWN: Final = frozenset({"jax", "jaxlib"})


def watch(recorder: DependencyRecorder) -> None:
    """Report to ``recorder`` from now on; once per process."""
    watcher = _Watcher(recorder)
    sys.addaudithook(watcher.audit)
    for name in _ASKING:
        if hasattr(os, name):
            watcher.wrap(os, name)
    for name in _ASKING_PATHS:
        if not hasattr(getattr(os.path, name, None), "__code__") and hasattr(os.path, name):
            watcher.wrap(os.path, name)
    watcher.wrap_open()
    watcher.wrap_metadata()
    watcher.wrap_environment()


class _Watcher:
    def __init__(self, recorder: DependencyRecorder) -> None:
        self.recorder = recorder
        self.handlers: dict[str, Callable[[tuple[Any, ...], FrameType], None]] = {
            "open": self._open,
            "sqlite3.connect": self._connect,
            "subprocess.Popen": self._start,
            "os.system": self._run,
            "ctypes.dlopen": self._load,
            **dict.fromkeys(_LISTING, self._list),
            **{
                event: functools.partial(self._change, *places)
                for event, places in _CHANGING.items()
            },
        }

    def _idle(self) -> bool:
        return not self.recorder.request or getattr(self.recorder.local, "busy", False)

    # -- events

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        """What Python announces, before it happens."""
        handle = self.handlers.get(event)
        if handle is None or self._idle():
            return
        # An exception here would surface in the user's own call.
        with contextlib.suppress(Exception), self.recorder.busy():
            handle(args, sys._getframe(1))

    def _open(self, args: tuple[Any, ...], frame: FrameType) -> None:
        path, mode, flags = args
        if not isinstance(path, int):
            file = _absolute(path)
            text = isinstance(mode, str) and bool(set(mode) & set("wax+"))
            if text or (isinstance(flags, int) and bool(flags & _WRITING)):
                if _keeps(mode, flags) and file not in self.recorder.written:
                    self._hand_over(file, frame)
                elif self.recorder.tracked(file):
                    self.recorder.written.add(file)
            else:
                self.recorder.handed.discard(file)
                self.recorder.opened(file, frame)

    def _list(self, args: tuple[Any, ...], frame: FrameType) -> None:
        folder = "." if args[0] is None else args[0]
        path = _behind(folder) if isinstance(folder, int) else _absolute(folder)
        if path and self.recorder.tracked(os.path.join(path, "")) and self._asks(frame):
            self.recorder.note("folders", path, frame)

    def _change(self, count: int, folders: int, args: tuple[Any, ...], frame: FrameType) -> None:
        if all(folder == -1 for folder in args[folders:]):
            paths = (path for path in args[:count] if not isinstance(path, int))
            self.recorder.written.update(map(_absolute, paths))

    def _connect(self, args: tuple[Any, ...], frame: FrameType) -> None:
        name = os.fsdecode(args[0])
        self._hand_over(unquote(urlsplit(name).path) if name.startswith("file:") else name, frame)

    def _start(self, args: tuple[Any, ...], frame: FrameType) -> None:
        """A process is started: it most likely reads the files that its arguments name."""
        _, words, folder, _ = args
        for word in words if isinstance(words, (list, tuple)) else (words,):
            if isinstance(word, (str, bytes, os.PathLike)):
                self._hand_over_words(os.fsdecode(word), frame, os.fsdecode(folder or "."))

    def _run(self, args: tuple[Any, ...], frame: FrameType) -> None:
        self._hand_over_words(os.fsdecode(args[0]), frame)

    def _hand_over_words(self, text: str, frame: FrameType, folder: str = ".") -> None:
        """All of a text may be the name of a file, or a word of it, as in a shell's command."""
        for name in {text, *text.split()}:
            self._hand_over(os.path.join(folder, name), frame)

    def _load(self, args: tuple[Any, ...], frame: FrameType) -> None:
        if args[0] is not None:
            self._hand_over(os.fsdecode(args[0]), frame)

    def _hand_over(self, name: str, frame: FrameType) -> None:
        path = os.path.abspath(name)
        if os.path.isfile(path):
            if ("files", path) not in self.recorder.values:
                self.recorder.handed.add(path)
            self.recorder.opened(path, frame)

    # -- questions

    def wrap(self, module: Any, name: str) -> None:
        """Replace a function that asks for a path by one that also reports it."""
        plain = getattr(module, name)

        @functools.wraps(plain)
        def asking(*args: Any, **options: Any) -> Any:
            if not self._idle():
                with contextlib.suppress(Exception), self.recorder.busy():
                    path = _within(args[0] if args else options["path"], options.get("dir_fd"))
                    self._ask(path, sys._getframe(1), name in _STATE)
            return plain(*args, **options)

        self._replace(module, name, plain, asking)

    def wrap_open(self) -> None:
        """Watch for files that are opened below an open folder: the event does not name it."""
        plain = os.open

        @functools.wraps(plain)
        def opening(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            if dir_fd is None or self._idle():
                return plain(path, flags, mode, dir_fd=dir_fd)
            with self.recorder.busy():
                with contextlib.suppress(Exception):
                    self._open((_within(path, dir_fd), None, flags), sys._getframe(1))
                return plain(path, flags, mode, dir_fd=dir_fd)

        self._replace(os, "open", plain, opening)

    def _replace(self, module: Any, name: str, plain: Any, asking: Any) -> None:
        asking.__module__ = module.__name__
        setattr(module, name, asking)
        for listed in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks"):
            functions: set[Any] = getattr(os, listed, set())
            if plain in functions:
                functions.add(asking)

    def _ask(self, path: Any, frame: FrameType, state: bool) -> None:
        if isinstance(path, int):
            return
        absolute = _absolute(path)
        if self.recorder.tracked(absolute) and self._asks(frame):
            self.recorder.note(
                "sizes" if state and self._tells(frame) else "paths", absolute, frame
            )

    def _tells(self, frame: FrameType) -> bool:
        """Whether more than the kind of a file is asked for, which depends on the caller."""
        last = ""
        above: FrameType | None = frame
        while above is not None and _top(above) in sys.stdlib_module_names:
            last, above = above.f_code.co_name, above.f_back
        return not last or last in _TELLING

    def _asks(self, frame: FrameType | None) -> bool:
        """Whether code of the project asks, directly or through a library.

        What a library asks while it is imported doesn't count: it would be charged to
        whichever code imports the library first.
        """
        while frame is not None and not self.recorder.is_project(frame):
            if _is_metadata(frame) or _top(frame) in _OWN:
                return False
            if frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
                return False
            frame = frame.f_back
        return frame is not None

    def wrap_metadata(self) -> None:
        """Watch for queries of the versions of distributions."""
        kind: Any = importlib.metadata.Distribution
        plain = kind.from_name.__func__

        def from_name(cls: Any, name: str) -> Any:
            if not self._idle():
                with contextlib.suppress(Exception), self.recorder.busy():
                    reader: FrameType | None = sys._getframe(1)
                    while reader is not None and _is_metadata(reader):
                        reader = reader.f_back
                    if reader is not None and self._asks(reader):
                        self.recorder.note("distributions", name, reader)
            return plain(cls, name)

        kind.from_name = classmethod(from_name)
        self._wrap_discovery(kind)

    def _wrap_discovery(self, kind: Any) -> None:
        """Watch for code that lists what is installed, for example to find entry points."""
        plain = kind.discover.__func__

        def discover(cls: Any, /, **options: Any) -> Any:
            if not self._idle():
                with contextlib.suppress(Exception), self.recorder.busy():
                    reader: FrameType | None = sys._getframe(1)
                    if reader is not None and reader.f_code.co_name == "from_name":
                        reader = None  # one by its name
                    while reader is not None and _is_metadata(reader):
                        reader = reader.f_back
                    if reader is not None and self._asks(reader):
                        self.recorder.note("distributions", ALL_INSTALLED, reader)
            return plain(cls, **options)

        kind.discover = classmethod(discover)

    # -- the environment

    def wrap_environment(self) -> None:
        """Watch for single variables that are read, not for copies of all of them."""
        kind: Any = type(os.environ)
        plain_item: Callable[[Any, Any], Any] = kind.__getitem__
        plain_iter: Callable[[Any], Iterator[Any]] = kind.__iter__

        local = self.recorder.local

        def get_item(environ: Any, key: Any) -> Any:
            if not self._idle() and key != getattr(local, "passing", None):
                with contextlib.suppress(Exception), self.recorder.busy():
                    self._read(os.fsdecode(key), _outside(sys._getframe(1)))
            return plain_item(environ, key)

        def iterate(environ: Any) -> Iterator[Any]:
            reader = _outside(sys._getframe(1))
            local.copied = reader and (id(reader), reader.f_lasti)
            for key in plain_iter(environ):
                local.passing = key
                try:
                    yield key
                finally:
                    local.passing = None

        kind.__getitem__ = get_item
        kind.__iter__ = iterate

    def _read(self, name: str, reader: FrameType | None) -> None:
        """Note a variable that is read, unless a loop over all names reads it."""
        if reader is None or name.startswith(FLAG_PREFIXES):  # those are in every key
            return
        if getattr(self.recorder.local, "copied", None) == (id(reader), reader.f_lasti):
            return
        # The standard library reads the home folder and the search path for its own use.
        by_name = (reader.f_globals.get("__name__"), reader.f_code.co_name) in _FILLING
        if (by_name or _top(reader) not in sys.stdlib_module_names) and self._asks(reader):
            self.recorder.note("variables", name, reader)


def _outside(frame: FrameType | None) -> FrameType | None:
    """The code that uses ``os.environ``, as seen from inside it."""
    while frame is not None and frame.f_globals.get("__name__") in _ENVIRON:
        frame = frame.f_back
    return frame


def _is_metadata(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("importlib.metadata")


def _top(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _keeps(mode: Any, flags: Any) -> bool:
    """Whether a file opened for writing is also read, for example as a memory map."""
    if isinstance(mode, str):
        return "r" in mode
    return flags & _WRITING == os.O_RDWR and not flags & (os.O_CREAT | os.O_TRUNC)


def _behind(descriptor: int) -> str:
    """The path of an open folder, ``""`` where the system does not tell."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def _within(path: Any, folder: int | None) -> Any:
    """A path that is relative to an open folder."""
    if folder is None or isinstance(path, int) or os.path.isabs(path):
        return path
    return os.path.join(_behind(folder), os.fsdecode(path))


def _absolute(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))
