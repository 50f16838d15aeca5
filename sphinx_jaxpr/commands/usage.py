"""Exit statuses, and what is wrong with a command line."""

from __future__ import annotations

from typing import Final

FAILED: Final = 1
WRONG: Final = 2


class UsageError(Exception):
    """A command line that can't be carried out as written."""
