"""Whether data that came from a file or from the worker is the result of a trace.

Nothing that another process wrote is believed: each field is of a known name, type and
range, or the whole is no result.  The lock, the store and the worker's replies are all
checked here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..program.text import is_plain, shorten, words

# --- whether data that came from a file or from the worker is the result of a trace

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
    """Data that is no result; the message names the field and what it has to be.

    A check knows the value alone.  Where it stands is added by those around it, on the way
    out: what is right, as almost all is, costs no names of fields.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[tuple[str, int | None]] = []

    def within(self, step: str, longest: int | None = None) -> Unfit:
        """The same, of a part; the name up to there is cut after ``longest`` characters."""
        self.steps.append((step, longest))
        return self

    def __str__(self) -> str:
        where = ""
        for step, longest in reversed(self.steps):
            where = f"{where}{step}".removeprefix(".")[:longest]
        return f"{where} {self.reason}"


_Check = Callable[[Any], None]
#: Longest name of a field with a name that the program gave.
_LONGEST_NAME: Final = 80


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
        _error(error)
    except Unfit as unfit:
        return str(unfit.within("error"))
    return ""


def check(result: Any) -> None:
    """Raise :class:`Unfit` unless ``result`` is what a page can show: a program, or an error."""
    if type(result) is not dict:
        raise _no(result, "an object").within("the result")
    known = {**_COMMON, **(_PROGRAM if "text" in result else {"error": _error})}
    optional = _OPTIONAL if "text" in result else {*_OPTIONAL, *_COMMON}
    _fields(result, known, optional)


def _fields(data: Mapping[str, Any], known: Mapping[str, _Check], optional: Any = ()) -> None:
    name = ""
    try:
        for name, checked in known.items():
            if name in data:
                checked(data[name])
            elif name not in optional:
                raise Unfit("is missing")
    except Unfit as unfit:
        unfit.within(f".{name}")
        raise
    for name in data:
        if name not in known:
            raise Unfit("is not a known field").within(f".{str(name)[:40]!r}")


def _no(value: Any, wanted: str) -> Unfit:
    return Unfit(f"is {type(value).__name__}, not {wanted}")


def _dict(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise _no(value, "an object")
    return value


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise _no(value, "a list")
    return value


def is_text(value: Any) -> bool:
    """Whether a value is a text that a file can hold: no halves of characters."""
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
        raise Unfit("has half a character") if type(value) is str else _no(value, "a text")
    if not is_plain(value):
        raise Unfit("has characters that results have spelled out")


def _flag(value: Any) -> None:
    if type(value) is not bool:
        raise _no(value, "true or false")


def _count(value: Any) -> None:
    _between(value, 0, _MOST)


def _between(value: Any, least: int, most: int) -> None:
    if type(value) is not int:
        raise _no(value, "a whole number")
    if not least <= value <= most:
        raise Unfit(f"is not between {least} and {most}")


def _each(item: _Check) -> _Check:
    def checked(value: Any) -> None:
        items, place = _list(value), 0
        try:
            for place, one in enumerate(items):  # noqa: B007 - named where one is wrong
                item(one)
        except Unfit as unfit:
            unfit.within(f"[{place}]")
            raise

    return checked


def _row(*items: _Check) -> _Check:
    def checked(value: Any) -> None:
        if len(_list(value)) != len(items):
            raise Unfit(f"has {len(value)} parts, not {len(items)}")
        place = 0
        try:
            for one in value:
                items[place](one)
                place += 1
        except Unfit as unfit:
            unfit.within(f"[{place}]")
            raise

    return checked


def _kind(value: Any) -> None:
    if type(value) is not str or value not in KINDS:
        raise Unfit(f"is none of {', '.join(sorted(KINDS))}")


def _phase(value: Any) -> None:
    if type(value) is not str or value not in PHASES:
        raise Unfit("is not a phase")


def _plain(value: Any, depth: int = 0) -> None:
    """What a parameter may be: see ``worker.facts.plain_value``."""
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
    raise _no(value, "plain data")


def _by_name(item: _Check) -> _Check:
    """An object whose fields the program names."""

    def checked(value: Any) -> None:
        for name in _dict(value):
            _text(name)
        name = ""
        try:
            for name, one in value.items():  # noqa: B007 - named where one is wrong
                item(one)
        except Unfit as unfit:
            unfit.within(f".{name}", _LONGEST_NAME)
            raise

    return checked


def _inner(programs: int) -> _Check:
    return _by_name(_each(lambda place: _between(place, 0, programs - 1)))


def _facts(value: Any) -> None:
    facts = _dict(value)
    counts = {}
    for name in ("programs", "sources"):
        found = facts.get(name)
        if type(found) is not list:
            raise _no(found, "a list").within(f".{name}")
        counts[name] = len(found)
    if not counts["programs"]:
        raise Unfit("is empty").within(".programs")

    def source(value: Any) -> None:
        _between(value, -1, counts["sources"] - 1)

    inner = _inner(counts["programs"])
    equations = _each(_row(_text, _phase, source, _TEXTS, _PARAMETERS, inner))

    def program(value: Any) -> None:
        fields = _dict(value)
        _fields(fields, {**_TYPES, "equations": equations})
        for place in fields["unused"]:
            try:
                _between(place, 0, len(fields["equations"]) - 1)
            except Unfit as unfit:
                unfit.within(".unused")
                raise

    _fields(facts, {"programs": _each(program), "sources": _each(_row(_text, _count, _text))})


def _source(value: Any) -> None:
    if value is not None:  # made by exec, or built in
        _fields(_dict(value), {"text": _text, "file": _text, "line": _count})


def _error(value: Any) -> None:
    _fields(_dict(value), {**_ERROR, **_MORE}, _MORE)


def _named(value: Any) -> None:
    _text(value)
    if not value:
        raise Unfit("is empty")


_TEXTS: Final = _each(_text)
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


# --- what to say of an outcome: an error in words, and what is noteworthy of a result

#: Longest message in one line, in characters.
MAX_LINE: Final = 600


def describe(error: dict[str, Any]) -> str:
    """One error in one line: what, where in the user's code, where to read more."""
    text = headline(error)
    frames = error.get("frames") or []
    if frames:
        last = frames[-1]
        inside = f" in {last['function']}" if last["function"] not in ("", "<module>") else ""
        text += f" [{last['file']}:{last['line']}{inside}: {last['code']}]"
    if error.get("hint"):
        text += f"; hint: {error['hint']}"
    if error.get("log"):
        text += f" (more in {error['log']})"
    return text


def headline(error: dict[str, Any]) -> str:
    """What went wrong, in one line, without a place."""
    lines = [line.strip() for line in error["message"].splitlines() if line.strip()]
    text = " ".join(lines[:3])
    text = text if len(text) <= MAX_LINE else text[:MAX_LINE] + "..."
    if error["type"]:
        text = f"{error['type']}: {text}" if text else error["type"]
    if error["kind"] == "import":
        text = f"the import of {error['module']} failed: {text}"
    if error.get("searched"):
        text += f"; searched {', '.join(error['searched'])}"
    return text


def error_parts(error: dict[str, Any]) -> tuple[str, str]:
    """The headline of an error and the lines below it."""
    lines = error["message"].splitlines()
    first = headline({**error, "message": lines[0] if lines else ""})
    detail = lines[1:20]
    for frame in error.get("frames", [])[-3:]:
        inside = f", in {frame['function']}" if frame["function"] else ""
        detail += [f"{frame['file']}, line {frame['line']}{inside}", f"    {frame['code']}"]
    return first, "\n".join(detail).strip("\n")


def unmet(raises: str, error: dict[str, Any] | None) -> str:
    """How an error differs from the one that is expected, ``Type: part of its message``."""
    kind, _, part = (" ".join(piece.split()) for piece in raises.partition(":"))
    if error is None:
        return f"expected {words(raises, 80)}, but no error occurred"
    if error["kind"] != "trace":
        return f"expected {words(raises, 80)}, found {describe(error)}"
    if kind.rpartition(".")[2] not in error["mro"]:
        return f"expected {words(kind, 80)}, found {describe(error)}"
    if part not in " ".join(error["message"].split()):
        return f"expected a message with {shorten(part)}, found {describe(error)}"
    return ""


def remarks(result: dict[str, Any], base: dict[str, Any]) -> list[str]:
    """Effects, effects that a transform of ``base`` lost, captured arrays."""
    found = []
    effects = result.get("effects", [])
    if effects:
        found.append(f"effects: {', '.join(effects)}")
    lost = [effect for effect in base.get("effects", []) if effect not in effects]
    if lost and result:
        found.append(f"the base has effects that are lost here: {', '.join(lost)}")
    sizes = result.get("constants", [])
    if sizes:
        total = megabytes(sum(size for _, size in sizes))
        listed = ", ".join(kind for kind, _ in sizes[:4]) + (", ..." if sizes[4:] else "")
        found.append(f"{total} captured: {listed}")
    return found


def differences(before: list[list[str]], now: list[list[str]]) -> str:
    """How the settings in which a program was traced differ from those of the stored one."""
    one: dict[str, str] = {pair[0]: pair[1] for pair in before}
    two: dict[str, str] = {pair[0]: pair[1] for pair in now}
    found = []
    for name in sorted({*one, *two}):
        then, today = one.get(name), two.get(name)
        if then == today:
            continue
        was = f"was {then}" if then is not None else "had its default"
        then_now = f"is {today}" if today is not None else "has its default"
        found.append(f"{name} {was} when the stored one was traced and {then_now} now")
    return "; ".join(found)


def megabytes(size: int) -> str:
    """A size in bytes as people read it."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"
