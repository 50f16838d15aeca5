"""How values enter an equation's bodies, and how they come out again.

Carries, constants and stacked values are distinguished by what is printed: the
counts among the parameters where JAX prints them, else by types, as a loop
takes the leading axis from what it walks over and from nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ..model import Equation, Operand, Parameter, Program

#: The value of such an equation is what its body computes from its operands.
CALLS: Final = frozenset(
    "jit pjit xla_call core_call closed_call core_closed_call named_call remat remat2 checkpoint"
    " custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr custom_lin shard_map".split()
)

#: Their one operand, laid out in another way: what a transform puts in between.
LAYOUT: Final = frozenset(
    "broadcast_in_dim pvary pcast convert_element_type reshape squeeze expand_dims"
    " transpose copy copy_p device_put sharding_constraint reshard mesh_cast stop_gradient"
    " reduce_precision".split()
)

#: They put operands together or take them apart, as a batched index or a callback does.
ARRANGES: Final = LAYOUT | frozenset("concatenate select_n pad slice".split())

#: What a batched index makes of them: another primitive that computes the same.
BATCHED: Final = {"gather": "dynamic_slice", "scatter": "dynamic_update_slice"}

LOOPS: Final = frozenset({"scan", "while"})

#: Equations on references, which JAX prints with arrows.
STATE: Final = frozenset({"get", "swap", "addupdate"})


class Body(NamedTuple):
    """One program that an equation holds, by the parameter that holds it."""

    parameter: str
    program: Program


class Groups(NamedTuple):
    """How many operands of a loop are constants and carries; the others are walked over."""

    constants: int
    carries: int


def is_call(primitive: str, parameter: str) -> bool:
    """Whether an equation computes what the program in one of its parameters does."""
    return primitive in CALLS or parameter == "call_jaxpr"


def bodies(equation: Equation, shared: dict[str, Program]) -> list[Body]:
    """The programs that an equation holds, printed in it or shared, in printed order."""
    held = []
    for parameter in equation.parameters:
        for member in parameter.members:
            program = shared.get(member) if isinstance(member, str) else member
            if program is not None:
                held.append(Body(parameter.name, program))
    return held


def count_of(equation: Equation, text: str, name: str) -> int | None:
    """The number that a parameter is printed as."""
    parameter = _named(equation, name)
    printed = text[parameter.start : parameter.end] if parameter else ""
    return int(printed) if printed.isdecimal() and len(printed) < 10 else None


def _named(equation: Equation, name: str) -> Parameter | None:
    return next((p for p in equation.parameters if p.name == name), None)


def scanned(equation: Equation, body: Program, text: str) -> Groups:
    """The operands of a ``scan``: constants, carries, then what it walks over."""
    constants = count_of(equation, text, "num_consts")
    carries = count_of(equation, text, "num_carry")
    if constants is None or carries is None:
        outs = zip(equation.outputs, body.outputs, strict=False)
        carries = sum(bare(out.type) == bare(type_of(inner)) for out, inner in outs)
        entering = zip(equation.inputs, body.inputs, strict=False)
        walked = sum(bare(type_of(o)) != bare(v.type) for o, v in entering if o.variable)
        constants = len(equation.inputs) - walked - carries
    constants = max(0, min(constants, len(equation.inputs)))
    return Groups(constants, max(0, min(carries, len(equation.inputs) - constants)))


def looped(equation: Equation, text: str) -> tuple[int, int]:
    """How many constants the condition and the body of a ``while`` have."""
    condition = count_of(equation, text, "cond_nconsts") or 0
    return condition, count_of(equation, text, "body_nconsts") or 0


def type_of(operand: Operand) -> str:
    """The printed type of an operand."""
    return operand.variable.type if operand.variable is not None else operand.type


def bare(printed: str) -> str:
    """A printed type without the axes that it varies over (``f32[8]{V:data}``)."""
    return printed.partition("]{")[0] + "]" if "]{" in printed else printed


def is_reference(printed: str) -> bool:
    """Whether a printed type is that of a reference, whose content changes."""
    return printed.startswith(("Ref", "MemRef", "AbstractRef")) or "Ref{" in printed


def repeated(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Each number with how often it came before: carries that start as one value differ."""
    seen: dict[int, int] = {}
    numbered = []
    for number in numbers:
        numbered.append((number, seen.get(number, 0)))
        seen[number] = seen.get(number, 0) + 1
    return numbered
