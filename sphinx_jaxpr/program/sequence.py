"""The longest common sequence of two lists of equations."""

from __future__ import annotations

from typing import Final

from .bodies import bare
from .model import Equation

#: Cells of the table up to which the best common sequence is searched.
MAX_CELLS: Final = 400_000


def common(base: list[Equation], variant: list[Equation]) -> list[tuple[Equation, Equation]]:
    """The best common sequence: same primitives in order, equal types preferred."""
    if len(base) * len(variant) > MAX_CELLS:
        return _in_passing(base, variant)
    rows, columns = len(base), len(variant)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        row, below, one = best[i], best[i + 1], base[i]
        for j in range(columns - 1, -1, -1):
            value = max(below[j], row[j + 1])
            if one.primitive == variant[j].primitive:
                value = max(value, below[j + 1] + _likeness(one, variant[j]))
            row[j] = value
    pairs = []
    i = j = 0
    while i < rows and j < columns:
        one, two = base[i], variant[j]
        alike = one.primitive == two.primitive
        if alike and best[i][j] == best[i + 1][j + 1] + _likeness(one, two):
            pairs.append((one, two))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(one: Equation, two: Equation) -> float:
    """More for equal types; the same number of operands is worth a little."""
    value = 1.0
    if _types(one) == _types(two):
        value += 0.5
    if len(one.inputs) == len(two.inputs):
        value += 0.25
    return value


def _in_passing(base: list[Equation], variant: list[Equation]) -> list[tuple[Equation, Equation]]:
    """For long programs: each equation of the base with the next of its kind."""
    pairs = []
    place = 0
    for one in base:
        for ahead in range(place, min(place + 50, len(variant))):
            if variant[ahead].primitive == one.primitive:
                pairs.append((one, variant[ahead]))
                place = ahead + 1
                break
    return pairs


def _types(equation: Equation) -> list[str]:
    return [bare(variable.type) for variable in equation.outputs]
