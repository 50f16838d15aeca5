"""The oracle's views over jaxpr objects.

They are written so that Python's own ``eval`` of an expression over them gives what is
true: see :func:`truth`.  Nothing of the product is imported; meanings are those of the
reference (``docs/reference/paths.md``).
"""

from __future__ import annotations

import ast
import builtins
import enum
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from . import costs, quantities
from .meanings import (
    EquationMeanings,
    ProgramMeanings,
    Refused,
    Unsure,
    ValueMeanings,
    depends,
    reads,
)
from .phases import (
    UNKNOWN,
    Phases,
    body_of,
    is_literal,
    is_program,
    params_of,
    programs_in,
    results,
)

_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


def short(name: Any) -> str:
    """``f32`` of ``float32``: the name that jaxprs print."""
    text = "float0" if "float0" in str(name) else str(name)
    found = re.fullmatch(r"(bfloat|float|uint|int|complex)(\d+.*)", text)
    return _SHORT[found[1]] + found[2] if found and text != "float0" else text


class Dtype(str):
    """A dtype, equal by any of its names."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            raise Refused(f"a dtype and {other!r}")
        return short(str(self)) == short(str(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(short(str(self)))


def shape_of(aval: Any) -> tuple[Any, ...]:
    """The shape of an abstract value."""
    found = getattr(aval, "shape", None)
    if found is None:
        raise Refused(f"{aval} has no shape")
    return tuple(int(size) if hasattr(size, "__index__") else str(size) for size in found)


class Value(ValueMeanings):
    """A value in a program; equal to itself alone."""

    def __init__(self, program: Program, thing: Any, bare: bool = False) -> None:
        self.program = program
        self.thing = thing
        self.bare = bare  # a literal that JAX prints without its type, as in ``b[0] <- c``

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            raise Refused("a value and something else")
        if self.program.world is not other.program.world:
            raise Refused("values of two blocks")
        return self.thing is other.thing and self.program == other.program

    def __hash__(self) -> int:
        return hash((id(self.program.body), id(self.thing)))

    @property
    def shape(self) -> tuple[Any, ...]:
        if self.bare:
            raise Unsure("no type is printed")
        return shape_of(self.thing.aval)

    @property
    def dtype(self) -> Dtype:
        found = getattr(self.thing.aval, "dtype", None)
        if self.bare:
            raise Unsure("no type is printed")
        if found is None:
            raise Refused(f"{self.thing.aval} has no dtype")
        return Dtype(short(found))

    def _known(self, found: Any, noun: str) -> Any:
        if self.bare:
            raise Unsure("no type is printed")
        if found is None:
            raise Refused(f"{self.thing.aval} has no {noun}")
        return found

    @property
    def type(self) -> quantities.Type:
        found = quantities.type_of(self.thing.aval, short)
        if found is None:
            raise Unsure("each JAX prints these in its own way")
        return self._known(found, "type")

    @property
    def size(self) -> int:
        return self._known(quantities.size_of(self.thing.aval), "size")

    @property
    def bytes(self) -> int:
        return self._known(quantities.bytes_of(self.thing.aval), "bytes")

    @property
    def weak(self) -> bool:
        return self._known(bool(getattr(self.thing.aval, "weak_type", False)), "weak type")

    @property
    def varying(self) -> quantities.Axes:
        if id(self.program.body) in self.program.world.untracked and not is_literal(self.thing):
            raise Refused("not recorded")
        return self._known(quantities.varying_of(self.thing.aval), "axes")

    @property
    def value(self) -> Any:
        if not is_literal(self.thing):
            raise Refused("not a literal")
        return self._known(quantities.number_of(self.thing), "number")

    @property
    def read_count(self) -> int:
        if is_literal(self.thing):
            raise Refused("a literal")
        return sum(v is self.thing for e in self.program.body.eqns for v in e.invars)

    @property
    def origin(self) -> str:
        if is_literal(self.thing):
            return "literal"
        return self.program.origins.get(id(self.thing), "?")

    @property
    def uses(self) -> Uses:
        found = [] if is_literal(self.thing) else self.program.readers.get(id(self.thing), [])
        return Uses(self.program.world, [Equation(self.program, place) for place in found])


class Listed:
    """An ordered collection."""

    what = "thing"

    def __init__(self, world: Block | None, items: Iterable[Any]) -> None:
        self.world = world
        self.items = list(items)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __contains__(self, other: object) -> bool:
        return any(item == other for item in self.items)

    def only(self) -> Any:
        """The one element."""
        if len(self.items) != 1:
            raise Refused(f"{len(self.items)} of {self.what}")
        return self.items[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.only(), name)

    def at(self, key: Any) -> Any:
        """An element by its place, or a slice."""
        if isinstance(key, slice):
            if key.start is not None and key.start > len(self.items):
                raise Refused("a slice that begins beyond the end")
            return self.items[key]
        if not -len(self.items) <= key < len(self.items):
            raise Refused(f"no [{key}] of {len(self.items)}")
        return self.items[key]


class Values(Listed):
    """Values in order; inputs of a block have names."""

    what = "values"

    def __init__(self, world: Any, items: Iterable[Any], names: tuple[Any, ...] = ()) -> None:
        super().__init__(world, items)
        self.names = names

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Values, tuple)):
            raise Refused("values and something else")
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = object.__hash__

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, (int, slice)):
            return self.named(word(key))
        found = self.at(key)
        return Values(self.world, found) if isinstance(key, slice) else found

    def named(self, name: str) -> Any:
        """One leaf by JAX's name, or all leaves of an argument."""
        arguments = {argument for argument, _ in self.names}
        leaves = [v for v, (_, leaf) in zip(self.items, self.names, strict=False) if leaf == name]
        if leaves:
            return leaves[0]
        found = [v for v, (of, _) in zip(self.items, self.names, strict=False) if of == name]
        if name not in arguments:
            raise Refused(f"no input {name}")
        return found[0] if len(found) == 1 else Values(self.world, found)


def word(key: Any) -> str:
    """What stands in brackets; a function of Python may be meant as the primitive."""
    return key.__name__ if callable(key) else str(key)


class Equations(Listed):
    """Equations in order."""

    what = "equations"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Equations):
            raise Refused("equations and something else")
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # it cannot be hashed

    def __contains__(self, other: object) -> bool:
        if isinstance(other, Equations):
            return bool(other) and all(item in self for item in other)
        return any(item == other for item in self)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return Equations(self.world, self.at(key))
        if isinstance(key, int):
            return self.at(key)
        name = word(key)
        return Equations(self.world, [e for e in self if e.primitive == name])

    def _phase(self, name: str) -> Equations:
        if self.world is None or not self.world.has_phases:
            raise Refused("no phases")
        return Equations(self.world, [e for e in self if e.phase == name])

    forward = property(lambda self: self._phase("forward"))
    tangent = property(lambda self: self._phase("tangent"))
    transpose = property(lambda self: self._phase("transpose"))
    recomputed = property(lambda self: self._phase("recomputed"))


class Uses(Equations):
    """Equations that read a value; a number wherever they are compared."""

    def _number(self, other: Any) -> int:
        if isinstance(other, Uses):
            return len(other)
        if isinstance(other, bool) or not isinstance(other, (int, float)):
            raise Refused("uses and something that is no number")
        return other  # type: ignore[return-value]  # as Python does

    def __eq__(self, other: object) -> bool:
        return len(self) == self._number(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return len(self) < self._number(other)

    def __le__(self, other: Any) -> bool:
        return len(self) <= self._number(other)

    def __gt__(self, other: Any) -> bool:
        return len(self) > self._number(other)

    def __ge__(self, other: Any) -> bool:
        return len(self) >= self._number(other)

    def __add__(self, other: Any) -> int:
        return len(self) + self._number(other)

    __radd__ = __add__

    def __hash__(self) -> int:  # type: ignore[override]  # another view
        return hash(len(self))


class Program(ProgramMeanings, Equations):
    """A jaxpr: a collection of its own equations, and more."""

    what = "programs"

    def __init__(self, world: Block, program: Any) -> None:
        self.world: Block = world
        self.closed = program
        self.body = body_of(program)

    @cached_property
    def items(self) -> list[Any]:  # type: ignore[override]  # another view
        return [Equation(self, place) for place in range(len(self.body.eqns))]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Program):
            if self.world is not other.world:
                raise Refused("programs of two blocks")
            return self.body is other.body
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # it cannot be hashed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Refused(f"a program has no {name}")

    @cached_property
    def origins(self) -> dict[int, str]:
        found = {id(v): "constant" for v in self.body.constvars}
        found |= {id(v): "input" for v in self.body.invars}
        return found | {id(v): "equation" for e in self.body.eqns for v in results(e, self.body)}

    @cached_property
    def readers(self) -> dict[int, list[int]]:
        """Places of the equations that read a value, each once."""
        found: dict[int, list[int]] = {}
        for place, equation in enumerate(self.body.eqns):
            for key in dict.fromkeys(id(v) for v in equation.invars if not is_literal(v)):
                found.setdefault(key, []).append(place)
        return found

    def _values(self, things: Iterable[Any]) -> Values:
        return Values(self.world, [Value(self, thing) for thing in things])

    @property
    def inputs(self) -> Values:
        names = self.world.names if self.body is self.world.body else ()
        return Values(self.world, [Value(self, v) for v in self.body.invars], names)

    @property
    def outputs(self) -> Values:
        return self._values(self.body.outvars)

    @property
    def consts(self) -> Values:
        return self._values(self.body.constvars)

    @property
    def variables(self) -> Values:
        made = [v for e in self.body.eqns for v in results(e, self.body)]
        return self._values([*self.body.constvars, *self.body.invars, *made])

    @property
    def effects(self) -> tuple[str, ...]:
        return tuple(sorted({effect_name(effect) for effect in self.body.effects}))

    @property
    def calls(self) -> int:
        return self.world.calls[id(self.body)]

    @property
    def flops(self) -> int:
        return counted(lambda: costs.total(self.body))

    @property
    def all(self) -> Equations:
        """At any depth, a shared program once."""
        found: list[Equation] = []
        seen: set[int] = set()
        todo = [self.body]
        while todo:
            body = todo.pop(0)
            if id(body) in seen:
                continue
            seen.add(id(body))
            program = Program(self.world, body)
            found.extend(program.items)
            todo.extend(body_of(p) for e in program.items for p in e.held)
        return Equations(self.world, found)


class Block(Program):
    """A traced function; its variants are attributes."""

    def __init__(
        self,
        program: Any,
        names: tuple[tuple[str, str], ...] = (),
        tangents: Iterable[int] = (),
        base: Block | None = None,
        seeds: Iterable[int] | None = (),
    ) -> None:
        super().__init__(self, program)
        self.names = names
        self.base = base
        #: Inputs that are cotangents, by the ``id`` of their variables.
        owners = zip(self.body.invars, names, strict=False)
        self.aims = {id(v) for v, (owner, _) in owners if owner == "ct"}
        self.variants: dict[str, Block] = {}
        self.phases = Phases(program, tangents, seeds)

    def __getattr__(self, name: str) -> Any:
        variants = self.__dict__.get("variants", {})
        return variants[name] if name in variants else super().__getattr__(name)

    @cached_property
    def untracked(self) -> set[int]:
        """The bodies at any depth of each ``shard_map`` that does not check what varies."""
        found: set[int] = set()
        todo = [(self.body, False)]
        seen: set[tuple[int, bool]] = set()
        while todo:
            body, inside = todo.pop()
            if (id(body), inside) in seen:
                continue
            seen.add((id(body), inside))
            if inside:
                found.add(id(body))
            for equation in body.eqns:
                unchecked = equation.params.get("check_vma") is False
                for value in params_of(equation).values():
                    todo += [(body_of(p), inside or unchecked) for p in programs_in(value)]
        return found

    @cached_property
    def has_phases(self) -> bool:
        return any(e.phase for e in self.all)

    @cached_property
    def calls(self) -> Counter[int]:  # type: ignore[override]  # another view
        """How often each program is used, by its ``id``; a loop counts once."""
        order, seen = [], set()

        def visit(body: Any) -> None:
            if id(body) in seen:
                return
            seen.add(id(body))
            for inner in _inside(body):
                visit(inner)
            order.append(body)

        visit(self.body)
        found = Counter({id(self.body): 1})
        for body in reversed(order):
            for inner in _inside(body):
                found[id(inner)] += found[id(body)]
        return found


def _inside(body: Any) -> list[Any]:
    return [body_of(p) for e in body.eqns for v in params_of(e).values() for p in programs_in(v)]


def effect_name(effect: Any) -> str:
    """The name of an effect, free of what differs from run to run."""
    text = re.sub(r"\bVar\(id=\d+\):?", "", str(effect))
    return type(effect).__name__ if re.search(r"0x[0-9a-f]{6,}", text) else text


class Params:
    """The parameters of an equation."""

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        self.raw = params_of(equation.raw)

    def __contains__(self, name: object) -> bool:
        return word(name) in self.raw

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, key: Any) -> Any:
        name = word(key)
        if name not in self.raw:
            raise Refused(f"no parameter {name}")
        value = self.raw[name]
        return self.equation.program_of(name) if programs_in(value) else plain(value)


def plain(value: Any) -> Any:
    """A parameter as a value of the language; :class:`Unsure` where it is none."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):  # some are numbers too, and print as words
        return _unsure(value)
    if isinstance(getattr(value, "kind", None), str) and hasattr(value, "itemsize"):
        return Dtype(short(value)) if not getattr(value, "shape", ()) else _unsure(value)
    if hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__"):
        return _unsure(value)
    if isinstance(value, (tuple, list)):
        return tuple(plain(item) for item in value)
    if isinstance(value, (int, float)):
        return value
    if hasattr(value, "__index__"):
        return int(value)
    return _unsure(value)


def _unsure(value: Any) -> Any:
    raise Unsure(repr(value))


class Equation(EquationMeanings):
    """One equation; equal to itself alone."""

    def __init__(self, program: Program, place: int) -> None:
        self.program = program
        self.place = place
        self.raw = program.body.eqns[place]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Equations) and not isinstance(other, (Uses, Program)):
            return self == other.only()
        if not isinstance(other, Equation):
            raise Refused("an equation and something else")
        if self.program.world is not other.program.world:
            raise Refused("equations of two blocks")
        return self.raw is other.raw

    def __hash__(self) -> int:
        return id(self.raw)

    @property
    def primitive(self) -> str:
        name = str(self.raw.primitive.name)
        # JAX 0.12 has one primitive for operations of a higher level, and prints theirs.
        high = self.raw.params.get("_prim") if name == "call_hi_primitive" else None
        return name if high is None else type(high).__name__

    @property
    def inputs(self) -> Values:
        bare = self.primitive in ("get", "swap", "addupdate")
        values = [Value(self.program, v, bare and is_literal(v)) for v in self.raw.invars]
        return Values(self.program.world, values)

    @property
    def outputs(self) -> Values:
        made = results(self.raw, self.program.body)
        return Values(self.program.world, [Value(self.program, v) for v in made])

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.outputs.only().shape

    @property
    def dtype(self) -> Dtype:
        return self.outputs.only().dtype

    type = property(lambda self: self.outputs.only().type)
    size = property(lambda self: self.outputs.only().size)
    bytes = property(lambda self: self.outputs.only().bytes)
    weak = property(lambda self: self.outputs.only().weak)
    varying = property(lambda self: self.outputs.only().varying)

    @property
    def read_count(self) -> int:
        return sum(v.read_count for v in self.outputs)

    @property
    def index(self) -> int:
        return self.place

    @property
    def kind(self) -> str:
        if self.primitive not in quantities.KIND_OF:
            raise Unsure(f"{self.primitive}: its kind")
        return quantities.KIND_OF[self.primitive]

    @property
    def uses(self) -> Uses:
        readers = self.program.readers
        places = sorted({p for v in self.raw.outvars for p in readers.get(id(v), ())})
        return Uses(self.program.world, [Equation(self.program, place) for place in places])

    @property
    def calls(self) -> int:
        return self.program.world.calls[id(self.program.body)]

    @property
    def phase(self) -> str:
        found = self.program.world.phases.of(self.raw)
        if found == UNKNOWN:
            raise Unsure("phase")
        return found

    @property
    def params(self) -> Params:
        return Params(self)

    @property
    def held(self) -> list[Any]:
        """The jaxprs of its parameters."""
        return [p for value in params_of(self.raw).values() for p in programs_in(value)]

    def program_of(self, name: str) -> Any:
        """The program of a parameter, or those of its container."""
        value = params_of(self.raw)[name]
        if is_program(value):
            return Program(self.program.world, value)
        return Held(Program(self.program.world, p) for p in programs_in(value))

    @property
    def contracts(self) -> tuple[tuple[int, int], ...]:
        found = costs.contracts(self.raw, self.primitive)
        if found is None:
            raise Refused("no contraction")
        return found

    @property
    def flops(self) -> int:
        return counted(lambda: costs.flops(self.raw, self.primitive))

    def part(self, name: str) -> Any:
        """Operands or results by what they are."""
        things = costs.parts(self.raw, self.primitive).get(name)
        if things is None:
            raise Refused(f"no {name}")
        found = Values(self.program.world, [Value(self.program, v) for v in things])
        return found.only() if name == "branch" else found

    def __getattr__(self, name: str) -> Any:
        if name in costs.WORDS:
            return self.part(name)
        if name.startswith("_") or not programs_in(params_of(self.raw).get(name)):
            raise Refused(f"an equation has no {name}")
        return self.program_of(name)


def counted(count: Callable[[], int | None]) -> int:
    """A number of operations."""
    try:
        found = count()
    except costs.NotCounted:
        raise Unsure("not counted") from None
    if found is None:
        raise Refused("no number of operations")
    return found


class Held(Listed):
    """Several programs of one parameter."""

    what = "programs"

    def __init__(self, programs: Iterable[Program]) -> None:
        super().__init__(None, programs)

    def __getitem__(self, key: Any) -> Any:
        return self.at(key)


# -- functions of the language


def ops(thing: Any) -> tuple[str, ...]:
    """The names of primitives in order."""
    return (thing.primitive,) if isinstance(thing, Equation) else tuple(e.primitive for e in thing)


def same(one: Any, two: Any, shapes: bool = True) -> bool:
    """Whether two programs or lists of equations are equal up to names of variables."""
    one, two = (Equations(None, [t]) if isinstance(t, Equation) else t for t in (one, two))
    if isinstance(one, Program) and isinstance(two, Program):
        return _Form(shapes).program(one.body) == _Form(shapes).program(two.body)
    return _Form(shapes).equations(one) == _Form(shapes).equations(two)


class _Form:
    """A program in which values are numbers."""

    def __init__(self, shapes: bool = True) -> None:
        self.shapes = shapes
        self.numbers: dict[int, int] = {}

    def bind(self, variable: Any) -> tuple[int, str]:
        self.numbers[id(variable)] = len(self.numbers)
        return self.numbers[id(variable)], self.type(variable)

    def type(self, operand: Any) -> str:
        return str(operand.aval) if self.shapes else str(getattr(operand.aval, "dtype", ""))

    def read(self, operand: Any) -> Any:
        if is_literal(operand):
            return self.type(operand), repr(operand.val)
        if id(operand) not in self.numbers:
            return "first", self.bind(operand)
        return self.numbers[id(operand)]

    def program(self, body: Any) -> Any:
        heads = [self.bind(v) for v in (*body.constvars, *body.invars)]
        rows = [self.equation(e) for e in body.eqns]
        return heads, rows, [self.read(v) for v in body.outvars]

    def equations(self, listed: Any) -> Any:
        return [self.equation(e.raw) for e in listed]

    def equation(self, raw: Any) -> Any:
        reads = [self.read(v) for v in raw.invars]
        # Where shapes don't count, nor do the parameters that name sizes; programs do.
        given = sorted(params_of(raw).items())
        params = [(n, normal(v)) for n, v in given if self.shapes or programs_in(v)]
        return raw.primitive.name, reads, [self.bind(v) for v in raw.outvars], params


def normal(value: Any) -> Any:
    """A parameter in a form that can be compared."""
    if is_program(value):
        return "program", _Form().program(body_of(value))
    if isinstance(value, dict):
        return "dict", [(key, normal(item)) for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [normal(item) for item in value]
    if callable(value) and not isinstance(value, type):
        return "function", type(value).__name__
    return re.sub(r"0x[0-9a-f]{6,}", "0x", f"{type(value).__name__} {value!r}")


# -- truth of an expression


class _Adapted(ast.NodeTransformer):
    """Names of dtypes become dtypes, equal by any name; there is one kind of list."""

    def visit_List(self, node: ast.List) -> ast.expr:
        return ast.Tuple([self.visit(item) for item in node.elts], ast.Load())

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        # The language makes a list before ``all`` or ``any`` looks at it.
        return self.visit_ListComp(node)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        self.generic_visit(node)
        return ast.Call(
            ast.Name("_tuple", ast.Load()), [ast.GeneratorExp(node.elt, node.generators)], []
        )

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        text = node.value
        if isinstance(text, str) and re.fullmatch(r"(b?float|u?int|complex|bf|f|u|i|c)\d+", text):
            return ast.Call(ast.Name("_dtype", ast.Load()), [node], [])
        return node


def truth(expression: str, blocks: dict[str, Block], words: Iterable[str]) -> Any:
    """What Python's ``eval`` makes of an expression over the views.

    ``words`` are the names that stand in brackets.  :class:`Refused` where it has no value.
    """
    tree = ast.fix_missing_locations(_Adapted().visit(ast.parse(expression, mode="eval")))
    scope: dict[str, Any] = {name: name for name in words}
    scope |= {"ops": ops, "same": same, "reads": reads, "depends": depends}
    scope |= {"_dtype": Dtype, "_tuple": tuple, **blocks}
    for name in ("len", "all", "any", "set", "sum", "min", "max", "sorted", "abs", "round"):
        scope[name] = getattr(builtins, name)
    scope["sorted"] = lambda items: tuple(sorted(items))
    try:
        found = eval(compile(tree, expression, "eval"), {"__builtins__": {}, **scope})  # noqa: S307 - over the oracle's views alone
    except (TypeError, IndexError, ZeroDivisionError, ValueError) as error:
        raise Refused(str(error)) from None
    return found
