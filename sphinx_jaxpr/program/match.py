"""Matches a variant's equations with those of its base, by structure.

An equation is *kept* if the base has it: the same primitive applied to the
same values, of the same types, with the same parameters.  It is *reshaped* if
only shapes and parameters differ.  Any other is *added*; an equation of the
base without a partner is *removed*.

What counts as the same values is decided along the data flow: operands are
followed through added equations of one operand (a ``broadcast_in_dim`` or a
``pvary`` that a transform put in between).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from .model import Equation, Operand, Printed, Program, Variable

KEPT: Final = "kept"
RESHAPED: Final = "reshaped"
ADDED: Final = "added"

#: Cells of the table up to which the best common sequence is searched.
MAX_CELLS: Final = 400_000


@dataclass
class Match:
    """Equations are named by their ``start`` offsets in their own texts.

    ``change`` covers every equation of the variant at any depth, ``partner``
    those that are kept or reshaped; ``removed`` are the base's without one.
    ``nested`` counts the matched ones per program of the variant that is not
    at the top, by that program's ``start``.
    """

    change: dict[int, str] = field(default_factory=dict)
    partner: dict[int, int] = field(default_factory=dict)
    removed: list[int] = field(default_factory=list)
    nested: dict[int, int] = field(default_factory=dict)


def match(base: Printed, variant: Printed) -> Match:
    """The match of two printed programs; empty where one is no program."""
    found = Match()
    if base.program is None or variant.program is None:
        return found
    for equation in variant.walk():
        found.change[equation.start] = ADDED
    work = _Matcher(base, variant, found)
    work.programs(base.program, variant.program)
    for equation in base.walk():
        if equation.start not in work.taken:
            found.removed.append(equation.start)
    return found


class _Matcher:
    def __init__(self, base: Printed, variant: Printed, found: Match) -> None:
        self.base = base
        self.variant = variant
        self.found = found
        self.taken: set[int] = set()  # equations of the base that have a partner
        self.values: dict[int, int] = {}  # variable of the variant -> of the base
        self.sources: dict[int, Equation] = {}  # what binds the current program's variables
        self.shared = {
            "base": dict(base.shared),
            "variant": dict(variant.shared),
        }

    def programs(self, base: Program, variant: Program) -> None:
        """Match two programs that stand for one another, and what they hold."""
        self.bind(variant.constants, base.constants)
        self.bind(variant.inputs, base.inputs)
        # What is no partner may still hold the base's equations in its body.
        todo: list[tuple[Program, Program, bool]] = [(base, variant, False)]
        seen: set[int] = set()
        while todo:
            current, other, is_nested = todo.pop(0)
            if other.start in seen:
                continue
            seen.add(other.start)
            pairs = self.sequence(current, other, is_nested)
            matched = {v.start for _, v in pairs}
            for one, two in pairs:
                todo.extend(self.inner_pairs(one, two))
            for equation in other.equations:
                if equation.start not in matched:
                    todo.extend((current, inner, True) for inner in self.inner(equation, "variant"))

    def inner(self, equation: Equation, side: str) -> list[Program]:
        """The programs that an equation holds, printed in it or shared."""
        named = [
            self.shared[side][name]
            for parameter in equation.parameters
            for name in parameter.references
            if name in self.shared[side]
        ]
        programs = [*equation.programs, *named]
        if side == "variant":
            for program in programs:
                self.pass_on(equation, program)
        return programs

    def pass_on(self, equation: Equation, program: Program) -> None:
        """Inputs of a body stand for what its equation's operands stand for."""
        offset = len(equation.inputs) - len(program.inputs)
        if offset < 0:
            return
        for place, variable in enumerate(program.inputs):
            operand = equation.inputs[place + offset].variable
            if operand is not None and operand.index in self.values:
                self.values.setdefault(variable.index, self.values[operand.index])

    def inner_pairs(self, one: Equation, two: Equation) -> list[tuple[Program, Program, bool]]:
        before, after = self.inner(one, "base"), self.inner(two, "variant")
        if len(before) != len(after):
            return []
        for program, other in zip(before, after, strict=True):
            self.bind(other.inputs, program.inputs)
        return [(b, a, False) for b, a in zip(before, after, strict=True)]

    def bind(self, variant: tuple[Variable, ...], base: tuple[Variable, ...]) -> None:
        """Inputs stand for one another by position; a transform adds its own at the end."""
        for new, old in zip(variant, base, strict=False):
            self.values[new.index] = old.index

    # -- one program against another

    def sequence(
        self, base: Program, variant: Program, is_nested: bool
    ) -> list[tuple[Equation, Equation]]:
        free = [equation for equation in base.equations if equation.start not in self.taken]
        pairs = []
        self.sources = _sources(variant)
        for one, two in common(free, list(variant.equations)):
            if not self.same_wiring(one, two):
                continue
            pairs.append((one, two))
            self.taken.add(one.start)
            for old, new in zip(one.outputs, two.outputs, strict=False):
                self.values[new.index] = old.index
            same = self.same_type(one, two) and self.same_parameters(one, two)
            self.found.change[two.start] = KEPT if same else RESHAPED
            self.found.partner[two.start] = one.start
        if is_nested and pairs:
            self.found.nested[variant.start] = len(pairs)
        return pairs

    def same_wiring(self, one: Equation, two: Equation) -> bool:
        if len(one.inputs) != len(two.inputs) or len(one.outputs) != len(two.outputs):
            return False
        return all(
            self.same_operand(old, new) for old, new in zip(one.inputs, two.inputs, strict=True)
        )

    def same_operand(self, old: Operand, new: Operand) -> bool:
        if old.variable is None or new.variable is None:
            return old.variable is new.variable and old.text == new.text
        index = new.variable.index
        for _ in range(8):  # a few steps through what was put in between
            if self.values.get(index) == old.variable.index:
                return True
            made = self.sources.get(index)
            if made is None or self.found.change.get(made.start) != ADDED:
                return False
            operands = [operand for operand in made.inputs if operand.variable is not None]
            if len(operands) != 1 or operands[0].variable is None:
                return False
            index = operands[0].variable.index
        return False

    def same_type(self, one: Equation, two: Equation) -> bool:
        return _types(one) == _types(two)

    def same_parameters(self, one: Equation, two: Equation) -> bool:
        """Whether what is printed of the parameters is the same, bodies left out."""
        return _parameters(one, self.base.text) == _parameters(two, self.variant.text)


def _types(equation: Equation) -> list[str]:
    return [shape_of(variable.type) for variable in equation.outputs]


def shape_of(printed: str) -> str:
    """A printed type without the axes that it varies over (``f32[8]{V:data}``)."""
    return printed.partition("]{")[0] + "]" if "]{" in printed else printed


def _sources(program: Program) -> dict[int, Equation]:
    """The equation that binds each variable of a program."""
    return {
        variable.index: equation for equation in program.equations for variable in equation.outputs
    }


def _parameters(equation: Equation, text: str) -> dict[str, str]:
    return {
        parameter.name: " ".join(text[parameter.start : parameter.end].split())
        for parameter in equation.parameters
        if not parameter.programs and not parameter.references
    }


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
