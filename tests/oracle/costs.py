"""Operands by what they are, contractions and FLOPs, from the parameters of jaxpr objects.

JAX says where the parts of a row of operands end: in numbers, or (0.12) in trees that have
a leaf for each.  Operations are counted one by one where a formula could be wrong.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from .phases import body_of, is_program, params_of, programs_in

#: What the language calls the parts.
OPERANDS = "consts carry xs cond_consts body_consts branch operands".split()
RESULTS = "final_carry ys".split()
WORDS = [*OPERANDS, *RESULTS]
CONTRACTING = ("dot_general", "ragged_dot_general")

_CALLS = (
    "jit pjit closed_call core_call eval_jaxpr checkpoint remat remat2 shard_map custom_vmap_call"
).split()
_ELEMENTWISE = frozenset(
    """abs acos acosh add add_any and convert_element_type reduce_precision select_n
    asin asinh atan atan2 atanh cbrt ceil clamp cos cosh div eq
    erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le log log1p log2 logistic lt
    max min mul ne neg nextafter not or pow psum psum_invariant pmax pmin reduce_scatter rem round
    rsqrt shift_left shift_right_logical sign sin sinh sqrt square sub tan tanh xor real imag
    complex conj lgamma digamma population_count clz""".split()
)
_MOVES = frozenset(
    """all_gather all_to_all axis_index bitcast_convert_type broadcast_in_dim concatenate copy
    dynamic_slice dynamic_update_slice gather get iota name pad ppermute pvary
    reshape rev scatter sharding_constraint slice split squeeze
    stop_gradient swap transpose""".split()
)
_REDUCTIONS = frozenset(
    "reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or argmax argmin".split()
)


class NotCounted(Exception):
    """The oracle has no count of its own."""


def parts(raw: Any, name: str) -> dict[str, list[Any]]:
    """The operands and results of an equation, by what they are."""
    params, operands, results = params_of(raw), list(raw.invars), list(raw.outvars)
    if name == "scan":
        if "num_consts" in params:
            consts, carry = params["num_consts"], params["num_carry"]
        else:
            consts, carry, _ = (len(part) for part in params["ft_in"].unpack())
        return {
            "consts": operands[:consts],
            "carry": operands[consts : consts + carry],
            "xs": operands[consts + carry :],
            "final_carry": results[:carry],
            "ys": results[carry:],
        }
    if name == "while":
        first, second = params["cond_nconsts"], params["body_nconsts"]
        return {
            "cond_consts": operands[:first],
            "body_consts": operands[first : first + second],
            "carry": operands[first + second :],
            "final_carry": results,
        }
    if name == "cond":
        return {"branch": operands[:1], "operands": operands[1:]}
    if name in ("custom_jvp_call", "custom_vjp_call", "custom_linear_solve"):
        count = params["num_consts"] if "num_consts" in params else sum(params["const_lengths"])
        return {"consts": operands[:count], "operands": operands[count:]}
    return {"operands": operands} if name in _CALLS else {}


def contracts(raw: Any, name: str) -> tuple[tuple[int, int], ...] | None:
    """The pairs of axes that a contraction sums over; ``None`` of anything else."""
    if name == "ragged_dot_general":
        numbers = params_of(raw)["ragged_dot_dimension_numbers"].dot_dimension_numbers
    elif name == "dot_general":
        numbers = params_of(raw)["dimension_numbers"]
    else:
        return None
    (left, right), _ = numbers
    return tuple(zip(left, right, strict=True))


# -- operations


def size(variable: Any) -> int:
    """The elements of a value."""
    if any(not isinstance(each, int) for each in variable.aval.shape):
        raise NotCounted
    return math.prod(variable.aval.shape)


def flops(raw: Any, name: str) -> int | None:
    """The operations of an equation; ``None`` where there is no number."""
    params = params_of(raw)
    if name == "while":
        return None
    if name in _ELEMENTWISE:
        return sum(map(size, raw.outvars))
    if name in _MOVES:
        return 0
    if name in _REDUCTIONS:
        return size(raw.invars[0]) - size(raw.outvars[0])
    if name == "dot_general":
        return _dot(raw)
    if name == "conv_general_dilated":
        return _convolution(raw)
    if name == "scatter-add":
        return size(raw.invars[2])
    if name in ("cumsum", "cumprod", "cummax", "cummin"):
        shape = raw.invars[0].aval.shape
        rows = math.prod(n for axis, n in enumerate(shape) if axis != params["axis"])
        return rows * (shape[params["axis"]] - 1)
    held = [value for value in params.values() if programs_in(value)]
    if name == "scan":
        inner = total(params["jaxpr"])
        return None if inner is None else params["length"] * inner
    if name == "cond":
        branches = [total(branch) for branch in params["branches"]]
        return None if None in branches else max(branches)  # type: ignore[type-var]  # no None
    is_call = name in _CALLS or name in ("custom_jvp_call", "custom_vjp_call")
    if is_call and len(held) == 1 and is_program(held[0]):
        return total(held[0])
    raise NotCounted


def total(program: Any) -> int | None:
    """The operations of a program; ``None`` where one of its equations has no number."""
    counts = [flops(e, str(e.primitive.name)) for e in body_of(program).eqns]
    return None if None in counts else sum(counts)  # type: ignore[arg-type]  # no None


def _dot(raw: Any) -> int:
    """Two for each element of the result and each position that is summed over."""
    shape = raw.invars[0].aval.shape
    summed = [shape[axis] for axis, _ in contracts(raw, "dot_general") or ()]
    return 2 * size(raw.outvars[0]) * math.prod(summed)


def _convolution(raw: Any) -> int:
    """Counted one window and one tap after the other, axis by axis."""
    params = params_of(raw)
    numbers = params["dimension_numbers"]
    given, kernel = (operand.aval.shape for operand in raw.invars)
    made = raw.outvars[0].aval.shape
    pairs = 1
    for axis, (image, window, result) in enumerate(
        zip(numbers.lhs_spec[2:], numbers.rhs_spec[2:], numbers.out_spec[2:], strict=True)
    ):
        before, _ = params["padding"][axis]
        stride, holes = params["window_strides"][axis], params["lhs_dilation"][axis]
        steps = params["rhs_dilation"][axis]
        pairs *= sum(
            # The position of the tap on the operand without padding: an element, not a hole.
            0 <= position <= (given[image] - 1) * holes and position % holes == 0
            for start, tap in itertools.product(range(made[result]), range(kernel[window]))
            for position in [start * stride + tap * steps - before]
        )
    channels, features = kernel[numbers.rhs_spec[1]], made[numbers.out_spec[1]]
    batch = made[numbers.out_spec[0]]
    if params["batch_group_count"] > 1:  # each feature sees its own part of the batch
        batch = given[numbers.lhs_spec[0]] // params["batch_group_count"]
    return 2 * batch * features * channels * pairs
