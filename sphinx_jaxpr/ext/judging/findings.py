"""What is wrong with blocks and statements: findings, which every build reports."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from sphinx.util import logging

from ...program.text import clipped, message, nearest, on_one_line, shorten
from ...program.text import words as echo
from ...tracing.files import digest
from ...tracing.masking import PathMasker
from ..config import conf_line
from ..records import FALSE, TRUE, WRONG, Block, DirectiveRecord, Finding, Statement, Verdict
from .meanings import Meanings
from .path_targets import PathTargets
from .session import BuildSession, Outcome
from .verdicts import VerdictCache

if TYPE_CHECKING:
    from ...tracing.result import ErrorKind, TraceError

# What only errors need is imported where one is reported; `ErrorKind` compares with its words.

logger = logging.getLogger(__name__)

#: Longest finding, in characters: an error of JAX with file, line and hint, a claim's sides.
MAX_FINDING = 1_500


def report(findings: list[Finding], srcdir: str, family: str = "jaxpr") -> list[Finding]:
    """Warn of each finding once, at its line; the findings without duplicates, cut to length."""
    reported = list(dict.fromkeys(map(cut, findings)))
    for finding in reported:
        source = finding.source
        if "docstring of" not in source:
            source = os.path.normpath(os.path.join(srcdir, source))
        logger.warning(
            "%s",
            finding.message,
            location=f"{on_one_line(source)}:{finding.line}",
            type=family,
            subtype=finding.kind,
        )
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

    def __init__(self, session: BuildSession, targets: PathTargets, max_constants: int) -> None:
        self.session = session
        self.targets = targets
        self.max_constants = max_constants
        self._findings: list[Finding] = []
        self._wide: dict[_Cause, list[int]] = {}  # index of the finding, number of other blocks

    def of(self, directives: Mapping[str, list[DirectiveRecord]]) -> list[Finding]:
        """The findings about the blocks of ``directives``, notes and options included."""
        self._findings, self._wide = [], {}
        for page in directives.values():
            for directive in page:
                self._findings.extend(directive.findings)
                self._errors(directive)
                self._findings.extend(self.targets.lost(directive))
                self._findings.extend(self._constants(directive))
        for index, others in self._wide.values():
            if others:
                more = f" ({others} more block{'s' * (others != 1)} for the same reason)"
                finding = self._findings[index]
                self._findings[index] = finding._replace(message=finding.message + more)
        return self._findings

    def _errors(self, directive: DirectiveRecord) -> None:
        alike: dict[_Cause, list[Block]] = {}
        base_matters = self._base_matters(directive)
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
                self._error(directive, block, outcome.error, alike)
        for blocks in alike.values():
            self._findings.append(self._shared_error(directive, blocks))

    def _error(
        self,
        directive: DirectiveRecord,
        block: Block,
        error: TraceError,
        alike: dict[_Cause, list[Block]],
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
            finding = Finding(_subtype(error), describe(error), directive.source, directive.line)
            self._findings.append(finding)

    def _shared_error(self, directive: DirectiveRecord, blocks: list[Block]) -> Finding:
        from ...tracing.result import describe

        first, *others = blocks
        outcome = self.session.outcome(first)
        assert outcome is not None and outcome.error is not None
        text = f"{first.name}: {describe(outcome.error)}"
        if others:
            text += f" (and so for {', '.join(block.name for block in others)})"
        line = _line(directive, first, outcome.error)
        return Finding(_subtype(outcome.error), text, directive.source, line)

    def _base_matters(self, directive: DirectiveRecord) -> bool:
        """Whether a failed base is a fault: not if it is hidden and its variants can be traced.

        (A function that uses an axis name traces only under the transform that binds it.)
        """
        base, *variants = directive.blocks
        if not directive.tolerates(base):
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

#: Characters of a sentence and of its expression that a message repeats.
_ECHO: Final = 200
_NAMES: Final = {
    "claim": "claim",
    "val": "value",
    "eqn": "equation",
    "ref": "block",
    "when": "condition",
    "prim": "primitive",
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

        Statements in an omitted part are not judged.
        """
        for statement in self.statements.get(page, ()):
            if all(self.is_kept(page, condition) for condition in statement.when):
                yield statement, None if statement.problem else self.verdicts.of(page, statement)

    def is_kept(self, page: str, condition: str) -> bool:
        """Whether a part under a condition is shown, as it is if the condition can't be judged."""
        if self.session.mode == "skip" or not condition:
            return True
        return self.verdicts.of(page, Statement("when", condition, "", "", 0)).state != FALSE

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
            kind = "claim" if statement.role == "claim" else "path"
            return Finding(
                kind,
                # A directive names itself in its messages; a role is named here.
                statement.problem
                if statement.role == "when"
                else f"jaxpr:{statement.role}: {statement.problem}",
                statement.source,
                statement.line,
            )
        message = ""
        if verdict.state == FALSE and statement.role == "claim":
            words = f"claim {clipped(statement.words, _ECHO)!r}" if statement.words else "claim"
            version = self._version(page, statement)
            message = (
                f"{words} is false{version}: {verdict.text} [{echo(statement.expression, _ECHO)}]"
            )
        elif verdict.state == WRONG:
            name = _NAMES.get(statement.role, statement.role)
            message = f"{name} {clipped(statement.expression, _ECHO)!r}: {verdict.text}"
        elif verdict.state == TRUE and statement.role in ("ref", "eqn"):
            message = self._hidden(page, statement, verdict)
        kind = verdict.kind if statement.role == "claim" else "path"
        return Finding(kind, message, statement.source, statement.line) if message else None

    def _version(self, page: str, statement: Statement) -> str:
        """The version on which a claim is false; empty if its programs were pasted."""
        if self.verdicts.is_pasted(page, statement):
            return ""
        jax = self.verdicts.versions.get("jax", "")
        return f" on JAX {jax}" if jax else ""

    def _hidden(self, page: str, statement: Statement, verdict: Verdict) -> str:
        target = self.verdicts.target(page, verdict)
        if target is None or target.block.is_shown:
            return ""
        link = f"{_NAMES[statement.role]} {clipped(statement.expression, _ECHO)!r}"
        return f"{link}: `{verdict.block}` is hidden by base: hide, so there is nothing to link to"

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
                is_shown, start = str(target.block.is_shown), str(verdict.start)
                yield target.page, target.block.identity, is_shown, start, program
