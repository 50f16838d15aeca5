"""What a backward part reads and did not make, by the oracle's own walk over objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .phases import body_of, is_literal, loop_sizes, params_of, placed

Ids = set[int]
BACKWARD = frozenset({"transpose", "recomputed"})


class Kept:
    """For each program, by its ``id``, the ids of what its backward part reads and did not make."""

    def __init__(self, program: Any, phase: Any, cotangents: Iterable[int], seeds: Any) -> None:
        self.phase = phase  # of an equation
        self.is_seed = seeds  # whether an equation makes cotangents
        self.found: dict[int, Ids] = {}
        self.lost: Ids = set()
        self.backward: Ids = set()
        body, places = body_of(program), set(cotangents)
        self.visit(body, [place in places for place in range(len(body.invars))])

    def made(self, body: Any, given: list[bool]) -> Ids:
        known = {id(v) for v, mark in zip(body.invars, given, strict=True) if mark}
        for equation in body.eqns:
            if self.phase(equation) in BACKWARD or self.is_seed(equation):
                known |= {id(v) for v in equation.outvars}
        return known

    def visit(self, body: Any, given: list[bool] | None) -> None:
        """Look at a program whose inputs were made by the backward part, or not."""
        known = self.made(body, given or [False] * len(body.invars))
        for equation in body.eqns:
            marks = [is_literal(v) or id(v) in known for v in equation.invars]
            if self.phase(equation) in BACKWARD:
                self.backward.add(id(body))
                pairs = zip(equation.invars, marks, strict=True)
                self.found.setdefault(id(body), set()).update(id(v) for v, m in pairs if not m)
            for program, inner in self.inside(equation, marks):
                if inner is None or given is None:
                    self.lose(body_of(program))
                self.visit(body_of(program), None if given is None else inner)

    def inside(self, equation: Any, marks: list[bool]) -> list[tuple[Any, list[bool] | None]]:
        listed = placed(equation, marks)
        if equation.primitive.name == "scan":
            consts, carry = loop_sizes(equation)
            return [(program, self.round(program, g, consts, carry)) for program, g in listed]
        if equation.primitive.name == "while":
            own, count = params_of(equation)["body_nconsts"], len(equation.outvars)
            (asks, first), (does, second) = listed
            second = self.round(does, second, own, count)
            if first is None or second is None:
                return [(asks, None), (does, None)]
            first = [*first[: len(first) - count], *second[own:]]
            return [(asks, first), (does, second)]
        return listed

    def round(
        self, program: Any, given: list[bool] | None, consts: int, carry: int
    ) -> list[bool] | None:
        """What a body's inputs are, with the carries of later rounds."""
        if given is None:
            return None
        body, given = body_of(program), list(given)
        while True:
            known = self.made(body, given)
            after = list(given)
            for place, var in enumerate(body.outvars[:carry]):
                after[consts + place] |= is_literal(var) or id(var) in known
            if after == given:
                return given
            given = after

    def lose(self, body: Any) -> None:
        self.lost.add(id(body))
