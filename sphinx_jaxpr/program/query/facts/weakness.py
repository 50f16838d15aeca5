"""Which values of a printed program are weakly typed, which only the jaxpr object knows."""

from __future__ import annotations

from typing import NamedTuple

from ...facts import Aligned, Facts, ProgramFacts
from ...model import Printed, Program, programs


class Weakness(NamedTuple):
    """Whether values are weakly typed: variables by index, literals by their ``start``.

    What is not in these is unknown.  ``is_older`` says that the recording is from a time
    when results did not have this fact.
    """

    variables: dict[int, bool]
    literals: dict[int, bool]
    is_older: bool = False


def weakness(printed: Printed, aligned: Aligned, facts: Facts) -> Weakness:
    """Look at each program of a text whose object is known."""
    made = Weakness({}, {}, any(program.weak is None for program in facts.programs))
    for program in programs(printed):
        index = aligned.programs.get(program.start)
        if index is not None and program.start not in aligned.unread:
            _look(printed, program, facts.programs[index], made)
    return made


def _look(printed: Printed, program: Program, facts: ProgramFacts, made: Weakness) -> None:
    weak = facts.weak
    if weak is None:
        return
    bound = (
        (program.constants, weak.constants, len(facts.constants)),
        (program.inputs, weak.inputs, len(facts.inputs)),
    )
    for variables, positions, count in bound:
        if len(variables) == count:
            made.variables.update((v.index, n in positions) for n, v in enumerate(variables))
    results, literals = {*weak.results}, {*weak.literals}
    rows = zip(program.equations, facts.equations, strict=False)
    for place, (equation, row) in enumerate(rows):
        if equation.primitive != row.primitive:
            continue
        if len(equation.outputs) == len(row.types):
            made.variables.update(
                (v.index, (place, n) in results) for n, v in enumerate(equation.outputs)
            )
        if any(operand.variable is None for operand in equation.inputs) and (
            # Reads and writes of references, `a[0] <- b`, are printed in another order.
            _names_its_primitive(printed.text_of(equation), equation.primitive)
        ):
            made.literals.update(
                (operand.start, (place, n) in literals)
                for n, operand in enumerate(equation.inputs)
                if operand.variable is None
            )
    if len(program.outputs) == len(facts.outputs):
        made.literals.update(
            (operand.start, n in weak.outputs)
            for n, operand in enumerate(program.outputs)
            if operand.variable is None
        )


def _names_its_primitive(text: str, primitive: str) -> bool:
    return text.startswith(primitive) or f"= {primitive}" in text
