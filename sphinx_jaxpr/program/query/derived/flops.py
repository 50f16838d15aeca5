"""Floating-point operations of equations and programs, and the axes that contractions sum over.

A primitive has the rule of its kind in our definitions, or one of its own.  Where there is no
rule, or a size isn't a number, there is no answer rather than a guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ...glossary.glossary import builtin
from ...model import Equation, Operand, Program, Variable
from ..base import Asking
from ..blocks import QueryBlock, dtype_of, shape_of
from ..syntax import PathError
from . import formulas
from .operands import Held

# --- which axes a contraction sums over

_CONTRACTION: Final = "contraction"


def contracts(held: Held) -> tuple[tuple[int, int], ...]:
    """The pairs of axes, of the left operand and of the right, that a contraction sums over."""
    entry = builtin().entry(held.equation.primitive)
    numbers = held.parameter("dimension_numbers")
    if numbers is None and (ragged := held.parameter("ragged_dot_dimension_numbers")):
        numbers = ragged[0]
    if entry is None or entry.kind != _CONTRACTION or numbers is None:
        primitive = held.equation.primitive
        text = f"`{held.path}` is `{primitive}`; `.contracts` is for `dot_general` and its like"
        axes = f"; the axes that it reduces are `{held.path}.params[axes]`"
        raise PathError(text + (axes if held.parameter("axes") is not None else ""))
    try:
        left, right = numbers[0]
        pairs = zip(left, right, strict=True)
        return tuple((int(first), int(second)) for first, second in pairs)
    except (TypeError, ValueError, IndexError):
        raise PathError(f"`{held.path}`: its dimension numbers can't be read") from None


def cannot_contract(primitive: str, name: str) -> str:
    """Why no equation of a primitive has ``.contracts``, ``""`` for any other name."""
    entry = builtin().entry(primitive)
    if name != "contracts" or entry is None or entry.kind == _CONTRACTION:
        return ""
    return f"`{primitive}` has no `.contracts`, as `dot_general` and its like have it"


# --- the rules

#: What computes nothing: it moves, names or marks values.
_MOVING: Final = frozenset(
    {"shape", "indexing", "constant", "conversion", "ordering", "sharding", "collective", "state"}
)
_NAMING: Final = frozenset({"stop_gradient", "name"})
_NAMING_RANDOM: Final = frozenset({"random_wrap", "random_unwrap", "random_clone"})
#: Collectives that compute: one operation for each element of the result.
_REDUCING: Final = tuple(
    f"{unreduced}{name}{part}"
    for unreduced in ("", "unreduced_")
    for name in ("psum", "psum_invariant", "pmax", "pmin", "reduce_scatter")
    for part in ("", "_start")
)


#: Most values of a program share a few types.
_sizes: Final = lru_cache(1_024)(shape_of)


@dataclass(frozen=True)
class Costed:
    """One equation whose operations are counted, with the sums of the programs that it runs.

    ``held.path`` is what was asked for: the equation, or a program that it is in.
    """

    held: Held
    totals: tuple[int, ...]
    spend: Callable[[int], None]

    @property
    def equation(self) -> Equation:
        """The equation."""
        return self.held.equation

    def shape(self, thing: Variable | Operand) -> tuple[int, ...]:
        """The shape of an operand or a result, of numbers alone."""
        kind = self.type(thing)
        sizes = _sizes(kind)
        if sizes is None:
            raise self.error(f"has the type `{kind}`, without a shape" if kind else _UNTYPED)
        if symbols := [size for size in sizes if not isinstance(size, int)]:
            raise self.error(f"has the size `{symbols[0]}`, which is not a number")
        return sizes

    def type(self, thing: Variable | Operand) -> str:
        """The printed type; a literal without one is a single number."""
        variable = thing if isinstance(thing, Variable) else thing.variable
        if variable is not None:
            return self.held.block.index.type_of(variable)
        return (thing.type or _NUMBER) if isinstance(thing, Operand) else ""

    def operand(self, position: int) -> tuple[int, ...]:
        """The shape of an operand."""
        if position >= len(self.equation.inputs):
            raise self.error("lacks an operand")
        return self.shape(self.equation.inputs[position])

    def result(self) -> tuple[int, ...]:
        """The shape of the first result."""
        if not self.equation.outputs:
            raise self.error("has no result")
        return self.shape(self.equation.outputs[0])

    def results(self) -> int:
        """The elements of all results."""
        return sum(math.prod(self.shape(each)) for each in self.equation.outputs)

    def elements(self, position: int) -> int:
        """The elements of an operand."""
        return math.prod(self.operand(position))

    def numbers(self, name: str) -> list[int]:
        """A parameter that is a list of numbers."""
        value = self.held.parameter(name)
        if not isinstance(value, tuple) or not all(isinstance(item, int) for item in value):
            raise self.unread(name)
        return [int(item) for item in value]

    def number(self, name: str) -> int:
        """A parameter that is a number."""
        value = self.held.number(name)
        if value is None:
            raise self.unread(name)
        return value

    def unread(self, name: str) -> PathError:
        """That a parameter isn't what the formula needs."""
        return self.error(f"has a parameter `{name}` that can't be read")

    def error(self, why: str) -> PathError:
        """That there is no number."""
        return PathError(f"`{self.held.path}` is unknown: `{self.equation.primitive}` {why}")


#: The type of a number for which none is printed.
_NUMBER: Final = "f32[]"
_UNTYPED: Final = "has a value whose type is not printed"


def _elementwise(costed: Costed) -> int:
    return costed.results()


def _nothing(costed: Costed) -> int:
    return 0


def _dot(costed: Costed) -> int:
    left, result = costed.operand(0), costed.result()
    return formulas.contraction(contracts(costed.held), left, result)


def _ragged(costed: Costed) -> int:
    match costed.held.parameter("ragged_dot_dimension_numbers"):
        case (_, (int(axis),), _):
            pairs = contracts(costed.held)
            return formulas.ragged(pairs, axis, costed.operand(0), costed.result())
    raise costed.unread("ragged_dot_dimension_numbers")


def _convolution(costed: Costed) -> int:
    shapes = costed.operand(0), costed.operand(1), costed.result()
    try:
        convolution = formulas.convolution(costed.held.parameter, *shapes)
        costed.spend(2 * convolution.work)
        return convolution.operations()
    except formulas.NoFormula as error:
        raise costed.error(str(error)) from None


def _reduction(costed: Costed) -> int:
    """All elements into fewer: one operation less for each result than it has elements."""
    return costed.elements(0) - math.prod(costed.result())


def _reduction_by_program(costed: Costed) -> int:
    return _reduction(costed) * _body(costed)


def _windows(costed: Costed) -> int:
    window = math.prod(costed.numbers("window_dimensions"))
    return math.prod(costed.result()) * (window - 1)


def _selected_windows(costed: Costed) -> int:
    """Of each window one element is selected, and one is added to it."""
    return costed.elements(0) * math.prod(costed.numbers("window_dimensions"))


def _cumulative(costed: Costed) -> int:
    shape, axis = costed.operand(0), costed.number("axis")
    count = math.prod(shape)
    return count - (count // shape[axis] if shape[axis] else 0)


def _sort(costed: Costed) -> int:
    shape, axis = costed.operand(0), costed.number("dimension")
    return formulas.comparisons(shape, axis)


def _top_k(costed: Costed) -> int:
    axis = costed.held.number("axis")
    return formulas.comparisons(costed.operand(0), -1 if axis is None else axis)


def _updates(costed: Costed) -> int:
    """One operation for each element that is combined with one that is there."""
    return costed.elements(2)


def _added(costed: Costed) -> int:
    return costed.elements(1)


def _fft(costed: Costed) -> int:
    lengths, shapes = costed.numbers("fft_lengths"), (costed.operand(0), costed.result())
    kinds = [*map(costed.type, costed.equation.inputs), *map(costed.type, costed.equation.outputs)]
    is_real = not all(dtype_of(kind).startswith("c") for kind in kinds)
    return formulas.fft(max(shapes, key=math.prod), lengths, is_real)


def _body(costed: Costed) -> int:
    if len(costed.totals) != 1:
        raise costed.error("runs a program that can't be read")
    return costed.totals[0]


def _scan(costed: Costed) -> int:
    return costed.number("length") * _body(costed)


def _cond(costed: Costed) -> int:
    """At most one branch runs: the largest counts, as for XLA."""
    if not costed.totals:
        raise costed.error("has branches that can't be read")
    return max(costed.totals)


def _while(costed: Costed) -> int:
    raise costed.error(
        "takes as many turns as its condition says; one turn is its `.body_jaxpr.flops`"
    )


def _unknown(costed: Costed) -> int:
    raise costed.error("has no formula")


_Rule = Callable[[Costed], int]
_OF_KINDS: Final[dict[str, _Rule]] = {
    "elementwise": _elementwise,
    "reduction": _reduction,
    "cumulative": _cumulative,
    "convolution": _convolution,
    "call": _body,
    "autodiff": _body,
    **dict.fromkeys(_MOVING, _nothing),
}
_OF_PRIMITIVES: Final[dict[str, _Rule]] = {
    **dict.fromkeys(_NAMING | _NAMING_RANDOM, _nothing),
    **dict.fromkeys(_REDUCING, _elementwise),
    **dict.fromkeys(("add_any", "convert_element_type", "reduce_precision"), _elementwise),
    "dot_general": _dot,
    "ragged_dot_general": _ragged,
    "reduce": _reduction_by_program,
    "reduce_window": _unknown,
    "reduce_window_sum": _windows,
    "reduce_window_max": _windows,
    "reduce_window_min": _windows,
    "select_and_scatter": _unknown,
    "select_and_scatter_add": _selected_windows,
    "select_and_gather_add": _unknown,
    "bcoo_sum_duplicates": _unknown,
    "sort": _sort,
    "top_k": _top_k,
    **dict.fromkeys([f"scatter-{how}" for how in ("add", "sub", "mul", "min", "max")], _updates),
    "addupdate": _added,
    "accum_grad_in_ref": _added,
    "fft": _fft,
    "cholesky": lambda costed: formulas.cholesky(costed.operand(0)),
    "lu": lambda costed: formulas.lu(costed.operand(0)),
    "triangular_solve": lambda costed: formulas.triangular_solve(
        costed.operand(0), costed.result()
    ),
    "custom_linear_solve": _body,
    "shard_map": _body,
    "xla_pmap": _unknown,
    "run_state": _body,
    "scan": _scan,
    "cond": _cond,
    "while": _while,
}
#: Rules that need the sums of the programs inside.
_RUNNING: Final = frozenset({_body, _scan, _cond, _reduction_by_program})
#: Of the functions that ``custom_linear_solve`` holds the one that runs.
_SOLVE: Final = "solve"
_MEMBERS: Final = re.compile(r"(\w+)=…")


def _rule(equation: Equation) -> _Rule:
    entry = builtin().entry(equation.primitive)
    if entry is None:
        return _unknown
    rule = _OF_PRIMITIVES.get(entry.name) or _OF_KINDS.get(entry.kind, _unknown)
    holds = any(parameter.members for parameter in equation.parameters)
    return _unknown if rule is _body and not holds else rule


# --- sums

#: The most bits of a number of operations.
MAX_BITS: Final = 256


class Flops:
    """Counts the operations of one equation, or of a program, for one evaluation.

    ``held`` gives an equation with its parameters.  A program that several equations run is
    looked at once, and counts for each of them.
    """

    def __init__(self, block: QueryBlock, held: Callable[[Equation], Held], asking: Asking) -> None:
        self.block = block
        self.held = held
        self.asking = asking

    def of_equation(self, equation: Equation) -> int:
        """The operations of one equation; raises :exc:`PathError` where no formula says them."""
        for program in self.run_by(equation):
            self.of_program(program)
        return self._of_equation(equation)

    def of_program(self, program: Program) -> int:
        """The sum of a program's equations.  Iterative: programs may be nested deeply."""
        todo = [program]
        while todo:
            current = todo[-1]
            self.asking.spend(3 + 3 * len(current.equations))
            inner = (each for e in current.equations for each in self.run_by(e))
            waiting = [each for each in inner if self._key(each) not in self.asking.totals]
            if waiting:
                todo += waiting
                continue
            total = sum(map(self._of_equation, current.equations))
            if total.bit_length() > MAX_BITS:
                raise PathError("a number of FLOPs is too large")
            self.asking.totals[self._key(current)] = total
            todo.pop()
        return self.asking.totals[self._key(program)]

    def run_by(self, equation: Equation) -> list[Program]:
        """The programs that run where an equation does, as its rule has them."""
        if not equation.parameters or _rule(equation) not in _RUNNING:
            return []
        index, running = self.block.index, list[Program]()
        for parameter in equation.parameters:
            names = _MEMBERS.findall(parameter.frame)
            for number, member in enumerate(parameter.members):
                program = index.member(member)
                is_other = _SOLVE in names and names[number : number + 1] != [_SOLVE]
                if program is not None and not is_other:
                    running.append(index.meant(program))
        return running

    def _of_equation(self, equation: Equation) -> int:
        self.asking.spend(8 + 4 * len(equation.parameters))
        inner = [self.asking.totals[self._key(program)] for program in self.run_by(equation)]
        return _rule(equation)(Costed(self.held(equation), tuple(inner), self.asking.spend))

    def _key(self, program: Program) -> tuple[int, int]:
        return id(self.block), program.start
