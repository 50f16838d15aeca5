"""A drift as a table of equations: where, what was, what is, how much that means."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from .drift import Drift
from .levels import Level

#: Widest cell of each column, in characters.
WIDEST: Final = (60, 40, 40, 40)
#: Most rows of one block.
MOST: Final = 24


def rows(drift: Drift) -> list[tuple[str, str, str, str]]:
    """Place, old, new and level of each difference; those that mean most first."""
    ordered = sorted(drift.differences, key=lambda d: -d.level)
    found = [(f"{d.place} {d.what}".strip(), d.old, d.new, d.level.words) for d in ordered]
    # One thing that happens at many places alike is told once, with a count.
    kinds = [(row, len(list(same))) for row, same in groupby(found)]
    return [(f"{row[0]} ({n} times)" if n > 1 else row[0], *row[1:]) for row, n in kinds]


def table(drift: Drift, most: int = MOST) -> list[str]:
    """The lines of the table, without a title; a long one is cut, and says so.

    Where there is more than printing, what is printing alone is only counted.
    """
    found = rows(drift)
    printing = [row for row in found if row[3] == Level.PRINTING.words]
    if drift.level is not Level.PRINTING:
        found = [row for row in found if row not in printing]
    head = ("where", "old", "new", "level")
    shown = [head, *(tuple(map(_cut, row, WIDEST)) for row in found[:most])]
    widths = [max(len(row[column]) for row in shown) for column in range(4)]
    lines = [
        " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]
    if len(found) > most:
        lines.append(f"... and {len(found) - most} more")
    if printing and drift.level is not Level.PRINTING:
        lines.append(f"... and {len(printing)} of printing alone")
    return lines


def counted(drifts: list[Drift]) -> str:
    """How many blocks are of which level: ``3 same, 1 program``."""
    parts = []
    for level in Level:
        count = sum(drift.level is level for drift in drifts)
        if count:
            parts.append(f"{count} {level.words}")
    return ", ".join(parts)


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."
