"""Packs, the files of the store: lines that builds append, their index, and the check of both.

A digest proves that a line is intact, not who wrote it.  So each field is checked, as in the
lock and in the worker's replies.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..program.text import is_plain
from .files import MOST, JsonObject, canonical, digest, loads, opened, signed, unsigned, write_all
from .jobs import SCHEMA
from .needs import Stored, are_stored

if TYPE_CHECKING:
    from .result import EncodedResult, Result

# --- packs: each is a file to which a single build appends a line for every result

NAME: Final = re.compile(rf"{SCHEMA}-[0-9a-f]{{16}}\.pack")
#: Without file locks: seconds after which a pack counts as abandoned by its build.
_ABANDONED: Final = 7 * 24 * 3600
#: How many new packs another build may remove before one is locked.
_TRIES: Final = 8
_BINARY: Final = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Record(NamedTuple):
    """A whole line of a pack: its position, its digest, and its parts."""

    offset: int
    length: int
    digest: str
    head: bytes
    result: EncodedResult


def line(head: bytes, result: EncodedResult) -> bytes:
    """The line of a record."""
    return signed(b"\t".join((head, *result)))


def record(text: bytes, offset: int = 0) -> Record | None:
    """The record on a line, ``None`` where it is damaged."""
    data = unsigned(text)
    if data is None:
        return None
    head, *result = data.split(b"\t")
    if len(result) != 2:
        return None
    from .result import EncodedResult

    return Record(offset, len(text), text[:64].decode(), head, EncodedResult(*result))


class Pack:
    """A new pack that this process appends to."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.size = 0
        for _ in range(_TRIES):
            self.name = f"{SCHEMA}-{os.urandom(8).hex()}.pack"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | _BINARY
            self._handle = os.open(folder / self.name, flags, 0o666)
            # Between the two calls another build may have considered it abandoned.
            if _lock(self._handle) is not False and os.fstat(self._handle).st_nlink:
                return
            self.close()
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def append(self, text: bytes) -> int:
        """Write a line at once, and return the offset where it begins."""
        offset = self.size
        try:
            write_all(self._handle, text)
        except OSError:
            with contextlib.suppress(OSError):  # avoid half a line, if possible
                os.ftruncate(self._handle, offset)
            raise
        self.size += len(text)
        return offset

    def close(self) -> None:
        """Release the pack to other builds."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            self.close()


def _lock(handle: int) -> bool | None:
    """Lock a file; whether that worked, or ``None`` if the system has no locks."""
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
    sizes = {}
    with contextlib.suppress(OSError, ValueError), os.scandir(folder) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    state = entry.stat()
                    if stat.S_ISREG(state.st_mode):
                        sizes[entry.name] = state.st_size
    return dict(sorted(sizes.items()))


def lines(path: Path, start: int) -> Iterator[tuple[int, int, bytes]]:
    """The whole lines of a pack from ``start`` on, each with its offset and its end.

    A last line without an end may be unfinished and is ignored.  A line that is too long is
    returned empty.
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
    """The bytes at a position of a pack."""
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

    Links are never removed.
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
            os.close(handle)  # some systems refuse to remove an open file
            handle = -1
        yield locked and state.st_size == size and state.st_nlink > 0
    finally:
        if handle >= 0:
            os.close(handle)


# --- the index: what a build needs to know of results without reading them

#: The end of a key whose result is a failure, which is retried where it matters.
FAILED: Final = "-failed"
_KEY: Final = re.compile(rf"[0-9a-f]{{40}}({FAILED})?")
_KEYS: Final = re.compile(rf"(?:{_KEY.pattern}\n)*")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_DIGESTS: Final = re.compile(rf"(?:{_DIGEST.pattern}\n)*")
#: Largest position, size or time: what fits into 64 bits.
_MOST: Final = 2**63 - 1


class Seen(NamedTuple):
    """The part of a result that every build needs, so that the rest need not be read.

    ``program`` and ``source`` are digests of what a page can show; they decide
    what is written again.  ``captured`` is the size of closed-over arrays in bytes,
    ``primitives`` are the names of the primitives, one a line.
    Line numbers are not shown, so a comment above the function changes neither.
    The source counts only where a page shows it.
    """

    program: str
    source: str
    captured: int = 0
    primitives: str = ""

    @property
    def names(self) -> list[str]:
        """The primitives in the program at any depth, sorted."""
        return self.primitives.split("\n") if self.primitives else []


def seen(result: Result, visible: str = "") -> Seen:
    """Summarize what a page can show of a result; ``visible`` is the digest of that part."""
    from .result import split

    visible = visible or digest(split(result.to_json())[0])
    program = result.program
    sizes = program.constants if program is not None else ()
    facts = program.facts if program is not None else None
    names = {
        equation.primitive
        for inner in (facts.programs if facts is not None else ())
        for equation in inner.equations
    }
    lines = [
        result.source.to_json() if result.source is not None else None,
        list(facts.sources) if facts is not None else None,
    ]
    captured = min(sum(size for _, size in sizes), _MOST)
    return Seen(visible, digest(lines), captured, "\n".join(sorted(names)))


def read_seen(data: Any) -> Seen | None:
    """What was kept of a result; ``None`` where the data is anything else."""
    fits = type(data) is list and len(data) == 4 and all(map(_is_digest, data[:2]))
    names = fits and _is_count(data[2]) and type(data[3]) is str and is_plain(data[3])
    return Seen(*data) if names else None


@dataclass(slots=True)
class IndexRow:
    """A record of a pack.

    ``at`` orders the records of one key, ``asked`` is the day (since 1970) on which a build
    last asked for it, ``request`` the digest of the request.  ``needs`` and ``made`` are names
    of what many records share.  ``raised`` says that the result is an error.  ``seen`` is
    ``None`` until requested.
    """

    key: str
    pack: str
    offset: int
    length: int
    digest: str
    at: int
    asked: int
    request: str
    needs: str
    made: str
    raised: bool = False
    seen: Seen | None = None


class Shared:
    """What many records have in common, as JSON, and its names."""

    def __init__(self, needs: str, made: str) -> None:
        self.needs = needs
        self.made = made
        self.needs_name = hashlib.sha256(needs.encode()).hexdigest()
        self.made_name = hashlib.sha256(made.encode()).hexdigest()


class PackIndex:
    """Rows of all packs, with what they share."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}  # of each pack, the offset up to which it was read
        self.rows: dict[str, tuple[IndexRow, ...]] = {}  # by key
        self.needs: dict[str, Stored] = {}
        self.made: dict[str, dict[str, str]] = {}

    def all(self) -> list[IndexRow]:
        """Every row."""
        return [row for rows in self.rows.values() for row in rows]

    def newest(self, key: str) -> Sequence[IndexRow]:
        """The rows of a key, the newest first."""
        rows = self.rows.get(key, ())
        return rows if len(rows) < 2 else sorted(rows, key=lambda row: row.at, reverse=True)

    def find(self, key: str, line_digest: str) -> IndexRow | None:
        """The row of a record."""
        rows = self.rows.get(key, ())
        return next((row for row in rows if row.digest == line_digest), None)

    def put(self, row: IndexRow) -> None:
        """Add a row, in place of one for the same record."""
        others = (other for other in self.rows.get(row.key, ()) if other.digest != row.digest)
        self.rows[row.key] = (*others, row)

    def drop(self, rows: Iterable[IndexRow]) -> None:
        """Forget rows."""
        for row in rows:
            kept = tuple(r for r in self.rows.get(row.key, ()) if r.digest != row.digest)
            if kept:
                self.rows[row.key] = kept
            else:
                self.rows.pop(row.key, None)

    def share(self, needs: Stored, made: dict[str, str]) -> Shared:
        """Keep a record's needs and circumstances, which many have in common."""
        shared = Shared(canonical(needs), canonical(made))
        self.needs.setdefault(shared.needs_name, needs)
        self.made.setdefault(shared.made_name, made)
        return shared

    def to_json(self) -> JsonObject:
        """Plain data; rows name their packs, and what they share, by index."""
        rows = sorted(self.all(), key=lambda row: (row.pack, row.offset))
        names = _Names(
            sorted(self.sizes),
            sorted({row.needs for row in rows}),
            sorted({row.made for row in rows}),
        )
        return {
            "packs": [[name, self.sizes[name]] for name in names.packs],
            "needs": [self.needs[name] for name in names.needs],
            "made": [self.made[name] for name in names.made],
            "rows": list(map(names.writer(), rows)),
        }

    @classmethod
    def from_json(cls, data: Any) -> PackIndex | None:
        """Read what :meth:`to_json` wrote; ``None`` for anything else."""
        parts = ["made", "needs", "packs", "rows"]
        if type(data) is not dict or sorted(data) != parts:
            return None
        if not all(type(data[part]) is list for part in parts):
            return None
        if not (
            all(map(_is_pack, data["packs"]))
            and all(map(are_stored, data["needs"]))
            and all(map(_are_texts, data["made"]))
        ):
            return None
        index = cls()
        index.sizes = dict(data["packs"])
        needs, made = ([digest(item) for item in data[part]] for part in ("needs", "made"))
        index.needs = dict(zip(needs, data["needs"], strict=True))
        index.made = dict(zip(made, data["made"], strict=True))
        names = _Names([name for name, _ in data["packs"]], needs, made)
        rows = names.read(data["rows"])
        if rows is None:
            return None
        for row in rows:
            if row.key in index.rows:
                index.put(row)
            else:
                index.rows[row.key] = (row,)
        return index


class _Names(NamedTuple):
    """The lists into which the rows of an index point: the JSON of a row needs them."""

    packs: list[str]
    needs: list[str]
    made: list[str]

    def writer(self) -> Callable[[IndexRow], list[Any]]:
        """A function that turns a row into plain data."""
        packs, needs, made = ({name: n for n, name in enumerate(names)} for names in self)

        def write(row: IndexRow) -> list[Any]:
            return [
                row.key, packs[row.pack], row.offset, row.length, row.digest, row.at, row.asked,
                row.request, needs[row.needs], made[row.made], row.raised, row.seen and [*row.seen],
            ]  # fmt: skip

        return write

    def read(self, data: list[Any]) -> list[IndexRow] | None:
        """Read what :meth:`writer` made; ``None`` for anything else.

        Columns are checked as a whole: a check of each field costs more than all the rest.
        """
        if not data:
            return []
        if not all(type(row) is list and len(row) == 12 for row in data):
            return None
        key, pack, offset, length, line, at, asked, request, needs, made, raised, kept = zip(
            *data, strict=True
        )
        fits = (
            _are(_KEYS, key)
            and all(map(_are_counts, (pack, offset, length, at, asked, needs, made)))
            and max(pack) < len(self.packs)
            and max(needs) < len(self.needs)
            and max(made) < len(self.made)
            and _are(_DIGESTS, line)
            and _are(_DIGESTS, request)
            and set(map(type, raised)) == {bool}
        )
        shows = _read_all_seen(kept) if fits else None
        if shows is None:
            return None
        packs = map(self.packs.__getitem__, pack)
        shared = map(self.needs.__getitem__, needs), map(self.made.__getitem__, made)
        columns = key, packs, offset, length, line, at, asked, request, *shared, raised, shows
        return list(map(IndexRow, *columns))


def _read_all_seen(data: Sequence[Any]) -> list[Seen | None] | None:
    """What rows keep of their results; ``None`` where anything is wrong.

    Many programs have the same primitives, so equal texts are one.
    """
    kept = [item for item in data if item is not None]
    if not all(type(item) is list and len(item) == 4 for item in kept):
        return None
    if kept:
        program, source, captured, names = zip(*kept, strict=True)
        if not (_are(_DIGESTS, program) and _are(_DIGESTS, source) and _are_counts(captured)):
            return None
        if set(map(type, names)) != {str} or not all(map(is_plain, set(names))):
            return None
    same: dict[str, str] = {}
    return [
        None if item is None else Seen._make((*item[:3], same.setdefault(item[3], item[3])))
        for item in data
    ]


# -- records ---------------------------------------------------------------------------


@dataclass(frozen=True)
class RecordHead:
    """What precedes the result in a record.

    ``request`` is the request's digest, ``made`` what entered the key beside the request,
    ``at`` orders the records of one key.
    """

    key: str
    request: str
    needs: Stored
    made: dict[str, str]
    at: int

    @classmethod
    def from_json(cls, data: Any) -> RecordHead | None:
        """Read what :func:`head` wrote; ``None`` for anything else."""
        fits = (
            type(data) is dict
            and sorted(data) == ["at", "key", "made", "needs", "request", "schema"]
            and type(data["schema"]) is int
            and data["schema"] == SCHEMA
            and _is_key(data["key"])
            and _is_digest(data["request"])
            and are_stored(data["needs"])
            and _are_texts(data["made"])
            and _is_count(data["at"])
        )
        if not fits:
            return None
        return cls(data["key"], data["request"], data["needs"], data["made"], data["at"])


def head(key: str, request: str, shared: Shared, at: int) -> bytes:
    """The head of a record: canonical JSON, without encoding again what others share."""
    text = f'"made":{shared.made},"needs":{shared.needs},"request":"{request}"'
    return f'{{"at":{at},"key":"{key}",{text},"schema":{SCHEMA}}}'.encode()


def read_head(record: Record) -> RecordHead | None:
    """The head of a record, ``None`` where it is damaged."""
    try:
        return RecordHead.from_json(loads(record.head))
    except ValueError:
        return None


def read_result(record: Record, key: str) -> Result | None:
    """The result of a record of that key; ``None`` if a page can't show it."""
    # A build without changes reads none.
    from .checks import problem
    from .result import Result

    try:
        data = record.result.data()
    except ValueError:
        return None
    # Heads are canonical, so a regular expression finds the key.
    same = re.match(rb'\{"at":\d{1,19},"key":"([^"]*)"', record.head)
    if same is None or same[1] != key.encode():
        return None
    if problem(data) or (key.endswith(FAILED) and "text" in data):
        return None
    return Result.from_json(data)


# -- checks of single fields -----------------------------------------------------------


def _is_key(data: Any) -> bool:
    return type(data) is str and _KEY.fullmatch(data) is not None


def _is_digest(data: Any) -> bool:
    return type(data) is str and _DIGEST.fullmatch(data) is not None


def _is_count(data: Any) -> bool:
    return type(data) is int and 0 <= data <= _MOST


def _are_counts(column: Sequence[Any]) -> bool:
    return set(map(type, column)) == {int} and min(column) >= 0 and max(column) <= _MOST


def _are(pattern: re.Pattern[str], column: Sequence[Any]) -> bool:
    """Whether a pattern of lines matches all of a column, each of which is a line."""
    if set(map(type, column)) != {str}:
        return False
    lines = "".join([f"{text}\n" for text in column])
    return lines.count("\n") == len(column) and pattern.fullmatch(lines) is not None


def _are_texts(data: Any) -> bool:
    return type(data) is dict and all(type(text) is str for text in data.values())


def _is_pack(data: Any) -> bool:
    return (
        type(data) is list
        and len(data) == 2
        and type(data[0]) is str
        and NAME.fullmatch(data[0]) is not None
        and _is_count(data[1])
    )
