"""The phase of every equation: forward, tangent, transpose, recomputed, or none.

JAX's record of transforms decides, but for one thing: of what is differentiated
forward, an equation is *tangent* if it depends on a tangent.  Tangents are inputs
that a transform has added, and what ``jacfwd`` makes itself.  Their marks are
followed through all programs, loops to where nothing changes any more.

A program called in several phases carries none where they differ, and an
equation has none where it isn't known which operands reach it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any, TypeAlias

from .flow import FREE, MAYBE, SURE, Answer, Ask, Marks, flow, plain, union, unsure_of
from .jaxprs import Held, open_jaxpr, primitive_name
from .stacks import REMAT, Context

_Key: TypeAlias = tuple[int, Context, Marks]
# Asks for a program in a context, and whether to write down what is found.
_Visit: TypeAlias = tuple[Any, Context, Marks, bool]
_Run: TypeAlias = Generator[_Visit, Answer, Answer]


def phases(
    jaxpr: Any, tangents: Iterable[int], primitives: Iterable[str], held: Held
) -> dict[int, str]:
    """The phase of each equation at any depth, by its ``id``.

    ``tangents`` are positions of inputs; ``primitives`` all that the programs use.
    """
    work = _Phases(held, not REMAT.isdisjoint(primitives))
    body = open_jaxpr(jaxpr)
    wanted = frozenset(tangents)
    marks = tuple(SURE if place in wanted else 0 for place in range(len(body.invars)))
    work.visit((body, Context(), marks, True))
    return work.found


class _Phases:
    def __init__(self, held: Held, has_remat: bool) -> None:
        self.held = held
        self.has_remat = has_remat
        self.found: dict[int, str] = {}
        self.known: dict[_Key, Answer] = {}
        self.written: set[_Key] = set()
        self.contexts: dict[tuple[Context, int, bool, bool], Context] = {}

    def visit(self, first: _Visit) -> None:
        """Visit a program; iterative, since programs nest deeper than Python's stack."""
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
            if key in self.known and (not write or key in self.written):
                answer = self.known[key]
            else:
                answer = None
                stack.append(self.program(body, context, marks, write))

    def program(self, body: Any, context: Context, inputs: Marks, write: bool) -> _Run:
        """One program with marked inputs."""
        key = (id(body), context, inputs)
        marks = {id(var): mark for var, mark in zip(body.invars, inputs, strict=True)}
        for equation in body.eqns:
            operands = tuple(marks.get(id(operand), 0) for operand in equation.invars)
            here = self.context(context, equation)
            if self.held.of(equation):
                answer = yield from self.equation(equation, here, operands, write)
            else:
                answer = plain(equation, operands)
            made = _levels(here.between)
            for var, mark in zip(equation.outvars, answer.outputs, strict=True):
                if mark | made:
                    marks[id(var)] = mark | made
            for var, before, after in zip(equation.invars, operands, answer.inputs, strict=True):
                if after != before:
                    marks[id(var)] = after
            if write:
                phase = _phase(here, operands)
                if self.found.setdefault(id(equation), phase) != phase:
                    self.found[id(equation)] = ""
        ends = (
            tuple(marks.get(id(var), 0) for var in some) for some in (body.outvars, body.invars)
        )
        answer = self.known[key] = Answer(*ends)
        if write:
            self.written.add(key)
        return answer

    def context(self, around: Context, equation: Any) -> Context:
        """What is known at an equation; stacks are shared by many."""
        stack = getattr(equation.source_info, "name_stack", "")
        is_remat = primitive_name(equation) in REMAT
        # Only the program of one that was differentiated is computed again.
        again = is_remat and bool(equation.params.get("differentiated", True))
        key = (around, id(stack), is_remat, again)
        if key not in self.contexts:
            self.contexts[key] = around.at(stack, is_remat, self.has_remat, again)
        return self.contexts[key]

    def equation(self, equation: Any, context: Context, operands: Marks, write: bool) -> _Run:
        """Follow the marks; then, once they are final, write down what is inside."""
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
            for name, found in programs.items():
                for place, program in enumerate(found):
                    body = open_jaxpr(program)
                    met = last.get((name, place))
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
