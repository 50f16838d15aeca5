"""The value of an expression, and what a path leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import Version
from .equality import kind
from .evidence import Idle, SaysNothing, nothing
from .given import plain
from .operators import truth
from .skipped import Skipped
from .syntax import PathError, parse
from .views import BlockView, Equations, EquationView, Programs, ProgramView, Scope
from .walker import Walker

__all__ = [
    "PathError",
    "Result",
    "Scope",
    "Walker",
    "evaluate",
    "judge",
    "resolve_block",
    "resolve_equation",
    "resolve_equations",
]


@dataclass(frozen=True)
class Result:
    """The value of an expression.

    ``hints`` are what the author should know (names that JAX changed).  ``sides``
    are, where the whole is a comparison, its parts: (text, value) of each side.
    """

    value: Any
    hints: tuple[str, ...] = ()
    sides: tuple[tuple[str, Any], ...] = ()

    @property
    def is_true(self) -> bool:
        """Whether it holds, as a claim."""
        return truth(self.value)


def evaluate(text: str, scope: Scope) -> Result:
    """The value of an expression; :class:`PathError` where it has none."""
    return _evaluated(Walker(parse(text), scope))


def judge(text: str, scope: Scope) -> Result:
    """The value of a claim, which must ask something of a program or a version."""
    walker = Walker(parse(text), scope)
    result = _evaluated(walker)
    if isinstance(result.value, Version):
        raise SaysNothing(
            f"`{result.value.path}` alone says nothing: compare it,"
            f' as in `{result.value.path} >= "0.12"`',
            0,
        )
    if not Skipped(walker).names_a_program():
        raise SaysNothing(
            f"`{walker.expression.text[:80]}` says nothing about a program: a claim names a block"
            " or a version",
            0,
        )
    return result


def _evaluated(walker: Walker) -> Result:
    value = walker.run()
    Skipped(walker).check()
    if isinstance(value, Idle) and (value or value.stays) and value.reason is not None:
        error = nothing(value.reason)
        error.offset = 0
        raise error
    sides = tuple((text, plain(side)) for text, side in walker.sides)
    return Result(plain(value), tuple(walker.asking.hints), sides)


def resolve_equation(text: str, scope: Scope, inside: str = "") -> EquationView:
    """The one equation that a path points at.

    ``inside`` is the name of a directive's base block, in which a note's path may
    start: ``[tanh]`` is an equation of the base, ``grad[tanh]`` of a variant.
    """
    return resolve(text, scope, inside)[0]


def resolve(text: str, scope: Scope, inside: str = "") -> tuple[EquationView, tuple[str, ...]]:
    """:func:`resolve_equation`, and the hints."""
    text = " ".join(text.split())
    prefix = inside if inside and text.startswith(("[", ".")) else ""
    try:
        walker = Walker(parse(prefix + text), scope, inside)
        value = walker.run()
        if isinstance(value, ProgramView):
            raise PathError(
                f"`{value.path}` is a program, not one equation; an equation is"
                f" `{value.path}[0]` or `{value.path}[{_first(value)}]`"
            )
        if isinstance(value, Equations):
            value = value.only()
        if not isinstance(value, EquationView):
            raise PathError(f"this is {kind(value)}, not one equation")
    except PathError as error:
        error.offset = max(0, error.offset - len(prefix))
        raise
    return value, tuple(walker.asking.hints)


def resolve_equations(text: str, scope: Scope, inside: str = "") -> Equations:
    """The equations that a path points at: one or many, or those of a program; never none."""
    text = " ".join(text.split())
    prefix = inside if inside and text.startswith(("[", ".")) else ""
    try:
        value = Walker(parse(prefix + text), scope, inside).run()
        if isinstance(value, EquationView):
            value = Equations(value.block, value.path, (value.equation,))
        if isinstance(value, Programs):
            own = [e for program in value.programs for e in program.equations]
            value = Equations(value.programs[0].block, value.path, own) if own else value
        if not isinstance(value, Equations):
            raise PathError(f"this is {kind(value)}, not equations")
        if not value.equations:
            raise PathError(value.missing())
    except PathError as error:
        error.offset = max(0, error.offset - len(prefix))
        raise
    return value


def resolve_block(text: str, scope: Scope) -> BlockView:
    """The block that a path names."""
    walker = Walker(parse(text), scope)
    value = walker.visit(walker.expression.body)
    if isinstance(value, BlockView):
        return value
    raise PathError(f"this is {kind(value)}, not a block", 0)


def _first(program: ProgramView) -> str:
    return program.equations[0].primitive if program.equations else "add"
