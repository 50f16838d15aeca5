"""The lock against what this build has traced: for the builder that checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...program.drift.compare import Drift, compare, counted
from ...program.drift.levels import Level
from ...tracing import lock
from ..records import Block, DirectiveRecord, Finding

if TYPE_CHECKING:
    from ..judging.session import BuildSession

#: Differences that one finding names.
NAMED: Final = 3
_MAKE: Final = "`sphinx-build -b jaxpr-lock`"


@dataclass
class Compared:
    """What the lock and the blocks have of one another.

    ``drifts`` has the drift of each block that has a file, by the block's name, with the
    page before it where the name holds for that alone.
    """

    findings: list[Finding] = field(default_factory=list)
    drifts: dict[str, Drift] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """How many blocks are of which level, ``""`` where there is no lock."""
        return counted(list(self.drifts.values()))


def compared(
    session: BuildSession,
    directives: Mapping[str, Iterable[DirectiveRecord]],
    everything: Mapping[str, Iterable[DirectiveRecord]],
) -> Compared:
    """Compare the results of ``directives`` with the lock, where the project has one.

    ``everything`` are all directives of the project, those too that this build hides:
    a file that none of them asks for is an orphan.
    """
    found = Compared()
    if not session.locks.exists:
        return found
    seen: set[str] = set()
    for page in directives.values():
        for directive in page:
            for block in directive.blocks:
                if block.lock not in seen and not session.from_lock(block):
                    seen.add(block.lock)
                    _block(session, directive, block, found)
    asked = {b.lock for page in everything.values() for g in page for b in g.blocks}
    for file in lock.stored(session.locks.folder):
        if file not in asked:
            damaged = session.locks.data(file) is None
            more = "it is no whole lock file either" if damaged else f"{_MAKE} removes it"
            message = f"no block asks for it; {more}"
            place = str(Path(session.locks.folder) / file)
            found.findings.append(Finding("lock", message, place, 1))
    return found


def findings(
    session: BuildSession,
    directives: Mapping[str, Iterable[DirectiveRecord]],
    everything: Mapping[str, Iterable[DirectiveRecord]],
) -> list[Finding]:
    """The findings alone."""
    return compared(session, directives, everything).findings


def _block(
    session: BuildSession, directive: DirectiveRecord, block: Block, found: Compared
) -> None:
    """Compare one block; what could not be traced is told already."""
    result = session.result(block)
    if result is None or block.request is None:
        return
    problem = session.locks.problem(block.lock, block.request)
    data = session.locks.data(block.lock)
    if problem or data is None:
        message = f"{block.name}: {problem}"
        found.findings.append(Finding("lock", message, directive.source, block.line))
        return
    drift = compare(lock.decoded(data), result)
    found.drifts[block.full_name] = drift
    if drift.level is Level.PROGRAM:
        message = f"{block.name}: {_words(block, drift, data['versions']['jax'], result)}"
        found.findings.append(Finding("drift", message, directive.source, block.line))


def _words(block: Block, drift: Drift, made: str, result: dict[str, str]) -> str:
    now = result.get("jax", "")
    versions = f"JAX {made} there, {now} here" if made != now else f"both of JAX {now}"
    named = "; ".join(difference.words(block.name) for difference in drift.highest[:NAMED])
    more = len(drift.highest) - NAMED
    rest = f"; and {more} more" if more > 0 else ""
    return f"another program than in the lock ({versions}): {named}{rest}; {_MAKE} accepts it"
