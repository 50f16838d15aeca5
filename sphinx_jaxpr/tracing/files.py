"""Files that are whole or missing, their names, and JSON without ambiguity.

Whatever has a file's name (a folder, a pipe, a device, a link to itself), reading it neither
blocks nor raises anything but ``OSError``.  Links to files are followed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import stat
from collections.abc import Callable
from json import dumps  # in the worker, user code may replace it in its module
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, TypeVar

#: A JSON object, for codecs only: between modules, data travels as dataclasses.
JsonObject: TypeAlias = dict[str, Any]
_T = TypeVar("_T")

#: The longest file or line that is read, in bytes: a program of a million equations has less.
MOST: Final = 256 * 2**20
_DAY: Final = 24 * 3600
#: Names that :func:`write_atomically` gives, and that earlier versions gave.
_TEMPORARY: Final = re.compile(r"\.([0-9a-f]{16}|[a-z0-9_]{8})\.tmp")
_EXTRA: Final = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"))
_BINARY: Final = getattr(os, "O_BINARY", 0)
#: A name that every system takes.
_PLAIN: Final = r"[a-z0-9_](?:[a-z0-9_.-]{0,78}[a-z0-9_-])?"
#: Names that Windows reserves for devices, whatever follows their first dot.
_DEVICES: Final = frozenset(
    ["con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10))]
)
#: Reasons for which a file that only saves time is silently left out.
_QUIET: Final = frozenset(
    [errno.EROFS, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST,
     errno.ENOTDIR, errno.ELOOP]
)  # fmt: skip


# -- names of files --------------------------------------------------------------------


def file_name(name: str, docname: str = "") -> str:
    """The file of a block in the lock, relative to the lock's folder, with ``/``.

    ``docname`` is the page if the name is local to it.  A name that some system can't use
    for a file, or takes for another one, gets a hash.
    """
    folders = [_segment(part) for part in docname.split("/")] if docname else []
    return "/".join([*folders, f"{_segment(name)}.json"])


def _segment(name: str) -> str:
    device = name.partition(".")[0] in _DEVICES
    if re.fullmatch(_PLAIN, name) and not device and not name.endswith(".json"):
        return name
    slug = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:40].strip(".-").replace(".", "_")
    data = name.encode("utf-8", "surrogatepass")  # a lone surrogate has a hash too
    return f"{slug}~{hashlib.sha256(data).hexdigest()[:8]}"


# -- JSON ------------------------------------------------------------------------------


_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical(data: Any) -> str:
    """JSON with sorted keys: equal data, equal text.  ``NaN`` is refused."""
    return _encode(data)


def digest(data: Any) -> str:
    """Hex digest of JSON data."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def loads(text: str | bytes, *, halves: bool = False) -> Any:
    """Read JSON data; ``ValueError`` if it is invalid, or ambiguous to readers.

    With ``halves``, texts may contain lone surrogates, which no file can hold.
    """
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        data = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_single
        )
        if not halves and ("\\ud" in text or "\\uD" in text):
            dumps(data, ensure_ascii=False).encode()
    except (RecursionError, MemoryError) as error:
        raise ValueError(f"too deep or too large: {type(error).__name__}") from None
    return data


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number that is too large")
    return number


def _single(pairs: list[tuple[str, Any]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key occurs twice")
    return members


def signed(text: str | bytes) -> bytes:
    """A line that can be verified: its digest, then ``text``, which is a single line."""
    data = text.encode() if isinstance(text, str) else text
    return b"%s %s\n" % (hashlib.sha256(data).hexdigest().encode(), data)


def unsigned(line: bytes) -> bytes | None:
    """The text of a :func:`signed` line; ``None`` if any byte has changed."""
    data = line[65:-1]
    whole = len(line) > 65 and line[64:65] == b" " and line[-1:] == b"\n"
    fits = whole and hashlib.sha256(data).hexdigest().encode() == line[:64]
    return data if fits else None


# -- reading ---------------------------------------------------------------------------


def opened(path: Path | str) -> BinaryIO:
    """A regular file, open for reading; ``OSError`` for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | _EXTRA | _BINARY)
    except ValueError as error:  # a path that no file can have
        raise OSError(errno.EINVAL, str(error)) from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file")
    return os.fdopen(handle, "rb")


def read_bytes(path: Path) -> bytes:
    """The content of a file; ``OSError`` if it can't be read."""
    with opened(path) as stream:
        try:
            data = stream.read(MOST + 1) or b""  # none if reading would block
        except MemoryError:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)) from None
    if len(data) > MOST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data


def read(path: Path) -> Any:
    """The JSON data of a file; ``None`` if it is damaged or missing."""
    try:
        return loads(read_bytes(path), halves=True)
    except (OSError, ValueError):
        return None


# -- writing ---------------------------------------------------------------------------


def write_all(handle: int, data: bytes) -> None:
    """Write all of ``data``, at once where the system can."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def write_atomically(path: Path, text: str | bytes) -> None:
    """Write a file through a temporary one and a rename; readers see all or nothing.

    The mode follows the umask, whatever the mode of the old file.
    """
    data = _encoded(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    name = path.parent / f".{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _EXTRA | _BINARY
    handle = os.open(name, flags, 0o666)
    try:
        try:
            write_all(handle, data)
        finally:
            os.close(handle)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_changed(path: Path, text: str | bytes) -> None:
    """Write a file if its text differs, so that watchers of the folder see real changes only."""
    try:
        same = read_bytes(path) == _encoded(text)
    except OSError:
        same = False
    if not same:
        write_atomically(path, text)


def _encoded(text: str | bytes) -> bytes:
    return text.encode(errors="backslashreplace") if isinstance(text, str) else text


def remove_temporary(folder: Path, now: float) -> None:
    """Remove half-written files of killed builds once they are a day old."""
    remove_old(folder, lambda name: bool(_TEMPORARY.fullmatch(name)), now - _DAY)


def remove_old(folder: Path, named: Callable[[str], bool], before: float) -> None:
    """Remove the files in a folder that match a name and were written before a time."""
    with contextlib.suppress(OSError, ValueError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if named(entry.name):
                    state = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(state.st_mode) and state.st_mtime < before:
                        os.unlink(entry.path)


class Cache:
    """The folder where builds keep data that saves time in later builds; none needs it.

    Failures never raise: a file that can't be read counts as missing, and one that can't be
    written is not kept.  If that costs anything, ``tell`` gets the reason once, and nothing
    more is written.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None] = lambda reason: None) -> None:
        self.folder = folder
        self.tell = tell
        self.fails = False

    def failed(self, error: Exception) -> None:
        """Note that a file could not be written, so that the next build must repeat the work."""
        if not self.fails:
            self.fails = True
            self.tell(getattr(error, "strerror", None) or str(error))

    def load(self, name: str, read: Callable[[Any], _T | None], schema: Any = None) -> _T | None:
        """The data that :meth:`keep` wrote under ``schema``, as converted by ``read``.

        ``None`` if the file is incomplete or has another schema.  Nothing else checks the
        data before ``read``, which returns ``None`` for anything unexpected.
        """
        try:
            text = unsigned(read_bytes(self.folder / name))
            data = None if text is None else loads(text)
        except (OSError, ValueError):
            return None
        if schema is not None and (type(data) is not dict or data.pop("schema", None) != schema):
            return None
        return None if data is None else read(data)

    def keep(self, name: str, data: Any, schema: Any = None) -> bool:
        """Keep JSON data (an object, if it has a ``schema``); whether that worked."""
        try:
            line = signed(canonical(data if schema is None else {"schema": schema, **data}))
        except (ValueError, RecursionError):
            return False
        return self.write(name, line)

    def stamp(self, name: str) -> bytes:
        """A text that changes with a file that :meth:`keep` writes; empty if there is none."""
        try:
            with opened(self.folder / name) as stream:
                return stream.read(64) or b""
        except OSError:
            return b""

    def write(self, name: str, text: str | bytes) -> bool:
        """Write a file that the build can do without; whether that worked."""
        path = self.folder / name
        try:
            if not self.fails:
                write_changed(path, text)
                return True
        except (OSError, ValueError) as error:
            if getattr(error, "errno", 0) not in _QUIET:
                self.failed(error)
        return False
