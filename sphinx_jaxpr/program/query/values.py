"""Values of a program as paths see them: operands, results, inputs, constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..facts import NO_NAMES, InputNames
from ..model import Operand, Variable
from . import lookups
from .base import Asking, View
from .blocks import INPUT, LITERAL, QueryBlock
from .syntax import PathError, nearest
from .vocabulary import Origin

#: Names of inputs that a message lists.
MOST_NAMES: Final = 12
OF_VALUES: Final = ("shape", "dtype", "origin", "uses", "text")


class Value(View):
    """One operand, result, input or constant."""

    __slots__ = ("block", "operand", "variable")
    block: QueryBlock
    variable: Variable | None
    operand: Operand | None

    def __init__(self, block: QueryBlock, path: str, thing: Variable | Operand) -> None:
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
        if self.variable is None and self.operand is not None and self.operand.text == "_":
            # JAX before 0.8 returns what it printed as dropped.
            raise PathError(f"`{self.path}` is printed as `_`, which does not say what it is")
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
    block: QueryBlock
    values: tuple[Value, ...]
    names: InputNames

    def __init__(
        self,
        block: QueryBlock,
        path: str,
        things: Iterable[Variable | Operand],
        make: type[Value],
        names: InputNames = NO_NAMES,
    ) -> None:
        values = tuple(make(block, f"{path}[{n}]", thing) for n, thing in enumerate(things))
        self._set(block, path, values, names)

    def _set(
        self, block: QueryBlock, path: str, values: tuple[Value, ...], names: InputNames
    ) -> None:
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
        return self.named(str(key))

    def named(self, key: str) -> Any:
        """One leaf, by its own name, or all leaves of an argument."""
        wanted = key.replace('"', "'")
        if wanted in self.names.leaves:
            return self.values[self.names.leaves.index(wanted)]
        if key not in self.names.known and key not in self.names.arguments:
            names = tuple(dict.fromkeys([*self.names.known, *self.names.leaves]))
            known = ", ".join(names[:MOST_NAMES]) + (", ..." if names[MOST_NAMES:] else "")
            near = nearest(key, names) or f" (names: {known or 'none, use a number'})"
            raise PathError(f"`{self.path}` has no `{key}`{near}")
        pairs = zip(self.values, self.names.arguments, strict=False)
        leaves = tuple(value for value, name in pairs if name == key)
        return self._some(f"{self.path}[{key}]", leaves, NO_NAMES)

    def sliced(self, key: slice) -> Values:
        """Some of them, by position."""
        path = self.path + lookups.slice_text(key)
        return self._some(path, self.values[key], self.names.sliced(key))

    def _some(self, path: str, values: tuple[Value, ...], names: InputNames) -> Values:
        found = Values.__new__(Values)
        found._set(self.block, path, values, names)
        return found

    def members(self) -> tuple[Value, ...]:
        return self.values

    def words(self) -> str:
        return ", ".join(value.words() for value in self.values) or "no values"
