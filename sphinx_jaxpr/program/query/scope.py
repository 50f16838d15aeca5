"""Where names lead: blocks by their names, and versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .base import Asking, Error, View
from .blocks import QueryBlock
from .syntax import NoProgram, PathError, nearest
from .views import OF_EQUATIONS, OF_PROGRAMS, ProgramView
from .vocabulary import Phase


@dataclass(frozen=True)
class Scope:
    """What an expression may name.

    ``blocks`` maps full names (``dense``, ``dense.grad``) to blocks; where a page
    has a block of its own by a name, the caller puts that one.  ``versions`` has
    ``jax``, ``jaxlib`` and ``python``, as far as they are known.  ``primitives``
    are names that count as known beside those of the built-in definitions;
    ``left_out`` are blocks that the page has, and this build does not show.
    """

    blocks: Mapping[str, QueryBlock]
    versions: Mapping[str, str] = field(default_factory=dict)
    primitives: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()


class BlockView(View):
    """A block by its name; its program, where it has one."""

    __slots__ = ("block",)
    block: QueryBlock

    def __init__(self, block: QueryBlock) -> None:
        super().__init__(block.name, (id(block), "block"))
        object.__setattr__(self, "block", block)

    def program(self) -> ProgramView:
        """Its program; an error says why there is none."""
        block = self.block
        if block.printed is not None and block.printed.program is not None:
            return ProgramView(block, block.name, block.printed.program)
        if block.failed:
            raise NoProgram(f"`{block.name}` could not be traced")
        if block.error is not None:
            raise PathError(f"`{block.name}` has no program: {block.error[0]}: {block.error[1]}")
        raise PathError(f"`{block.name}` has no program that could be read")

    def attribute(self, name: str, asking: Asking) -> Any:
        inner = asking.blocks.get(f"{self.path}.{name}")
        if inner is not None:
            return BlockView(inner)
        if name == "error":
            if self.block.failed:
                self.program()
            if self.block.error is None:
                raise PathError(f"`{self.path}` has no error: it could be traced")
            return Error(f"{self.path}.error", self.block.error)
        if name in OF_PROGRAMS or name in OF_EQUATIONS:
            return self.program().attribute(name, asking)
        raise PathError(self.unknown(name, asking))

    def unknown(self, name: str, asking: Asking) -> str:
        """That it has no such variant or attribute, and what is near."""
        if name in OF_EQUATIONS:
            return (
                f"`{self.path}` is a program; `.{name}` is of one equation, `{self.path}[0].{name}`"
            )
        start = self.path + "."
        labels = [key[len(start) :] for key in asking.blocks if key.startswith(start)]
        if self.block.printed is not None and name in self.block.primitives:
            return f"`{self.path}` has no variant `{name}`; equations are `{self.path}[{name}]`"
        meant = Phase.meant.get(name.lower())  # as `.backward`
        known = f"; nearest: {meant}" if meant else nearest(name, (*labels, *OF_PROGRAMS))
        if not known:
            said = "variants" if labels else "it has"
            known = f" ({said}: {', '.join(labels or OF_PROGRAMS)})"
        return f"`{self.path}` has no variant or attribute `{name}`{known}"
