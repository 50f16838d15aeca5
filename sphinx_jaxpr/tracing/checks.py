"""The strict check of JSON data that another process wrote, before :mod:`.result` reads it.

Nothing in the data is trusted: each field has a known name, type and range, or all of it is
rejected.  The lock, the store and the worker's replies are all checked here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, Final

from ..program.flows import REACHED
from ..program.model import UNKNOWN
from ..program.text import is_plain
from .result import ErrorKind, Needs, TraceError

# --- results and errors

#: Kinds of errors as JSON has them.
_KINDS: Final = frozenset(kind.value for kind in ErrorKind)
#: Phases of an equation, ``""`` for none.
PHASES: Final = frozenset(["", "forward", "tangent", "transpose", "recomputed"])
#: Types of parameters that are valid whatever their value.
_NUMBERS: Final = frozenset([type(None), bool, int])
#: Deepest nesting of lists in a parameter.
_DEPTH: Final = 8
#: Largest line, index or size: what fits into 64 bits.
_MOST: Final = 2**63 - 1


class Unfit(ValueError):
    """Data that is not a result; the message names the field and what was expected.

    A check sees a value only.  The checks around it add the field's name as the exception
    passes, so that valid data, the usual case, costs no names.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[tuple[str, int | None]] = []

    def within(self, step: str, longest: int | None = None) -> Unfit:
        """Add the step that holds the value; the name so far is cut at ``longest`` characters."""
        self.steps.append((step, longest))
        return self

    def __str__(self) -> str:
        where = ""
        for step, longest in reversed(self.steps):
            where = f"{where}{step}".removeprefix(".")[:longest]
        return f"{where} {self.reason}"


_Check = Callable[[Any], None]
#: Longest field name that comes from the program, in characters.
_LONGEST_NAME: Final = 80


def problem(result: Any) -> str:
    """What is wrong with the JSON of a :class:`.result.Result`; ``""`` if it is valid."""
    try:
        check(result)
    except Unfit as unfit:
        return str(unfit)
    return ""


def error_problem(error: Any) -> str:
    """What is wrong with the JSON of a :class:`.result.TraceError`; ``""`` if it is valid."""
    try:
        _error(error)
    except Unfit as unfit:
        return str(unfit.within("error"))
    return ""


def check(result: Any) -> None:
    """Raise :class:`Unfit` unless ``result`` is what a page can show: a program, or an error."""
    if type(result) is not dict:
        raise _wrong_type(result, "an object").within("the result")
    checks = {**_COMMON, **(_PROGRAM if "text" in result else {"error": _error})}
    optional = _OPTIONAL if "text" in result else {*_OPTIONAL, *_COMMON}
    _fields(result, checks, optional)


def _fields(
    data: Mapping[str, Any], checks: Mapping[str, _Check], optional: Container[str] = ()
) -> None:
    name = ""
    try:
        for name, check_field in checks.items():
            if name in data:
                check_field(data[name])
            elif name not in optional:
                raise Unfit("is missing")
    except Unfit as unfit:
        unfit.within(f".{name}")
        raise
    for name in data:
        if name not in checks:
            raise Unfit("is not a known field").within(f".{str(name)[:40]!r}")


def _wrong_type(value: Any, wanted: str) -> Unfit:
    return Unfit(f"is {type(value).__name__}, not {wanted}")


def _dict(value: Any) -> Mapping[str, Any]:
    if type(value) is not dict:
        raise _wrong_type(value, "an object")
    return value


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise _wrong_type(value, "a list")
    return value


def is_text(value: Any) -> bool:
    """Whether a value is a text that a file can hold: no lone surrogates."""
    if type(value) is not str:
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def _text(value: Any) -> None:
    if type(value) is str and value.isascii() and value.isprintable():
        return
    if not is_text(value):
        raise Unfit("has half a character") if type(value) is str else _wrong_type(value, "a text")
    if not is_plain(value):
        raise Unfit("has characters that results have spelled out")


def _flag(value: Any) -> None:
    if type(value) is not bool:
        raise _wrong_type(value, "true or false")


def _count(value: Any) -> None:
    _between(value, 0, _MOST)


def _between(value: Any, least: int, most: int) -> None:
    if type(value) is not int:
        raise _wrong_type(value, "a whole number")
    if not least <= value <= most:
        raise Unfit(f"is not between {least} and {most}")


def _each(item: _Check) -> _Check:
    def check_items(value: Any) -> None:
        items, index = _list(value), 0
        try:
            for index, part in enumerate(items):  # noqa: B007 - for the message
                item(part)
        except Unfit as unfit:
            unfit.within(f"[{index}]")
            raise

    return check_items


def _some(item: _Check) -> _Check:
    """A list of such, which is left out where it would be empty."""
    check_items = _each(item)

    def check_some(value: Any) -> None:
        check_items(value)
        if not value:
            raise Unfit("is empty")

    return check_some


def _row(*items: _Check) -> _Check:
    def check_row(value: Any) -> None:
        if len(_list(value)) != len(items):
            raise Unfit(f"has {len(value)} parts, not {len(items)}")
        index = 0
        try:
            for part in value:
                items[index](part)
                index += 1
        except Unfit as unfit:
            unfit.within(f"[{index}]")
            raise

    return check_row


def _kind(value: Any) -> None:
    if type(value) is not str or value not in _KINDS:
        raise Unfit(f"is not one of {', '.join(sorted(_KINDS))}")


def _phase(value: Any) -> None:
    if type(value) is not str or value not in PHASES:
        raise Unfit("is not a phase")


def _plain(value: Any, depth: int = 0) -> None:
    """The values that a parameter may have: see ``worker.facts.plain_value``."""
    if value is None or type(value) in (bool, int):
        return
    if type(value) is str:
        _text(value)
        return
    if type(value) is float and math.isfinite(value):
        return
    if type(value) is list and depth < _DEPTH:
        for item in value:
            _plain(item, depth + 1)
        return
    if type(value) is dict and len(value) == 1 and next(iter(value)) in ("text", "dtype"):
        _text(next(iter(value.values())))
        return
    raise _wrong_type(value, "plain data")


def _by_name(item: _Check) -> _Check:
    """An object whose fields the program names."""

    def check_object(value: Any) -> None:
        for name in _dict(value):
            _text(name)
        name = ""
        try:
            for name, part in value.items():  # noqa: B007 - for the message
                item(part)
        except Unfit as unfit:
            unfit.within(f".{name}", _LONGEST_NAME)
            raise

    return check_object


def _reached(value: Any) -> None:
    if type(value) is not str or not REACHED.fullmatch(value):
        raise Unfit("is not a set of operands")


def _inner(programs: int) -> _Check:
    return _by_name(_each(lambda index: _between(index, 0, programs - 1)))


def _facts(value: Any) -> None:
    facts = _dict(value)
    counts = {}
    for name in ("programs", "sources"):
        items = facts.get(name)
        if type(items) is not list:
            raise _wrong_type(items, "a list").within(f".{name}")
        counts[name] = len(items)
    if not counts["programs"]:
        raise Unfit("is empty").within(".programs")

    def source(value: Any) -> None:
        _between(value, -1, counts["sources"] - 1)

    inner = _inner(counts["programs"])
    row = _row(_text, _phase, source, _TEXTS, _PARAMETERS, inner)

    def equation(value: Any) -> None:
        if not _is_usual(value, counts["sources"], counts["programs"]):
            row(value)

    equations = _each(equation)

    def program(value: Any) -> None:
        fields = _dict(value)
        _fields(fields, {**_TYPES, "equations": equations, **_NEWER}, _NEWER)
        for index in fields["unused"]:
            try:
                _between(index, 0, len(fields["equations"]) - 1)
            except Unfit as unfit:
                unfit.within(".unused")
                raise

    _fields(facts, {"programs": _each(program), "sources": _each(_row(_text, _count, _text))})


def _weak(value: Any) -> None:
    """Positions: whatever they are, paths look for a value at each of its own."""
    if value != {}:  # usually nothing is weakly typed
        _fields(_dict(value), _WEAK, _WEAK)


def _is_usual(row: Any, sources: int, programs: int) -> bool:
    """Whether an equation is valid, by a few quick tests; one that fails them may be valid too.

    Without these, equations take most of the time of a check.
    """
    if type(row) is not list or len(row) != 6:
        return False
    primitive, phase, source, types, parameters, inner = row
    return (
        type(phase) is str
        and phase in PHASES
        and type(source) is int
        and -1 <= source < sources
        and type(types) is list
        and type(parameters) is dict
        and type(inner) is dict
        and _are_printable((primitive, *types, *parameters, *inner))
        and all(map(_is_simple, parameters.values()))
        and all(_are_below(programs, held) for held in inner.values())
    )


def _are_below(most: int, indices: Any) -> bool:
    """Whether a value is a list of indices below ``most``."""
    return type(indices) is list and all(type(n) is int and 0 <= n < most for n in indices)


def _are_printable(values: Iterable[Any]) -> bool:
    """Whether all are texts of printable ASCII, by one look at all of them together."""
    try:
        text = "".join(values)
    except TypeError:
        return False
    return text.isascii() and text.isprintable()


def _is_printable(value: Any) -> bool:
    return type(value) is str and value.isascii() and value.isprintable()


def _is_simple(value: Any) -> bool:
    """Whether a parameter is a number, a text, or a list of numbers."""
    if type(value) is list:
        return _NUMBERS.issuperset(map(type, value))
    if type(value) is dict and len(value) == 1:
        ((name, text),) = value.items()
        return name in ("text", "dtype") and _is_printable(text)
    return type(value) in _NUMBERS or _is_printable(value)


def _source(value: Any) -> None:
    if value is not None:  # created by exec, or built in
        _fields(_dict(value), {"text": _text, "file": _text, "line": _count})


def _error(value: Any) -> None:
    _fields(_dict(value), {**_ERROR, **_MORE}, _MORE)


def _non_empty(value: Any) -> None:
    _text(value)
    if not value:
        raise Unfit("is empty")


_EACH_TEXT: Final = _each(_text)


def _texts(value: Any) -> None:
    if type(value) is not list or not _are_printable(value):
        _EACH_TEXT(value)


_TEXTS: Final[_Check] = _texts
_PARAMETERS: Final = _by_name(_plain)
_PAIRS: Final = _each(_row(_text, _text))
_SIZES: Final = _each(_row(_text, _count))
_TYPES: Final[Mapping[str, _Check]] = {
    "inputs": _TEXTS,
    "constants": _SIZES,
    "outputs": _TEXTS,
    "effects": _TEXTS,
    "unused": _each(_count),
}
_POSITIONS: Final = _some(_count)
_PLACES: Final = _some(_row(_count, _count))
_WEAK: Final[Mapping[str, _Check]] = {
    "constants": _POSITIONS,
    "inputs": _POSITIONS,
    "results": _PLACES,
    "literals": _PLACES,
    "outputs": _POSITIONS,
}
_PLACE: Final = _row(lambda owner: _between(owner, UNKNOWN[0][0], _MOST), _count)
_WRITES: Final = _each(_row(_count, _reached))
#: What older releases did not record.
_NEWER: Final[Mapping[str, _Check]] = {
    "weak": _weak,
    "kept": _each(_PLACE),
    "flows": _each(_row(_count, _each(_reached), _WRITES)),
}
_FRAME: Final[Mapping[str, _Check]] = {
    "file": _text,
    "line": _count,
    "function": _text,
    "code": _text,
}


def _frame(value: Any) -> None:
    _fields(_dict(value), _FRAME)


_ERROR: Final[Mapping[str, _Check]] = {
    "kind": _kind,
    "type": _text,
    "mro": _TEXTS,
    "message": _text,
    "frames": _each(_frame),
}
#: Optional parts of an error.
_MORE: Final[Mapping[str, _Check]] = {
    "hint": _text,
    "log": _text,
    "module": _text,
    "option": _text,
    "output": _text,
    "searched": _each(_non_empty),
    "traceback": _text,
    "wanted": _text,
    "whole_module": _flag,
}
#: Parts of every result, whether it is a program or an expected error.
_COMMON: Final[Mapping[str, _Check]] = {
    "jax": _text,
    "source": _source,
    "call": _text,
    "args": _PAIRS,
    "inputs": _PAIRS,
    "outputs": _TEXTS,
    "mesh": _text,
    "settings": _PAIRS,
    "undifferentiated": _PAIRS,
}
_PROGRAM: Final[Mapping[str, _Check]] = {
    "text": _text,
    "effects": _TEXTS,
    "constants": _SIZES,
    "facts": _facts,
}
_OPTIONAL: Final = frozenset(["outputs", "source", "mesh", "settings", "undifferentiated"])


# --- replies of the worker

#: Longest text about the worker itself, in characters.
_LONGEST: Final = 100_000
_MOST_SETS: Final = 2**31
#: Parts of :class:`Needs` that are texts by name; the others are lists of names.
_NAMED: Final = frozenset(["files", "folders", "paths", "sizes", "parts"])
_STAGES: Final = ("import", "trace")

#: What is wrong with a part of a reply; ``""`` if it is valid.
_ReplyCheck = Callable[[Any], str]


def reply_problem(message: Mapping[str, Any], number: int) -> str:
    """Why a message does not answer request ``number``; ``""`` if it does."""
    if type(message.get("id")) is not int or message["id"] != number:
        return "it answers another request"
    given = message.keys() - {"id"}
    for main, fields in _MESSAGES.items():
        if main in given:
            if extra := given - fields.keys():
                return f"{min(extra)[:40]!r} is not a field of a reply"
            wrong = (fields[name](message[name]) for name in fields if name in given)
            return next(filter(None, wrong), "") or _whole(message)
    return "it has no result"


def _whole(message: Mapping[str, Any]) -> str:
    """What is wrong with the combination of the parts."""
    if "stage" in message:
        wrong = (message["stage"] == "import") != bool(message.get("module"))
        return "stage and module do not belong together" if wrong else ""
    if "error" in message and "known" in message:
        # A page shows an expected error together with this partial result.
        error = TraceError(ErrorKind.TRACE, "")
        return problem({**message["known"], "error": error.to_json()})
    if "again" not in message and "deps" not in message:
        return "deps is missing"
    return ""


def _stage(value: Any) -> str:
    return (
        "" if isinstance(value, str) and value in _STAGES else "stage is neither import nor trace"
    )


def _module(value: Any) -> str:
    good = is_text(value) and value.isprintable() and len(value) <= _LONGEST
    return "" if good else "module is not a name"


def _again(value: Any) -> str:
    return (
        "" if is_text(value) and len(value) <= _LONGEST else "again is not a text, or is too long"
    )


def _program(value: Any) -> str:
    if type(value) is dict and "text" not in value:  # it would do for an error
        return "text is missing"
    return problem(value)


def _partial(value: Any) -> str:
    if type(value) is not dict or "error" in value or "text" in value:
        return "known is not part of a result"
    return ""


def _deps(value: Any) -> str:
    return (
        "" if type(value) is int and 0 <= value < _MOST_SETS else "deps is not the number of a set"
    )


def needs_problem(value: Any) -> str:
    """What is wrong with dependencies as the worker reports them."""
    if type(value) is not dict:
        return f"needs is {type(value).__name__}, not an object"
    fields = Needs.__dataclass_fields__
    for name, part in value.items():
        if name not in fields:
            return f"needs.{name[:40]!r} is not a field of a reply"
        if name in _NAMED:
            good = type(part) is dict and all(map(_is_name, part))
            good = good and all(type(text) is str for text in part.values())
            if not good:
                return f"needs.{name} is not an object of texts by name"
        elif type(part) is not list or not all(map(_is_name, part)):
            return f"needs.{name} is not a list of names"
    return ""


def _is_name(value: Any) -> bool:
    """Whether a value can be a path, which may have bytes that are not text, but no NUL."""
    return type(value) is str and value != "" and "\0" not in value


_MESSAGES: Final[Mapping[str, Mapping[str, _ReplyCheck]]] = {
    "stage": {"stage": _stage, "module": _module},
    "again": {"again": _again},
    "result": {"result": _program, "deps": _deps, "needs": needs_problem},
    "error": {"error": error_problem, "known": _partial, "deps": _deps, "needs": needs_problem},
}
