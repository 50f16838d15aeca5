"""Lines of Python files, for errors and listings.  Imports nothing of JAX.

The file of a piece of code is a text that its author may choose: what is not a file of
Python is not read, so that no page repeats another file of the machine.
"""

from __future__ import annotations

import importlib.machinery
import linecache
import os
import traceback
from typing import Any, Final

_SUFFIXES: Final = tuple(importlib.machinery.SOURCE_SUFFIXES)
#: Exceptions inside of exceptions that are listed with their frames.
_CHAINED: Final = 100


def is_python(file: Any) -> bool:
    """Whether a name is that of a Python file, or of a text that was never in one."""
    if type(file) is not str or not _is_possible(file):
        return False
    return file.endswith(_SUFFIXES) or (file.startswith("<") and not os.path.exists(file))


def _is_possible(file: str) -> bool:
    """Whether the system can be asked for a file of that name; some versions of Python raise."""
    try:
        return b"\0" not in os.fsencode(file)
    except UnicodeEncodeError:
        return False


def line_of(file: str, line: int, names: dict[str, Any]) -> str:
    """One line of a Python file, ``""`` where there is none."""
    try:
        return linecache.getline(file, line, names).strip() if is_python(file) else ""
    except Exception:  # user code changed what is kept there
        return ""


def listing(error: BaseException) -> str:
    """A traceback as Python prints it, with the lines of Python files alone."""
    try:
        found = traceback.TracebackException(
            type(error), error, error.__traceback__, lookup_lines=False
        )
        _mute(found)
        return "".join(found.format())
    except Exception as problem:  # the exception is of a kind that lies
        return f"{type(problem).__name__} while its traceback was read"


def _mute(error: traceback.TracebackException) -> None:
    """Leave out the lines of what is no Python file."""
    todo: list[traceback.TracebackException | None] = [error]
    for _ in range(_CHAINED):
        if not todo:
            return
        one = todo.pop()
        if one is None:
            continue
        for place, frame in enumerate(one.stack or ()):
            if not is_python(frame.filename):
                one.stack[place] = traceback.FrameSummary(
                    frame.filename, frame.lineno, frame.name, lookup_line=False, line=""
                )
        todo += [*(one.exceptions or ()), one.__cause__, one.__context__]
    for one in filter(None, todo):  # too many to look at
        one.stack.clear()
        one.exceptions = one.__cause__ = one.__context__ = None
