"""What a dotted name of a page leads to: attributes, step by step, from a module on."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from ..tracing.grammar import nearest
from ..tracing.request import is_within

#: Modules that a name may pass through wherever it may go at all: ``jax.nn.relu``.
ALWAYS: Final = ("jax",)


class Unreachable(Exception):
    """Why a name leads nowhere.

    ``inside`` is the part of it up to the object that has no such attribute, ``""`` for the
    module itself; ``None`` where the name leads into a module that it may not enter.
    ``module`` is where the name was looked up.
    """

    def __init__(self, message: str, inside: str | None, module: str) -> None:
        super().__init__(message)
        self.inside = inside
        self.module = module


@dataclass(frozen=True)
class Names:
    """The names of a module; ``allowed`` are the modules that they may lead into, if not all.

    What the module has not is looked up in ``further`` ones, in their order.
    """

    module: ModuleType
    allowed: tuple[str, ...] = ()
    further: tuple[ModuleType, ...] = ()

    def reach(self, path: str) -> Any:
        """The attribute that ``path`` names; :class:`Unreachable` where there is none."""
        return self.find(path)[0]

    def find(self, path: str) -> tuple[Any, ModuleType]:
        """The attribute that ``path`` names, and the module that has it."""
        problems: list[Unreachable] = []
        # By identity: a module may have put any object in its place.
        modules = list({id(one): one for one in (self.module, *self.further)}.values())
        for module in modules:
            try:
                return self._in(module, path), module
            except Unreachable as error:
                problems.append(error)
        for problem in problems:
            if problem.inside != "":  # it leads somewhere there
                raise problem
        if len(modules) == 1:
            raise problems[0]
        first = path.partition(".")[0]
        known = [name for module in modules for name in dir(module) if not name.startswith("__")]
        others = ", ".join(f"module {module.__name__!r}" for module in modules[1:])
        text = f"has no attribute {first!r}, nor has {others}{nearest(first, known)}"
        raise Unreachable(text, "", self.module.__name__)

    def _in(self, module: ModuleType, path: str) -> Any:
        found: Any = module
        done = ""
        for part in path.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                known = [name for name in dir(found) if not name.startswith("__")]
                text = f"has no attribute {part!r}{nearest(part, known)}"
                raise Unreachable(text, done, module.__name__) from None
            done = f"{done}.{part}" if done else part
            if isinstance(found, ModuleType) and not self._may_enter(found.__name__):
                raise Unreachable(
                    f"{path!r} leads through the module {found.__name__!r}, which is outside"
                    f" jaxpr_allowed_modules ({', '.join(self.allowed)})",
                    None,
                    module.__name__,
                )
        return found

    def _may_enter(self, module: str) -> bool:
        return not self.allowed or is_within(module, (*self.allowed, *ALWAYS))
