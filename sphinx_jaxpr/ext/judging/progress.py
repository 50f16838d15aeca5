"""How far tracing is: lines for long work, with an estimate of the time left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from sphinx.util import logging
from sphinx.util.console import bold  # type: ignore[attr-defined]  # made at run time

from ...program.text import on_one_line
from ...tracing.request import Request

logger = logging.getLogger(__name__)

#: Seconds after which work is long, and between two lines on a terminal.
FIRST: Final = 2.0
EACH: Final = 1.0
#: Seconds before the first line elsewhere; these double, up to a longest pause.
FIRST_IN_LOGS: Final = 10.0
LONGEST_PAUSE: Final = 120.0
_TITLE: Final = "tracing jaxprs... "


class TracingProgress:
    """Reports how many of ``total`` programs are traced; each of them in verbose mode."""

    def __init__(
        self, total: int, verbosity: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.total = total
        self.verbose = verbosity > 0
        self.clock = clock
        self.done = 0
        self.began = clock()
        self.first = 0.0  # when the first program was there: JAX has started by then
        self.bold = bold(_TITLE)
        self.on_terminal = self.bold != _TITLE  # where Sphinx colours, lines can be rewritten
        self.due = self.began + (FIRST if self.on_terminal else FIRST_IN_LOGS)

    def step(self, request: Request) -> None:
        """Another program is traced."""
        self.done += 1
        now = self.clock()
        self.first = self.first or now
        if self.verbose:
            self._line(title(request))
        elif now >= self.due and self.done > 1:
            left = (now - self.first) / (self.done - 1) * (self.total - self.done)
            text = f"{self.done} of {self.total}, about {duration(left)} left"
            if left >= EACH:
                self._line(text, stays=not self.on_terminal)
            self.due = now + (EACH if self.on_terminal else min(now - self.began, LONGEST_PAUSE))

    def end(self) -> None:
        """All programs are traced, or it ends here."""
        if self.done and not self.verbose:
            programs = "program" if self.done == 1 else "programs"
            self._line(f"{self.done} {programs}")

    def _line(self, text: str, *, stays: bool = True) -> None:
        clear = "\x1b[2K" if self.on_terminal and not self.verbose else ""
        share = f"[{self.done / self.total:>4.0%}] "
        logger.info("%s", f"{clear}{self.bold}{share}{on_one_line(text)}", nonl=not stays)
        if not stays:
            logger.info("\r", nonl=True)


def title(request: Request) -> str:
    """A program in a line for people: its target and its transforms."""
    steps = " | ".join(step.name for step in request.steps)
    return f"{request.target} {steps}".rstrip()


def duration(seconds: float) -> str:
    """A time for people: seconds below two minutes, then minutes, then hours."""
    if seconds < 120:
        return f"{max(round(seconds), 1)} s"
    return f"{round(seconds / 60)} min" if seconds < 7200 else f"{round(seconds / 3600)} h"
