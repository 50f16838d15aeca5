"""Results that come from the lock instead of a trace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from . import lock
from .files import Cache, digest
from .folders import file_digest
from .records import Seen, read_seen, seen
from .request import SCHEMA, Request

INDEX: Final = "lock-index.txt"
_SCHEMA: Final = [lock.SCHEMA, SCHEMA]


class LockFolder:
    """The lock of a project, read where its files are not known to be as they were.

    ``shown`` is the folder as its messages name it; ``kept`` has the index, which is only a
    shortcut for builds in which nothing changed.  What changed is known by digests: times
    of files say nothing on another machine.
    """

    def __init__(self, folder: Path, shown: str, kept: Cache) -> None:
        self.folder = folder
        self.shown = shown
        self.kept = kept
        self.loaded: dict[str, dict[str, Any] | None] = {}
        self.results: dict[str, dict[str, Any]] = {}
        found = kept.data(INDEX)
        known = type(found) is dict and found.get("schema") == _SCHEMA
        rows = found.get("files") if known else None
        self.rows: dict[str, Any] = rows if type(rows) is dict else {}

    @property
    def exists(self) -> bool:
        """Whether the project has a lock at all."""
        return os.path.isdir(self.folder)

    def data(self, file: str) -> dict[str, Any] | None:
        """The data of a file, ``None`` where it is missing or damaged."""
        if file not in self.loaded:
            self.loaded[file] = lock.load(self.folder / file)
        return self.loaded[file]

    def result(self, file: str) -> dict[str, Any] | None:
        """The result in a file."""
        if file not in self.results:
            data = self.data(file)
            if data is None:
                return None
            self.results[file] = lock.decoded(data)
        return self.results[file]

    def look(self, file: str, request: Request, asked: str) -> tuple[Seen, str]:
        """What the result in a file shows, or why it can't be used.

        ``asked`` is the digest of the request, for which a file is looked at but once.
        """
        state = file_digest(str(self.folder / file))
        row: Any = self.rows.get(file)
        if state and type(row) is list and row[:2] == [state, asked] and len(row) == 3:
            known = read_seen(row[2])
            if known is not None:
                return known, ""
        problem = self.problem(file, request)
        if problem:
            return Seen(digest(problem), ""), problem
        found = seen(self.result(file) or {})
        self.rows[file] = [state, asked, [*found]]
        return found, ""

    def problem(self, file: str, request: Request) -> str:
        """Why a file can't be used for a request, or ``""``."""
        make = "`sphinx-build -b jaxpr-lock` makes it"
        place = f"{self.shown}/{file}"
        if not self.exists:
            return f"there is no lock: {make} in {self.shown}"
        if lock.signature(self.folder / file) is None:
            return f"it is not in the lock ({place}); {make}"
        data = self.data(file)
        if data is None:
            return f"{place} is no whole lock file (a conflict that was left?); {make} anew"
        if data["request"] != lock.readable(request):
            said = lock.differing(lock.readable(request), data["request"])
            return f"{place} was made for another request: {said}; {make} anew"
        return ""

    def flush(self) -> None:
        """Keep what was looked at."""
        rows = {name: row for name, row in self.rows.items() if os.path.exists(self.folder / name)}
        self.kept.keep(INDEX, {"schema": _SCHEMA, "files": rows})
