"""Exit statuses, and errors in a command line."""

from __future__ import annotations

from typing import Final

from ..program.text import on_one_line

FAILED: Final = 1
WRONG: Final = 2


class UsageError(Exception):
    """A command line that can't be carried out as written; it may hold any character."""

    def __init__(self, message: str) -> None:
        super().__init__(on_one_line(message))
