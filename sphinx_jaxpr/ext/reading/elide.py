"""What is folded away: the option ``elide``, words of what says little and paths to equations."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from ...tracing.grammar import nearest, shorten
from ..values import ELIDED

NONE: Final = "none"
WORDS: Final = ELIDED
#: Single words that are paths into the base's own program.
_PATHS: Final = frozenset("all forward tangent transpose recomputed kept reshaped added".split())


class Parts(NamedTuple):
    """The option taken apart; ``paths`` and ``problems`` with their offsets in it."""

    words: tuple[str, ...]
    paths: tuple[tuple[str, int], ...]
    problems: tuple[tuple[str, int], ...]


def read(text: str, blocks: Collection[str]) -> Parts:
    """The option's words and paths; ``blocks`` are the labels and the name that a path may be."""
    words: list[str] = []
    paths: list[tuple[str, int]] = []
    problems: list[tuple[str, int]] = []
    known = (*WORDS, NONE, *blocks)
    parts = split(text)
    for part, offset in parts:
        if part == NONE and len(parts) > 1:
            problems.append(("elide: 'none' stands alone, or not at all", offset))
        elif part in WORDS or part == NONE:
            words.append(part)
        elif part.isidentifier() and part not in _PATHS and part not in blocks:
            problem = f"elide: {shorten(part)} is no word here{nearest(part, known)}"
            problems.append((f"{problem} (known: {', '.join(known)}, and paths)", offset))
        else:
            paths.append((" ".join(part.split()), offset))
    return Parts(tuple(dict.fromkeys(words)), tuple(paths), tuple(problems))


def split(text: str) -> list[tuple[str, int]]:
    """Parts between commas and blanks that are in no brackets or quotes, with their offsets."""
    found: list[tuple[str, int]] = []
    depth, statement, start = 0, "", -1
    for place, sign in enumerate(f"{text} "):
        if not statement and depth <= 0 and (sign == "," or sign.isspace()):
            if start >= 0:
                found.append((text[start:place], start))
            start = -1
            continue
        start = place if start < 0 else start
        if statement:
            statement = "" if sign == statement else statement
        elif sign in "'\"":
            statement = sign
        else:
            depth += (sign in "([{") - (sign in ")]}")
    if start >= 0:
        found.append((text[start:].rstrip(), start))
    return found
