"""How marks on operands reach the programs inside an equation, and its results.

Reads attributes only and imports no JAX.  A mark is a set of bits; a value has
those of all that it depends on.  Which operand is which input of a program is
known by what the primitive means, never by position alone; where that isn't
known, what depends on a marked operand is marked with :data:`MAYBE`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from .jaxprs import is_reference, open_jaxpr, parameters_of, primitive_name, short_type

SURE: Final = 1
MAYBE: Final = 2
#: The first of the bits that callers may give a meaning to.
FREE: Final = 2

Marks: TypeAlias = tuple[int, ...]


class Ask(NamedTuple):
    """What a program makes of marked inputs; ``slot`` tells the programs of an equation apart."""

    slot: tuple[str, int]
    program: Any
    inputs: Marks


class Answer(NamedTuple):
    """Marks of the outputs, and of the inputs at the end: references are written to."""

    outputs: Marks
    inputs: Marks


#: Asks about programs; its value has the marks of the results, and those of the operands.
Flow: TypeAlias = Generator[Ask, Answer, Answer]
_Programs: TypeAlias = dict[str, list[Any]]


def flow(equation: Any, operands: Marks, programs: dict[str, list[Any]]) -> Flow:
    """From the marks of an equation's operands through its programs to its results."""
    known = _KNOWN.get(primitive_name(equation))
    if known is None:
        known = _call if _is_like_a_call(equation, programs) else _unknown
    return known(equation, operands, programs)


def union(marks: Sequence[int]) -> int:
    """All marks of several values."""
    found = 0
    for mark in marks:
        found |= mark
    return found


def unsure_of(mark: int) -> int:
    """A mark of which it isn't known whether it gets there."""
    return (mark & ~SURE) | MAYBE if mark else 0


def _or(one: Sequence[int], other: Sequence[int]) -> Marks:
    return tuple(a | b for a, b in zip(one, other, strict=True))


def _written(equation: Any, operands: Marks, mark: int) -> Marks:
    """Operands where whatever is done may write ``mark`` to references."""
    return tuple(
        operand | mark if is_reference(var) else operand
        for operand, var in zip(operands, equation.invars, strict=True)
    )


def plain(equation: Any, operands: Marks) -> Answer:
    """What an equation without programs makes: every result depends on every operand."""
    mark = union(operands)
    return Answer((mark,) * len(equation.outvars), _written(equation, operands, mark))


def _unknown(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """No claim where a marked operand may go anywhere."""
    mark = union(operands)
    unsure = unsure_of(mark)
    for name, found in programs.items():
        for place, program in enumerate(found):
            inputs = (unsure,) * len(open_jaxpr(program).invars)
            yield Ask((name, place), program, inputs)
    single = len(equation.outvars) == 1
    outputs = (mark if single else unsure,) * len(equation.outvars)
    return Answer(outputs, _written(equation, operands, unsure))


def _is_like_a_call(equation: Any, programs: _Programs) -> bool:
    """Whether each program takes the operands as they are and gives the results."""

    def types(variables: Sequence[Any]) -> list[str]:
        return [short_type(var.aval) for var in variables]

    wanted = types(equation.invars), types(equation.outvars)
    bodies = [open_jaxpr(program) for found in programs.values() for program in found]
    return all((types(body.invars), types(body.outvars)) == wanted for body in bodies)


def _call(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """Operands are the inputs, outputs the results."""
    results: Marks = (0,) * len(equation.outvars)
    for name, found in programs.items():
        for place, program in enumerate(found):
            body = open_jaxpr(program)
            free = len(body.invars) == len(operands) and len(body.outvars) == len(results)
            if not free:
                return (yield from _unknown(equation, operands, programs))
            answer = yield Ask((name, place), program, operands)
            results = _or(results, answer.outputs)
            operands = _or(operands, answer.inputs)
    return Answer(results, operands)


def _cond(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """The first operand chooses a branch, so every result depends on it."""
    results: Marks = (operands[0],) * len(equation.outvars)
    for place, program in enumerate(programs["branches"]):
        answer = yield Ask(("branches", place), program, operands[1:])
        results = _or(results, answer.outputs)
        operands = (operands[0], *_or(operands[1:], answer.inputs))
    return Answer(results, operands)


def _scan(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """Carries go round until nothing changes."""
    counts = _scan_counts(parameters_of(equation), len(operands))
    if counts is None:
        return (yield from _unknown(equation, operands, programs))
    first, carries = counts
    while True:
        answer = yield Ask(("jaxpr", 0), programs["jaxpr"][0], operands)
        again = list(_or(operands, answer.inputs))
        for place in range(carries):
            again[first + place] |= answer.outputs[place]
        if tuple(again) == operands:
            break
        operands = tuple(again)
    carried = _or(operands[first : first + carries], answer.outputs[:carries])
    return Answer((*carried, *answer.outputs[carries:]), operands)


def _scan_counts(params: Any, operands: int) -> tuple[int, int] | None:
    """How many constants and carries a ``scan`` has."""
    if "num_consts" in params and "num_carry" in params:
        return int(params["num_consts"]), int(params["num_carry"])
    # Newer JAX has a tree of the operands instead, in three parts.
    try:
        constants, carries, stacked = (len(list(part.vals)) for part in params["ft_in"].unpack())
    except (KeyError, AttributeError, TypeError, ValueError):
        return None
    return (constants, carries) if constants + carries + stacked == operands else None


def _while(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """Constants of the condition, those of the body, carries; both programs end with these."""
    of_cond = int(parameters_of(equation)["cond_nconsts"])
    of_body = int(parameters_of(equation)["body_nconsts"])
    consts, own = operands[:of_cond], operands[of_cond : of_cond + of_body]
    carries = operands[of_cond + of_body :]
    body, condition = programs["body_jaxpr"][0], programs["cond_jaxpr"][0]
    while True:
        answer = yield Ask(("body_jaxpr", 0), body, (*own, *carries))
        asked = yield Ask(("cond_jaxpr", 0), condition, (*consts, *carries))
        again_own = _or(own, answer.inputs[:of_body])
        again = _or(_or(carries, answer.inputs[of_body:]), answer.outputs)
        if (again, again_own) == (carries, own):
            break
        carries, own = again, again_own
    # How often the body runs is what the condition depends on.
    decided = union(asked.outputs)
    return Answer(tuple(carry | decided for carry in carries), (*consts, *own, *carries))


def _reducer(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """A program that combines elements: both of its sides may be made of any of them."""
    mark = union(operands)
    for name, found in programs.items():
        for place, program in enumerate(found):
            yield Ask((name, place), program, (mark,) * len(open_jaxpr(program).invars))
    return Answer((mark,) * len(equation.outvars), operands)


def _linear_solve(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """Constants of each program in turn, then the right-hand side."""
    try:
        counts = [int(count) for count in parameters_of(equation)["const_lengths"]]
        found = programs["jaxprs"]
        names = ["matvec", "vecmat", "solve", "transpose_solve"]
        held = [getattr(parameters_of(equation)["jaxprs"], name) for name in names]
    except (KeyError, TypeError, ValueError, AttributeError):
        return (yield from _unknown(equation, operands, programs))
    if len(counts) != len(held):
        return (yield from _unknown(equation, operands, programs))
    side = operands[sum(counts) :]
    results: Marks = (0,) * len(equation.outvars)
    starts = [sum(counts[:place]) for place in range(len(counts))]
    for name in ("solve", "matvec", "vecmat", "transpose_solve"):
        place = names.index(name)
        program = held[place]
        if program is None:
            continue
        consts = operands[starts[place] : starts[place] + counts[place]]
        inputs = (*consts, *side)
        if len(open_jaxpr(program).invars) != len(inputs):
            return (yield from _unknown(equation, operands, programs))
        answer = yield Ask(("jaxprs", [p is program for p in found].index(True)), program, inputs)
        if name == "solve":
            results = answer.outputs[: len(results)]
            # The other programs are applied to what is being solved for.
            if len(side) == len(results):
                side = _or(side, results)
    return Answer(results, operands)


def _pallas(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """The kernel's inputs are references: to operands, to results, to scratch memory."""
    kernel = programs["jaxpr"][0]
    size, results = len(open_jaxpr(kernel).invars), len(equation.outvars)
    spare = size - len(operands)
    if spare < results:
        return (yield from _unknown(equation, operands, programs))
    inputs = (*operands, *(0,) * spare)
    while True:  # one step of the grid may read what another one wrote
        answer = yield Ask(("jaxpr", 0), kernel, inputs)
        if answer.inputs == inputs:
            break
        inputs = answer.inputs
    made = inputs[len(operands) : len(operands) + results]
    return Answer(made, operands)


def _run_state(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """What the references hold in the end are the results."""
    body = programs["jaxpr"][0]
    count = len(operands)
    if count != len(equation.outvars) or count != len(open_jaxpr(body).invars):
        return (yield from _unknown(equation, operands, programs))
    answer = yield Ask(("jaxpr", 0), body, operands)
    return Answer(answer.inputs, operands)


_Kind: TypeAlias = Callable[[Any, Marks, _Programs], Flow]
_CALLS = (
    "jit pjit closed_call core_closed_call core_call call remat remat2 checkpoint custom_jvp_call"
    " custom_vjp_call custom_vjp_call_jaxpr shard_map xla_pmap composite custom_dce_call"
    " custom_vmap_call linear_call"
).split()
_REDUCERS = (
    "reduce reduce_window scatter scatter-add scatter_add scatter-mul scatter_mul scatter-min"
    " scatter_min scatter-max scatter_max scatter-sub scatter_sub scatter-apply"
).split()
_KNOWN: dict[str, _Kind] = {
    **dict.fromkeys(_CALLS, _call),
    **dict.fromkeys(_REDUCERS, _reducer),
    "cond": _cond,
    "scan": _scan,
    "while": _while,
    "custom_linear_solve": _linear_solve,
    "pallas_call": _pallas,
    "run_state": _run_state,
}
