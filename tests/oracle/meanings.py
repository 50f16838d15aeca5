"""What the words for sizes, kinds, costs, operands and data flow mean, over jaxpr objects.

The classes are parts of the views in ``reading.py``.  A meaning that the reference leaves
open is :class:`Unsure`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import product
from typing import Any

from .phases import is_literal, loop_sizes, params_of, programs_in


class Refused(Exception):
    """An expression has no value."""


class Unsure(Exception):
    """The oracle can't tell."""


#: Primitives of some kinds; of others the oracle says nothing.
KINDS = {
    "collective": """psum psum2 psum_invariant pmax pmin ppermute all_gather
        all_gather_invariant all_to_all reduce_scatter""",
    "control flow": "scan while cond",
    "call": "jit pjit",
    "elementwise": """add sub mul div neg sin cos tan tanh exp log sqrt rsqrt max min abs pow
        integer_pow logistic select_n gt lt ge le eq ne and or not""",
    "contraction": "dot_general",
    "convolution": "conv_general_dilated",
    "reduction": "reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or",
    "conversion": "convert_element_type bitcast_convert_type",
    "shape": "broadcast_in_dim reshape transpose squeeze",
    "sharding": "shard_map pvary reshard",
}
_KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}


class Number(float):
    """A floating-point literal, equal to what its dtype rounds to it."""

    def __new__(cls, literal: Any) -> Number:
        found = super().__new__(cls, float(literal.val))
        found.rounded = literal.aval.dtype.type
        return found

    rounded: Any

    def __eq__(self, other: object) -> bool:
        if isinstance(other, bool) or not isinstance(other, (int, float)):
            raise Refused(f"a number and {other!r}")
        return float.__eq__(self, float(self.rounded(other)))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


class ValueMeanings:
    """Of a value: ``thing`` is JAX's variable or literal."""

    thing: Any
    program: Any
    shape: Any
    dtype: Any

    @property
    def type(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def size(self) -> int:
        if not all(isinstance(size, int) for size in self.shape):
            raise Unsure("a symbolic size")
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        given = getattr(self.thing.aval, "dtype", None)
        # Keys have a size of their own; of what is smaller than a byte several share one.
        if given is None or re.search(r"key<|float0|int[24]$|float4", str(given)):
            raise Unsure(f"bytes of {given}")
        return self.size * int(given.itemsize)

    @property
    def weak(self) -> bool:
        found = getattr(self.thing.aval, "weak_type", None)
        if found is None:
            raise Unsure("no array")
        return bool(found)

    @property
    def varying(self) -> tuple[str, ...]:
        aval = self.thing.aval
        found = getattr(aval, "vma", None)  # until JAX 0.8
        if found is None:
            manual = getattr(aval, "manual_axis_type", None)
            found = getattr(manual, "varying", None)
        if found is None:
            raise Unsure("no axes")
        return tuple(sorted(map(str, found)))

    @property
    def value(self) -> Any:
        if not is_literal(self.thing):
            raise Refused("only a literal has a value")
        if getattr(self.thing.aval, "shape", None) != ():
            raise Unsure("an array as a literal")
        if "float0" in str(self.thing.aval.dtype):
            raise Unsure("a number without a value")
        kind = self.thing.aval.dtype.kind
        if kind == "b":
            return bool(self.thing.val)
        if kind in "iu":
            return int(self.thing.val)
        # The kind of bfloat16 is that of a void.
        return Number(self.thing) if kind in "fV" else _unsure("a literal")

    @property
    def read_count(self) -> int:
        if is_literal(self.thing):
            raise Unsure("readers of a literal")
        return sum(v is self.thing for e in self.program.body.eqns for v in e.invars)


class EquationMeanings:
    """Of an equation: ``raw`` is JAX's."""

    raw: Any
    place: int
    primitive: str
    inputs: Any
    outputs: Any

    type = property(lambda self: self.outputs.only().type)
    size = property(lambda self: self.outputs.only().size)
    bytes = property(lambda self: self.outputs.only().bytes)
    weak = property(lambda self: self.outputs.only().weak)
    varying = property(lambda self: self.outputs.only().varying)

    @property
    def kind(self) -> str:
        return _KIND_OF[self.primitive] if self.primitive in _KIND_OF else _unsure("kind")

    @property
    def index(self) -> int:
        return self.place

    @property
    def contracts(self) -> tuple[tuple[int, int], ...]:
        if self.primitive != "dot_general":
            _unsure("contracted axes")
        first, second = params_of(self.raw)["dimension_numbers"][0]
        return tuple((int(one), int(two)) for one, two in zip(first, second, strict=True))

    @property
    def flops(self) -> int:
        """Two for each multiplication whose factors both are elements."""
        if self.kind == "elementwise":
            return self.size
        if self.kind == "shape":
            return 0
        if self.primitive == "dot_general":
            shape = self.inputs.at(0).shape
            return 2 * self.size * math.prod(shape[axis] for axis, _ in self.contracts)
        return (
            convolution_flops(self) if self.primitive == "conv_general_dilated" else _unsure("cost")
        )

    # -- operands

    @property
    def consts(self) -> Any:
        if self.primitive == "scan":
            return self.inputs[: loop_sizes(self.raw)[0]]
        return self.inputs[: params_of(self.raw)["num_consts"]] if self.has_rule else self.lacks()

    @property
    def carry(self) -> Any:
        if self.primitive == "scan":
            consts, carry = loop_sizes(self.raw)
            return self.inputs[consts : consts + carry]
        return self.inputs[sum(self.of_while) :]

    @property
    def xs(self) -> Any:
        return self.inputs[sum(loop_sizes(self.raw)) :] if self.is_a("scan") else None

    @property
    def cond_consts(self) -> Any:
        return self.inputs[: self.of_while[0]]

    @property
    def body_consts(self) -> Any:
        return self.inputs[self.of_while[0] : sum(self.of_while)]

    @property
    def branch(self) -> Any:
        return self.inputs[0] if self.is_a("cond") else None

    @property
    def operands(self) -> Any:
        if self.primitive == "cond":
            return self.inputs[1:]
        return self.inputs[params_of(self.raw)["num_consts"] :] if self.has_rule else self.lacks()

    @property
    def of_while(self) -> tuple[int, int]:
        self.is_a("while")
        params = params_of(self.raw)
        return params["cond_nconsts"], params["body_nconsts"]

    @property
    def has_rule(self) -> bool:
        return self.primitive in ("custom_jvp_call", "custom_vjp_call")

    def is_a(self, name: str) -> bool:
        return self.primitive == name or self.lacks()

    def lacks(self) -> Any:
        raise Refused(f"{self.primitive} has no such operands")


def convolution_flops(equation: EquationMeanings) -> int:
    """Counted one window and one tap after the other, axis by axis."""
    params = params_of(equation.raw)
    numbers = params["dimension_numbers"]
    given, kernel = equation.inputs.at(0).shape, equation.inputs.at(1).shape
    made = equation.outputs.only().shape
    pairs = 1
    for axis, (image, window, result) in enumerate(
        zip(numbers.lhs_spec[2:], numbers.rhs_spec[2:], numbers.out_spec[2:], strict=True)
    ):
        before, _ = params["padding"][axis]
        stride, holes = params["window_strides"][axis], params["lhs_dilation"][axis]
        steps = params["rhs_dilation"][axis]
        pairs *= sum(
            # The place of the tap on the operand without padding: an element, not a hole.
            0 <= place <= (given[image] - 1) * holes and place % holes == 0
            for start, tap in product(range(made[result]), range(kernel[window]))
            for place in [start * stride + tap * steps - before]
        )
    channels, features = kernel[numbers.rhs_spec[1]], made[numbers.out_spec[1]]
    return 2 * made[numbers.out_spec[0]] * features * channels * pairs


class ProgramMeanings:
    """Of a program: ``body`` is JAX's."""

    world: Any
    body: Any
    items: list[Any]
    variables: Any

    @property
    def residuals(self) -> Any:
        """What the backward or recomputed part reads and neither made nor was given as an aim."""
        back = [e for e in self.items if e.phase in ("transpose", "recomputed")]
        made = {id(v) for e in back for v in e.raw.outvars}
        outside = {id(v) for e in self.items if not e.phase for v in e.raw.outvars}
        read = {id(v): v for e in back for v in e.raw.invars if not is_literal(v)}
        if any(key in outside for key in read):
            raise Unsure("an equation without a phase has made it")
        given = {id(v) for v in (*self.body.invars, *self.body.constvars)}
        for equation in self.body.eqns:
            if any(id(v) in given for v in equation.invars):
                given.update(id(v) for v in equation.outvars)
        if any(key not in given | made for key in read):
            raise Unsure("made of numbers alone: a value, or the cotangents of a Jacobian")
        found = [v for v in read.values() if id(v) not in made | self.world.aims]
        return self._values(found)

    def _values(self, things: Iterable[Any]) -> Any:
        raise NotImplementedError


# -- functions


def reads(reader: Any, source: Any) -> bool:
    """Whether an equation has a result of another, or a value, as an operand."""
    return any(v is s for v in _one(reader).raw.invars for s in _sources(source))


def depends(reader: Any, source: Any) -> bool:
    """The same, also through other equations.

    A result of several, or of a program inside, may depend on some operands alone; a reference
    on what another equation has stored.
    """
    surely = {id(v) for v in _sources(source)}
    perhaps, equation = set(surely), _one(reader)
    body = equation.program.body
    if any(hasattr(v.aval, "inner_aval") for e in body.eqns for v in (*e.invars, *e.outvars)):
        raise Unsure("a reference")
    for other in body.eqns:
        is_plain = len(other.outvars) == 1 and not any(map(programs_in, other.params.values()))
        if other is equation.raw:
            break
        if is_plain and any(id(v) in surely for v in other.invars):
            surely.update(id(v) for v in other.outvars)
        if any(id(v) in perhaps for v in other.invars):
            perhaps.update(id(v) for v in other.outvars)
    operands = {id(v) for v in equation.raw.invars}
    if not operands & surely and operands & perhaps:
        raise Unsure("it hangs on what is inside an equation")
    return bool(operands & surely)


def _one(thing: Any) -> Any:
    """The one element of a collection, or the thing itself."""
    return thing.only() if hasattr(type(thing), "only") else thing


def _sources(thing: Any) -> list[Any]:
    found = _one(thing)
    return [found.thing] if isinstance(found, ValueMeanings) else list(found.raw.outvars)


def _unsure(text: str) -> Any:
    raise Unsure(text)
