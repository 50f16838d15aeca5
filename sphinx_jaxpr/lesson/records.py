"""What lessons are made of, as plain data that the environment can keep."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Auto:
    """What completes an item by itself: ``open`` a block or ``answer`` a question."""

    verb: str
    target: str
    source: str
    line: int


@dataclass(frozen=True)
class Item:
    """One item of a checklist; ``key`` is its own on its page and survives other edits."""

    key: str
    auto: Auto | None = None


@dataclass(frozen=True)
class Lesson:
    """The parts of one page: the items of its checklists, its named questions with their ids."""

    items: tuple[Item, ...] = ()
    questions: tuple[tuple[str, str], ...] = ()

    @property
    def keys(self) -> str:
        """The keys of all items, in one text."""
        return " ".join(item.key for item in self.items)


@dataclass(frozen=True)
class Step:
    """A line of a path: the page that it names, whether or not there is one."""

    docname: str
    written: str
    line: int


@dataclass(frozen=True)
class Path:
    """The lessons of one path in their order."""

    steps: tuple[Step, ...]
    source: str
    line: int
