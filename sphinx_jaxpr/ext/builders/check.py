"""``jaxpr-check``: a builder that writes no pages but reports what is wrong with them."""

from __future__ import annotations

import contextlib
import json
import keyword
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sphinx.util import logging

from ...program.text import CELL, cell_words, in_cell, on_one_line, spelled_all
from ...tracing.files import write_atomically
from ...tracing.result import differences
from ..judging.findings import position, relative
from ..judging.names.appearances import FigureOnPage
from ..judging.session import BuildSession, TracePolicy
from ..records import (
    STATES,
    TRUE,
    UNJUDGED,
    WRONG,
    DirectiveRecord,
    Finding,
    NamedLine,
    Statement,
    Verdict,
)
from .pageless import Judged, PagelessBuilder
from .review import Row, Words, as_text, merged, review, sides_of

if TYPE_CHECKING:
    from ...block import TracedBlock
    from ...program.drift.compare import Drift
    from ...program.query.sides import Side

logger = logging.getLogger(__name__)

SCHEMA: Final = 1
_TEXT: Final = "output.txt"
_JSON: Final = "output.json"
_REVIEW: Final = "review.md"
#: Roles whose words are reviewed beside what is checked for them.
_REVIEWED: Final = ("claim", "val", "var", "when", "eqn")


class CheckBuilder(PagelessBuilder):
    """Reads all pages, judges them, writes ``output.txt``, ``output.json`` and ``review.md``."""

    name = "jaxpr-check"
    epilog = (
        "Look at output.txt or output.json in %(outdir)s for the findings, at review.md for what"
        " is checked."
    )

    def init(self) -> None:
        """Remove the files of an earlier build, whose findings may be gone."""
        for name in (_TEXT, _JSON, _REVIEW):
            with contextlib.suppress(OSError):
                (Path(self.outdir) / name).unlink()
        self.drifts: dict[str, Drift] = {}

    @property
    def policy(self) -> TracePolicy:
        """Judge pages as readers see them, from the lock too, unless all is traced afresh."""
        fresh = self.settings.fresh
        return TracePolicy(records=fresh, fresh=fresh, judges_afresh=True)

    def compared(
        self,
        session: BuildSession,
        directives: Mapping[str, list[DirectiveRecord]],
        declared: Mapping[str, list[DirectiveRecord]],
    ) -> list[Finding]:
        """What differs from the lock, and from what was stored before."""
        if session.mode != "trace":
            return []
        from .lock_changes import compare_with_lock

        comparison = compare_with_lock(session, directives, declared)
        self.drifts = comparison.drifts
        return [*comparison.findings, *_changed_programs(session, directives)]

    def finish(self) -> None:
        """Write the files; the exit status is 1 where anything is false."""
        if self.judged is None:
            return
        if self.judged.findings:
            self.fail()
        try:
            Checked(self.judged, self.drifts).write(Path(self.outdir), Path(self.srcdir))
        except OSError as error:  # a full disk, a folder in a file's place
            folder = self.judged.session.masker.stored(str(self.outdir))
            reason = on_one_line(f"findings can't be written to {folder!r}: {error.strerror}")
            logger.warning("%s", reason)
            self.fail()


def _changed_programs(
    session: BuildSession, directives: Mapping[str, list[DirectiveRecord]]
) -> Iterator[Finding]:
    """Findings about stored programs that a fresh trace does not reproduce."""
    seen: set[str] = set()
    for directive in (directive for page in directives.values() for directive in page):
        for block in directive.blocks:
            before, now = session.replaced.get(block.digest), session.outcome(block)
            if before is None or now is None or now.error or block.digest in seen:
                continue
            seen.add(block.digest)
            if before.seen.program != now.seen.program:
                result = session.traced(directive, block).result
                settings_now = result.settings if result is not None else ()
                reason = differences(before.settings, settings_now) or _UNSEEN
                yield Finding(
                    "trace",
                    f"{block.name}: a fresh trace differs from the stored program; {reason}",
                    directive.source,
                    block.line,
                )


_UNSEEN: Final = (
    "it depends on something that a build can't see (the time, the system's randomness, the"
    " network, or what another block left behind in an object of the code)"
)


@dataclass(frozen=True)
class Checked:
    """The report of ``jaxpr-check``."""

    judged: Judged
    drifts: Mapping[str, Drift]

    def write(self, folder: Path, srcdir: Path) -> None:
        """Write the files; print a summary on the terminal."""
        statements = self._statements()
        data: dict[str, Any] = spelled_all(self.to_json(statements, srcdir))
        folder.mkdir(parents=True, exist_ok=True)
        lines = [_line(finding) for finding in data["findings"]]
        lines += [_line({**hint, "type": "hint"}) for hint in data["hints"]]
        summary = _summary(data)
        text = "\n".join([*lines, *([""] if lines else []), *summary]) + "\n"
        write_atomically(folder / _TEXT, text)
        write_atomically(folder / _JSON, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
        listed = review(_rows(statements, srcdir), data["versions"])
        write_atomically(folder / _REVIEW, listed)
        for line in summary:
            logger.info("%s", line)

    def _statements(self) -> list[_Judged]:
        """All statements, in the order of the pages."""
        checker = self.judged.checker
        return [
            _Judged(page, statement, verdict, sides, checker.lets_of(page, statement))
            for page in checker.statements
            for statement, verdict in checker.judged(page)
            for sides in [sides_of(checker.verdicts, page, statement, verdict) if verdict else ()]
        ]

    def to_json(self, statements: list[_Judged], srcdir: Path) -> dict[str, Any]:
        """The report as plain data; files are relative to the folder of the pages."""
        checker = self.judged.checker
        return {
            "schema": SCHEMA,
            "versions": checker.verdicts.versions,
            "findings": [
                {
                    "type": f"jaxpr.{finding.kind}",
                    **_origin(finding, srcdir),
                    "message": finding.message,
                }
                for finding in self.judged.findings
            ],
            "hints": [
                {**_origin(statement, srcdir), "message": f"{statement.expression}: {hint}"}
                for _, statement, verdict, *_ in statements
                for hint in (verdict.hints if verdict else ())
            ]
            + [
                {**_origin(hint, srcdir), "message": hint.message}
                for directives in self.judged.directives.values()
                for directive in directives
                for hint in directive.hints
            ],
            "sentences": [
                {
                    **_origin(statement, srcdir),
                    "page": page,
                    "what": statement.role,
                    "words": statement.words,
                    "expression": statement.expression,
                    "state": verdict.state if verdict else WRONG,
                    "value": as_text(sides, statement.expression),
                }
                for page, statement, verdict, sides, _ in statements
            ],
            "claims_of_nothing": sum(
                bool(each.verdict and each.verdict.is_empty) for each in statements
            ),
            "pages": self._pages(statements),
            "blocks": {block: asdict(row) for block, row in self._blocks(statements)},
            "lock": {name: drift.level.words for name, drift in sorted(self.drifts.items())},
        }

    def _pages(self, statements: list[_Judged]) -> dict[str, dict[str, dict[str, int]]]:
        """How many sentences of each kind are true, false, wrong or not judged, by page."""
        pages: dict[str, dict[str, Counter[str]]] = {}
        for page, statement, verdict, *_ in statements:
            counts = pages.setdefault(page, {}).setdefault(statement.role, Counter())
            counts[verdict.state if verdict else WRONG] += 1
        for page, directives in self.judged.build.appearances.pages.items():
            for directive in directives:
                for note in self.judged.build.targets.notes(directive):
                    state = TRUE if note.block else WRONG if note.problem else UNJUDGED
                    pages.setdefault(page, {}).setdefault("note", Counter())[state] += 1
        return {
            page: {
                kind: {state: counts[state] for state in STATES if counts[state]}
                for kind, counts in sorted(kinds.items())
            }
            for page, kinds in sorted(pages.items())
        }

    def _blocks(self, statements: list[_Judged]) -> Iterator[tuple[str, _Coverage]]:
        """The equations of each block, and those that no sentence points at."""
        pointed_at: dict[tuple[str, str], set[int]] = {}
        for page, _, verdict, *_ in statements:
            target = self.judged.checker.verdicts.target(page, verdict) if verdict else None
            if target and verdict and verdict.start >= 0:
                key = (target.page, target.block.identity)
                pointed_at.setdefault(key, set()).add(verdict.start)
        appearances = self.judged.build.appearances
        for page, directives in appearances.pages.items():
            for directive in directives:
                for note in self.judged.build.targets.notes(directive):
                    if note.block and note.block.is_shown:
                        target = appearances.declared(FigureOnPage(page, directive, note.block))
                        if target is not None:
                            key = (target.page, target.block.identity)
                            pointed_at.setdefault(key, set()).add(note.start)
        for figure in appearances.once():
            target = appearances.declared(figure)
            traced = self.judged.session.traced(figure.directive, figure.block)
            if target is not None and traced.has_program:
                starts = pointed_at.get((target.page, target.block.identity), set())
                yield f"{figure.page}#{figure.block.identity}", _coverage(traced, starts)


class _Judged(NamedTuple):
    """A statement with its page, its verdict, ``None`` where its form is wrong, values, lets."""

    page: str
    statement: Statement
    verdict: Verdict | None
    sides: tuple[Side, ...]
    lets: list[NamedLine]


def _rows(statements: list[_Judged], srcdir: Path) -> dict[str, list[Row]]:
    """The rows of ``review.md``, by page."""
    pages: dict[str, list[Row]] = {}
    for page, statement, verdict, sides, lets in statements:
        is_bare = statement.role in ("eqn", "var") and statement.words == statement.expression
        if statement.role in _REVIEWED and not is_bare:  # a bare path says itself
            row = _row(statement, verdict, sides, srcdir)
            where = tuple(f"{let.name} = {let.expression}" for let in lets)
            pages.setdefault(page, []).append(row._replace(lets=where))
    return {page: merged(rows) for page, rows in pages.items()}


def _row(
    statement: Statement, verdict: Verdict | None, sides: tuple[Side, ...], srcdir: Path
) -> Row:
    origin = _origin(statement, srcdir)
    words = statement.words if statement.words != statement.expression else ""
    state = verdict.state if verdict else WRONG
    message = statement.problem
    if verdict is not None and state != TRUE:
        message = verdict.text
    place = f"{origin['source']}:{origin['line']}"
    checked_at = position(statement.at, str(srcdir)) if statement.at[0] else ""
    said = (Words(words, place),)
    return Row(statement.role, statement.expression, state, said, sides, message, checked_at)


@dataclass(frozen=True)
class _Coverage:
    """How many equations of a block some sentence points at, and the paths of all others."""

    name: str
    equations: int
    pointed_at: int
    not_mentioned: list[str]


def _coverage(block: TracedBlock, pointed_at: set[int]) -> _Coverage:
    seen: Counter[str] = Counter()
    silent = []
    total = 0
    for equation in block.printed.walk():
        total += 1
        if equation.start not in pointed_at:
            silent.append(_path(equation.primitive, seen[equation.primitive]))
        seen[equation.primitive] += 1
    return _Coverage(block.name, total, total - len(silent), silent)


def _path(primitive: str, index: int) -> str:
    """A path to an equation, beginning at its block."""
    word = primitive
    if not word.isidentifier() or keyword.iskeyword(word):
        word = f'"{word}"'
    return f".all[{word}][{index}]"


def _origin(record: Finding | Statement, srcdir: Path) -> dict[str, Any]:
    source = relative(record.source, str(srcdir))
    if not in_cell(source, record.line):
        return {"source": source, "line": record.line}
    from ..reading.notebooks.lines import row  # few projects have notebooks

    line = row(os.path.join(srcdir, source), record.line)
    cell, inside = divmod(record.line, CELL)
    return {"source": source, "line": line, "cell": cell, "cell_line": inside}


def _line(row: dict[str, Any]) -> str:
    cell = f"{cell_words(CELL * row['cell'] + row['cell_line'])}: " if "cell" in row else ""
    return on_one_line(f"{row['source']}:{row['line']}: [{row['type']}] {cell}{row['message']}")


def _summary(data: dict[str, Any]) -> list[str]:
    """One page: how much was checked, of what kind, and what came of it."""
    total: dict[str, Counter[str]] = {}
    for kinds in data["pages"].values():
        for kind, states in kinds.items():
            total.setdefault(kind, Counter()).update(states)
    names = {
        "prim": "primitive links",
        "val": "values",
        "var": "letters",
        "eqn": "equation links",
        "ref": "block links",
        "when": "conditions",
    }
    lines = [f"Checked on {', '.join(f'{k} {v}' for k, v in data['versions'].items())}:"]
    for kind, states in sorted(total.items()):
        counts = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
        lines.append(f"  {names.get(kind, kind + 's')}: {counts}")
    if "claim" in total:
        lines.append(f"  vacuously true claims: {data['claims_of_nothing']}")
    blocks = data["blocks"].values()
    equations = sum(block["equations"] for block in blocks)
    pointed = sum(block["pointed_at"] for block in blocks)
    lines.append(f"  blocks: {len(blocks)}; {pointed} of {equations} equations are pointed at")
    if levels := Counter(data["lock"].values()):
        lines.append(f"  lock: {', '.join(f'{n} {level}' for level, n in levels.items())}")
    count = len(data["findings"])
    lines.append(f"{count} finding{'s' * (count != 1)}." if count else "All checks passed.")
    return lines
