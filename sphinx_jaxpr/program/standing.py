"""A numbering in which values stand for one another, and the base's equations by operands."""

from __future__ import annotations

from collections import Counter

from .bodies import LAYOUT, LOOPS, bare
from .model import Operand, Printed, Program
from .numbering import Computed, Inner, Numbering, Table, printed_parameters


class Standing(Numbering):
    """A numbering in which values stand for one another whatever their types are.

    ``exact`` is the numbering of the same text by value; where nothing is known
    of a value, its number there is its number here.
    """

    def __init__(self, printed: Printed, table: Table, exact: Numbering) -> None:
        self.exact = exact
        super().__init__(printed, table)

    def inputs(self, program: Program) -> None:
        for place, variable in enumerate(program.inputs):
            self.values[variable.index] = self.table.of("input", place)

    def literal(self, operand: Operand) -> int:
        return self.table.of("literal", operand.text)

    def cast(self, number: int, before: str, after: str) -> int:
        return number

    def finish(self, index: int, place: Computed, inner: list[Inner]) -> None:
        place.number = self.exact.computed[index].number
        place.keys = place.results = self.exact.computed[index].results
        if inner or place.carries:
            place.keys = self.results_of(place, inner)
            if place.equation.primitive == "cond":
                place.branches = tuple(zip(*(i.results for i in inner), strict=False))
            elif place.equation.primitive not in LOOPS:
                place.results = place.keys
        elif place.equation.primitive in LAYOUT and len(place.operands) == 1:
            place.results = place.operands * len(place.results)
        plain, place.operands = place.operands, self.as_of_now(place)
        self.write(place, plain, self.stands_for(index, place))

    def stands_for(self, index: int, place: Computed) -> int:
        """The number of the equation that this one stands for: in the base, its own."""
        return place.number


class Base:
    """The base's equations, by what they apply to what."""

    def __init__(self, standing: Standing) -> None:
        self.computed = standing.computed
        self.text = standing.text
        self.by_operands: dict[tuple[str, tuple[int, ...]], list[int]] = {}
        self.by_one: dict[tuple[str, int], list[int]] = {}
        self.free_from: dict[tuple[str, object], int] = {}
        self.bodies: Counter[int] = Counter()
        self.chosen: dict[tuple[int, ...], int] = {}  # results of branches -> of the cond
        self.ending: dict[int, list[tuple[int, ...]]] = {}  # by what the last branch returns
        self.signatures: dict[int, tuple[object, ...]] = {}
        for index, place in enumerate(self.computed):
            primitive = place.equation.primitive
            self.by_operands.setdefault((primitive, place.operands), []).append(index)
            for number in set(place.operands):
                self.by_one.setdefault((primitive, number), []).append(index)
            self.bodies[place.owner] += 1
            for branches, result in zip(place.branches, place.results, strict=False):
                self.chosen[branches] = result
                self.ending.setdefault(branches[-1], []).append(branches)

    def signature(self, index: int) -> tuple[object, ...]:
        """Types and parameters."""
        found = self.signatures.get(index)
        if found is None:
            found = self.signatures[index] = signature(self.computed[index], self.text)
        return found


def signature(place: Computed, text: str) -> tuple[object, ...]:
    """What has to be the same too where an equation is kept."""
    kinds = tuple(bare(variable.type) for variable in place.equation.outputs)
    return kinds, printed_parameters(place.equation, text)


def called(place: Computed, text: str) -> str:
    """The name of the function that an equation with a body calls, if it has one."""
    return next((text[p.start : p.end] for p in place.equation.parameters if p.name == "name"), "")


def surroundings(place: Computed, level: int) -> int:
    """What holds an equation: calls and all, calls left out, or no matter what."""
    return place.around[level] if level < len(place.around) else -1
