"""What a worker runs of a page's code: blocks share a module where that makes no difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ...tracing.jobs import CodeToRun, digest_of
from ..records import PageRecords

if TYPE_CHECKING:
    from .domain import JaxprDomain


class _Used(NamedTuple):
    """Parts that some blocks of a page use, and all names that this makes them read."""

    numbers: tuple[int, ...]
    names: frozenset[str]


class PageModules:
    """The code to run for a request, by the digest that the request has; of all pages.

    Parts that only define something run for blocks above them as well, or for blocks that don't
    use them: then the parts that may do more, such as compute, run once for all of
    these blocks.  Only parts that bind none of a block's names may be added.
    """

    def __init__(self, domain: JaxprDomain) -> None:
        self.domain = domain
        self._planned: dict[str, dict[str, CodeToRun]] = {}

    def of(self, code: str) -> CodeToRun:
        """The code of a request."""
        page = self._pages[code]
        if page not in self._planned:
            self._planned[page] = dict(_plan(self.domain.records[page]))
        return self._planned[page][code]

    @cached_property
    def _pages(self) -> dict[str, str]:
        """A page with the code, by its digest."""
        return {
            _digest(record, numbers): page
            for page, record in self.domain.records.items()
            for numbers in _numbers(record)
        }


def _numbers(record: PageRecords) -> set[tuple[int, ...]]:
    used = (tuple(span.number for span in directive.code) for directive in record.directives)
    return {numbers for numbers in used if numbers}


def _digest(record: PageRecords, numbers: Iterable[int]) -> str:
    return digest_of([record.code[number].text for number in numbers])


def _plan(record: PageRecords) -> Iterator[tuple[str, CodeToRun]]:
    """The code to run for each code that requests of a page name."""
    from ..reading.bindings import bindings, noisy

    pieces = [bindings(part.text) for part in record.code]
    loud = noisy(pieces)
    groups: dict[frozenset[int], list[_Used]] = {}
    for used in _used(record):
        names = used.names.union(*(pieces[n].reads | pieces[n].binds for n in used.numbers))
        key = loud.intersection(used.numbers)
        groups.setdefault(key, []).append(_Used(used.numbers, names))
    for group in groups.values():
        every = sorted({number for used in group for number in used.numbers})
        for numbers, names in group:
            others = (pieces[number] for number in every if number not in numbers)
            shares = all(not p.is_open and names.isdisjoint(p.binds) for p in others)
            chosen = every if shares else list(numbers)
            parts = tuple(record.code[number].text for number in chosen)
            positions = tuple(chosen.index(number) for number in numbers)
            yield _digest(record, numbers), CodeToRun(parts, positions)


def _used(record: PageRecords) -> Iterator[_Used]:
    """The parts that blocks use, each choice once, with the names in their requests."""
    from ..reading.code import names_of

    names: dict[tuple[int, ...], set[str]] = {}
    for directive in record.directives:
        request = directive.blocks[0].request
        if directive.code and request is not None:
            numbers = tuple(span.number for span in directive.code)
            names.setdefault(numbers, set()).update(names_of(request))
    for numbers, own in names.items():
        yield _Used(numbers, frozenset(own))
