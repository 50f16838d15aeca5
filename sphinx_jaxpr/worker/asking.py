"""What code asks the file system and its environment for, told to the recorder.

Python announces what is opened or listed as audit events.  It announces neither
``os.stat``, on which ``os.path.exists`` and ``pathlib`` are built, nor a look at
``os.environ``, so these are wrapped.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from ..tracing.fingerprint import FLAG_PREFIXES

if TYPE_CHECKING:
    from .recorder import Recorder

_WRITING: Final = os.O_WRONLY | os.O_RDWR
_LISTING: Final = ("os.listdir", "os.scandir")
#: Events about paths that code makes, moves or removes, with the number of these paths.
_CHANGING: Final = {
    "os.mkdir": 1,
    "os.remove": 1,
    "os.rmdir": 1,
    "os.truncate": 1,
    "os.rename": 2,
    "os.link": 2,
    "os.symlink": 2,
}
#: Functions that ask for paths: most of ``os.path`` and ``pathlib`` calls the first two.
_STATE: Final = ("stat", "lstat")
_ASKING: Final = (*_STATE, "access", "readlink")
#: Those of ``os.path`` that may be written in C and then call none of them.
_ASKING_PATHS: Final = ("exists", "lexists", "isfile", "isdir", "islink", "isjunction")
#: Functions of the standard library that tell more of a file than its kind.
_TELLING: Final = frozenset({"stat", "lstat", "getsize", "getmtime", "getctime", "getatime"})
#: Where a look at the environment comes from, seen from ``os.environ``.
_ENVIRON: Final = ("os", "collections.abc", "_collections_abc")
#: Libraries whose own questions decide nothing that a version of theirs does not.
_OWN: Final = frozenset({"jax", "jaxlib"})


def watch(recorder: Recorder) -> None:
    """Tell ``recorder`` from now on; once a process."""
    watcher = _Watcher(recorder)
    sys.addaudithook(watcher.audit)
    for name in _ASKING:
        if hasattr(os, name):
            watcher.wrap(os, name)
    for name in _ASKING_PATHS:
        if not hasattr(getattr(os.path, name, None), "__code__") and hasattr(os.path, name):
            watcher.wrap(os.path, name)
    watcher.wrap_environment()


class _Watcher:
    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.handlers: dict[str, Callable[[tuple[Any, ...], FrameType], None]] = {
            "open": self._open,
            "sqlite3.connect": self._connect,
            "subprocess.Popen": self._start,
            **dict.fromkeys(_LISTING, self._list),
            **{event: functools.partial(self._change, n) for event, n in _CHANGING.items()},
        }

    def _idle(self) -> bool:
        return not self.recorder.request or getattr(self.recorder.local, "busy", False)

    # -- events

    def audit(self, event: str, args: tuple[Any, ...]) -> None:
        """What Python announces, before it happens."""
        handle = self.handlers.get(event)
        if handle is None or self._idle():
            return
        with contextlib.suppress(Exception):  # else the user's own call would raise it
            handle(args, sys._getframe(1))

    def _open(self, args: tuple[Any, ...], frame: FrameType) -> None:
        path, mode, flags = args
        if isinstance(path, (str, bytes)):
            file = _absolute(path)
            text = isinstance(mode, str) and bool(set(mode) & set("wax+"))
            if text or (isinstance(flags, int) and bool(flags & _WRITING)):
                if self.recorder.tracked(file):
                    self.recorder.written.add(file)
            else:
                self.recorder.opened(file, frame)

    def _list(self, args: tuple[Any, ...], frame: FrameType) -> None:
        folder = "." if args[0] is None else args[0]
        if isinstance(folder, (str, bytes)):
            path = _absolute(folder)
            if self.recorder.tracked(os.path.join(path, "")) and self._asks(frame):
                self.recorder.note("folders", path, frame)

    def _change(self, count: int, args: tuple[Any, ...], frame: FrameType) -> None:
        # Another number than -1 is a folder that these names are relative to.
        if all(number == -1 for number in args[count:] if isinstance(number, int)):
            paths = (path for path in args[:count] if isinstance(path, (str, bytes)))
            self.recorder.written.update(map(_absolute, paths))

    def _connect(self, args: tuple[Any, ...], frame: FrameType) -> None:
        name = os.fsdecode(args[0])
        self._hand_over(unquote(urlsplit(name).path) if name.startswith("file:") else name, frame)

    def _start(self, args: tuple[Any, ...], frame: FrameType) -> None:
        """A process is started: files that its arguments name are most likely read."""
        _, words, folder, _ = args
        for word in words if isinstance(words, (list, tuple)) else ():
            if isinstance(word, (str, bytes, os.PathLike)):
                self._hand_over(os.path.join(os.fsdecode(folder or "."), os.fsdecode(word)), frame)

    def _hand_over(self, name: str, frame: FrameType) -> None:
        path = os.path.abspath(name)
        if os.path.isfile(path):
            self.recorder.handed.add(path)
            self.recorder.opened(path, frame)

    # -- questions

    def wrap(self, module: Any, name: str) -> None:
        """Put a function that tells the recorder in the place of one that asks for a path."""
        plain = getattr(module, name)

        @functools.wraps(plain)
        def asking(*args: Any, **options: Any) -> Any:
            if not self._idle() and options.get("dir_fd") is None:
                with contextlib.suppress(Exception):
                    path = args[0] if args else options["path"]
                    self._ask(path, sys._getframe(1), name in _STATE)
            return plain(*args, **options)

        asking.__module__ = module.__name__
        setattr(module, name, asking)
        for found in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks"):
            functions: set[Any] = getattr(os, found, set())
            if plain in functions:
                functions.add(asking)

    def _ask(self, path: Any, frame: FrameType, state: bool) -> None:
        if isinstance(path, int):
            return
        found = _absolute(path)
        if self.recorder.tracked(found) and self._asks(frame):
            self.recorder.note("sizes" if state and self._tells(frame) else "paths", found, frame)

    def _tells(self, frame: FrameType) -> bool:
        """Whether more than the kind of a file is asked for: by whom decides it."""
        last = ""
        above: FrameType | None = frame
        while above is not None and _top(above) in sys.stdlib_module_names:
            last, above = above.f_code.co_name, above.f_back
        return not last or last in _TELLING

    def _asks(self, frame: FrameType | None) -> bool:
        """Whether it is code of the project that asks, be it through a library.

        What a library asks while it is imported is its own affair, and whoever asks first
        would be taken for the one who asks.
        """
        while frame is not None and not self.recorder.is_project(frame):
            name = str(frame.f_globals.get("__name__", ""))
            if name.startswith("importlib.metadata") or name.partition(".")[0] in _OWN:
                return False
            if frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
                return False
            frame = frame.f_back
        return frame is not None

    # -- the environment

    def wrap_environment(self) -> None:
        """Watch for variables that are read one by one, not for copies of all of them."""
        kind: Any = type(os.environ)
        plain_item: Callable[[Any, Any], Any] = kind.__getitem__
        plain_iter: Callable[[Any], Iterator[Any]] = kind.__iter__

        def get_item(environ: Any, key: Any) -> Any:
            if not self._idle() and key != getattr(self.recorder.local, "passing", None):
                with contextlib.suppress(Exception):
                    self._read(os.fsdecode(key), sys._getframe(1))
            return plain_item(environ, key)

        def iterate(environ: Any) -> Iterator[Any]:
            for key in plain_iter(environ):
                self.recorder.local.passing = key
                try:
                    yield key
                finally:
                    self.recorder.local.passing = None

        kind.__getitem__ = get_item
        kind.__iter__ = iterate

    def _read(self, name: str, frame: FrameType) -> None:
        if name.startswith(FLAG_PREFIXES):
            return  # in the key of every result
        above: FrameType | None = frame
        while above is not None and above.f_globals.get("__name__") in _ENVIRON:
            above = above.f_back
        # The standard library reads for itself: the home folder, the search path.
        if above is not None and _top(above) not in sys.stdlib_module_names and self._asks(above):
            self.recorder.note("variables", name, above)


def _top(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _absolute(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))
