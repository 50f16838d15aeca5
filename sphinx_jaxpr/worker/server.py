"""Answers the requests that the process is sent.  Imports user code and JAX.

User code may do anything to the modules that it shares with this one, so all
that is needed here is imported, and bound to a name, before it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from json import dumps, loads
from typing import Any, TextIO

import jax

from ..tracing.request import Request
from .asking import watch
from .failures import RequestError, describe
from .recorder import Recorder
from .tracer import Tracer


class _Failed(Exception):
    """A module whose import failed before: it is not run a second time."""


class Server:
    """Holds what requests share: what was imported, what failed, what was told."""

    def __init__(self, replies: TextIO, package_folder: str, roots: Sequence[str]) -> None:
        self.replies = replies
        self.package_folder = package_folder
        self.pid = os.getpid()
        self.known: dict[str, int] = {}
        self.failed: dict[str, dict[str, Any]] = {}  # module -> how its import failed
        self.recorder = Recorder(package_folder)
        self.recorder.install()
        watch(self.recorder)
        self.tracer = Tracer(self.recorder, roots)

    def say(self, **message: Any) -> None:
        """Send one message, from this process alone: user code may have forked."""
        if os.getpid() != self.pid:
            os._exit(0)
        self.replies.write(dumps(message) + "\n")
        self.replies.flush()

    def serve(self, requests: TextIO) -> None:
        """Answer until the input ends."""
        self.say(ready=True, jax=jax.__version__, python=sys.version.split()[0])
        for line in requests:
            message = loads(line)
            self.answer(message["id"], message["request"])

    def answer(self, number: int, data: dict[str, Any]) -> None:
        """Carry out one request; whatever happens is its outcome."""
        request = Request.from_json(data)
        self.recorder.request = f"request {number}"
        stage, current = "import", ""

        def importing(module: str) -> None:
            nonlocal current
            current = module
            if module in self.failed:
                raise _Failed(module)
            self.say(id=number, stage="import", module=module)

        try:
            found = self.tracer.prepare(request, importing)
            stage = "trace"
            self.say(id=number, stage=stage)
            outcome = {"result": self.tracer.trace(request, found)}
        except _Failed:
            outcome = self.failed[current]
        except BaseException as error:  # sys.exit and KeyboardInterrupt in user code too
            kind = error.kind if isinstance(error, RequestError) else stage
            owner = request.target.replace(":", ".").partition(".")[0]
            outcome = {"error": describe(error, kind, self.package_folder, owner)}
            if kind == "trace":
                outcome["known"] = self.tracer.known
            if kind == "import":
                outcome["error"]["module"] = current
                if current not in sys.modules:
                    self.failed[current] = outcome
        finally:
            self.recorder.request = ""
        self.say(id=number, **outcome, **self.dependencies(request, number))

    def dependencies(self, request: Request, number: int) -> dict[str, Any]:
        """A number for the set of dependencies; the set itself the first time."""
        modules = [path.partition(":")[0] for _, path in request.third_party]
        modules.append(request.module or self._module_of(request.target))
        modules += [name for name in self.tracer.around(request) if name in sys.modules]
        needs = self.recorder.dependencies(modules, f"request {number}").to_json()
        key = dumps(needs, sort_keys=True)
        if key in self.known:
            return {"deps": self.known[key]}
        self.known[key] = len(self.known)
        return {"deps": self.known[key], "needs": needs}

    @staticmethod
    def _module_of(target: str) -> str:
        parts = target.split(".")
        for cut in range(len(parts), 0, -1):
            if ".".join(parts[:cut]) in sys.modules:
                return ".".join(parts[:cut])
        return ""
