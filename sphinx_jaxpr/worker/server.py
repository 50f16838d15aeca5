"""Answers the requests that the process receives.  Imports user code and JAX.

User code may do anything to the modules that it shares with this one, so everything
needed here is imported, and bound to a name, before it runs.
"""

from __future__ import annotations

import contextvars
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import invalidate_caches
from json import dumps, loads
from os import write
from typing import Any, TextIO

import jax

from ..program.text import spelled_all
from ..tracing.files import JsonObject
from ..tracing.folders import has_inside
from ..tracing.frames import frame
from ..tracing.jobs import CodeToRun, public
from ..tracing.request import Request
from ..tracing.result import ErrorKind, Reply
from .access import watch
from .failures import RequestError, describe, is_a, report_of
from .isolation.isolation import Isolation
from .isolation.scripts import Refused
from .recorder import DependencyRecorder
from .targets.page import Unshared
from .tracer import Tracer

#: Errors that another request may have caused: by a leaked tracer, by memory it holds.
_LEFT_BY_OTHERS = (jax.errors.UnexpectedTracerError, MemoryError)


#: What JSON has of a text with characters that must be spelled out: hidden ones, and lone
#: surrogates, which no page can hold.
_ESCAPES = (b"\\u", b"\\b", b"\\f", b"\\r")
#: The parts of a reply that pages show.
_SHOWN = ("result", "error", "known")


class _Failed(Exception):
    """A module whose import failed before, so that it is not run again."""


def _whole(data: Any) -> Any:
    """JSON data whose texts have lone surrogates spelled out."""
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    if isinstance(data, list):
        return [_whole(item) for item in data]
    if isinstance(data, dict):
        return {_whole(key): _whole(item) for key, item in data.items()}
    return data


class Server:
    """Holds what requests share: what was imported, what failed, what was reported."""

    def __init__(self, replies: int, token: str, package_folder: str, roots: Sequence[str]) -> None:
        self.replies = replies
        self.token = token
        self.package_folder = package_folder
        self.pid = os.getpid()
        self.numbers: dict[str, int] = {}
        #: Modules in the order of their import -> how the import of the last one failed.
        self.failed: dict[tuple[str, ...], Reply] = {}
        has_inside(roots)
        self.recorder = DependencyRecorder(package_folder)
        self.recorder.install()
        watch(self.recorder)
        self.tracer = Tracer(self.recorder, roots)
        self.tracer.page.install()
        self.isolation = Isolation(self.recorder.home)
        self.isolation.install()
        self.recorder.reached = self.isolation.reached
        self.context = contextvars.copy_context()

    def say(self, **message: Any) -> None:
        """Send one message, from this process alone: user code may have forked."""
        if os.getpid() != self.pid:
            os._exit(0)
        text = frame(self.token, message)
        if any(escape in text for escape in _ESCAPES):
            shown = {key: spelled_all(message[key]) for key in _SHOWN if key in message}
            message = {**message, **shown}
            text = frame(self.token, message)
        if b"\\ud" in text:  # files that it depends on are named exactly
            spelled = {key: _whole(part) for key, part in message.items() if key != "needs"}
            text = frame(self.token, {**message, **spelled})
        data = memoryview(text)
        while data:
            data = data[write(self.replies, data) :]

    def serve(self, requests: TextIO) -> None:
        """Answer until the input ends."""
        self.say(ready=True, jax=jax.__version__, python=sys.version.split()[0])
        for number, line in enumerate(requests):
            if not number:  # pages that were read since may have written modules
                invalidate_caches()
            message = loads(line)
            code = CodeToRun(*map(tuple, message["code"])) if "code" in message else None
            self.answer(message["id"], message["request"], code)

    def answer(self, number: int, data: Mapping[str, Any], code: CodeToRun | None = None) -> None:
        """Carry out one request, and reply whatever happens; ``code`` is that of its page."""
        request = Request.from_json(data)
        if code is not None:
            self.tracer.page.add(request.code, code)
        context = self.context.copy()  # context variables are the request's own
        context.run(self._answer, number, request)

    def _answer(self, number: int, request: Request) -> None:
        self.recorder.request = f"request {number}"
        try:
            with self.isolation.of_request():
                reply, doubt = self._reply(number, request)
                refusal = self.isolation.verdict() or doubt
                if request.code:
                    reply = self.tracer.page.relocated(reply, request.code)
        except (Refused, Unshared) as refused:
            refusal = str(refused)
        except BaseException as error:  # user code changed what this process relies on
            refusal = f"{type(error).__name__} in the tracing process's own code"
            self.isolation.spent = refusal
        finally:
            self.recorder.request = ""
        if refusal:
            self.say(id=number, again=public(refusal))
        else:
            self.say(id=number, **reply.to_json(), **self.dependencies(request, number))

    def _reply(self, number: int, request: Request) -> tuple[Reply, str]:
        """The reply to a request, and why another request may have caused it, or ``""``."""
        stage = ErrorKind.IMPORT
        loaded: tuple[str, ...] = ()
        imports = False

        def importing(module: str) -> None:
            nonlocal loaded, imports
            loaded = (*loaded, module)
            if loaded in self.failed:
                raise _Failed(module)
            if module not in sys.modules:
                self.say(id=number, stage="import", module=module)
                imports = True

        try:
            target = self.tracer.prepare(request, importing)
            stage = ErrorKind.TRACE
            if imports:  # what follows is not to be blamed on a module
                self.say(id=number, stage="trace")
            if self.isolation.forgets:
                self.tracer.stages.clear()
            settings = self.isolation.prepared()
            result = self.tracer.trace(request, target)
            return Reply(replace(result, settings=settings)), ""
        except _Failed:
            return self.failed[loaded], ""
        except (Refused, Unshared) as refused:
            return Reply(), str(refused)
        except BaseException as error:  # sys.exit and KeyboardInterrupt in user code too
            kind = report_of(error).kind if is_a(error, RequestError) else stage
            owner = request.target.replace(":", ".").partition(".")[0]
            report = describe(error, kind, self.package_folder, owner)
            doubt = self._doubt(error, kind)
            if kind is ErrorKind.IMPORT:
                reply = Reply(error=replace(report, module=loaded[-1]))
                if loaded[-1] not in sys.modules and not doubt:
                    self.failed[loaded] = reply
                return reply, doubt
            return Reply(
                error=report, known=self.tracer.partial if kind is ErrorKind.TRACE else None
            ), doubt

    def _doubt(self, error: BaseException, kind: ErrorKind) -> str:
        """Why an earlier request in this process may have caused an error.

        A missing module, or one with invalid syntax, fails in every process.
        """
        doubtful = kind is ErrorKind.IMPORT and not is_a(error, (ModuleNotFoundError, SyntaxError))
        if doubtful and self.isolation.strangers:
            return "its import failed where others were imported before"
        if is_a(error, _LEFT_BY_OTHERS) and self.isolation.request > 1:
            return f"it failed with {type(error).__name__} where others were traced before"
        return ""

    def dependencies(self, request: Request, number: int) -> JsonObject:
        """A number for a set of dependencies, with the set itself the first time."""
        modules = [path.partition(":")[0] for _, path in request.third_party]
        modules.append(request.module or self._module_of(request.target))
        modules += [name for _, name in request.option_modules]
        modules += [name for name in self.tracer.around(request) if name in sys.modules]
        modules += [self.tracer.page.module_of(request.code)] if request.code else []
        needs = self.recorder.dependencies(modules, f"request {number}").to_json()
        key = dumps(needs, sort_keys=True)
        if key in self.numbers:
            return {"deps": self.numbers[key]}
        self.numbers[key] = len(self.numbers)
        return {"deps": self.numbers[key], "needs": needs}

    @staticmethod
    def _module_of(target: str) -> str:
        parts = target.split(".")
        for cut in range(len(parts), 0, -1):
            if ".".join(parts[:cut]) in sys.modules:
                return ".".join(parts[:cut])
        return ""
