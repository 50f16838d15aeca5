"""What the worker may answer to a request, and nothing else.

User code runs in the process that answers.  So each message is checked in all of its fields,
those of the result by the functions that check the lock and the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .needs import Needs
from .results import error_problem, is_text, problem

#: Longest text about the work itself, in characters.
_LONGEST: Final = 100_000
_MOST_SETS: Final = 2**31
#: Parts of :class:`Needs` that are texts by name; the others are lists of names.
_NAMED: Final = frozenset(["files", "folders", "paths", "sizes", "parts"])
_STAGES: Final = ("import", "trace")

_Check = Callable[[Any], str]


def unfit(message: Mapping[str, Any], number: int) -> str:
    """Why a message does not answer request ``number``, ``""`` where it is one."""
    if type(message.get("id")) is not int or message["id"] != number:
        return "it answers another request"
    given = message.keys() - {"id"}
    for main, fields in _MESSAGES.items():
        if main in given:
            if extra := given - fields.keys():
                return f"{min(extra)[:40]!r} is not a field of a reply"
            wrong = (fields[name](message[name]) for name in fields if name in given)
            if found := next(filter(None, wrong), ""):
                return found
            return _whole(message)
    return "it has no result"


def _whole(message: Mapping[str, Any]) -> str:
    """What is wrong with the parts together."""
    if "stage" in message:
        wrong = (message["stage"] == "import") != bool(message.get("module"))
        return "stage and module do not belong together" if wrong else ""
    if "error" in message and "known" in message:
        # An error that is expected is shown with what was known before it.
        shown = {"kind": "trace", "type": "", "mro": [], "message": "", "frames": []}
        return problem({**message["known"], "error": shown})
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


def _known(value: Any) -> str:
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
    known = Needs.__dataclass_fields__
    for name, found in value.items():
        if name not in known:
            return f"needs.{name[:40]!r} is not a field of a reply"
        if name in _NAMED:
            good = type(found) is dict and all(map(_is_name, found))
            good = good and all(type(text) is str for text in found.values())
            if not good:
                return f"needs.{name} is not an object of texts by name"
        elif type(found) is not list or not all(map(_is_name, found)):
            return f"needs.{name} is not a list of names"
    return ""


def _is_name(value: Any) -> bool:
    """A path may have bytes that are no text, but no NUL, as the system has none in them."""
    return type(value) is str and value != "" and "\0" not in value


_MESSAGES: Final[Mapping[str, Mapping[str, _Check]]] = {
    "stage": {"stage": _stage, "module": _module},
    "again": {"again": _again},
    "result": {"result": _program, "deps": _deps, "needs": needs_problem},
    "error": {"error": error_problem, "known": _known, "deps": _deps, "needs": needs_problem},
}
