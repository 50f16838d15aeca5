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
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from .flow import Kept, Lost, Spread
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


class Refused(Exception):
    """An expression has no value."""


class Unsure(Exception):
    """The oracle can't tell."""


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


class Value:
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


class Program(Equations):
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
    def residuals(self) -> Values:
        """What its backward part reads and did not make."""
        kept = self.world.kept
        if id(self.body) in kept.lost or any(
            self.world.phases.of(e) == UNKNOWN for e in self.body.eqns
        ):
            raise Unsure("residuals")
        if id(self.body) not in kept.backward:
            raise Refused("no backward part")
        found = kept.found.get(id(self.body), set())
        return Values(self.world, [v for v in self.variables if id(v.thing) in found])

    @property
    def effects(self) -> tuple[str, ...]:
        return tuple(sorted({effect_name(effect) for effect in self.body.effects}))

    @property
    def calls(self) -> int:
        return self.world.calls[id(self.body)]

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
        self.variants: dict[str, Block] = {}
        self.phases = Phases(program, tangents, seeds)
        self.cotangents: list[int] = []
        self.seeded = 0  # see `transforms.Made`

    @cached_property
    def kept(self) -> Kept:
        """What the backward parts of its programs read and did not make."""
        return Kept(self.closed, self.phases.of, self.cotangents, self._makes_cotangents)

    def _makes_cotangents(self, equation: Any) -> bool:
        """Whether it stands outside of what is differentiated, in a Jacobian by rows."""
        stack = equation.source_info.name_stack.stack
        names = [item.name for item in stack if type(item).__name__ == "Transform"]
        return "transpose" not in names and names.count("jvp") == self.seeded - 1

    def __getattr__(self, name: str) -> Any:
        variants = self.__dict__.get("variants", {})
        return variants[name] if name in variants else super().__getattr__(name)

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


class Equation:
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

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not programs_in(params_of(self.raw).get(name)):
            raise Refused(f"an equation has no {name}")
        return self.program_of(name)


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


def single(thing: Any) -> Any:
    """The one thing that a collection has."""
    if isinstance(thing, Program) or not isinstance(thing, (Equation, Value, Equations, Values)):
        raise Refused("neither an equation nor a value")
    return thing.only() if isinstance(thing, Listed) else thing


def _pair(one: Any, two: Any) -> tuple[Any, Any]:
    one, two = single(one), single(two)
    if any(isinstance(v, Value) and type(v.thing).__name__ == "DropVar" for v in (one, two)):
        raise Unsure("JAX 0.7 returns what it prints as dropped")
    if isinstance(two, Value) and is_literal(two.thing):
        raise Refused("a literal")
    if isinstance(one, Value) and is_literal(one.thing):
        return one, two
    if one.program.world is not two.program.world or one.program.body is not two.program.body:
        raise Refused("two programs")
    return one, two


def reads(one: Any, two: Any) -> bool:
    """Whether an equation has a value, or a result of another equation, as an operand."""
    if isinstance(single(one), Value):
        raise Refused("a value reads nothing")
    one, two = _pair(one, two)
    sources = two.raw.outvars if isinstance(two, Equation) else [two.thing]
    return any(v is source for v in one.raw.invars for source in sources)


def depends(one: Any, two: Any) -> bool:
    """Whether a value, or an operand of an equation, is computed from something."""
    one, two = _pair(one, two)
    if isinstance(one, Value) and is_literal(one.thing):
        return False
    body = two.program.body
    try:
        if isinstance(two, Equation):
            spread = Spread(body, (), two.raw)
        else:
            spread = Spread(body, [id(two.thing)])
    except Lost:
        raise Unsure("a program inside") from None
    if isinstance(one, Equation):
        return id(one.raw) in spread.reading
    return id(one.thing) in spread.ids


#: What says how large something is, or which axes are meant: of these only words count.
ABOUT_SHAPES = frozenset(
    """shape new_sizes sizes slice_sizes axis axes dimension dimensions broadcast_dimensions
    dimension_numbers permutation start_indices limit_indices strides padding_config length
    axis_size axis_index_groups split_axis concat_axis all_gather_dimension scatter_dimension
    window_dimensions window_strides padding base_dilation window_dilation lhs_dilation
    rhs_dilation sharding out_sharding in_shardings out_shardings in_specs out_specs in_layouts
    out_layouts""".split()
)


class _Form:
    """A program in which values are numbers."""

    def __init__(self, shapes: bool = True) -> None:
        self.numbers: dict[int, int] = {}
        self.shapes = shapes

    def bind(self, variable: Any) -> tuple[int, str]:
        self.numbers[id(variable)] = len(self.numbers)
        return self.numbers[id(variable)], self.type(variable.aval)

    def type(self, aval: Any) -> str:
        """A type, without its sizes where these don't count."""
        return str(aval) if self.shapes else re.sub(r"\[[^]]*\]", "", str(aval))

    def read(self, operand: Any) -> Any:
        if is_literal(operand):
            return self.type(operand.aval), repr(operand.val)
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
        params = [
            (name, self.parameter(name, value)) for name, value in sorted(params_of(raw).items())
        ]
        return raw.primitive.name, reads, [self.bind(v) for v in raw.outvars], params

    def parameter(self, name: str, value: Any) -> Any:
        if self.shapes or name not in ABOUT_SHAPES:
            return normal(value, self.shapes)
        return re.findall(r"[A-Za-z_]\w*", re.sub(r"\bnp\.\w+\(", "(", repr(value)))


def normal(value: Any, shapes: bool = True) -> Any:
    """A parameter in a form that can be compared."""
    if is_program(value):
        return "program", _Form(shapes).program(body_of(value))
    if isinstance(value, dict):
        return "dict", [(key, normal(item, shapes)) for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [normal(item, shapes) for item in value]
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
    scope |= {"reads": reads, "depends": depends}
    scope |= {"ops": ops, "same": same, "_dtype": Dtype, "_tuple": tuple, **blocks}
    for name in ("len", "all", "any", "set", "sum", "min", "max", "sorted", "abs", "round"):
        scope[name] = getattr(builtins, name)
    scope["sorted"] = lambda items: tuple(sorted(items))
    try:
        found = eval(compile(tree, expression, "eval"), {"__builtins__": {}, **scope})  # noqa: S307 - over the oracle's views alone
    except (TypeError, IndexError, ZeroDivisionError, ValueError) as error:
        raise Refused(str(error)) from None
    return found
