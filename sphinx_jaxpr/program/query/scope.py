"""The names of an expression: blocks by their names, and versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from typing import Any, TypeAlias

from ..model import MAX_REPR, Printed
from ..parser.parser import parse
from ..text import clipped, expect, shorten
from . import values
from .base import MAX_STEPS, Asking, Error, View
from .blocks import QueryBlock
from .syntax import ALSO_BLOCKS, FUNCTIONS, VERSIONS, NoProgram, PathError, nearest
from .views import OF_EQUATIONS, OF_PROGRAMS, ProgramView
from .vocabulary import Phase


@dataclass(frozen=True, repr=False)
class Scope:
    """What an expression may name.

    ``blocks`` maps full names (``dense``, ``dense.grad``) to blocks; where a page
    has a block of its own by a name, the caller puts that one.  ``versions`` has
    ``jax``, ``jaxlib`` and ``python``, as far as they are known.  ``primitives``
    are names that count as known beside those of the built-in definitions;
    ``left_out`` are blocks that the page has, and this build does not show.
    ``lets`` are expressions by the names that others may use for them; one with
    the name of a block is never looked up.  ``kinds`` are those of primitives that a
    project defines.
    """

    blocks: Mapping[str, QueryBlock]
    versions: Mapping[str, str] = field(default_factory=dict)
    primitives: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()
    # What messages suggest, where `blocks` are only those that the expression can mean.
    names: Iterable[str] = ()
    lets: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    steps: int = MAX_STEPS  # that one expression may take

    @classmethod
    def of(cls, programs: NamedPrograms, versions: Mapping[str, str] | None = None) -> Scope:
        """What an expression may name, from programs by their names.

        A name is an identifier, ``f``, or that of a variant, ``f.grad``, whose base ``f`` is
        given too.  A program is what :func:`parse` returns, a text to parse, or one
        of the programs of ``sphinx_jaxpr.testing.trace``.  ``versions`` may have
        ``jax``, ``jaxlib`` and ``python``; without it, a scope keeps its own.

        Raises :exc:`ValueError` for a name that no expression can have, and for a variant
        without its base; :exc:`TypeError` for what is not a program, or not a version.
        """
        expect(versions or {}, Mapping, "a mapping from names to versions")
        for name, version in (versions or {}).items():
            expect(name, str, "a text as the name of what has a version")
            expect(version, str, f"a text as the version of `{name}`")
        if isinstance(programs, Scope):
            return programs if versions is None else replace(programs, versions=versions)
        expect(programs, Mapping, "a mapping from names to programs")
        blocks: dict[str, QueryBlock] = {}
        for name in sorted(programs, key=_is_variant):  # bases come first
            base = _base(name, blocks) if _is_variant(name) else None
            blocks[name] = _block(name, programs[name], base)
        primitives = (block.primitives for block in blocks.values())
        return cls(blocks, versions or {}, frozenset().union(*primitives))

    def __repr__(self) -> str:
        return f"<Scope of {clipped(', '.join(self.blocks) or 'no programs', MAX_REPR)}>"


#: Programs by their names, ``f`` and for a variant ``f.grad``; or the scope made of them.
NamedPrograms: TypeAlias = Scope | Mapping[str, Printed | str | QueryBlock]


def _is_variant(name: str) -> bool:
    """Whether a name is that of a variant; an error where it is not a name."""
    expect(name, str, "a text as the name of a program")
    head, dot, label = name.partition(".")
    for word in (head, label) if dot else (head,):
        if not (word.isascii() and word.isidentifier()) or iskeyword(word):
            raise ValueError(f"{shorten(name)} cannot name a program; expected `f` or `f.grad`")
    if head in FUNCTIONS - ALSO_BLOCKS or head in VERSIONS:
        raise ValueError(f"`{head}` cannot name a program: it has a meaning in expressions")
    return bool(dot)


def _base(name: str, blocks: Mapping[str, QueryBlock]) -> QueryBlock:
    """The base of a variant; an error where it is not given."""
    base = name.partition(".")[0]
    if base not in blocks:
        raise ValueError(f"`{name}` names a variant of `{base}`, which is not among the programs")
    return blocks[base]


def _block(name: str, program: Printed | str | QueryBlock, base: QueryBlock | None) -> QueryBlock:
    """A program under a name of the caller's."""
    if isinstance(program, QueryBlock):
        is_ready = program.name == name and program.base is base
        return program if is_ready else replace(program, name=name, base=base)
    if isinstance(program, str):
        program = parse(program)
    expect(program, Printed, f"a program or its text as `{name}`")
    return QueryBlock(name, program, base=base)


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
        raise PathError(f"`{block.name}` has no program that can be read")

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
            return values.of_equation(self.path, name)
        start = self.path + "."
        labels = [key[len(start) :] for key in asking.blocks if key.startswith(start)]
        if self.block.printed is not None and name in self.block.primitives:
            path = self.path + values.in_brackets(name)
            return f"`{self.path}` has no variant `{name}`; equations are `{path}`"
        meant = Phase.meant.get(name.lower())  # as `.backward`
        hint = f", did you mean `{meant}`?" if meant else nearest(name, (*labels, *OF_PROGRAMS))
        if not hint:
            head = "variants" if labels else "it has"
            hint = f" ({head}: {', '.join(labels or OF_PROGRAMS)})"
        return f"`{self.path}` has no variant or attribute `{name}`{hint}"
