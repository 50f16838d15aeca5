"""Exit statuses, and errors in a command line."""

from __future__ import annotations

from typing import Final, TypedDict

from ..program.text import on_one_line

FAILED: Final = 1
WRONG: Final = 2


class ArgumentKeywords(TypedDict, total=False):
    """What ``argparse`` gets for one option."""

    action: str
    default: object
    dest: str
    help: str
    metavar: str
    required: bool


class UsageError(Exception):
    """A command line that can't be carried out as written; it may hold any character."""

    def __init__(self, message: str) -> None:
        super().__init__(on_one_line(message))
