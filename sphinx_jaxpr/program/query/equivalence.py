"""Whether two programs or lists of equations are the same up to variable names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..model import Equation, Operand, Program, Variable
from .base import Asking
from .blocks import QueryBlock
from .syntax import PathError
from .views import Equations, EquationView, Programs, ProgramView


def same(first: Any, second: Any, asking: Asking) -> bool:
    """Whether second things of a program are equal up to variable names.

    Two programs have the same inputs, equations and results; where first of them is
    a list of equations, only the equations count.  Wiring, types, parameters and
    nested programs all count.
    """
    first, second = _unpacked(first), _unpacked(second)
    if isinstance(first, ProgramView) and isinstance(second, ProgramView):
        left = _Reader(first.block, asking).program(first.program)
        right = _Reader(second.block, asking).program(second.program)
        if left != right and _listed(first, asking) == _listed(second, asking):
            asking.hint(
                f"the equations are the same, inputs or results are not: compare only them by"
                f" `same({first.path}[:], {second.path}[:])`"
            )
        return left == right
    return _listed(first, asking) == _listed(second, asking)


def _unpacked(thing: Any) -> Any:
    if isinstance(thing, Programs) and len(thing.programs) == 1:
        return thing.programs[0]
    if isinstance(thing, EquationView):
        return Equations(thing.block, thing.path, [thing.equation])
    if isinstance(thing, tuple) and thing and all(isinstance(e, EquationView) for e in thing):
        if len({id(e.block) for e in thing}) == 1:
            return Equations(thing[0].block, "the list", [e.equation for e in thing])
    elif thing == ():
        return None
    if isinstance(thing, Equations):
        return thing
    raise PathError("`same` compares programs, lists of equations, or equations")


def _listed(thing: Equations | None, asking: Asking) -> list[str]:
    if thing is None:
        return []
    return _Reader(thing.block, asking).equations(thing.equations)


class _Reader:
    """Writes a program as tokens in which variables are numbers."""

    def __init__(self, block: QueryBlock, asking: Asking) -> None:
        self.block = block
        self.asking = asking
        self.numbers: dict[int, int] = {}
        self.count = 0
        self.tokens: list[str] = []

    def program(self, program: Program) -> list[str]:
        return self.run([program])

    def equations(self, equations: Iterable[Equation]) -> list[str]:
        return self.run(equations)

    def run(self, things: Iterable[Any]) -> list[str]:
        # A stack, not recursion: programs may be nested deeper than Python's stack.
        todo: list[Any] = list(things)[::-1]
        while todo:
            thing = todo.pop()
            self.asking.spend(2)
            match thing:
                case str():
                    self.tokens.append(thing)
                case Program():
                    self.tokens.append("{")
                    self.bind((*thing.constants, *thing.inputs))
                    todo.extend(("}", thing.outputs, *reversed(thing.equations)))
                case Equation():
                    self.tokens.append(thing.primitive)
                    for operand in thing.inputs:
                        self.read(operand)
                    todo.append(("bind", thing.outputs))
                    todo.extend(self.parameters(thing)[::-1])
                case ("bind", outputs):
                    self.bind(outputs)
                case tuple():
                    for operand in thing:
                        self.read(operand)
        return self.tokens

    def parameters(self, equation: Equation) -> list[Any]:
        key: list[Any] = []
        for parameter in equation.parameters:
            key.append(parameter.name)
            if parameter.members:
                members = [self.block.index.member(member) for member in parameter.members]
                key.extend(member for member in members if member is not None)
                key.append(parameter.frame)
            else:
                text = self.block.index.text[parameter.start : parameter.end]
                self.asking.spend(len(text) // 50)
                key.append(" ".join(text.split()))
        return key

    def bind(self, variables: Iterable[Variable]) -> None:
        for variable in variables:
            self.asking.spend(1)
            self.numbers[variable.index] = self.count
            self.tokens.append(f"{self.count}:{variable.type}")
            self.count += 1

    def read(self, operand: Operand) -> None:
        self.asking.spend(1)
        if operand.variable is None:
            self.tokens.append(f"{operand.text}:{operand.type}")
            return
        index = operand.variable.index
        if index not in self.numbers:
            self.bind([operand.variable])
        self.tokens.append(str(self.numbers[index]))
