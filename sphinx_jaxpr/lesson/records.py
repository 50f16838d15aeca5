"""The parts of lessons, as plain data that the environment can keep; their configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sphinx.config import Config

from ..ext.api import echoed


@dataclass(frozen=True)
class Auto:
    """The event that ticks an item: ``open`` a block, or ``answer`` a question."""

    verb: str
    target: str
    source: str
    line: int


@dataclass(frozen=True)
class ChecklistItem:
    """One item of a checklist; ``key`` is unique on its page and survives edits elsewhere."""

    key: str
    auto: Auto | None = None


@dataclass(frozen=True)
class Lesson:
    """The parts of one page: the items of its checklists, its named questions with their ids."""

    items: tuple[ChecklistItem, ...] = ()
    questions: tuple[tuple[str, str], ...] = ()

    @property
    def keys(self) -> str:
        """The keys of all items, in one text."""
        return " ".join(item.key for item in self.items)


@dataclass(frozen=True)
class PathStep:
    """A line of a path, and the page that it names, which may not exist."""

    docname: str
    written: str
    line: int


@dataclass(frozen=True)
class Path:
    """The lessons of one path in their order."""

    steps: tuple[PathStep, ...]
    source: str
    line: int


# --- the configuration of lessons

#: Where terms have cards: at their first use in each section, everywhere, nowhere.
CARDS: Final = ("section", "all", "off")
NAME: Final = "lesson_cards"


def problem(config: Config) -> str:
    """The problem of the value in conf.py, or ``""``."""
    value = config.lesson_cards
    if isinstance(value, str) and value in CARDS:
        return ""
    choices = ", ".join(map(repr, CARDS))
    return f"{NAME} must be one of {choices}, not {echoed(value)}; {CARDS[0]!r} is used"


def cards(config: Config) -> str:
    """The checked value: the default if that of conf.py is wrong."""
    value: object = config.lesson_cards
    return value if isinstance(value, str) and value in CARDS else CARDS[0]
