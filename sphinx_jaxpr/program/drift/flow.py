"""Two programs followed along their data flow, as far as the table of renames explains them.

Values are numbered: what the same primitive computes from the same values has one
number, on both sides.  The numbers find the partners of equations in another order;
who reads which of several equal values is then looked at value by value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..model import Equation, Operand, Program, Variable
from ..renames import table
from .levels import Difference, Level
from .recorded import Places, RecordedProgram, collapsed, literal

#: How many old equations that are applied to the same values are tried.
TRIED = 8


class Comparing(Protocol):
    """What the comparison around this one knows."""

    old: RecordedProgram
    new: RecordedProgram

    def literals(self, old: Operand, new: Operand) -> list[Difference]:
        """Of two literals with one value: how they are printed."""

    def equations(self, old: Equation, new: Equation) -> list[Difference]:
        """All but the wiring; places start at the equation."""


@dataclass
class _Pairing:
    """Which old equation each new one is paired with, and what differs."""

    order: list[int]
    differences: list[Difference]
    partners: dict[int, int]  # new variable -> old variable
    swapped: list[Difference]  # equal values read, and given as results, instead of others

    @property
    def moved(self) -> list[int]:
        return [new for new, old in enumerate(self.order) if new != old]

    @property
    def cost(self) -> tuple[int, int]:
        return max((int(d.level) for d in self.swapped), default=0), len(self.swapped)


class Flow:
    """Compares two programs; places start in them."""

    def __init__(self, comparison: Comparing, old: Program, new: Program) -> None:
        self.comparison = comparison
        self.old_program, self.new_program = old, new
        self.ordered = not (comparison.old.is_pure(old) and comparison.new.is_pure(new))
        self.before: dict[int, int] = {}
        self.after: dict[int, int] = {}
        self.equal: dict[Any, list[int]] = {}
        self.count = 0
        self.names = _Values(old), _Values(new)

    def number(self) -> int:
        """A number that no value has yet."""
        self.count += 1
        return self.count

    def operand(self, operand: Operand, numbers: dict[int, int]) -> tuple[str, str]:
        """What an operand is: a literal's text, or the number of a value."""
        if operand.variable is None:
            return ("literal", literal(operand.text))
        return ("value", str(numbers.get(operand.variable.index, operand.text)))

    def key(self, side: RecordedProgram, equation: Equation, numbers: dict[int, int]) -> Any:
        """What an equation is applied to; of operands that commute the order means nothing."""
        name = side.primitive(equation)
        operands = [self.operand(operand, numbers) for operand in equation.inputs]
        commutes = name in table().commuting and len(operands) == 2
        return name, tuple(sorted(operands) if commutes else operands), len(equation.outputs)

    def explained(self) -> list[Difference] | None:
        """The differences; ``None`` where it is another program and nothing says how.

        Results that changed places are another program too, but one that can be explained.
        """
        if len(self.old_program.equations) != len(self.new_program.equations):
            return None
        if len(self.old_program.outputs) != len(self.new_program.outputs):
            return None
        partners = {}
        for old, new in zip(
            (*self.old_program.constants, *self.old_program.inputs),
            (*self.new_program.constants, *self.new_program.inputs),
            strict=True,
        ):
            self.before[old.index] = self.after[new.index] = self.number()
            partners[new.index] = old.index
        waiting = self.numbered()
        pairing = self.paired(waiting, partners, by_results=False)
        if pairing is not None and pairing.swapped and pairing.moved:
            # Equations moved anyway: perhaps that is all.
            other = self.paired(waiting, partners, by_results=True)
            if other is not None and other.cost < pairing.cost:
                pairing = other
        if pairing is None:
            return None
        differences = [*pairing.differences, *self.order(pairing.moved)]
        if any(d.level is Level.PROGRAM for d in differences):
            return None
        return [*differences, *pairing.swapped]

    def numbered(self) -> Mapping[Any, Sequence[int]]:
        """Give the old values numbers; the old equations by what they are applied to."""
        side = self.comparison.old
        waiting: dict[Any, list[int]] = defaultdict(list)
        for index, equation in enumerate(self.old_program.equations):
            key = self.key(side, equation, self.before)
            waiting[key].append(index)
            numbers = [self.number() for _ in equation.outputs]
            if not self.ordered:
                numbers = self.equal.setdefault((key, _written(side, equation)), numbers)
            self.before.update(
                (variable.index, number)
                for variable, number in zip(equation.outputs, numbers, strict=True)
            )
        return waiting

    def paired(
        self, waiting: Mapping[Any, Sequence[int]], partners: dict[int, int], *, by_results: bool
    ) -> _Pairing | None:
        """A partner for each new equation: the one in its place, else the first that fits.

        With ``by_results`` equations of equal value are distinguished by which results of
        the program they give.
        """
        left = {key: list(places) for key, places in waiting.items()}
        pairing = _Pairing([], [], dict(partners), [])
        places = Places(self.new_program)
        for index, equation in enumerate(self.new_program.equations):
            equals = left.get(self.key(self.comparison.new, equation, self.after), [])
            chosen = self.choose(equals, equation, index, by_results)
            if chosen is None:
                return None
            partner, differences = chosen
            equals.remove(partner)
            pairing.order.append(partner)
            original = self.old_program.equations[partner]
            plain, swapped = self.operands(original, equation, pairing.partners)
            for listed, into in (
                (differences + plain, pairing.differences),
                (swapped, pairing.swapped),
            ):
                into += [replace(d, place=places.of(equation) + d.place) for d in listed]
            for old, new in zip(original.outputs, equation.outputs, strict=True):
                self.after[new.index] = self.before[old.index]
                pairing.partners[new.index] = old.index
        return self.results(pairing)

    def results(self, pairing: _Pairing) -> _Pairing | None:
        """The results of the program, which have a position that a caller reads them by."""
        for index, (old, new) in enumerate(
            zip(self.old_program.outputs, self.new_program.outputs, strict=True)
        ):
            if self.operand(old, self.before) != self.operand(new, self.after):
                return None
            if old.variable is None:
                pairing.differences += self.comparison.literals(old, new)
            elif self.is_other(old, new, pairing.partners):
                texts = self.as_printed(old, new)
                pairing.swapped.append(
                    Difference(Level.PROGRAM, "", f"output {index} is another equal value", *texts)
                )
        return pairing

    def choose(
        self, equals: Sequence[int], equation: Equation, index: int, by_results: bool
    ) -> tuple[int, list[Difference]] | None:
        """The old equation that ``equation`` is paired with."""
        first = [index] if index in equals else []
        candidates = first if self.ordered else [*first, *equals[:TRIED]]
        if by_results:
            wanted = self.names[1].results(equation)
            candidates.sort(
                key=lambda n: self.names[0].results(self.old_program.equations[n]) != wanted
            )
        for partner in candidates:
            differences = self.comparison.equations(self.old_program.equations[partner], equation)
            if all(d.level is not Level.PROGRAM for d in differences):
                return partner, differences
        return None

    def operands(
        self, old_equation: Equation, new_equation: Equation, partners: dict[int, int]
    ) -> tuple[list[Difference], list[Difference]]:
        """Literals printed otherwise and operands that changed places; equal values exchanged."""
        before = [self.operand(operand, self.before) for operand in old_equation.inputs]
        after = [self.operand(operand, self.after) for operand in new_equation.inputs]
        pairs = list(zip(old_equation.inputs, new_equation.inputs, strict=True))
        differences, swapped = [], []
        if before != after:
            texts = [
                ", ".join(o.text or o.type for o in e.inputs) for e in (old_equation, new_equation)
            ]
            differences.append(Difference(Level.RENAMED, "", "order of the operands", *texts))
            pairs = list(zip(old_equation.inputs, new_equation.inputs[::-1], strict=True))
        for old, new in pairs:
            if old.variable is None and new.variable is None:
                differences += self.comparison.literals(old, new)
            elif self.is_other(old, new, partners):
                texts = list(self.as_printed(old, new))
                swapped.append(
                    Difference(Level.RENAMED, "", "an equal value is read instead", *texts)
                )
        return differences, swapped

    def is_other(self, old: Operand, new: Operand, partners: dict[int, int]) -> bool:
        """Whether two operands of equal value are not the results of one pair of equations."""
        if old.variable is None or new.variable is None:
            return False
        return partners.get(new.variable.index) not in (None, old.variable.index)

    def as_printed(self, old: Operand, new: Operand) -> tuple[str, str]:
        """Both operands by the names that a report has for them."""
        return self.names[0].of(old), self.names[1].of(new)

    def order(self, places: list[int]) -> list[Difference]:
        """That equations are in another order."""
        if not places:
            return []
        sides = (self.old_program.equations, self.new_program.equations)
        texts = [", ".join(side[index].primitive for index in places[:8]) for side in sides]
        more = ", ..." if len(places) > 8 else ""
        texts = [text + more for text in texts]
        return [Difference(Level.RENAMED, "", "order of the equations", *texts)]


class _Values:
    """What the values of one program are called: ``[sin][1]``, ``input 0``."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.places = Places(program)
        self.made = {v.index: e for e in program.equations for v in e.outputs}
        self.given: dict[int, list[int]] = defaultdict(list)
        for index, operand in enumerate(program.outputs):
            if operand.variable is not None:
                self.given[operand.variable.index].append(index)

    def results(self, equation: Equation) -> list[list[int]]:
        """As which results of the program the values of an equation are given."""
        return [self.given.get(variable.index, []) for variable in equation.outputs]

    def of(self, operand: Operand) -> str:
        variable = operand.variable
        if variable is None:
            return operand.text
        if equation := self.made.get(variable.index):
            several = len(equation.outputs) > 1
            index = _position(equation.outputs, variable)
            return self.places.of(equation) + (f".outputs[{index}]" if several else "")
        for noun in ("input", "constant"):
            variables = getattr(self.program, f"{noun}s")
            if variable in variables:
                return f"{noun} {_position(variables, variable)}"
        return variable.name


def _position(variables: Iterable[Variable], variable: Variable) -> int:
    return [v.index for v in variables].index(variable.index)


def _written(side: RecordedProgram, equation: Equation) -> Any:
    """What an equation does to its operands, as a text that equal equations share."""
    parameters = [
        (name, collapsed(value.text or ""), value.rest, repr(value.plain))
        for name, value in side.parameters(equation).items()
        if not value.members
    ]
    programs = [
        (p.name, tuple(side.lettered(m) if not isinstance(m, str) else m for m in p.members))
        for p in equation.parameters
        if p.members
    ]
    literals = [operand.type for operand in equation.inputs if operand.variable is None]
    return tuple(side.types(equation)), tuple(parameters), tuple(programs), tuple(literals)
