"""What became of each quote: judged once for the same programs, told at every build.

What earlier builds judged is kept with the pages, in Sphinx's own environment, under a
digest.  It spares a build in which nothing changed from reading programs; a page that
is written shows what this build judges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final, NamedTuple, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from ... import __version__
from ...program.html.definitions import anchor, listed
from ...tracing.files import canonical, digest
from ..config import settings_of
from ..links import link
from ..records import (
    FALSE,
    TRUE,
    UNJUDGED,
    WRONG,
    BlockOnPage,
    DirectiveRecord,
    PrimitiveList,
    Statement,
    Verdict,
)
from .domain import JaxprDomain
from .scopes import Scopes
from .session import BuildSession

# --- where a primitive is explained, for links that authors write

#: Where JAX documents its functions, for a project whose intersphinx does not say.
_PAGES: Final = "https://docs.jax.dev/en/latest/_autosummary/{}.html"


class Addresses:
    """Finds what explains a primitive: a term, JAX's page, a list here, a block's fold."""

    def __init__(self, session: BuildSession, domain: JaxprDomain) -> None:
        self.session = session
        self.domain = domain
        self.builder = session.app.builder
        self.lists = domain.visible_lists(session.app.tags)
        self._met: dict[str, dict[str, str]] = {}

    def link(self, page: str, name: str) -> nodes.reference | None:
        """An empty link on ``page`` to what ``name`` means."""
        href, away = self.session.meanings.href(name, page)
        if href:
            return nodes.reference("", "", internal=not away, refuri=href)
        for other, identity in self._here(page, name):
            found = link(self.builder, page, other, identity)
            if found is not None:
                return found
        known = self.session.meanings.glossary.entry(name)
        if known is not None and known.page:
            return nodes.reference("", "", internal=False, refuri=_PAGES.format(known.page))
        return None

    def address(self, page: str, name: str) -> str:
        """Where that link leads, ``""`` where there is none."""
        found = self.link(page, name)
        if found is None:
            return ""
        return str(found.get("refuri") or f"#{found.get('refid')}")

    def _here(self, page: str, name: str) -> Iterator[tuple[str, str]]:
        """The pages and ids of definitions in this project, the nearest first."""
        for other, one in self._lists(page):
            if name in (self.met(other) if one.scope == "page" else self.met_anywhere):
                number = self.session.renumbered.get((other, one.number), one.number)
                yield other, listed(number, name)
        if not isinstance(self.builder, StandaloneHTMLBuilder):
            return
        folds = self.session.explained
        block = self.met(page).get(name)
        # While no page is written, where the fold will be.
        identity = folds.get(name) if folds is not None else block and anchor(block, name)
        if identity:
            yield page, identity

    def _lists(self, page: str) -> Iterator[tuple[str, PrimitiveList]]:
        """The lists of this page, those of the project, those of other pages."""
        yield from ((page, one) for one in self.lists.get(page, ()))
        for scope in ("project", "page"):
            for other, found in self.lists.items():
                if other != page:
                    yield from ((other, one) for one in found if one.scope == scope)

    @cached_property
    def met_anywhere(self) -> frozenset[str]:
        """The primitives that some page meets."""
        return frozenset(name for page in self.domain.all_directives for name in self.met(page))

    def met(self, page: str) -> dict[str, str]:
        """For each primitive that a page meets the id of the first block that explains it."""
        if page not in self._met:
            found: dict[str, str] = {}
            for directive in self.domain.visible_directives(self.session.app.tags, page):
                for block in directive.blocks:
                    outcome = self.session.outcome(block) if block.shown else None
                    for name in outcome.seen.names if outcome else ():
                        found.setdefault(name, block.identity)
            self._met[page] = found
        return self._met[page]


# --- what became of each quote: judged once for the same programs, told at every build


def judging(app: Sphinx, directives: Mapping[str, list[DirectiveRecord]]) -> BuildSession:
    """An engine that can judge what the pages with ``directives`` say."""
    session = BuildSession(app, settings_of(app.env))
    session.verdicts = VerdictCache(session, Scopes(session, directives))
    return session


class _Found(NamedTuple):
    verdict: Verdict
    judged: bool  # by this build


class VerdictCache:
    """Judges quotes; what it knows from the last build it does not judge again."""

    def __init__(self, session: BuildSession, scopes: Scopes) -> None:
        self.session = session
        self.scopes = scopes
        self.domain = cast("JaxprDomain", session.app.env.get_domain("jaxpr"))
        self.addresses = Addresses(session, self.domain)
        self.used: dict[str, _Found] = {}
        self.writing = False  # pages show what is judged, whatever was kept
        self._listed: dict[str, str] = {}  # page -> digest of its names
        self._met: dict[str, frozenset[str]] = {}  # page -> primitives of what it may name
        self._found: dict[tuple[str, str, str], _Found] = {}  # of this build

    @property
    def versions(self) -> dict[str, str]:
        """The versions that expressions may ask for."""
        return self.scopes.versions

    @cached_property
    def known(self) -> dict[str, Verdict]:
        """What the last build asked for; builders whose word counts believe none of it."""
        if getattr(self.session.app.builder, "judges_afresh", False):
            return {}
        return unsealed(self.domain.data["judged"])

    def save(self) -> None:
        """Keep what this build asked for: Sphinx writes it with the pages that it updates."""
        if self.used:
            self.domain.data["judged"] = sealed({k: one.verdict for k, one in self.used.items()})
        self.writing = True

    def of(self, page: str, statement: Statement, inside: DirectiveRecord | None = None) -> Verdict:
        """The verdict on a quote of a page; ``inside`` its directive, for the path of a note."""
        if inside is not None:
            return self._of(page, statement, inside).verdict
        asked = (page, statement.what, statement.expression)
        found = self._found.get(asked)
        if found is None or (self.writing and not found.judged):
            found = self._found[asked] = self._of(page, statement, None)
        return found.verdict

    def _of(self, page: str, statement: Statement, inside: DirectiveRecord | None) -> _Found:
        if statement.what == "prim":
            return _Found(self._primitive(page, statement.expression), judged=True)
        places = self.scopes.mentioned(page, statement.expression, inside)
        key = self._key(page, statement, places, inside)
        found = self.used.get(key)
        if found is None and not self.writing:
            kept = self._kept(key, page, statement, inside)
            found = _Found(kept, judged=False) if kept else None
        if found is None or (self.writing and not found.judged):
            found = _Found(self._judge(page, statement, inside), judged=True)
        self.used[key] = found
        return found

    def _kept(
        self, key: str, page: str, statement: Statement, inside: DirectiveRecord | None
    ) -> Verdict | None:
        found = self.known.get(key)
        if found is not None and found.block:
            return found if found.block in self.scopes.places(page, inside) else None
        if found is not None and statement.what == "ref" and found.state == TRUE:
            return replace(found, where=self._elsewhere(statement))
        return found

    def link(self, page: str, primitive: str) -> nodes.reference | None:
        """An empty link on a page to where a primitive is explained."""
        return self.addresses.link(page, primitive)

    def is_pasted(self, page: str, statement: Statement) -> bool:
        """Whether all that a quote asks of stands on a page as text."""
        places = self.scopes.mentioned(page, statement.expression)
        return bool(places) and all(place.block.pasted for place in places)

    def place(self, page: str, verdict: Verdict) -> BlockOnPage | None:
        """Where the block stands that a verdict leads to."""
        return self.scopes.names(page).get(verdict.block)

    def _key(
        self,
        page: str,
        statement: Statement,
        places: list[BlockOnPage],
        inside: DirectiveRecord | None,
    ) -> str:
        if page not in self._listed:
            names = sorted(self.scopes.names(page)), sorted(self.scopes.left_out(page))
            self._listed[page] = digest(names)
        listed = self._listed[page] if inside is None else inside.name
        lines = _LINE.search(statement.expression) is not None
        about = [listed, [[place.block.name, self._seen(place, lines)] for place in places]]
        facts: list[Any] = [
            __version__,
            statement.what,
            statement.expression,
            self.scopes.versions,
            about,
        ]
        facts += [self._elsewhere(statement), self.scopes.spoken(page)]
        return digest(facts)[:24]

    def _elsewhere(self, statement: Statement) -> str:
        """The address of a block in another project that intersphinx knows."""
        if statement.what != "ref":
            return ""
        return self.session.meanings.in_inventories(statement.expression, ["jaxpr:block"])

    def _all(self, page: str) -> Iterable[BlockOnPage]:
        return self.scopes.names(page).values()

    def _seen(self, place: BlockOnPage, lines: bool) -> str:
        outcome = self.session.outcome(place.block)
        if outcome is None:
            return place.block.problem
        return outcome.seen.program + (outcome.seen.source if lines else "")

    def _judge(self, page: str, statement: Statement, inside: DirectiveRecord | None) -> Verdict:
        # What judges is loaded where something is new.
        from ...program.query.evidence import SaysNothing
        from ...program.query.syntax import NoProgram, PathError

        scope = self.scopes.of(page, statement.expression, inside)
        try:
            return _JUDGES[statement.what](
                statement.expression, scope, inside.name if inside else ""
            )
        except NoProgram:
            return Verdict(UNJUDGED)
        except PathError as error:
            if address := self._elsewhere(statement):
                return Verdict(TRUE, where=address)
            return Verdict(WRONG, error.message, is_empty=isinstance(error, SaysNothing))

    def _primitive(self, page: str, expression: str) -> Verdict:
        name = expression.strip("\"'")
        glossary = self.session.meanings.glossary
        if page not in self._met:
            self._met[page] = frozenset(self.scopes.met(self._all(page)))
        met = self._met[page]
        if name in self.session.meanings.terms_of or glossary.entry(name) or name in met:
            where = ""
            if isinstance(self.session.app.builder, StandaloneHTMLBuilder):  # others write all
                where = self.addresses.address(page, name)
            return Verdict(TRUE, name, where=where)
        from ...program.query.syntax import nearest

        near = nearest(name, sorted({*glossary.known(), *met}))
        return Verdict(WRONG, f"there is no primitive `{name}`{near}")


_LINE: Final = re.compile(r"\bline\b")  # of the source, which programs don't show

#: What is kept of a verdict; an address is of the build that makes a link of it.
_FIELDS: Final = ("state", "text", "hints", "block", "starts", "is_empty")
_STATES: Final = frozenset({TRUE, FALSE, WRONG, UNJUDGED})


def sealed(verdicts: Mapping[str, Verdict]) -> str:
    """Verdicts as one text that begins with its digest."""
    rows = {key: [getattr(one, name) for name in _FIELDS] for key, one in verdicts.items()}
    return f"{digest(rows)} {canonical(rows)}"


def unsealed(text: Any) -> dict[str, Verdict]:
    """What ``sealed`` made; nothing of a text that is damaged or has other things in it."""
    try:
        said, _, written = text.partition(" ")
        rows = json.loads(written)
        whole = digest(rows) == said and canonical(rows) == written
        return {key: _verdict(*row) for key, row in rows.items()} if whole else {}
    except (AttributeError, TypeError, ValueError, RecursionError):
        return {}


def _verdict(state: str, text: str, hints: Any, block: str, starts: Any, is_empty: bool) -> Verdict:
    texts = [state, text, block, *hints]
    good = state in _STATES and all(type(one) is str for one in texts)
    good = good and type(hints) is type(starts) is list and type(is_empty) is bool
    if not good or not all(type(one) is int and one >= 0 for one in starts):
        raise ValueError(state)
    return Verdict(state, text, tuple(hints), block, tuple(starts), is_empty=is_empty)


def _claim(text: str, scope: Any, inside: str) -> Verdict:
    from ...program.query.evaluate import judge

    return _said(judge(text, scope), text, scope)


def _condition(text: str, scope: Any, inside: str) -> Verdict:
    from ...program.query.evaluate import evaluate

    return _said(evaluate(text, scope), text, scope)


def _said(found: Any, text: str, scope: Any) -> Verdict:
    from ...program.query.explain import instead

    if found.is_true:
        return Verdict(TRUE, hints=found.hints)
    return Verdict(FALSE, instead(text, scope), found.hints)


def _value(text: str, scope: Any, inside: str) -> Verdict:
    from ...program.query.base import words
    from ...program.query.evaluate import evaluate

    found = evaluate(text, scope)
    return Verdict(TRUE, words(found.value), found.hints)


def _equation(text: str, scope: Any, inside: str) -> Verdict:
    from ...program.query.evaluate import resolve

    found, hints = resolve(text, scope, inside)
    return Verdict(TRUE, "", hints, found.block.name, (found.equation.start,))


def _equations(text: str, scope: Any, inside: str) -> Verdict:
    from ...program.query.evaluate import resolve_equations

    found = resolve_equations(text, scope, inside)
    starts = tuple(equation.start for equation in found.equations)
    return Verdict(TRUE, "", (), found.block.name, starts)


def _block(text: str, scope: Any, inside: str) -> Verdict:
    from ...program.query.evaluate import resolve_block

    return Verdict(TRUE, block=resolve_block(text, scope).block.name)


_JUDGES: Final = {
    "claim": _claim,
    "when": _condition,
    "val": _value,
    "eqn": _equation,
    "note": _equation,
    "elide": _equations,
    "ref": _block,
}
