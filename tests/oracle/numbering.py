"""Value numbering over jaxpr objects: which equations of a base stand in a variant verbatim.

An equation stands in another program verbatim where the same primitive, with the same
parameters, makes values of the same types of the same values.  A value is known by the
number that its equation, input or constant has; one table serves base and variant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .language import normal
from .phases import body_of, is_literal, loop_sizes, params_of, placed, programs_in

#: What runs its program once on its operands: its results are those of the program.
CALLS = {
    "jit", "pjit", "closed_call", "core_call", "remat2", "checkpoint", "custom_jvp_call",
    "custom_vjp_call", "shard_map",
}  # fmt: skip


class Numbering:
    """Numbers of equations, by their ``id``; equal where they compute the same."""

    def __init__(self) -> None:
        self.table: dict[Any, int] = {}

    def number(self, key: Any) -> int:
        return self.table.setdefault(key, len(self.table))

    def program(self, closed: Any) -> dict[int, int]:
        """The number of each equation at any depth; of a shared program in its first place."""
        body = body_of(closed)
        found: dict[int, int] = {}
        given = [self.number(("input", n, str(v.aval))) for n, v in enumerate(body.invars)]
        self.fill(body, given, self.constants(closed), found, Counter())
        return found

    def constants(self, closed: Any) -> list[int]:
        """Constants by their values."""
        numbers = []
        for place, variable in enumerate(body_of(closed).constvars):
            values = getattr(closed, "consts", None) or ()
            try:
                data: Any = np.asarray(values[place]).tobytes()
            except (TypeError, IndexError, ValueError):
                data = id(variable)
            numbers.append(self.number(("constant", str(variable.aval), data)))
        return numbers

    def fill(
        self,
        body: Any,
        given: Sequence[int],
        constants: Sequence[int],
        found: dict[int, int],
        effects: Counter[Any],
    ) -> list[int]:
        """Number a program's equations; the numbers of its results."""
        known = {id(v): n for v, n in zip(body.invars, given, strict=True)}
        known |= {id(v): n for v, n in zip(body.constvars, constants, strict=True)}

        def read(operand: Any) -> int:
            if is_literal(operand):
                return self.number(("literal", str(operand.aval), repr(operand.val)))
            return known.get(id(operand), -1)

        for equation in body.eqns:
            operands = [read(v) for v in equation.invars]
            key = self.key(equation, operands)
            if equation.effects:  # the same again is another effect
                effects[key] += 1
                key = (key, effects[key])
            number = self.number(key)
            found.setdefault(id(equation), number)
            made = self.inside(equation, operands, number, found, effects)
            for place, variable in enumerate(equation.outvars):
                known[id(variable)] = (
                    self.number(("result", number, place)) if made is None else made[place]
                )
        return [read(v) for v in body.outvars]

    def key(self, equation: Any, operands: list[int]) -> Any:
        params = repr([(name, normal(v)) for name, v in sorted(params_of(equation).items())])
        types = tuple(str(v.aval) for v in equation.outvars)
        return equation.primitive.name, params, types, tuple(operands)

    def inside(
        self,
        equation: Any,
        operands: list[int],
        number: int,
        found: dict[int, int],
        effects: Counter[Any],
    ) -> list[int] | None:
        """Number what an equation holds; the numbers of its results where it is a call."""
        name, made = equation.primitive.name, None
        if not any(programs_in(value) for value in params_of(equation).values()):
            return None
        for place, (program, given) in enumerate(placed(equation, operands)):
            body = body_of(program)
            inner = []
            for position, variable in enumerate(body.invars):
                passed = given[position] if given is not None else None
                if passed is None or self.changes(equation, place, position, variable, given):
                    passed = self.number(("inside", number, place, position))
                inner.append(passed)
            outs = self.fill(body, inner, self.constants(program), found, effects)
            types = [str(v.aval) for v in body.outvars]
            if name in CALLS and types == [str(v.aval) for v in equation.outvars]:
                made = outs
        return made

    def changes(
        self, equation: Any, place: int, position: int, variable: Any, given: list[int]
    ) -> bool:
        """Whether an input of a program is another value in each round, or for each device."""
        name, params = equation.primitive.name, params_of(equation)
        if name == "scan":
            return position >= loop_sizes(equation)[0]
        if name == "while":
            return position >= params["body_nconsts" if place else "cond_nconsts"]
        if name in ("cond", "custom_linear_solve"):
            return name != "cond" and position == len(given) - 1
        operands = equation.invars
        return len(operands) != len(given) or str(operands[position].aval) != str(variable.aval)


def verbatim(base: Any, variant: Any) -> set[int]:
    """The base's equations, by ``id``, that stand in the variant."""
    numbering = Numbering()
    mine, theirs = numbering.program(base), numbering.program(variant)
    there = set(theirs.values())
    return {key for key, number in mine.items() if number in there}
