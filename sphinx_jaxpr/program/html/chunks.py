"""Where a long program is cut into chunks, which a browser lays out when they come into sight.

A browser's work on a page grows with the children of one box, even with children whose content it
skips.  With some hundred neighbouring equations in a box of their own, only these boxes count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..model import Equation, Printed, Program
from .folding import Fold, Lines, Run

#: Lines of text up to which a program is not cut.
SHORT: Final = 500
#: Lines in sight that a chunk has at most: what the style sheet's powers of two add up to.
MOST: Final = 127


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbouring equations, from the ``start`` of the first to that of the last.

    ``lines`` of them are in sight, as long as nobody opens or closes a fold.  A chunk is
    ``in_run`` where it is a part of a fold of equations; else it is around whole ones.
    """

    first: int
    last: int
    lines: int
    in_run: bool


@dataclass(frozen=True, slots=True)
class _Item:
    """An equation, or a fold of several; ``lines`` are in sight."""

    equations: Sequence[Equation]
    lines: int
    is_run: bool = False


def chunks(
    printed: Printed,
    lines: Lines,
    owned: Mapping[int, tuple[int, int]],
    folded: Sequence[Fold],
    runs: Sequence[Run],
) -> list[Chunk]:
    """The chunks of a program; none where it is short.

    ``owned`` has the first and last line of the equations with lines to themselves.  An
    equation longer than a chunk is in none: its nested programs have their own.
    """
    if len(lines.starts) <= SHORT:
        return []
    return _Cutter(_heights(printed, lines, owned, folded), owned, runs).cut(printed)


def _heights(
    printed: Printed,
    lines: Lines,
    owned: Mapping[int, tuple[int, int]],
    folded: Sequence[Fold],
) -> list[int]:
    """How many lines are in sight before each line of text, and in all.

    The style sheet shows each equation of a shared line on one of its own.
    """
    shown = [1] * len(lines.starts)
    for equation in printed.walk():
        if equation.start not in owned:
            shown[lines.at(equation.start)] += 1
    for fold in folded:
        shown[fold.first + 1 : fold.last + 1] = [0] * (fold.last - fold.first)
    heights = [0]
    for height in shown:
        heights.append(heights[-1] + height)
    return heights


class _Cutter:
    """Collects neighbours until a chunk is full."""

    def __init__(
        self, heights: list[int], owned: Mapping[int, tuple[int, int]], runs: Sequence[Run]
    ) -> None:
        self.heights = heights
        self.owned = owned
        self.run_lengths = {run.starts[0]: len(run.starts) for run in runs}
        self.chunks: list[Chunk] = []

    def cut(self, printed: Printed) -> list[Chunk]:
        """Chunks of all programs, nested ones included."""
        todo = [program for _, program in printed.shared]
        todo += [printed.program] if printed.program is not None else []
        while todo:
            for item in self.neighbours(todo.pop()):
                for equation in item.equations:
                    if self.height(equation) > MOST:
                        todo.extend(equation.programs)
        return self.chunks

    def neighbours(self, program: Program) -> list[_Item]:
        """Chunk the equations of a program, and of its folds; what they are chunked as."""
        items: list[_Item] = []
        equations = [equation for equation in program.equations if equation.start in self.owned]
        at = 0
        while at < len(equations):
            count = self.run_lengths.get(equations[at].start, 0)
            neighbours = equations[at : at + max(count, 1)]
            items.append(_Item(neighbours, 1 if count else self.height(neighbours[0]), count > 0))
            at += len(neighbours)
        self.chunk(items, in_run=False)
        for item in items:
            if item.is_run:
                inner = [_Item([equation], self.height(equation)) for equation in item.equations]
                if sum(each.lines for each in inner) > MOST:
                    self.chunk(inner, in_run=True)
        return items

    def height(self, equation: Equation) -> int:
        first, last = self.owned[equation.start]
        return self.heights[last + 1] - self.heights[first]

    def chunk(self, items: list[_Item], in_run: bool) -> None:
        """One chunk after another, of as many items as fit."""
        group: list[_Item] = []
        lines = 0
        for item in items:
            if lines + item.lines > MOST:
                self.close(group, lines, in_run)
                group, lines = [], 0
            if item.lines <= MOST:
                group.append(item)
                lines += item.lines
        self.close(group, lines, in_run)

    def close(self, group: list[_Item], lines: int, in_run: bool) -> None:
        if group:
            first, last = group[0].equations[0], group[-1].equations[-1]
            self.chunks.append(Chunk(first.start, last.start, lines, in_run))
