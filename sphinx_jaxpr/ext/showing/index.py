"""The domain's index of primitives: one page, or for a large project one for each letter.

Sphinx renders the index in every build.  One of many entries therefore lists primitives alone,
which link to the page of their letter; that is written when it changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from sphinx.application import Sphinx
from sphinx.domains import Index, IndexEntry
from sphinx.environment import BuildEnvironment

from ... import __version__
from ...program.text import plural
from ...tracing.files import Cache, digest
from ..judging.build import RunningBuild
from ..judging.domain import JaxprDomain
from ..judging.meanings import Meanings
from ..judging.names.appearances import FigureOnPage
from ..judging.session import BuildSession
from ..locale import _
from .primitives import numbers_of_uses, shown_blocks, uses_of_primitives

#: The heading of names that do not begin with a letter.
_OTHER: Final = "Symbols"
#: Most entries of an index on one page, which every build renders.
MOST_ENTRIES: Final = 300
#: Most blocks of one primitive that are listed each; of more, the first on each page.
MOST_BLOCKS: Final = 100
_TEMPLATE: Final = "domainindex.html"

_Uses = list[FigureOnPage]
_Letters = dict[str, list[IndexEntry]]


class PrimitiveIndex(Index):
    """``jaxpr-primitives``: a page of its own where the builder has such, and a label."""

    name = "primitives"
    localname = "Index of primitives"
    shortname = "primitives"

    def generate(
        self, docnames: Iterable[str] | None = None
    ) -> tuple[list[tuple[str, list[IndexEntry]]], bool]:
        """The primitives by their first letter; nothing where no block shows any."""
        domain: Any = self.domain  # ours, which names this class
        build: RunningBuild | None = domain.build
        if build is None:
            return [], False
        app: Sphinx = domain.app
        figures = list(build.appearances.once(docnames))
        if app.builder.format != "html":
            return list(_on_paper(uses_of_primitives(build.session, figures)).items()), False
        numbers = numbers_of_uses(build.session, figures)
        shown = _Shown(
            build.session,
            figures,
            titles={figure.page: _title(app.env, figure.page) for figure in figures},
            meanings=known_meanings(build.meanings, numbers, Cache(_folder(app))),
        )
        if sum(numbers.values()) + len(numbers) <= MOST_ENTRIES:
            return list(shown.letters().items()), False
        domain.index_digest = digest([shown.digest(), sorted(app.env.found_docs)])
        domain.index_pages = partial(self._pages, app, shown)
        return list(_overview(numbers, shown.meanings).items()), False

    def _pages(self, app: Sphinx, shown: _Shown) -> dict[str, dict[str, object]]:
        """The pages of all letters, by their names, with what their template shows."""
        index = f"{self.domain.name}-{self.name}"
        pages: dict[str, dict[str, object]] = {}
        for letter, entries in shown.letters().items():
            page = _page(letter)
            above = {"link": app.builder.get_relative_uri(page, index), "title": self.localname}
            pages[page] = {
                "indextitle": f"{self.localname}: {letter}",
                "content": [(letter, entries)],
                "collapse_index": False,
                "parents": [above],
            }
        return pages


def _letter(name: str) -> str:
    return name[0].upper() if name[0].isalpha() else _OTHER


def _page(letter: str) -> str:
    """The name of the page of a letter, which any file system can have."""
    plain = letter.lower() if letter.isascii() else "-".join(f"{ord(sign):x}" for sign in letter)
    return f"jaxpr-primitives-{plain}"


# -- entries


def _on_paper(primitives: Mapping[str, _Uses]) -> _Letters:
    """Each primitive once for each block."""
    letters: _Letters = {}
    for name, uses in primitives.items():
        letters.setdefault(_letter(name), []).extend(
            IndexEntry(name, 0, figure.page, figure.block.identity, figure.block.name, "", "")
            for figure in uses
        )
    return letters


def _title(env: BuildEnvironment, docname: str) -> str:
    title = env.titles.get(docname)
    return title.astext() if title is not None else docname


class _Shown(NamedTuple):
    """What an index of HTML shows: blocks, and what their primitives mean."""

    session: BuildSession
    figures: list[FigureOnPage]
    titles: Mapping[str, str]
    meanings: Mapping[str, str]

    def digest(self) -> str:
        """A digest of all that is shown, made without putting it together."""
        blocks = [
            (figure.page, figure.block.name, figure.block.identity, seen.primitives)
            for figure, seen in shown_blocks(self.session, self.figures)
        ]
        return digest([__version__, MOST_BLOCKS, blocks, self.titles, self.meanings])

    def letters(self) -> _Letters:
        """Each primitive with its blocks below it, or where these are many, with its pages."""
        letters: _Letters = {}
        for name, uses in uses_of_primitives(self.session, self.figures).items():
            entries = letters.setdefault(_letter(name), [])
            entries.append(IndexEntry(name, 1, "", "", "", "", self.meanings[name]))
            for docname, on_page in groupby(uses, attrgetter("page")):
                blocks = [figure.block for figure in on_page]
                page = self.titles[docname]
                if len(uses) > MOST_BLOCKS and len(blocks) > 1:
                    more = len(blocks) - 1
                    page = _("{page}, and {count} more on this page").format(page=page, count=more)
                    blocks = blocks[:1]
                entries.extend(
                    IndexEntry(block.name, 2, docname, block.identity, page, "", "")
                    for block in blocks
                )
        return letters


def _overview(numbers: Mapping[str, int], meanings: Mapping[str, str]) -> _Letters:
    """Each primitive with the number of its blocks, and a link to the page of its letter."""
    letters: _Letters = {}
    for name, blocks in numbers.items():
        letter = _letter(name)
        count = plural(blocks, _("block"), _("blocks"))
        entry = IndexEntry(name, 0, _page(letter), f"cap-{letter}", count, "", meanings[name])
        letters.setdefault(letter, []).append(entry)
    return letters


def known_meanings(meanings: Meanings, names: Iterable[str], cache: Cache) -> dict[str, str]:
    """What each primitive means, ``""`` where that is unknown.

    The texts are kept for the next build, which needn't load the definitions then.
    """
    schema = [__version__, meanings.defined]
    texts = cache.load(_MEANINGS, _texts, schema) or {}
    if missing := [name for name in names if name not in texts]:
        entries = meanings.glossary.entries(missing)
        texts |= {name: entries[name].meaning if name in entries else "" for name in missing}
        cache.keep(_MEANINGS, {"texts": texts}, schema)
    return texts


_MEANINGS: Final = "primitives.txt"


def _texts(data: Any) -> dict[str, str] | None:
    texts = data.get("texts") if type(data) is dict else None
    fits = type(texts) is dict and all(type(text) is str for text in texts.values())
    return texts if fits else None


def _folder(app: Sphinx) -> Path:
    """Where data about the outputs of these doctrees is kept."""
    return Path(app.doctreedir) / JaxprDomain.name


# -- pages that are written when they change


def changed_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, object], str]]:
    """The pages of letters that this build has to write, for ``html-collect-pages``."""
    domain = JaxprDomain.of(app.env)
    if domain.index_pages is None:
        return
    written = WrittenPages(app)
    # Sphinx writes all pages where the theme or an option of it has changed.
    writes_all = domain.digests is None or domain.digests.resolved >= app.env.found_docs
    if written.has_all(domain.index_digest) and not writes_all:
        return
    documents = digest(sorted(app.env.found_docs))  # which themes list beside a page
    pages = domain.index_pages()
    for page, context in pages.items():
        content = digest([context, documents])
        if writes_all or not written.has(page, content):
            yield page, context, _TEMPLATE
            written.note(page, content)  # Sphinx has written it when it asks for the next one
    written.keep(domain.index_digest, pages)


class WrittenPages:
    """Pages beside those of documents that a builder wrote: their contents, and their files.

    A page is as it was written if its content and its file have the digests that they had.
    """

    def __init__(self, app: Sphinx) -> None:
        # Only builders of HTML have pages beside those of documents, and say where: before
        # Sphinx 8.2, as a text.
        builder = app.builder
        self.path: Callable[[str], Path | str] | None = getattr(
            builder, "get_output_path", getattr(builder, "get_outfilename", None)
        )
        output = digest([app.builder.name, str(app.outdir)])
        self.cache = Cache(_folder(app))
        self.file = f"primitives-{output[:12]}.txt"
        self.whole, self.pages = self.cache.load(self.file, _written) or ("", {})

    def has_all(self, whole: str) -> bool:
        """Whether all pages are there as they were written, from what has this digest."""
        return self.whole == whole and all(
            self.has(page, content) for page, (content, _file) in self.pages.items()
        )

    def has(self, page: str, content: str) -> bool:
        """Whether a page with this content is there, as it was written."""
        file = self._file(page)
        return file != "" and self.pages.get(page) == [content, file]

    def note(self, page: str, content: str) -> None:
        """Note a page that was written."""
        self.pages[page] = [content, self._file(page)]

    def keep(self, whole: str, pages: Iterable[str]) -> None:
        """Keep what is known of these pages, for the next build; ``whole`` is of all of them."""
        kept = {page: self.pages[page] for page in pages}
        self.cache.keep(self.file, {"whole": whole, "pages": kept})

    def _file(self, page: str) -> str:
        """The digest of a page's file; ``""`` where it is missing, or unknown."""
        try:
            file = Path(self.path(page)) if self.path else None
            return hashlib.sha256(file.read_bytes()).hexdigest() if file else ""
        except OSError:
            return ""


_Written = tuple[str, dict[str, list[str]]]


def _written(data: Any) -> _Written | None:
    if type(data) is not dict or data.keys() != {"whole", "pages"}:
        return None
    whole, pages = data["whole"], data["pages"]
    fits = type(whole) is str and type(pages) is dict
    fits = fits and all(type(pair) is list and len(pair) == 2 for pair in pages.values())
    fits = fits and all(type(text) is str for pair in pages.values() for text in pair)
    return (whole, pages) if fits else None
