"""Reading jaxpr objects, as the oracles of sentences do it; nothing of the product."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from tests.oracle.phases import Phases, body_of, is_literal, loop_sizes, programs_in

#: The names that JAX has printed for one operation, by the name of a sentence.
NAMES = {
    "jit": {"jit", "pjit"},
    "remat2": {"remat2", "remat", "checkpoint"},
    "psum": {"psum", "psum2", "psum_invariant"},
    "all_gather": {"all_gather", "all_gather_invariant"},
    "pvary": {"pvary", "pbroadcast"},
    "custom_vjp_call": {"custom_vjp_call", "custom_vjp_call_jaxpr"},
}
COLLECTIVES = {
    *NAMES["psum"],
    *NAMES["all_gather"],
    *"pmax pmin ppermute all_to_all reduce_scatter ragged_all_to_all".split(),
}
CONTROL_FLOW = {"scan", "while", "cond"}


def is_named(equation: Any, name: str) -> bool:
    return equation.primitive.name in NAMES.get(name, {name})


class Program:
    """A jaxpr, with the questions that sentences ask of it."""

    def __init__(self, program: Any, tangents: Iterable[int] = ()) -> None:
        self.closed = program
        self.body = body_of(program)
        self.phases = Phases(program, tangents)

    @property
    def eqns(self) -> list[Any]:
        return list(self.body.eqns)

    @property
    def ops(self) -> list[str]:
        return [equation.primitive.name for equation in self.eqns]

    @property
    def ins(self) -> list[Any]:
        return list(self.body.invars)

    @property
    def outs(self) -> list[Any]:
        return list(self.body.outvars)

    @property
    def consts(self) -> list[Any]:
        return list(self.body.constvars)

    @property
    def variables(self) -> list[Any]:
        """All that the program binds."""
        results = [v for equation in self.eqns for v in equation.outvars]
        return [*self.consts, *self.ins, *results]

    @cached_property
    def everything(self) -> list[Any]:
        """The equations at any depth, those of a shared program once."""
        return list(_walk(self.body, set()))

    def named(self, name: str, phase: str = "") -> list[Any]:
        """The program's own equations of a primitive."""
        found = [e for e in self.eqns if is_named(e, name)]
        return [e for e in found if not phase or self.phases.of(e) == phase]

    def inside(self, name: str) -> list[Any]:
        """The equations of a primitive at any depth."""
        return [e for e in self.everything if is_named(e, name)]

    def only(self, name: str, phase: str = "") -> Any:
        """The one equation of a primitive."""
        (found,) = self.named(name, phase)
        return found

    def of_phase(self, phase: str) -> list[Any]:
        return [e for e in self.eqns if self.phases.of(e) == phase]

    def readers(self, variable: Any) -> list[Any]:
        """The equations that read a value, each once."""
        return [e for e in self.eqns if any(v is variable for v in e.invars)]

    def times_read(self, variable: Any) -> int:
        """The number of operands that are a value."""
        return sum(v is variable for e in self.eqns for v in e.invars)

    def depends(self, reader: Any, source: Any) -> bool:
        """Whether a value, or what an equation computes, is computed from another value."""
        reached = {id(source)}
        for equation in self.eqns:
            if any(id(v) in reached for v in equation.invars):
                reached.update(id(v) for v in equation.outvars)
                if equation is reader:
                    return True
        return id(reader) in reached

    @cached_property
    def residuals(self) -> list[Any]:
        """What the backward or recomputed part reads and did not make, each value once."""
        back = [e for e in self.eqns if self.phases.of(e) in ("transpose", "recomputed")]
        made = {id(v) for equation in back for v in equation.outvars}
        read = [v for e in back for v in e.invars if not is_literal(v) and id(v) not in made]
        return list({id(v): v for v in read}.values())


def _walk(body: Any, seen: set[int]) -> Iterable[Any]:
    if id(body) in seen:
        return
    seen.add(id(body))
    for equation in body.eqns:
        yield equation
        for program in programs_of(equation):
            yield from _walk(program, seen)


def programs_of(equation: Any) -> list[Any]:
    """The programs that the parameters of an equation hold."""
    return [body_of(p) for value in equation.params.values() for p in programs_in(value)]


def inner(equation: Any) -> Program:
    """The one program that an equation holds."""
    (program,) = programs_of(equation)
    return Program(program)


# -- operands by what they are


def scan_groups(equation: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """The constants, the carry and the stacked operands of a ``scan``."""
    consts, carry = loop_sizes(equation)
    given = list(equation.invars)
    return given[:consts], given[consts : consts + carry], given[consts + carry :]


def while_groups(equation: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """The constants of the condition, those of the body, and the carry of a ``while``."""
    first = equation.params["cond_nconsts"]
    second = first + equation.params["body_nconsts"]
    given = list(equation.invars)
    return given[:first], given[first:second], given[second:]


# -- values


def shape(value: Any) -> tuple[int, ...]:
    return tuple(value.aval.shape)


def dtype(value: Any) -> str:
    """``"bfloat16"``."""
    return str(value.aval.dtype)


def size(value: Any) -> int:
    return math.prod(value.aval.shape)


def nbytes(value: Any) -> int:
    return size(value) * value.aval.dtype.itemsize


def number(value: Any) -> float:
    """The number of a literal, as its dtype holds it."""
    assert is_literal(value)
    return float(value.val)


def varying(value: Any) -> set[str]:
    """The axes of the mesh along which a value may differ from device to device."""
    before = getattr(value.aval, "vma", None)  # until JAX 0.8
    return set(value.aval.manual_axis_type.varying if before is None else before)


def contracted(equation: Any) -> tuple[tuple[int, int], ...]:
    """The pairs of axes that a ``dot_general`` sums over."""
    (first, second), _ = equation.params["dimension_numbers"]
    return tuple(zip(map(int, first), map(int, second), strict=True))


def multiplications(equation: Any) -> int:
    """The multiplications of a ``dot_general``: one for each entry and contracted index."""
    sizes = [shape(equation.invars[0])[axis] for axis, _ in contracted(equation)]
    return size(equation.outvars[0]) * math.prod(sizes)


# -- programs that are the same


def outline(equations: Sequence[Any], shapes: bool = True) -> list[Any]:
    """What equations compute from what, without names; comparable with ``==``.

    An operand is the position of what binds it: equations by theirs, what is bound
    elsewhere by where it is first read.
    """
    places: dict[int, Any] = {}
    for position, equation in enumerate(equations):
        places.update((id(v), (position, n)) for n, v in enumerate(equation.outvars))
    elsewhere: dict[int, int] = {}

    def operand(value: Any) -> Any:
        if is_literal(value):
            return ("literal", str(value.val))
        if id(value) in places:
            return places[id(value)]
        return ("from", elsewhere.setdefault(id(value), len(elsewhere)))

    def params(equation: Any) -> Any:
        named = {k: v for k, v in equation.params.items() if not programs_in(v)}
        inside = [outline(p.eqns, shapes) for p in programs_of(equation)]
        # A parameter may be a function of its own in each trace.
        return (sorted((k, str(v)) for k, v in named.items()) if shapes else [], inside)

    def types(equation: Any) -> Any:
        return [str(v.aval) if shapes else dtype(v) for v in equation.outvars]

    return [
        (e.primitive.name, [operand(v) for v in e.invars], types(e), params(e)) for e in equations
    ]
