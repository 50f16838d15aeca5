"""The grammar of ``jaxpr-claims``: what each line of a body is.

    len(dense) == 4                                  an expression
    the forward part stays: same(g[:4], dense[:4])   an expression with a name
    let g = dense.grad                               a name for a path or a value
    # a comment

A line that is indented or begins with a closing bracket continues the one above, and so does a
line below a backslash.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from ....program.query.syntax import MAX_CHARACTERS, is_python, readable
from ....program.text import clipped, shorten
from ....tracing.request import check_name
from ...records import CLAIM, LET

#: How many signs of a line are tried as the end of its name, or as the beginning of a comment.
_MOST: Final = 50
_COLON: Final = re.compile(r":\s+")
_LET: Final = re.compile(r"let\s+(?P<name>[^=\s]*)\s*=(?!=)\s*(?P<expression>.*)", re.DOTALL)
_ALMOST_LET: Final = re.compile(r"let\s+(?P<name>\S+)")
#: What is meant as a let, or as a name, and is neither.
_MEANT_LET: Final = re.compile(
    r"(?:let\s+)?(?P<name>[^\W\d]\w*)\s*:?=(?!=)\s*(?P<expression>.*)", re.DOTALL | re.IGNORECASE
)
_MEANT_NAME: Final = re.compile(r"(?P<name>[^:]*[^:\s]):(?P<expression>[^\s/].*)", re.DOTALL)
_FORM: Final = "let g = dense.grad"


class ClaimLine(NamedTuple):
    """What one line is, or several that continue each other.

    ``number`` counts from 0.  ``kind`` is ``claim`` or ``let``; a claim may have no name.
    ``problem`` says what is wrong with a let.  A line ``is_broken`` if nothing can use it.
    """

    number: int
    kind: str
    name: str
    expression: str
    problem: str = ""
    is_broken: bool = False


def read(body: Sequence[str]) -> list[ClaimLine]:
    """What the lines of a body are."""
    return [_line(number, text) for number, text in expressions(body)]


def expressions(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The texts of a body, each with the number of its first line; without comments."""
    numbered: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        text = without_comment(line)
        if not text.strip():
            continue
        first, before = numbered[-1] if numbered else (number, "")
        above = before.removesuffix("\\").rstrip()  # which continues, as Python's lines do
        if numbered and (above != before or text[:1].isspace() or text[0] in ")]}"):
            numbered[-1] = (first, f"{above} {text.strip()}")
        else:
            numbered.append((number, text.strip()))
    return numbered


# --- one line


def _line(number: int, text: str) -> ClaimLine:
    if (let := _LET.fullmatch(text)) is not None:
        name, expression = let["name"], let["expression"]
        problem = check_name(name, "let") if name else f"a let has a name: `{_FORM}`"
        if not problem and not expression:
            problem = f"let {shorten(name)} has no value; write it as `{_FORM}`"
        return ClaimLine(number, LET, name, expression, problem, not readable(expression))
    name, expression = split(text)
    if (almost := _ALMOST_LET.fullmatch(name if expression else text)) is not None:
        problem = f"{shorten(text)} is not a let; write it as `let {almost['name']} = path`"
        return ClaimLine(number, LET, "", expression, problem, True)
    if not expression:  # neither parses; what has the form of a name is one that nothing can use
        if (meant := _MEANT_LET.fullmatch(text)) and readable(meant["expression"]):
            right = clipped(f"let {meant['name']} = {meant['expression']}", 60)
            problem = f"{shorten(text)} is not a let; write it as `{right}`"
            return ClaimLine(number, LET, "", meant["expression"], problem, True)
        if (meant := _MEANT_NAME.fullmatch(text)) and readable(meant["expression"]):
            problem = f"{shorten(text)} has no blank behind the `:` that ends its name"
            return ClaimLine(number, CLAIM, meant["name"], meant["expression"], problem, True)
        name, expression = _guessed(text)
        if not name and _ALMOST_LET.match(text):
            problem = f"{shorten(text)} is not a let; write it as `{_FORM}`"
            return ClaimLine(number, LET, "", text, problem, True)
    return ClaimLine(number, CLAIM, name, expression, "", not readable(expression))


def split(text: str) -> tuple[str, str]:
    """The name and the expression of a line; ``""`` for no name, or for no expression.

    A line that parses whole is an expression; else the first ``: `` behind which
    an expression is ends its name.
    """
    if len(text) > 4 * MAX_CHARACTERS or is_python(text):
        return "", text
    for name, rest in _splits(text):
        if is_python(rest):
            return name, rest
    return "", ""


def _splits(text: str) -> Iterator[tuple[str, str]]:
    for _, colon in zip(range(_MOST), _COLON.finditer(text), strict=False):
        name, rest = text[: colon.start()].strip(), text[colon.end() :].strip()
        if name and rest:
            yield name, rest


def _guessed(text: str) -> tuple[str, str]:
    """The most likely name of a line that doesn't parse: without brackets left open."""
    name, rest = next(_splits(text), ("", text))
    is_whole = all(name.count(left) == name.count(right) for left, right in ("()", "[]", "{}"))
    return (name, rest) if is_whole else ("", text)


# --- comments


def without_comment(line: str) -> str:
    """A line up to its comment; a ``#`` in a string or in the code of a name starts none."""
    if "#" not in line:
        return line
    for _, sign in zip(range(_MOST), re.finditer("#", line), strict=False):
        if _is_complete(line[: sign.start()].strip()):
            return line[: sign.start()]
    if _is_complete(line.strip()):
        return line
    # It continues below, or can't be read, which is a finding later.
    offset = len(line) - len(line.lstrip())
    text = line.strip()
    for start in (0, *(text.index(rest, len(name)) for name, rest in _splits(text))):
        comment = _comment_of_python(text[start:])
        if comment >= 0:
            return line[: offset + start + comment]
    return line


def _is_complete(text: str) -> bool:
    """Whether a text is a whole line, or nothing."""
    let = _LET.fullmatch(text)
    return not text or (is_python(let["expression"]) if let else bool(split(text)[1]))


def _comment_of_python(text: str) -> int:
    """Where a comment begins in what may be a part of an expression, else -1."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                return token.start[1]
    except (tokenize.TokenError, SyntaxError):
        before = text.partition("#")[0]
        if before.count('"') % 2 == before.count("'") % 2 == 0 and before != text:
            return len(before)
    return -1


def echo(line: ClaimLine) -> str:
    """A line for a message."""
    return shorten(line.name or clipped(line.expression, 60))
