"""One build's traces: looks each request up or traces it, and keeps its outcome for all phases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from sphinx.util import logging

from ...program.text import on_one_line, spelled
from ...tracing.files import digest
from ...tracing.jobs import PAGE, CodeToRun, Job, Limit
from ...tracing.masking import PathMasker, mask
from ...tracing.store import FAILED, Seen, Store
from ..config import ProjectSettings
from ..records import Asked, Block, CodeSpan, DirectiveRecord
from ..values import Mode
from .recent import BlockKey, RecentBlocks
from .storage import Storage

if TYPE_CHECKING:
    from ...block import TracedBlock
    from ...tracing.client import Client
    from ...tracing.jobs import Setup
    from ...tracing.lock import LockFolder
    from ...tracing.request import Request
    from ...tracing.result import Pairs, Reply, Result, TraceError
    from .page_lines import PageLines

# Modules that only tracing and writing need are imported where these begin, so
# that a build without changes never loads them.

logger = logging.getLogger(__name__)


class Outcome(NamedTuple):
    """The outcome of a request: a stored result under ``key``, or an error.

    ``seen`` changes with what a reader would see.  ``lock_file`` is the file of the lock
    that the result comes from, ``""`` if it was traced.
    """

    key: str
    seen: Seen
    error: TraceError | None = None
    lock_file: str = ""


def _never(block: Block, locks: LockFolder) -> bool:
    return False


class TracePolicy(NamedTuple):
    """How a builder wants blocks traced and judged.

    ``records``: blocks are traced, whatever ``jaxpr_mode`` says; those that are ``locked``
    only if it ``forces`` them.  ``fresh``: stored results don't count.  ``judges_afresh``:
    verdicts of earlier builds don't count.
    """

    records: bool = False
    fresh: bool = False
    judges_afresh: bool = False
    forces: Callable[[Block, LockFolder], bool] = _never


#: The policy of builders that write pages.
PAGES: Final = TracePolicy()


class Replaced(NamedTuple):
    """A stored result that this build traces again: what it shows, JAX's settings then."""

    seen: Seen
    settings: Pairs


class BuildSession:
    """Looks requests up and traces the others; holds the outcomes.

    Only :meth:`begin`, :meth:`prepare` and :meth:`mend` start a worker.
    """

    def __init__(
        self,
        settings: ProjectSettings,
        masker: PathMasker,
        storage: Storage,
        policy: TracePolicy,
        verbosity: int = 0,
        code_of: Callable[[str], CodeToRun] | None = None,
    ) -> None:
        self.settings = settings
        self.masker = masker
        self.storage = storage
        self.policy = policy
        self.verbosity = verbosity
        self._code_of = code_of  # by the digest in a request
        #: Builders that make or compare recordings trace, whatever the pages come from.
        self.mode: Mode = "trace" if policy.records else settings.mode
        #: Results that this build replaces, by the digest of the request.
        self.replaced: dict[str, Replaced] = {}
        self._limit = Limit(settings.total_timeout)
        self._outcomes: dict[str, Outcome] = {}
        self._tolerated: set[str] = set()  # keys of programs whose failure is tolerated
        #: Works for a few milliseconds while no reply is there; whether more is left to do.
        self.idle: Callable[[], bool] = lambda: False
        self._early: Client | None = None  # a worker that has begun
        self._locks: LockFolder | None = None
        self._sources: dict[tuple[str, str], str] = {}
        self._blocks = RecentBlocks()
        self._tracing: set[str] = set()  # digests of the requests that this build traces

    # -- tracing

    def begin(self, directives: Iterable[DirectiveRecord]) -> None:
        """Start a worker if any of these must be traced; JAX starts while pages are read.

        Nothing is traced yet: a module may still be written while pages are read.
        """
        if self.mode == "skip" or self._early is not None:
            return
        for directive in directives:
            for block in directive.blocks:
                asked = block.asked
                if asked is not None and self._is_missing(directive, block, asked):
                    self.begin_worker(asked.x64)
                    return

    @property
    def has_begun(self) -> bool:
        """Whether a worker is starting."""
        return self._early is not None

    def begin_worker(self, x64: bool) -> None:
        """Start a worker that is needed later."""
        from ...tracing.client import Client

        self._early = Client(self.settings.worker(x64), self._limit)
        self._early.begin()

    def _is_missing(self, directive: DirectiveRecord, block: Block, asked: Asked) -> bool:
        if self.from_lock(block):
            return False
        if self.policy.fresh or self.storage.starts_over:
            return True
        key = self._tolerate(directive, block, asked)
        return self._stored(key, asked, key in self._tolerated) is None

    def adopt(self, early: BuildSession) -> None:
        """Take over the worker that another session of this build has begun, and its store."""
        self._early, early._early = early._early, None
        self.storage.adopt(early.storage)

    def end(self) -> None:
        """End a worker that has begun and is not needed."""
        if self._early is not None:
            self._early.close()
            self._early = None

    def _begun(self, setup: Setup) -> Client | None:
        """The worker that has begun, if it is as it must be."""
        early = self._early
        if early is None or early.setup != setup:
            return None
        self._early = None
        return early

    def prepare(self, directives: Iterable[DirectiveRecord]) -> None:
        """Find or trace an outcome for every block of ``directives``."""
        if self.mode == "skip":
            return
        misses: dict[bool, dict[str, Job]] = {False: {}, True: {}}
        for directive in directives:
            for block in directive.blocks:
                asked = block.asked
                source = self._source(block)
                if asked is None or source in self._outcomes:
                    continue
                if self.from_lock(block):
                    self._outcomes[source] = self._locked(block, asked.request)
                    continue
                if block.digest in misses[asked.x64]:
                    self._tolerate(directive, block, asked)
                    continue
                job = self._look_up(directive, block, asked)
                if job is not None:
                    misses[asked.x64][block.digest] = job
        self._trace(misses)
        self.end()
        self.storage.flush()
        if self._locks is not None:
            self._locks.flush()

    def mend(self, blocks: Iterable[tuple[DirectiveRecord, Block]]) -> None:
        """Trace again results that were damaged since they were looked up.

        The look-up reads only an index.  Code that reads results starts no process, and
        treats a damaged result as an error.
        """
        misses: dict[bool, dict[str, Job]] = {False: {}, True: {}}
        for directive, block in blocks:
            outcome = self.outcome(block)
            if outcome is None or outcome.lock_file or self._failure(directive, block):
                continue
            if block.asked is not None and self.traced(directive, block).result is None:
                job = self._job(outcome.key, directive, block.asked)
                misses[block.asked.x64][block.digest] = job
        if any(misses.values()):
            self._trace(misses)
            self._blocks = RecentBlocks()

    def _look_up(self, directive: DirectiveRecord, block: Block, asked: Asked) -> Job | None:
        """Take the stored outcome of a block, or say what has to be traced."""
        key = self._tolerate(directive, block, asked)
        outcome = self._stored(key, asked, key in self._tolerated)
        if outcome is not None and self.policy.fresh:
            before = self.store.load(outcome.key)
            settings = before.settings if before is not None else ()
            self.replaced[block.digest] = Replaced(outcome.seen, settings)
        elif outcome is not None and not self.storage.starts_over:
            self._outcomes[block.digest] = outcome
            return None
        self._log_reason(key, asked, is_stored=outcome is not None)
        return self._job(key, directive, asked)

    def _job(self, key: str, directive: DirectiveRecord, asked: Asked) -> Job:
        request = asked.request
        code = self._code_of(request.code) if request.code and self._code_of else None
        return Job(key, request, directive.timeout or self.settings.timeout, code)

    def _tolerate(self, directive: DirectiveRecord, block: Block, asked: Asked) -> str:
        """Note whether this directive tolerates a failure; the key of the result."""
        key = self.storage.key(block.digest, x64=asked.x64)
        if directive.tolerates(block):
            self._tolerated.add(key)
        return key

    def _log_reason(self, key: str, asked: Asked, *, is_stored: bool) -> None:
        """In verbose mode: why a program is traced."""
        if self.verbosity:
            request = asked.request
            unused = "this build uses no stored result"
            reason = unused if is_stored else self.storage.why(key, request)
            from .progress import title

            text = f"{title(request)} is traced: {reason or 'no result is stored'}"
            logger.verbose("%s", on_one_line(text))

    def is_tracing(self, block: Block) -> bool:
        """Whether this build traces a block, or has traced it."""
        return block.digest in self._tracing and not self.from_lock(block)

    def _trace(self, misses: dict[bool, dict[str, Job]]) -> None:
        self._tracing.update(*misses.values())
        for x64, jobs in misses.items():
            if jobs:
                self._run(x64, jobs)

    def _run(self, x64: bool, jobs: dict[str, Job]) -> None:
        from ...tracing.client import backwards, run
        from .progress import TracingProgress

        digests = {job.key: request_digest for request_digest, job in jobs.items()}
        ordered = list(jobs.values())
        if self.replaced:  # in reverse order, or a dependency on the order might go unnoticed
            ordered = backwards(ordered)
        setup = self.settings.worker(x64)
        first = self._begun(setup)
        progress = TracingProgress(len(jobs), self.verbosity)
        try:
            for job, reply in run(setup, ordered, self._limit, first=first, idle=self.idle):
                request_digest = digests[job.key]
                self._outcomes[request_digest] = self._keep(job, request_digest, reply)
                progress.step(job.request)
        finally:
            progress.end()

    def _keep(self, job: Job, request_digest: str, reply: Reply) -> Outcome:
        """Store a result at once; among errors, only an expected one is a result."""
        from ...tracing.result import ErrorKind, Needs, Result

        error = self._cleaned(reply.error) if reply.error is not None else None
        traced = error is None or error.kind is ErrorKind.TRACE
        if error is None or (traced and job.request.expects_error):
            texts = None
            if reply.received is not None:
                result, texts = self.masker.received(reply.received)
            elif error is None:
                result = self.masker.result(reply.result or Result())
            else:
                result = self.masker.result(replace(reply.known or Result(), error=error.on_page()))
            made = self.storage.made(job.request.x64)
            seen = self.store.save(
                job.key,
                job.request,
                result,
                reply.needs or Needs(),
                made,
                request_digest=request_digest,
                texts=texts,
            )
            return Outcome(job.key, seen)
        if job.key in self._tolerated and traced and reply.needs is not None:
            # Otherwise every build would retry what nobody misses.
            made = self.storage.made(job.request.x64)
            self.store.save(job.key + FAILED, job.request, Result(error=error), reply.needs, made)
        return Outcome(job.key, Seen(digest(error.on_page().to_json()), ""), error)

    def _cleaned(self, error: TraceError) -> TraceError:
        """An error as pages and messages may show it; its traceback goes to a file."""
        trace = error.traceback or error.output
        searched = tuple(spelled(self.masker.stored(root)) for root in error.searched)
        hidden = self.masker.error(replace(error, traceback="", output="", searched=()))
        file = self.storage.log(mask(self.masker.hide(spelled(trace)))) if trace else ""
        return replace(hidden, searched=searched, log=file or hidden.log)

    # -- the lock

    @property
    def locks(self) -> LockFolder:
        """The lock of this project, opened on first use."""
        if self._locks is None:
            from ...tracing.lock import LockFolder

            folder = self.settings.lock_folder
            self._locks = LockFolder(folder, self.masker.stored(str(folder)), self.storage.cache)
        return self._locks

    def from_lock(self, block: Block) -> bool:
        """Whether a block comes from the lock in this build."""
        return self._source(block).startswith("lock:")

    def _source(self, block: Block) -> str:
        """The key of an outcome: blocks with the same request share one, except under the lock."""
        if (self.mode == "trace" and not block.locked) or block.pasted is not None:
            return block.digest
        key = (block.lock, block.digest)
        if key not in self._sources:
            traced = self.policy.records and self.policy.forces(block, self.locks)
            self._sources[key] = block.digest if traced else f"lock:{block.lock}:{block.digest}"
        return self._sources[key]

    def _locked(self, block: Block, request: Request) -> Outcome:
        seen, problem = self.locks.look(block.lock, request, block.digest)
        error = None
        if problem:
            from ...tracing.result import ErrorKind, TraceError

            # Without a lock all blocks have the same error.
            error = TraceError(ErrorKind.LOCK, problem, whole_module=not self.locks.exists)
        return Outcome(f"lock:{block.lock}", seen, error, block.lock)

    def _locked_versions(self) -> dict[str, str]:
        """The versions that wrote the lock, from any of its files."""
        from ...tracing import lock

        for file in lock.stored(self.locks.folder):
            data = self.locks.data(file)
            if data is not None:
                return {name: text for name, text in data.versions.items() if text}
        return {}

    # -- the store

    def _stored(self, key: str, asked: Asked, tolerated: bool) -> Outcome | None:
        """The stored outcome: a result, or a failure that the page tolerates."""
        seen = self.store.fresh(key, raises=asked.expects_error)
        if seen is not None:
            return Outcome(key, seen)
        if not tolerated:
            return None
        failed = key + FAILED
        seen = self.store.fresh(failed, raises=True)
        result = self.store.load(failed) if seen is not None else None
        return Outcome(failed, seen, result.error) if seen and result else None

    @cached_property
    def store(self) -> Store:
        """The results of this project, opened when first asked for."""
        return self.storage.store

    # -- for the other phases; nothing here starts a process

    def outcome(self, block: Block) -> Outcome | None:
        """The outcome of a block, if its request was understood and traced."""
        if block.pasted is not None:  # as if it had been
            return Outcome(block.digest, Seen(block.digest, ""))
        return self._outcomes.get(self._source(block)) if block.asked else None

    def traced(self, directive: DirectiveRecord, block: Block) -> TracedBlock:
        """A block of a directive, with its parsed result.

        The blocks that were read last are kept, since parsing is expensive.
        """
        key = self._block_key(directive, block)
        traced = self._blocks.get(key)
        if traced is None:
            from ...block import TracedBlock

            above = self.traced(directive, directive.blocks[0]) if block.label else None
            expects = block.asked is not None and block.asked.expects_error
            failure = self._failure(directive, block)
            result = self._result(directive, block) if failure is None else None
            if failure is None and result is None:
                failure = _without_program("its stored result is damaged")
            traced = TracedBlock(
                block.name,
                block.label,
                result=result,
                failure=failure,
                base=above,
                raises=directive.raises if expects else None,
            )
            self._blocks.add(key, traced)
        return traced

    def _block_key(self, directive: DirectiveRecord, block: Block) -> BlockKey:
        base = directive.blocks[0]
        # Blocks whose request could not be understood have no digest of their own.
        sources = base.problem or self._source(base), block.problem or self._source(block)
        return (*sources, block.name, directive.raises, directive.code)

    def traced_blocks(self, directive: DirectiveRecord) -> dict[str, TracedBlock]:
        """All blocks of a directive, by the ids of their figures."""
        return {block.identity: self.traced(directive, block) for block in directive.blocks}

    @property
    def is_filled(self) -> bool:
        """Whether most of the blocks that are kept at once are here."""
        return self._blocks.is_full

    def release(self, directives: Iterable[DirectiveRecord]) -> None:
        """Drop the programs of a page that was shown; other pages may read them again."""
        for directive in directives:
            for block in directive.blocks:
                self._blocks.drop(self._block_key(directive, block))

    def _failure(self, directive: DirectiveRecord, block: Block) -> TraceError | None:
        if block.problem:
            return _without_program(block.problem)
        outcome = self.outcome(block)
        if outcome is None:
            return _without_program("it was not traced")
        return self.error(directive, outcome)

    def error(self, directive: DirectiveRecord, outcome: Outcome) -> TraceError | None:
        """The error of a block of a directive, with lines of the page."""
        error = outcome.error
        if error is not None and directive.left_out:
            from ..reading.notebooks.left_out import with_hint

            error = with_hint(error, directive.left_out, self.masker.displayed)
        if error is None or not directive.code:
            return error
        from ...tracing.result import relocated_error

        return relocated_error(error, self._lines(directive).at)

    def place_in_code(
        self, directive: DirectiveRecord, outcome: Outcome
    ) -> tuple[CodeSpan, int] | None:
        """The part of the page's code whose run failed, and the line; ``None`` if none did."""
        error = outcome.error
        if error is None or error.module != PAGE or not directive.code:
            return None
        lines = [frame.line for frame in error.frames if frame.file == PAGE]
        return self._lines(directive).span(lines[-1] if lines else 1)

    def _lines(self, directive: DirectiveRecord) -> PageLines:
        from .page_lines import PageLines

        return PageLines(directive.code, self.masker.displayed)

    def _result(self, directive: DirectiveRecord, block: Block) -> Result | None:
        result = self._result_as_stored(block)
        if result is None or not directive.code:
            return result
        from ...tracing.result import relocated

        return relocated(result, self._lines(directive).at)

    def recorded(self, directive: DirectiveRecord, block: Block) -> Result | None:
        """The result of a block for a file: code of the page is ``<page>``, wherever it is."""
        failure = self._failure(directive, block)
        return self._result_as_stored(block) if failure is None else None

    def _result_as_stored(self, block: Block) -> Result | None:
        if block.pasted is not None:
            from ...program.facts import Facts
            from ...tracing.result import Result, TracedProgram

            return Result(program=TracedProgram(block.pasted.text, (), (), Facts()))
        outcome = self.outcome(block)
        if outcome is None:
            return None
        locked = outcome.lock_file
        return self.locks.result(locked) if locked else self.store.load(outcome.key)

    def versions(self) -> dict[str, str]:
        """The versions that an expression may use, as far as they are known."""
        if self.mode == "locked":
            return self._locked_versions()
        installed = self.store.installed
        versions = {name: installed.version(name) for name in ("jax", "jaxlib")}
        versions["python"] = installed.python_version
        return {name: version for name, version in versions.items() if version}


def _without_program(reason: str) -> TraceError:
    from ...tracing.result import ErrorKind, TraceError

    return TraceError(ErrorKind.OPTION, reason)
