"""The named lines of all pages: which a sentence means, and which lets an expression can use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from ...records import CLAIM, LET, NamedLine, Statement
from .scopes import words_of
from .tags import are_met

#: Whether a part of a page under a condition is shown; the last is the docstring that it is in.
Kept = Callable[[str, str, str], bool]
_NONE: Final[dict[str, NamedLine]] = {}


class NamedLines:
    """The named lines, by page; ``tags`` are those of this build, or of several builders."""

    def __init__(self, lines: Mapping[str, tuple[NamedLine, ...]], tags: Any) -> None:
        self.pages = {
            page: [line for line in named if are_met(line.only, tags)]
            for page, named in lines.items()
        }
        self.tags = tags
        self._lets: dict[tuple[str, str, bool], dict[str, NamedLine]] = {}
        self._claims: dict[str, dict[tuple[str, str], list[tuple[int, NamedLine]]]] = {}

    def claims(self, page: str, statement: Statement) -> list[NamedLine]:
        """The lines that a sentence may mean: in some build they are shown when it is."""
        by_name = self._by_name(page)
        named = {
            number: line
            for key in statement.named
            for number, line in by_name.get((statement.docstring, key), ())
        }
        return [
            line
            for _, line in sorted(named.items())
            if are_met((*statement.only, *line.only), self.tags)
        ]

    def _by_name(self, page: str) -> dict[tuple[str, str], list[tuple[int, NamedLine]]]:
        """The claims of a page by docstring and key, each with its number on the page."""
        if page not in self._claims:
            by_name = self._claims[page] = {}
            for number, line in enumerate(self.pages.get(page, ())):
                for key in line.keys if line.kind == CLAIM else ():
                    by_name.setdefault((line.docstring, key), []).append((number, line))
        return self._claims[page]

    def apart(self, lines: Iterable[NamedLine]) -> list[NamedLine]:
        """The lines without those that some build shows together with one above."""
        chosen: list[NamedLine] = []
        for line in lines:
            if not any(are_met((*line.only, *other.only), self.tags) for other in chosen):
                chosen.append(line)
        return chosen

    def lets(self, page: str, docstring: str, is_kept: Kept | None) -> dict[str, NamedLine]:
        """The lets of a page or a docstring, by name; of two the first.

        A docstring can use those of its page.  A condition can use those that depend on none:
        without ``is_kept`` others are left out.
        """
        if page not in self.pages:
            return _NONE
        key = (page, docstring, is_kept is None)
        if key not in self._lets:
            lets: dict[str, NamedLine] = {}
            for line in self._all_lets(page, docstring):
                if not line.when or (is_kept and kept(page, line, is_kept)):
                    lets.setdefault(line.name, line)
            self._lets[key] = lets
        return self._lets[key]

    def _all_lets(self, page: str, docstring: str) -> Iterator[NamedLine]:
        for scope in dict.fromkeys((docstring, "")):
            for line in self.pages[page]:
                if line.kind == LET and line.name and line.docstring == scope:
                    yield line

    def doubles(self, is_kept: Kept) -> Iterator[tuple[NamedLine, NamedLine]]:
        """Each line whose name another one above has, and that other one.

        A file that is included twice, or a docstring that is shown twice, has each line once.
        """
        for page, lines in self.pages.items():
            first: dict[tuple[str, str, str], list[NamedLine]] = {}
            for line in lines:
                keys = line.keys if line.kind == CLAIM else (line.name,)
                names = [(line.kind, line.docstring, key) for key in keys if key]
                above = [other for name in names for other in first.get(name, ())]
                both = (other for other in above if self._meet(page, line, other, is_kept))
                other = next(both, None)
                if other is not None:
                    yield line, other
                for name in names:
                    first.setdefault(name, []).append(line)

    def _meet(self, page: str, line: NamedLine, other: NamedLine, is_kept: Kept) -> bool:
        """Whether two lines are shown together."""
        return (
            line.position != other.position
            and are_met((*line.only, *other.only), self.tags)
            and kept(page, line, is_kept)
            and kept(page, other, is_kept)
        )


def kept(page: str, part: NamedLine | Statement, is_kept: Kept) -> bool:
    """Whether the conditions around a line or a statement keep it."""
    return all(is_kept(page, condition, part.source) for condition in part.when)


def used_lets(text: str, lets: Mapping[str, NamedLine]) -> dict[str, str]:
    """The texts of the lets whose names are words of an expression, or of a let that it uses.

    A broken one has no text.
    """
    used: dict[str, str] = {}
    todo = [*words_of(text)] if lets else []
    while todo:
        word = todo.pop()
        if word in lets and word not in used:
            used[word] = _text(lets[word])
            todo += words_of(used[word])
    return {name: used[name] for name in lets if name in used}


def texts(lets: Mapping[str, NamedLine]) -> dict[str, str]:
    """The texts of lets, as the language takes them."""
    return {name: _text(line) for name, line in lets.items()}


def _text(line: NamedLine) -> str:
    return "" if line.is_broken else line.expression
