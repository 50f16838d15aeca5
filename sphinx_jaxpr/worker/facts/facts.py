"""Walks a jaxpr object and writes down what its printed text does not say.

Reads attributes only and imports no JAX, so that a version in which
``ClosedJaxpr`` and ``Jaxpr`` have become one is read like any other.

The result is plain data::

    {"programs": [{"inputs": [type, ...], "constants": [[type, bytes], ...],
                   "outputs": [type, ...], "effects": [name, ...], "unused": [place, ...],
                   "equations": [[primitive, phase, source, [type, ...],
                                  {parameter: plain}, {parameter: [program, ...]}], ...]},
                  ...],
     "sources": [[file, line, function], ...],
     "captured": [[type, bytes], ...]}

``programs[0]`` is the traced program; ``source`` is an index or -1; ``unused`` are
the places of equations without which the program would be the same; ``captured``
has the closed-over arrays of all programs, each once.
"""

from __future__ import annotations

import math
import os
import re
from collections import deque
from collections.abc import Iterable
from typing import Any

from ...tracing.folders import is_project_file
from .jaxprs import HeldJaxpr, open_jaxpr, parameters_of, primitive_name, short_type
from .phases import phases

PACKAGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")

#: A parameter whose plain form is longer than this is read from its printed text (characters).
MAX_PARAMETER = 4_000
#: Largest integer in a parameter, in bits: Python prints none of more digits than about that.
MAX_BITS = 4_096

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
#: How an effect on a reference names its variable: by its address.
_VARIABLE = re.compile(r"\bVar\(id=\d+\):?")


def mask(text: str) -> str:
    """``text`` with memory addresses masked as JAX masks its own."""
    return _ADDRESS.sub("0xXXXXXXXXXXXX", text)


def effects(jaxpr: Any) -> list[str]:
    """Names of the effects, free of addresses, sorted."""
    names = set()
    for effect in getattr(jaxpr, "effects", ()) or ():
        text = _VARIABLE.sub("", str(effect))
        names.add(type(effect).__name__ if _ADDRESS.search(text) else text)
    return sorted(names)


def unused(body: Any) -> list[int]:
    """Places of equations without effects whose results nothing uses, or only such equations."""
    needed = {id(var) for var in body.outvars}
    found = []
    for place in range(len(body.eqns) - 1, -1, -1):
        equation = body.eqns[place]
        if equation.effects or any(id(var) in needed for var in equation.outvars):
            needed.update(id(operand) for operand in equation.invars)
        else:
            found.append(place)
    return found[::-1]


def constant_sizes(jaxpr: Any) -> list[list[Any]]:
    """``[type, bytes]`` of each closed-over array, from its type: values are never read."""
    return [[short_type(var.aval), _bytes(var.aval)] for var in open_jaxpr(jaxpr).constvars]


def _bytes(aval: Any) -> int:
    itemsize = getattr(getattr(aval, "dtype", None), "itemsize", 0)
    try:
        return int(math.prod(aval.shape)) * int(itemsize)
    except (AttributeError, TypeError):  # no array, or a symbolic dimension
        return 0


def _identity(value: Any) -> Any:
    """What tells an array from others: where its memory is, or the object itself.

    Older JAX wraps a NumPy array anew for each program that captures it.
    """
    value = getattr(value, "val", value)
    try:
        seen = value.__array_interface__
    except Exception:  # no array of NumPy's
        return id(value)
    return (seen["data"], seen["shape"], seen["typestr"], seen["strides"])


def collect(jaxpr: Any, tangent_inputs: Iterable[int] = ()) -> dict[str, Any]:
    """The facts of ``jaxpr``; ``tangent_inputs`` are positions of its inputs."""
    return _Walk().run(jaxpr, frozenset(tangent_inputs))


class _Walk:
    def __init__(self) -> None:
        self.programs: list[Any] = []
        self.index: dict[int, int] = {}  # id of a jaxpr -> its place in programs
        self.rows: dict[int, list[list[Any]]] = {}  # id of an equation -> its rows
        self.primitives: set[str] = set()
        self.held = HeldJaxpr()
        self.captured: dict[Any, list[Any]] = {}  # by identity
        self.kept: list[Any] = []  # keeps ids alive
        self.sources: list[list[Any]] = []
        self.source_index: dict[tuple[str, int, str], int] = {}
        self.traces: dict[int, int] = {}

    def run(self, jaxpr: Any, tangents: frozenset[int]) -> dict[str, Any]:
        # A queue, not recursion: a program may be nested deeper than Python's stack.
        queue: deque[tuple[Any, int]] = deque()
        self.program(jaxpr, -1, queue)
        while queue:
            self.fill(*queue.popleft(), queue)
        for equation, phase in phases(jaxpr, tangents, self.primitives, self.held).items():
            for row in self.rows[equation]:
                row[1] = phase
        return {
            "programs": self.programs,
            "sources": self.sources,
            "captured": list(self.captured.values()),
        }

    def capture(self, jaxpr: Any) -> None:
        """Note the arrays that a program holds: its constants, and literals that are arrays."""
        body = open_jaxpr(jaxpr)
        held = [*zip(body.constvars, getattr(jaxpr, "consts", ()), strict=False)]
        for equation in body.eqns:
            held += [(v, v.val) for v in equation.invars if getattr(v, "val", None) is not None]
        for var, value in held:
            if getattr(value, "shape", ()) or var in body.constvars:
                self.kept.append(value)
                self.captured.setdefault(_identity(value), [short_type(var.aval), _bytes(var.aval)])

    def program(self, jaxpr: Any, source: int, queue: deque[Any]) -> int:
        """The place of a program; ``source`` is that of the equation that holds it."""
        key = id(open_jaxpr(jaxpr))
        if key in self.index:
            return self.index[key]
        place = self.index[key] = len(self.programs)
        self.kept.append(jaxpr)
        body = open_jaxpr(jaxpr)
        self.programs.append(
            {
                "inputs": [short_type(var.aval) for var in body.invars],
                "constants": constant_sizes(jaxpr),
                "outputs": [short_type(var.aval) for var in body.outvars],
                "effects": effects(jaxpr),
                "unused": unused(body),
                "equations": [],
            }
        )
        queue.append((jaxpr, source))
        return place

    def fill(self, jaxpr: Any, outer: int, queue: deque[Any]) -> None:
        body = open_jaxpr(jaxpr)
        self.capture(jaxpr)
        # JAX keeps what it traced of its own functions: their equations may name
        # the line that happened to call them first.
        foreign = _is_foreign(body)
        program = self.programs[self.index[id(body)]]
        for equation in body.eqns:
            source = outer if foreign else self.source(equation.source_info, outer)
            plain, inner = self.parameters(equation, source, queue)
            name = primitive_name(equation)
            self.primitives.add(name)
            types = [short_type(var.aval) for var in equation.outvars]
            row = [name, "", source, types, plain, inner]
            program["equations"].append(row)
            self.rows.setdefault(id(equation), []).append(row)

    def parameters(
        self, equation: Any, source: int, queue: deque[Any]
    ) -> tuple[dict[str, Any], dict[str, list[int]]]:
        plain: dict[str, Any] = {}
        inner: dict[str, list[int]] = {}
        held = self.held.of(equation)
        for name, value in parameters_of(equation).items():
            if name in held:
                inner[name] = [self.program(item, source, queue) for item in held[name]]
                continue
            try:
                plain[name] = plain_value(value)
            except ValueError:
                continue  # its printed text is all there is
        return plain, inner

    def source(self, info: Any, outer: int) -> int:
        """The innermost frame of the user's code, as an index into ``sources``."""
        trace = getattr(info, "traceback", None)
        if trace is None:
            return outer
        if id(trace) not in self.traces:
            self.kept.append(trace)
            self.traces[id(trace)] = self.user_frame(trace)
        place = self.traces[id(trace)]
        return outer if place < 0 else place

    def user_frame(self, trace: Any) -> int:
        for frame in getattr(trace, "frames", ()) or ():
            if is_project_file(frame.file_name) and not frame.file_name.startswith(PACKAGE):
                line = getattr(frame, "start_line", 0) or getattr(frame, "line_num", 0)
                key = (frame.file_name, int(line), str(frame.function_name))
                if key not in self.source_index:
                    self.source_index[key] = len(self.sources)
                    self.sources.append(list(key))
                return self.source_index[key]
        return -1


def _is_foreign(body: Any) -> bool:
    """Whether a program is the body of a function that is not the project's."""
    made = str(getattr(getattr(body, "debug_info", None), "func_src_info", "") or "")
    file = made.rpartition(" at ")[2].rpartition(":")[0]
    return bool(file) and not is_project_file(file)


def _is_of_numpy(value: Any) -> bool:
    """Whether it is a number of numpy, which need not be one of Python's."""
    package = type(value).__module__.partition(".")[0]
    return package in ("numpy", "ml_dtypes") and hasattr(value, "item") and value.shape == ()


def plain_value(value: Any, depth: int = 0) -> Any:
    """``value`` as JSON data, or ``ValueError`` where it is no plain data."""
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
    kind = getattr(value, "kind", None)
    if isinstance(kind, str) and hasattr(value, "itemsize"):  # a dtype
        return {"dtype": str(value)}
    if hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__") or callable(value):
        raise ValueError("object")
    if hasattr(value, "__index__"):
        return plain_value(int(value))
    raise ValueError("object")
