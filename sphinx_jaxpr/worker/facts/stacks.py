"""What JAX's name stacks, of transforms and named scopes, say about an equation's phase.

Each equation has its own name stack, preceded by those of the equations around it.  Reads
attributes only: in a JAX without a ``stack`` of items, its text is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

#: Primitives whose programs are recomputed when they are differentiated.
REMAT: Final = frozenset({"remat", "remat2", "checkpoint"})

_REMATTED: Final = "rematted_computation"
# Scopes that ``jacfwd``, ``jacrev`` and ``hessian`` are put into: between the two of a level,
# JAX makes the tangents that go into the function, or the cotangents of its results.
_SCOPE: Final = re.compile(r"sphinx-jaxpr-(outside|inside|around|within)-(\d+)")
_TRANSFORMS: Final = frozenset({"jvp", "transpose", "vmap", "pmap", "shard_map", "jit", "pjit"})
_WORD: Final = re.compile(r"([\w.]+)\((?=.*\))|[^/()]+")


def scope(side: str, level: int) -> str:
    """The name of a scope: ``outside`` or ``inside`` a transform that creates tangents.

    ``around`` and ``within`` are the same for one that creates cotangents.
    """
    return f"sphinx-jaxpr-{side}-{level}"


class Context(NamedTuple):
    """The context of an equation, or of the program around it.

    ``backward`` is ``"transpose"``, ``"recomputed"`` or ``""``; ``linear`` whether
    JAX differentiates forward here; ``outside`` and ``inside`` have a bit for each
    level of :func:`scope` entered, ``around`` and ``within`` too; ``in_remat``: what is
    inside is the program of a remat that was differentiated.
    """

    backward: str = ""
    linear: bool = False
    outside: int = 0
    inside: int = 0
    in_remat: bool = False
    around: int = 0
    within: int = 0

    @property
    def seeds(self) -> int:
        """The levels at which cotangents are created here."""
        return self.around & ~self.within

    @property
    def between(self) -> int:
        """The levels at which tangents are created here."""
        return self.outside & ~self.inside

    def at(self, name_stack: Any, is_remat: bool, dissolves: bool, again: bool) -> Context:
        """The context of an equation with this stack, in a program with this context.

        ``dissolves``: there may be equations here that were in a remat.  ``again``: it
        is a remat that computes its program a second time.
        """
        backward, linear = self.backward, self.linear
        outside, inside = self.outside, self.inside
        around, within = self.around, self.within
        before, differentiated_twice = "", False
        for is_transform, name in items(name_stack):
            if is_transform and name == "transpose":
                differentiated_twice = linear
                backward = "transpose"
            elif is_transform:
                linear = linear or name == "jvp"
                # What JAX differentiates here takes the tangents created before.
                inside |= outside * (name == "jvp")
                within |= around * (name == "jvp")
            elif match := _SCOPE.fullmatch(name):
                bit = 1 << int(match[2])
                outside |= bit * (match[1] == "outside")
                inside |= bit * (match[1] == "inside")
                around |= bit * (match[1] == "around")
                within |= bit * (match[1] == "within")
                continue
            elif name == _REMATTED:
                # JAX's own scope begins the stacks inside a remat; where a second
                # derivative has dissolved the remat, it is right behind the transforms.
                # Anywhere else it is a scope that a user gave this name.
                first = self.in_remat and before != "scope"
                dissolved = differentiated_twice and before == "transform" and not is_remat
                if first or (dissolved and dissolves):
                    backward = "recomputed"
            before = "transform" if is_transform else "scope"
        return Context(backward, linear, outside, inside, again, around, within)


def differentiates(name_stack: Any) -> bool:
    """Whether a stack says that JAX differentiates: only then has any equation a phase."""
    return any(
        name in ("jvp", "transpose") if is_transform else name == _REMATTED
        for is_transform, name in items(name_stack)
    )


def items(name_stack: Any) -> Iterator[tuple[bool, str]]:
    """``(is a transform, name)`` of each item, the outermost first."""
    stack = getattr(name_stack, "stack", None)
    if stack is None:
        for match in _WORD.finditer(str(name_stack)):
            word = match[1] or match[0]
            yield match[1] is not None and word in _TRANSFORMS, word
        return
    for item in stack:
        yield type(item).__name__ == "Transform", str(getattr(item, "name", item))
