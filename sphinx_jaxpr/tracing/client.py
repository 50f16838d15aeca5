"""From jobs to replies: starts workers, feeds them, outlives them.

Imports neither JAX nor user code.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeVar

from .checks import reply_problem
from .frames import Unusable
from .jobs import Job, Limit, Setup
from .process import Ended, Process
from .request import Request
from .result import ErrorKind, Reply, TraceError

# --- one worker and its successors

#: Seconds that tracing ``sin`` may take.
PROBE_TIMEOUT: Final = 60.0
#: Seconds in which a worker that traced before has to begin with a request.
BEGIN: Final = 10.0
#: Workers in a row that end without a result before the client checks whether JAX works.
DEATHS: Final = 10


@dataclass(frozen=True, slots=True)
class Postponed:
    """Why the worker could not trace a request as if it were alone; a new worker will."""

    reason: str


_Outcome: TypeAlias = Reply | Postponed


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

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Reply]]:
        """Yield each job with its reply, in order.

        A job that the worker can't trace as if it were alone is traced later, in a new
        worker, with the other postponed jobs.
        """
        todo: Sequence[Job] = jobs
        try:
            while todo:
                later: list[Job] = []
                for index, (job, outcome) in enumerate(self._pass(todo)):
                    if isinstance(outcome, Reply):
                        yield job, outcome
                    elif index:
                        later.append(job)
                    else:  # it was alone
                        text = f"this process traced nothing before, and still {outcome.reason}"
                        yield job, Reply(error=TraceError(ErrorKind.STATE, text))
                self.close()
                todo = later
        finally:
            self.close()

    def _pass(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, _Outcome]]:
        """Each job with its outcome, from one worker and its successors.

        The next job is sent before an outcome is handed out: the worker traces
        while the caller stores.
        """
        self.sent = {}
        self.doubtful = {}
        for index, job in enumerate(jobs):
            outcome = self._foreseen(job)
            if outcome is None and (self.process is None or index not in self.sent):
                outcome = self._send(index, job)
            if outcome is None:
                outcome = self._receive(index, job)
            following = index + 1
            if following < len(jobs) and self.process and not self._foreseen(jobs[following]):
                self._send(following, jobs[following])
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
        while dotted:
            modules.append(dotted)
            dotted = dotted.rpartition(".")[0]
        for key in (*modules, _base_key(request)):
            if outcome := self.broken.get(key) or self.doubtful.get(key):
                return outcome
        return None

    def _send(self, index: int, job: Job) -> Reply | None:
        if self.limit.is_over():
            self.close()
            return self._over()
        if self.process is None and (failure := self._start()) is not None:
            return failure
        assert self.process is not None
        self.sent[index] = secrets.randbits(48)
        self.process.say({"id": self.sent[index], "request": job.request.to_json()})
        return None

    def _start(self) -> Reply | None:
        """Start a worker; if that is not possible, the reply to all jobs."""
        if self.deaths >= DEATHS:
            self.deaths = 0
            if (failure := self._probe()) is not None:
                self.unstartable = failure
                return failure
        self.process = Process(self.setup)
        self.sent = {}
        self.starts += 1
        problem = self.process.greet(self.limit.until)
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

    def _receive(self, index: int, job: Job) -> _Outcome:
        process = self.process
        assert process is not None
        module, begun = "", not process.answered
        # Not since it was sent: the job isn't charged for the caller's own work.
        start = time.monotonic()
        before, after = "the process that was ", ""
        try:
            while True:
                seconds = job.timeout if begun else min(job.timeout, BEGIN)
                message = process.hear(min(start + seconds, self.limit.until))
                if message is None:
                    break
                if problem := reply_problem(message, self.sent[index]):
                    raise Unusable(problem)
                begun = True
                if "stage" not in message:
                    needs = process.needs_of(message)
                    self.deaths = 0
                    if "again" in message:
                        return Postponed(message["again"])
                    return Reply.from_json(message, needs)
                module = message.get("module", "")
        except Unusable as error:
            before, after = f"the reply of {before}", f" can't be used: {error}"
        except Ended:
            after = f" {process.ending()}"
        self.process = None
        process.kill()
        if not after and self.limit.is_over():
            return self._over()
        doing = f"importing {module}" if module else f"tracing {job.request.target}"
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

#: Number of jobs from which a second start of JAX saves more than it costs.
WORTH_A_SECOND: Final = 100


def run(
    setup: Setup, jobs: Sequence[Job], limit: Limit | None = None
) -> Iterator[tuple[Job, Reply]]:
    """Yield each job with its reply, as they come; ``limit`` is for all of them together.

    A base and its variants stay with one worker, in order: the variants reuse the stages
    of the base, and if it ends the worker, they are not tried.
    """
    limit = limit or Limit()
    with limit.counting():
        if len(jobs) >= WORTH_A_SECOND and _processors() > 1:
            yield from _shared([Client(setup, limit) for _ in range(2)], _shares(jobs))
        else:
            yield from Client(setup, limit).run(jobs)


#: Replies of several workers as they come; ``None`` when one has finished.
_Replies: TypeAlias = "queue.Queue[tuple[Job, Reply] | None]"


def _shared(
    clients: Sequence[Client], shares: Sequence[Sequence[Job]]
) -> Iterator[tuple[Job, Reply]]:
    replies: _Replies = queue.Queue()
    threads = [
        threading.Thread(target=_serve, args=(client, share, replies), daemon=True)
        for client, share in zip(clients, shares, strict=False)  # all may belong together
    ]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            pair = replies.get()
            if pair is None:
                running -= 1
            else:
                yield pair
    finally:  # also when the build is interrupted: no worker stays behind
        for client in clients:
            client.close()
        for thread in threads:
            thread.join(timeout=5)


def _serve(client: Client, share: Sequence[Job], replies: _Replies) -> None:
    try:
        for pair in client.run(share):
            replies.put(pair)
    finally:
        replies.put(None)


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


def _shares(jobs: Sequence[Job]) -> list[list[Job]]:
    """Split jobs into two halves; each group goes to the smaller half."""
    halves: list[list[Job]] = [[], []]
    for group in _groups(jobs):
        min(halves, key=len).extend(group)
    return [half for half in halves if half]
