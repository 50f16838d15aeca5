"""What the store lets go: by age, by size, and what killed builds left behind.

No result goes that any build asked for since yesterday, however large the store is.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from . import packs
from .files import opened, remove_old, remove_temporary
from .records import Index, Row
from .request import SCHEMA

#: Days after which a result goes that no build asked for; also what other versions of this
#: package left, and tracebacks.
DAYS: Final = 30
#: Bytes of results; what is above goes, the least recently asked first.
SIZE: Final = 500 * 10**6
#: Results of one request that are kept for other states of the files that it depends on.
STATES: Final = 4
#: So many small packs are made into one.
MANY: Final = 16
_SMALL: Final = 32 * 2**20
_DAY: Final = 24 * 3600
_OTHERS: Final = re.compile(
    r"[0-9a-f]{40}(-failed)?\.json"  # before there were packs
    r"|\d+-[0-9a-f]{16}\.pack|index-\d+\.txt|python-[0-9a-f]{12}\.txt"
)
#: Names from before there were packs that others have as well, and how our files begin.
_PLAIN: Final = {
    "index.json": re.compile(rb'\{"entries":\{'),
    "verdicts.txt": re.compile(rb'\{"[0-9a-f]{24}":|\{\}'),
}
_LOG: Final = re.compile(r"[0-9a-f]{12}\.log")


def outlived(rows: list[Row], today: int) -> list[Row]:
    """The rows that nothing is likely to ask for again."""
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

    The folder may hold files of others, and a link in it may lead to some: what goes has a
    name that we alone give, or begins as ours do.
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


def rewrite(folder: Path, index: Index) -> bool:
    """Make few packs of many, and let go of what is dead in them; whether any changed.

    A pack that a build still writes is left alone.  The new one is whole before an old
    one goes, so being killed in between costs nothing.
    """
    live: defaultdict[str, list[Row]] = defaultdict(list)
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


def _copied(folder: Path, index: Index, rows: list[Row]) -> bool:
    """Write records into a new pack; ``False`` where that fails, and nothing has changed."""
    if not rows:
        return True
    places: list[tuple[Row, int]] = []
    pack = None
    try:
        pack = packs.Pack(folder)
        for row in rows:
            text = packs.raw(folder / row.pack, row.offset, row.length)
            found = packs.record(text)
            if found is not None and found.digest == row.digest:
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
