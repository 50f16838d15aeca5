"""The parameters of an equation as paths see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .kinds import Asking, View
from .paths import PathError, nearest
from .renames import table
from .vocabulary import ParameterName


class Parameters(View):
    """The parameters of one equation, by name."""

    __slots__ = ("names", "primitive", "value")
    primitive: str
    names: tuple[str, ...]
    value: Callable[[str], Any]

    def __init__(
        self,
        path: str,
        key: tuple[Any, ...],
        primitive: str,
        names: Iterable[str],
        value: Callable[[str], Any],
    ) -> None:
        super().__init__(path, key)
        object.__setattr__(self, "primitive", primitive)
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "value", value)

    @property
    def what(self) -> str:
        return "the parameters of an equation"

    def attribute(self, name: str, asking: Asking) -> Any:
        raise PathError(f"a parameter is reached with brackets: `{self.path}[{name}]`")

    def has(self, name: str, asking: Asking) -> bool:
        """Whether there is a parameter of this name, or of the one that it became."""
        ParameterName.check(name, asking)
        if name in self.names:
            return True
        if real := table().parameter(self.primitive, name, self.names):
            asking.hint(f"the parameter `{name}` of `{self.primitive}` is `{real}` here")
        elif hint := table().hint(self.primitive, name):
            asking.hint(hint)
        return bool(real)

    def item(self, key: Any, asking: Asking) -> Any:
        if not isinstance(key, str):
            raise PathError(f"a parameter is named: `{self.path}[name]`, not by number")
        asking.spend(20)
        if key in self.names:
            return self.value(key)
        real = table().parameter(self.primitive, key, self.names)
        hint = table().hint(self.primitive, key)
        if real:
            asking.hint(f"the parameter `{key}` of `{self.primitive}` is `{real}` here")
            return self.value(real)
        known = nearest(key, self.names) or f" (it has: {', '.join(self.names) or 'none'})"
        raise PathError(
            f"`{self.primitive}` has no parameter `{key}`{f'; {hint}' if hint else known}"
        )

    def members(self) -> tuple[ParameterName, ...]:
        return tuple(map(ParameterName, self.names))

    def words(self) -> str:
        return ", ".join(self.names)
