"""What depends on some values of a program: by the oracle's own walk over objects.

One pass forward for each source, since nothing is bound twice; a loop's body is passed again
until nothing changes.  What the walk can't tell is :class:`Lost`.
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


def decided(body: Any, ends: list[bool]) -> list[bool]:
    """The inputs at the end of a program of which it is unknown whether it runs: references that
    it writes may or may not have been written.
    """
    writers = (e for e in body.eqns if e.primitive.name != "get")
    written = {id(v) for e in writers for v in e.invars if not is_literal(v)}
    return [
        end or (is_reference(v) and id(v) in written)
        for v, end in zip(body.invars, ends, strict=True)
    ]


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
    return outs, [*dirty[:asked], *(decided(body, ends) if any(chosen) else ends)]


def branches(equation: Any, dirty: list[bool]) -> tuple[list[bool], list[bool]]:
    """The chooser decides, unless all branches return the same operand."""
    programs = [body_of(program) for program in params_of(equation)["branches"]]
    outs, ends = [False] * len(equation.outvars), list(dirty[1:])
    for program in programs:
        inner, after = transfer(program, dirty[1:])
        after = decided(program, after) if dirty[0] else after
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
