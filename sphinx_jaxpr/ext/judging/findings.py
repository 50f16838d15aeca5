"""What to tell the author, from the outcomes of all pages, at every build."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sphinx.util import logging

from ...program.text import clipped, message, on_one_line
from ...program.text import words as echo
from ...tracing import outcome
from ...tracing.files import digest
from ...tracing.grammar import nearest, shorten
from ...tracing.masking import PathMasker
from ...tracing.outcome import describe, megabytes
from ..config import conf_line
from ..records import FALSE, TRUE, WRONG, Block, DirectiveRecord, Finding, Judge, Statement, Verdict
from . import path_targets
from .session import BuildSession, Outcome

if TYPE_CHECKING:
    from .session import BuildSession


# --- what to tell the author, from the outcomes of all pages, at every build

logger = logging.getLogger(__name__)

#: Longest finding, in characters: an error of JAX with its place and hint, a claim's two sides.
MAX_FINDING = 1_500

_SUBTYPES = {"option": "option", "timeout": "timeout", "raises": "raises", "lock": "lock"}
#: Failures of a whole module or of the worker: told once, with a count.
_WIDE = ("import", "worker")


#: Where an error comes from: errors of one cause are one finding.
_Cause = tuple[Any, ...]


def findings(session: BuildSession, directives: dict[str, list[DirectiveRecord]]) -> list[Finding]:
    """All findings about the blocks of ``directives``, in the order of the pages."""
    found: list[Finding] = []
    wide: dict[_Cause, list[int]] = {}  # place in ``found``, number of other blocks
    for page in directives.values():
        for directive in page:
            found.extend(directive.findings)
            found.extend(_of_directive(session, directive, wide, len(found)))
    found.extend(_of_modules(session, directives))
    found.extend(_of_glossary(session, directives))
    for place, others in wide.values():
        if others:
            more = f" ({others} more block{'s' * (others != 1)} for the same reason)"
            found[place] = replace(found[place], message=found[place].message + more)
    return found


def _of_modules(
    session: BuildSession, directives: dict[str, list[DirectiveRecord]]
) -> list[Finding]:
    """Modules that pages name and that several import roots have, each at its first block."""
    named: dict[str, Finding] = {}
    if session.mode != "trace":
        return []
    for directive in (directive for page in directives.values() for directive in page):
        for request in (block.request for block in directive.blocks if not block.pasted):
            for module in request.modules if request else ():
                if module not in named:
                    text = _ambiguity(session.paths, module)
                    named[module] = Finding("option", text, directive.source, directive.line)
    return [finding for finding in named.values() if finding.message]


def _ambiguity(paths: PathMasker, module: str) -> str:
    """Between which files an import of a module chooses, ``""`` where there is one at most."""
    files = paths.places(module)
    if len(files) < 2:
        return ""
    first, *others = (paths.stored(file) for file in files)
    name = paths.other_name(files[1])
    instead = f"; name the other one {name!r}" if name else ""
    hidden = f"{first} is traced, {' and '.join(others)} hidden"
    return f"the module {module!r} is in {len(files)} import roots: {hidden}{instead}"


def _of_glossary(
    session: BuildSession, directives: dict[str, list[DirectiveRecord]]
) -> list[Finding]:
    """What ``jaxpr_glossary`` names and nobody knows: terms, and primitives."""
    meanings = session.meanings
    if not meanings.terms_of or session.mode == "skip":
        return []
    blocks = [
        block for page in directives.values() for directive in page for block in directive.blocks
    ]
    outcomes = [session.outcome(block) for block in blocks]
    met = {name for one in outcomes if one and not one.error for name in one.seen.names}
    known = {*meanings.glossary.known(), *met}
    messages = []
    for name, term in meanings.terms_of.items():
        if term.lower() not in meanings.terms:
            near = nearest(term.lower(), meanings.terms)
            messages.append(f"no glossary of this project has the term {shorten(term)}{near}")
        if name not in known and meanings.glossary.entry(name) is None:
            near = nearest(name, sorted(known))
            messages.append(
                f"{shorten(name)} is not a primitive that JAX's jaxprs or these pages have{near}"
            )
    file, line = conf_line("jaxpr_glossary", session.settings.confdir)
    return [Finding("glossary", f"jaxpr_glossary: {message}", file, line) for message in messages]


def report(found: list[Finding], srcdir: str, family: str = "jaxpr") -> list[Finding]:
    """Warn, each finding once at its place; what was told."""
    short = (replace(one, message=message(one.message, MAX_FINDING)) for one in found)
    told = list(dict.fromkeys(short))
    for finding in told:
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
    return told


def _subtype(kind: str) -> str:
    return _SUBTYPES.get(kind, "trace")


def _cause(error: dict[str, Any]) -> _Cause:
    """The raising line of user code where there is one, else the message."""
    frames = error.get("frames")
    where = (frames[-1]["file"], frames[-1]["line"]) if frames else error["message"]
    return error["kind"], error["type"], where, error.get("option")


def _line(directive: DirectiveRecord, block: Block, error: dict[str, Any]) -> int:
    """The line of the option that is at fault, or of the directive."""
    option = error.get("option")
    if option == "transforms" or error["kind"] == "lock":
        return block.line
    return directive.line_of(option or "")


def _of_directive(
    session: BuildSession, directive: DirectiveRecord, wide: dict[_Cause, list[int]], offset: int
) -> list[Finding]:
    """Findings about one directive; they will stand from ``offset`` on."""
    found: list[Finding] = []
    alike: dict[_Cause, list[Block]] = {}
    base_matters = _base_matters(session, directive)
    for block in directive.blocks:
        outcome = session.outcome(block)
        if outcome is None or (not block.label and not base_matters):
            continue
        expects = block.request is not None and block.request.expects_error
        if expects and not _is_unlocked(outcome):
            if not directive.raises:  # it could not be read, which was said
                continue
            text = unmet(session, directive, block)
            if text:
                found.append(Finding("raises", text, directive.source, directive.line))
        elif outcome.error is not None:
            error = outcome.error
            cause = _cause(error)
            if error["kind"] == "option" and directive.findings:
                continue  # an option that was not understood is missing now
            if error["kind"] not in _WIDE and not error.get("whole_module"):
                alike.setdefault(cause, []).append(block)
            elif cause in wide:
                wide[cause][1] += 1
            else:
                wide[cause] = [offset + len(found), 0]
                subtype = _subtype(error["kind"])
                found.append(Finding(subtype, describe(error), directive.source, directive.line))
    found.extend(_of_cause(session, directive, blocks) for blocks in alike.values())
    paths = [
        *path_targets.note_targets(session, directive),
        *path_targets.elided_targets(session, directive),
    ]
    found.extend(path_targets.findings(paths))
    found.extend(_constants(session, directive))
    return found


def _is_unlocked(outcome: Outcome) -> bool:
    """Whether a block has nothing in the lock, so that nothing is known of its error."""
    return outcome.error is not None and outcome.error["kind"] == "lock"


def _of_cause(session: BuildSession, directive: DirectiveRecord, blocks: list[Block]) -> Finding:
    first, *others = blocks
    outcome = session.outcome(first)
    assert outcome is not None and outcome.error is not None
    text = f"{first.name}: {describe(outcome.error)}"
    if others:
        text += f" (and so for {', '.join(block.name for block in others)})"
    line = _line(directive, first, outcome.error)
    return Finding(_subtype(outcome.error["kind"]), text, directive.source, line)


def _base_matters(session: BuildSession, directive: DirectiveRecord) -> bool:
    """A hidden base that can't be traced alone is no fault where its variants can.

    (A function that uses an axis name traces only under the transform that binds it.)
    """
    base, *variants = directive.blocks
    if not directive.tolerates(base):
        return True
    return all((o := session.outcome(block)) is None or o.error is not None for block in variants)


def unmet(session: BuildSession, directive: DirectiveRecord, block: Block) -> str:
    """How a block differs from the error that is expected of it, or ``""``."""
    known = session.outcome(block)
    error = (known and known.error) or (session.result(block) or {}).get("error")
    found = outcome.unmet(directive.raises, error)
    return f"{block.name}: {found}" if found else ""


def _constants(session: BuildSession, directive: DirectiveRecord) -> list[Finding]:
    limit = session.settings.max_constants
    for block in directive.blocks:
        outcome = session.outcome(block)
        total = outcome.seen.captured if outcome else 0
        if total > limit:
            sizes = (session.result(block) or {}).get("constants", [])
            listed = ", ".join(f"{kind} ({megabytes(size)})" for kind, size in sizes[:5])
            return [
                Finding(
                    "trace",
                    f"{block.name}: {megabytes(total)} captured: {listed}; pass large arrays as"
                    f" arguments, or raise jaxpr_max_constants ({limit})",
                    directive.source,
                    directive.line,
                )
            ]
    return []


# --- judges the quotes of all pages, and says what a page shows of them

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
    """The quotes that a build shows, by page."""

    def __init__(self, session: BuildSession, statements: Mapping[str, list[Statement]]) -> None:
        self.session = session
        self.verdicts: Judge = session.verdicts
        self.statements = {page: list(found) for page, found in sorted(statements.items())}

    def judged(self, page: str) -> Iterator[tuple[Statement, Verdict | None]]:
        """The quotes of a page that count, each with its verdict; ``None`` where it has none.

        What stands in a part that is left out is not judged.
        """
        for statement in self.statements.get(page, ()):
            if all(self.is_kept(page, condition) for condition in statement.when):
                yield statement, None if statement.problem else self.verdicts.of(page, statement)

    def is_kept(self, page: str, condition: str) -> bool:
        """Whether a part under a condition is shown: also where that can't be told."""
        if self.session.mode == "skip" or not condition:
            return True
        return self.verdicts.of(page, Statement("when", condition, "", "", 0)).state != FALSE

    def findings(self) -> list[Finding]:
        """What is false or leads nowhere, in the order of the pages."""
        return [
            found
            for page in self.statements
            for statement, verdict in self.judged(page)
            if (found := self.finding(page, statement, verdict)) is not None
        ]

    def finding(self, page: str, statement: Statement, verdict: Verdict | None) -> Finding | None:
        """What to tell of one quote, if anything."""
        if verdict is None:
            kind = "claim" if statement.what == "claim" else "path"
            return Finding(
                kind,
                f"jaxpr:{statement.what}: {statement.problem}",
                statement.source,
                statement.line,
            )
        message = ""
        if verdict.state == FALSE and statement.what == "claim":
            words = f"claim {clipped(statement.words, _ECHO)!r}" if statement.words else "claim"
            where = self._version(page, statement)
            message = (
                f"{words} is false{where}: {verdict.text} [{echo(statement.expression, _ECHO)}]"
            )
        elif verdict.state == WRONG:
            name = _NAMES.get(statement.what, statement.what)
            message = f"{name} {clipped(statement.expression, _ECHO)!r}: {verdict.text}"
        elif verdict.state == TRUE and statement.what in ("ref", "eqn"):
            message = self._hidden(page, statement, verdict)
        kind = verdict.kind if statement.what == "claim" else "path"
        return Finding(kind, message, statement.source, statement.line) if message else None

    def _version(self, page: str, statement: Statement) -> str:
        """On which JAX: on none, where all that is asked of stands on the page as text."""
        if self.verdicts.is_pasted(page, statement):
            return ""
        jax = self.verdicts.versions.get("jax", "")
        return f" on JAX {jax}" if jax else ""

    def _hidden(self, page: str, statement: Statement, verdict: Verdict) -> str:
        place = self.verdicts.place(page, verdict)
        if place is None or place.block.shown:
            return ""
        asked = f"{_NAMES[statement.what]} {clipped(statement.expression, _ECHO)!r}"
        return f"{asked}: `{verdict.block}` is hidden by base: hide, so there is nothing to link to"

    def digests(self) -> dict[str, str]:
        """For each page a digest of all that it shows of its quotes."""
        return {page: digest([*map(list, self._shown(page))])[:20] for page in self.statements}

    def _shown(self, page: str) -> Iterator[tuple[str, ...]]:
        for statement, verdict in self.judged(page):
            if verdict is None:
                continue
            yield statement.what, statement.expression, verdict.state, verdict.text, verdict.where
            place = self.verdicts.place(page, verdict) if verdict.block else None
            if place is not None:
                outcome = self.session.outcome(place.block)
                program = outcome.seen.program if outcome else ""
                shown = str(place.block.shown)
                yield place.page, place.block.identity, shown, str(verdict.start), program
