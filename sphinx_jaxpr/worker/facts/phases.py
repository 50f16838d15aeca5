"""The phase of every equation of a jaxpr, and what its backward part keeps.

Phases follow from name stacks and from the inputs that are tangents.  What the backward part
reads and did not make was kept for it: see :class:`Phases`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from ...program.model import CONSTANTS, INPUTS, UNKNOWN, Kept
from .jaxprs import HeldJaxpr, is_reference, open_jaxpr, primitive_name
from .marks import (
    DOUBT,
    FREE,
    MADE,
    MAYBE,
    OWN,
    SURE,
    Answer,
    Ask,
    Marks,
    flow,
    plain,
    union,
    unsure_of,
)
from .stacks import REMAT, Context

#: The phases of the backward part.
BACKWARD: Final = frozenset({"transpose", "recomputed"})

_Key: TypeAlias = tuple[int, Context, Marks]
# Asks for a program in a context, and whether to record what is found.
_Visit: TypeAlias = tuple[Any, Context, Marks, bool]
_Run: TypeAlias = Generator[_Visit, Answer, Answer]


@dataclass
class Phases:
    """What became of a walk through a program and all inside it.

    ``of`` has the phase of each equation, by its ``id``: forward, tangent, transpose,
    recomputed, or none.  ``reads`` has for each program, by its ``id``, the values that an
    equation of the backward part reads and that part did not make, as ids of the equation
    and of the value.  ``doubtful`` are programs of which that is unknown.
    """

    of: dict[int, str] = field(default_factory=dict)
    reads: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    doubtful: set[int] = field(default_factory=set)

    def kept(self, body: Any) -> Kept | None:
        """The values that a program keeps for its backward part, in the order of its text.

        ``None`` where there is no such part; :data:`UNKNOWN` where it may read others, too.
        """
        if not any(self.of.get(id(equation)) in BACKWARD for equation in body.eqns):
            return None
        if id(body) in self.doubtful:
            return UNKNOWN
        reads = self.reads.get(id(body), ())
        kept = {value for equation, value in reads if self.of.get(equation) in BACKWARD}
        listed = [(CONSTANTS, body.constvars), (INPUTS, body.invars)]
        listed += [(position, equation.outvars) for position, equation in enumerate(body.eqns)]
        return tuple(
            (owner, index)
            for owner, variables in listed
            for index, var in enumerate(variables)
            if id(var) in kept
        )


def phases(
    jaxpr: Any,
    tangents: Iterable[int],
    cotangents: Iterable[int],
    primitives: Iterable[str],
    held: HeldJaxpr,
) -> Phases:
    """The phases of a program and of all inside it.

    ``tangents`` and ``cotangents`` are positions of inputs; ``primitives`` all that the
    programs use.
    """
    work = _Phases(held, not REMAT.isdisjoint(primitives))
    body = open_jaxpr(jaxpr)
    varying, seeds = frozenset(tangents), frozenset(cotangents)
    marks = tuple(
        SURE * (index in varying) | MADE * (index in seeds) for index in range(len(body.invars))
    )
    work.visit((body, Context(), marks, True))
    return work.result


class _Phases:
    def __init__(self, held: HeldJaxpr, has_remat: bool) -> None:
        self.held = held
        self.has_remat = has_remat
        self.result = Phases()
        self.answers: dict[_Key, Answer] = {}
        self.written: set[_Key] = set()
        self.contexts: dict[tuple[Context, int, bool, bool], Context] = {}

    def visit(self, first: _Visit) -> None:
        """Visit a program; iterative, since programs may nest deeper than Python's stack."""
        stack = [self.program(*first)]
        answer: Answer | None = None
        while stack:
            try:
                asked = stack[-1].send(answer) if answer is not None else next(stack[-1])
            except StopIteration as stop:
                stack.pop()
                answer = stop.value
                continue
            body, context, marks, write = asked
            key = (id(body), context, marks)
            if key in self.answers and (not write or key in self.written):
                answer = self.answers[key]
            else:
                answer = None
                stack.append(self.program(body, context, marks, write))

    def program(self, body: Any, context: Context, inputs: Marks, write: bool) -> _Run:
        """One program with marked inputs."""
        key = (id(body), context, inputs)
        marks = {id(var): mark for var, mark in zip(body.invars, inputs, strict=True)}
        for equation in body.eqns:
            operands = tuple(
                [MADE if hasattr(o, "val") else marks.get(id(o), 0) for o in equation.invars]
            )
            here = self.context(context, equation)
            if self.held.of(equation):
                answer = yield from self.equation(equation, here, operands, write)
            else:
                answer = plain(equation, operands)
            made = _levels(here.between) | MADE * bool(here.backward or here.seeds)
            if made or any(answer.outputs):
                for var, mark in zip(equation.outvars, answer.outputs, strict=True):
                    marks[id(var)] = (mark & ~OWN) | made
            if answer.inputs != operands:
                for var, mark in zip(equation.invars, answer.inputs, strict=True):
                    if is_reference(var):  # which was written to
                        marks[id(var)] = (mark & ~OWN) | (marks.get(id(var), 0) & OWN)
            if write:
                self.write(body, equation, here, operands)
        outputs, at_end = (
            tuple([MADE if hasattr(v, "val") else marks.get(id(v), 0) for v in some])
            for some in (body.outvars, body.invars)
        )
        answer = self.answers[key] = Answer(outputs, at_end)
        if write:
            self.written.add(key)
        return answer

    def write(self, body: Any, equation: Any, here: Context, operands: Marks) -> None:
        """Record the phase of an equation, and what it reads of what was kept for it."""
        phase = _phase(here, operands)
        if self.result.of.setdefault(id(equation), phase) != phase:
            self.result.of[id(equation)] = ""
        if not here.backward:
            return
        for var, mark in zip(equation.invars, operands, strict=True):
            if mark & DOUBT:
                self.result.doubtful.add(id(body))
            elif not mark & MADE:
                self.result.reads.setdefault(id(body), set()).add((id(equation), id(var)))

    def context(self, around: Context, equation: Any) -> Context:
        """The context of an equation; many share a stack."""
        stack = getattr(equation.source_info, "name_stack", "")
        is_remat = primitive_name(equation) in REMAT
        # Only the program of a differentiated remat is recomputed.
        again = is_remat and bool(equation.params.get("differentiated", True))
        key = (around, id(stack), is_remat, again)
        if key not in self.contexts:
            self.contexts[key] = around.at(stack, is_remat, self.has_remat, again)
        return self.contexts[key]

    def equation(self, equation: Any, context: Context, operands: Marks, write: bool) -> _Run:
        """Follow the marks; once they are final, record what is inside."""
        programs = self.held.of(equation)
        following = flow(equation, operands, programs)
        last: dict[tuple[str, int], Ask] = {}
        answer: Answer | None = None
        while True:
            try:
                asked = following.send(answer) if answer is not None else next(following)
            except StopIteration as stop:
                result: Answer = stop.value
                break
            last[asked.slot] = asked
            answer = yield open_jaxpr(asked.program), context, asked.inputs, False
        if write:
            unsure = unsure_of(union(operands))
            for name, held in programs.items():
                for index, program in enumerate(held):
                    body = open_jaxpr(program)
                    met = last.get((name, index))
                    inputs = met.inputs if met else (unsure,) * len(body.invars)
                    yield body, context, inputs, True
        return result


def _levels(between: int) -> int:
    """Levels as bits of a mark."""
    return between << FREE


def _phase(context: Context, operands: Marks) -> str:
    if context.backward or not context.linear:
        return context.backward
    mark = union(operands)
    if mark & SURE or mark & _levels(context.inside):
        return "tangent"
    return "" if mark & MAYBE else "forward"
