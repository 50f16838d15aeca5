"""Results by key, one JSON file each, and what must still hold for them.

``index.json`` repeats of every entry what a warm build needs to know, so that
a build in which nothing changed reads one file instead of all.  It is only a
shortcut: an entry that it does not know is read from its own file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Final

from .fingerprint import Installed
from .paths import Paths
from .request import SCHEMA, Request

INDEX: Final = "index.json"


def canonical(data: Any) -> str:
    """JSON with sorted keys: equal data, equal text.  ``NaN`` is refused."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(data: Any) -> str:
    """Hex digest of JSON data."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def write_atomically(path: Path, text: str) -> None:
    """Write UTF-8 through a temporary file and a rename; readers see all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


class Store:
    """The folder of results of one project."""

    def __init__(self, folder: Path, paths: Paths, installed: Installed) -> None:
        self.folder = folder
        self.paths = paths
        self.installed = installed
        self.changed = False
        self.loaded: dict[str, dict[str, Any]] = {}
        self._hashes: dict[str, str] = {}
        self._holding: dict[str, bool] = {}
        self._signatures = self._scan()
        self.index = self._read_index()

    # -- reading

    def fresh(self, key: str) -> str | None:
        """The digest of the result under ``key`` if it may still be used."""
        signature = self._signatures.get(key)
        if signature is None:
            return None
        row = self.index["entries"].get(key)
        if row is None or row["signature"] != signature:
            row = self._adopt(key, signature)
            if row is None:
                return None
        if not self._holds(row["needs"]):
            return None
        found: str = row["digest"]
        return found

    def load(self, key: str) -> dict[str, Any] | None:
        """The result under ``key``; ``None`` where its file is damaged."""
        if key not in self.loaded:
            entry = self._entry(key)
            if entry is None:
                return None
            self.loaded[key] = entry["result"]
        return self.loaded[key]

    def _scan(self) -> dict[str, list[int]]:
        signatures = {}
        with contextlib.suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and entry.name != INDEX:
                    state = entry.stat()
                    signatures[entry.name[:-5]] = [state.st_size, state.st_mtime_ns]
        return signatures

    def _read_index(self) -> dict[str, Any]:
        empty: dict[str, Any] = {"schema": SCHEMA, "entries": {}, "needs": {}}
        try:
            index = json.loads((self.folder / INDEX).read_text("utf-8"))
            good = index["schema"] == SCHEMA and all(
                {"digest", "signature", "needs"} <= row.keys() and row["needs"] in index["needs"]
                for row in index["entries"].values()
            )
            return index if good else empty
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return empty

    def _entry(self, key: str) -> dict[str, Any] | None:
        """An entry as it lies there; anything but a whole one of this schema is a miss."""
        try:
            text = (self.folder / f"{key}.json").read_text("utf-8")
            entry = json.loads(text, parse_constant=_refuse)
            if entry["schema"] == SCHEMA and digest(entry["result"]) == entry["digest"]:
                found: dict[str, Any] = entry
                found["needs"]["files"], found["needs"]["distributions"]
                return found
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def _adopt(self, key: str, signature: list[int]) -> dict[str, Any] | None:
        entry = self._entry(key)
        if entry is None:
            return None
        return self._note(key, entry["digest"], entry["needs"], signature)

    def _note(
        self, key: str, result: str, needs: dict[str, Any], signature: list[int]
    ) -> dict[str, Any]:
        name = digest(needs)[:16]
        self.index["needs"][name] = needs
        row = {"digest": result, "signature": signature, "needs": name}
        self.index["entries"][key] = row
        self.changed = True
        return row

    def _holds(self, name: str) -> bool:
        """Whether all files and distributions are as they were; judged once a build."""
        if name not in self._holding:
            needs = self.index["needs"][name]
            self._holding[name] = all(
                self._hash(file) == known for file, known in needs["files"].items()
            ) and all(
                self.installed.version(dist) == known
                for dist, known in needs["distributions"].items()
            )
        return self._holding[name]

    def _hash(self, stored: str) -> str:
        if stored not in self._hashes:
            try:
                with open(self.paths.absolute(stored), "rb") as stream:
                    self._hashes[stored] = hashlib.file_digest(stream, "sha256").hexdigest()
            except OSError:
                self._hashes[stored] = ""
        return self._hashes[stored]

    # -- writing

    def save(
        self,
        key: str,
        request: Request,
        result: dict[str, Any],
        files: dict[str, str],
        distributions: list[str],
    ) -> str:
        """Keep a result at once, so that a later failure costs nothing; its digest."""
        needs = {
            "files": {self.paths.stored(file): known for file, known in files.items()},
            "distributions": {name: self.installed.version(name) for name in distributions},
        }
        found = digest(result)
        entry = {
            "schema": SCHEMA,
            "request": request.to_json(),
            "needs": needs,
            "result": result,
            "digest": found,
        }
        path = self.folder / f"{key}.json"
        write_atomically(path, canonical(entry) + "\n")
        state = path.stat()
        self._note(key, found, needs, [state.st_size, state.st_mtime_ns])
        self.loaded[key] = result
        return found

    def flush(self) -> None:
        """Write the index if anything changed."""
        if not self.changed:
            return
        used = {row["needs"] for row in self.index["entries"].values()}
        self.index["needs"] = {k: v for k, v in self.index["needs"].items() if k in used}
        write_atomically(self.folder / INDEX, canonical(self.index) + "\n")
        self.changed = False


def _refuse(constant: str) -> None:
    raise ValueError(constant)
