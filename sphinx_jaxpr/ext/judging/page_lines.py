"""Lines of a page's code: results count them in the module, readers in the page.

Results hold lines of ``<page>``, so that an edit of prose, which moves the code, traces nothing.
They become lines of the page's file where a result is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from ...tracing.jobs import PAGE, first_lines
from ..records import CodeSpan


class PageLines:
    """The lines of the code that a directive's blocks use.

    ``spans`` are the places of its parts; ``displayed`` gives the name of a file for readers.
    """

    def __init__(self, spans: tuple[CodeSpan, ...], displayed: Callable[[str], str]) -> None:
        self.spans = spans
        self.displayed = displayed
        self.firsts = first_lines(span.lines for span in spans)

    def span(self, line: int) -> tuple[CodeSpan, int]:
        """The part with a line of the module, and that line in its file (or its cell)."""
        index = max(bisect_right(self.firsts, line) - 1, 0)
        span = self.spans[index]
        return span, span.line + line - self.firsts[index]

    def at(self, file: str, line: int) -> tuple[str, int]:
        """A line of a result, as readers know it."""
        if file != PAGE or not self.spans:
            return file, line
        span, line = self.span(line)
        source = self.displayed(span.source)
        return f"{source}, cell {span.cell}" if span.cell else source, line
