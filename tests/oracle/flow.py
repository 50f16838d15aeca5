"""What depends on what, and what a backward part reads: by the oracle's own walk over objects.

One pass forward for each source, since nothing is bound twice; a loop's body is passed again
until nothing changes.  What the walk can't tell is :class:`Unsure`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .phases import body_of, is_literal, loop_sizes, params_of, placed

Ids = set[int]
#: Each result comes from the operand at its place alone.
ELEMENTWISE = frozenset(
    "psum psum2 psum_invariant pmax pmin pvary pcast pbroadcast optimization_barrier ppermute"
    " all_gather all_gather_invariant all_to_all".split()
)
#: Equations whose programs are understood here.
KNOWN = frozenset(
    "jit pjit closed_call core_call remat remat2 checkpoint custom_jvp_call custom_vjp_call"
    " custom_vjp_call_jaxpr shard_map scan while cond".split()
)
BACKWARD = frozenset({"transpose", "recomputed"})


class Lost(Exception):
    """Operands of a program inside can't be told apart."""


def is_reference(variable: Any) -> bool:
    """Whether equations may write to a value."""
    return "Ref" in type(variable.aval).__name__


class Spread:
    """The values of a body that depend on some of them, given by their ids."""

    def __init__(self, body: Any, start: Iterable[int], source: Any = None) -> None:
        self.body = body
        self.ids: Ids = set(start)
        #: The equations that read one of them where they stand.
        self.reading: Ids = set()
        for equation in body.eqns:
            dirty = [not is_literal(v) and id(v) in self.ids for v in equation.invars]
            if any(dirty):
                self.reading.add(id(equation))
            if equation is source:
                self.ids |= {id(v) for v in equation.outvars}
                if equation.primitive.name != "get":
                    self.ids |= {id(v) for v in equation.invars if is_reference(v)}
            elif any(dirty):
                self.follow(equation, dirty)

    def follow(self, equation: Any, dirty: list[bool]) -> None:
        """Add the results of an equation that depend on its operands, and what it writes."""
        outs, ends = through(equation, dirty)
        self.ids |= {id(v) for v, mark in zip(equation.outvars, outs, strict=True) if mark}
        pairs = zip(equation.invars, ends, strict=True)
        self.ids |= {id(v) for v, mark in pairs if mark and is_reference(v)}


def transfer(program: Any, given: list[bool]) -> tuple[list[bool], list[bool]]:
    """Which results depend on the inputs given, and which references have it at the end."""
    body = body_of(program)
    start = [id(v) for v, dirty in zip(body.invars, given, strict=True) if dirty]
    found = Spread(body, start).ids
    outs = [not is_literal(v) and id(v) in found for v in body.outvars]
    return outs, [id(v) in found for v in body.invars]


def through(equation: Any, dirty: list[bool]) -> tuple[list[bool], list[bool]]:
    """The same for an equation and its operands."""
    name, count = equation.primitive.name, len(equation.outvars)
    listed = placed(equation, dirty)
    if not listed:
        return plain(equation, dirty)
    if name not in KNOWN or any(given is None for _, given in listed):
        raise Lost(name)
    if name == "scan":
        consts, carry = loop_sizes(equation)
        outs, ends = rounds(params_of(equation)["jaxpr"], dirty, consts, carry)
        return outs, ends
    if name == "while":
        return whiles(equation, dirty)
    if name == "cond":
        return branches(equation, dirty)
    outs, ends = [False] * count, list(dirty)
    for program, given in listed:
        inner, after = transfer(program, given or [])
        if len(inner) != count:
            raise Lost(name)
        outs = [a or b for a, b in zip(outs, inner, strict=True)]
        ends = [a or b for a, b in zip(ends, after, strict=True)]
    return outs, ends


def plain(equation: Any, dirty: list[bool]) -> tuple[list[bool], list[bool]]:
    """An equation without programs."""
    name, count = equation.primitive.name, len(equation.outvars)
    if name == "get":
        return [any(dirty)] * count, dirty
    if name == "swap":
        return [dirty[0] or any(dirty[2:])] * count, [any(dirty)] * len(dirty)
    if name in ELEMENTWISE and count == len(dirty):
        return dirty, dirty
    if name == "sort" and count == len(dirty):
        keys = any(dirty[: equation.params["num_keys"]])
        return [keys or mark for mark in dirty], dirty
    return [any(dirty)] * count, [any(dirty)] * len(dirty)


def rounds(
    program: Any, dirty: list[bool], consts: int, carry: int
) -> tuple[list[bool], list[bool]]:
    """A body whose first results are its carries in the next round."""
    given = list(dirty)
    while True:
        outs, ends = transfer(program, given)
        after = [a or b for a, b in zip(given, ends, strict=True)]
        for place in range(carry):
            after[consts + place] = after[consts + place] or outs[place]
        if after == given:
            return [*given[consts : consts + carry], *outs[carry:]], given
        given = after


def whiles(equation: Any, dirty: list[bool]) -> tuple[list[bool], list[bool]]:
    """The condition decides how often carries are computed again."""
    params, count = params_of(equation), len(equation.outvars)
    asked, own = params["cond_nconsts"], params["body_nconsts"]
    body = body_of(params["body_jaxpr"])
    carried, ends = rounds(params["body_jaxpr"], dirty[asked:], own, count)
    chosen, _ = transfer(params["cond_jaxpr"], [*dirty[:asked], *carried])
    stays = [a is b for a, b in zip(body.outvars, body.invars[own:], strict=True)]
    outs = [c or (any(chosen) and not same) for c, same in zip(carried, stays, strict=True)]
    return outs, [*dirty[:asked], *ends]


def branches(equation: Any, dirty: list[bool]) -> tuple[list[bool], list[bool]]:
    """The chooser decides, unless all branches return the same operand."""
    programs = [body_of(program) for program in params_of(equation)["branches"]]
    outs, ends = [False] * len(equation.outvars), list(dirty[1:])
    for program in programs:
        inner, after = transfer(program, dirty[1:])
        outs = [a or b for a, b in zip(outs, inner, strict=True)]
        ends = [a or b for a, b in zip(ends, after, strict=True)]
    for place in range(len(outs)):
        returned = [
            [n for n, v in enumerate(program.invars) if v is program.outvars[place]]
            for program in programs
        ]
        alike = all(returned) and len({places[0] for places in returned}) == 1
        outs[place] = outs[place] or (dirty[0] and not alike)
    return outs, [dirty[0], *ends]


# -- what a backward part reads


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
