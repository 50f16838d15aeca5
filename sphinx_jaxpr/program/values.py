"""Values of a program as paths see them: operands, results, inputs, constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from . import lookups
from .blocks import INPUT, LITERAL, Block
from .kinds import Asking, View
from .model import Operand, Variable
from .paths import PathError
from .vocabulary import Origin

OF_VALUES: Final = ("shape", "dtype", "origin", "uses", "text")


class Value(View):
    """One operand, result, input or constant."""

    __slots__ = ("block", "operand", "variable")
    block: Block
    variable: Variable | None
    operand: Operand | None

    def __init__(self, block: Block, path: str, thing: Variable | Operand) -> None:
        variable = thing if isinstance(thing, Variable) else thing.variable
        operand = None if isinstance(thing, Variable) else thing
        place = ("variable", variable.index) if variable else ("operand", id(operand))
        super().__init__(path, (id(block), *place))
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "operand", operand)

    @property
    def what(self) -> str:
        return "a value of a program"

    @property
    def type(self) -> str:
        """The printed type."""
        if self.variable is not None:
            return self.block.index.type_of(self.variable)
        return self.operand.type if self.operand else ""

    @property
    def origin(self) -> Origin:
        """Where it comes from."""
        if self.variable is None:
            return Origin(LITERAL)
        return Origin(self.block.index.made.get(self.variable.index, (INPUT, None))[0])

    def attribute(self, name: str, asking: Asking) -> Any:
        match name:
            case "shape":
                return lookups.shape(self.path, self.type)
            case "dtype":
                return lookups.dtype(self.path, self.type)
            case "origin":
                return self.origin
            case "text" if self.variable is None and self.operand is not None:
                return self.operand.text
            case "text":
                raise PathError(
                    f"`{self.path}` is a variable: its letter changes between JAX releases"
                )
        raise PathError(lookups.no_attribute(self, name, OF_VALUES))

    def words(self) -> str:
        return (self.operand.text if self.operand and not self.variable else "") or self.type


class Values(View):
    """Operands, results, inputs, in order; inputs of a block have names too."""

    __slots__ = ("block", "names", "values")
    block: Block
    values: tuple[Value, ...]
    names: tuple[str, ...]

    def __init__(
        self,
        block: Block,
        path: str,
        things: Iterable[Variable | Operand],
        make: type[Value],
        names: tuple[str, ...] = (),
    ) -> None:
        values = tuple(make(block, f"{path}[{n}]", thing) for n, thing in enumerate(things))
        super().__init__(path, (id(block), "values", *(value.key for value in values)))
        object.__setattr__(self, "block", block)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "names", names)

    @property
    def what(self) -> str:
        return lookups.count_of(len(self.values), "value")

    def attribute(self, name: str, asking: Asking) -> Any:
        if len(self.values) == 1:
            return self.values[0].attribute(name, asking)
        raise PathError(lookups.of_one(self.path, name, len(self.values), "value"))

    def item(self, key: Any, asking: Asking) -> Any:
        if isinstance(key, slice):
            return self.sliced(key)
        if isinstance(key, int):
            return lookups.at(self.values, key, self.path, "value")
        found = [v for v, name in zip(self.values, self.names, strict=False) if name == key]
        if not found:
            known = ", ".join(dict.fromkeys(self.names)) or "none, use a number"
            raise PathError(f"`{self.path}` has no `{key}` (names: {known})")
        return found[0] if len(found) == 1 else tuple(found)

    def sliced(self, key: slice) -> Values:
        """Some of them, by position."""
        path = self.path + lookups.slice_text(key)
        found = [v.variable or v.operand for v in self.values[key]]
        make = type(self.values[0]) if self.values else Value
        things = [thing for thing in found if thing is not None]
        return Values(self.block, path, things, make, self.names[key])

    def members(self) -> tuple[Value, ...]:
        return self.values

    def words(self) -> str:
        return ", ".join(value.words() for value in self.values) or "no values"
