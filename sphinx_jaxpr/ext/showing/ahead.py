"""Work on blocks whose results have arrived, while the worker traces the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ..judging.session import BuildSession
from ..records import DirectiveRecord

if TYPE_CHECKING:
    from ...block import TracedBlock

#: A longer text is left to its page: parsing it would keep the worker waiting.
LONGEST: Final = 16 * 1024


class Ahead:
    """Parses and matches blocks in the order of the pages, one in each call.

    Only those that this build traces: their pages will be written, and others may not be.
    The session keeps what is made here; once it has most of what it keeps, the rest is left to
    the pages.
    """

    def __init__(self, session: BuildSession, directives: Iterable[DirectiveRecord]) -> None:
        self.session = session
        self._ahead = ((directive, block) for directive in directives for block in directive.blocks)
        self._next = next(self._ahead, None)

    def __call__(self) -> bool:
        """Work on one block; whether there may be more to do before another result arrives."""
        while self._next is not None and not self.session.is_filled:
            directive, block = self._next
            is_traced = self.session.is_tracing(block)
            if is_traced and self.session.outcome(block) is None:
                return False
            self._next = next(self._ahead, None)
            if is_traced:
                _compute(self.session.traced(directive, block))
                return True
        return False


def _compute(block: TracedBlock) -> None:
    """Parse a program, align it with its facts, match it with its base."""
    texts = [each.text for each in (block, block.base) if each is not None]
    if all(text is not None and len(text) <= LONGEST for text in texts):
        block.header  # noqa: B018  # computed on first use
