"""How marks on operands reach the programs inside an equation, and its results.

Marks on operands flow through the programs inside an equation to its results.  Reads
attributes only and imports no JAX.  A mark is a set of bits; a value has
the bits of everything that it depends on.  The primitive's meaning, never position alone,
decides which operand is which input of a program.  Where that is unknown, whatever
depends on a marked operand is marked with :data:`MAYBE`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from .jaxprs import is_reference, open_jaxpr, parameters_of, primitive_name, short_type

SURE: Final = 1
MAYBE: Final = 2
#: Of a value itself, whatever it depends on: the backward part made it, or it is a cotangent or
#: a literal.  What an operand is, the input of a program inside is, too.
MADE: Final = 4
#: It is unknown whether the value is :data:`MADE`.
DOUBT: Final = 8
OWN: Final = MADE | DOUBT
#: The first bit that callers may use.
FREE: Final = 4

Marks: TypeAlias = tuple[int, ...]


class Ask(NamedTuple):
    """What a program makes of marked inputs; ``slot`` tells the programs of an equation apart."""

    slot: tuple[str, int]
    program: Any
    inputs: Marks


class Answer(NamedTuple):
    """Marks of the outputs, and of the inputs at the end: references are written to.

    ``is_guess``: which operands reach which results is unknown.
    """

    outputs: Marks
    inputs: Marks
    is_guess: bool = False


#: Asks about programs; its value has the marks of the results, and those of the operands.
Flow: TypeAlias = Generator[Ask, Answer, Answer]
_Programs: TypeAlias = dict[str, list[Any]]


def flow(equation: Any, operands: Marks, programs: dict[str, list[Any]]) -> Flow:
    """From the marks of an equation's operands through its programs to its results."""
    propagate = _KNOWN.get(primitive_name(equation))
    if propagate is None:
        propagate = _call if _is_like_a_call(equation, programs) else _unknown
    return propagate(equation, operands, programs)


def union(marks: Sequence[int]) -> int:
    """All marks of several values."""
    joined = 0
    for mark in marks:
        joined |= mark
    return joined


def unsure_of(mark: int) -> int:
    """Marks that may or may not arrive."""
    return DOUBT | ((mark & ~(SURE | OWN)) | MAYBE if mark & ~OWN else 0)


def _or(first: Sequence[int], second: Sequence[int]) -> Marks:
    return tuple(a | b for a, b in zip(first, second, strict=True))


def _written(equation: Any, operands: Marks, mark: int) -> Marks:
    """The operands after an unknown program that may write ``mark`` to references."""
    if not mark or not any(map(is_reference, equation.invars)):
        return operands
    return tuple(
        operand | mark if is_reference(var) else operand
        for operand, var in zip(operands, equation.invars, strict=True)
    )


def plain(equation: Any, operands: Marks) -> Answer:
    """Marks of an equation without programs: results depend on all operands, or each on its own."""
    count, name, mark = len(equation.outvars), primitive_name(equation), union(operands)
    if name == "get":
        return Answer((mark,) * count, operands)
    if name == "swap":  # the reference, what is stored, the indices: the result was there before
        outputs = (operands[0] | union(operands[2:]),) * count
        return Answer(outputs, _written(equation, operands, mark))
    if name in _EACH and count == len(operands):
        return Answer(operands, operands)
    if name == "sort" and count == len(operands):
        keys = union(operands[: int(parameters_of(equation).get("num_keys", 1))])
        return Answer(tuple(operand | keys for operand in operands), operands)
    return Answer((mark,) * count, _written(equation, operands, mark))


def _unknown(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """Claim nothing, since a marked operand may go anywhere."""
    mark = union(operands)
    unsure = unsure_of(mark)
    for name, held in programs.items():
        for index, program in enumerate(held):
            inputs = (unsure,) * len(open_jaxpr(program).invars)
            yield Ask((name, index), program, inputs)
    single = len(equation.outvars) == 1
    outputs = (mark if single else unsure,) * len(equation.outvars)
    return Answer(outputs, _written(equation, operands, unsure), is_guess=True)


def _is_like_a_call(equation: Any, programs: _Programs) -> bool:
    """Whether each program takes the operands as they are and returns the results."""

    def types(variables: Sequence[Any]) -> list[str]:
        return [short_type(var.aval) for var in variables]

    wanted = types(equation.invars), types(equation.outvars)
    bodies = [open_jaxpr(program) for held in programs.values() for program in held]
    return all((types(body.invars), types(body.outvars)) == wanted for body in bodies)


def _call(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """The operands are the inputs, and the outputs are the results."""
    results: Marks = (0,) * len(equation.outvars)
    for name, held in programs.items():
        for index, program in enumerate(held):
            body = open_jaxpr(program)
            free = len(body.invars) == len(operands) and len(body.outvars) == len(results)
            if not free:
                return (yield from _unknown(equation, operands, programs))
            answer = yield Ask((name, index), program, operands)
            results = _or(results, answer.outputs)
            operands = _or(operands, answer.inputs)
    return Answer(results, operands)


def _cond(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """The first operand chooses a branch, so what branches compute depends on it."""
    bodies = [open_jaxpr(program) for program in programs["branches"]]
    results: Marks = tuple(
        0 if _passes_on(bodies, place) else operands[0] for place in range(len(equation.outvars))
    )
    after = operands[1:]
    for index, program in enumerate(programs["branches"]):
        answer = yield Ask(("branches", index), program, operands[1:])
        results = _or(results, answer.outputs)
        after = _or(after, _decided(bodies[index], answer.inputs, operands[0]))
    return Answer(results, (operands[0], *after))


def _decided(body: Any, inputs: Marks, mark: int) -> Marks:
    """Marks of a program's inputs at its end, where ``mark`` decides whether it runs.

    A reference that it may write to depends on that too, even if it writes a constant.
    """
    taken = {id(v) for e in body.eqns if primitive_name(e) != "get" for v in e.invars}
    return tuple(
        own | (mark & ~OWN) if is_reference(var) and id(var) in taken else own
        for var, own in zip(body.invars, inputs, strict=True)
    )


def _passes_on(bodies: Sequence[Any], place: int) -> bool:
    """Whether all of these programs return the same of their inputs at a place."""
    inputs = [
        next((n for n, var in enumerate(body.invars) if var is body.outvars[place]), -1)
        for body in bodies
    ]
    return inputs[0] >= 0 and len(set(inputs)) == 1


def _scan(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """Pass the carries through the body until no mark changes."""
    counts = _scan_counts(parameters_of(equation), len(operands))
    if counts is None:
        return (yield from _unknown(equation, operands, programs))
    first, carries = counts
    while True:
        answer = yield Ask(("jaxpr", 0), programs["jaxpr"][0], operands)
        again = list(_or(operands, answer.inputs))
        for index in range(carries):
            again[first + index] |= answer.outputs[index]
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
    # The condition decides how often the body runs.
    decided, inner = union(asked.outputs), open_jaxpr(body)
    stays = [out is var for out, var in zip(inner.outvars, inner.invars[of_body:], strict=True)]
    results = tuple(c if same else c | decided for c, same in zip(carries, stays, strict=True))
    return Answer(results, (*consts, *_decided(inner, (*own, *carries), decided)))


def _reducer(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """A program that combines elements: either of its inputs may derive from any of them."""
    mark = union(operands)
    for name, held in programs.items():
        for index, program in enumerate(held):
            yield Ask((name, index), program, (mark,) * len(open_jaxpr(program).invars))
    return Answer((mark,) * len(equation.outvars), operands)


def _linear_solve(equation: Any, operands: Marks, programs: _Programs) -> Flow:
    """Constants of each program in turn, then the right-hand side."""
    try:
        counts = [int(count) for count in parameters_of(equation)["const_lengths"]]
        inner = programs["jaxprs"]
        names = ["matvec", "vecmat", "solve", "transpose_solve"]
        held = [getattr(parameters_of(equation)["jaxprs"], name) for name in names]
    except (KeyError, TypeError, ValueError, AttributeError):
        return (yield from _unknown(equation, operands, programs))
    if len(counts) != len(held):
        return (yield from _unknown(equation, operands, programs))
    side = operands[sum(counts) :]
    results: Marks = (0,) * len(equation.outvars)
    starts = [sum(counts[:index]) for index in range(len(counts))]
    for name in ("solve", "matvec", "vecmat", "transpose_solve"):
        index = names.index(name)
        program = held[index]
        if program is None:
            continue
        consts = operands[starts[index] : starts[index] + counts[index]]
        inputs = (*consts, *side)
        if len(open_jaxpr(program).invars) != len(inputs):
            return (yield from _unknown(equation, operands, programs))
        answer = yield Ask(("jaxprs", [p is program for p in inner].index(True)), program, inputs)
        if name == "solve":
            results = answer.outputs[: len(results)]
            # The other programs are applied to the unknown of the system.
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
    """The results are the final contents of the references."""
    body = programs["jaxpr"][0]
    count = len(operands)
    if count != len(equation.outvars) or count != len(open_jaxpr(body).invars):
        return (yield from _unknown(equation, operands, programs))
    answer = yield Ask(("jaxpr", 0), body, operands)
    return Answer(answer.inputs, operands)


#: Several operands at once, each for itself.
_EACH: Final = frozenset(
    "psum psum2 psum_invariant pmax pmin pvary pcast pbroadcast optimization_barrier ppermute"
    " all_gather all_gather_invariant all_to_all".split()
)

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
