"""The oracle's views over jaxpr objects.

They are written so that Python's own ``eval`` of an expression over them gives what is
true: see ``language.py``.  Nothing of the product is imported; meanings are those of the
reference (``docs/reference/paths.md``, ``facts.md``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from . import costs, quantities
from .data import Dtype, effect_name, plain, shape_of, short, word
from .dataflow import Refused, Unsure
from .kept import Kept
from .listed import Listed
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
    def effects(self) -> tuple[str, ...]:
        return tuple(sorted({effect_name(effect) for effect in self.body.effects}))

    @property
    def calls(self) -> int:
        return self.world.calls[id(self.body)]

    @property
    def flops(self) -> int:
        return counted(lambda: costs.total(self.body))

    @property
    def residuals(self) -> Values:
        """What its backward part reads and did not make."""
        kept, phases = self.world.kept, self.world.phases
        if id(self.body) in kept.lost or any(phases.of(e) == UNKNOWN for e in self.body.eqns):
            raise Unsure("residuals")
        if id(self.body) not in kept.backward:
            raise Refused("no backward part")
        found = kept.found.get(id(self.body), set())
        return Values(self.world, [v for v in self.variables if id(v.thing) in found])

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
        #: Places of the inputs that are cotangents.
        self.cotangents = [n for n, (owner, _) in enumerate(names) if owner == "ct"]
        self.seeded = 0  # see `transforms.Made`
        self.variants: dict[str, Block] = {}
        self.phases = Phases(program, tangents, seeds)

    def __getattr__(self, name: str) -> Any:
        variants = self.__dict__.get("variants", {})
        return variants[name] if name in variants else super().__getattr__(name)

    @cached_property
    def kept(self) -> Kept:
        """What the backward parts of its programs read and did not make."""
        return Kept(self.closed, self.phases.of, self.cotangents, self._makes_cotangents)

    def _makes_cotangents(self, equation: Any) -> bool:
        """Whether it is outside of what is differentiated, in a Jacobian by rows."""
        stack = equation.source_info.name_stack.stack
        names = [item.name for item in stack if type(item).__name__ == "Transform"]
        return "transpose" not in names and names.count("jvp") == self.seeded - 1

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
