"""What MyST says about the options of our directives: kept, to be told by every build.

MyST warns while it reads, so a second build of an unread page would pass.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

_LOGGER: Final = "sphinx.myst_parser.warnings_"


class Complaints(logging.Filter):
    """Takes MyST's warnings about the directives ``names`` off its hands."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self.prefixes = tuple(f"{name!r}: " for name in names)
        self.kept: list[str] = []

    def install(self) -> None:
        """Listen to MyST; once is enough for a process."""
        logging.getLogger(_LOGGER).addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a warning goes its usual way."""
        message = record.getMessage()
        for prefix in self.prefixes:
            if message.startswith(prefix):
                self.kept.append(message.removeprefix(prefix))
                return False
        return True

    def take(self) -> list[str]:
        """The messages since last asked: MyST warns just before it runs a directive."""
        kept, self.kept = self.kept, []
        return kept


COMPLAINTS: Final = Complaints(
    ["jaxpr-transform", "jaxpr", "jaxpr-glossary", "jaxpr-claims", "jaxpr-when"]
)
