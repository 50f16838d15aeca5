"""Rows of two programs side by side: matched equations share a row.

The printed lines of each program become items: an equation with its lines, a
body that folds, other lines.  What has no items inside is put into one row;
the rows of both programs are then one sequence, in which a matched pair shares
a row and anything else has a row alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, TypeAlias

from ..matching.match import Match
from ..model import Equation, Printed, Program, walk
from .folding import Lines, Run

LINES: Final = "lines"
EQUATION: Final = "equation"
RUN: Final = "run"
BODY: Final = "body"
SUMMARY: Final = "summary"
PACKED: Final = "packed"
PIECE: Final = "piece"
ROOT: Final = "root"

#: Rows up to which programs are aligned: more than anybody compares by eye.
MAX_ROWS: Final = 2_000


class Unaligned(ValueError):
    """A text whose lines can't be put into rows."""


@dataclass(eq=False, slots=True)
class RowItem:
    """Lines ``first`` to ``last``; ``start`` is the offset of the equation, program or piece.

    ``row`` and ``span`` are counted in the rows of the item that holds this one;
    ``gap`` counts the empty rows before it.
    """

    kind: str
    first: int
    last: int
    start: int = -1
    end: int = -1
    items: list[RowItem] = field(default_factory=list)
    row: int = 0
    span: int = 1
    gap: int = 0

    def leaves(self) -> Iterator[RowItem]:
        """The items with nothing inside, in printed order."""
        todo = [self]
        while todo:
            item = todo.pop()
            if item.items:
                todo.extend(reversed(item.items))
            else:
                yield item


# Makes the items of a part; asks for those of the parts inside, and is sent them, so that
# no nesting is too deep.
_Items: TypeAlias = Generator[
    Generator[Any, list[RowItem], list[RowItem]], list[RowItem], list[RowItem]
]


def _run(items: _Items) -> list[RowItem]:
    stack, answer = [items], None
    while stack:
        try:
            asked = stack[-1].send(answer)  # type: ignore[arg-type]  # None begins
        except StopIteration as stop:
            stack.pop()
            answer = stop.value
        else:
            stack.append(asked)
            answer = None
    return answer or []


class Column:
    """The items of one program; ``rows`` is set once both sides are aligned."""

    def __init__(self, printed: Printed, runs: Sequence[Run] = ()) -> None:
        assert printed.program is not None
        self.printed = printed
        self.lines = Lines(printed.text)
        self.rows = 0
        self.gap = 0  # rows behind the last item
        self.equations: dict[int, RowItem] = {}  # also runs, by their first equation
        self.bodies: dict[int, RowItem] = {}
        self.packed: dict[int, RowItem] = {}  # by line
        self.chunks: list[RowItem] = []
        self.anchors: dict[int, RowItem] = {}  # equation -> the item that it is in
        self._runs = {start: run.starts[0] for run in runs for start in run.starts}
        self._inline: dict[int, list[Equation]] = {}  # line -> equations that share it
        self.header = self.lines.at(printed.program.start)
        blocks: list[RowItem] = []
        for _, program in printed.shared:
            blocks += _run(self._nested(program, True))
        blocks += _run(self._equations(printed.program, True))
        last = len(self.lines.starts) - 1
        self.root = RowItem(ROOT, 0, last, items=self._cover(0, last, blocks))

    def _nested(self, program: Program, foldable: bool) -> _Items:
        lines = self.lines.body(program) if foldable else None
        inner = yield self._equations(program, foldable)
        if lines is None:
            return inner
        item = self.bodies[program.start] = RowItem(BODY, *lines, program.start)
        summary = RowItem(SUMMARY, lines[0], lines[0])
        item.items = [summary, *self._cover(lines[0] + 1, lines[1], inner)]
        return [item]

    def _equations(self, program: Program, foldable: bool) -> _Items:
        items: list[RowItem] = []
        for equation in program.equations:
            lines = self.lines.own(equation.start, equation.end)
            run = self._runs.get(equation.start)
            if lines is None:
                self._inline.setdefault(self.lines.at(equation.start), []).append(equation)
                for inner in equation.programs:
                    items += yield self._nested(inner, False)
            elif run is not None:
                if run == equation.start:
                    self.equations[run] = RowItem(RUN, *lines, run)
                    items.append(self.equations[run])
                item = self.equations[run]
                item.last = lines[1]
                self.anchors[equation.start] = item
                for program_in in equation.programs:
                    self.anchors.update((e.start, item) for e in walk(program_in))
            else:
                items += yield self._equation(equation, lines, foldable)
        return items

    def _equation(self, equation: Equation, lines: tuple[int, int], foldable: bool) -> _Items:
        item = self.equations[equation.start] = RowItem(EQUATION, *lines, equation.start)
        self.anchors[equation.start] = item
        if equation.programs:
            inner: list[RowItem] = []
            for nested in equation.programs:
                inner += yield self._nested(nested, foldable)
            item.items = self._cover(*lines, inner)
            if item.items[0].kind != LINES:
                raise Unaligned("an equation whose body begins on its first line")
            if len(item.items) == 1:  # the newest
                item.items.remove(self.chunks.pop())
        return [item]

    def _cover(self, first: int, last: int, blocks: list[RowItem]) -> list[RowItem]:
        """``blocks`` and, between them, the other lines."""
        items: list[RowItem] = []
        line = first
        for block in sorted(blocks, key=lambda item: item.first):
            if block.first < line:
                raise Unaligned("two blocks on one line")
            items += [*self._others(line, block.first - 1), block]
            line = block.last + 1
        return items + self._others(line, last)

    def _others(self, first: int, last: int) -> list[RowItem]:
        items: list[RowItem] = []
        for line in range(first, last + 1):
            packed = self._split(line)
            if packed is not None:
                items.append(packed)
            elif items and items[-1].kind == LINES and line != self.header:
                items[-1].last = line
            else:
                items.append(RowItem(LINES, line, line))
                self.chunks.append(items[-1])
        return items

    def _split(self, line: int) -> RowItem | None:
        """A line with several equations, each of them a piece."""
        begin, end = self.lines.starts[line], self.lines.ends[line]
        outer: list[Equation] = []
        for equation in sorted(self._inline.get(line, ()), key=lambda e: e.start):
            if equation.end > end:
                return None
            if not outer or equation.start >= outer[-1].end:
                outer.append(equation)
        if not outer:
            return None
        cuts = [begin, *(equation.start for equation in outer), outer[-1].end, end]
        if not self.printed.text[begin : outer[0].start].strip():
            del cuts[1]
        item = self.packed[line] = RowItem(PACKED, line, line, begin, end)
        for start, other in pairwise(cuts):
            if start < other:
                item.items.append(RowItem(PIECE, line, line, start, other))
        starts = [piece.start for piece in item.items]
        for equation in self._inline[line]:
            self.anchors[equation.start] = item.items[bisect_right(starts, equation.start) - 1]
        return item


def align(base: Column, variant: Column, match: Match) -> bool:
    """Give every item of both sides its row; whether that was possible."""
    left, right = list(base.root.leaves()), list(variant.root.leaves())
    if len(left) + len(right) > MAX_ROWS:
        return False
    positions = {id(item): index for side in (left, right) for index, item in enumerate(side)}
    pairs = {
        (positions[id(old)], positions[id(new)])
        for old, new in _pairs(base, variant, match)
        if id(old) in positions and id(new) in positions
    }
    row = i = j = 0
    rows: dict[int, int] = {}
    for m, n in [*_increasing(sorted(pairs)), (len(left), len(right))]:
        for item in (*left[i:m], *right[j:n]):
            row += 1
            rows[id(item)] = row
        if m < len(left):
            row += 1
            rows[id(left[m])] = rows[id(right[n])] = row
        i, j = m + 1, n + 1
    for side in (base, variant):
        side.rows = row
        _settle(side.root, rows)
        side.gap = row - rows[id(_last(side.root))]
    return True


def _pairs(base: Column, variant: Column, match: Match) -> Iterator[tuple[RowItem, RowItem]]:
    """Items that share a row: headers, ends, matched equations and their bodies."""
    yield _at(base, base.header), _at(variant, variant.header)
    yield _last(base.root), _last(variant.root)
    homes = [dict(_homes(side.root)) for side in (base, variant)]
    seen: set[tuple[RowItem, RowItem]] = set()
    for new, old in match.partner.items():
        if new in variant.anchors and old in base.anchors:
            own, other = base.anchors[old], variant.anchors[new]
            yield _first(own), _first(other)
            around = homes[0][id(own)], homes[1][id(other)]
            if around not in seen:
                seen.add(around)
                yield from _around(*around)
                yield from zip(*map(_behind, homes, around), strict=False)
            if len(own.items) == len(other.items) > 0:
                yield from zip(map(_first, own.items), map(_first, other.items), strict=True)


def _homes(root: RowItem) -> Iterator[tuple[int, RowItem]]:
    """The item that contains each item."""
    todo = [root]
    while todo:
        holder = todo.pop()
        yield from ((id(item), holder) for item in holder.items)
        todo.extend(holder.items)


def _around(own: RowItem, other: RowItem) -> Iterator[tuple[RowItem, RowItem]]:
    """Header and end of two bodies that hold a matched pair."""
    if own.kind == other.kind != ROOT:
        yield from zip(map(_first, own.items[:2]), map(_first, other.items[:2]), strict=False)
        yield _last(own), _last(other)


def _behind(homes: dict[int, RowItem], body: RowItem) -> list[RowItem]:
    """The line that closes a body."""
    items = homes[id(body)].items if body.kind == BODY else []
    return [_first(item) for item in items[items.index(body) + 1 :][:1]] if items else []


def _first(item: RowItem) -> RowItem:
    while item.items:
        item = item.items[0]
    return item


def _last(item: RowItem) -> RowItem:
    while item.items:
        item = item.items[-1]
    return item


def _at(side: Column, line: int) -> RowItem:
    return next(item for item in side.root.leaves() if item.first <= line <= item.last)


def _increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest series of pairs in which both numbers grow."""
    pairs = sorted(pairs, key=lambda pair: (pair[0], -pair[1]))
    ends: list[int] = []  # the smallest second number at which a series of that length ends
    at: list[int] = []
    before: list[int] = []
    for index, (_, second) in enumerate(pairs):
        length = bisect_left(ends, second)
        ends[length:] = [second, *ends[length + 1 :]]
        at[length:] = [index, *at[length + 1 :]]
        before.append(at[length - 1] if length else -1)
    chain = []
    index = at[-1] if at else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _settle(root: RowItem, rows: dict[int, int]) -> None:
    """Count the rows of what each item holds from the first row of it."""
    todo = [(root, 1)]
    while todo:
        holder, origin = todo.pop()
        cursor = origin
        for item in holder.items:
            if item.kind == SUMMARY:
                origin = cursor = rows[id(item)] + 1
                continue
            first, last = rows[id(_first(item))], rows[id(_last(item))]
            item.gap = first - cursor
            item.row, item.span = first - origin + 1, last - first + 1
            cursor = last + 1
            todo.append((item, first))
