"""Walks a jaxpr object and records what its printed text does not say.

Reads attributes only and imports no JAX, so that a version in which
``ClosedJaxpr`` and ``Jaxpr`` have become one is read like any other.

A program that several equations hold is listed once, and so is each closed-over array.
"""

from __future__ import annotations

import math
import os
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ...program.facts import Facts, ProgramFacts, Weak
from ...program.model import EquationFacts, Plain
from ...tracing.folders import is_project_file
from ...tracing.masking import mask
from .flows import Flows
from .jaxprs import HeldJaxpr, is_dtype, open_jaxpr, parameters_of, primitive_name, short_type
from .phases import Phases, phases
from .stacks import differentiates

#: The folder of this package, whose own frames are not the user's.
PACKAGE = os.path.join(str(Path(__file__).parents[2].absolute()), "")

#: A line of the user's code: file, line, function.
Source: TypeAlias = tuple[str, int, str]
#: Types of arrays with their bytes.
Sizes: TypeAlias = tuple[tuple[str, int], ...]
#: Programs to look into, each with the source of the equation that holds it.
_Queue: TypeAlias = deque[tuple[Any, Source | None]]

#: A parameter whose plain form is longer than this is read from its printed text (characters).
MAX_PARAMETER = 4_000
#: Largest integer in a parameter, in bits: Python refuses to print much longer ones.
MAX_BITS = 4_096

#: How an effect on a reference names its variable: by its address.
_VARIABLE = re.compile(r"\bVar\(id=\d+\):?")


def effects(jaxpr: Any) -> tuple[str, ...]:
    """Names of the effects, free of addresses, sorted."""
    names = set()
    for effect in getattr(jaxpr, "effects", ()) or ():
        text = _VARIABLE.sub("", str(effect))
        names.add(text if mask(text) == text else type(effect).__name__)
    return tuple(sorted(names))


def unused(body: Any) -> tuple[int, ...]:
    """Positions of equations without effects whose results nothing needs."""
    needed = {id(var) for var in body.outvars}
    positions = []
    for position in range(len(body.eqns) - 1, -1, -1):
        equation = body.eqns[position]
        if equation.effects or not needed.isdisjoint(map(id, equation.outvars)):
            needed.update(map(id, equation.invars))
        else:
            positions.append(position)
    return tuple(reversed(positions))


def constant_sizes(jaxpr: Any) -> Sizes:
    """Type and bytes of each closed-over array, from its type: values are never read."""
    return tuple((short_type(var.aval), _bytes(var.aval)) for var in open_jaxpr(jaxpr).constvars)


def _bytes(aval: Any) -> int:
    itemsize = getattr(getattr(aval, "dtype", None), "itemsize", 0)
    try:
        return int(math.prod(aval.shape)) * int(itemsize)
    except (AttributeError, TypeError):  # not an array, or a symbolic dimension
        return 0


def _identity(value: Any) -> Any:
    """What distinguishes an array from others: its memory address, or the object itself.

    Older JAX wraps a NumPy array again for each program that captures it.
    """
    value = getattr(value, "val", value)
    try:
        seen = value.__array_interface__
    except Exception:  # not an array of NumPy
        return id(value)
    return (seen["data"], seen["shape"], seen["typestr"], seen["strides"])


class Collected(NamedTuple):
    """The facts of a jaxpr, and the arrays that it and its inner programs close over."""

    facts: Facts
    captured: Sizes


def collect(
    jaxpr: Any, tangent_inputs: Iterable[int] = (), cotangent_inputs: Iterable[int] = ()
) -> Collected:
    """The facts of ``jaxpr``; tangents and cotangents are positions of its inputs."""
    return _Walk().run(jaxpr, frozenset(tangent_inputs), frozenset(cotangent_inputs))


@dataclass(slots=True)
class _Row:
    """An equation; its phase is known once all programs have been visited."""

    primitive: str
    source: Source | None
    types: tuple[str, ...]
    parameters: dict[str, Plain]
    programs: dict[str, tuple[int, ...]]
    unused: bool
    phase: str = ""

    def facts(self) -> EquationFacts:
        return EquationFacts(
            self.primitive,
            self.phase,
            self.source,
            self.types,
            self.parameters,
            self.programs,
            self.unused,
        )


class _Walk:
    def __init__(self) -> None:
        self.programs: list[Any] = []
        self.index: dict[int, int] = {}  # id of a jaxpr -> its index in programs
        self.equations: list[list[_Row]] = []  # of each program
        self.rows: dict[int, list[_Row]] = {}  # id of an equation -> its rows
        self.primitives: set[str] = set()
        self.stacks: dict[int, Any] = {}  # name stacks, by id
        self.types: dict[int, str] = {}  # printed types, by the id of the aval: many share one
        self.held = HeldJaxpr()
        self.flows = Flows(self.held)
        self.phases = Phases()
        self.captured: dict[Any, tuple[str, int]] = {}  # by identity
        self.kept: list[Any] = []  # keeps ids alive
        self.sources: dict[Source, Source] = {}
        self.traces: dict[int, Source | None] = {}
        self.files: dict[str, bool] = {}  # whether they are the user's

    def run(self, jaxpr: Any, tangents: frozenset[int], cotangents: frozenset[int]) -> Collected:
        # A queue, not recursion: a program may be nested deeper than Python's stack.
        queue: _Queue = deque()
        self.program(jaxpr, None, queue)
        while queue:
            self.fill(*queue.popleft(), queue)
        if any(map(differentiates, self.stacks.values())):  # otherwise there are no phases
            self.phases = phases(jaxpr, tangents, cotangents, self.primitives, self.held)
            for equation, phase in self.phases.of.items():
                for row in self.rows[equation]:
                    row.phase = phase
        programs = map(self.facts_of, self.programs, self.equations)
        return Collected(Facts(tuple(programs), tuple(self.sources)), tuple(self.captured.values()))

    def capture(self, jaxpr: Any) -> None:
        """Note the arrays that a program holds: its constants, and literals that are arrays."""
        body = open_jaxpr(jaxpr)
        held = [*zip(body.constvars, getattr(jaxpr, "consts", ()), strict=False)]
        for equation in body.eqns:
            held += [(v, v.val) for v in equation.invars if getattr(v, "val", None) is not None]
        for var, value in held:
            if getattr(value, "shape", ()) or var in body.constvars:
                self.kept.append(value)
                self.captured.setdefault(_identity(value), (short_type(var.aval), _bytes(var.aval)))

    def program(self, jaxpr: Any, source: Source | None, queue: _Queue) -> int:
        """The index of a program; ``source`` is that of the equation that holds it."""
        key = id(open_jaxpr(jaxpr))
        if key not in self.index:
            self.index[key] = len(self.programs)
            self.programs.append(jaxpr)
            self.equations.append([])
            queue.append((jaxpr, source))
        return self.index[key]

    def fill(self, jaxpr: Any, outer: Source | None, queue: _Queue) -> None:
        body = open_jaxpr(jaxpr)
        self.capture(jaxpr)
        # JAX caches traces of its own functions: their equations may name
        # the line that happened to call them first.
        foreign = _is_foreign(body)
        rows = self.equations[self.index[id(body)]]
        dead = frozenset(unused(body))
        for position, equation in enumerate(body.eqns):
            source = outer if foreign else self.source(equation.source_info, outer)
            plain, inner = self.parameters(equation, source, queue)
            name = primitive_name(equation)
            self.primitives.add(name)
            stack = getattr(equation.source_info, "name_stack", "")
            self.stacks[id(stack)] = stack
            types = self.types_of(equation.outvars)
            row = _Row(name, source, types, plain, inner, position in dead)
            rows.append(row)
            self.rows.setdefault(id(equation), []).append(row)

    def parameters(
        self, equation: Any, source: Source | None, queue: _Queue
    ) -> tuple[dict[str, Plain], dict[str, tuple[int, ...]]]:
        plain: dict[str, Plain] = {}
        inner: dict[str, tuple[int, ...]] = {}
        held = self.held.of(equation)
        for name, value in parameters_of(equation).items():
            if name in held:
                inner[name] = tuple(self.program(item, source, queue) for item in held[name])
                continue
            try:
                plain[name] = plain_value(value)
            except ValueError:
                continue  # only its printed text is known
        return plain, inner

    def source(self, info: Any, outer: Source | None) -> Source | None:
        """The innermost frame of the user's code, or else the frame of the outer equation."""
        trace = getattr(info, "traceback", None)
        if trace is None:
            return outer
        if id(trace) not in self.traces:
            self.kept.append(trace)
            self.traces[id(trace)] = self.user_frame(trace)
        return self.traces[id(trace)] or outer

    def user_frame(self, trace: Any) -> Source | None:
        for frame in getattr(trace, "frames", ()) or ():
            if self.is_users(frame.file_name):
                line = getattr(frame, "start_line", 0) or getattr(frame, "line_num", 0)
                source = (frame.file_name, int(line), str(frame.function_name))
                return self.sources.setdefault(source, source)
        return None

    def is_users(self, file: str) -> bool:
        """Whether a file has code of the user; traces name the same few again and again."""
        known = self.files.get(file)
        if known is None:
            known = is_project_file(file) and not file.startswith(PACKAGE)
            self.files[file] = known
        return known

    def types_of(self, variables: Iterable[Any]) -> tuple[str, ...]:
        """The types of variables as jaxprs print them."""
        return tuple([self.type_of(var.aval) for var in variables])

    def type_of(self, aval: Any) -> str:
        printed = self.types.get(id(aval))
        if printed is None:
            self.kept.append(aval)
            printed = self.types[id(aval)] = short_type(aval)
        return printed

    def facts_of(self, jaxpr: Any, rows: Sequence[_Row]) -> ProgramFacts:
        body = open_jaxpr(jaxpr)
        return ProgramFacts(
            inputs=self.types_of(body.invars),
            constants=constant_sizes(jaxpr),
            outputs=self.types_of(body.outvars),
            effects=effects(jaxpr),
            unused=tuple(position for position, row in enumerate(rows) if row.unused),
            equations=tuple(row.facts() for row in rows),
            weak=weak(body),
            kept=self.phases.kept(body),
            flows=self.flows.of(jaxpr),
        )


def weak(body: Any) -> Weak:
    """Which values of a program are weakly typed; its text does not say."""
    results, literals = list[tuple[int, int]](), list[tuple[int, int]]()
    for position, equation in enumerate(body.eqns):
        results += [(position, n) for n in _weak_positions(equation.outvars)]
        literals += [(position, n) for n in _weak_positions(equation.invars, literals=True)]
    return Weak(
        tuple(_weak_positions(body.constvars)),
        tuple(_weak_positions(body.invars)),
        tuple(results),
        tuple(literals),
        tuple(_weak_positions(body.outvars, literals=True)),
    )


def _weak_positions(values: Sequence[Any], literals: bool = False) -> list[int]:
    """The positions of what is weakly typed: of all values, or of those that are literals."""
    return [
        position
        for position, value in enumerate(values)
        if getattr(value.aval, "weak_type", False) and (not literals or hasattr(value, "val"))
    ]


def _is_foreign(body: Any) -> bool:
    """Whether a program is the body of a function that is not the project's."""
    made = str(getattr(getattr(body, "debug_info", None), "func_src_info", "") or "")
    file = made.rpartition(" at ")[2].rpartition(":")[0]
    return bool(file) and not is_project_file(file)


def _is_of_numpy(value: Any) -> bool:
    """Whether a value is a NumPy number, which need not be a Python number."""
    package = type(value).__module__.partition(".")[0]
    return package in ("numpy", "ml_dtypes") and hasattr(value, "item") and value.shape == ()


def plain_value(value: Any, depth: int = 0) -> Plain:
    """``value`` as JSON data; raises :class:`ValueError` where it is not plain data."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise ValueError("long")
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"text": str(value)}
    if isinstance(value, (tuple, list)) and depth < 6:
        items = [plain_value(item, depth + 1) for item in value]
        if depth == 0 and len(str(items)) > MAX_PARAMETER:
            raise ValueError("long")
        return items
    if _is_of_numpy(value):
        return plain_value(value.item(), depth)
    if is_dtype(value):
        return {"dtype": str(value)}
    if hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__") or callable(value):
        raise ValueError("object")
    if hasattr(value, "__index__"):
        return plain_value(int(value))
    raise ValueError("object")
