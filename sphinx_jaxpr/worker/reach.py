"""What a dotted name of a page leads to: attributes, step by step, from a module on."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from ..tracing.grammar import nearest
from .jaxprs import is_jaxpr
from .permitted import Permit


class Unreachable(Exception):
    """Why a name leads nowhere.

    ``inside`` is the part of it up to the object that has no such attribute, ``""`` for the
    module itself; ``None`` where the name leads to what it may not be used for.
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
        """The value that ``path`` names; :class:`Unreachable` where there is none."""
        return self.find(path)[0]

    def find(self, path: str, *, called: bool = False) -> tuple[Any, ModuleType]:
        """The attribute that ``path`` names, and the module that has it.

        What is going to be ``called`` must be of a module that is allowed.
        """
        problems: list[Unreachable] = []
        # By identity: a module may have put any object in its place.
        modules = list({id(one): one for one in (self.module, *self.further)}.values())
        for module in modules:
            try:
                return self._in(module, path, called), module
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

    def check_call(self, found: Any, path: str) -> None:
        """:class:`Unreachable` where a page may not have ``found`` called."""
        if self.allowed:
            self._check(path, self.module, Permit(self.allowed).call(found))

    def _in(self, module: ModuleType, path: str, called: bool) -> Any:
        permit = Permit(self.allowed) if self.allowed else None
        found: Any = module
        done = ""
        for part in path.split("."):
            owner = found
            if permit:
                self._check(path, module, permit.ask(owner, part))
            try:
                found = getattr(owner, part)
            except AttributeError:
                known = [name for name in dir(owner) if not name.startswith("__")]
                text = f"has no attribute {part!r}{nearest(part, known)}"
                raise Unreachable(text, done, module.__name__) from None
            done = f"{done}.{part}" if done else part
            if permit and isinstance(found, ModuleType):
                self._check(path, module, permit.enter(found))
            elif permit and not called:
                self._check(path, module, permit.take(owner, found))
        if permit:
            self._check(path, module, self._end(permit, found, called))
        return found

    @staticmethod
    def _end(permit: Permit, found: Any, called: bool) -> str:
        if not called:
            return permit.value(found)
        return permit.call(found) if callable(found) and not is_jaxpr(found) else ""

    @staticmethod
    def _check(path: str, module: ModuleType, refusal: str) -> None:
        if refusal:
            raise Unreachable(f"{path!r} {refusal}", None, module.__name__)
