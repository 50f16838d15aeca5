"""An exception of user code as plain data: the user's frames, nobody else's."""

from __future__ import annotations

import linecache
import os
import traceback
from types import TracebackType
from typing import Any

from ..program.characters import spelled
from ..tracing.places import is_project_file
from .facts import mask

#: Longest message that is kept of one error, in characters.
MAX_MESSAGE = 4_000


class RequestError(Exception):
    """A request that can't be carried out as written.

    ``kind`` is ``target``, ``option`` or ``import``; it decides the type of
    the warning.  ``more`` is for the report: ``option`` names the option that
    is at fault, ``searched`` the import roots.
    """

    def __init__(self, kind: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.more = more


class Hint(str):
    """A note on an exception that is for the author of the page."""


def hint_of(error: BaseException) -> str:
    """The hint on an exception, or nothing."""
    notes = getattr(error, "__notes__", ())
    return next((str(note) for note in notes if isinstance(note, Hint)), "")


def describe(
    error: BaseException, kind: str, package_folder: str, owner: str = ""
) -> dict[str, Any]:
    """The report of one error, ready for JSON.

    ``frames`` are outermost first: those of the project, and of the top-level
    package ``owner`` that the page names, which may be an installed one.
    ``mro`` holds the names of the exception's classes, so that ``raises:
    TypeError`` accepts a subclass.
    """
    found: dict[str, Any] = {"kind": kind, "type": "", "mro": [], "message": message_of(error)}
    if isinstance(error, RequestError):  # its message says it all
        return {**found, "frames": [], "traceback": "", **error.more}
    frames = _frames(error.__traceback__, package_folder, owner) + _syntax_frame(error)
    hint = hint_of(error)
    return {
        **found,
        **({"hint": hint} if hint else {}),
        "type": printable(type(error).__name__),
        "mro": [printable(c.__name__) for c in type(error).__mro__ if c is not object],
        "frames": frames,
        "traceback": printable(_traceback(error)[-100_000:]),
    }


def message_of(error: BaseException) -> str:
    """What an exception says, also where its ``__str__`` raises one itself."""
    try:
        text = str(error)
    except BaseException as other:
        text = f"(its message raised {type(other).__name__})"
    if isinstance(error, SystemExit):
        text = f"the code called sys.exit({text})"
    elif isinstance(error, SyntaxError) and error.msg:
        text = error.msg
    text = printable(text.strip())
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "..."


def printable(text: str) -> str:
    """``text`` with control characters spelled, and without memory addresses."""
    return spelled(mask(text))


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception as other:  # a file's name that no system takes, notes that can't be read
        return f"{message_of(error)}\n(its traceback can't be written: {type(other).__name__})\n"


def _code(file: str, line: int, known: dict[str, Any]) -> str:
    """A line of a file, ``""`` where that has none, or a name that no system takes."""
    try:
        return linecache.getline(file, line, known).strip()
    except ValueError:
        return ""


def _frames(trace: TracebackType | None, package_folder: str, owner: str) -> list[dict[str, Any]]:
    ours = os.path.join(package_folder, "")
    frames = []
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        owned = owner and str(frame.f_globals.get("__name__", "")).partition(".")[0] == owner
        if not (is_project_file(file) or owned) or file.startswith(ours):
            continue
        frames.append(
            {
                "file": file,
                "line": line,
                "function": frame.f_code.co_name,
                "code": printable(_code(file, line, frame.f_globals)),
            }
        )
    return frames[-20:]


def _syntax_frame(error: BaseException) -> list[dict[str, Any]]:
    if not isinstance(error, SyntaxError) or not error.filename:
        return []
    code = printable((error.text or "").strip())
    return [{"file": error.filename, "line": error.lineno or 0, "function": "", "code": code}]
