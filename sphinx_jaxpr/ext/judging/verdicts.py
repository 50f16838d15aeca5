"""The verdict on each statement: judged once for the same programs, reported in every build.

Verdicts of earlier builds are kept with the pages, in Sphinx's own environment, under a
digest.  With them a build without changes needn't read programs; a page that
is written shows verdicts of this build only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from docutils import nodes
from sphinx.builders import Builder
from sphinx.builders.html import StandaloneHTMLBuilder

from ... import __version__
from ...program.html.definitions import anchor, listed
from ...tracing.files import canonical, digest
from ..links import ShownIds, link
from ..records import (
    FALSE,
    LET,
    STATES,
    TRUE,
    UNJUDGED,
    WRONG,
    BlockOnPage,
    DirectiveRecord,
    NamedLine,
    PrimitiveList,
    Statement,
    Verdict,
)
from .meanings import Meanings
from .names.appearances import Appearance
from .names.lines import NamedLines, kept, texts, used_lets
from .names.project import DirectiveOnPage
from .names.scopes import Scopes, words_of
from .session import BuildSession

if TYPE_CHECKING:
    from ...program.query.evaluate import Evaluation
    from ...program.query.scope import Scope

# --- where a primitive is explained, for links that authors write

#: Where JAX documents its functions, for a project without its inventory.
_PAGES: Final = "https://docs.jax.dev/en/latest/_autosummary/{}.html"


class Addresses:
    """Finds what explains a primitive: a term, JAX's page, a list here, a block's fold.

    ``directives`` and ``lists`` are those that this build shows, by page.
    """

    def __init__(
        self,
        session: BuildSession,
        meanings: Meanings,
        builder: Builder,
        ids: ShownIds,
        directives: Mapping[str, list[DirectiveRecord]],
        lists: Mapping[str, list[PrimitiveList]],
    ) -> None:
        self.session = session
        self.meanings = meanings
        self.builder = builder
        self.ids = ids
        self.directives = directives
        self.lists = lists
        self._explained: dict[str, dict[str, str]] = {}

    def link(self, page: str, name: str) -> nodes.reference | None:
        """An empty link on ``page`` to the meaning of ``name``."""
        href, away = self.meanings.href(name, page)
        if href:
            return nodes.reference("", "", internal=not away, refuri=href)
        for other, identity in self._here(page, name):
            reference = link(self.builder, page, other, identity)
            if reference is not None:
                return reference
        entry = self.meanings.glossary.entry(name)
        if entry is not None and entry.page:
            return nodes.reference("", "", internal=False, refuri=_PAGES.format(entry.page))
        return None

    def address(self, page: str, name: str) -> str:
        """The target of that link; ``""`` if there is none."""
        if not isinstance(self.builder, StandaloneHTMLBuilder):  # other builders write every page
            return ""
        reference = self.link(page, name)
        if reference is None:
            return ""
        return str(reference.get("refuri") or f"#{reference.get('refid')}")

    def _here(self, page: str, name: str) -> Iterator[tuple[str, str]]:
        """The pages and ids of definitions in this project, the nearest first."""
        for other, listing in self._lists(page, name):
            yield other, listed(self.ids.number_of_list(other, listing.number), name)
        if not isinstance(self.builder, StandaloneHTMLBuilder):
            return
        folds = self.ids.definitions
        block = self.explained(page).get(name)
        # While no page is written, the id that the fold will have.
        identity = folds.get(name) if folds is not None else block and anchor(block, name)
        if identity:
            yield page, identity

    def _lists(self, page: str, name: str) -> Iterator[tuple[str, PrimitiveList]]:
        """The lists with a primitive: those of this page, of the project, of other pages."""
        for listing in self.lists.get(page, ()):
            names = self.explained(page) if listing.scope == "page" else self.explained_anywhere
            if name in names:
                yield page, listing
        project = self._project_lists if name in self.explained_anywhere else ()
        for other, listing in (*project, *self._page_lists.get(name, ())):
            if other != page:
                yield other, listing

    @cached_property
    def _project_lists(self) -> list[tuple[str, PrimitiveList]]:
        """The lists of all primitives, with their pages."""
        lists = ((page, each) for page, listings in self.lists.items() for each in listings)
        return [(page, listing) for page, listing in lists if listing.scope == "project"]

    @cached_property
    def _page_lists(self) -> dict[str, list[tuple[str, PrimitiveList]]]:
        """For each primitive the lists of a page that have it, with that page."""
        lists: dict[str, list[tuple[str, PrimitiveList]]] = {}
        for page, listings in self.lists.items():
            for listing in listings:
                for name in self.explained(page) if listing.scope == "page" else ():
                    lists.setdefault(name, []).append((page, listing))
        return lists

    @cached_property
    def explained_anywhere(self) -> frozenset[str]:
        """The primitives of all pages."""
        return frozenset(name for page in self.directives for name in self.explained(page))

    def explained(self, page: str) -> dict[str, str]:
        """For each primitive of a page the id of the first block that explains it."""
        if page not in self._explained:
            first: dict[str, str] = {}
            for directive in self.directives.get(page, ()):
                for block in directive.blocks:
                    outcome = self.session.outcome(block) if block.is_shown else None
                    for name in outcome.seen.names if outcome else ():
                        first.setdefault(name, block.identity)
            self._explained[page] = first
        return self._explained[page]


# --- verdicts


class _Entry(NamedTuple):
    verdict: Verdict
    judged: bool  # by this build


class _Question(NamedTuple):
    """A statement of a page or ``inside`` of a directive, and the lets that it may use.

    ``used`` are those whose names are among its words, ``text`` are their words and its own.
    """

    page: str
    statement: Statement
    inside: DirectiveRecord | None
    lets: dict[str, str]
    used: dict[str, str]
    text: str


class VerdictCache:
    """Judges statements; verdicts of the last build on the same programs count.

    ``kept`` is what :meth:`kept` of the last build returned; ``lines`` are the named ones of
    ``jaxpr-claims``.
    """

    def __init__(
        self,
        session: BuildSession,
        scopes: Scopes,
        meanings: Meanings,
        addresses: Addresses,
        kept: object = "",
        lines: NamedLines | None = None,
    ) -> None:
        self.session = session
        self.scopes = scopes
        self.meanings = meanings
        self.addresses = addresses
        self.lines = lines or NamedLines({}, ())
        self._before = kept
        self._used: dict[str, _Entry] = {}
        self._writing = False  # pages show what this build judges, whatever was kept
        self._contexts: dict[str, str] = {}  # page -> digest of all but names and programs
        self._names: dict[str, str] = {}  # page -> digest of all its names
        self._programs: dict[tuple[str, str, bool], str] = {}  # directive -> digest of its blocks
        self._entries: dict[tuple[str, ...], _Entry] = {}  # of this build

    @property
    def versions(self) -> dict[str, str]:
        """The versions that expressions may ask for."""
        return self.scopes.versions

    @cached_property
    def _last_build(self) -> dict[str, Verdict]:
        return {} if self.session.policy.judges_afresh else unsealed(self._before)

    def kept(self) -> str:
        """The verdicts that this build used, for the next build; ``""`` if there are none."""
        verdicts = {key: entry.verdict for key, entry in self._used.items()}
        return sealed(verdicts) if verdicts else ""

    def begin_writing(self) -> None:
        """From now on use only verdicts of this build."""
        self._writing = True

    def of(self, page: str, statement: Statement) -> Verdict:
        """The verdict on a statement of a page."""
        role, words = statement.role, statement.words if statement.role == LET else ""
        key = (page, statement.docstring, role, statement.expression, words)
        entry = self._entries.get(key)
        if entry is None or (self._writing and not entry.judged):
            entry = self._entries[key] = self._entry(self._question(page, statement))
        return entry.verdict

    def of_path(self, directive: DirectiveRecord, statement: Statement) -> Verdict:
        """The verdict on a path that begins inside of a directive."""
        return self._entry(self._question("", statement, directive)).verdict

    def resolved(self, page: str, statement: Statement) -> list[tuple[Statement, Verdict]]:
        """A statement with its verdict; one that names a line, with the expression of that line.

        It is several where other builders show other lines.
        """
        if not statement.named:
            return [(statement, self.of(page, statement))]
        lines = self.lines.claims(page, statement)
        shown = self.lines.apart(line for line in lines if kept(page, line, self.is_kept))
        if not shown:
            return [(statement, Verdict(WRONG, _LEFT_OUT))]
        answers = []
        for line in shown:
            whole = statement._replace(expression=line.expression, at=line.position)
            unread = Verdict(UNJUDGED, "its line can't be read")
            verdict = unread if line.is_broken else self.of(page, whole)
            answers.append((whole, verdict))
        return answers

    def is_kept(self, page: str, condition: str, source: str) -> bool:
        """Whether a part under a condition is shown, as it is if the condition can't be judged."""
        if self.session.mode == "skip" or not condition:
            return True
        return self.of(page, Statement("when", condition, "", source, 0)).state != FALSE

    def lets(self, page: str, statement: Statement) -> dict[str, NamedLine]:
        """The lets that a statement of a page may use; none has the name of a block of the page.

        The page comes first: what another page calls its blocks never breaks it.
        """
        is_kept = None if statement.role == "when" else self.is_kept
        lets = self.lines.lets(page, statement.docstring, is_kept)
        return {name: line for name, line in lets.items() if not self.scopes.declares(page, name)}

    def _question(
        self, page: str, statement: Statement, inside: DirectiveRecord | None = None
    ) -> _Question:
        lets = self.lets(inside.page if inside is not None else page, statement)
        words = statement.words if statement.role == LET else ""
        used = used_lets(f"{statement.expression} {words}", lets) if lets else {}
        text = " ".join([statement.expression, *used.values()])
        return _Question(page, statement, inside, texts(lets), used, text)

    def scope(self, page: str, statement: Statement) -> Scope:
        """The names that the expression of a statement may use."""
        question = self._question(page, statement)
        return self.scopes.of(page, question.text, None, question.lets)

    def _entry(self, question: _Question) -> _Entry:
        page, statement = question.page, question.statement
        if statement.role == "prim":
            return _Entry(self._primitive(page, statement.expression), judged=True)
        directives = self.scopes.mentioned(page, question.text, question.inside, question.lets)
        key = self._key(question, directives)
        entry = self._earlier(key, question)
        if entry is None:
            wrong_key = self._wrong_key(key, question, directives)
            entry = self._earlier(wrong_key, question)
        if entry is None:
            self.session.mend(
                (target.directive, target.block)
                for named in directives
                for target in named.blocks()
            )
            entry = _Entry(self._judge(question), judged=True)
        self._used[wrong_key if entry.verdict.state == WRONG else key] = entry
        return entry

    def _earlier(self, key: str, question: _Question) -> _Entry | None:
        """What is kept under a key and still counts."""
        entry = self._used.get(key)
        if self._writing:
            return entry if entry is not None and entry.judged else None
        return entry or self._of_last_build(key, question)

    def _of_last_build(self, key: str, question: _Question) -> _Entry | None:
        verdict, statement = self._last_build.get(key), question.statement
        if verdict is None:
            return None
        names = self.scopes.visible(question.page, question.inside)
        if verdict.block and names.block(verdict.block) is None:
            return None
        if not verdict.block and statement.role == "ref" and verdict.state == TRUE:
            verdict = verdict._replace(where=self._elsewhere(statement))
        return _Entry(verdict, judged=False)

    def link(self, page: str, primitive: str) -> nodes.reference | None:
        """An empty link on a page to where a primitive is explained."""
        return self.addresses.link(page, primitive)

    def is_pasted(self, page: str, statement: Statement) -> bool:
        """Whether all programs of a statement were pasted into a page."""
        question = self._question(page, statement)
        directives = self.scopes.mentioned(page, question.text, None, question.lets)
        targets = [target for named in directives for target in named.blocks()]
        return bool(targets) and all(target.block.pasted for target in targets)

    def means_label(self, page: str, statement: Statement) -> bool:
        """Whether a short ``ref`` names a label, and neither a block nor nothing at all."""
        if not statement.label or self.names_block(page, statement):
            return False
        return self.meanings.is_label(statement.label, page)

    def names_block(self, page: str, statement: Statement) -> bool:
        """Whether a ``ref`` names a block that this build shows, or one of another project."""
        block = self.scopes.names(page).block("".join(statement.expression.split()))
        return block is not None or bool(self._elsewhere(statement))

    def target(self, page: str, verdict: Verdict) -> BlockOnPage | None:
        """The block that a verdict is about."""
        return self.scopes.names(page).block(verdict.block)

    def appearances(self, page: str, verdict: Verdict) -> list[Appearance]:
        """Where the block of a verdict appears, what is nearest to ``page`` first."""
        target = self.target(page, verdict)
        return self.scopes.appearances.nearest(page, target) if target is not None else []

    # -- keys

    def _key(self, question: _Question, directives: list[DirectiveOnPage]) -> str:
        """The key of a verdict that is not ``WRONG``: a digest of all that it may depend on.

        A name that leads nowhere is an error, so other verdicts depend on the
        names in their text alone, on the texts of the lets among these, and on the programs of
        the directives that all of these texts name.
        """
        page, statement, inside = question.page, question.statement, question.inside
        if page not in self._contexts:
            vocabulary = self.scopes.vocabulary(page)
            facts = [__version__, self.scopes.versions, vocabulary, dict(self.scopes.own_kinds)]
            self._contexts[page] = digest(facts)
        lines = "line" in words_of(question.text)  # which programs don't show
        key = [self._contexts[page], statement.role, statement.expression]
        key += [self._elsewhere(statement), inside.inside if inside is not None else ""]
        key += [self._programs_of(named, lines) for named in directives]
        if question.used:  # in the order in which they are written
            key += [canonical([*question.used.items()])]
        if statement.role == LET:
            key += [statement.words]
        return digest(key)[:_KEY]

    def _wrong_key(self, key: str, question: _Question, directives: list[DirectiveOnPage]) -> str:
        """The key of a ``WRONG`` verdict: its message may suggest any name, and tell lines."""
        names, page = "", question.page
        if question.inside is None:
            if page not in self._names:
                own = [*self.scopes.names(page).own.values()]
                self._names[page] = digest([_full_names(own), self._shared_names])
            names = self._names[page]
        left_out = self.scopes.left_out(page, question.text)
        lines = [self._programs_of(named, True) for named in directives]
        return digest([key, names, sorted(left_out), [*question.lets], lines])[:_KEY]

    @cached_property
    def _shared_names(self) -> str:
        """A digest of the names for the whole project, in their order."""
        return digest(_full_names(self.scopes.shared.values()))

    def _programs_of(self, named: DirectiveOnPage, lines: bool) -> str:
        """A digest of the names and programs of a directive's blocks."""
        key = (named.page, named.directive.blocks[0].identity, lines)
        programs = self._programs.get(key)
        if programs is None:
            seen = [[target.block.name, self._seen(target, lines)] for target in named.blocks()]
            programs = digest(seen)
            if named.page:  # ids are unique on a page only; paths inside a directive have none
                self._programs[key] = programs
        return programs

    def _elsewhere(self, statement: Statement) -> str:
        """The address of a block in another project that intersphinx knows."""
        if statement.role != "ref":
            return ""
        return self.meanings.in_inventories(statement.expression, ["jaxpr:block"])

    def _seen(self, target: BlockOnPage, lines: bool) -> str:
        outcome = self.session.outcome(target.block)
        if outcome is None:
            return target.block.problem
        if not lines:
            return outcome.seen.program
        places = [list(span) for span in target.directive.code]  # prose above moves them
        return f"{outcome.seen.program}{outcome.seen.source}{places or ''}"

    def _judge(self, question: _Question) -> Verdict:
        # Modules that judge are loaded only if there is something new.
        from ...program.query.evidence import SaysNothing
        from ...program.query.lets import BrokenLet
        from ...program.query.syntax import NoProgram, PathError, parse

        statement, inside = question.statement, question.inside
        scope = self.scopes.of(question.page, question.text, inside, question.lets)
        text = statement.expression
        try:
            if statement.role == LET:  # by its name: alone it may be right, and part of a cycle
                parse(text)
                text = statement.words
            return _JUDGES[statement.role](text, scope, inside.inside if inside else "")
        except NoProgram:
            return Verdict(UNJUDGED, "its block could not be traced")
        except BrokenLet:
            return Verdict(UNJUDGED, "a let that it uses has no value")
        except PathError as error:
            if address := self._elsewhere(statement):
                return Verdict(TRUE, where=address)
            return Verdict(WRONG, error.message, is_empty=isinstance(error, SaysNothing))

    def _primitive(self, page: str, expression: str) -> Verdict:
        name = expression.strip("\"'")
        glossary = self.meanings.glossary
        is_defined = name in self.meanings.terms_of or glossary.entry(name) is not None
        if is_defined or self.scopes.meets(page, name):
            return Verdict(TRUE, name, where=self.addresses.address(page, name))
        from ...program.functions import printed_for
        from ...program.query.vocabulary import nearest_primitive

        if printed := printed_for(name):
            return Verdict(WRONG, f"`{name}` is not a primitive; {printed}")
        near = nearest_primitive(name, {*glossary.known(), *self.scopes.met(page)})
        hint = f", did you mean `{near}`?" if near else ""
        return Verdict(WRONG, f"there is no primitive `{name}`{hint}")


_KEY: Final = 24  # digits of a key
_LEFT_OUT: Final = "the line with this name is left out here (`only` or `jaxpr-when`)"


def _full_names(directives: Iterable[DirectiveOnPage]) -> list[list[str]]:
    """The names of the blocks of each directive."""
    return [[block.name for block in named.directive.blocks] for named in directives]


#: The stored parts of a verdict; addresses depend on the build.
_FIELDS: Final = ("state", "text", "hints", "block", "starts", "is_empty", "letters")


def sealed(verdicts: Mapping[str, Verdict]) -> str:
    """Verdicts as one text that begins with its digest."""
    rows = {key: [getattr(verdict, name) for name in _FIELDS] for key, verdict in verdicts.items()}
    return f"{digest(rows)} {canonical(rows)}"


def unsealed(text: Any) -> dict[str, Verdict]:
    """The inverse of ``sealed``; empty if the text is damaged or invalid."""
    try:
        seal, _, written = text.partition(" ")
        rows = json.loads(written)
        whole = digest(rows) == seal and canonical(rows) == written
        return {key: _verdict(*row) for key, row in rows.items()} if whole else {}
    except (AttributeError, TypeError, ValueError, RecursionError):
        return {}


def _verdict(
    state: str, text: str, hints: Any, block: str, starts: Any, is_empty: bool, letters: Any
) -> Verdict:
    texts = [state, text, block, *hints]
    good = state in STATES and all(type(part) is str for part in texts)
    good = good and type(hints) is type(starts) is list and type(is_empty) is bool
    if not good or not all(type(start) is int and start >= 0 for start in starts):
        raise ValueError(state)
    read = tuple((letter, variable, start) for letter, variable, start in letters)
    if any([*map(type, letter)] != [str, int, int] for letter in read):
        raise ValueError(text)
    return Verdict(state, text, tuple(hints), block, tuple(starts), is_empty=is_empty, letters=read)


# --- judges by the kind of statement; they load modules only for new statements


def _claim(text: str, scope: Scope, inside: str) -> Verdict:
    from ...program.query.evaluate import judge

    return _truth(judge(text, scope), text, scope)


def _let(name: str, scope: Scope, inside: str) -> Verdict:
    from ...program.query.evaluate import check_let

    return Verdict(TRUE, hints=check_let(name, scope))


def _condition(text: str, scope: Scope, inside: str) -> Verdict:
    from ...program.query.evaluate import evaluate

    return _truth(evaluate(text, scope), text, scope)


def _truth(answer: Evaluation, text: str, scope: Scope) -> Verdict:
    from ...program.query.explain import explain

    if answer.is_true:
        return Verdict(TRUE, hints=answer.hints)
    return Verdict(FALSE, explain(text, scope), answer.hints)


def _value(text: str, scope: Scope, inside: str) -> Verdict:
    from ...program.query.base import words
    from ...program.query.evaluate import evaluate

    answer = evaluate(text, scope)
    return Verdict(TRUE, words(answer.value), answer.hints)


def _equation(text: str, scope: Scope, inside: str) -> Verdict:
    from ...program.query.evaluate import resolve_equation

    view, hints = resolve_equation(text, scope, inside)
    return Verdict(TRUE, "", hints, view.block.name, (view.equation.start,))


def _equations(text: str, scope: Scope, inside: str) -> Verdict:
    from ...program.query.evaluate import find

    views = find(text, scope, inside)
    starts = tuple(view.equation.start for view in views)
    return Verdict(TRUE, "", (), views[0].block.name, starts)


def _letters(text: str, scope: Scope, inside: str) -> Verdict:
    from ...program.query.evaluate import resolve_values
    from ...program.text import spelled

    values, hints = resolve_values(text, scope)
    letters = tuple((spelled(value.letter), value.index, value.bound_at) for value in values)
    words = " ".join(letter for letter, _, _ in letters)
    return Verdict(TRUE, words, hints, values[0].block.name, letters=letters)


def _block(text: str, scope: Scope, inside: str) -> Verdict:
    from ...program.query.evaluate import resolve_block

    return Verdict(TRUE, block=resolve_block(text, scope).block.name)


_JUDGES: Final = {
    "claim": _claim,
    "let": _let,
    "when": _condition,
    "val": _value,
    "var": _letters,
    "eqn": _equation,
    "note": _equation,
    "elide": _equations,
    "ref": _block,
}
