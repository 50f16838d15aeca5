"""An exception of user code as plain data: the user's frames, nobody else's."""

from __future__ import annotations

import linecache
import traceback
from types import TracebackType
from typing import Any

from ..tracing.places import is_project_file

#: Longest message that is kept of one error, in characters.
MAX_MESSAGE = 4_000


class RequestError(Exception):
    """A request that can't be carried out as written.

    ``kind`` is ``target``, ``option`` or ``import``; it decides the type of
    the warning.
    """

    def __init__(self, kind: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.more = more


def describe(error: BaseException, kind: str, package_folder: str) -> dict[str, Any]:
    """The report of one error, ready for JSON.

    ``frames`` are outermost first; ``mro`` holds the names of the exception's
    classes, so that ``raises: TypeError`` accepts a subclass.
    """
    mro = [c.__name__ for c in type(error).__mro__ if c not in (object, BaseException)]
    return {
        "kind": kind,
        "type": type(error).__name__,
        "mro": mro,
        "message": _message(error),
        "frames": _frames(error.__traceback__, package_folder) + _syntax_frame(error),
        "traceback": "".join(traceback.format_exception(error))[-100_000:],
        **(error.more if isinstance(error, RequestError) else {}),
    }


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception as other:
        text = f"(its message raised {type(other).__name__})"
    if isinstance(error, SystemExit):
        text = f"the code called sys.exit({text})"
    elif isinstance(error, SyntaxError) and error.msg:
        text = error.msg
    return text.strip()[:MAX_MESSAGE]


def _frames(trace: TracebackType | None, package_folder: str) -> list[dict[str, Any]]:
    frames = []
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        if not is_project_file(file) or file.startswith(package_folder):
            continue
        frames.append(
            {
                "file": file,
                "line": line,
                "function": frame.f_code.co_name,
                "code": linecache.getline(file, line, frame.f_globals).strip(),
            }
        )
    return frames[-20:]


def _syntax_frame(error: BaseException) -> list[dict[str, Any]]:
    if not isinstance(error, SyntaxError) or not error.filename:
        return []
    code = (error.text or "").strip()
    return [{"file": error.filename, "line": error.lineno or 0, "function": "", "code": code}]
