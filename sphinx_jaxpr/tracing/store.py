"""Results by key, and what must still hold for them.

Results are kept in packs (:mod:`.packs`).  The index repeats, for every record, what a build
without changes needs, so that such a build reads one file.  It is only a shortcut: whatever
it lacks is read from the packs.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from . import packs
from .files import MOST, Cache, opened, remove_old, remove_temporary
from .jobs import SCHEMA
from .needs import Present
from .packs import FAILED, IndexRow, PackIndex, Seen, Shared, read_head, read_result, seen

if TYPE_CHECKING:
    from .request import Request
    from .result import EncodedResult, Needs, Result

# --- pruning: by age, by size, and leftovers of killed builds

#: Days after which a result that no build asked for is removed, as are tracebacks and files of
#: other versions of this package.
_DAY: Final = 24 * 3600
DAYS: Final = 30
#: Bytes of results; beyond these, the least recently requested are removed first.
SIZE: Final = 500 * 10**6
#: How many results of one request are kept, for other states of its dependencies.
STATES: Final = 4
#: So many small packs are merged into one.
MANY: Final = 16
_SMALL: Final = 32 * 2**20
_OTHERS: Final = re.compile(
    r"[0-9a-f]{40}(-failed)?\.json"  # before there were packs
    r"|\d+-[0-9a-f]{16}\.pack|index-\d+\.txt|python-[0-9a-f]{12}\.txt"
)
#: Names from before there were packs that other programs use too, and how our files begin.
_PLAIN: Final = {
    "index.json": re.compile(rb'\{"entries":\{'),
    "verdicts.txt": re.compile(rb'\{"[0-9a-f]{24}":|\{\}'),
}
_LOG: Final = re.compile(r"[0-9a-f]{12}\.log")


def outlived(rows: list[IndexRow], today: int) -> list[IndexRow]:
    """The rows that no build is likely to request again."""
    old = [row for row in rows if row.asked < today - DAYS]
    states: defaultdict[str, int] = defaultdict(int)
    used = sum(row.length for row in rows) - sum(row.length for row in old)
    rest = [row for row in rows if row.asked >= today - DAYS]
    for row in sorted(rest, key=lambda row: (row.asked, row.at), reverse=True):
        states[row.key] += 1
        if states[row.key] > STATES and row.asked < today - 1:
            old.append(row)
            used -= row.length
    gone = {id(row) for row in old}
    for row in sorted(rest, key=lambda row: (row.asked, row.at)):
        if used <= SIZE or row.asked >= today - 1:
            break
        if id(row) not in gone:
            old.append(row)
            used -= row.length
    return old


def sweep(folder: Path, now: float) -> None:
    """Remove files that no build of this version reads or writes.

    The folder may hold files of other programs, and so may folders that its links point to.
    Only files with a name that no other program uses, or that begin like ours, are removed.
    """
    before = now - DAYS * _DAY
    remove_temporary(folder, now)
    remove_old(folder, lambda name: _is_of_others(folder, name), before)
    logs = folder / "tracebacks"
    if not logs.is_symlink():
        remove_temporary(logs, now)
        remove_old(logs, lambda name: _LOG.fullmatch(name) is not None, before)


def _is_of_others(folder: Path, name: str) -> bool:
    """Whether another version of this package wrote a file."""
    if name in _PLAIN:
        with contextlib.suppress(OSError), opened(folder / name) as stream:
            return _PLAIN[name].match(stream.read(64) or b"") is not None
        return False
    ours = (f"{SCHEMA}-", f"index-{SCHEMA}.")
    return _OTHERS.fullmatch(name) is not None and not name.startswith(ours)


def rewrite(folder: Path, index: PackIndex) -> bool:
    """Merge many packs into few, and drop dead records; whether any changed.

    A pack that a build still writes is left alone.  The new pack is complete before an old
    one is removed, so being killed in between costs nothing.
    """
    live: defaultdict[str, list[IndexRow]] = defaultdict(list)
    for row in index.all():
        live[row.pack].append(row)
    small = [name for name, size in index.sizes.items() if size <= _SMALL]
    merged = set(small) if len(small) > MANY else set()
    chosen = [
        name
        for name, size in index.sizes.items()
        if name in merged or 4 * sum(row.length for row in live[name]) < 3 * size or not live[name]
    ]
    with ExitStack() as stack:
        there = packs.listed(folder)
        ours = [
            name
            for name in chosen
            if stack.enter_context(packs.held(folder / name, there.get(name, -1)))
            and not packs.has_line(folder / name, index.sizes[name])
        ]
        moved = [row for name in ours for row in sorted(live[name], key=lambda row: row.offset)]
        if not ours or not _copied(folder, index, moved):
            return False
        for name in ours:
            index.sizes.pop(name)
            with contextlib.suppress(OSError):
                os.unlink(folder / name)
    return True


def _copied(folder: Path, index: PackIndex, rows: list[IndexRow]) -> bool:
    """Write records into a new pack; ``False`` if that fails, in which case nothing changed."""
    if not rows:
        return True
    places: list[tuple[IndexRow, int]] = []
    pack = None
    try:
        pack = packs.Pack(folder)
        for row in rows:
            text = packs.raw(folder / row.pack, row.offset, row.length)
            record = packs.record(text)
            if record is not None and record.digest == row.digest:
                places.append((row, pack.append(text)))
    except OSError:
        if pack is not None:
            with contextlib.suppress(OSError):
                os.unlink(folder / pack.name)
        return False
    finally:
        if pack is not None:
            pack.close()
    copied = {id(row) for row, _ in places}
    index.drop(row for row in rows if id(row) not in copied)
    for row, offset in places:
        row.pack, row.offset = pack.name, offset
    index.sizes[pack.name] = pack.size
    return True


# --- the store

__all__ = ["FAILED", "INDEX", "Seen", "Store", "seen"]

INDEX: Final = f"index-{SCHEMA}.txt"
_LAST: Final = 2**63 - 1
#: Bytes of the lines whose results are kept in memory, where they take some ten times as much.
RECENT: Final = 2 * 2**20
#: The parts of a key beside the request, by name.
Made: TypeAlias = Mapping[str, str]


class Recent:
    """The results that were saved or read last; others are read from their packs again."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = 0
        self._results: OrderedDict[str, tuple[Result, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._results)

    def get(self, key: str) -> Result | None:
        """A result, if it is still here."""
        result, _ = self._results.get(key, (None, 0))
        return result

    def add(self, key: str, result: Result, size: int) -> None:
        """Add a result whose line has that many bytes."""
        _, before = self._results.pop(key, (None, 0))
        self._results[key] = result, size
        self.size += size - before
        while self.size > self.most and len(self._results) > 1:
            _, (_, size) = self._results.popitem(last=False)
            self.size -= size


class Store:
    """The results of one project.

    A key may have several, one for each state of the files that they depend on.
    ``clock`` returns the seconds since 1970.
    """

    def __init__(
        self, cache: Cache, present: Present, clock: Callable[[], float] = time.time
    ) -> None:
        self.cache = cache
        self.folder = cache.folder
        self.present = present
        self.installed = present.installed
        self.clock = clock
        self.today = int(clock() // _DAY)
        self.changed = False  # whether the index differs from the one in the folder
        self.damaged = 0  # damaged lines and results
        self.loaded = Recent(RECENT)
        self._unstored: dict[str, Result] = {}  # what no pack has
        self._shared: dict[tuple[int, int, frozenset[str]], tuple[Shared, Needs, Made]] = {}
        self._chosen: dict[str, IndexRow] = {}
        self._lost: dict[
            tuple[str, str], IndexRow
        ] = {}  # rows whose pack is gone, until they are found again
        self._changes: dict[str, str] = {}
        self._latest: dict[str, str] | None = None
        self._pack: packs.Pack | None = None
        self._stamp = cache.stamp(INDEX)
        self.index = cache.load(INDEX, PackIndex.from_json, SCHEMA) or PackIndex()
        self._look()  # after the index was read: a pack that is gone by then has a successor

    # -- reading

    def judge_by(self, present: Present) -> None:
        """Look again at what results depend on: it may have changed."""
        self.present, self.installed = present, present.installed
        self._changes.clear()
        self._shared.clear()
        self._chosen.clear()

    def fresh(self, key: str, *, raises: bool = False) -> Seen | None:
        """What the result under ``key`` shows, if it may still be used.

        An error is a result only if it was expected.
        """
        for row in self.index.newest(key):
            if self._changed(row.needs) or (row.seen is None and not self._complete(row)):
                continue
            if raises or not row.raised:
                if row.asked < self.today:
                    row.asked = self.today
                    self.changed = True
                self._chosen[key] = row
                return row.seen
        return None

    def load(self, key: str) -> Result | None:
        """The result under ``key``; ``None`` if it is damaged or gone."""
        result = self._unstored.get(key) or self.loaded.get(key)
        if result is None:
            row = self._chosen.get(key) or next(iter(self.index.newest(key)), None)
            result = self._result(row) if row else None
            if row is not None and result is not None:
                self.loaded.add(key, result, row.length)
        return result

    def _complete(self, row: IndexRow) -> bool:
        """Read from its pack what a result shows; whether it is valid."""
        result = self._result(row)
        if result is not None:
            row.seen, row.raised = seen(result), result.error is not None
            self.loaded.add(row.key, result, row.length)
            self.changed = True
        return result is not None

    def _result(self, row: IndexRow) -> Result | None:
        """The result of a row, which is dropped where its record is damaged."""
        record = self._record(row)
        result = read_result(record, row.key) if record else None
        if result is None:
            self.damaged += 1
            self.index.drop([row])
            self._chosen.pop(row.key, None)
            self.changed = True
        return result

    def _record(self, row: IndexRow) -> packs.Record | None:
        for _ in range(2):
            try:
                record = packs.record(packs.raw(self.folder / row.pack, row.offset, row.length))
            except OSError:  # another build may have merged several packs
                self._look()
                row = self.index.find(row.key, row.digest) or row
            else:
                return record if record and record.digest == row.digest else None
        return None

    def _look(self) -> None:
        """Read what is new in the folder, and drop what is gone."""
        for _ in range(3):
            there = packs.listed(self.folder)
            gone = {name for name, size in self.index.sizes.items() if there.get(name, -1) < size}
            lost = [row for row in self.index.all() if row.pack in gone] if gone else []
            self.index.drop(lost)
            self._lost.update({(row.key, row.digest): row for row in lost})
            for name in gone:
                self.changed = True
                self.index.sizes.pop(name)
            grown = [name for name, size in there.items() if self.index.sizes.get(name, -1) < size]
            if not {name for name in grown if not self._read(name)}:
                return

    def _read(self, name: str) -> bool:
        """Read the new part of a pack; whether the pack still exists."""
        start = self.index.sizes.setdefault(name, 0)
        try:
            for offset, end, text in packs.lines(self.folder / name, start):
                self._add(name, packs.record(text, offset))
                self.index.sizes[name] = end
                self.changed = True
        except FileNotFoundError:
            return False
        except OSError:
            pass  # treat it as missing
        return True

    def _add(self, name: str, record: packs.Record | None) -> None:
        head = read_head(record) if record else None
        if record is None or head is None:
            self.damaged += 1
            return
        if self.index.find(head.key, record.digest):  # a build was killed while it moved it
            return
        shared = self.index.share(head.needs, head.made)
        row = IndexRow(
            head.key, name, record.offset, record.length, record.digest, head.at, self.today,
            head.request, shared.needs_name, shared.made_name,
        )  # fmt: skip
        if before := self._lost.pop((head.key, record.digest), None):
            row.asked, row.raised, row.seen = before.asked, before.raised, before.seen
        self.index.put(row)

    def _changed(self, name: str) -> str:
        """What has changed in a set of needs, or ``""``; looked up once a build."""
        if name not in self._changes:
            self._changes[name] = self.present.changed(self.index.needs[name])
        return self._changes[name]

    def why(self, key: str, request: str, made: Mapping[str, str]) -> str:
        """Why a request has no result under ``key``; ``""`` if it never had one."""
        for row in self.index.newest(key):
            return self._changed(row.needs)
        if self._latest is None:
            rows = sorted(self.index.all(), key=lambda row: row.at)
            self._latest = {row.request: row.made for row in rows}
        before = self.index.made.get(self._latest.get(request, ""))
        return _difference(before, made) if before is not None else ""

    # -- writing

    def save(
        self,
        key: str,
        request: Request,
        result: Result,
        needs: Needs,
        made: Made,
        *,
        request_digest: str = "",
        texts: EncodedResult | None = None,
    ) -> Seen:
        """Keep a result at once, so that a later failure costs nothing; what it shows.

        ``made`` has the other parts of the key, by name.  ``texts`` are those of the result,
        and ``request_digest`` is that of the request, where they are known.
        """
        from .result import encoded

        texts = texts or encoded(result.to_json())
        visible = seen(result, texts.digest)
        self._chosen.pop(key, None)
        shared = self._share(needs, frozenset(request.top_modules), made)
        before = self.index.newest(key)
        at = max([int(self.clock() * 1000), *(row.at + 1 for row in before[:1])])
        at, request_digest = min(at, _LAST), request_digest or request.digest
        line = packs.line(packs.head(key, request_digest, shared, at), texts)
        offset = self._append(line)
        if self._pack is None or offset is None:
            self._unstored[key] = result
            return visible
        self.loaded.add(key, result, len(line))
        row = IndexRow(
            key, self._pack.name, offset, len(line), line[:64].decode(), at, self.today,
            request_digest, shared.needs_name, shared.made_name, result.error is not None, visible,
        )  # fmt: skip
        self.index.drop([old for old in before if old.needs == row.needs])
        self.index.put(row)
        self.index.sizes[self._pack.name] = self._pack.size
        self.changed = True
        return visible

    def _share(self, needs: Needs, tops: frozenset[str], made: Made) -> Shared:
        """What a record shares with others; the worker sends equal needs as one object."""
        name = (id(needs), id(made), tops)
        if name not in self._shared:
            shared = self.index.share(self.present.stored(needs, tops), dict(made))
            self._shared[name] = shared, needs, made  # while they live, no other has their ids
        return self._shared[name][0]

    def _append(self, line: bytes) -> int | None:
        """The offset of a record in the pack of this build; ``None`` if it can't be kept."""
        if self.cache.fails or len(line) > MOST:
            return None
        try:
            if self._pack is None:
                self._pack = packs.Pack(self.folder)
            return self._pack.append(line)
        except (OSError, ValueError) as error:
            self.cache.failed(error)
            return None

    def flush(self) -> None:
        """Write the index if anything changed, and remove what is no longer requested."""
        if self._pack is not None:
            self._pack.close()
            if not self._pack.size:  # nothing could be written
                with contextlib.suppress(OSError):
                    os.unlink(self.folder / self._pack.name)
            self._pack = None
        if not self.changed or not os.access(self.folder, os.W_OK):
            return
        self._merge()
        self._look()
        self.index.drop(outlived(self.index.all(), self.today))
        rewrite(self.folder, self.index)
        sweep(self.folder, self.clock())
        self.cache.keep(INDEX, self.index.to_json(), SCHEMA)
        self._stamp = self.cache.stamp(INDEX)
        self.changed = False

    def _merge(self) -> None:
        """Add what other builds have learned since the index was read."""
        if self.cache.stamp(INDEX) == self._stamp:
            return
        other = self.cache.load(INDEX, PackIndex.from_json, SCHEMA) or PackIndex()
        new = other.sizes.keys() - self.index.sizes.keys()
        for row in other.all():
            mine = self.index.find(row.key, row.digest)
            if mine is not None:
                mine.asked = max(mine.asked, row.asked)
                if mine.seen is None:
                    mine.seen, mine.raised = row.seen, row.raised
            if row.pack in new:
                at = mine or row
                at.pack, at.offset, at.length = row.pack, row.offset, row.length
                self.index.needs.setdefault(row.needs, other.needs[row.needs])
                self.index.made.setdefault(row.made, other.made[row.made])
                at.needs, at.made = row.needs, row.made
                self.index.put(at)
        self.index.sizes.update({name: other.sizes[name] for name in new})


def _difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    for name in sorted({*before, *now}):
        old, new = before.get(name, ""), now.get(name, "")
        if old != new and name.startswith(
            "environment "
        ):  # a digest, which means nothing to readers
            return f"the {name} {'changed' if old and new else 'is new' if new else 'is gone'}"
        if old != new:
            return f"{name} {old or '(none)'} is now {new or '(none)'}"
    return ""
