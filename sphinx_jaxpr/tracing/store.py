"""Results by key, one JSON file each, and what must still hold for them.

``index.json`` repeats of every entry what a warm build needs to know, so that
a build in which nothing changed reads one file instead of all.  It is only a
shortcut: an entry that it does not know is read from its own file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from .files import canonical, digest, read, write_atomically
from .needs import Needs, Present, are_stored
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

    def __init__(self, folder: Path, present: Present) -> None:
        self.folder = folder
        self.present = present
        self.installed = present.installed
        self.changed = False
        self.damaged: list[str] = []  # files that were no whole entry of this version
        self.loaded: dict[str, dict[str, Any]] = {}
        self._changes: dict[str, str] = {}
        self._latest: dict[str, str] | None = None
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
        return None if self._changed(row["needs"]) else Seen(*row["seen"])

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
        return {"schema": SCHEMA, "entries": {}, "needs": {}, "made": {}}

    def _entry(self, key: str) -> dict[str, Any] | None:
        """An entry as it lies there; anything but a whole one of this schema is a miss."""
        entry = read(self.folder / f"{key}.json")
        if _is_entry(entry):
            found: dict[str, Any] = entry
            return found
        self.damaged.append(f"{key}.json")
        return None

    def _note(self, key: str, entry: dict[str, Any], signature: list[int]) -> dict[str, Any]:
        row = {
            "seen": [*seen(entry["result"])],
            "signature": signature,
            "needs": self._shared("needs", entry["needs"]),
            "made": self._shared("made", entry["made"]),
            "request": digest(entry["request"]),
        }
        self.index["entries"][key] = row
        self._signatures[key] = signature
        self.changed = True
        return row

    def _shared(self, part: str, data: dict[str, Any]) -> str:
        """The name under which the index keeps what many entries have in common."""
        name = digest(data)[:16]
        self.index[part][name] = data
        return name

    def _changed(self, name: str) -> str:
        """What is no longer as a set of needs has it, ``""`` for nothing; judged once a build."""
        if name not in self._changes:
            self._changes[name] = self.present.changed(self.index["needs"][name])
        return self._changes[name]

    def why(self, key: str, request: str, made: Mapping[str, str]) -> str:
        """Why there is no result for a request under ``key``, ``""`` where there never was one."""
        row = self.index["entries"].get(key)
        if row is not None:
            return self._changed(row["needs"])
        if self._latest is None:
            rows = self.index["entries"].items()
            ordered = sorted(rows, key=lambda item: item[1]["signature"][1])
            self._latest = {row["request"]: row["made"] for _, row in ordered}
        before = self.index["made"].get(self._latest.get(request, ""))
        return _difference(before, made) if before is not None else ""

    # -- writing

    def save(
        self,
        key: str,
        request: Request,
        result: dict[str, Any],
        needs: Needs,
        made: Mapping[str, str],
    ) -> Seen:
        """Keep a result at once, so that a later failure costs nothing; what it shows.

        ``made`` is what entered the key beside the request, by name.
        """
        entry = {
            "schema": SCHEMA,
            "request": request.to_json(),
            "needs": self.present.stored(needs, request.top_modules),
            "made": dict(made),
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
        self.index = {
            "schema": SCHEMA,
            "entries": rows,
            **{part: self._used(part, rows.values()) for part in ("needs", "made")},
        }
        write_atomically(self.folder / INDEX, canonical(self.index) + "\n")
        self.changed = False

    def _used(self, part: str, rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
        return {name: self.index[part][name] for name in {row[part] for row in rows}}


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    for name in sorted({*before, *now}):
        one, two = before.get(name, ""), now.get(name, "")
        if one != two and name.startswith("environment "):  # a digest: what it is stays unsaid
            return f"the {name} {'changed' if one and two else 'is new' if two else 'is gone'}"
        if one != two:
            return f"{name} {one or '(none)'} is now {two or '(none)'}"
    return ""


def _is_entry(data: Any) -> bool:
    try:
        return bool(
            data["schema"] == SCHEMA
            and isinstance(data["result"], dict)
            and digest(data["result"]) == data["digest"]
            and are_stored(data["needs"])
            and _are_texts(data["made"])
        )
    except (KeyError, TypeError, RecursionError):
        return False


def _is_index(data: Any) -> bool:
    try:
        return bool(
            data["schema"] == SCHEMA
            and all(are_stored(needs) for needs in data["needs"].values())
            and all(_are_texts(made) for made in data["made"].values())
            and all(_is_row(row, data) for row in data["entries"].values())
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _is_row(row: Any, data: Any) -> bool:
    return (
        [type(part) for part in row["seen"]] == [str, str, int, str]
        and [type(part) for part in row["signature"]] == [int, int]
        and row["needs"] in data["needs"]
        and row["made"] in data["made"]
        and isinstance(row["request"], str)
    )


def _are_texts(data: Any) -> bool:
    return isinstance(data, dict) and all(isinstance(text, str) for text in data.values())
