"""The lines of a text, by offsets into it."""

from __future__ import annotations

import re
from bisect import bisect_right

from .model import Program


class Lines:
    """Where each line of a text begins; lines are counted from 0."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._ink: dict[int, tuple[int, int]] = {}

    def at(self, offset: int) -> int:
        """The line of an offset."""
        return bisect_right(self.starts, offset) - 1

    def end(self, line: int) -> int:
        """The offset behind the last character of a line."""
        following = line + 1
        return self.starts[following] - 1 if following < len(self.starts) else len(self.text)

    def own(self, begin: int, end: int) -> tuple[int, int] | None:
        """First and last line of a part of the text where nothing else stands on them."""
        first, last = self.at(begin), self.at(max(end - 1, 0))
        alone = begin <= self.ink(first)[0] and self.ink(last)[1] <= end
        return (first, last) if alone else None

    def ink(self, line: int) -> tuple[int, int]:
        """The offsets of a line's first and behind its last character that is no blank.

        Kept, since a line may hold all equations of a program, each of which asks.
        """
        found = self._ink.get(line)
        if found is None:
            begin, end = self.starts[line], self.end(line)
            text = self.text[begin:end]
            width = len(text) - len(text.lstrip())
            found = self._ink[line] = begin + width, max(begin + len(text.rstrip()), begin)
        return found

    def body(self, program: Program) -> tuple[int, int] | None:
        """First and last line of what folds of a nested program, where it has lines of its own.

        The first one opens it; the one that closes it stays in sight, so that a
        folded program still says what it returns.
        """
        first, head = self.at(program.start), self.at(max(program.header_end - 1, 0))
        last = self.at(max(program.end - 1, 0))
        return None if last - head < 2 else (first, last - 1)
