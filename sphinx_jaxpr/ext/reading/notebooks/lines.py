"""Lines of notebooks: what they contain, and where an ``.ipynb`` file, which is JSON, has them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from ....program.text import CELL


class Cell(NamedTuple):
    """A cell of an ``.ipynb`` file: its lines, and the line of the file where each begins."""

    lines: tuple[str, ...]
    rows: tuple[int, ...]


def cell_lines(source: str, line: int) -> tuple[tuple[str, ...], int]:
    """The lines of the cell that has a line, and the number of the first; none if there is none."""
    cell = _cell(source, line // CELL)
    return (cell.lines, line // CELL * CELL + 1) if cell else ((), 1)


def row(source: str, line: int) -> int:
    """The line of the file that holds a line of a cell; 1 if it can't be found."""
    cell = _cell(source, line // CELL)
    if cell is None:
        return 1
    return cell.rows[min(max(line % CELL, 1), len(cell.rows)) - 1]


def _cell(source: str, number: int) -> Cell | None:
    try:
        state = os.stat(source)
        cells = _read(source, state.st_mtime_ns, state.st_size)
    except (OSError, ValueError, IndexError, RecursionError):  # no such file, or no JSON
        return None
    return cells[number - 1] if 0 < number <= len(cells) else None


@lru_cache(maxsize=8)
def _read(source: str, mtime: int, size: int) -> tuple[Cell, ...]:
    with open(source, encoding="utf-8") as file:
        return tuple(cells(file.read()))


def cells(text: str) -> Iterator[Cell]:
    """The cells of a notebook, of all kinds; ``ValueError`` or ``IndexError`` if it isn't one."""
    row, counted = 1, 0
    for key, position in _children(text, _skip(text, 0)):
        for _, start in _children(text, position) if key == "cells" else ():
            row, counted = row + text.count("\n", counted, start), start
            yield _cell_at(text, start, row)


def _cell_at(text: str, position: int, row: int) -> Cell:
    """The cell whose object begins at a position, on a row of the file."""
    lines, rows = [""], [row]
    for key, start in _children(text, position):
        pieces = _children(text, start) if text[start] == "[" else [("", start)]
        for _, at in pieces if key == "source" else ():
            piece, _ = _DECODER.raw_decode(text, at)
            first, *more = str(piece).split("\n")
            written = row + text.count("\n", position, at)
            if not lines[-1]:
                rows[-1] = written
            lines[-1] += first
            lines += more
            rows += [written] * len(more)
    return Cell(tuple(lines), tuple(rows))


_BLANK: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder(strict=False)


def _children(text: str, position: int) -> list[tuple[str, int]]:
    """The values in an object or array of JSON: their keys, and where they begin."""
    children: list[tuple[str, int]] = []
    if (opened := text[position]) not in "{[":
        return children
    position = _skip(text, position + 1)
    while text[position] not in "}]":
        key = ""
        if opened == "{":
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)  # behind the colon
        children.append((key, position))
        position = _skip(text, _DECODER.raw_decode(text, position)[1])
        if text[position] == ",":
            position = _skip(text, position + 1)
    return children


def _skip(text: str, position: int) -> int:
    """The position behind blanks."""
    match = _BLANK.match(text, position)
    return match.end() if match else position
