"""What the jaxpr object knows of a program, and which equation of its text that is about.

Object and text list the same equations in the same order.  Programs are identified by
the parameter that holds them, so a parameter that is printed early, or a program that is
printed once and named elsewhere, makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeAlias

from .flows import from_rows, to_rows
from .model import Equation, EquationFacts, EquationFlow, Kept, Parameter, Printed, Program

# --- the facts


class Weak(NamedTuple):
    """Which values of one program are weakly typed, by their positions.

    ``results`` and ``literals`` (operands that are literals) have pairs of an equation's
    position and their own in it; ``outputs`` are outputs of the program that are literals.
    """

    constants: tuple[int, ...] = ()
    inputs: tuple[int, ...] = ()
    results: tuple[tuple[int, int], ...] = ()
    literals: tuple[tuple[int, int], ...] = ()
    outputs: tuple[int, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Weak:
        """Read what :meth:`to_json` wrote."""
        return cls(
            tuple(data.get("constants", ())),
            tuple(data.get("inputs", ())),
            tuple((equation, position) for equation, position in data.get("results", ())),
            tuple((equation, position) for equation, position in data.get("literals", ())),
            tuple(data.get("outputs", ())),
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data, without what is empty: few values are weakly typed."""
        parts = {
            "constants": list(self.constants),
            "inputs": list(self.inputs),
            "results": [list(pair) for pair in self.results],
            "literals": [list(pair) for pair in self.literals],
            "outputs": list(self.outputs),
        }
        return {name: part for name, part in parts.items() if part}


@dataclass(frozen=True, slots=True)
class ProgramFacts:
    """What the object knows of one program.

    ``inputs`` and ``outputs`` are printed short types, ``constants`` such types with
    their bytes.  ``unused`` are positions of equations without effects whose results
    nothing needs.  ``weak`` are those that are weakly typed.  ``kept`` are the values that its
    backward part reads and did not make, ``None`` where it has no such part.  ``flows`` has, by
    position, the equations of which not each result depends on each operand, and all with
    programs inside.  ``weak`` and ``flows`` are ``None`` in what an older release recorded,
    which knows none of the three.
    """

    inputs: tuple[str, ...]
    constants: tuple[tuple[str, int], ...]
    outputs: tuple[str, ...]
    effects: tuple[str, ...]
    unused: tuple[int, ...]
    equations: tuple[EquationFacts, ...]
    weak: Weak | None = None
    kept: Kept | None = None
    flows: Mapping[int, EquationFlow] | None = None


#: A line of the user's code, as (file, line, function).
Source: TypeAlias = "tuple[str, int, str]"


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
        indices = {source: index for index, source in enumerate(self.sources)}
        return {
            "programs": [
                {
                    **({} if program.kept is None else {"kept": [list(p) for p in program.kept]}),
                    **({} if program.flows is None else {"flows": to_rows(program.flows)}),
                    "inputs": list(program.inputs),
                    "constants": [list(pair) for pair in program.constants],
                    "outputs": list(program.outputs),
                    "effects": list(program.effects),
                    "unused": list(program.unused),
                    **({} if program.weak is None else {"weak": program.weak.to_json()}),
                    "equations": [
                        [
                            row.primitive,
                            row.phase,
                            indices[row.source] if row.source is not None else -1,
                            list(row.types),
                            dict(row.parameters),
                            {name: list(held) for name, held in row.programs.items()},
                        ]
                        for row in program.equations
                    ],
                }
                for program in self.programs
            ],
            "sources": [list(source) for source in self.sources],
        }

    def moved(self, moved: Mapping[Source, Source]) -> Facts:
        """The same facts where some lines are elsewhere: their old places with the new ones."""

        def at(row: EquationFacts) -> EquationFacts:
            return row if row.source is None else row._replace(source=moved.get(row.source))

        programs = tuple(
            replace(program, equations=tuple(map(at, program.equations)))
            for program in self.programs
        )
        return Facts(programs, tuple(moved[source] for source in self.sources))


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
        Weak.from_json(data["weak"]) if "weak" in data else None,
        tuple((owner, index) for owner, index in data["kept"]) if "kept" in data else None,
        from_rows(data["flows"]) if "flows" in data else None,
    )


# --- facts beside the equations and programs of a text


@dataclass(frozen=True, slots=True)
class Aligned:
    """Facts by offsets into the printed text.

    ``equations`` has the facts of an equation by its ``start``.  ``programs`` has, by a
    program's ``start``, its index in ``Facts.programs``: two texts of one program share an
    index.  ``unread`` has, for a program of which the object knows other equations than
    the text shows, their number in the object.
    """

    equations: dict[int, EquationFacts] = field(default_factory=dict)
    programs: dict[int, int] = field(default_factory=dict)
    unread: dict[int, int] = field(default_factory=dict)


def align(printed: Printed, facts: Facts) -> Aligned:
    """The facts of each equation and program of a text.

    A program whose text and object disagree (an opaque part, another number of
    equations) gets no facts rather than wrong ones.
    """
    if printed.program is None or not facts.programs:
        return Aligned()
    alignment = _Alignment(printed, facts)
    alignment.follow(printed.program, 0)
    # A shared program may be named only where text is opaque, as in a repr.
    for _, program in printed.shared:
        if program.start not in alignment.aligned.programs:
            index = alignment.looks_like(program)
            if index is not None:
                alignment.follow(program, index)
    return alignment.aligned


#: Programs of a text, each with its index in the facts.
_Pairs = list[tuple[Program, int]]


class _Alignment:
    def __init__(self, printed: Printed, facts: Facts) -> None:
        self.programs = facts.programs
        self.shared = printed.named
        self.aligned = Aligned()
        self.visited: set[int] = set()  # indices of programs

    def follow(self, program: Program, index: int) -> None:
        """Align a program of the text with one of the object, and all that they hold."""
        todo = [(program, index)]
        while todo:
            current, number = todo.pop()
            if current.start in self.aligned.programs:
                continue
            self.aligned.programs[current.start] = number
            self.visited.add(number)
            rows = self.programs[number].equations
            if len(rows) != len(current.equations):
                self.aligned.unread[current.start] = len(rows)
                continue
            for equation, row in zip(current.equations, rows, strict=True):
                if equation.primitive == row.primitive:
                    self.aligned.equations[equation.start] = row
                    if row.programs:
                        todo.extend(self.inner(equation, row))

    def inner(self, equation: Equation, row: EquationFacts) -> _Pairs:
        """The programs that an equation holds, each with its index in the facts."""
        pairs: _Pairs = []
        for parameter in equation.parameters:
            indices = row.programs.get(parameter.name, ())
            printed = _printed_programs(parameter, self.shared)
            if len(printed) != len(indices) or parameter.is_opaque:
                continue
            held = list(zip(printed, indices, strict=True))
            if parameter.frame and not all(self.is_alike(*pair) for pair in held):
                held = self.in_another_order(printed, indices)
            pairs.extend(held)
        return pairs

    def in_another_order(self, printed: list[Program], indices: Iterable[int]) -> _Pairs:
        """An object may print its programs in any order: they are told apart by their looks."""
        left = list(indices)
        pairs: _Pairs = []
        for program in printed:
            index = next((index for index in left if self.is_alike(program, index)), None)
            if index is not None:
                left.remove(index)
                pairs.append((program, index))
        return pairs

    def is_alike(self, program: Program, index: int) -> bool:
        """Whether a text and an object have the same primitives and types of inputs."""
        facts = self.programs[index]
        primitives = [equation.primitive for equation in program.equations]
        types = tuple(variable.type for variable in program.inputs)
        return [row.primitive for row in facts.equations] == primitives and facts.inputs == types

    def looks_like(self, program: Program) -> int | None:
        """The program of the object with the same equations, preferably one not visited yet.

        Older JAX prints a shared program a second time inside of another one.
        """
        alike = [i for i in range(len(self.programs)) if self.is_alike(program, i)]
        if len(alike) > 1:
            alike = [index for index in alike if self.is_same(program, index)]
        new = (index for index in alike if index not in self.visited)
        return next(new, next(iter(alike), None))

    def is_same(self, program: Program, index: int) -> bool:
        """Whether a text and an object are alike with all that they hold."""
        todo, seen = [(program, index)], set[int]()
        while todo:
            current, number = todo.pop()
            if current.start in seen:
                continue
            seen.add(current.start)
            if not self.is_alike(current, number):
                return False
            rows = self.programs[number].equations
            for equation, row in zip(current.equations, rows, strict=True):
                todo.extend(self.inner(equation, row))
        return True


def _printed_programs(parameter: Parameter, shared: dict[str, Program]) -> list[Program]:
    """The programs of a parameter in order, printed in it or shared and named."""
    return [
        shared[member] if isinstance(member, str) else member
        for member in parameter.members
        if not isinstance(member, str) or member in shared
    ]


# --- names of a program's inputs: the arguments, and JAX's own name of each leaf

#: How the type of one array begins; that of a tree begins with a bracket.
_ARRAY: Final = re.compile(r"[\w<>@.]+\[")
_Names = Sequence[tuple[str, str]]


class InputNames(NamedTuple):
    """Names of a program's inputs.

    ``arguments`` and ``leaves`` have one for each input; ``all_arguments`` has those too
    that have no leaves, such as ``{}`` or ``None``.
    """

    arguments: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    all_arguments: tuple[str, ...] = ()

    def sliced(self, key: slice) -> InputNames:
        """The names of some inputs."""
        return InputNames(self.arguments[key], self.leaves[key], self.all_arguments)


NO_NAMES: Final = InputNames()
#: What JAX calls the result of a function.
RESULT: Final = "result"


def output_names(leaves: Sequence[str] | None, count: int) -> InputNames:
    """The names of the ``count`` results of a program, which JAX calls ``result['w']``."""
    if leaves is None or len(leaves) != count:
        return NO_NAMES
    return InputNames((RESULT,) * count, tuple(leaves), (RESULT,))


def input_names(args: _Names | None, inputs: _Names | None, count: int) -> InputNames:
    """The names of the ``count`` inputs of a program.

    ``args`` has each argument with its type, ``inputs`` for each input its argument and
    its leaf; either may be unknown.
    """
    names = tuple(name for name, _ in args or ())
    if inputs is None and all(_ARRAY.match(kind) for _, kind in args or ()):
        inputs = [(name, name) for name in names]  # of an older lock
    if inputs is None or len(inputs) != count:
        return InputNames(all_arguments=names)
    arguments = tuple(argument for argument, _ in inputs)
    leaves = tuple(leaf for _, leaf in inputs)
    return InputNames(arguments, leaves, names or tuple(dict.fromkeys(arguments)))
