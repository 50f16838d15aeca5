"""A program as paths see it: the parsed text, its facts, and lookups over both."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from ..dtypes import itemsize
from ..facts import NO_NAMES, Aligned, Facts, InputNames, align
from ..matching.match import Match, match
from ..model import Equation, EquationFacts, Printed, Program, Variable, programs
from ..text import clipped
from .facts.types import axes_in, plain_type
from .facts.weakness import Weakness, weakness

INPUT: Final = "input"
CONSTANT: Final = "constant"
LITERAL: Final = "literal"
EQUATION: Final = "equation"
PHASES: Final = frozenset({"forward", "tangent", "transpose", "recomputed"})

#: Calls of a shared program are counted up to this.
MAX_CALLS: Final = 10**9

#: Before the bracket of a type: the dtype, what its keys are of, and the memory space.
_DTYPE: Final = re.compile(r"(?P<dtype>[A-Za-z]\w*)(?P<of><[^<>\[\]{}]*>)?(?:<[^<>\[\]{}]*>)*\[")

#: Parameters whose texts name axes of meshes, in quotes.
_WITH_AXES: Final = frozenset({"mesh", "axes", "axis_name", "manual_axes", "newly_manual_axes"})
_QUOTED: Final = re.compile(r"'([^'\s]+)'")
#: Parameters by which `shard_map` records over what its values vary, or does not.
_CHECKS: Final = ("check_vma", "check_rep")


@dataclass(frozen=True, eq=False, repr=False)
class QueryBlock:
    """A named program: the text as parsed, the facts of its object, names of its leaves.

    ``base`` is the untransformed block of a variant.  ``error`` is (type, message) where
    the page shows an error instead of a program; ``failed`` says that the block should
    have been traced and could not be.
    """

    name: str
    printed: Printed | None
    facts: Facts = field(default_factory=Facts)
    inputs: InputNames = NO_NAMES
    base: QueryBlock | None = None
    error: tuple[str, str] | None = None
    failed: bool = False
    outputs: InputNames = NO_NAMES

    def __repr__(self) -> str:
        state = f"{self.error[0]}" if self.error else repr(self.printed).strip("<>")
        return f"<QueryBlock {clipped(self.name, 60)}: {clipped(state, 100)}>"

    @cached_property
    def aligned(self) -> Aligned:
        """The facts of each equation of the text."""
        return align(self.printed, self.facts) if self.printed else Aligned()

    @cached_property
    def index(self) -> BlockIndex:
        """Lookups over its equations."""
        return BlockIndex(self.printed, self.aligned)

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
    def types(self) -> frozenset[str]:
        """The types of the values at any depth, without names of axes."""
        return frozenset(map(plain_type, filter(None, self._printed_types)))

    @cached_property
    def _printed_types(self) -> frozenset[str]:
        every = programs(self.printed) if self.printed else []
        bound = (v for p in every for v in (*p.constants, *p.inputs))
        made = (v for p in every for e in p.equations for v in e.outputs)
        literals = (o.type for p in every for e in p.equations for o in e.inputs)
        return frozenset((*map(self.index.type_of, (*bound, *made)), *literals))

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The axes of its meshes, in the order of each mesh; other named axes behind them."""
        text = self.printed.text if self.printed else ""
        equations = self.printed.walk() if self.printed else ()
        values = [
            text[parameter.start : parameter.end]
            for equation in equations
            for parameter in sorted(equation.parameters, key=lambda p: p.name != "mesh")
            if parameter.name in _WITH_AXES
        ]
        quoted = [name for value in values for name in _QUOTED.findall(value)]
        typed = sorted(name for kind in self._printed_types for name in axes_in(kind))
        return tuple(dict.fromkeys([*quoted, *typed]))

    @cached_property
    def untracked(self) -> frozenset[int]:
        """Variables in bodies of ``shard_map`` whose types do not say over what they vary."""
        if self.printed is None or self.printed.program is None:
            return frozenset()
        bodies: dict[int, Program] = {}
        for equation in self.printed.walk():
            values = {p.name: self.printed.text_of(p) for p in equation.parameters}
            if equation.primitive == "shard_map" and "False" in map(values.get, _CHECKS):
                bodies |= {body.start: body for body in self.index.deep(self.index.held(equation))}
        bound = (v for p in bodies.values() for v in (*p.constants, *p.inputs))
        made = (v for p in bodies.values() for e in p.equations for v in e.outputs)
        return frozenset(v.index for v in (*bound, *made))

    @cached_property
    def weakness(self) -> Weakness:
        """Which of its values are weakly typed, as far as that is known."""
        if self.printed is None:
            return Weakness({}, {})
        return weakness(self.printed, self.aligned, self.facts)

    @cached_property
    def parameters(self) -> frozenset[str]:
        """The names of the parameters at any depth, printed or not."""
        printed = self.printed.walk() if self.printed else ()
        names = {parameter.name for e in printed for parameter in e.parameters}
        return frozenset(names.union(*(row.parameters for row in self.aligned.equations.values())))

    @cached_property
    def bound_at(self) -> dict[int, int]:
        """For each variable the start of the equation that makes it, or holds its program."""
        bound: dict[int, int] = {}
        for equation in self.printed.walk() if self.printed else ():
            inner = (v for p in equation.programs for v in (*p.constants, *p.inputs))
            bound.update((v.index, equation.start) for v in (*equation.outputs, *inner))
        return bound

    @cached_property
    def match(self) -> Match:
        """How its equations are those of the base; empty where there is no base."""
        if self.base is None or self.base.printed is None or self.printed is None:
            return Match()
        return match(self.base.printed, self.printed)


class BlockIndex:
    """Lookups over one printed text; equations and programs by their ``start``."""

    def __init__(self, printed: Printed | None, aligned: Aligned) -> None:
        self.text = printed.text if printed else ""
        self.shared = printed.named if printed else {}
        self.facts: dict[int, EquationFacts] = aligned.equations
        self.tables: dict[int, int] = aligned.programs  # program -> its index in the facts
        self.unread: dict[int, int] = aligned.unread  # program -> how many equations it has
        self.calls: dict[int, int] = {}  # program -> how often it is used
        self.home: dict[int, Program] = {}  # equation -> the program that lists it
        self.made: dict[int, tuple[str, Equation | None]] = {}  # variable -> its origin
        self.binding: dict[int, Program] = {}  # variable -> the program that binds it
        self.readers: dict[int, list[Equation]] = {}  # variable -> equations that read it
        self.reads: Counter[int] = Counter()  # variable -> operands that are it
        self.position: dict[int, int] = {}  # equation -> its position in that program
        self.has_phases = any(row.phase for row in self.facts.values())
        self.first: dict[int, Program] = {}  # index in the facts -> the first of its texts
        self.everything: dict[int, list[Equation]] = {}  # program -> its own and all inside
        self.refusals: dict[int, str] = {}  # program -> why not all of it can be read
        self.apart: set[int] = set()  # programs that the outermost does not lead to
        if printed is None or printed.program is None:
            return
        programs = [*(program for _, program in printed.shared), printed.program]
        for program in programs:
            programs.extend(inner for e in program.equations for inner in e.programs)
            self.bind(program)
        self.count(printed.program, programs)

    def bind(self, program: Program) -> None:
        """Note what makes each variable of a program, and where its equations are."""
        self.made.update((v.index, (INPUT, None)) for v in program.inputs)
        self.made.update((v.index, (CONSTANT, None)) for v in program.constants)
        self.binding.update((v.index, program) for v in (*program.constants, *program.inputs))
        for position, equation in enumerate(program.equations):
            self.home[equation.start] = program
            self.position[equation.start] = position
            self.made.update((v.index, (EQUATION, equation)) for v in equation.outputs)
            self.binding.update((v.index, program) for v in equation.outputs)
            read = [o.variable.index for o in equation.inputs if o.variable is not None]
            self.reads.update(read)
            for index in {*read}:
                self.readers.setdefault(index, []).append(equation)

    def count(self, whole: Program, every: list[Program]) -> None:
        """How often each program is used, with those that use it counted first."""
        programs = {program.start: program for program in every}
        inner = {start: self.used_by(program) for start, program in programs.items()}
        reached = _reached(whole.start, inner)
        self.apart = programs.keys() - reached
        for program in sorted(every, key=lambda p: (p.start in self.apart, p.start)):
            if program.start in self.tables:
                self.first.setdefault(self.tables[program.start], program)
        # A text in front that only repeats what an object prints is not a further use of it.
        indices = {self.tables.get(start, -1) for start in reached}
        waiting = Counter(start for used in inner.values() for start in set(used))
        ready = [start for start in programs if not waiting[start]]
        self.calls = dict.fromkeys(programs, 0)
        for start in ready:
            self.calls[start] = int(start in reached or self.tables.get(start, -2) not in indices)
        while ready:
            current = ready.pop()
            for start, times in Counter(inner[current]).items():
                more = self.calls[start] + times * self.calls[current]
                self.calls[start] = min(more, MAX_CALLS)
                waiting[start] -= 1
                if not waiting[start]:
                    ready.append(start)
        self.merge(programs)

    def used_by(self, program: Program) -> list[int]:
        """The programs that the equations of a program hold or name."""
        return [inner.start for e in program.equations for inner in self.held(e)]

    def held(self, equation: Equation) -> list[Program]:
        """The programs that an equation holds or names."""
        members = [self.member(m) for p in equation.parameters for m in p.members]
        return [inner for inner in members if inner is not None]

    def deep(self, programs: Iterable[Program]) -> list[Program]:
        """Programs and all inside them, each once."""
        reached: dict[int, Program] = {}
        todo = list(programs)
        while todo:
            program = todo.pop()
            if program.start not in reached:
                reached[program.start] = program
                todo += [inner for e in program.equations for inner in self.held(e)]
        return list(reached.values())

    def merge(self, programs: Iterable[int]) -> None:
        """Texts of one program are used as often as all of them.

        What an object holds is printed there, and once more in front if it is shared.
        """
        texts: dict[int, list[int]] = {}
        for start in programs:
            if start in self.tables:
                texts.setdefault(self.tables[start], []).append(start)
        for same in texts.values():
            if len(same) > 1:
                named = [start for start in same if start not in self.apart] or same[:1]
                total = min(sum(self.calls[start] for start in named), MAX_CALLS)
                self.calls.update(dict.fromkeys(same, total))

    def member(self, member: Program | str) -> Program | None:
        """A program that a parameter holds, printed there or shared."""
        return self.shared.get(member) if isinstance(member, str) else member

    def meant(self, program: Program) -> Program:
        """The first of a program's texts to which paths lead: the one that all stand for."""
        return self.first.get(self.tables.get(program.start, -1), program)

    def opaque(self, program: Program) -> str:
        """What of a program can't be read, ``""`` where all is: not what it holds."""
        if program.start in self.unread:
            count = self.unread[program.start]
            return f"{len(program.equations)} of its {count} equations can be read"
        for equation in program.equations:
            row = self.facts.get(equation.start)
            plain = row.parameters if row else {}
            for parameter in equation.parameters:
                if parameter.is_opaque and not isinstance(plain.get(parameter.name), str):
                    return (
                        f"`{parameter.name}` of `{equation.primitive}` shows a program that"
                        " can't be read"
                    )
        return ""

    def type_of(self, variable: Variable) -> str:
        """The printed type, or that of the object where none is printed."""
        if variable.type:
            return variable.type
        equation = self.made.get(variable.index, ("", None))[1]
        row = self.facts.get(equation.start) if equation else None
        if equation is None or row is None or len(row.types) != len(equation.outputs):
            return ""
        return row.types[[v.index for v in equation.outputs].index(variable.index)]


def _reached(start: int, inner: Mapping[int, Iterable[int]]) -> set[int]:
    """The programs that can be reached from one, with that one."""
    reached, todo = {start}, [start]
    while todo:
        more = set(inner.get(todo.pop(), ())) - reached
        reached |= more
        todo.extend(more)
    return reached


def bytes_of(kind: str) -> int | None:
    """The bytes of a value of a printed type; ``None`` where they are unknown."""
    sizes, item = shape_of(kind), itemsize(dtype_of(kind))
    if sizes is None or item is None or not all(isinstance(size, int) for size in sizes):
        return None
    return int(math.prod(sizes)) * item


def dtype_of(kind: str) -> str:
    """``bf16`` of ``bf16<host>[4,64]{V:data}``; ``""`` where the type has none."""
    dtype = _DTYPE.search(kind)
    if dtype is None:
        return ""
    return dtype["dtype"] + (dtype["of"] or "" if dtype["dtype"] == "key" else "")


def shape_of(kind: str) -> tuple[Any, ...] | None:
    """``(4, 64)`` of ``bf16[4@(x,y),64]{V:data}``; a symbolic size stays a text."""
    dtype = _DTYPE.search(kind)
    if dtype is None:
        return None
    sizes = [size.partition("@")[0].strip() for size in _dims(kind, dtype.end())]
    return tuple(int(size) if size.isdecimal() and len(size) < 20 else size for size in sizes)


def _dims(kind: str, start: int) -> list[str]:
    """The text between the bracket before ``start`` and its partner, by axis."""
    depth, parts, begin = 0, list[str](), start
    for index in range(start, len(kind)):
        sign = kind[index]
        if sign in "([{":
            depth += 1
        elif sign == "," and not depth:
            parts.append(kind[begin:index])
            begin = index + 1
        elif sign in ")]}":
            if not depth:
                parts.append(kind[begin:index])
                break
            depth -= 1
    return [part for part in parts if part.strip()]
