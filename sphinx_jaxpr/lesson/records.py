"""What lessons are made of, as plain data that the environment can keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sphinx.config import Config

from ..ext.api import echoed

# --- what lessons are made of, as plain data that the environment can keep


@dataclass(frozen=True)
class Auto:
    """What completes an item by itself: ``open`` a block or ``answer`` a question."""

    verb: str
    target: str
    source: str
    line: int


@dataclass(frozen=True)
class ChecklistItem:
    """One item of a checklist; ``key`` is its own on its page and survives other edits."""

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
    """A line of a path: the page that it names, whether or not there is one."""

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

#: When terms have cards: at the first place in each section, everywhere, nowhere.
CARDS: Final = ("section", "all", "off")
NAME: Final = "lesson_cards"


def problem(config: Config) -> str:
    """What is wrong with the value in conf.py, or ``""``."""
    value = config.lesson_cards
    if isinstance(value, str) and value in CARDS:
        return ""
    known = ", ".join(map(repr, CARDS))
    return f"{NAME} must be one of {known}, not {echoed(value)}; {CARDS[0]!r} is used"


def cards(config: Config) -> str:
    """The checked value: the default where conf.py's is refused."""
    value: object = config.lesson_cards
    return value if isinstance(value, str) and value in CARDS else CARDS[0]
