"""Starts the worker, feeds it, outlives it.  Imports neither JAX nor user code."""

from __future__ import annotations

import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from .frames import Unusable
from .needs import Needs
from .outcome import error_problem, is_text, problem
from .process import Ended, Process
from .request import Job, Limit, Request, Setup

# --- what the worker may answer to a request, and nothing else

#: Longest text about the work itself, in characters.
_LONGEST: Final = 100_000
_MOST_SETS: Final = 2**31
#: Parts of :class:`Needs` that are texts by name; the others are lists of names.
_NAMED: Final = frozenset(["files", "folders", "paths", "sizes", "parts"])
_STAGES: Final = ("import", "trace")

_Check = Callable[[Any], str]


def unfit(message: Mapping[str, Any], number: int) -> str:
    """Why a message does not answer request ``number``, ``""`` where it is one."""
    if type(message.get("id")) is not int or message["id"] != number:
        return "it answers another request"
    given = message.keys() - {"id"}
    for main, fields in _MESSAGES.items():
        if main in given:
            if extra := given - fields.keys():
                return f"{min(extra)[:40]!r} is not a field of a reply"
            wrong = (fields[name](message[name]) for name in fields if name in given)
            if found := next(filter(None, wrong), ""):
                return found
            return _whole(message)
    return "it has no result"


def _whole(message: Mapping[str, Any]) -> str:
    """What is wrong with the parts together."""
    if "stage" in message:
        wrong = (message["stage"] == "import") != bool(message.get("module"))
        return "stage and module do not belong together" if wrong else ""
    if "error" in message and "known" in message:
        # An error that is expected is shown with what was known before it.
        shown = {"kind": "trace", "type": "", "mro": [], "message": "", "frames": []}
        return problem({**message["known"], "error": shown})
    if "again" not in message and "deps" not in message:
        return "deps is missing"
    return ""


def _stage(value: Any) -> str:
    return (
        "" if isinstance(value, str) and value in _STAGES else "stage is neither import nor trace"
    )


def _module(value: Any) -> str:
    good = is_text(value) and value.isprintable() and len(value) <= _LONGEST
    return "" if good else "module is not a name"


def _again(value: Any) -> str:
    return (
        "" if is_text(value) and len(value) <= _LONGEST else "again is not a text, or is too long"
    )


def _program(value: Any) -> str:
    if type(value) is dict and "text" not in value:  # it would do for an error
        return "text is missing"
    return problem(value)


def _known(value: Any) -> str:
    if type(value) is not dict or "error" in value or "text" in value:
        return "known is not part of a result"
    return ""


def _deps(value: Any) -> str:
    return (
        "" if type(value) is int and 0 <= value < _MOST_SETS else "deps is not the number of a set"
    )


def needs_problem(value: Any) -> str:
    """What is wrong with dependencies as the worker reports them."""
    if type(value) is not dict:
        return f"needs is {type(value).__name__}, not an object"
    known = Needs.__dataclass_fields__
    for name, found in value.items():
        if name not in known:
            return f"needs.{name[:40]!r} is not a field of a reply"
        if name in _NAMED:
            good = type(found) is dict and all(map(_is_name, found))
            good = good and all(type(text) is str for text in found.values())
            if not good:
                return f"needs.{name} is not an object of texts by name"
        elif type(found) is not list or not all(map(_is_name, found)):
            return f"needs.{name} is not a list of names"
    return ""


def _is_name(value: Any) -> bool:
    """A path may have bytes that are no text, but no NUL, as the system has none in them."""
    return type(value) is str and value != "" and "\0" not in value


_MESSAGES: Final[Mapping[str, Mapping[str, _Check]]] = {
    "stage": {"stage": _stage, "module": _module},
    "again": {"again": _again},
    "result": {"result": _program, "deps": _deps, "needs": needs_problem},
    "error": {"error": error_problem, "known": _known, "deps": _deps, "needs": needs_problem},
}


# --- starts the worker, feeds it, outlives it ; Imports neither JAX nor user code

#: Seconds that tracing ``sin`` may take.
PROBE_TIMEOUT: Final = 60.0
#: Seconds in which a worker that traced before has to begin with a request.
BEGIN: Final = 10.0
#: Workers that end one after another, without a result, before it is asked whether JAX works.
DEATHS: Final = 10


def failure(kind: str, message: str, **more: Any) -> dict[str, Any]:
    """An outcome that the worker itself could not report."""
    error = {"kind": kind, "type": "", "mro": [], "message": message, "frames": []}
    return {"error": {**error, "traceback": "", **more}}


class Client:
    """Runs jobs one after another; a job that kills its worker costs no other job."""

    def __init__(self, setup: Setup, limit: Limit | None = None) -> None:
        self.setup = setup
        self.limit = limit or Limit()
        self.process: Process | None = None
        self.unstartable: dict[str, Any] | None = None
        # module, or digest of a base -> how it ended a worker
        self.broken: dict[str, dict[str, Any]] = {}
        # the same keys -> why what they name is traced later, in this pass
        self.doubtful: dict[str, dict[str, Any]] = {}
        self.starts = 0
        self.deaths = 0  # in a row
        self.sent: dict[int, int] = {}  # place of a job -> id of its request

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        """Yield each job with its outcome, in order.

        A job that the worker can't trace as if it were alone comes later, in a new
        worker, with the others of its kind.
        """
        todo: Sequence[Job] = jobs
        try:
            while todo:
                later: list[Job] = []
                for place, (job, outcome) in enumerate(self._pass(todo)):
                    if "again" not in outcome:
                        yield job, outcome
                    elif place:
                        later.append(job)
                    else:  # it was alone
                        text = f"this process traced nothing before, and still {outcome['again']}"
                        yield job, failure("state", text)
                self.close()
                todo = later
        finally:
            self.close()

    def _pass(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        """Each job with its outcome, from one worker and its successors.

        The next job is sent before an outcome is handed out: the worker traces
        while the caller stores.
        """
        self.sent = {}
        self.doubtful = {}
        for place, job in enumerate(jobs):
            outcome = self._known(job)
            if outcome is None and (self.process is None or place not in self.sent):
                outcome = self._send(place, job)
            if outcome is None:
                outcome = self._receive(place, job)
            following = place + 1
            if following < len(jobs) and self.process and not self._known(jobs[following]):
                self._send(following, jobs[following])
            yield job, outcome

    def close(self) -> None:
        """End the worker and all that it started."""
        if self.process is not None:
            self.process.kill()
            self.process = None

    def _known(self, job: Job) -> dict[str, Any] | None:
        """The outcome of a job that is known to end the worker."""
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
        known = {**self.doubtful, **self.broken}
        return next((known[key] for key in (*modules, _base_key(request)) if key in known), None)

    def _send(self, number: int, job: Job) -> dict[str, Any] | None:
        if self.limit.is_over():
            self.close()
            return self._over()
        if self.process is None and (outcome := self._start()) is not None:
            return outcome
        assert self.process is not None
        self.sent[number] = secrets.randbits(48)
        self.process.say({"id": self.sent[number], "request": job.request.to_json()})
        return None

    def _start(self) -> dict[str, Any] | None:
        """Start a worker; what to tell where that is not possible."""
        if self.deaths >= DEATHS:
            self.deaths = 0
            if (outcome := self._probe()) is not None:
                self.unstartable = outcome
                return outcome
        self.process = Process(self.setup)
        self.sent = {}
        self.starts += 1
        problem = self.process.greet(self.limit.until)
        if not problem:
            return None
        self.close()
        if self.limit.is_over():
            return self._over()
        self.unstartable = failure("worker", problem)
        return self.unstartable

    def _probe(self) -> dict[str, Any] | None:
        """Whether nothing but JAX's own can be traced: then the fault is not the programs'."""
        request = Request("jax.numpy:sin", args=(("", 1.0),))
        ((_, outcome),) = Client(self.setup, self.limit).run([Job("", request, PROBE_TIMEOUT)])
        if "result" in outcome or self.limit.is_over():
            return None
        text = f"{DEATHS} processes in a row ended without a program, and jax.numpy.sin"
        return failure("worker", f"{text} can't be traced either: {outcome['error']['message']}")

    def _over(self) -> dict[str, Any]:
        text = f"tracing stopped after {self.limit.seconds:g} s, the limit of a whole build"
        return failure("timeout", f"{text} (jaxpr_total_timeout)", whole_module=True)

    def _receive(self, number: int, job: Job) -> dict[str, Any]:
        process = self.process
        assert process is not None
        module, begun = "", not process.answered
        # Not from when it was sent: what the caller did meanwhile is not its fault.
        start = time.monotonic()
        before, after = "the process that was ", ""
        try:
            while True:
                seconds = job.timeout if begun else min(job.timeout, BEGIN)
                message = process.hear(min(start + seconds, self.limit.until))
                if message is None:
                    break
                if problem := unfit(message, self.sent[number]):
                    raise Unusable(problem)
                begun = True
                if "stage" not in message:
                    message = process.completed(message)
                    self.deaths = 0
                    return message
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
            # Perhaps what another left behind is to blame, such as a thread: it is tried alone.
            return self._put_off(job, module, f"{before}{doing}{after or ' did not begin with it'}")
        self.deaths += 1
        more = {"whole_module": bool(module)}
        if after:
            text = f"{before}{doing}{after}"
            outcome = failure("crash", text, output=process.output(), **more)
        else:
            text = f"still {doing} after {job.timeout:g} s (jaxpr_timeout, or the option timeout)"
            outcome = failure("timeout", text, **more)
        self._note(self.broken, job, module, outcome)
        return outcome

    def _put_off(self, job: Job, module: str, why: str) -> dict[str, Any]:
        """Trace a job later, first in a worker, and with it what it would cost as well."""
        outcome = {"again": why}
        self._note(self.doubtful, job, module, outcome)
        return outcome

    @staticmethod
    def _note(kept: dict[str, dict[str, Any]], job: Job, module: str, outcome: Any) -> None:
        if module:
            kept[module] = outcome
        elif not job.request.steps:
            kept[_base_key(job.request)] = outcome


def _base_key(request: Request) -> str:
    """What all variants of one base have in common."""
    return replace(request.base, jit=False, x64=False).digest


# --- spreads jobs over workers: one, and a second where it pays

#: Jobs from which a second start of JAX costs less than it saves.
WORTH_A_SECOND: Final = 100


def run(
    setup: Setup, jobs: Sequence[Job], limit: Limit | None = None
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield each job with its outcome, as they come; ``limit`` is for all of them together.

    A base and its variants stay with one worker, in order: they build on what
    the base left, and where it ends the worker they are not tried.
    """
    limit = limit or Limit()
    with limit.counting():
        if len(jobs) >= WORTH_A_SECOND and _processors() > 1:
            yield from _shared([Client(setup, limit) for _ in range(2)], _shares(jobs))
        else:
            yield from Client(setup, limit).run(jobs)


def _shared(
    clients: Sequence[Client], shares: Sequence[Sequence[Job]]
) -> Iterator[tuple[Job, dict[str, Any]]]:
    outcomes: queue.Queue[tuple[Job, dict[str, Any]] | None] = queue.Queue()
    threads = [
        threading.Thread(target=_serve, args=(client, share, outcomes), daemon=True)
        for client, share in zip(clients, shares, strict=False)  # all may belong together
    ]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            found = outcomes.get()
            if found is None:
                running -= 1
            else:
                yield found
    finally:  # also when the build is interrupted: no worker stays behind
        for client in clients:
            client.close()
        for thread in threads:
            thread.join(timeout=5)


def _serve(client: Client, share: Sequence[Job], outcomes: queue.Queue[Any]) -> None:
    try:
        for found in client.run(share):
            outcomes.put(found)
    finally:
        outcomes.put(None)


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
    """Two halves; what belongs together goes to the half that has less."""
    halves: list[list[Job]] = [[], []]
    for group in _groups(jobs):
        min(halves, key=len).extend(group)
    return [half for half in halves if half]
