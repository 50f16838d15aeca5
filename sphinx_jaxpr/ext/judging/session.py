"""One build's results: every request looked up or traced, every page judged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.display import status_iterator

from ... import __version__
from ...program.text import on_one_line, spelled, spelled_all
from ...tracing import lock
from ...tracing.files import digest
from ...tracing.lock import LockFolder
from ...tracing.masking import PathMasker, mask
from ...tracing.needs import Needs
from ...tracing.request import Job, Limit, Request
from ...tracing.store import FAILED, Seen, Store
from ..config import ProjectSettings
from ..records import Block, DirectiveRecord, Finding, Judge, PrimitiveList
from ..values import Mode
from .meanings import Meanings
from .storage import Storage

if TYPE_CHECKING:
    from ...program.matching.match import Match
    from ...program.model import EquationFacts, Printed

# What only tracing and writing need is imported where they begin: a build in
# which nothing changed is over before it would be loaded.

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """What became of a request: a stored result under ``key``, or an error.

    ``seen`` changes with what a reader would see.
    """

    key: str
    seen: Seen
    error: dict[str, Any] | None = None


class LockedTracer(Protocol):
    """A builder that makes or compares recordings."""

    fresh: bool  # whether stored results are none

    def traces(self, session: BuildSession, block: Block) -> bool:
        """Whether a block that is ``locked`` is traced all the same."""


class BuildSession:
    """Looks requests up and traces the others; holds outcomes for the writers."""

    def __init__(self, app: Sphinx, settings: ProjectSettings) -> None:
        self.app = app
        self.settings = settings
        # Builders that make or compare recordings trace, whatever the pages come from.
        self.recorder: LockedTracer | None = getattr(app.builder, "recorder", None)
        self.mode: Mode = "trace" if self.recorder else settings.mode
        self.outcomes: dict[str, Outcome] = {}
        self.paths = PathMasker(str(app.srcdir), settings.import_roots())
        self.storage = Storage(app, settings, self.paths)
        self.traced = 0
        self.limit = Limit(settings.total_timeout)
        self._printed: dict[str, tuple[Printed, dict[int, EquationFacts]]] = {}
        self._places: dict[str, dict[int, int]] = {}
        self._matches: dict[tuple[str, str], Match] = {}
        self._tolerated: set[str] = set()  # keys of programs whose failure may be no fault
        self.meanings = Meanings(app, settings.glossary)
        self.verdicts: Judge
        self.defined: dict[str, str] = {}  # of the tree that is filled: ids of definitions
        self.explained: dict[str, str] | None = None  # those of a tree that has been filled
        #: Ids that are others where several pages are put together, by page and id.
        self.renamed: dict[tuple[str, str], str] = {}
        self.renumbered: dict[tuple[str, int], int] = {}  # lists of primitives, likewise
        self.findings: list[Finding] = []  # what was told of all pages
        #: Of requests that are traced all the same: what the stored result shows, and in
        #: which settings it was traced.
        self.stored: dict[str, tuple[Seen, list[list[str]]]] = {}
        self._locks: LockFolder | None = None
        self._names: dict[tuple[str, str], str] = {}

    # -- tracing

    def prepare(self, directives: Iterable[DirectiveRecord]) -> None:
        """Have an outcome for every block of ``directives``."""
        if self.mode == "skip":
            return
        misses: dict[bool, dict[str, Job]] = {False: {}, True: {}}
        default = self.settings.timeout
        for directive in directives:
            for block in directive.blocks:
                request = block.request
                if request is None or self._name(block) in self.outcomes:
                    continue
                if self.from_lock(block):
                    self.outcomes[self._name(block)] = self._locked(block, request)
                    continue
                key = self.storage.key(request, block.digest)
                fresh = self.recorder is not None and self.recorder.fresh
                known = self._known(key, request, directive.tolerates(block))
                if fresh and known is not None:
                    before = self.store.load(known.key) or {}
                    self.stored[block.digest] = (known.seen, before.get("settings", []))
                if known is not None and not fresh and not self.storage.anew:
                    self.outcomes[block.digest] = known
                else:
                    job = Job(key, request, directive.timeout or default)
                    if block.digest not in misses[request.x64]:
                        self._say_why(key, request, known=known is not None)
                    misses[request.x64].setdefault(block.digest, job)
                if directive.tolerates(block):
                    self._tolerated.add(key)
        for x64, jobs in misses.items():
            if jobs:
                self._trace(x64, jobs)
        self.storage.flush()
        if self._locks is not None:
            self._locks.flush()

    def _say_why(self, key: str, request: Request, *, known: bool) -> None:
        """In verbose mode: why a program is traced."""
        if self.app.verbosity:
            why = "this build uses no stored result" if known else self.storage.why(key, request)
            said = f"{_title(request)} is traced: {why or 'no result is stored'}"
            logger.verbose("%s", on_one_line(said))

    # -- the lock

    @property
    def locks(self) -> LockFolder:
        """The lock of this project, opened when first asked for."""
        if self._locks is None:
            folder = self.settings.lock_folder
            self._locks = LockFolder(folder, self.paths.stored(str(folder)), self.storage.cache)
        return self._locks

    def from_lock(self, block: Block) -> bool:
        """Whether a block comes from the lock in this build."""
        return self._name(block).startswith("lock:")

    def _name(self, block: Block) -> str:
        """What an outcome is kept under: blocks of one request share one, but for the lock."""
        if (self.mode == "trace" and not block.locked) or block.pasted is not None:
            return block.digest
        key = (block.lock, block.digest)
        if key not in self._names:
            traced = self.recorder is not None and self.recorder.traces(self, block)
            self._names[key] = block.digest if traced else f"lock:{block.lock}:{block.digest}"
        return self._names[key]

    def _locked(self, block: Block, request: Request) -> Outcome:
        found, problem = self.locks.look(block.lock, request, block.digest)
        error: dict[str, Any] = {"kind": "lock", "type": "", "mro": [], "frames": []}
        error |= {"message": problem, "whole_module": not self.locks.exists}
        return Outcome(f"lock:{block.lock}", found, error if problem else None)

    def _locked_versions(self) -> dict[str, str]:
        """The versions that made the lock; one file is as good as another."""
        for file in lock.stored(self.locks.folder):
            data = self.locks.data(file)
            if data is not None:
                return {name: text for name, text in data["versions"].items() if text}
        return {}

    # -- the store

    def _known(self, key: str, request: Request, tolerated: bool) -> Outcome | None:
        """What the store has: a result, or a failure that the page does not mind."""
        found = self.store.fresh(key, raises=request.expects_error)
        if found is not None:
            return Outcome(key, found)
        failed = key + FAILED
        found = self.store.fresh(failed, raises=True) if tolerated else None
        entry = self.store.load(failed) if found is not None else None
        return Outcome(failed, found, entry["error"]) if found and entry else None

    @property
    def store(self) -> Store:
        """The results of this project."""
        return self.storage.store

    def _trace(self, x64: bool, jobs: dict[str, Job]) -> None:
        from ...tracing.client import backwards, run

        setup = self.settings.worker(x64)
        by_job = {job.key: request_digest for request_digest, job in jobs.items()}
        ordered = list(jobs.values())
        if self.stored:  # another order than the one that made them, or it might go unnoticed
            ordered = backwards(ordered)
        progress = status_iterator(
            run(setup, ordered, self.limit),
            "tracing jaxprs... ",
            "darkgreen",
            len(jobs),
            self.app.verbosity,
            stringify_func=lambda item: _title(item[0].request),
        )
        for job, outcome in progress:
            self.traced += 1
            self.outcomes[by_job[job.key]] = self._keep(job, outcome)

    def _keep(self, job: Job, outcome: dict[str, Any]) -> Outcome:
        """Store a result at once; an expected error is a result, any other is none."""
        error = outcome.get("error")
        if error is not None:
            error = self._cleaned(error)
        expected = job.request.expects_error and error is not None and error["kind"] == "trace"
        if error is None or expected:
            known = outcome.get("known", {})
            result = outcome.get("result") or {**known, "error": _shown(error or {})}
            result = self.paths.result(result)
            needs = Needs.from_json(outcome.get("needs", {}))
            made = self.storage.made(job.request.x64)
            return Outcome(job.key, self.store.save(job.key, job.request, result, needs, made))
        if job.key in self._tolerated and error["kind"] == "trace" and "needs" in outcome:
            # Or every build would try again what nobody misses.
            needs = Needs.from_json(outcome["needs"])
            made = self.storage.made(job.request.x64)
            self.store.save(job.key + FAILED, job.request, {"error": error}, needs, made)
        return Outcome(job.key, Seen(digest(_shown(error)), ""), error)

    def _cleaned(self, error: dict[str, Any]) -> dict[str, Any]:
        trace = error.get("traceback") or error.get("output") or ""
        searched = [self.paths.stored(root) for root in error.get("searched", ())]
        hidden = self.paths.error({**error, "traceback": "", "output": ""})
        # Some of it is the client's own: what the worker printed, why it did not start.
        cleaned: dict[str, Any] = spelled_all({**hidden, "searched": searched})
        if trace:
            file = self.storage.log(mask(self.paths.hide(spelled(trace))))
            cleaned |= {"log": file} if file else {}
        return cleaned

    # -- what the writers ask

    def outcome(self, block: Block) -> Outcome | None:
        """The outcome of a block, if its request was understood and traced."""
        if block.pasted is not None:  # as if it had been
            return Outcome(block.digest, Seen(block.digest, ""))
        return self.outcomes.get(self._name(block)) if block.request else None

    def result(self, block: Block) -> dict[str, Any] | None:
        """The result of a block; ``None`` where there is an error instead."""
        if block.pasted is not None:
            return {"text": block.pasted.text, "facts": {}}
        outcome = self.outcome(block)
        if outcome is None or outcome.error is not None or block.request is None:
            return None
        if outcome.key.startswith("lock:"):
            return self.locks.result(block.lock)
        found = self.store.load(outcome.key)
        if found is None:  # its file was damaged after it was looked up
            job = Job(outcome.key, block.request, self.settings.timeout)
            self._trace(block.request.x64, {block.digest: job})
            again = self.outcomes[block.digest]
            return self.store.load(again.key) if again.error is None else None
        return found

    def printed(self, block: Block) -> tuple[Printed, dict[int, EquationFacts]] | None:
        """The program of a block, parsed, with its facts."""
        result = self.result(block)
        if result is None or "text" not in result:
            return None
        name = self._name(block)
        if name not in self._printed:
            from ...program.facts import aligned
            from ...program.parser.parser import parse

            printed = parse(result["text"])
            known = aligned(printed, result["facts"])
            self._printed[name] = (printed, known.equations)
            self._places[name] = known.programs
        return self._printed[name]

    def places(self, block: Block) -> Mapping[int, int]:
        """The places of a block's programs in its facts, by their ``start``."""
        return self._places.get(self._name(block), {}) if self.printed(block) else {}

    def matched(self, base: Block, variant: Block) -> Match:
        """How a variant's equations are those of its base; empty where one is missing."""
        from ...program.matching.match import Match, match

        one, two = self.printed(base), self.printed(variant)
        if one is None or two is None or base is variant:
            return Match()
        pair = (self._name(base), self._name(variant))
        if pair not in self._matches:
            self._matches[pair] = match(one[0], two[0])
        return self._matches[pair]

    def versions(self) -> dict[str, str]:
        """The versions that an expression may ask for, as far as they are known."""
        if self.mode == "locked":
            return self._locked_versions()
        installed = self.store.installed
        found = {name: installed.version(name) for name in ("jax", "jaxlib")}
        found["python"] = installed.python_version
        return {name: version for name, version in found.items() if version}

    # -- pages that have to be written again

    def page_digests(
        self,
        directives: dict[str, list[DirectiveRecord]],
        lists: dict[str, list[PrimitiveList]],
        sentences: dict[str, str],
    ) -> dict[str, str]:
        """For each page a digest of all that its blocks, sentences and lists show."""
        pages = {}
        for docname, found in directives.items():
            parts = [self.mode, __version__, self.meanings.digest]
            for directive in found:
                for block in directive.blocks:
                    outcome = self.outcome(block)
                    parts.append(outcome.seen.program if outcome else block.problem)
                    if outcome and directive.with_source:
                        parts.append(outcome.seen.source)
            pages[docname] = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]
        blocks = [
            (docname, block.name, block.identity, block.shown)
            for docname, found in directives.items()
            for directive in found
            for block in directive.blocks
        ]
        everything = digest([pages, blocks])
        for docname, shown in sentences.items():
            pages[docname] = f"{pages.get(docname, '')} {shown}"
        for docname, found_lists in lists.items():
            if any(one.scope == "project" for one in found_lists):
                pages[docname] = f"{pages.get(docname, '')} {everything}"
        return pages


def _shown(error: dict[str, Any]) -> dict[str, Any]:
    """What a page shows of an error, and what decides whether it was expected."""
    return {key: error[key] for key in ("kind", "type", "mro", "message", "frames")}


def _title(request: Request) -> str:
    steps = " | ".join(step.name for step in request.steps)
    return f"{request.target} {steps}".rstrip()
