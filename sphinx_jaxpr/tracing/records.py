"""What the store knows of a result without reading it, and the check of all that it reads.

A digest says that a line is as it was written, not who wrote it: each field is checked all
the same, as those of the lock and of the worker's replies are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..program.characters import is_plain
from .files import canonical, digest, loads
from .needs import Stored, are_stored
from .packs import NAME, Record
from .request import SCHEMA
from .results import problem

#: What a key may end with: under it lies a failure that is tried again where it matters.
FAILED: Final = "-failed"
_KEY: Final = re.compile(rf"[0-9a-f]{{40}}({FAILED})?")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
#: Largest number of a place, a size, or a time: what fits into 64 bits.
_MOST: Final = 2**63 - 1


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
    captured = min(sum(size for _, size in result.get("constants", ())), _MOST)
    programs = result.get("facts", {}).get("programs", ())
    names = {equation[0] for program in programs for equation in program.get("equations", ())}
    return Seen(digest(shown), digest(lines), captured, "\n".join(sorted(names)))


def read_seen(data: Any) -> Seen | None:
    """What was kept of a result, ``None`` where it is nothing of the kind."""
    fits = type(data) is list and len(data) == 4 and all(map(_is_digest, data[:2]))
    names = fits and _is_count(data[2]) and type(data[3]) is str and is_plain(data[3])
    return Seen(*data) if names else None


@dataclass(slots=True)
class Row:
    """A record of a pack.

    ``at`` orders the records of one key, ``asked`` is the day (since 1970) on which a build
    last asked for it, ``request`` the digest of the request.  ``needs`` and ``made`` are names
    of what many records share.  ``raised`` says that the result is an error.  ``seen`` is
    ``None`` until somebody asks.
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


class Index:
    """Rows of all packs, with what they share."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}  # of each pack, as far as it was read
        self.rows: dict[str, dict[str, Row]] = {}  # by key and digest
        self.needs: dict[str, Stored] = {}
        self.made: dict[str, dict[str, str]] = {}

    def all(self) -> list[Row]:
        """Every row."""
        return [row for rows in self.rows.values() for row in rows.values()]

    def newest(self, key: str) -> list[Row]:
        """The rows of a key, the newest first."""
        return sorted(self.rows.get(key, {}).values(), key=lambda row: row.at, reverse=True)

    def drop(self, rows: Iterable[Row]) -> None:
        """Forget rows."""
        for row in rows:
            kept = self.rows.get(row.key, {})
            kept.pop(row.digest, None)
            if not kept:
                self.rows.pop(row.key, None)

    def share(self, needs: Stored, made: dict[str, str]) -> tuple[str, str]:
        """Keep what a record depends on, once for all; the names of the two."""
        names = digest(needs), digest(made)
        self.needs.setdefault(names[0], needs)
        self.made.setdefault(names[1], made)
        return names

    def to_json(self) -> dict[str, Any]:
        """Plain data; what rows share, and the names of packs, are told by place."""
        rows = sorted(self.all(), key=lambda row: (row.pack, row.offset))
        packs = sorted(self.sizes)
        needs, made = (sorted({getattr(row, part) for row in rows}) for part in ("needs", "made"))
        places = [{name: n for n, name in enumerate(names)} for names in (packs, needs, made)]
        return {
            "schema": SCHEMA,
            "packs": [[name, self.sizes[name]] for name in packs],
            "needs": [self.needs[name] for name in needs],
            "made": [self.made[name] for name in made],
            "rows": [
                [row.key, places[0][row.pack], row.offset, row.length, row.digest, row.at,
                 row.asked, row.request, places[1][row.needs], places[2][row.made], row.raised,
                 row.seen and [*row.seen]]
                for row in rows
            ],
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Any) -> Index | None:
        """The inverse, ``None`` for all that :meth:`to_json` does not make."""
        parts = ["made", "needs", "packs", "rows", "schema"]
        if type(data) is not dict or sorted(data) != parts or data["schema"] != SCHEMA:
            return None
        if not all(type(data[part]) is list for part in parts[:-1]):
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
        packs = [name for name, _ in data["packs"]]
        for found in data["rows"]:
            if not _is_row(found, len(packs), len(needs), len(made)):
                return None
            key, pack, offset, length, known, at, asked, request, one, two, raised, shown = found
            row = Row(
                key, packs[pack], offset, length, known, at, asked, request, needs[one], made[two],
                raised, None if shown is None else Seen(*shown),
            )  # fmt: skip
            index.rows.setdefault(key, {})[known] = row
        return index


# -- records ---------------------------------------------------------------------------


def head(key: str, request: str, needs: Stored, made: Mapping[str, str], at: int) -> dict[str, Any]:
    """What stands before the result of a record."""
    return {
        "schema": SCHEMA, "key": key, "request": request, "needs": needs, "made": dict(made),
        "at": at,
    }  # fmt: skip


def read_head(record: Record) -> dict[str, Any] | None:
    """The head of a record, ``None`` where it is none."""
    try:
        found = loads(record.head)
    except ValueError:
        return None
    fits = (
        type(found) is dict
        and sorted(found) == ["at", "key", "made", "needs", "request", "schema"]
        and type(found["schema"]) is int
        and found["schema"] == SCHEMA
        and _is_key(found["key"])
        and _is_digest(found["request"])
        and are_stored(found["needs"])
        and _are_texts(found["made"])
        and _is_count(found["at"])
    )
    return found if fits else None


def read_result(record: Record, key: str) -> dict[str, Any] | None:
    """The result of a record of that key, ``None`` where it is none that a page can show."""
    try:
        result = loads(record.result)
    except ValueError:
        return None
    # Heads are canonical, so the key need not be looked for.
    same = re.match(rb'\{"at":\d{1,19},"key":"([^"]*)"', record.head)
    if same is None or same[1] != key.encode():
        return None
    if problem(result) or (key.endswith(FAILED) and "text" in result):
        return None
    found: dict[str, Any] = result
    return found


def written(head: dict[str, Any], result: dict[str, Any]) -> tuple[str, str]:
    """The two parts of a record as JSON."""
    return canonical(head), canonical(result)


# -- checks of single fields -----------------------------------------------------------


def _is_key(data: Any) -> bool:
    return type(data) is str and _KEY.fullmatch(data) is not None


def _is_digest(data: Any) -> bool:
    return type(data) is str and _DIGEST.fullmatch(data) is not None


def _is_count(data: Any) -> bool:
    return type(data) is int and 0 <= data <= _MOST


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


def _is_row(data: Any, packs: int, needs: int, made: int) -> bool:
    return (
        type(data) is list
        and len(data) == 12
        and _is_key(data[0])
        and all(map(_is_count, (*data[1:4], *data[5:7], *data[8:10])))
        and data[1] < packs
        and data[8] < needs
        and data[9] < made
        and _is_digest(data[4])
        and _is_digest(data[7])
        and type(data[10]) is bool
        and (data[11] is None or read_seen(data[11]) is not None)
    )
