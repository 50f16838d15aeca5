"""Phases by a taint analysis over jaxpr objects, independent of the product's.

A value is tainted where it depends on a tangent input.  Loops are followed to their
fixed point; the words of a phase are JAX's own name stack *objects*, so that a scope
which a user named ``transpose(q)`` is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

#: An equation of which the oracle claims nothing: operands of its program aren't aligned.
UNKNOWN = "?"

Taint = list[bool]


def body_of(program: Any) -> Any:
    """The object with equations."""
    return getattr(program, "jaxpr", program)


def is_program(value: Any) -> bool:
    """Whether a value is a jaxpr, closed or not."""
    found = body_of(value)
    return hasattr(found, "eqns") and hasattr(found, "outvars")


def programs_in(value: Any) -> list[Any]:
    """The jaxprs of a parameter in the order of its text, in whatever containers."""
    if is_program(value):
        return [value]
    if isinstance(value, dict):
        return [program for item in value.values() for program in programs_in(item)]
    if isinstance(value, (tuple, list)):
        return [program for item in value for program in programs_in(item)]
    return []


def params_of(equation: Any) -> dict[str, Any]:
    """The parameters of an equation; JAX 0.12 keeps those of some operations in an object."""
    high = equation.params.get("_prim")
    return equation.params if high is None else dict(high.params)


def is_literal(operand: Any) -> bool:
    """Whether an operand is a literal."""
    return hasattr(operand, "val")


def is_store(equation: Any, body: Any) -> bool:
    """Whether an equation stores to a reference and nothing reads what was there.

    JAX prints it with a binder or without, ``b[0] <- c``, whatever the object says.
    """
    if equation.primitive.name not in ("swap", "addupdate"):
        return False
    read = {id(v) for e in body.eqns for v in e.invars} | {id(v) for v in body.outvars}
    return not any(id(v) in read for v in equation.outvars)


def results(equation: Any, body: Any) -> list[Any]:
    """What an equation binds that can be read."""
    return [] if is_store(equation, body) else list(equation.outvars)


def loop_sizes(equation: Any) -> tuple[int, int]:
    """The numbers of constants and of carries of a ``scan``."""
    params = params_of(equation)
    if "num_carry" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = (len(part) for part in params["ft_in"].unpack())
    return consts, carry


def placed(equation: Any, given: Sequence[Any]) -> list[tuple[Any, list[Any] | None]]:
    """The programs of an equation, each with what its inputs receive of ``given``.

    ``given`` has an element for each operand.  ``None`` where the operands of a program
    can't be told; a carry receives what it starts with.
    """
    name, params = equation.primitive.name, params_of(equation)
    if name == "while":
        cond, body = params["cond_nconsts"], params["body_nconsts"]
        start = list(given[cond + body :])
        return [
            (params["cond_jaxpr"], [*given[:cond], *start]),
            (params["body_jaxpr"], [*given[cond : cond + body], *start]),
        ]
    if name == "cond":
        return [(branch, list(given[1:])) for branch in params["branches"]]
    if name == "custom_linear_solve":
        return _solves(equation, given)
    found = [program for value in params.values() for program in programs_in(value)]
    fits = name not in ("reduce", "pallas_call", "run_state") and "update_jaxpr" not in params
    return [
        (program, list(given) if fits and len(body_of(program).invars) == len(given) else None)
        for program in found
    ]


def _solves(equation: Any, given: Sequence[Any]) -> list[tuple[Any, list[Any] | None]]:
    lengths, programs = params_of(equation)["const_lengths"], params_of(equation)["jaxprs"]
    found: list[tuple[Any, list[Any] | None]] = []
    offset, total = 0, sum(lengths)
    for length, program in zip(lengths, programs, strict=True):
        if program is not None:
            found.append((program, [*given[offset : offset + length], *given[total:]]))
        offset += length
    return found


class Phases:
    """The phase of each equation of a program at any depth, by the equation's ``id``."""

    def __init__(
        self, program: Any, tangents: Iterable[int] = (), seeds: Iterable[int] | None = ()
    ) -> None:
        # ``seeds``: further values of the program that are tangents, by ``id``; ``None``
        # where a transform made some that can't be found.
        self.seeds = set(seeds or ())
        self.found: dict[int, set[str]] = {}
        self.callers: dict[int, set[str]] = {}
        self.bodies: dict[int, Any] = {}
        body = body_of(program)
        places = set(tangents)
        given = [place in places for place in range(len(body.invars))]
        self.record(body, None if seeds is None else given, (), False)
        for key, calling in self.callers.items():
            if len(calling) > 1:
                self.forget(self.bodies[key])

    def of(self, equation: Any) -> str:
        """The phase, ``""`` where there is none; :data:`UNKNOWN` where it can't be told."""
        found = self.found.get(id(equation), {UNKNOWN})
        if UNKNOWN in found:
            return UNKNOWN
        return next(iter(found)) if len(found) == 1 else ""

    def forget(self, body: Any) -> None:
        """A program called in several phases carries none, nor does what it holds.

        Of an equation that is in one phase whoever calls, either may be said.
        """
        for equation in body.eqns:
            found = self.found[id(equation)]
            self.found[id(equation)] = {UNKNOWN if len(found) == 1 else ""}
            for value in params_of(equation).values():
                for program in programs_in(value):
                    self.forget(body_of(program))

    # -- taint

    def outputs(self, body: Any, given: Taint) -> Taint:
        """Which results depend on a tangent."""
        known = self.taints(body, given)
        return [not is_literal(v) and id(v) in known for v in body.outvars]

    def taints(self, body: Any, given: Taint) -> set[int]:
        """The values of a program that depend on a tangent."""
        known = {id(v) for v, dirty in zip(body.invars, given, strict=True) if dirty}
        known |= self.seeds
        while True:
            before = len(known)
            for equation in body.eqns:
                dirty = [not is_literal(v) and id(v) in known for v in equation.invars]
                known |= self.stored(equation, dirty)
                made = zip(equation.outvars, self.through(equation, dirty), strict=True)
                known.update(id(variable) for variable, is_dirty in made if is_dirty)
            if len(known) == before:
                return known

    def stored(self, equation: Any, dirty: Taint) -> set[int]:
        """The references among the operands into which an equation stores a tangent."""
        if equation.primitive.name in ("swap", "addupdate"):
            return {id(equation.invars[0])} if any(dirty) else set()
        found: set[int] = set()
        for program, operands in placed(equation, equation.invars):
            if operands is None or not any(_is_reference(v) for v in operands):
                continue
            place = {id(v): n for n, v in enumerate(equation.invars)}
            given = [dirty[place[id(v)]] for v in operands]
            body = body_of(program)
            inner = self.taints(body, given)
            pairs = zip(body.invars, operands, strict=True)
            found |= {id(v) for i, v in pairs if _is_reference(v) and id(i) in inner}
        return found

    def through(self, equation: Any, dirty: Taint) -> Taint:
        """Which results of an equation are tainted, each for itself where its program tells."""
        count, name = len(equation.outvars), equation.primitive.name
        whole = [any(dirty)] * count
        listed = placed(equation, dirty) if any(dirty) else []
        if not listed or any(given is None for _, given in listed):
            return whole
        if name == "scan":
            consts, carry = loop_sizes(equation)
            given = self.carried(equation, dirty)
            made = self.outputs(body_of(listed[0][0]), given)
            return [*given[consts : consts + carry], *made[carry:]]
        if name == "while":
            given = self.carried(equation, listed[1][1] or [])
            chosen = self.outputs(body_of(listed[0][0]), self.of_condition(equation, listed))
            return whole if any(chosen) else given[len(given) - count :]
        made = [self.outputs(body_of(program), given or []) for program, given in listed]
        if (name == "cond" and dirty[0]) or any(len(outs) != count for outs in made):
            return whole
        return [any(outs) for outs in zip(*made, strict=True)]

    def carried(self, equation: Any, given: Taint) -> Taint:
        """What the inputs of a loop's body receive, once all rounds are taken together."""
        params = params_of(equation)
        if equation.primitive.name == "scan":
            consts, carry = loop_sizes(equation)
            body = body_of(params["jaxpr"])
        else:
            consts, carry = params["body_nconsts"], len(equation.outvars)
            body = body_of(params["body_jaxpr"])
        while True:
            made = self.outputs(body, given)[:carry]
            carries = zip(given[consts : consts + carry], made, strict=True)
            after = [*given[:consts], *(a or b for a, b in carries), *given[consts + carry :]]
            if after == given:
                return given
            given = after

    def of_condition(self, equation: Any, listed: list[tuple[Any, Any]]) -> Taint:
        """What a ``while``'s condition receives: its constants, and the carries of the body."""
        given, count = listed[0][1], len(equation.outvars)
        carried = self.carried(equation, listed[1][1])
        return [*given[: len(given) - count], *carried[len(carried) - count :]]

    # -- the walk

    def record(self, body: Any, given: Taint | None, stack: tuple[Any, ...], saved: bool) -> None:
        """Note the phase of each equation in one context."""
        self.bodies[id(body)] = body
        known = set() if given is None else self.taints(body, given)
        for equation in body.eqns:
            own = (*stack, *_items(equation, saved))
            dirty = [not is_literal(v) and id(v) in known for v in equation.invars]
            phase = _phase(own, any(dirty))
            if given is None and phase in ("forward", "tangent"):
                phase = UNKNOWN
            self.found.setdefault(id(equation), set()).add(phase)
            self.inside(equation, dirty, own, phase, given is None)

    def inside(
        self, equation: Any, dirty: Taint, stack: tuple[Any, ...], phase: str, lost: bool
    ) -> None:
        name = equation.primitive.name
        saved = name in ("remat2", "checkpoint", "remat")
        listed = placed(equation, dirty)
        for place, (program, given) in enumerate(listed):
            inner = body_of(program)
            self.callers.setdefault(id(inner), set()).add(phase)
            if name == "scan" or (name == "while" and place == 1):
                given = self.carried(equation, given)
            elif name == "while":
                given = self.of_condition(equation, listed)
            self.record(inner, None if lost else given, stack, saved)


def _is_reference(value: Any) -> bool:
    return "Ref" in type(value.aval).__name__


def _items(equation: Any, saved: bool) -> tuple[tuple[str, str], ...]:
    """``("Transform", "jvp")``, ``("Scope", "layer")``, the outermost first."""
    stack = equation.source_info.name_stack.stack
    found = [(type(item).__name__, item.name) for item in stack]
    # The scope that a checkpoint adds itself can only be met in its program.
    return tuple(
        ("Recomputed", name) if saved and name == "rematted_computation" else (kind, name)
        for kind, name in found
    )


def _phase(stack: tuple[tuple[str, str], ...], is_dirty: bool) -> str:
    for kind, name in reversed(stack):
        if kind == "Recomputed":
            return "recomputed"
        if (kind, name) == ("Transform", "transpose"):
            return "transpose"
    if ("Transform", "jvp") in stack:
        return "tangent" if is_dirty else "forward"
    return ""
