"""``reads`` and ``depends`` over the oracle's views; what has no value, and what can't be told."""

from __future__ import annotations

from typing import Any

from .phases import is_literal
from .spread import Lost, Spread


class Refused(Exception):
    """An expression has no value."""


class Unsure(Exception):
    """The oracle can't tell."""


def reads(one: Any, two: Any) -> bool:
    """Whether an equation has a value, or a result of another equation, as an operand."""
    one, two = _single(one), _single(two)
    if not _is_equation(one):
        raise Refused("a value reads nothing")
    _together(one, two)
    sources = two.raw.outvars if _is_equation(two) else [two.thing]
    return any(v is source for v in one.raw.invars for source in sources)


def depends(one: Any, two: Any) -> bool:
    """Whether a value, or an operand of an equation, is computed from something."""
    one, two = _single(one), _single(two)
    _together(one, two)
    if _is_literal(one):
        return False
    body = two.program.body
    try:
        if _is_equation(two):
            spread = Spread(body, (), two.raw)
        else:
            spread = Spread(body, [id(two.thing)])
    except Lost:
        raise Unsure("a program inside") from None
    return id(one.raw) in spread.reading if _is_equation(one) else id(one.thing) in spread.ids


def _is_equation(thing: Any) -> bool:
    return "raw" in vars(thing)


def _is_literal(thing: Any) -> bool:
    return not _is_equation(thing) and is_literal(thing.thing)


def _single(thing: Any) -> Any:
    """The one equation or value that a thing is."""
    if "closed" in vars(thing):
        raise Refused("a program")
    return thing.only() if hasattr(type(thing), "only") else thing


def _together(one: Any, two: Any) -> None:
    """Both have to be in one program; nothing depends on a literal."""
    for each in (one, two):
        if not _is_equation(each) and type(each.thing).__name__ == "DropVar":
            raise Unsure("JAX 0.7 returns what it prints as dropped")
    if _is_literal(two):
        raise Refused("a literal")
    if _is_literal(one):
        return
    if one.program.world is not two.program.world or one.program.body is not two.program.body:
        raise Refused("two programs")
