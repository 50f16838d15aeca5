"""Packs: files to which one build each appends, a line for every result.

A line is the digest of what follows it, a space, the head of the record as JSON, a tab, and
the result as JSON.  A pack is written by the build that made it and by no other, so several
builds and machines can share a folder; as long as it is open, it is locked where the system
has locks.  A build that is killed leaves at most one half line, at the end.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from .files import MOST, opened, signed, unsigned, write_all
from .request import SCHEMA

NAME: Final = re.compile(rf"{SCHEMA}-[0-9a-f]{{16}}\.pack")
#: Where there are no locks: after so many seconds no build writes a pack any more.
_ABANDONED: Final = 7 * 24 * 3600
#: New packs that another build may take away before they are locked.
_TRIES: Final = 8
_BINARY: Final = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Record(NamedTuple):
    """A whole line of a pack: where it stands, its digest, and its two parts."""

    offset: int
    length: int
    digest: str
    head: bytes
    result: bytes


def line(head: str, result: str) -> bytes:
    """The line of a record."""
    return signed(f"{head}\t{result}")


def record(text: bytes, offset: int = 0) -> Record | None:
    """The record on a line, ``None`` where it is damaged."""
    data = unsigned(text)
    if data is None:
        return None
    head, tab, result = data.partition(b"\t")
    return Record(offset, len(text), text[:64].decode(), head, result) if tab else None


class Pack:
    """A new pack that this process appends to."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.size = 0
        for _ in range(_TRIES):
            self.name = f"{SCHEMA}-{secrets.token_hex(8)}.pack"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | _BINARY
            self._handle = os.open(folder / self.name, flags, 0o666)
            # Between the two calls another build may have taken it for abandoned.
            if _lock(self._handle) is not False and os.fstat(self._handle).st_nlink:
                return
            self.close()
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def append(self, text: bytes) -> int:
        """Write a line at once; where it begins."""
        offset = self.size
        try:
            write_all(self._handle, text)
        except OSError:
            with contextlib.suppress(OSError):  # no half line, if it can be helped
                os.ftruncate(self._handle, offset)
            raise
        self.size += len(text)
        return offset

    def close(self) -> None:
        """Let others have it."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            self.close()


def _lock(handle: int) -> bool | None:
    """Whether a file is ours alone now; ``None`` where the system has no locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def listed(folder: Path) -> dict[str, int]:
    """The packs of a folder with their sizes, in the order of their names."""
    found = {}
    with contextlib.suppress(OSError, ValueError), os.scandir(folder) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    state = entry.stat()
                    if stat.S_ISREG(state.st_mode):
                        found[entry.name] = state.st_size
    return dict(sorted(found.items()))


def lines(path: Path, start: int) -> Iterator[tuple[int, int, bytes]]:
    """The whole lines of a pack from ``start`` on, each with its offset and its end.

    A last line without an end may still be being written, and is none.  One that is too
    long is given as an empty one.
    """
    with opened(path) as stream:
        stream.seek(start)
        offset = start
        while text := stream.readline(MOST):
            end = offset + len(text)
            while text[-1:] != b"\n":
                text = stream.readline(MOST)
                if not text:
                    return
                end += len(text)
            yield offset, end, text if end - offset == len(text) else b"\n"
            offset = end


def raw(path: Path, offset: int, length: int) -> bytes:
    """What stands at a place of a pack."""
    with opened(path) as stream:
        try:
            stream.seek(offset)
            return stream.read(min(length, MOST)) or b""
        except (ValueError, OverflowError, MemoryError):
            return b""


def has_line(path: Path, start: int) -> bool:
    """Whether a whole line follows in a pack."""
    try:
        return any(True for _ in lines(path, start))
    except OSError:
        return True


@contextlib.contextmanager
def held(path: Path, size: int) -> Iterator[bool]:
    """Whether a pack of that size is nobody's, so that it may be removed here.

    A link is never ours.
    """
    try:
        handle = os.open(path, os.O_RDWR | _BINARY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        yield False
        return
    try:
        locked, state = _lock(handle), os.fstat(handle)
        if locked is None:
            locked = state.st_mtime < time.time() - _ABANDONED
            os.close(handle)  # or some systems would not let it be removed
            handle = -1
        yield locked and state.st_size == size and state.st_nlink > 0
    finally:
        if handle >= 0:
            os.close(handle)
