"""What is wrong with blocks and statements: findings, which every build reports."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from sphinx.util import logging

from ...program.text import (
    CELL,
    cell_words,
    clipped,
    in_cell,
    message,
    nearest,
    on_one_line,
    place,
    plural,
    shorten,
)
from ...program.text import words as echo
from ...tracing.files import digest
from ...tracing.masking import PathMasker
from ..config import conf_line
from ..records import (
    CLAIM,
    FALSE,
    LET,
    TRUE,
    UNJUDGED,
    WRONG,
    Block,
    CodeSpan,
    DirectiveRecord,
    Finding,
    NamedLine,
    ShowRecord,
    Statement,
    Verdict,
)
from .meanings import Meanings
from .names.appearances import NAME, Appearances, block_name
from .names.lines import kept, texts, used_lets
from .path_targets import PathTargets
from .session import BuildSession, Outcome
from .verdicts import VerdictCache

if TYPE_CHECKING:
    from ...tracing.result import ErrorKind, TraceError

# What only errors need is imported where one is reported; `ErrorKind` compares with its words.

logger = logging.getLogger(__name__)

#: Characters of a sentence and of its expression that a message repeats.
_ECHO: Final = 200
#: Longest finding, in characters: an error of JAX with file, line and hint, a claim's sides.
MAX_FINDING = 1_500


def report(findings: list[Finding], srcdir: str, family: str = "jaxpr") -> list[Finding]:
    """Warn of each finding once, at its line; the findings without duplicates, cut to length."""
    reported = list(dict.fromkeys(map(cut, findings)))
    for finding in reported:
        source, line, text = finding.source, finding.line, finding.message
        if "docstring of" not in source:
            source = os.path.normpath(os.path.join(srcdir, source))
        if in_cell(source, line):
            from ..reading.notebooks.lines import row  # few projects have notebooks

            line, text = row(source, line), f"{cell_words(line)}: {text}"
        location = f"{on_one_line(source)}:{line}"
        logger.warning("%s", text, location=location, type=family, subtype=finding.kind)
    return reported


def cut(finding: Finding) -> Finding:
    """A finding as it is reported: on one line, not too long."""
    return finding._replace(message=message(finding.message, MAX_FINDING))


# --- blocks

#: The kinds of errors with a type of warning of their own.
_SUBTYPES: Final = frozenset({"option", "timeout", "lock"})
#: Failures of a whole module or of the worker are reported once, with a count.
_WIDE: Final = frozenset({"import", "worker"})

#: The origin of an error; errors with the same origin are one finding.
_Cause: TypeAlias = "tuple[ErrorKind, str, tuple[str, int] | str, str]"


class BlockFindings:
    """What is wrong with the blocks of all pages, in the order of the pages."""

    def __init__(
        self,
        session: BuildSession,
        targets: PathTargets,
        appearances: Appearances,
        max_constants: int,
    ) -> None:
        self.session = session
        self.targets = targets
        self.appearances = appearances
        self.max_constants = max_constants
        self._findings: list[Finding] = []
        self._wide: dict[_Cause, list[int]] = {}  # index of the finding, number of other blocks

    def of(self, directives: Mapping[str, list[DirectiveRecord]]) -> list[Finding]:
        """The findings about the blocks of ``directives``, notes and options included."""
        self._findings, self._wide = [], {}
        for docname, page in directives.items():
            for directive in page:
                self._findings.extend(directive.findings)
                self._errors(docname, directive)
                self._findings.extend(self.targets.lost(directive))
                self._findings.extend(self._constants(directive))
        for index, others in self._wide.values():
            if others:
                more = f" ({others} more block{'s' * (others != 1)} for the same reason)"
                finding = self._findings[index]
                self._findings[index] = finding._replace(message=finding.message + more)
        return self._findings

    def _errors(self, docname: str, directive: DirectiveRecord) -> None:
        alike: dict[_Cause, list[Block]] = {}
        base_matters = self._base_matters(docname, directive)
        for block in directive.blocks:
            outcome = self.session.outcome(block)
            if outcome is None or (not block.label and not base_matters):
                continue
            expects = block.asked is not None and block.asked.expects_error
            if expects and not _is_unlocked(outcome):
                # Without ``raises`` the option could not be read, which is a finding already.
                if directive.raises and (text := self._unmet(directive, block)):
                    finding = Finding(
                        "raises", f"{block.name}: {text}", directive.source, directive.line
                    )
                    self._findings.append(finding)
            elif outcome.error is not None:
                error = self.session.error(directive, outcome)
                assert error is not None
                place = self.session.place_in_code(directive, outcome)
                self._error(directive, block, error, alike, place)
        for blocks in alike.values():
            self._findings.append(self._shared_error(directive, blocks))

    def _error(
        self,
        directive: DirectiveRecord,
        block: Block,
        error: TraceError,
        alike: dict[_Cause, list[Block]],
        place: tuple[CodeSpan, int] | None,
    ) -> None:
        """Report an error that many blocks may have, or note it among those of a directive."""
        from ...tracing.result import describe

        if error.kind == "option" and directive.findings:
            return  # an option that was not understood is missing now
        cause = _cause(error)
        if error.kind not in _WIDE and not error.whole_module:
            alike.setdefault(cause, []).append(block)
        elif cause in self._wide:
            self._wide[cause][1] += 1
        else:
            self._wide[cause] = [len(self._findings), 0]
            source, line = directive.source, directive.line
            if place is not None:
                source, line = place[0].source, place[0].cell * CELL + place[1]
            self._findings.append(Finding(_subtype(error), describe(error), source, line))

    def _shared_error(self, directive: DirectiveRecord, blocks: list[Block]) -> Finding:
        from ...tracing.result import describe

        first, *others = blocks
        outcome = self.session.outcome(first)
        assert outcome is not None
        error = self.session.error(directive, outcome)
        assert error is not None
        text = f"{first.name}: {describe(error)}"
        if others:
            text += f" (and so for {', '.join(block.name for block in others)})"
        line = _line(directive, first, error)
        return Finding(_subtype(error), text, directive.source, line)

    def _base_matters(self, docname: str, directive: DirectiveRecord) -> bool:
        """Whether a failed base is a fault: not if no page shows it and its variants can be traced.

        (A function that uses an axis name traces only under the transform that binds it.)
        """
        base, *variants = directive.blocks
        if not directive.tolerates(base) or self.appearances.of(docname, base):
            return True
        outcomes = [self.session.outcome(block) for block in variants]
        return all(outcome is None or outcome.error is not None for outcome in outcomes)

    def _unmet(self, directive: DirectiveRecord, block: Block) -> str:
        """How a block differs from its expected error, or ``""``."""
        self.session.mend([(directive, block)])
        return self.session.traced(directive, block).unmet

    def _constants(self, directive: DirectiveRecord) -> list[Finding]:
        for block in directive.blocks:
            outcome = self.session.outcome(block)
            total = outcome.seen.captured if outcome else 0
            if total > self.max_constants:
                from ...tracing.result import megabytes

                self.session.mend([(directive, block)])
                program = self.session.traced(directive, block).program
                sizes = program.constants[:5] if program is not None else ()
                listed = ", ".join(f"{kind} ({megabytes(size)})" for kind, size in sizes)
                return [
                    Finding(
                        "trace",
                        f"{block.name}: {megabytes(total)} captured: {listed}; pass large arrays"
                        f" as arguments, or raise jaxpr_max_constants ({self.max_constants})",
                        directive.source,
                        directive.line,
                    )
                ]
        return []


def _subtype(error: TraceError) -> str:
    return error.kind.value if error.kind in _SUBTYPES else "trace"


def _cause(error: TraceError) -> _Cause:
    """The raising line of user code where there is one, else the message."""
    last = error.frames[-1] if error.frames else None
    origin = (last.file, last.line) if last is not None else error.message
    return error.kind, error.type, origin, error.option


def _line(directive: DirectiveRecord, block: Block, error: TraceError) -> int:
    """The line of the option at fault, or of the directive."""
    if error.option == "transforms" or error.kind == "lock":
        return block.line
    return directive.line_of(error.option)


def _is_unlocked(outcome: Outcome) -> bool:
    """Whether a block has nothing in the lock, so that its error is unknown."""
    return outcome.error is not None and outcome.error.kind == "lock"


def wrong_shows(
    appearances: Appearances,
    shows: Mapping[str, list[ShowRecord]],
    targets: PathTargets,
    verdicts: VerdictCache,
) -> list[Finding]:
    """What is wrong with each ``jaxpr-show``: its options, its notes, the block that it names.

    What is wrong with that block is a finding where it is declared.
    """
    unresolved = {(page, show.number) for page, show in appearances.unresolved}
    findings: list[Finding] = []
    for page, page_shows in shows.items():
        for show in page_shows:
            findings += show.findings
            if (page, show.number) not in unresolved:
                view = appearances.view(page, show.number)
                findings += targets.lost(view) if view is not None else ()
            elif show.path:  # else that is a finding already
                text = f"jaxpr-show {clipped(show.path, _ECHO)!r}: {_unknown(page, show, verdicts)}"
                findings.append(Finding("path", text, show.source, show.line))
    return findings


def _unknown(page: str, show: ShowRecord, verdicts: VerdictCache) -> str:
    """Why a ``jaxpr-show`` shows no block."""
    name = block_name(show.path)
    if not NAME.fullmatch(name):
        meant = NAME.match(name)
        is_block = meant and verdicts.scopes.names(page).block(meant[0])
        near = f", did you mean `{meant[0]}`?" if meant and is_block else ""
        return f"expected the name of a block, as in `dense` or `dense.grad`{near}"
    verdict = verdicts.of(page, Statement("ref", show.path, "", "", 0))
    if verdict.where:
        return "it is in another project, whose blocks can't be shown here"
    return verdict.text or "this names no block"


# --- modules and the glossary


def ambiguous_modules(
    masker: PathMasker, directives: Mapping[str, list[DirectiveRecord]]
) -> list[Finding]:
    """Modules that pages name and that several import roots have, each at its first block."""
    findings: dict[str, Finding] = {}
    for directive in (directive for page in directives.values() for directive in page):
        for module in directive.modules:
            if module not in findings:
                text = _ambiguity(masker, module)
                findings[module] = Finding("option", text, directive.source, directive.line)
    return [finding for finding in findings.values() if finding.message]


def _ambiguity(masker: PathMasker, module: str) -> str:
    """Which files an import of a module must choose between; ``""`` if there is at most one."""
    files = masker.places(module)
    if len(files) < 2:
        return ""
    first, *others = (masker.stored(file) for file in files)
    name = masker.other_name(files[1])
    instead = f"; name the other one {name!r}" if name else ""
    hidden = f"{first} is traced, {' and '.join(others)} hidden"
    return f"the module {module!r} is in {len(files)} import roots: {hidden}{instead}"


def unknown_in_glossary(
    session: BuildSession,
    meanings: Meanings,
    directives: Mapping[str, list[DirectiveRecord]],
    confdir: Path,
) -> list[Finding]:
    """Terms and primitives that ``jaxpr_glossary`` names and that do not exist."""
    if not meanings.terms_of:
        return []
    blocks = (b for page in directives.values() for directive in page for b in directive.blocks)
    outcomes = [session.outcome(block) for block in blocks]
    traced = {name for o in outcomes if o and not o.error for name in o.seen.names}
    primitives = {*meanings.glossary.known(), *traced}
    messages = []
    for name, term in meanings.terms_of.items():
        if term.lower() not in meanings.terms:
            near = nearest(term.lower(), meanings.terms)
            messages.append(f"no glossary of this project has the term {shorten(term)}{near}")
        if name not in primitives and meanings.glossary.entry(name) is None:
            near = nearest(name, sorted(primitives))
            messages.append(
                f"{shorten(name)} is not a primitive that JAX's jaxprs or these pages have{near}"
            )
    file, line = conf_line("jaxpr_glossary", confdir)
    return [Finding("glossary", f"jaxpr_glossary: {text}", file, line) for text in messages]


# --- statements


def position(at: tuple[str, int], srcdir: str) -> str:
    """A file, relative to the folder of the pages, and a line in it."""
    source, line = at
    return place(relative(source, srcdir), line)


def relative(source: str, srcdir: str) -> str:
    """A file relative to the folder of the pages; so is the file of a docstring."""
    file, docstring, name = source.partition(":docstring of ")
    if os.path.isabs(file):
        file = Path(os.path.relpath(file, srcdir)).as_posix()
    return f"{file}{docstring}{name}"


def clashes(verdicts: VerdictCache, srcdir: str) -> list[Finding]:
    """Findings about names of lines that other lines, or blocks, have too."""
    findings = []
    for line, other in verdicts.lines.doubles(verdicts.is_kept):
        noun = f"let {line.name!r}" if line.kind == LET else f"the name {shorten(line.name)}"
        message = f"{noun} is also at {position(other.position, srcdir)}, and that one counts"
        findings.append(Finding("claim", message, *line.position))
    for page, lines in verdicts.lines.pages.items():
        for line in lines:
            if line.kind == LET and line.name and verdicts.scopes.declares(page, line.name):
                message = (
                    f"let {line.name!r} has the name of a block of this page, which counts;"
                    f" try {line.name + '_'!r}"
                )
                findings.append(Finding("claim", message, *line.position))
    return findings


#: How many lets a message explains.
_LETS: Final = 3
_NAMES: Final = {
    "claim": "claim",
    "val": "value",
    "eqn": "equation",
    "ref": "block",
    "when": "condition",
    "prim": "primitive",
    "var": "letter of",
}


class StatementChecker:
    """The statements that a build shows, by page, with their verdicts."""

    def __init__(
        self,
        session: BuildSession,
        verdicts: VerdictCache,
        statements: Mapping[str, list[Statement]],
    ) -> None:
        self.session = session
        self.verdicts = verdicts
        self.statements = {page: list(statements[page]) for page in sorted(statements)}

    def judged(self, page: str) -> Iterator[tuple[Statement, Verdict | None]]:
        """The statements of a page that count, each with its verdict; ``None`` without one.

        Statements in an omitted part are not judged, and lets that others replace neither.
        """
        for statement in self.statements.get(page, ()):
            if statement.label and self.verdicts.means_label(page, statement):
                continue  # it is Sphinx's
            if not kept(page, statement, self.verdicts.is_kept):
                continue
            if statement.problem:
                yield statement, None
            elif statement.role != LET or self._counts(page, statement):
                yield from self.verdicts.resolved(page, statement)

    def _counts(self, page: str, statement: Statement) -> bool:
        """Whether a let is the one of its name."""
        let = self.verdicts.lets(page, statement).get(statement.words)
        return let is not None and let.position == (statement.source, statement.line)

    def wrong_statements(self) -> list[Finding]:
        """Statements that are false or can't be judged, in the order of the pages."""
        return [
            finding
            for page in self.statements
            for statement, verdict in self.judged(page)
            if (finding := self.finding(page, statement, verdict)) is not None
        ]

    def finding(self, page: str, statement: Statement, verdict: Verdict | None) -> Finding | None:
        """What is wrong with a statement, if anything is."""
        if verdict is None:
            kind = "claim" if statement.role in (CLAIM, LET) else "path"
            return Finding(
                kind,
                # A directive names itself in its messages; a role is named here.
                statement.problem
                if statement.role in ("when", LET)
                else f"jaxpr:{statement.role}: {statement.problem}",
                statement.source,
                statement.line,
            )
        message = ""
        if verdict.state == FALSE and statement.role == "claim":
            words = f"claim {clipped(statement.words, _ECHO)!r}" if statement.words else "claim"
            version = self._version(page, statement)
            where = self._at(statement) + self._lets(page, statement, ", where {}")
            message = (
                f"{words} is false{version}: {verdict.text}"
                f" [{echo(statement.expression, _ECHO)}{where}]"
            )
        elif verdict.state == WRONG:
            subject, users = self._subject(page, statement), self._users(page, statement)
            message = f"{subject}: {verdict.text}{users}"
            if statement.label and not self.verdicts.names_block(page, statement):
                message += f"; and there is no label {clipped(statement.label, _ECHO)!r}"
        elif verdict.state == TRUE and statement.role in ("ref", "eqn", "var"):
            message = self._hidden(page, statement, verdict)
        kind = verdict.kind if statement.role == "claim" else "path"
        return Finding(kind, message, statement.source, statement.line) if message else None

    def _subject(self, page: str, statement: Statement) -> str:
        """What a statement is, for a message why it can't be judged."""
        text = clipped(statement.expression or statement.words, _ECHO)
        if statement.role == LET:
            return f"let {statement.words!r} ({text}{self._lets(page, statement, ', where {}')})"
        name = _NAMES.get(statement.role, statement.role) + " or label" * bool(statement.label)
        return f"{name} {text!r}{self._at(statement)}{self._lets(page, statement, ' (where {})')}"

    def _at(self, statement: Statement) -> str:
        """Where the expression of a statement is, if not in its sentence."""
        if not statement.at[0]:
            return ""
        return f" at {position(statement.at, self.session.masker.source)}"

    def lets_of(self, page: str, statement: Statement) -> list[NamedLine]:
        """The lets that the expression of a statement needs, the nearest first."""
        lets = self.verdicts.lets(page, statement)
        if not lets:
            return []
        from ...program.query.lets import LetCycle, needed
        from ...program.query.syntax import PathError, parse

        try:
            names = needed(parse(statement.expression), texts(lets))[::-1]
        except LetCycle:
            names = [*used_lets(statement.expression, lets)]
        except PathError:
            return []
        return [lets[name] for name in names]

    def _lets(self, page: str, statement: Statement, form: str) -> str:
        """What the lets in an expression are, the nearest first."""
        is_let = statement.role == LET
        shown = [
            f"{let.name} = {echo(let.expression, _ECHO // 2)}"
            + (f" at {position(let.position, self.session.masker.source)}" * is_let)
            for let in self.lets_of(page, statement)
            if not is_let or let.name != statement.words
        ]
        return form.format(", ".join(shown[:_LETS])) if shown else ""

    def _users(self, page: str, let: Statement) -> str:
        """How many other expressions can't be judged since a let has no value."""
        if let.role != LET:
            return ""
        count = 0
        for statement, verdict in self.judged(page):
            if verdict is not None and verdict.state == UNJUDGED:
                lets = self.verdicts.lets(page, statement)
                used = used_lets(f"{statement.expression} {statement.words}", lets)
                count += let.words in used and lets[let.words].position == (let.source, let.line)
        if not count:
            return ""
        verb = "depends" if count == 1 else "depend"
        return f" ({plural(count, 'expression')} that {verb} on it can't be judged)"

    def _version(self, page: str, statement: Statement) -> str:
        """The version on which a claim is false; empty if its programs were pasted."""
        if self.verdicts.is_pasted(page, statement):
            return ""
        jax = self.verdicts.versions.get("jax", "")
        return f" on JAX {jax}" if jax else ""

    def _hidden(self, page: str, statement: Statement, verdict: Verdict) -> str:
        target = self.verdicts.target(page, verdict)
        if target is None or self.verdicts.appearances(page, verdict):
            return ""
        link = f"{_NAMES[statement.role]} {clipped(statement.expression, _ECHO)!r}"
        reason = f"is hidden by {target.directive.hidden_by}, so there is nothing to link to"
        return f"{link}: `{verdict.block}` {reason} (jaxpr-show {verdict.block} would show it)"

    def digests(self) -> dict[str, str]:
        """A digest, for each page, of how its statements are shown."""
        return {page: digest([*map(list, self._visible(page))])[:20] for page in self.statements}

    def _visible(self, page: str) -> Iterator[tuple[str, ...]]:
        for statement, verdict in self.judged(page):
            if verdict is None:
                continue
            yield statement.role, statement.expression, verdict.state, verdict.text, verdict.where
            target = self.verdicts.target(page, verdict) if verdict.block else None
            if target is not None:
                outcome = self.session.outcome(target.block)
                program = outcome.seen.program if outcome else ""
                nearest = self.verdicts.appearances(page, verdict)[:1]
                yield str(verdict.start), program, *(part for each in nearest for part in each)
