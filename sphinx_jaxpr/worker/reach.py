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
    """

    def __init__(self, message: str, inside: str | None) -> None:
        super().__init__(message)
        self.inside = inside


@dataclass(frozen=True)
class Names:
    """The names of a module; ``allowed`` are the modules that they may lead into, if not all."""

    module: ModuleType
    allowed: tuple[str, ...] = ()

    def reach(self, path: str) -> Any:
        """The attribute that ``path`` names; :class:`Unreachable` where there is none."""
        found: Any = self.module
        done = ""
        for part in path.split("."):
            try:
                found = getattr(found, part)
            except AttributeError:
                known = [name for name in dir(found) if not name.startswith("__")]
                text = f"has no attribute {part!r}{nearest(part, known)}"
                raise Unreachable(text, done) from None
            done = f"{done}.{part}" if done else part
            if isinstance(found, ModuleType) and not self._may_enter(found.__name__):
                raise Unreachable(
                    f"{path!r} leads through the module {found.__name__!r}, which is outside"
                    f" jaxpr_allowed_modules ({', '.join(self.allowed)})",
                    None,
                )
        return found

    def _may_enter(self, module: str) -> bool:
        return not self.allowed or is_within(module, (*self.allowed, *ALWAYS))
