"""What a row of the table is, and which there are.

A row is made from a function ``run(chance, count)``, which tries something ``count`` times
with the choices of ``chance``.  What it returns is a :class:`Tally`, or the number of tries
and a line for each that did not hold::

    @row(short=3, long=50)
    def kills(chance, count):
        "Sphinx is killed at a random moment, and the next build is as a clean one."
        ...
        return count, ["at 1.2 s: index.html differs"]

    ROWS = [kills]
"""

from __future__ import annotations

import importlib
import pkgutil
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class NotHere(Exception):
    """What a row needs is not on this machine; the message names it."""


@dataclass
class Tally:
    """How often something was tried, how often it held, and what did not."""

    tried: int = 0
    held: int = 0
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def note(self, what: str, problems: Iterable[str] = (), times: int = 1) -> None:
        """Count something that was tried; it held if there are no ``problems``."""
        found = list(dict.fromkeys(problems))
        self.tried += times
        self.held += max(0, times - len(found)) if times > 1 else not found
        self.lost += [f"{what}: {problem}" for problem in found]


Run = Callable[[random.Random, int], Any]


@dataclass(frozen=True)
class Row:
    """Something that is tried ``short`` times in CI and ``long`` times by the command.

    With 0 it is not tried in CI, where time is short.
    """

    name: str
    what: str
    run: Run
    short: int = 1
    long: int = 10

    def __call__(self, seed: int, count: int) -> Tally:
        """Try it; the same seed makes the same choices."""
        found = self.run(random.Random(f"{self.name} {seed}"), count)
        if isinstance(found, Tally):
            return found
        tried, lost = found
        return Tally(tried, max(0, tried - len(lost)), list(lost))


def row(*, short: int = 1, long: int = 10, name: str = "") -> Callable[[Run], Row]:
    """Make a row of a function; its documentation's first line says what it tries."""

    def made(run: Run) -> Row:
        return as_row(run, short, long, name)

    return made


def as_row(found: Any, short: int = 1, long: int = 10, name: str = "") -> Row:
    """A row, also from a plain function, which may have attributes ``short`` and ``long``."""
    if isinstance(found, Row):
        return found
    short, long = getattr(found, "short", short), getattr(found, "long", long)
    what = (found.__doc__ or "").strip().split("\n\n")[0]
    name = name or found.__name__.strip("_").replace("_", "-")
    return Row(name, " ".join(what.split()), found, short, long)


def every() -> list[Row]:
    """The rows of all modules beside this one, in the order of their names."""
    rows: list[Row] = []
    for module in sorted(pkgutil.iter_modules([str(Path(__file__).parent)]), key=lambda m: m.name):
        if not module.name.startswith(("_", "test_")) and module.name != "rows":
            loaded = importlib.import_module(f"{__package__}.{module.name}")
            rows += [as_row(found) for found in getattr(loaded, "ROWS", ())]
    doubles = {one.name for one in rows if [other.name for other in rows].count(one.name) > 1}
    if doubles:
        raise ValueError(f"two rows of one name: {', '.join(sorted(doubles))}")
    return rows


@dataclass(frozen=True)
class Tried:
    """What came of a row in one run of the table."""

    row: Row
    tally: Tally
    seconds: float
    missing: str = ""


def tried(one: Row, seed: int, count: int) -> Tried:
    """Run a row, and note how long it took or why it could not run here."""
    began = time.monotonic()
    try:
        tally, missing = one(seed, count), ""
    except NotHere as reason:
        tally, missing = Tally(), str(reason)
    return Tried(one, tally, time.monotonic() - began, missing)
