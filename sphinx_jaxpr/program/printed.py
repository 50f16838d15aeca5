"""JAX's printed text of a jaxpr -> :class:`Printed`, without loss.

The text alone is read, so the version of JAX that printed it does not matter,
and a pasted jaxpr works as well as a traced one.  An equation that isn't
understood stays plain text; the ones around it do not suffer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import NamedTuple

from . import scan
from .model import (
    BINDER,
    KEYWORD,
    LITERAL,
    PARAMETER,
    PRIMITIVE,
    TYPE,
    USE,
    Equation,
    Operand,
    Parameter,
    Printed,
    Program,
    Token,
    Variable,
)

#: Programs nested deeper than this stay opaque text.
MAX_DEPTH = 1000

# Their values are names of Python functions, which shared programs are named after.
_NOT_REFERENCES = frozenset({"name", "jvp", "fwd", "bwd", "fmt", "axis_name"})

# Asks for the program at a position; is sent it, or None where there is none.
_Asks = Generator[int, Program | None, "_T | None"]


def parse(text: str) -> Printed:
    """Read what ``str(jaxpr)`` printed.  Never raises, whatever the text."""
    match = scan.START.search(text)
    if match is None:
        return Printed(text, None, (), ())
    parser = _Parser(text)
    shared: list[tuple[str, Program]] = []
    position = match.start()
    while let := scan.LET.match(text, position):
        parser.token(*let.span(1), KEYWORD)
        program = parser.run(let.end())
        if program is None:
            break
        shared.append((let[2], program))
        position = program.end
        if end := scan.LET_IN.match(text, position):
            parser.token(*end.span(1), KEYWORD)
            position = end.end()
    position = scan.GAP.match(text, position).end()  # type: ignore[union-attr]
    program = parser.run(position)
    if program is None and not shared:
        return Printed(text, None, (), ())
    return Printed(text, program, tuple(shared), tuple(parser.tokens))
