"""The meaning of names in options: what they reach beside the target's own module.

A name is looked up in the module of the target, in those of the text around it, in the code of
the page, and in the object that ``make`` made.  ``jax``, ``jnp`` and ``lax`` mean JAX where none
of these has such a name.  ``module:name`` is looked up in that module alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final, TypeVar

from ...tracing.grammar import Call, Name
from ..failures import RequestError
from ..stage import fresh
from .reach import Permit, ReachableNames, Unreachable, name_of
from .target import longest

#: Names that need no import, and the modules that they mean.
_ALWAYS: Final = {"jax": "jax", "jnp": "jax.numpy", "lax": "jax.lax"}

_Key = TypeVar("_Key")


@dataclass(frozen=True)
class OptionNames(ReachableNames):
    """The names of a request's options; ``load`` imports a module that the page names.

    ``made`` is what ``make`` returned, if the request has it: its attributes are names, too.
    """

    load: Callable[[str], ModuleType] = field(kw_only=True)
    made: Any = None

    @property
    def word(self) -> str:
        """The name of ``made`` in the displayed call, which no module uses for anything else."""
        taken = tuple(name for module in self._modules for name in dir(module))
        return fresh(taken, "made")

    @property
    def _modules(self) -> tuple[ModuleType, ...]:
        return (self.module, *self.further)

    def find(self, path: str, *, called: bool = False) -> tuple[Any, ModuleType]:
        """As for other names; the module of an attribute of ``made`` is that of the target."""
        name, colon, rest = path.partition(":")
        if colon:
            module = self._loaded(name)
            return self.follow(module, rest, called, name_of(module)), module
        try:
            return super().find(path, called=called)
        except Unreachable as error:
            if error.inside == "":
                return self._beside(path, called, error)
            first, _, rest = path.partition(".")
            hint = _hint(first, rest) if error.inside == first and first not in _ALWAYS else ""
            raise Unreachable(f"{error}{hint}", error.inside, error.module) from None

    def _beside(self, path: str, called: bool, missing: Unreachable) -> tuple[Any, ModuleType]:
        """What a name means that no module of the target has."""
        first, dot, rest = path.partition(".")
        if self.made is not None:
            inner = rest if dot and first == self.word else path
            try:
                return self.follow(self.made, inner, called, name_of(self.module)), self.module
            except Unreachable as error:
                if error.inside != "":
                    raise
        if first not in _ALWAYS:
            raise Unreachable(f"{missing}{_hint(first, rest)}", "", missing.module)
        if not dot:
            module = self._loaded(_ALWAYS[first])
            refusal = Permit(self.allowed).value(module) if self.allowed else ""
            self._check(path, name_of(module), refusal)
            return module, module
        try:
            module, inner = longest(f"{_ALWAYS[first]}.{rest}", self.load, self.allowed)
        except RequestError as error:
            raise Unreachable(str(error), None, _ALWAYS[first]) from None
        return self.follow(module, inner, called, name_of(module)), module

    def _loaded(self, name: str) -> ModuleType:
        try:
            return self.load(name)
        except RequestError as error:  # it names the module
            raise Unreachable(str(error), None, name) from None

    # -- names that the displayed call can use

    def spelled(self, pairs: Iterable[tuple[_Key, Any]]) -> tuple[tuple[_Key, Any], ...]:
        """Arguments whose names need no import but that of JAX: ``jnp.tanh`` is ``jax.numpy.tanh``.

        Names that the target's module or the page's code has stay as they are.
        """
        return tuple((key, self._spelled(value)) for key, value in pairs)

    def _spelled(self, value: Any) -> Any:
        if isinstance(value, Name):
            return Name(self._spelled_name(value.text))
        if isinstance(value, Call):
            items = tuple(map(self._spelled, value.arguments))
            return Call(self._spelled_name(value.name), items, self.spelled(value.keywords))
        if type(value) is dict:
            return {key: self._spelled(item) for key, item in value.items()}
        if type(value) in (tuple, list):
            return type(value)(map(self._spelled, value))
        return value

    def _spelled_name(self, text: str) -> str:
        first, dot, rest = text.partition(".")
        if ":" in text or any(hasattr(module, first) for module in self._modules):
            return text
        if self.made is not None and self._is_made(first):
            return f"{self.word}.{text}"
        return f"{_ALWAYS[first]}.{rest}" if dot and first in _ALWAYS else text

    def _is_made(self, name: str) -> bool:
        try:
            self.follow(self.made, name, True, name_of(self.module))
        except Unreachable:
            return False
        return True


def _hint(first: str, rest: str) -> str:
    """How to name an object of a module that exists, if a name begins with one."""
    try:
        exists = bool(rest) and find_spec(first) is not None
    except (ImportError, ValueError):
        return ""
    path = f"{first}.{rest}"
    module, _, name = path.rpartition(".")
    return f"; for a name of a module, write {module}:{name}" if exists else ""
