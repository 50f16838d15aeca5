"""What of a printed text could not be read as part of its jaxpr, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..model import Printed, Program, walk
from ..text import expect, shorten
from . import patterns
from .parser import skip

#: What authors leave out is marked by dots.
_LEFT_OUT: Final = re.compile(r"(?:[\s;#]|\.{3}|\u2026)*")


class Unread(NamedTuple):
    """A part of a text that is shown as it is: its ``offset``, and why."""

    offset: int
    message: str


def unread(printed: Printed) -> list[Unread]:
    """The parts of a text that could not be read, in its order; none where all was.

    Raises :exc:`TypeError` for anything but what :func:`parse` returns.

    >>> unread(parse("{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) } and more"))
    [Unread(offset=53, message="'and more' follows the jaxpr")]
    """
    expect(printed, Printed, "what `parse` returns")
    text = printed.text
    if printed.program is None:
        return [_no_program(printed)]
    first = patterns.START.search(text)
    start = first.start() if first else 0
    parts = []
    if (before := text[:start]).strip():
        offset = len(before) - len(before.lstrip())
        parts.append(Unread(offset, f"{_quoted(text, offset)} precedes the jaxpr"))
    for _, program in (*printed.shared, ("", printed.program)):
        parts += _of_program(text, program)
        for equation in walk(program):
            for nested in equation.programs:
                parts += _of_program(text, nested)
    end = printed.program.end
    rest = skip(patterns.GAP, text, end)
    if rest < len(text):
        more = "; each jaxpr needs its own directive" if patterns.START.search(text, rest) else ""
        parts.append(Unread(rest, f"{_quoted(text, rest)} follows the jaxpr{more}"))
    return sorted(parts)


def _no_program(printed: Printed) -> Unread:
    """Where reading stopped in a text that is not a jaxpr."""
    text = printed.text
    begins = re.search(r"\{\s*lambda\b", text)
    if begins is None:
        offset = len(text) - len(text.lstrip())
        return Unread(offset, "expected a jaxpr, which begins like `{ lambda ; a:f32[8]. let`")
    if printed.shared:
        return Unread(printed.shared[-1][1].end, "no jaxpr follows the shared programs")
    return Unread(
        begins.start(),
        f"no jaxpr begins at {_quoted(text, begins.start())}: inputs end with `. let`,"
        " as in `{ lambda ; a:f32[8]. let`",
    )


def _of_program(text: str, program: Program) -> Iterator[Unread]:
    position = program.header_end
    for equation in program.equations:
        offset = skip(patterns.BETWEEN, text, position)
        if offset < equation.start and not _LEFT_OUT.fullmatch(text, offset, equation.start):
            yield Unread(offset, f"{_quoted(text, offset)} cannot be read as an equation")
        position = equation.end
    offset = skip(patterns.BETWEEN, text, position)
    offset = _LEFT_OUT.match(text, offset).end()  # type: ignore[union-attr]  # matches nothing too
    if offset >= program.end:
        yield Unread(max(program.end - 1, 0), "the end is missing: `in (...) }`")
    elif not patterns.END.match(text, offset):
        yield Unread(offset, f"{_quoted(text, offset)} cannot be read as an equation")
    elif text[program.end - 1] != "}":
        yield Unread(offset, f"the results end with `) }}`, found {_quoted(text, offset)}")


def _quoted(text: str, offset: int) -> str:
    line = text[offset:].partition("\n")[0].strip()
    return shorten(line)
