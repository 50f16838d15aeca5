"""The process that imports user code and JAX, and answers JSON lines.

It is started by path, under any interpreter that has JAX: the package is
loaded from beside this file and nothing of Sphinx's environment is needed.

Protocol, one JSON object a line.  In: a greeting with ``roots``, then one
``{"id", "request"}`` per program.  Out: ``{"ready"}`` or ``{"broken"}``, then
for each request ``{"id", "stage", "module"}`` as work begins and goes on, and
``{"id", "result" | "error", "deps"}`` at its end.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import threading
import time
from typing import Any, TextIO

PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _load_package() -> None:
    """Make ``sphinx_jaxpr`` importable without touching ``sys.path``."""
    spec = importlib.util.spec_from_file_location(
        "sphinx_jaxpr",
        os.path.join(PACKAGE_FOLDER, "__init__.py"),
        submodule_search_locations=[PACKAGE_FOLDER],
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sphinx_jaxpr"] = module
    spec.loader.exec_module(module)


def _private_streams() -> tuple[TextIO, TextIO]:
    """Keep the pipes for the protocol; user code gets no input, its output goes to fd 2."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - lives on
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    return requests, replies


def _guard_memory(megabytes: int) -> None:
    """Let a blow-up be a MemoryError here, not the end of the machine's patience."""
    try:
        import resource
    except ImportError:  # not a Unix
        return
    if not megabytes:
        megabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**21
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (megabytes * 2**20,) * 2)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as stream:
        stream.write("1000")


def _leave_with_parent() -> None:
    """End when the build is gone: a killed Sphinx leaves no endless loop behind."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Failed(Exception):
    """A module whose import failed before: it is not run a second time."""


class _Server:
    def __init__(self, requests: TextIO, replies: TextIO) -> None:
        self.requests = requests
        self.replies = replies
        self.known: dict[tuple[Any, ...], int] = {}
        self.failed: dict[str, dict[str, Any]] = {}  # module -> how its import failed

    def say(self, **message: Any) -> None:
        self.replies.write(json.dumps(message) + "\n")
        self.replies.flush()

    def start(self) -> None:
        greeting = json.loads(self.requests.readline())
        _guard_memory(greeting["memory"])
        sys.path[:0] = greeting["roots"]
        try:
            import jax

            if not hasattr(jax, "make_jaxpr"):
                raise ImportError("the module 'jax' that was found is not JAX")
            from sphinx_jaxpr.worker.recorder import Recorder
            from sphinx_jaxpr.worker.tracer import Tracer

            jax.devices("cpu") if greeting.get("devices") else None
        except BaseException as error:
            self.say(broken=f"{type(error).__name__}: {error}")
            return
        self.recorder = Recorder(PACKAGE_FOLDER)
        self.recorder.install()
        self.tracer = Tracer(self.recorder, greeting["roots"])
        self.say(ready=True, jax=jax.__version__, python=sys.version.split()[0])
        for line in self.requests:
            message = json.loads(line)
            self.answer(message["id"], message["request"])

    def answer(self, number: int, data: dict[str, Any]) -> None:
        from sphinx_jaxpr.tracing.request import Request
        from sphinx_jaxpr.worker.failures import RequestError, describe

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
            outcome = {"error": describe(error, kind, PACKAGE_FOLDER, owner)}
            if kind == "import":
                self.failed[current] = outcome
        finally:
            self.recorder.request = ""
        self.say(id=number, **outcome, **self.dependencies(request, number))

    def dependencies(self, request: Any, number: int) -> dict[str, Any]:
        """A number for the set of dependencies; the set itself the first time."""
        modules = [path.partition(":")[0] for _, path in request.third_party]
        modules.append(request.module or self._module_of(request.target))
        files, distributions = self.recorder.dependencies(modules, f"request {number}")
        key = (*files, None, *distributions)
        if key in self.known:
            return {"deps": self.known[key]}
        self.known[key] = len(self.known)
        return {
            "deps": self.known[key],
            "files": {file: self.recorder.digest(file) for file in files},
            "distributions": distributions,
        }

    @staticmethod
    def _module_of(target: str) -> str:
        parts = target.split(".")
        for cut in range(len(parts), 0, -1):
            if ".".join(parts[:cut]) in sys.modules:
                return ".".join(parts[:cut])
        return ""


def main() -> None:
    """Serve until the input ends."""
    requests, replies = _private_streams()
    _load_package()
    _leave_with_parent()
    _Server(requests, replies).start()
    replies.flush()
    os._exit(0)  # threads of user code don't keep the process


if __name__ == "__main__":
    main()
