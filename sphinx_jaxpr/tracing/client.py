"""Starts the worker, feeds it, outlives it.  Imports neither JAX nor user code."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from .jobs import Job, Setup
from .request import Request

WORKER: Final = str(Path(__file__).parents[1] / "worker" / "process.py")
#: Seconds that starting JAX may take.
START_TIMEOUT: Final = 120.0
#: Bytes of the worker's own output that are kept for error reports.
KEPT_OUTPUT: Final = 20_000


def failure(kind: str, message: str, **more: Any) -> dict[str, Any]:
    """An outcome that the worker itself could not report."""
    error = {"kind": kind, "type": "", "mro": [], "message": message, "frames": []}
    return {"error": {**error, "traceback": "", **more}}


class Client:
    """Runs jobs one after another; a job that kills its worker costs no other job."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.process: _Process | None = None
        self.unstartable: dict[str, Any] | None = None
        # module, or digest of a base -> how it ended a worker
        self.broken: dict[str, dict[str, Any]] = {}
        self.starts = 0

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
        sent: int | None = None
        for place, job in enumerate(jobs):
            outcome = self._known(job)
            if outcome is None:
                if sent != place:
                    outcome = self._send(place, job)
                if outcome is None:
                    outcome = self._receive(place, job)
            following = place + 1
            if following < len(jobs) and self.process and not self._known(jobs[following]):
                self._send(following, jobs[following])
                sent = following
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
        if not self.broken:
            return None
        request = job.request
        dotted = request.module or request.target.rpartition(".")[0]
        named = [*request.around, *(path for _, path in request.third_party)]
        modules = [path.partition(":")[0] for path in named]
        while dotted:
            modules.append(dotted)
            dotted = dotted.rpartition(".")[0]
        found = (self.broken.get(key) for key in (*modules, _base_key(request)))
        return next(filter(None, found), None)

    def _send(self, number: int, job: Job) -> dict[str, Any] | None:
        if self.process is None:
            self.process = _Process(self.setup)
            self.starts += 1
            problem = self.process.greet()
            if problem:
                self.process.kill()
                self.process = None
                self.unstartable = failure("worker", problem)
                return self.unstartable
        self.process.say({"id": number, "request": job.request.to_json()})
        self.process.began = time.monotonic()
        return None

    def _receive(self, number: int, job: Job) -> dict[str, Any]:
        process = self.process
        assert process is not None
        module = ""  # being imported; else the request itself is being traced
        while True:
            message = process.hear(process.began + job.timeout - time.monotonic())
            if message is None or message.get("end"):
                break
            if message.get("id") != number:
                continue
            if "stage" not in message:
                return process.completed(message)
            module = message.get("module", "")
        self.process = None
        doing = f"importing {module}" if module else f"tracing {job.request.target}"
        if message is None:
            process.kill()
            text = f"still {doing} after {job.timeout:g} s (jaxpr_timeout, or the option timeout)"
            outcome = failure("timeout", text, whole_module=bool(module))
        else:
            text = f"the process that was {doing} {process.ending()}"
            outcome = failure("crash", text, whole_module=bool(module), output=process.output())
            process.kill()
        if module:
            self.broken[module] = outcome
        elif not job.request.steps:
            self.broken[_base_key(job.request)] = outcome
        return outcome


def _base_key(request: Request) -> str:
    """What all variants of one base have in common."""
    return replace(request.base, jit=False, x64=False).digest


class _Process:
    """The running worker, its pipes, and the threads that keep them from filling."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.began = 0.0
        self.messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self.tail: deque[bytes] = deque()
        self.needs: dict[int, dict[str, Any]] = {}
        self.child: subprocess.Popen[bytes] | None = None
        self.problem = ""
        try:
            self.child = subprocess.Popen(
                [setup.python, "-P", WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=setup.environment,
                cwd=setup.folder or None,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.problem = f"{setup.python!r} can't be started: {reason}"
            return
        self.threads = [threading.Thread(target=f, daemon=True) for f in (self._read, self._drain)]
        for thread in self.threads:
            thread.start()

    def greet(self) -> str:
        """Wait until JAX is there; what went wrong, or ``""``."""
        if self.child is None:
            return f"jaxpr_python: {self.problem}"
        # JAX reads its flags at the first use of a device, which is soon enough for
        # a wrong one to be told as what it is only here.
        setup = self.setup
        greeting = {"roots": list(setup.roots), "memory": setup.memory}
        self.say({**greeting, "devices": bool(self.setup.flags)})
        message = self.hear(START_TIMEOUT)
        if message is not None and message.get("ready"):
            return ""
        hint = self._hint()
        if message is None:
            return f"the tracing process did not start JAX within {START_TIMEOUT:g} s{hint}"
        if "broken" in message:
            return f"the tracing process could not start JAX: {message['broken']}{hint}"
        last = self.output().strip().splitlines()[-1:] or ["no output"]
        return f"the tracing process {self.ending()} at its start: {last[0]}{hint}"

    def _hint(self) -> str:
        """What may be wrong: the interpreter, the environment."""
        told = dict.fromkeys(f"{key}={text}" for key, text in self.setup.flags)
        flags = dict(self.setup.flags)
        told.update({key: None for key, _ in self.setup.settings if key not in flags})
        hint = f" (interpreter {self.setup.python}"
        # Of the others the name alone: a value may be a secret.
        return hint + (f"; its environment sets {', '.join(told)})" if told else ")")

    def say(self, message: dict[str, Any]) -> None:
        assert self.child is not None and self.child.stdin is not None
        with contextlib.suppress(OSError):  # it died: hear() tells
            self.child.stdin.write(json.dumps(message).encode() + b"\n")
            self.child.stdin.flush()

    def hear(self, seconds: float) -> dict[str, Any] | None:
        """The next message, ``{"end": True}`` at the end, ``None`` after ``seconds``."""
        try:
            return self.messages.get(timeout=min(max(seconds, 0.001), threading.TIMEOUT_MAX))
        except queue.Empty:
            return None

    def completed(self, message: dict[str, Any]) -> dict[str, Any]:
        """A reply with its dependencies in full: the worker sends each set once."""
        if "needs" in message:
            self.needs[message["deps"]] = message["needs"]
        found = self.needs.get(message.get("deps", -1))
        return message if found is None else {**message, "needs": found}

    def _read(self) -> None:
        assert self.child is not None and self.child.stdout is not None
        for line in self.child.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                self.messages.put(message)
        self.messages.put({"end": True})

    def _drain(self) -> None:
        assert self.child is not None and self.child.stderr is not None
        size = 0
        while chunk := os.read(self.child.stderr.fileno(), 65536):
            self.tail.append(chunk)
            size += len(chunk)
            while size - len(self.tail[0]) > KEPT_OUTPUT:
                size -= len(self.tail.popleft())

    def output(self) -> str:
        """The end of what the worker and user code printed."""
        self.threads[1].join(timeout=1)
        return b"".join(self.tail)[-KEPT_OUTPUT:].decode(errors="replace")

    def ending(self) -> str:
        """How the process ended, in words."""
        assert self.child is not None
        try:
            code = self.child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            return "closed its output"
        if code < 0:
            return f"was ended by {signal.Signals(-code).name}"
        return f"ended with exit status {code}"

    def kill(self) -> None:
        """Kill the whole process group: user code may have started children."""
        if self.child is None:
            return
        if hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(self.child.pid, signal.SIGKILL)
        self.child.kill()
        self.child.wait()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
