"""The option ``elide``: what to fold away, as words for noise and paths to equations."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from ...program.text import nearest, shorten
from ..values import ELIDED

NONE: Final = "none"
WORDS: Final = ELIDED
#: Single words that are paths into the base program.
_PATHS: Final = frozenset("all forward tangent transpose recomputed kept reshaped added".split())


class Parts(NamedTuple):
    """The parts of the option; ``paths`` and ``problems`` with their offsets in it."""

    words: tuple[str, ...]
    paths: tuple[tuple[str, int], ...]
    problems: tuple[tuple[str, int], ...]


def read(text: str, blocks: Collection[str]) -> Parts:
    """The option's words and paths; ``blocks`` are the labels and the name that paths use."""
    words: list[str] = []
    paths: list[tuple[str, int]] = []
    problems: list[tuple[str, int]] = []
    names = (*WORDS, NONE, *blocks)
    parts = split(text)
    for part, offset in parts:
        if part == NONE and len(parts) > 1:
            problems.append(("elide: 'none' can't be combined with other words or paths", offset))
        elif part in WORDS or part == NONE:
            words.append(part)
        elif part.isidentifier() and part not in _PATHS and part not in blocks:
            problem = f"elide: unknown word {shorten(part)}{nearest(part, names)}"
            problems.append((f"{problem} (known: {', '.join(names)}, and paths)", offset))
        else:
            paths.append((" ".join(part.split()), offset))
    return Parts(tuple(dict.fromkeys(words)), tuple(paths), tuple(problems))


def split(text: str) -> list[tuple[str, int]]:
    """The parts between commas and blanks outside brackets and quotes, with their offsets."""
    parts: list[tuple[str, int]] = []
    depth, quote, start = 0, "", -1
    for offset, sign in enumerate(f"{text} "):
        if not quote and depth <= 0 and (sign == "," or sign.isspace()):
            if start >= 0:
                parts.append((text[start:offset], start))
            start = -1
            continue
        start = offset if start < 0 else start
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            depth += (sign in "([{") - (sign in ")]}")
    if start >= 0:
        parts.append((text[start:].rstrip(), start))
    return parts
