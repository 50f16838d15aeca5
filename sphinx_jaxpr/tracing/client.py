"""From jobs to replies: starts workers, feeds them, outlives them.

Imports neither JAX nor user code.
"""

from __future__ import annotations

import math
import os
import secrets
import selectors
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeVar

from .checks import reply_problem
from .frames import Message, Unusable
from .jobs import Job, Limit, Setup, digest_of, module_name, public
from .process import Ended, Hearing, Process, wait
from .request import Request
from .result import ErrorKind, Reply, TraceError

# --- one worker and its successors

#: Seconds that tracing ``sin`` may take.
PROBE_TIMEOUT: Final = 60.0
#: Seconds in which a worker that traced before has to begin with a request.
BEGIN: Final = 10.0
#: Bytes that a worker may take more than at the first look: JAX keeps some 24 kB a program.
GROWN: Final = 128 * 2**20
#: Bytes from which a job that imports has imported a large library.  Another worker would need
#: that too, so it is no growth; small modules are.
LIBRARY: Final = 16 * 2**20
#: Replies between two looks at a worker's memory.
LOOK: Final = 32
#: Workers in a row that end without a result before the client checks whether JAX works.
DEATHS: Final = 10


@dataclass(frozen=True, slots=True)
class Postponed:
    """Why the worker could not trace a request as if it were alone; a new worker will."""

    reason: str


_Outcome: TypeAlias = Reply | Postponed
#: Jobs with their replies, and between them processes that must be waited for.
_Walk: TypeAlias = Generator["tuple[Job, Reply] | Process", None, None]


def nothing() -> bool:
    """What is to be done while a worker traces: nothing, and so nothing is left."""
    return False


class Client:
    """Runs jobs one after another; a job that kills its worker costs no other job."""

    def __init__(self, setup: Setup, limit: Limit | None = None) -> None:
        self.setup = setup
        self.limit = limit or Limit()
        self.process: Process | None = None
        self.unstartable: Reply | None = None
        # module, or digest of a base -> how it ended a worker
        self.broken: dict[str, Reply] = {}
        # the same keys -> why their jobs are postponed in this pass
        self.doubtful: dict[str, Postponed] = {}
        self.starts = 0
        self.deaths = 0  # in a row
        self.sent: dict[int, int] = {}  # index of a job -> id of its request

    def begin(self) -> None:
        """Start the worker; JAX is imported while the caller does something else."""
        if self.process is None:
            self.process = Process(self.setup)
            self.starts += 1
            # Nobody may be left to close the client, if the caller is interrupted.
            weakref.finalize(self, self.process.kill)

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Reply]]:
        """Yield each job with its reply, in order.

        A job that the worker can't trace as if it were alone is traced later, in a new
        worker, with the other postponed jobs, and then shares no code of its page with them.
        """
        return _together([self.walk(jobs)], nothing)

    def walk(self, jobs: Sequence[Job]) -> _Walk:
        """The same as :meth:`run`; whoever walks waits for the processes that are yielded."""
        todo: Sequence[Job] = jobs
        try:
            while todo:
                later: list[Job] = []
                is_first = True
                for step in self._pass(todo):
                    if isinstance(step, Process):
                        yield step
                        continue
                    job, outcome = step
                    if isinstance(outcome, Reply):
                        yield job, outcome
                    elif not is_first or (job.code is not None and job.code.is_shared):
                        later.append(job._replace(code=job.code and job.code.alone))
                    else:  # it was alone
                        text = f"this process traced nothing before, and still {outcome.reason}"
                        yield job, Reply(error=TraceError(ErrorKind.STATE, text))
                    is_first = False
                self.close()
                todo = later
        finally:
            self.close()

    def _pass(self, jobs: Sequence[Job]) -> Generator[tuple[Job, _Outcome] | Process, None, None]:
        """Each job with its outcome, from one worker and its successors.

        The next job is sent before an outcome is handed out: the worker traces
        while the caller stores.
        """
        self.sent = {}
        self.doubtful = {}
        for index, job in enumerate(jobs):
            outcome = self._foreseen(job)
            if outcome is None and (self.process is None or index not in self.sent):
                outcome = yield from self._send(index, job)
            if outcome is None:
                outcome = yield from self._receive(index, job)
            following = index + 1
            if following < len(jobs) and self.process and not self._foreseen(jobs[following]):
                yield from self._send(following, jobs[following])
            yield job, outcome

    def close(self) -> None:
        """End the worker and every process that it started."""
        if self.process is not None:
            self.process.kill()
            self.process = None

    def _foreseen(self, job: Job) -> _Outcome | None:
        """The outcome of a job that would end the worker, as another job did before."""
        if self.unstartable is not None:
            return self.unstartable
        if self.limit.is_over():
            return self._over()
        if not self.broken and not self.doubtful:
            return None
        request = job.request
        dotted = request.module or request.target.rpartition(".")[0]
        named = [*request.around, *(path for _, path in request.third_party)]
        modules = [path.partition(":")[0] for path in named]
        modules += [name for _, name in request.option_modules]
        modules += [module_name(digest_of(job.code.parts))] if job.code else []
        while dotted:
            modules.append(dotted)
            dotted = dotted.rpartition(".")[0]
        for key in (*modules, _base_key(request)):
            if outcome := self.broken.get(key) or self.doubtful.get(key):
                return outcome
        return None

    def _send(self, index: int, job: Job) -> Hearing[Reply | None]:
        if self.limit.is_over():
            self.close()
            return self._over()
        if self.process is None or not self.process.is_ready:
            failure = yield from self._start()
            if failure is not None:
                return failure
        assert self.process is not None
        self.sent[index] = secrets.randbits(48)
        self.process.note_memory()
        code = {"code": [job.code.parts, job.code.used]} if job.code else {}
        self.process.say({"id": self.sent[index], "request": job.request.to_json(), **code})
        return None

    def _start(self) -> Hearing[Reply | None]:
        """Start a worker; if that is not possible, the reply to all jobs."""
        if self.deaths >= DEATHS:
            self.deaths = 0
            if (failure := self._probe()) is not None:
                self.unstartable = failure
                return failure
        self.begin()
        assert self.process is not None
        self.sent = {}
        problem = yield from self.process.greeting(self.limit.until)
        if not problem:
            return None
        self.close()
        if self.limit.is_over():
            return self._over()
        self.unstartable = Reply(error=TraceError(ErrorKind.WORKER, problem))
        return self.unstartable

    def _probe(self) -> Reply | None:
        """Check whether JAX can trace a function of its own; if not, no program is at fault."""
        request = Request("jax.numpy:sin", args=(("", 1.0),))
        ((_, reply),) = Client(self.setup, self.limit).run([Job("", request, PROBE_TIMEOUT)])
        if reply.error is None or self.limit.is_over():
            return None
        text = f"{DEATHS} processes in a row ended without a program, and jax.numpy.sin"
        text += f" can't be traced either: {reply.error.message}"
        return Reply(error=TraceError(ErrorKind.WORKER, text))

    def _over(self) -> Reply:
        text = f"tracing stopped after {self.limit.seconds:g} s, the limit of a whole build"
        text += " (jaxpr_total_timeout)"
        return Reply(error=TraceError(ErrorKind.TIMEOUT, text, whole_module=True))

    def _receive(self, index: int, job: Job) -> Hearing[_Outcome]:
        process = self.process
        assert process is not None
        module, imports, begun = "", False, not process.answered
        # Not since it was sent: the job isn't charged for the caller's own work.
        start = time.monotonic()
        before, after = "the process that was ", ""
        try:
            while True:
                seconds = job.timeout if begun else min(job.timeout, BEGIN)
                message = yield from process.hear(min(start + seconds, self.limit.until))
                if message is None:
                    if begun or not process.has_begun():
                        break
                    begun = True
                    continue
                if problem := reply_problem(message, self.sent[index]):
                    raise Unusable(problem)
                begun = True
                if "stage" not in message:
                    return self._answer(process, index, message, imports=imports)
                module = message.get("module", "")
                imports = True
        except Unusable as error:
            before, after = f"the reply of {before}", f" can't be used: {error}"
        except Ended:
            after = f" {process.ending()}"
        self.process = None
        process.kill()
        if not after and self.limit.is_over():
            return self._over()
        doing = f"importing {public(module)}" if module else f"tracing {job.request.target}"
        doing = doing if len(doing) <= 200 else doing[:200] + "..."
        if process.answered and (after or not begun):
            # Perhaps a leftover of another job, such as a thread, is to blame: try it alone.
            postponed = Postponed(f"{before}{doing}{after or ' did not begin with it'}")
            _note(self.doubtful, job, module, postponed)
            return postponed
        self.deaths += 1
        if after:
            text, kind = f"{before}{doing}{after}", ErrorKind.CRASH
        else:
            text = f"still {doing} after {job.timeout:g} s (jaxpr_timeout, or the option timeout)"
            kind = ErrorKind.TIMEOUT
        output = process.output() if after else ""
        reply = Reply(error=TraceError(kind, text, output=output, whole_module=bool(module)))
        _note(self.broken, job, module, reply)
        return reply

    def _answer(self, process: Process, index: int, message: Message, *, imports: bool) -> _Outcome:
        """The outcome that a message has; a worker that has grown is ended once it is read."""
        needs = process.needs_of(message)
        if imports:
            process.excuse(LIBRARY)
        texts = process.frames.encoded
        self.deaths = 0
        del self.sent[index]
        if process.answered % LOOK == 0 and process.has_grown(GROWN):
            self.close()
        if "again" in message:
            return Postponed(message["again"])
        return Reply.from_json(message, needs, texts)


_Foreseen = TypeVar("_Foreseen", Reply, Postponed)


def _note(kept: dict[str, _Foreseen], job: Job, module: str, outcome: _Foreseen) -> None:
    """Keep an outcome for other jobs that would have the same."""
    if module:
        kept[module] = outcome
    elif not job.request.steps:
        kept[_base_key(job.request)] = outcome


def _base_key(request: Request) -> str:
    """The key that all variants of one base share."""
    return replace(request.base, jit=False, x64=False).digest


# --- several workers

#: So many jobs keep another worker busy for several times what it costs to start JAX.
WORTH_ANOTHER: Final = 1000
#: More workers would wait for the caller, which receives and stores what they trace.
MOST_WORKERS: Final = 4


def run(
    setup: Setup,
    jobs: Sequence[Job],
    limit: Limit | None = None,
    *,
    first: Client | None = None,
    idle: Callable[[], bool] = nothing,
) -> Iterator[tuple[Job, Reply]]:
    """Yield each job with its reply, as they come; ``limit`` is for all of them together.

    A base and its variants stay with one worker, in order: the variants reuse the stages
    of the base, and if it ends the worker, they are not tried.  ``first`` may have begun
    already.  ``idle`` is called while no reply is there: it works for a few milliseconds
    and returns whether more is left to do.
    """
    limit = limit or Limit()
    clients = [first] if first is not None else []
    for begun in clients:
        begun.limit = limit
    count = _workers(len(jobs))
    clients += [Client(setup, limit) for _ in range(count - len(clients))]
    with limit.counting():
        shares = _shares(jobs, count)
        walks = [client.walk(share) for client, share in zip(clients, shares, strict=False)]
        yield from _together(walks, idle)


def _together(walks: Sequence[_Walk], idle: Callable[[], bool]) -> Iterator[tuple[Job, Reply]]:
    """What several workers answer, as it comes; works or waits while none does."""
    running = list(walks)
    try:
        while running:
            waiting: list[Process] = []
            for walk in list(running):
                step = next(walk, None)
                if step is None:
                    running.remove(walk)
                elif isinstance(step, Process):
                    waiting.append(step)
                else:
                    yield step
            if waiting and len(waiting) == len(running):
                wait(waiting, 0 if idle() else math.inf)
    finally:  # also when the build is interrupted: no worker stays behind
        for walk in walks:
            walk.close()


def _workers(jobs: int) -> int:
    """How many workers trace so many jobs in the least time."""
    if not hasattr(selectors.DefaultSelector, "fileno"):  # one loop can't watch several
        return 1
    return min(1 + jobs // WORTH_ANOTHER, _processors(), MOST_WORKERS)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def backwards(jobs: Sequence[Job]) -> list[Job]:
    """The jobs in another order; a base still comes before its variants."""
    return [job for group in reversed(_groups(jobs)) for job in group]


def _groups(jobs: Sequence[Job]) -> list[list[Job]]:
    """Bases, each with its variants."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.request.base.digest, []).append(job)
    return list(groups.values())


def _shares(jobs: Sequence[Job], count: int) -> list[Sequence[Job]]:
    """Split jobs into shares; each group goes to the smallest one."""
    if count == 1:
        return [jobs]
    shares: list[list[Job]] = [[] for _ in range(count)]
    for group in _groups(jobs):
        min(shares, key=len).extend(group)
    return [share for share in shares if share]
