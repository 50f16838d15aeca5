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
    work = _Alignment(printed, facts)
    work.follow(printed.program, 0)
    # A shared program may be named only where text is opaque, as in a repr.
    for _, program in printed.shared:
        if program.start not in work.seen:
            index = work.looks_like(program)
            if index is not None:
                work.follow(program, index)
    return work.found


class _Alignment:
    def __init__(self, printed: Printed, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.shared = dict(printed.shared)
        self.found: dict[int, EquationFacts] = {}
        self.seen: set[int] = set()  # programs of the text, by their start
        self.met: set[int] = set()  # programs of the object, by their index

    def follow(self, program: Program, index: int) -> None:
        """Align a program of the text with one of the object, and all that they hold."""
        todo = [(program, index)]
        while todo:
            current, place = todo.pop()
            if current.start in self.seen:
                continue
            self.seen.add(current.start)
            self.met.add(place)
            known = self.facts["programs"][place]["equations"]
            unused = frozenset(self.facts["programs"][place].get("unused", ()))
            if len(known) != len(current.equations):
                continue
            rows = zip(current.equations, known, strict=True)
            for position, (equation, row) in enumerate(rows):
                if equation.primitive == row[0]:
                    found = _facts(row, self.facts["sources"], position in unused)
                    self.found[equation.start] = found
                    todo.extend(_inner(equation, row[5], self.shared))

    def looks_like(self, program: Program) -> int | None:
        """The program of the object with the same equations, preferably one not met yet.

        Older JAX prints a shared program a second time inside of another one.
        """
        wanted = [equation.primitive for equation in program.equations]
        types = [variable.type for variable in program.inputs]
        alike = [
            index
            for index, known in enumerate(self.facts["programs"])
            if [row[0] for row in known["equations"]] == wanted and known["inputs"] == types
        ]
        return next((index for index in alike if index not in self.met), next(iter(alike), None))


def _facts(row: list[Any], sources: list[list[Any]], unused: bool) -> EquationFacts:
    primitive, phase, source, types, parameters, programs = row
    where = sources[source] if source >= 0 else None
    return EquationFacts(
        primitive=primitive,
        phase=phase,
        source=(where[0], where[1], where[2]) if where else None,
        types=tuple(types),
        parameters=parameters,
        programs={name: tuple(indices) for name, indices in programs.items()},
        unused=unused,
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
    """The programs of a parameter in order, printed in it or shared and named."""
    return [
        shared[member] if isinstance(member, str) else member
        for member in parameter.members
        if not isinstance(member, str) or member in shared
    ]
