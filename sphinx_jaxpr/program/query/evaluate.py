"""The value of an expression, and what a path points at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..model import MAX_REPR
from ..text import clipped, expect, inert, plural
from .base import Version, View
from .elements import kind
from .evidence import Idle, SaysNothing, nothing
from .facts.parameters import plain
from .hints.answering import answering
from .lets import cycle
from .operators import truth
from .scope import BlockView, NamedPrograms, Scope
from .syntax import PathError, parse
from .unevaluated import Unevaluated
from .values import Value, in_brackets
from .views import Equations, EquationView, Programs, ProgramView
from .walker import Walker


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The value of an expression.

    ``value`` is a number, a text, a truth value, a tuple or a set of these, or a
    :class:`View` of equations or values.  ``hints`` are what the author should know
    although there is a value, such as a name that JAX changed.  ``sides`` are, where
    the whole is a comparison, its parts: text and value of each side.
    """

    value: Any
    hints: tuple[str, ...] = ()
    sides: tuple[tuple[str, Any], ...] = ()

    @property
    def is_true(self) -> bool:
        """Whether it holds, as a claim."""
        return truth(self.value)

    def __repr__(self) -> str:
        hints = f", {plural(len(self.hints), 'hint')}" if self.hints else ""
        return f"<Evaluation {clipped(inert(repr(self.value)), MAX_REPR)}{hints}>"


@answering
def evaluate(expression: str, programs: NamedPrograms) -> Evaluation:
    """The value of an expression of :doc:`the language of paths </reference/paths>`.

    ``programs`` are programs, or their texts, by the names that the expression gives
    them; a variant is named after its base, ``f.grad``.  See :meth:`Scope.of`.

    Raises :exc:`PathError` where the expression has no value; the message says what is
    wrong, and names the nearest thing that there is.

    >>> programs = {
    ...     "f": "{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }",
    ...     "f.twice": "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = tanh b in (c,) }",
    ... }
    >>> evaluate("len(f.twice) - len(f)", programs).value
    1
    >>> evaluate("f.twice.added", programs).value
    <Equations f.twice.added: tanh>
    >>> evaluate("f[tahn].shape", programs)
    Traceback (most recent call last):
        ...
    sphinx_jaxpr.program.PathError: `f` has no equation `tahn`; nearest: tanh (1)
    """
    return _evaluated(_walker(expression, programs))


@answering
def judge(claim: str, programs: NamedPrograms) -> Evaluation:
    """The value of a claim: like :func:`evaluate`, but it must say something of a program.

    Raises :exc:`PathError` where it has no value, and where it names no program and no
    version or would hold of any program.

    >>> f = "{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }"
    >>> judge("f[tanh].shape == (8,)", {"f": f}).is_true
    True
    """
    walker = _walker(claim, programs)
    result = _evaluated(walker)
    if isinstance(result.value, Version):
        raise SaysNothing(
            f"`{result.value.path}` alone says nothing: compare it,"
            f' as in `{result.value.path} >= "0.12"`',
            0,
        )
    if not Unevaluated(walker).names_a_program():
        raise SaysNothing(
            f"`{walker.expression.text[:80]}` says nothing about a program: a claim must name a"
            " block or a version",
            0,
        )
    return result


def _walker(text: str, programs: NamedPrograms) -> Walker:
    expect(text, str, "an expression")
    return Walker(parse(text), Scope.of(programs))


def check_let(name: str, scope: Scope) -> tuple[str, ...]:
    """Check that a let of a scope has a value; hints about it.

    Raises :exc:`PathError` where it has none.  Of a cycle of lets it is the one that is written
    first; others, and lets that use one without a value, raise :exc:`BrokenLet`.
    """
    names = cycle(name, scope.lets)
    if names and names[0] == name:
        listed = " needs ".join(f"`{other}`" for other in [*names, name])
        raise PathError(f"it depends on itself: {listed}", 0)
    walker = _walker(scope.lets[name], scope)
    _refuse_empty(walker.result())
    Unevaluated(walker).check()
    return tuple(walker.asking.hints)


def _evaluated(walker: Walker) -> Evaluation:
    value = walker.run()
    Unevaluated(walker).check()
    _refuse_empty(value)
    sides = tuple((text, plain(side)) for text, side in walker.sides)
    return Evaluation(plain(value), tuple(walker.asking.hints), sides)


def _refuse_empty(value: Any) -> None:
    """An error for a verdict that looked at nothing."""
    if isinstance(value, Idle) and (value or value.stays) and value.reason is not None:
        error = nothing(value.reason)
        error.offset = 0
        raise error


@answering
def find(path: str, programs: NamedPrograms, inside: str = "") -> tuple[EquationView, ...]:
    """The equations that a path points at, or those of a program; always one at least.

    Each is a view: ``view.equation`` is the :class:`Equation`, ``view.text`` its text.
    A path may start inside of a program, ``[mul]`` for ``f[mul]``, if ``inside`` names it.

    Raises :exc:`PathError` where the path points at no equation.

    >>> f = "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = mul b b in (c,) }"
    >>> find("f[-1]", {"f": f})
    (<EquationView f[-1]: c:f32[8] = mul b b>,)
    >>> [view.text for view in find("f[mul]", {"f": f})]
    ['c:f32[8] = mul b b']
    """
    expect(path, str, "a path")
    expect(inside, str, "the name of a program")
    walker, prefix = _inside(path, Scope.of(programs), inside)
    with _offsets_behind(prefix):
        match walker.run():
            case EquationView() as view:
                return (view,)
            case Programs(programs=several):
                views = tuple(view for program in several for view in program.members())
                missing = "none of these programs has equations"
            case Equations() as equations:
                views, missing = equations.members(), equations.missing()
            case other:
                raise PathError(f"this is {kind(other)}, not equations")
        if not views:
            raise PathError(missing)
        return views


@answering
def resolve_equation(
    text: str, scope: Scope, inside: str = ""
) -> tuple[EquationView, tuple[str, ...]]:
    """The one equation that a path points at, and hints.

    ``inside`` is the name of a directive's base block, in which a note's path may
    start: ``[tanh]`` is an equation of the base, ``grad[tanh]`` of a variant.
    """
    walker, prefix = _inside(text, scope, inside)
    with _offsets_behind(prefix):
        value = walker.run()
        if isinstance(value, ProgramView):
            raise PathError(
                f"`{value.path}` is a program, not one equation; an equation is"
                f" `{value.path}[0]` or `{value.path}{in_brackets(_first(value))}`"
            )
        if isinstance(value, Equations):
            value = value.only()
        if not isinstance(value, EquationView):
            raise PathError(f"this is {kind(value)}, not one equation")
    return value, tuple(walker.asking.hints)


@answering
def resolve_values(text: str, scope: Scope) -> tuple[tuple[Value, ...], tuple[str, ...]]:
    """The values that a path points at, one at least and all of one block, and hints."""
    walker = Walker(parse(text), scope)
    result = plain(walker.run())
    Unevaluated(walker).check()
    members = result.members() if isinstance(result, View) else result
    if isinstance(result, Value):
        members = (result,)
    elif isinstance(result, EquationView | Equations):
        is_list = isinstance(result, Equations) and not isinstance(result, ProgramView)
        first = "[0]" if is_list and members and len(members) > 1 else ""
        outputs = f"`{result.path}{first}.outputs`"
        raise PathError(f"this is {kind(result)}, which has no letter; results are {outputs}")
    elif not isinstance(members, tuple) or not all(isinstance(each, Value) for each in members):
        raise PathError(f"this is {kind(result)}, not a value of a program")
    values = tuple(each for each in members if isinstance(each, Value))
    if not values:
        raise PathError(f"`{walker.expression.text}` has no values, so there is no letter")
    if len({each.block.name for each in values}) > 1:
        raise PathError("these are values of several blocks; the letters of each are its own")
    return values, tuple(walker.asking.hints)


def _inside(text: str, scope: Scope, inside: str) -> tuple[Walker, str]:
    """What walks a path that may start inside of a block, and what was put before it."""
    text = " ".join(text.split())
    prefix = inside if inside and text.startswith(("[", ".")) else ""
    with _offsets_behind(prefix):
        return Walker(parse(prefix + text), scope, inside), prefix


@contextmanager
def _offsets_behind(prefix: str) -> Iterator[None]:
    """Errors have their offsets in what the author wrote."""
    try:
        yield
    except PathError as error:
        error.offset = max(0, error.offset - len(prefix))
        raise


@answering
def resolve_block(text: str, scope: Scope) -> BlockView:
    """The block that a path names."""
    walker = Walker(parse(text), scope)
    value = walker.visit(walker.expression.body)
    if isinstance(value, BlockView):
        return value
    raise PathError(f"this is {kind(value)}, not a block", 0)


def _first(program: ProgramView) -> str:
    return program.equations[0].primitive if program.equations else "add"
