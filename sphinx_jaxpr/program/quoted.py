"""What an author wrote, as a message repeats it: short, on one line, without hidden signs."""

from __future__ import annotations

import re
from typing import Any, Final

from .characters import on_one_line

#: Longest piece of an author's text that a message repeats, in characters.
MAX_ECHO: Final = 40
#: Longest message about a text of an author, in characters.
MAX_MESSAGE: Final = 700
_GAP: Final = "..."
#: Signs without a blank that are no word, no path and no type any more.
_LONG: Final = 200
_RUN: Final = re.compile(rf"\S{{{_LONG},}}")


def clipped(text: str, most: int) -> str:
    """``text`` in at most ``most`` characters: of a longer one the middle is left out."""
    if len(text) <= most:
        return text
    kept = most - len(_GAP)
    tail = kept // 3
    return f"{text[: kept - tail]}{_GAP}{text[len(text) - tail :]}"


def inert(text: str) -> str:
    """``text`` on one line, with what can't be seen in it spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return on_one_line(text.replace("\r\n", " ").replace("\t", " "))


def shorten(text: object) -> str:
    """A text or a number quoted for a message, shortened in the middle."""
    if not isinstance(text, str):
        return echoed(text, MAX_ECHO)
    most = MAX_ECHO
    quoted = repr(clipped(text, most))
    while len(quoted) > 2 * MAX_ECHO:  # many signs that are spelled out
        most //= 2
        quoted = repr(clipped(text, most))
    return quoted


def words(text: str, most: int = MAX_ECHO) -> str:
    """A text for a message that quotes it itself."""
    return clipped(inert(clipped(text, most)), 2 * most)


def message(text: str, most: int = MAX_MESSAGE) -> str:
    """A whole message: the last guard against texts of any length that came into it."""
    text = inert(clipped(text, 4 * most))
    if len(text) > _LONG:
        text = _RUN.sub(lambda found: clipped(found[0], 2 * MAX_ECHO), text)
    return clipped(text, most)


def echoed(value: Any, most: int = 200) -> str:
    """The ``repr`` of any object, whatever that does; Python itself prints no huge integer."""
    try:
        text = repr(value)
    except Exception:
        sign = "an integer of" if isinstance(value, int) else "an object of"
        bits = value.bit_length() if isinstance(value, int) else 0
        text = f"{sign} {bits:,} bits" if bits else f"{sign} type {type(value).__name__}"
    return clipped(inert(clipped(text, 4 * most)), most)
