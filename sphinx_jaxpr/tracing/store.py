"""Results by key, one JSON file each, and what must still hold for them.

``index.json`` repeats of every entry what a warm build needs to know, so that
a build in which nothing changed reads one file instead of all.  It is only a
shortcut: an entry that it does not know is read from its own file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any, Final, NamedTuple

from .files import canonical, digest, read, write_atomically
from .fingerprint import Installed
from .paths import Paths
from .request import SCHEMA, Request

INDEX: Final = "index.json"


class Seen(NamedTuple):
    """What every build needs to know of a result, so that it need not be read.

    ``program`` and ``source`` are digests of what a page can show; they decide
    what is written again.  ``captured`` is the size of closed-over arrays in bytes,
    ``primitives`` are the names of the primitives, one a line.
    Where in a file a line of the function stands is not shown, so a comment
    above it changes neither.  The source counts only where it was asked for.
    """

    program: str
    source: str
    captured: int = 0
    primitives: str = ""

    @property
    def names(self) -> list[str]:
        """The primitives that the program meets at any depth, sorted."""
        return self.primitives.split("\n") if self.primitives else []


def seen(result: dict[str, Any]) -> Seen:
    """What a page can show of a result."""
    shown = {key: value for key, value in result.items() if key not in ("source", "settings")}
    if "facts" in shown:
        shown["facts"] = {k: v for k, v in shown["facts"].items() if k != "sources"}
    lines = [result.get("source"), result.get("facts", {}).get("sources")]
    captured = sum(size for _, size in result.get("constants", ()))
    programs = result.get("facts", {}).get("programs", ())
    names = {equation[0] for program in programs for equation in program.get("equations", ())}
    return Seen(digest(shown), digest(lines), captured, "\n".join(sorted(names)))


class Store:
    """The folder of results of one project."""

    def __init__(self, folder: Path, paths: Paths, installed: Installed) -> None:
        self.folder = folder
        self.paths = paths
        self.installed = installed
        self.changed = False
        self.damaged: list[str] = []  # files that were no whole entry of this version
        self.loaded: dict[str, dict[str, Any]] = {}
        self._hashes: dict[str, str] = {}
        self._holding: dict[str, bool] = {}
        self._signatures = self._scan()
        self.index = self._read_index()

    # -- reading

    def fresh(self, key: str) -> Seen | None:
        """What the result under ``key`` shows, if it may still be used."""
        signature = self._signatures.get(key)
        if signature is None:
            return None
        row = self.index["entries"].get(key)
        if row is None or row["signature"] != signature:
            entry = self._entry(key)
            if entry is None:
                return None
            row = self._note(key, entry, signature)
        return Seen(*row["seen"]) if self._holds(row["needs"]) else None

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
        index = read(self.folder / INDEX)
        if _is_index(index):
            found: dict[str, Any] = index
            return found
        return {"schema": SCHEMA, "entries": {}, "needs": {}}

    def _entry(self, key: str) -> dict[str, Any] | None:
        """An entry as it lies there; anything but a whole one of this schema is a miss."""
        entry = read(self.folder / f"{key}.json")
        if _is_entry(entry):
            found: dict[str, Any] = entry
            return found
        self.damaged.append(f"{key}.json")
        return None

    def _note(self, key: str, entry: dict[str, Any], signature: list[int]) -> dict[str, Any]:
        name = digest(entry["needs"])[:16]
        self.index["needs"][name] = entry["needs"]
        row = {"seen": [*seen(entry["result"])], "signature": signature, "needs": name}
        self.index["entries"][key] = row
        self._signatures[key] = signature
        self.changed = True
        return row

    def _holds(self, name: str) -> bool:
        """Whether all files and distributions are as they were; judged once a build."""
        if name not in self._holding:
            needs = self.index["needs"][name]
            self._holding[name] = (
                all(self._hash(file) == known for file, known in needs["files"].items())
                and all(
                    self.installed.version(dist) == known
                    for dist, known in needs["distributions"].items()
                )
                and all(self.paths.module(top) == known for top, known in needs["modules"].items())
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
    ) -> Seen:
        """Keep a result at once, so that a later failure costs nothing; what it shows."""
        entry = {
            "schema": SCHEMA,
            "request": request.to_json(),
            "needs": {
                "files": {self.paths.stored(file): known for file, known in files.items()},
                "distributions": {name: self.installed.version(name) for name in distributions},
                # Where the names on the page lead: other import roots may lead elsewhere.
                "modules": {top: self.paths.module(top) for top in request.top_modules},
            },
            "result": result,
            "digest": digest(result),
        }
        state = write_atomically(self.folder / f"{key}.json", canonical(entry) + "\n")
        row = self._note(key, entry, [state.st_size, state.st_mtime_ns])
        self.loaded[key] = result
        return Seen(*row["seen"])

    def flush(self) -> None:
        """Write the index if anything changed."""
        if not self.changed:
            return
        rows = {k: row for k, row in self.index["entries"].items() if k in self._signatures}
        used = {row["needs"] for row in rows.values()}
        needs = {name: found for name, found in self.index["needs"].items() if name in used}
        self.index = {"schema": SCHEMA, "entries": rows, "needs": needs}
        write_atomically(self.folder / INDEX, canonical(self.index) + "\n")
        self.changed = False


def _is_entry(data: Any) -> bool:
    try:
        return bool(
            data["schema"] == SCHEMA
            and isinstance(data["result"], dict)
            and digest(data["result"]) == data["digest"]
            and _are_needs(data["needs"])
        )
    except (KeyError, TypeError, RecursionError):
        return False


def _is_index(data: Any) -> bool:
    try:
        return bool(
            data["schema"] == SCHEMA
            and all(_are_needs(needs) for needs in data["needs"].values())
            and all(
                [type(part) for part in row["seen"]] == [str, str, int, str]
                and row["needs"] in data["needs"]
                and "signature" in row
                for row in data["entries"].values()
            )
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _are_needs(data: Any) -> bool:
    return isinstance(data, dict) and all(
        isinstance(data.get(part), dict) and all(isinstance(v, str) for v in data[part].values())
        for part in ("files", "distributions", "modules")
    )
