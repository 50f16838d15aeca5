"""Results that come from the lock instead of a trace."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Final

from . import lock
from .files import canonical, digest, read, write_changed
from .request import Request
from .store import Seen, seen

INDEX: Final = "lock-index.txt"


class LockFolder:
    """The lock of a project, read where its files are not known to be as they were.

    ``shown`` is the folder as its messages name it; ``kept`` the folder of the index,
    which is only a shortcut for builds in which nothing changed.
    """

    def __init__(self, folder: Path, shown: str, kept: Path) -> None:
        self.folder = folder
        self.shown = shown
        self.index = kept / INDEX
        self.loaded: dict[str, dict[str, Any] | None] = {}
        self.results: dict[str, dict[str, Any]] = {}
        found = read(self.index)
        known = isinstance(found, dict) and found.get("schema") == lock.SCHEMA
        rows = found.get("files") if known else None
        self.rows: dict[str, Any] = rows if isinstance(rows, dict) else {}

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
        state = lock.signature(self.folder / file)
        row: Any = self.rows.get(file)
        with contextlib.suppress(TypeError, KeyError):
            if state and row["signature"] == state and row["asked"] == asked:
                return Seen(*row["seen"]), ""
        problem = self.problem(file, request)
        if problem:
            return Seen(digest(problem), ""), problem
        found = seen(self.result(file) or {})
        self.rows[file] = {"signature": state, "asked": asked, "seen": [*found]}
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
        write_changed(self.index, canonical({"schema": lock.SCHEMA, "files": rows}) + "\n")
