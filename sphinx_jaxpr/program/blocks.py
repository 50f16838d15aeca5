"""One traced block as paths see it: a printed program with all that is known of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from .align import align
from .match import Match, match
from .model import Equation, EquationFacts, Printed, Program, Variable

INPUT: Final = "input"
CONSTANT: Final = "constant"
LITERAL: Final = "literal"
EQUATION: Final = "equation"
PHASES: Final = frozenset({"forward", "tangent", "transpose", "recomputed"})

#: Calls of a shared program are counted up to this.
MAX_CALLS: Final = 10**9

#: Before the bracket of a type: the dtype, what its keys are of, and the memory space.
_DTYPE: Final = re.compile(r"(?P<dtype>[A-Za-z]\w*)(?P<of><[^<>\[\]{}]*>)?(?:<[^<>\[\]{}]*>)*\[")


@dataclass(frozen=True, eq=False)
class Block:
    """What a caller gives: the text as parsed, the worker's facts, names of the inputs.

    ``arguments`` has a name per input of the program, the same one for each leaf
    of an argument that is a tree.  ``base`` is the untransformed block of a variant.
    ``error`` is (type, message) where that is what the page wants to show; ``failed``
    is a block that could not be traced though it should.  ``found`` is the match with
    the base, where the caller has it already.
    """

    name: str
    printed: Printed | None
    facts: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    base: Block | None = None
    error: tuple[str, str] | None = None
    found: Match | None = None
    failed: bool = False

    @cached_property
    def index(self) -> Index:
        """What is looked up about its equations; made at the first look."""
        return Index(self.printed, self.facts)

    @cached_property
    def primitives(self) -> frozenset[str]:
        """The primitives at any depth."""
        return frozenset(e.primitive for e in self.printed.walk()) if self.printed else frozenset()

    @cached_property
    def dtypes(self) -> frozenset[str]:
        """The dtypes of the values at any depth, in short."""
        equations = self.printed.walk() if self.printed else ()
        kinds = {self.index.type_of(v) for e in equations for v in e.outputs}
        return frozenset(filter(None, map(dtype_of, kinds)))

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of the parameters at any depth, printed or not."""
        printed = self.printed.walk() if self.printed else ()
        names = {parameter.name for e in printed for parameter in e.parameters}
        return frozenset(names.union(*(known.parameters for known in self.index.facts.values())))

    @cached_property
    def match(self) -> Match:
        """The match with the base."""
        if self.found is not None:
            return self.found
        if self.base is None or self.base.printed is None or self.printed is None:
            return Match()
        return match(self.base.printed, self.printed)


class Index:
    """Lookups over one printed text; equations and programs by their ``start``."""

    def __init__(self, printed: Printed | None, facts: Mapping[str, Any]) -> None:
        self.text = printed.text if printed else ""
        self.shared = dict(printed.shared) if printed else {}
        self.facts: dict[int, EquationFacts] = align(printed, dict(facts)) if printed else {}
        self.tables: dict[int, int] = {}  # program -> its place in the facts
        self.calls: dict[int, int] = {}  # program -> how often it is used
        self.home: dict[int, Program] = {}  # equation -> the program that lists it
        self.made: dict[int, tuple[str, Equation | None]] = {}  # variable -> its origin
        self.readers: dict[int, list[Equation]] = {}  # variable -> equations that read it
        self.has_phases = any(known.phase for known in self.facts.values())
        if printed is None or printed.program is None:
            return
        if self.facts:
            self.tables[printed.program.start] = 0
        self.enter(printed.program, 1)
        # A shared program is named after it was printed: the last one first.
        for _, program in reversed(printed.shared):
            self.enter(program, max(1, self.calls.get(program.start, 0)))

    def enter(self, program: Program, calls: int) -> None:
        """Look at a program and all that is printed in it."""
        self.calls[program.start] = calls
        todo = [program]
        while todo:
            current = todo.pop()
            self.bind(current)
            uses = self.calls[current.start]
            for equation in current.equations:
                for parameter in equation.parameters:
                    for place, member in enumerate(parameter.members):
                        inner = self.member(member)
                        if inner is None:
                            continue
                        self.place(equation, parameter.name, place, inner)
                        if isinstance(member, str):
                            uses_before = self.calls.get(inner.start, 0)
                            self.calls[inner.start] = min(uses_before + uses, MAX_CALLS)
                        else:
                            self.calls[inner.start] = uses
                            todo.append(inner)

    def bind(self, program: Program) -> None:
        self.made.update((v.index, (INPUT, None)) for v in program.inputs)
        self.made.update((v.index, (CONSTANT, None)) for v in program.constants)
        for equation in program.equations:
            self.home[equation.start] = program
            self.made.update((v.index, (EQUATION, equation)) for v in equation.outputs)
            for index in {o.variable.index for o in equation.inputs if o.variable is not None}:
                self.readers.setdefault(index, []).append(equation)

    def member(self, member: Program | str) -> Program | None:
        """A program that a parameter holds, printed there or shared."""
        return self.shared.get(member) if isinstance(member, str) else member

    def place(self, equation: Equation, parameter: str, place: int, program: Program) -> None:
        known = self.facts.get(equation.start)
        places = known.programs.get(parameter, ()) if known else ()
        if place < len(places):
            self.tables.setdefault(program.start, places[place])

    def type_of(self, variable: Variable) -> str:
        """The printed type, or that of the object where none is printed."""
        if variable.type:
            return variable.type
        equation = self.made.get(variable.index, ("", None))[1]
        known = self.facts.get(equation.start) if equation else None
        if equation is None or known is None or len(known.types) != len(equation.outputs):
            return ""
        return known.types[[v.index for v in equation.outputs].index(variable.index)]


def dtype_of(kind: str) -> str:
    """``bf16`` of ``bf16<host>[4,64]{V:data}``; ``""`` where the type has none."""
    found = _DTYPE.search(kind)
    if found is None:
        return ""
    return found["dtype"] + (found["of"] or "" if found["dtype"] == "key" else "")


def shape_of(kind: str) -> tuple[Any, ...] | None:
    """``(4, 64)`` of ``bf16[4@(x,y),64]{V:data}``; a symbolic size stays a text."""
    found = _DTYPE.search(kind)
    if found is None:
        return None
    sizes = [size.partition("@")[0].strip() for size in _dims(kind, found.end())]
    return tuple(int(size) if size.isdecimal() and len(size) < 20 else size for size in sizes)


def _dims(kind: str, start: int) -> list[str]:
    """What stands between the bracket before ``start`` and its partner, by axis."""
    depth, parts, begin = 0, list[str](), start
    for place in range(start, len(kind)):
        sign = kind[place]
        if sign in "([{":
            depth += 1
        elif sign == "," and not depth:
            parts.append(kind[begin:place])
            begin = place + 1
        elif sign in ")]}":
            if not depth:
                parts.append(kind[begin:place])
                break
            depth -= 1
    return [part for part in parts if part.strip()]
