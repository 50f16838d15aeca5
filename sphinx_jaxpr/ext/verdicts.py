"""What became of each quote: judged once for the same programs, told at every build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any, Final, cast

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from .. import __version__
from ..tracing.files import digest
from .domain import JaxprDomain
from .engine import Engine
from .records import FALSE, TRUE, UNJUDGED, WRONG, Gallery, Place, Quote, Verdict
from .scopes import Scopes


def judging(app: Sphinx, galleries: Mapping[str, list[Gallery]]) -> Engine:
    """An engine that can judge what the pages with ``galleries`` say."""
    engine = Engine(app)
    engine.verdicts = Verdicts(engine, Scopes(engine, galleries))
    return engine


class Verdicts:
    """Judges quotes; what it knows from the last build it does not judge again."""

    def __init__(self, engine: Engine, scopes: Scopes) -> None:
        self.engine = engine
        self.scopes = scopes
        self.used: dict[str, dict[str, Any]] = {}
        self._listed: dict[str, str] = {}  # page -> digest of its names
        self._defining: dict[str, str] = {}  # page -> digest of what may define a primitive
        self._found: dict[tuple[str, str, str], Verdict] = {}  # of this build

    @property
    def versions(self) -> dict[str, str]:
        """The versions that expressions may ask for."""
        return self.scopes.versions

    @cached_property
    def known(self) -> dict[str, Any]:
        """What the last build asked for."""
        found = self.engine.storage.cache.data("verdicts.txt")
        return found if isinstance(found, dict) else {}

    def save(self) -> None:
        """Keep what this build asked for."""
        if self.used and self.used != self.known:
            self.engine.storage.cache.keep("verdicts.txt", self.used)

    def of(self, page: str, quote: Quote, inside: Gallery | None = None) -> Verdict:
        """The verdict on a quote of a page; ``inside`` its directive, for the path of a note."""
        if inside is not None:
            return self._of(page, quote, inside)
        asked = (page, quote.what, quote.expression)
        if asked not in self._found:
            self._found[asked] = self._of(page, quote, None)
        return self._found[asked]

    def _of(self, page: str, quote: Quote, inside: Gallery | None) -> Verdict:
        places = self.scopes.mentioned(page, quote.expression, inside)
        key = self._key(page, quote, places, inside)
        kept = _verdict(self.used.get(key) or self.known.get(key))
        found = kept or self._judge(page, quote, inside)
        # As JSON would give it back.
        self.used[key] = {**asdict(found), "hints": [*found.hints], "starts": [*found.starts]}
        return found

    def is_pasted(self, page: str, quote: Quote) -> bool:
        """Whether all that a quote asks of stands on a page as text."""
        places = self.scopes.mentioned(page, quote.expression)
        return bool(places) and all(place.block.pasted for place in places)

    def place(self, page: str, verdict: Verdict) -> Place | None:
        """Where the block stands that a verdict leads to."""
        return self.scopes.names(page).get(verdict.block)

    def _key(self, page: str, quote: Quote, places: list[Place], inside: Gallery | None) -> str:
        if page not in self._listed:
            names = sorted(self.scopes.names(page)), sorted(self.scopes.left_out(page))
            self._listed[page] = digest(names)
        listed = self._listed[page] if inside is None else inside.name
        about = [listed, [[place.block.name, self._seen(place)] for place in places]]
        facts: list[Any] = [__version__, quote.what, quote.expression, self.scopes.versions, about]
        facts.append(self._elsewhere(quote))
        facts.append(self.scopes.spoken(page))
        if quote.what == "prim":  # of any block, and of the project's own definitions
            if page not in self._defining:
                self._defining[page] = digest(self._definitions(page))
            facts.append(self._defining[page])
        return digest(facts)[:24]

    def _definitions(self, page: str) -> list[Any]:
        """What decides whether a primitive is known and where its link leads."""
        meanings, builder = self.engine.meanings, self.engine.app.builder
        blocks = [
            [name, block.name, block.identity, block.shown, self._seen(Place(name, gallery, block))]
            for name, galleries in self.scopes.galleries.items()
            for gallery in galleries
            for block in gallery.blocks
        ]
        lists = self.domain.lists
        defined = [sorted(meanings.terms_of.items()), sorted(meanings.defined)]
        return [page, builder.name, meanings.digest, defined, lists, blocks]

    @cached_property
    def domain(self) -> JaxprDomain:
        """What the pages ask for."""
        return cast("JaxprDomain", self.engine.app.env.get_domain("jaxpr"))

    def _elsewhere(self, quote: Quote) -> str:
        """The address of a block in another project that intersphinx knows."""
        if quote.what != "ref":
            return ""
        return self.engine.meanings.in_inventories(quote.expression, ["jaxpr:block"])

    def _all(self, page: str) -> Iterable[Place]:
        return self.scopes.names(page).values()

    def _seen(self, place: Place) -> str:
        outcome = self.engine.outcome(place.block)
        return (outcome.seen.program + outcome.seen.source) if outcome else place.block.problem

    def _judge(self, page: str, quote: Quote, inside: Gallery | None) -> Verdict:
        # What judges is loaded where something is new.
        from ..program.evidence import SaysNothing
        from ..program.paths import NoProgram, PathError

        if quote.what == "prim":
            return self._primitive(page, quote.expression)
        scope = self.scopes.of(page, quote.expression, inside)
        try:
            return _JUDGES[quote.what](quote.expression, scope, inside.name if inside else "")
        except NoProgram:
            return Verdict(UNJUDGED)
        except PathError as error:
            if address := self._elsewhere(quote):
                return Verdict(TRUE, where=address)
            return Verdict(WRONG, error.message, is_empty=isinstance(error, SaysNothing))

    def _primitive(self, page: str, expression: str) -> Verdict:
        from ..program.paths import nearest
        from .primitives import address

        name = expression.strip("\"'")
        glossary = self.engine.meanings.glossary
        met = set(self.scopes.met(self._all(page)))
        if name in self.engine.meanings.terms_of or glossary.entry(name) or name in met:
            link = None
            if isinstance(self.engine.app.builder, StandaloneHTMLBuilder):  # others write all
                link = address(self.engine.app, self.domain, self.engine, page, name)
            where = (link.get("refuri") or f"#{link.get('refid')}") if link is not None else ""
            return Verdict(TRUE, name, where=where)
        near = nearest(name, sorted({*glossary.known(), *met}))
        return Verdict(WRONG, f"there is no primitive `{name}`{near}")


def _verdict(kept: Any) -> Verdict | None:
    """A verdict as it was kept; ``None`` for anything else."""
    try:
        many = {"hints": tuple(kept["hints"]), "starts": tuple(kept["starts"])}
        found = Verdict(**{**kept, **many})
    except (TypeError, KeyError):
        return None
    texts: list[Any] = [found.state, found.text, found.block, found.where, *found.hints]
    good = all(type(text) is str for text in texts) and type(found.is_empty) is bool
    return found if good and all(type(start) is int for start in found.starts) else None


def _claim(text: str, scope: Any, inside: str) -> Verdict:
    from ..program.evaluate import judge

    return _said(judge(text, scope), text, scope)


def _condition(text: str, scope: Any, inside: str) -> Verdict:
    from ..program.evaluate import evaluate

    return _said(evaluate(text, scope), text, scope)


def _said(found: Any, text: str, scope: Any) -> Verdict:
    from ..program.instead import instead

    if found.is_true:
        return Verdict(TRUE, hints=found.hints)
    return Verdict(FALSE, instead(text, scope), found.hints)


def _value(text: str, scope: Any, inside: str) -> Verdict:
    from ..program.evaluate import evaluate
    from ..program.kinds import words

    found = evaluate(text, scope)
    return Verdict(TRUE, words(found.value), found.hints)


def _equation(text: str, scope: Any, inside: str) -> Verdict:
    from ..program.evaluate import resolve

    found, hints = resolve(text, scope, inside)
    return Verdict(TRUE, "", hints, found.block.name, (found.equation.start,))


def _equations(text: str, scope: Any, inside: str) -> Verdict:
    from ..program.evaluate import resolve_equations

    found = resolve_equations(text, scope, inside)
    starts = tuple(equation.start for equation in found.equations)
    return Verdict(TRUE, "", (), found.block.name, starts)


def _block(text: str, scope: Any, inside: str) -> Verdict:
    from ..program.evaluate import resolve_block

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
