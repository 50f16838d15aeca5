"""Which operands of an equation reach which of its results, through the programs inside it.

A program is read once: what reaches its results, and what is written to references among
its inputs, holds for each of its calls.  Reads attributes only and imports no JAX.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, NamedTuple, TypeAlias

from ...program.model import EquationFlow, Reached
from .jaxprs import HeldJaxpr, is_reference, open_jaxpr
from .marks import FREE, MAYBE, OWN, Answer, Marks, flow, plain, union


class _Transfer(NamedTuple):
    """The inputs that reach each result of a program, and each input at its end, as marks."""

    outputs: Marks
    inputs: Marks

    def of(self, inputs: Marks) -> Answer:
        """Marks of the results for marked inputs."""
        return Answer(_through_each(self.outputs, inputs), _through_each(self.inputs, inputs))


#: Asks for programs whose transfer is not known yet.
_Run: TypeAlias = Generator[Any, None, None]


class Flows:
    """Reads programs; each once."""

    def __init__(self, held: HeldJaxpr) -> None:
        self.held = held
        self.transfers: dict[int, _Transfer] = {}
        self.flows: dict[int, dict[int, EquationFlow]] = {}  # by the id of a program, by position

    def of(self, jaxpr: Any) -> dict[int, EquationFlow]:
        """The flows of a program's equations by their positions.

        Those are left out of which each result depends on each operand, unless a program is
        inside, and those on references alone, which their text tells.
        """
        body = open_jaxpr(jaxpr)
        self.visit(body)
        return self.flows[id(body)]

    def visit(self, first: Any) -> None:
        """Read a program and those inside it; iterative, since they may nest deeply."""
        if id(first) in self.transfers:
            return
        stack = [self.program(first)]
        while stack:
            asked = next(stack[-1], None)
            if asked is None:
                stack.pop()
            elif id(asked) not in self.transfers:
                stack.append(self.program(asked))

    def program(self, body: Any) -> _Run:
        """Read one program, once those inside it have been read."""
        start = _own(len(body.invars))
        marks = {id(var): mark for var, mark in zip(body.invars, start, strict=True)}
        flows: dict[int, EquationFlow] = {}
        for position, equation in enumerate(body.eqns):
            programs = self.held.of(equation)
            yield from (open_jaxpr(program) for some in programs.values() for program in some)
            operands = tuple([marks.get(id(operand), 0) for operand in equation.invars])
            if len(equation.outvars) == 1 and not programs and not equation.effects:
                marks[id(equation.outvars[0])] = union(operands)  # as most equations are
                continue
            answer = self.equation(equation, programs)
            if programs or _is_particular(answer):
                flows[position] = _flow(equation, answer)
            for var, mark in zip(equation.outvars, answer.outputs, strict=True):
                marks[id(var)] = _through(mark, operands)
            for var, mark in zip(equation.invars, answer.inputs, strict=True):
                if is_reference(var):
                    marks[id(var)] = _through(mark, operands)
        self.flows[id(body)] = flows
        ends = (
            tuple([marks.get(id(var), 0) for var in some]) for some in (body.outvars, body.invars)
        )
        self.transfers[id(body)] = _Transfer(*ends)

    def equation(self, equation: Any, programs: dict[str, list[Any]]) -> Answer:
        """What reaches the results of an equation, each operand marked with its position."""
        operands = _own(len(equation.invars))
        if not programs:
            return plain(equation, operands)
        following = flow(equation, operands, programs)
        answer: Answer | None = None
        while True:
            try:
                asked = following.send(answer) if answer is not None else next(following)
            except StopIteration as stop:
                result: Answer = stop.value
                return _guessed(result) if result.is_guess else result
            answer = self.transfers[id(open_jaxpr(asked.program))].of(asked.inputs)


def _own(count: int) -> Marks:
    """A mark for each of several values."""
    return tuple([1 << (FREE + position) for position in range(count)])


def _guessed(answer: Answer) -> Answer:
    """An answer of which each mark is uncertain."""
    outputs, inputs = (tuple([mark | MAYBE for mark in some]) for some in answer[:2])
    return Answer(outputs, inputs)


def _positions(mark: int) -> Iterator[int]:
    """The positions that a mark stands for, in order."""
    bits = mark >> FREE
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _through_each(marks: Marks, inputs: Marks) -> Marks:
    return tuple([_through(mark, inputs) for mark in marks])


def _through(mark: int, inputs: Marks) -> int:
    """The marks of ``inputs`` at the positions that a mark stands for."""
    joined = 0
    for position in _positions(mark):
        joined |= inputs[position]
    joined &= ~OWN
    return joined | MAYBE if mark & MAYBE and joined else joined


def _is_particular(answer: Answer) -> bool:
    """Whether a result of an equation without programs depends on some operands alone."""
    return len(set(answer.outputs)) > 1


def _flow(equation: Any, answer: Answer) -> EquationFlow:
    start = _own(len(equation.invars))
    writes = [
        (position, _reached(mark))
        for position, (var, mark) in enumerate(zip(equation.invars, answer.inputs, strict=True))
        if is_reference(var) and mark != start[position]
    ]
    return EquationFlow(tuple(map(_reached, answer.outputs)), tuple(writes))


def _reached(mark: int) -> Reached:
    return Reached(mark >> FREE, not mark & MAYBE)
