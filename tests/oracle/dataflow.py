"""Data flow over jaxpr objects: what is kept for the way back, and who reads whom.

A meaning that the reference leaves open is :class:`Unsure`.
"""

from __future__ import annotations

from typing import Any

from .phases import is_literal


class Refused(Exception):
    """An expression has no value."""


class Unsure(Exception):
    """The oracle can't tell."""


def residuals(program: Any) -> list[Any]:
    """What the backward or recomputed part reads and neither made nor was given as an aim."""
    back = [e for e in program.items if e.phase in ("transpose", "recomputed")]
    made = {id(v) for e in back for v in e.raw.outvars}
    outside = {id(v) for e in program.items if not e.phase for v in e.raw.outvars}
    read = {id(v): v for e in back for v in e.raw.invars if not is_literal(v)}
    if any(key in outside for key in read):
        raise Unsure("an equation without a phase has made it")
    return [v for v in read.values() if id(v) not in made | program.world.aims]


def reads(reader: Any, source: Any) -> bool:
    """Whether an equation has a result of another, or a value, as an operand."""
    return any(v is s for v in _one(reader).raw.invars for s in _sources(source))


def depends(reader: Any, source: Any) -> bool:
    """The same, also through other equations."""
    reached = {id(v) for v in _sources(source)}
    equation = _one(reader)
    for other in equation.program.body.eqns:
        if any(id(v) in reached for v in other.invars):
            reached.update(id(v) for v in other.outvars)
            if other is equation.raw:
                return True
    return False


def _one(thing: Any) -> Any:
    """The one element of a collection, or the thing itself."""
    return thing.only() if hasattr(type(thing), "only") else thing


def _sources(thing: Any) -> list[Any]:
    found = _one(thing)
    return [found.thing] if "thing" in vars(found) else list(found.raw.outvars)
