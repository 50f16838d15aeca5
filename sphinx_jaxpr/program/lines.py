"""The lines of a text, by offsets into it."""

from __future__ import annotations

from bisect import bisect_right

from .model import Program


class Lines:
    """Where each line of a text begins; lines are counted from 0."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(place + 1 for place, sign in enumerate(text) if sign == "\n")]

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
        around = self.text[self.starts[first] : begin] + self.text[end : self.end(last)]
        return None if around.strip() else (first, last)

    def body(self, program: Program) -> tuple[int, int] | None:
        """First and last line of what folds of a nested program, where it has lines of its own.

        The first one opens it; the one that closes it stays in sight, so that a
        folded program still says what it returns.
        """
        first, head = self.at(program.start), self.at(max(program.header_end - 1, 0))
        last = self.at(max(program.end - 1, 0))
        return None if last - head < 2 else (first, last - 1)
