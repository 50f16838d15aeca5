"""Lines of a page's code: results count them in the module, readers in the page.

Results hold lines of ``<page>``, so that an edit of prose, which moves the code, traces nothing.
They become lines of the page's file where a result is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ...tracing.pagecode import PAGE, first_lines
from ..records import CodeSpan

if TYPE_CHECKING:
    from ...tracing.result import Result, TraceError


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

    def result(self, result: Result) -> Result:
        """A result with lines of the page."""
        source, program, error = result.source, result.program, result.error
        if source is not None:
            file, line = self.at(source.file, source.line)
            source = replace(source, file=file, line=line)
        if program is not None:
            moved = {
                (file, line, function): (*self.at(file, line), function)
                for file, line, function in program.facts.sources
            }
            program = replace(program, facts=program.facts.moved(moved))
        error = self.error(error) if error is not None else None
        return replace(result, source=source, program=program, error=error)

    def error(self, error: TraceError) -> TraceError:
        """An error with lines of the page."""
        frames = []
        for frame in error.frames:
            file, line = self.at(frame.file, frame.line)
            frames.append(replace(frame, file=file, line=line))
        return replace(error, frames=tuple(frames))
