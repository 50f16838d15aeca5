"""Whether data that came from a file or from the worker is the result of a trace.

Nothing that another process wrote is believed: each field is of a known name, type and
range, or the whole is no result.  The lock, the store and the worker's replies are all
checked here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..program.characters import is_plain

#: Kinds of errors, as the worker and its client tell them.
KINDS: Final = frozenset(
    ["crash", "import", "lock", "option", "state", "target", "timeout", "trace", "worker"]
)
#: Phases of an equation, ``""`` for none.
PHASES: Final = frozenset(["", "forward", "tangent", "transpose", "recomputed"])
#: Deepest nesting of lists in a parameter.
_DEPTH: Final = 8
#: Largest number of a line, a place or a size: what fits into 64 bits.
_MOST: Final = 2**63 - 1


class Unfit(ValueError):
    """Data that is no result; the message names the field and what it has to be."""


_Check = Callable[[Any, str], None]


def problem(result: Any) -> str:
    """What is wrong with the result of a trace, ``""`` where nothing is."""
    try:
        check(result)
    except Unfit as unfit:
        return str(unfit)
    return ""


def error_problem(error: Any) -> str:
    """What is wrong with the report of an error, ``""`` where nothing is."""
    try:
        _error(error, "error")
    except Unfit as unfit:
        return str(unfit)
    return ""


def check(result: Any) -> None:
    """Raise :class:`Unfit` unless ``result`` is what a page can show: a program, or an error."""
    fields = _dict(result, "the result")
    known = {**_COMMON, **(_PROGRAM if "text" in fields else {"error": _error})}
    optional = _OPTIONAL if "text" in fields else {*_OPTIONAL, *_COMMON}
    _fields(fields, "", known, optional)


def _fields(
    data: Mapping[str, Any], where: str, known: Mapping[str, _Check], optional: Any = ()
) -> None:
    for name, checked in known.items():
        if name in data:
            checked(data[name], f"{where}{name}")
        elif name not in optional:
            raise Unfit(f"{where}{name} is missing")
    for name in data:
        if name not in known:
            raise Unfit(f"{where}{str(name)[:40]!r} is no field of it")


def _no(value: Any, where: str, wanted: str) -> Unfit:
    return Unfit(f"{where} is {type(value).__name__}, not {wanted}")


def _dict(value: Any, where: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise _no(value, where, "an object")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if type(value) is not list:
        raise _no(value, where, "a list")
    return value


def is_text(value: Any) -> bool:
    """Whether a value is a text that a file can hold: no halves of characters."""
    if type(value) is not str:
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def _text(value: Any, where: str) -> None:
    if not is_text(value):
        half = type(value) is str
        raise Unfit(f"{where} has half a character") if half else _no(value, where, "a text")
    if not is_plain(value):
        raise Unfit(f"{where} has characters that results have spelled out")


def _flag(value: Any, where: str) -> None:
    if type(value) is not bool:
        raise _no(value, where, "true or false")


def _count(value: Any, where: str) -> None:
    _between(value, where, 0, _MOST)


def _between(value: Any, where: str, least: int, most: int) -> None:
    if type(value) is not int:
        raise _no(value, where, "a whole number")
    if not least <= value <= most:
        raise Unfit(f"{where} is not between {least} and {most}")


def _each(item: _Check) -> _Check:
    def checked(value: Any, where: str) -> None:
        for place, one in enumerate(_list(value, where)):
            item(one, f"{where}[{place}]")

    return checked


def _row(*items: _Check) -> _Check:
    def checked(value: Any, where: str) -> None:
        if len(_list(value, where)) != len(items):
            raise Unfit(f"{where} has {len(value)} parts, not {len(items)}")
        for place, (one, item) in enumerate(zip(value, items, strict=True)):
            item(one, f"{where}[{place}]")

    return checked


def _kind(value: Any, where: str) -> None:
    if type(value) is not str or value not in KINDS:
        raise Unfit(f"{where} is none of {', '.join(sorted(KINDS))}")


def _phase(value: Any, where: str) -> None:
    if type(value) is not str or value not in PHASES:
        raise Unfit(f"{where} is no phase")


def _plain(value: Any, where: str, depth: int = 0) -> None:
    """What a parameter may be: see ``worker.facts.plain_value``."""
    if value is None or type(value) in (bool, int):
        return
    if type(value) is str:
        _text(value, where)
        return
    if type(value) is float and math.isfinite(value):
        return
    if type(value) is list and depth < _DEPTH:
        for item in value:
            _plain(item, where, depth + 1)
        return
    if type(value) is dict and len(value) == 1 and next(iter(value)) in ("text", "dtype"):
        _text(next(iter(value.values())), where)
        return
    raise _no(value, where, "plain data")


def _parameters(value: Any, where: str) -> None:
    for name, one in _dict(value, where).items():
        _text(name, where)
        _plain(one, f"{where}.{name}"[:80])


def _inner(programs: int) -> _Check:
    def place(value: Any, where: str) -> None:
        _between(value, where, 0, programs - 1)

    def checked(value: Any, where: str) -> None:
        for name, places in _dict(value, where).items():
            _text(name, where)
            _each(place)(places, f"{where}.{name}"[:80])

    return checked


def _facts(value: Any, where: str) -> None:
    facts = _dict(value, where)
    programs = _list(facts.get("programs"), f"{where}.programs")
    sources = _list(facts.get("sources"), f"{where}.sources")
    if not programs:
        raise Unfit(f"{where}.programs is empty")

    def source(value: Any, where: str) -> None:
        _between(value, where, -1, len(sources) - 1)

    equations = _each(_row(_text, _phase, source, _TEXTS, _parameters, _inner(len(programs))))

    def program(value: Any, where: str) -> None:
        fields = _dict(value, where)
        _fields(fields, f"{where}.", {**_TYPES, "equations": equations})
        for place in fields["unused"]:
            _between(place, f"{where}.unused", 0, len(fields["equations"]) - 1)

    _fields(
        facts,
        f"{where}.",
        {"programs": _each(program), "sources": _each(_row(_text, _count, _text))},
    )


def _source(value: Any, where: str) -> None:
    if value is not None:  # made by exec, or built in
        known = {"text": _text, "file": _text, "line": _count}
        _fields(_dict(value, where), f"{where}.", known)


def _error(value: Any, where: str) -> None:
    _fields(_dict(value, where), f"{where}.", {**_ERROR, **_MORE}, _MORE)


def _named(value: Any, where: str) -> None:
    _text(value, where)
    if not value:
        raise Unfit(f"{where} is empty")


_TEXTS: Final = _each(_text)
_PAIRS: Final = _each(_row(_text, _text))
_SIZES: Final = _each(_row(_text, _count))
_TYPES: Final[Mapping[str, _Check]] = {
    "inputs": _TEXTS,
    "constants": _SIZES,
    "outputs": _TEXTS,
    "effects": _TEXTS,
    "unused": _each(_count),
}
_FRAME: Final[Mapping[str, _Check]] = {
    "file": _text,
    "line": _count,
    "function": _text,
    "code": _text,
}


def _frame(value: Any, where: str) -> None:
    _fields(_dict(value, where), f"{where}.", _FRAME)


_ERROR: Final[Mapping[str, _Check]] = {
    "kind": _kind,
    "type": _text,
    "mro": _TEXTS,
    "message": _text,
    "frames": _each(_frame),
}
#: What an error may have beside that.
_MORE: Final[Mapping[str, _Check]] = {
    "hint": _text,
    "log": _text,
    "module": _text,
    "option": _text,
    "output": _text,
    "searched": _each(_named),
    "traceback": _text,
    "wanted": _text,
    "whole_module": _flag,
}
#: What a result has whether it is a program or an error that was expected.
_COMMON: Final[Mapping[str, _Check]] = {
    "jax": _text,
    "source": _source,
    "call": _text,
    "args": _PAIRS,
    "inputs": _PAIRS,
    "mesh": _text,
    "settings": _PAIRS,
}
_PROGRAM: Final[Mapping[str, _Check]] = {
    "text": _text,
    "effects": _TEXTS,
    "constants": _SIZES,
    "facts": _facts,
}
_OPTIONAL: Final = frozenset(["source", "mesh", "settings"])
