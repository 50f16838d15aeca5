"""The texts of options: arguments, static values, transforms, a mesh, a call of the target."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from ...program.text import nearest, shorten
from ..hints.meant import meant_call
from ..specs import AXIS_TYPES, Aval, Call, Chain, Mesh, Name, Ref, Step, Value, inside
from .reader import MAX_DIMENSION, GrammarError, Reader, quoted

#: What has been read of a list of specs or values, each with its name, ``""`` for none.
_Given: TypeAlias = list[tuple[str, Value]]


def _given(text: str, check: Callable[[_Given, str, Value, int], None]) -> _Given:
    """Parse values, some with names; ``check`` is called with what came before and the offset."""
    reader = Reader(text)
    items: _Given = []
    names: set[str] = set()
    while reader.more():
        start = reader.offset
        name = reader.keyword()
        value = reader.value()
        check(items, name, value, start)
        if name in names:
            raise GrammarError(f"argument {shorten(name)} is given twice", start)
        names |= {name} - {""}
        items.append((name, value))
    return items


def arguments(text: str) -> tuple[tuple[str, Value], ...]:
    """Parse ``x=bf16[32,64], f32[]``; the name of a positional spec is ``""``."""
    return tuple(_given(text, _check_spec))


def static(text: str) -> tuple[tuple[str | int, Value], ...]:
    """Parse ``n=3, act=jax.nn.relu, 1=4``; an integer key is a position."""
    reader = Reader(text)
    items: list[tuple[str | int, Value]] = []
    keys: set[str | int] = set()
    while reader.more():
        start = reader.offset
        key: Any = reader.position() if reader.at_number() else reader.keyword()
        if key in (None, ""):
            form = "expected name=value or position=value, as in n=3 or 1=3"
            raise GrammarError(form, start)
        value = reader.value()
        if problem := unfit(value):
            raise GrammarError(f"{shorten(key)} {problem}", start)
        if key in keys:
            raise GrammarError(f"{shorten(key)} is given twice", start)
        keys.add(key)
        items.append((key, value))
    return tuple(items)


#: How deep calls may be nested in each other where a page gives an argument as it is.
MAX_CALLS: Final = 4


def unfit(value: Any, calls: int = 0) -> str:
    """Why a page can't give a value as it is, untraced, or ``""``; ``calls`` are around it."""
    if isinstance(value, (Aval, Ref)):
        return f"is a spec, {value}: specs belong in args"
    if meant := meant_call(value):
        return f"is a call; write {meant}"
    calls += isinstance(value, Call)
    if calls > MAX_CALLS:
        return f"has more than {MAX_CALLS} calls inside each other: write a function for it"
    return next(filter(None, (unfit(part, calls) for part in inside(value))), "")


def transforms(text: str) -> tuple[Chain, ...]:
    """Parse ``grad(argnums=w) | vmap(axis_size=8) as both, remat``."""
    reader = Reader(text)
    chains: list[Chain] = []
    while reader.more("; '|' applies another transform to the result"):
        start = reader.offset
        steps = [_step(reader)]
        while reader.accept("|"):
            steps.append(_step(reader))
        label = "_".join(step.name.rpartition(".")[2] for step in steps)
        if reader.accept_word("as"):
            label = reader.name("a label after 'as'")
        chains.append(Chain(tuple(steps), label, start))
    return tuple(chains)


def mesh(text: str) -> Mesh | Name | None:
    """Parse ``{data: 8}, axis_types="Explicit"``, or the name of a mesh; ``None`` for nothing."""
    reader = Reader(text)
    value: Value = None
    types: Value = None
    while reader.more():
        start = reader.offset
        key = reader.keyword()
        if key == "axis_types" and types is None and value is not None:
            types = reader.value()
        elif not key and value is None:
            value = reader.value()
        else:
            raise GrammarError(_MESH, start)
    if value is None or (isinstance(value, Name) and types is None):
        return value
    if not isinstance(value, dict) or not value:
        raise GrammarError(_MESH, 0)
    axes: list[tuple[str, int]] = []
    for axis, size in value.items():
        if not isinstance(axis, str) or not isinstance(size, int) or isinstance(size, bool):
            raise GrammarError(_MESH, 0)
        if not 0 < size < MAX_DIMENSION:
            raise GrammarError(f"axis {shorten(axis)} has no positive size", 0)
        axes.append((axis, size))
    return Mesh(tuple(axes), _axis_types(types, len(value)))


_MESH = 'expected axes with sizes, as in {data: 8}, axis_types="Explicit", or the name of a mesh'


def _axis_types(value: Value, count: int) -> tuple[str, ...]:
    given = value if isinstance(value, (tuple, list)) else [value or AXIS_TYPES[0]] * count
    types = [str(item.text if isinstance(item, Name) else item) for item in given]
    short = tuple(kind.rpartition(".")[2] for kind in types)
    for kind in short:
        if kind not in AXIS_TYPES:
            listed = ", ".join(AXIS_TYPES)
            raise GrammarError(
                f"unknown axis type {shorten(kind)}{nearest(kind, AXIS_TYPES)} (known: {listed})", 0
            )
    if len(short) != count:
        raise GrammarError(f"axis_types has {len(short)} types for {count} axes", 0)
    return short


_NO_ARGUMENTS: Final = re.compile(r"\s*\(\s*\)\s*")
_PART: Final = r"(?:[^\W\d]\w*|[0-9]{1,3})"
_PARTS: Final = re.compile(rf"{_PART}(?:\.{_PART})*")


def make(text: str) -> tuple[tuple[str, Value], ...] | None:
    """Parse ``1e-3, b1=0.9``; ``()`` is a call without arguments, no text is no call."""
    if _NO_ARGUMENTS.fullmatch(text):
        return ()
    return tuple(_given(text, _check_value)) or None


def _check_value(before: _Given, name: str, value: Value, offset: int) -> None:
    if problem := unfit(value):
        subject = shorten(name) if name else f"argument {len(before)}"
        raise GrammarError(f"{subject} {problem}", offset)
    if not name and before and before[-1][0]:
        raise GrammarError("an argument without a name follows one with a name", offset)


def then(text: str) -> str:
    """Check a dotted path of attributes and positions: ``update``, ``1``, ``0.update``."""
    path = text.strip()
    if path and not _PARTS.fullmatch(path):
        raise GrammarError(
            f"expected an attribute, as in update, or a position, as in 1, not {quoted(path)}",
            0,
        )
    return path


def _step(reader: Reader) -> Step:
    name = reader.name("the name of a transform")
    options: dict[str, Value] = {}
    if reader.accept("("):
        while not reader.accept(")"):
            start = reader.offset
            key = reader.keyword()
            if not key:
                raise GrammarError(f"an option of {shorten(name)} is written option=value", start)
            if key in options:
                raise GrammarError(
                    f"option {shorten(key)} of {shorten(name)} is given twice", start
                )
            options[key] = reader.value()
            if not reader.accept(",") and not reader.peek(")"):
                raise GrammarError(
                    f"expected ',' or ')' in the options of {shorten(name)}", reader.offset
                )
    return Step(name, tuple(options.items()))


def _check_spec(before: _Given, name: str, value: Value, offset: int) -> None:
    if isinstance(value, Aval):
        return
    if _holds(value, str) or _holds(value, bool):
        raise GrammarError("strings and flags are not specs: they belong in static", offset)
    if meant := meant_call(value):
        raise GrammarError(f"a call of float is not a spec; write {meant}", offset)
    if _holds(value, int) and any(not -(2**63) <= n < 2**64 for n in _integers(value)):
        raise GrammarError(
            "an integer of more than 64 bits has no JAX type; one that is not traced belongs in"
            " static",
            offset,
        )


def _integers(value: Value) -> Iterator[int]:
    if isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _integers(item)
    elif isinstance(value, int):
        yield value


def _holds(value: Value, kind: type | tuple[type, ...]) -> bool:
    """Whether ``value`` is or contains a ``kind``."""
    if isinstance(value, (tuple, list)):
        return any(_holds(item, kind) for item in value)
    if isinstance(value, dict):
        return any(_holds(item, kind) for item in value.values())
    return isinstance(value, kind)
