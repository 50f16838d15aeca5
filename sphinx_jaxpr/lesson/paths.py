"""Where each lesson stands in its paths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from sphinx.environment import BuildEnvironment

from .domain import LessonDomain
from .records import Lesson, Path


@dataclass(frozen=True)
class Position:
    """The place of a lesson in a path: the lessons of the path, and which of them it is."""

    page: str
    lessons: tuple[str, ...]
    place: int

    @property
    def previous(self) -> str:
        """The lesson before, or ``""``."""
        return self.lessons[self.place - 1] if self.place else ""

    @property
    def next(self) -> str:
        """The lesson after, or ``""``."""
        return self.lessons[self.place + 1] if self.place + 1 < len(self.lessons) else ""


class Paths:
    """The paths of a project, of those pages that there are."""

    def __init__(self, env: BuildEnvironment, domain: LessonDomain) -> None:
        self.env = env
        self.domain = domain

    def lessons(self, path: Path) -> tuple[str, ...]:
        """The pages of a path that there are, in order."""
        return tuple(one.docname for one in path.steps if one.docname in self.env.found_docs)

    @cached_property
    def positions(self) -> dict[str, list[Position]]:
        """For each lesson its places, one in each path that names it."""
        found: dict[str, list[Position]] = {}
        for page, paths in sorted(self.domain.paths.items()):
            for path in paths:
                lessons = self.lessons(path)
                for place, lesson in enumerate(lessons):
                    found.setdefault(lesson, []).append(Position(page, lessons, place))
        return found

    def keys(self, lessons: tuple[str, ...]) -> str:
        """The items of all lessons of a path, for the script."""
        known = {name: self.domain.lessons.get(name, Lesson()).keys for name in lessons}
        known = {name: keys for name, keys in known.items() if keys}
        return json.dumps(known) if known else ""

    def digests(self) -> dict[str, str]:
        """For each page what it shows of others: their titles and their items."""
        found: dict[str, str] = {}
        for lesson, positions in self.positions.items():
            shown = [part for one in positions for part in self._shown(one)]
            found[lesson] = repr(shown)
        for page, paths in self.domain.paths.items():
            lists = [self.lessons(path) for path in paths]
            shown = [part for names in lists for part in (*names, self.keys(names))]
            found[page] = f"{found.get(page, '')} {shown}"
        return found

    def _shown(self, position: Position) -> Iterator[str]:
        yield from (position.page, str(position.place), self.keys(position.lessons))
        for name in (position.page, position.previous, position.next):
            yield name
            yield self.env.titles[name].astext() if name in self.env.titles else ""
