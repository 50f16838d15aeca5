"""``jaxpr-check``: a builder that writes no pages and says what is true of them."""

from __future__ import annotations

import contextlib
import json
import keyword
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sphinx.util import logging

from ...program.text import on_one_line, spelled_all
from ...tracing.files import write_atomically
from ...tracing.outcome import differences
from ..judging.findings import StatementChecker
from ..judging.path_targets import note_targets
from ..records import (
    FALSE,
    TRUE,
    UNJUDGED,
    WRONG,
    Block,
    DirectiveRecord,
    Finding,
    Statement,
    Verdict,
)
from .pageless import PagelessBuilder

if TYPE_CHECKING:
    from ...program.drift.compare import Drift
    from ..judging.session import BuildSession

logger = logging.getLogger(__name__)

SCHEMA: Final = 1
_TEXT: Final = "output.txt"
_JSON: Final = "output.json"
_STATES: Final = (TRUE, FALSE, WRONG, UNJUDGED)


class CheckBuilder(PagelessBuilder):
    """Reads all pages, judges them, writes ``output.txt`` and ``output.json``."""

    name = "jaxpr-check"
    epilog = "Look at output.txt or output.json in %(outdir)s for the findings."
    fresh = True  # where it records at all

    def init(self) -> None:
        """Nothing is known yet; what another build found is no word of this one."""
        for name in (_TEXT, _JSON):
            with contextlib.suppress(OSError):
                (Path(self.outdir) / name).unlink()
        self.checked: Checked | None = None
        self.drifts: dict[str, Drift] = {}

    @property
    def recorder(self) -> CheckBuilder | None:
        """For the engine: itself, where all is to be traced anew."""
        return self if self.settings.fresh else None

    def compared(
        self,
        session: BuildSession,
        directives: dict[str, list[DirectiveRecord]],
        everything: dict[str, list[DirectiveRecord]],
    ) -> list[Finding]:
        """What differs from the lock, and from what was stored before."""
        if session.mode != "trace":
            return []
        from .lock_changes import compared

        found = compared(session, directives, everything)
        self.drifts = found.drifts
        return [*found.findings, *_stale(session, directives)]

    def finish(self) -> None:
        """Write both files; the exit status is 1 where anything is false."""
        if self.checked is not None:
            session = self.checked.session
            try:
                self.checked.write(Path(self.outdir), Path(self.srcdir))
            except OSError as error:  # a full disk, a folder in a file's place
                place = session.paths.stored(str(self.outdir))
                reason = on_one_line(f"findings can't be written to {place!r}: {error.strerror}")
                logger.warning("%s", reason)
                session.app.statuscode = 1
            session.app.statuscode = session.app.statuscode or int(bool(session.findings))


def _stale(
    session: BuildSession, directives: dict[str, list[DirectiveRecord]]
) -> Iterator[Finding]:
    """Stored results that a fresh trace does not give again."""
    seen: set[str] = set()
    for directive in (directive for page in directives.values() for directive in page):
        for block in directive.blocks:
            known, now = session.stored.get(block.digest), session.outcome(block)
            if known is None or now is None or now.error or block.digest in seen:
                continue
            seen.add(block.digest)
            before, settings = known
            if before.program != now.seen.program:
                differ = differences(settings, (session.result(block) or {}).get("settings", []))
                yield Finding(
                    "trace",
                    f"{block.name}: a fresh trace gives another program than the one that was"
                    f" stored; {differ or _UNSEEN}",
                    directive.source,
                    block.line,
                )


_UNSEEN: Final = (
    "it depends on something that can't be seen (the time, the system's randomness, the network,"
    " or what another block left behind in an object of the code)"
)


@dataclass
class Checked:
    """What a build found out about its pages."""

    session: BuildSession
    directives: dict[str, list[DirectiveRecord]]
    sentences: StatementChecker
    drifts: dict[str, Drift]

    def write(self, folder: Path, srcdir: Path) -> None:
        """The two files, and a summary for the terminal."""
        data: dict[str, Any] = spelled_all(self.to_json(srcdir))
        folder.mkdir(parents=True, exist_ok=True)
        lines = [_line(found) for found in data["findings"]]
        lines += [_line({**hint, "type": "hint"}) for hint in data["hints"]]
        summary = _summary(data)
        text = "\n".join([*lines, *([""] if lines else []), *summary]) + "\n"
        write_atomically(folder / _TEXT, text)
        write_atomically(folder / _JSON, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
        for line in summary:
            logger.info("%s", line)

    def to_json(self, srcdir: Path) -> dict[str, Any]:
        """All of it as plain data; places are relative to the folder of the pages."""
        statements = [
            (page, statement, verdict)
            for page in self.sentences.statements
            for statement, verdict in self.sentences.judged(page)
        ]
        return {
            "schema": SCHEMA,
            "versions": self.sentences.verdicts.versions,
            "findings": [
                {"type": f"jaxpr.{one.kind}", **_place(one, srcdir), "message": one.message}
                for one in self.session.findings
            ],
            "hints": [
                {**_place(statement, srcdir), "message": f"{statement.expression}: {hint}"}
                for _, statement, verdict in statements
                for hint in (verdict.hints if verdict else ())
            ],
            "sentences": [
                {
                    **_place(statement, srcdir),
                    "page": page,
                    "what": statement.what,
                    "words": statement.words,
                    "expression": statement.expression,
                    "state": verdict.state if verdict else WRONG,
                    "value": verdict.text if verdict and statement.what == "val" else "",
                }
                for page, statement, verdict in statements
            ],
            "claims_of_nothing": sum(bool(v and v.is_empty) for _, _, v in statements),
            "pages": self._pages(statements),
            "blocks": dict(self._blocks(statements)),
            "lock": {name: drift.level.words for name, drift in sorted(self.drifts.items())},
        }

    def _pages(self, statements: list[tuple[str, Statement, Verdict | None]]) -> dict[str, Any]:
        """For each page how many sentences of each kind are true, false, wrong, not judged."""
        pages: dict[str, dict[str, Counter[str]]] = {}
        for page, statement, verdict in statements:
            counted = pages.setdefault(page, {}).setdefault(statement.what, Counter())
            counted[verdict.state if verdict else WRONG] += 1
        for page, found in self.directives.items():
            for one in (
                one for directive in found for one in note_targets(self.session, directive)
            ):
                state = TRUE if one.block else WRONG if one.problem else UNJUDGED
                pages.setdefault(page, {}).setdefault("note", Counter())[state] += 1
        return {
            page: {what: {s: n[s] for s in _STATES if n[s]} for what, n in sorted(kinds.items())}
            for page, kinds in sorted(pages.items())
        }

    def _blocks(
        self, statements: list[tuple[str, Statement, Verdict | None]]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """For each block its equations, and those that no sentence points at."""
        pointed: dict[tuple[str, str], set[int]] = {}
        for page, _, verdict in statements:
            where = self.sentences.verdicts.place(page, verdict) if verdict else None
            if where and verdict and verdict.start >= 0:
                identity = (where.page, where.block.identity)
                pointed.setdefault(identity, set()).add(verdict.start)
        for page, directive in ((p, g) for p, found in self.directives.items() for g in found):
            for one in note_targets(self.session, directive):
                if one.block:
                    identity = (page, one.block.identity)
                    pointed.setdefault(identity, set()).add(one.start)
            for block in directive.blocks:
                known = self._equations(block, pointed.get((page, block.identity), set()))
                if known is not None:
                    yield f"{page}#{block.identity}", {"name": block.name, **known}

    def _equations(self, block: Block, pointed: set[int]) -> dict[str, Any] | None:
        found = self.session.printed(block) if block.shown else None
        if found is None:
            return None
        seen: Counter[str] = Counter()
        silent = []
        total = 0
        for equation in found[0].walk():
            total += 1
            if equation.start not in pointed:
                silent.append(_path(equation.primitive, seen[equation.primitive]))
            seen[equation.primitive] += 1
        return {"equations": total, "pointed_at": total - len(silent), "not_mentioned": silent}


def _path(primitive: str, place: int) -> str:
    """Where an equation is, as a path that begins at its block."""
    word = primitive
    if not word.isidentifier() or keyword.iskeyword(word):
        word = f'"{word}"'
    return f".all[{word}][{place}]"


def _place(thing: Finding | Statement, srcdir: Path) -> dict[str, Any]:
    source = thing.source
    if os.path.isabs(source) and "docstring of" not in source:
        source = Path(os.path.relpath(source, srcdir)).as_posix()
    return {"source": source, "line": thing.line}


def _line(found: dict[str, Any]) -> str:
    return on_one_line(f"{found['source']}:{found['line']}: [{found['type']}] {found['message']}")


def _summary(data: dict[str, Any]) -> list[str]:
    """One page: how much was checked, of what kind, and what came of it."""
    total: dict[str, Counter[str]] = {}
    for kinds in data["pages"].values():
        for what, states in kinds.items():
            total.setdefault(what, Counter()).update(states)
    named = {
        "prim": "primitive links",
        "val": "values",
        "eqn": "equation links",
        "ref": "block links",
        "when": "conditions",
    }
    lines = [f"Checked on {', '.join(f'{k} {v}' for k, v in data['versions'].items())}:"]
    for what, states in sorted(total.items()):
        said = ", ".join(f"{states[state]} {state}" for state in _STATES if states[state])
        lines.append(f"  {named.get(what, what + 's')}: {said}")
    if "claim" in total:
        lines.append(f"  claims that hold of nothing: {data['claims_of_nothing']}")
    blocks = data["blocks"].values()
    equations = sum(block["equations"] for block in blocks)
    pointed = sum(block["pointed_at"] for block in blocks)
    lines.append(f"  blocks: {len(blocks)}; {pointed} of {equations} equations are pointed at")
    if levels := Counter(data["lock"].values()):
        lines.append(f"  lock: {', '.join(f'{n} {level}' for level, n in levels.items())}")
    count = len(data["findings"])
    lines.append(f"{count} finding{'s' * (count != 1)}." if count else "All of it is true.")
    return lines
