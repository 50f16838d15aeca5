"""Puts what the jaxpr object knows beside what its text shows.

Both list the same equations in the same order.  Programs are found through
the parameter that holds them, so that a parameter printed early or a program
printed once and named elsewhere makes no difference.
"""

from __future__ import annotations

from typing import Any

from .model import Equation, EquationFacts, Parameter, Printed, Program


def align(printed: Printed, facts: dict[str, Any]) -> dict[int, EquationFacts]:
    """Facts of each equation, by the equation's ``start`` offset.

    A program whose text and object disagree (an opaque part, another number
    of equations) gets no facts rather than wrong ones.
    """
    if printed.program is None or not facts.get("programs"):
        return {}
    found: dict[int, EquationFacts] = {}
    shared = dict(printed.shared)
    todo: list[tuple[Program, int]] = [(printed.program, 0)]
    seen: set[int] = set()
    while todo:
        program, index = todo.pop()
        if program.start in seen:
            continue
        seen.add(program.start)
        known = facts["programs"][index]["equations"]
        if len(known) != len(program.equations):
            continue
        for equation, row in zip(program.equations, known, strict=True):
            if equation.primitive != row[0]:
                continue
            found[equation.start] = _facts(row, facts["sources"])
            todo.extend(_inner(equation, row[5], shared))
    return found


def _facts(row: list[Any], sources: list[list[Any]]) -> EquationFacts:
    primitive, phase, source, types, parameters, programs = row
    where = sources[source] if source >= 0 else None
    return EquationFacts(
        primitive=primitive,
        phase=phase,
        source=(where[0], where[1], where[2]) if where else None,
        types=tuple(types),
        parameters=parameters,
        programs={name: tuple(indices) for name, indices in programs.items()},
    )


def _inner(
    equation: Equation, programs: dict[str, list[int]], shared: dict[str, Program]
) -> list[tuple[Program, int]]:
    pairs: list[tuple[Program, int]] = []
    for parameter in equation.parameters:
        indices = programs.get(parameter.name, [])
        printed = _printed_programs(parameter, shared)
        if len(printed) == len(indices):
            pairs.extend(zip(printed, indices, strict=True))
    return pairs


def _printed_programs(parameter: Parameter, shared: dict[str, Program]) -> list[Program]:
    """The programs of a parameter, printed here or named, in order.

    Where some are printed and some are named their order is not known; then
    only those printed here would be safe, and none is claimed.
    """
    if parameter.references and parameter.programs:
        return []
    if parameter.references:
        return [shared[name] for name in parameter.references if name in shared]
    return list(parameter.programs)
