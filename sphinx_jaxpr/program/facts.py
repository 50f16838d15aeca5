"""Puts what the jaxpr object knows beside what its text shows.

Both list the same equations in the same order.  Programs are found through
the parameter that holds them, so that a parameter printed early or a program
printed once and named elsewhere makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from .model import Equation, EquationFacts, Parameter, Printed, Program

# --- puts what the jaxpr object knows beside what its text shows

Pairs: TypeAlias = list[tuple[Program, int]]


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """What the object knows of one program.

    ``inputs`` and ``outputs`` are printed short types, ``constants`` such types with
    their bytes.  ``unused`` are positions of equations without effects whose results
    nothing needs.
    """

    inputs: tuple[str, ...]
    constants: tuple[tuple[str, int], ...]
    outputs: tuple[str, ...]
    effects: tuple[str, ...]
    unused: tuple[int, ...]
    equations: tuple[EquationFacts, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What the jaxpr object knows: each program once, the outermost first.

    ``sources`` are the lines of the user's code that equations come from, as
    (file, line, function).
    """

    programs: tuple[ProgramFacts, ...] = ()
    sources: tuple[tuple[str, int, str], ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Facts:
        """Read what :meth:`to_json` wrote; equations are rows there, sources are indices."""
        sources = tuple((file, line, function) for file, line, function in data["sources"])
        return cls(tuple(_program(item, sources) for item in data["programs"]), sources)

    def to_json(self) -> dict[str, Any]:
        """Plain data: a row for each equation, its source as an index into ``sources``."""
        places = {source: index for index, source in enumerate(self.sources)}
        return {
            "programs": [
                {
                    "inputs": list(program.inputs),
                    "constants": [list(pair) for pair in program.constants],
                    "outputs": list(program.outputs),
                    "effects": list(program.effects),
                    "unused": list(program.unused),
                    "equations": [
                        [
                            row.primitive,
                            row.phase,
                            places[row.source] if row.source is not None else -1,
                            list(row.types),
                            dict(row.parameters),
                            {name: list(indices) for name, indices in row.programs.items()},
                        ]
                        for row in program.equations
                    ],
                }
                for program in self.programs
            ],
            "sources": [list(source) for source in self.sources],
        }


def _program(data: Mapping[str, Any], sources: tuple[tuple[str, int, str], ...]) -> ProgramFacts:
    unused = frozenset(data["unused"])
    return ProgramFacts(
        tuple(data["inputs"]),
        tuple((kind, size) for kind, size in data["constants"]),
        tuple(data["outputs"]),
        tuple(data["effects"]),
        tuple(data["unused"]),
        tuple(
            EquationFacts(
                primitive,
                phase,
                sources[source] if source >= 0 else None,
                tuple(types),
                parameters,
                {name: tuple(indices) for name, indices in programs.items()},
                position in unused,
            )
            for position, (primitive, phase, source, types, parameters, programs) in enumerate(
                data["equations"]
            )
        ),
    )


def align(printed: Printed, facts: dict[str, Any]) -> dict[int, EquationFacts]:
    """Facts of each equation, by the equation's ``start`` offset.

    A program whose text and object disagree (an opaque part, another number
    of equations) gets no facts rather than wrong ones.
    """
    return aligned(printed, facts).equations


@dataclass(frozen=True, slots=True)
class Aligned:
    """What is known of a text: facts of equations, by their ``start``; and of programs.

    ``programs`` are the places of programs in the table of facts, by their ``start``:
    two texts of one program have one place.  ``unread`` are programs of which the
    object has other equations than the text: their number there.
    """

    equations: dict[int, EquationFacts] = field(default_factory=dict)
    programs: dict[int, int] = field(default_factory=dict)
    unread: dict[int, int] = field(default_factory=dict)


def aligned(printed: Printed, facts: dict[str, Any]) -> Aligned:
    """Put equations and programs of a text beside those of the object."""
    if printed.program is None or not facts.get("programs"):
        return Aligned()
    work = _Alignment(printed, facts)
    work.follow(printed.program, 0)
    # A shared program may be named only where text is opaque, as in a repr.
    for _, program in printed.shared:
        if program.start not in work.found.programs:
            index = work.looks_like(program)
            if index is not None:
                work.follow(program, index)
    return work.found


class _Alignment:
    def __init__(self, printed: Printed, facts: dict[str, Any]) -> None:
        self.facts = facts
        self.shared = printed.named
        self.found = Aligned()
        self.met: set[int] = set()  # programs of the object, by their index

    def follow(self, program: Program, index: int) -> None:
        """Align a program of the text with one of the object, and all that they hold."""
        todo = [(program, index)]
        while todo:
            current, place = todo.pop()
            if current.start in self.found.programs:
                continue
            self.found.programs[current.start] = place
            self.met.add(place)
            known = self.facts["programs"][place]["equations"]
            unused = frozenset(self.facts["programs"][place].get("unused", ()))
            if len(known) != len(current.equations):
                self.found.unread[current.start] = len(known)
                continue
            rows = zip(current.equations, known, strict=True)
            for position, (equation, row) in enumerate(rows):
                if equation.primitive == row[0]:
                    found = _facts(row, self.facts["sources"], position in unused)
                    self.found.equations[equation.start] = found
                    todo.extend(self.inner(equation, row[5]))

    def inner(self, equation: Equation, programs: dict[str, list[int]]) -> Pairs:
        """The programs that an equation holds, each with its place in the facts."""
        pairs: Pairs = []
        for parameter in equation.parameters:
            indices = programs.get(parameter.name, [])
            printed = _printed_programs(parameter, self.shared)
            if len(printed) != len(indices) or parameter.is_opaque:
                continue
            found = list(zip(printed, indices, strict=True))
            if parameter.frame and not all(self.is_alike(*pair) for pair in found):
                found = self.in_another_order(printed, indices)
            pairs.extend(found)
        return pairs

    def in_another_order(self, printed: list[Program], indices: list[int]) -> Pairs:
        """An object may print its programs in any order: they are known by their looks."""
        left = list(indices)
        pairs: Pairs = []
        for program in printed:
            index = next((index for index in left if self.is_alike(program, index)), None)
            if index is not None:
                left.remove(index)
                pairs.append((program, index))
        return pairs

    def is_alike(self, program: Program, index: int) -> bool:
        """Whether a text and an object have the same equations and inputs, by their names."""
        known = self.facts["programs"][index]
        wanted = [equation.primitive for equation in program.equations]
        types = [variable.type for variable in program.inputs]
        return [row[0] for row in known["equations"]] == wanted and known["inputs"] == types

    def looks_like(self, program: Program) -> int | None:
        """The program of the object with the same equations, preferably one not met yet.

        Older JAX prints a shared program a second time inside of another one.
        """
        every = range(len(self.facts["programs"]))
        alike = [index for index in every if self.is_alike(program, index)]
        if len(alike) > 1:
            alike = [index for index in alike if self.is_same(program, index)]
        return next((index for index in alike if index not in self.met), next(iter(alike), None))

    def is_same(self, program: Program, index: int) -> bool:
        """Whether a text and an object are alike with all that they hold."""
        todo, seen = [(program, index)], set[int]()
        while todo:
            current, place = todo.pop()
            if current.start in seen:
                continue
            seen.add(current.start)
            if not self.is_alike(current, place):
                return False
            rows = self.facts["programs"][place]["equations"]
            for equation, row in zip(current.equations, rows, strict=True):
                todo.extend(self.inner(equation, row[5]))
        return True


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


def _printed_programs(parameter: Parameter, shared: dict[str, Program]) -> list[Program]:
    """The programs of a parameter in order, printed in it or shared and named."""
    return [
        shared[member] if isinstance(member, str) else member
        for member in parameter.members
        if not isinstance(member, str) or member in shared
    ]


# --- names of a program's inputs: the arguments, and JAX's own name of each leaf

#: How the type of one array is said; that of a tree begins with a bracket.
_ONE: Final = re.compile(r"[\w<>@.]+\[")


class InputNames(NamedTuple):
    """``arguments`` and ``leaves`` have a name for each input, ``known`` all arguments.

    An argument without leaves, such as ``{}`` or ``None``, is among ``known`` alone.
    """

    arguments: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    def sliced(self, key: slice) -> InputNames:
        """The names of some inputs."""
        return InputNames(self.arguments[key], self.leaves[key], self.known)


NO_NAMES: Final = InputNames()


def names_of(result: Mapping[str, Any], count: int) -> InputNames:
    """The names in a result, for the ``count`` inputs of its program."""
    args = [(str(name), str(kind)) for name, kind in result.get("args", ())]
    known = tuple(name for name, _ in args)
    inputs = result.get("inputs")
    if inputs is None and all(_ONE.match(kind) for _, kind in args):
        inputs = [[name, name] for name in known]  # of an older lock
    if inputs is None or len(inputs) != count:
        return InputNames(known=known)
    arguments, leaves = (tuple(row[place] for row in inputs) for place in (0, 1))
    return InputNames(arguments, leaves, known or tuple(dict.fromkeys(arguments)))
