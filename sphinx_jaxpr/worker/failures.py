"""Exceptions of user code as :class:`TraceError`, with the user's frames alone."""

from __future__ import annotations

import importlib.machinery
import linecache
import os
import re
import traceback
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Final, Self

from ..program.text import spelled
from ..tracing.folders import is_project_file
from ..tracing.masking import mask
from ..tracing.result import ErrorKind, Frame, TraceError

# --- lines of Python files, for errors and listings

_SUFFIXES: Final = tuple(importlib.machinery.SOURCE_SUFFIXES)
#: How many nested exceptions are listed with their frames.
_CHAINED: Final = 100


def is_python(file: Any) -> bool:
    """Whether a name is that of a Python file, or of code that was never in a file."""
    if type(file) is not str or not _is_possible(file):
        return False
    return file.endswith(_SUFFIXES) or (file.startswith("<") and not os.path.exists(file))


def _is_possible(file: str) -> bool:
    """Whether the system accepts a file name; some versions of Python raise for others."""
    try:
        return b"\0" not in os.fsencode(file)
    except UnicodeEncodeError:
        return False


def line_of(file: str, line: int, names: dict[str, object]) -> str:
    """One line of a Python file, ``""`` where there is none."""
    try:
        return linecache.getline(file, line, names).strip() if is_python(file) else ""
    except Exception:  # user code changed the cache
        return ""


def listing(error: BaseException) -> str:
    """A traceback as Python prints it, with lines of Python files only."""
    try:
        report = traceback.TracebackException(
            type(error), error, error.__traceback__, lookup_lines=False
        )
        _mute(report)
        return "".join(report.format())
    except Exception as problem:  # the exception misreports its own parts
        return f"{type(problem).__name__} while its traceback was read"


def _mute(error: traceback.TracebackException) -> None:
    """Leave out the lines of files that are not Python."""
    todo: list[traceback.TracebackException | None] = [error]
    for _ in range(_CHAINED):
        if not todo:
            return
        exception = todo.pop()
        if exception is None:
            continue
        for index, frame in enumerate(exception.stack or ()):
            if not is_python(frame.filename):
                exception.stack[index] = traceback.FrameSummary(
                    frame.filename, frame.lineno, frame.name, lookup_line=False, line=""
                )
        todo += [*(exception.exceptions or ()), exception.__cause__, exception.__context__]
    for exception in filter(None, todo):  # too many to look at
        exception.stack.clear()
        exception.exceptions = exception.__cause__ = exception.__context__ = None


# --- an exception of user code as plain data, with the user's frames alone

#: Longest message that is kept of one error, in characters.
MAX_MESSAGE = 4_000
#: Longest name of an exception that is kept, in characters.
_LONGEST_NAME = 200


class RequestError(Exception):
    """A request that can't be carried out as written; its kind decides the warning's type.

    ``option`` names the directive's option at fault, ``searched`` the import roots,
    ``wanted`` the module that was not found there.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        option: str = "",
        searched: Sequence[str] = (),
        wanted: str = "",
    ) -> None:
        super().__init__(message)
        self.report = TraceError(
            kind, message, option=option, searched=tuple(searched), wanted=wanted
        )

    def blame(self, option: str) -> None:
        """Name the option at fault, unless one is named already."""
        if not self.report.option:
            self.report = replace(self.report, option=option)

    def in_option(self, option: str) -> RequestError:
        """The same problem as one of an option that the message names first."""
        report = self.report
        return RequestError(
            ErrorKind.OPTION,
            f"{option}: {report.message}",
            option=option,
            searched=report.searched,
            wanted=report.wanted,
        )


class Hint(str):
    """A note on an exception, for the author of the page, and the option at fault, if any."""

    option: str

    def __new__(cls, text: str, option: str = "") -> Self:
        hint = super().__new__(cls, text)
        hint.option = option
        return hint


def hint_of(error: BaseException) -> Hint:
    """The hint on an exception, or an empty one."""
    try:
        notes = getattr(error, "__notes__", ())
        return next((note for note in notes if type(note) is Hint), Hint(""))
    except Exception:  # reading an exception of user code may run anything
        return Hint("")


def is_a(error: BaseException, kinds: type | tuple[type, ...]) -> bool:
    """``isinstance`` by the real class of an exception, whatever its ``__class__`` claims."""
    return issubclass(type(error), kinds)


def _name_of(kind: type) -> str:
    """The name of a class, whatever its metaclass says."""
    return printable(type.__dict__["__name__"].__get__(kind))[:_LONGEST_NAME]


def describe(
    error: BaseException, kind: ErrorKind, package_folder: str, owner: str = ""
) -> TraceError:
    """The report of one error of that kind, a :class:`RequestError`'s own where it is one.

    ``frames`` are outermost first: those of the project, and of the top-level
    package ``owner`` that the page names, which may be an installed one.
    ``mro`` holds the names of the exception's classes, so that ``raises:
    TypeError`` accepts a subclass.
    """
    message = _without_places(message_of(error), package_folder)
    if is_a(error, RequestError):  # its message is enough
        return replace(report_of(error), message=message)
    trace = BaseException.__dict__["__traceback__"].__get__(error)
    return TraceError(
        kind,
        message,
        _name_of(type(error)),
        tuple(_name_of(c) for c in _mro(type(error)) if c is not object),
        (*_frames(trace, package_folder, owner), *_syntax_frame(error)),
        hint=str(hint_of(error)),
        option=hint_of(error).option,
        traceback=printable(listing(error)[-100_000:]),
    )


def report_of(error: BaseException) -> TraceError:
    """The report of a :class:`RequestError`, even if user code changed its class."""
    report: TraceError = vars(error)["report"]
    return report


def _mro(kind: type) -> tuple[type, ...]:
    classes: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return classes


def _syntax(error: BaseException) -> SyntaxError | None:
    """An error of reading Python, of Python's own kinds."""
    own = type(error) in (SyntaxError, IndentationError, TabError)
    return error if own and isinstance(error, SyntaxError) else None


def message_of(error: BaseException) -> str:
    """The message of an exception, even if its ``__str__`` raises."""
    try:
        text = str(error)
    except BaseException as other:
        text = f"(its message raised {_name_of(type(other))})"
    if is_a(error, SystemExit):
        text = f"the code called sys.exit({text})"
    elif (syntax := _syntax(error)) and type(syntax.msg) is str and syntax.msg:
        text = syntax.msg
    text = printable(text.strip())
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "..."


def _without_places(message: str, package_folder: str) -> str:
    """A message in which JAX names no line of this package, whose functions wrap the page's."""
    ours = re.escape(os.path.join(package_folder, ""))
    return re.sub(rf"( (at|in|on line|from))? {ours}[^\s:]*:\d+(:\d+)?( \([^)\n]*\))?", "", message)


def printable(text: str) -> str:
    """``text`` with control characters spelled out and memory addresses masked."""
    return spelled(mask(text))


def _one_line(text: str) -> str:
    """A name of a file or function on one line: code may choose any text."""
    return printable(text).replace("\n", "\\n")


def _frames(trace: TracebackType | None, package_folder: str, owner: str) -> list[Frame]:
    ours = os.path.join(package_folder, "")
    frames = []
    for frame, line in traceback.walk_tb(trace):
        file = frame.f_code.co_filename
        owned = owner and str(frame.f_globals.get("__name__", "")).partition(".")[0] == owner
        if not (is_project_file(file) or owned) or file.startswith(ours):
            continue
        function = _one_line(frame.f_code.co_name)[:_LONGEST_NAME]
        code = printable(line_of(file, line, frame.f_globals))
        frames.append(Frame(_one_line(file), line, function, code))
    return frames[-20:]


def _syntax_frame(error: BaseException) -> list[Frame]:
    """Where Python could not parse a file; user code may have put anything into the error."""
    syntax = _syntax(error)
    if syntax is None or type(syntax.filename) is not str or not syntax.filename:
        return []
    text = syntax.text if type(syntax.text) is str else ""
    line = syntax.lineno if type(syntax.lineno) is int else 0
    return [Frame(_one_line(syntax.filename), line, "", printable(text.strip()))]
