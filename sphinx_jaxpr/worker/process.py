"""The process that imports user code and JAX, and answers JSON lines.

It is started by path, under any interpreter that has JAX: the package is
loaded from beside this file and nothing of Sphinx's environment is needed.

Protocol.  In, one JSON object a line: a greeting with ``token``, ``roots``, ``memory`` and
``devices``, then one ``{"id", "request"}`` per program.  Out, in frames that carry the token
(``tracing/frames.py``), so that nothing that user code writes is taken for a message: ``{"ready"}``
or ``{"broken"}``, then for each request ``{"id", "stage", "module"}`` as work begins and goes on,
and ``{"id", "result" | "error", "deps"}`` at its end.  ``{"id", "again"}`` instead says why this
process, after what it traced before, can't give what the request gives alone: it is for another.
An ``id`` is random: who answers a request was sent it.

The pipes come as descriptors 0 and 1.  They are moved at once to numbers that nobody hits by
accident, and are closed in every program that user code starts.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import sys
import threading
import time
import traceback
from typing import TextIO

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


def _away(descriptor: int) -> int:
    """A copy of a descriptor with a number that no loop over small numbers meets."""
    try:
        import fcntl
    except ImportError:  # not a Unix
        return os.dup(descriptor)
    for number in (1000 + os.getpid() % 20_000, 900, 200, 50):
        with contextlib.suppress(OSError):  # more than the process may have
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, number)
    return os.dup(descriptor)


def _withdraw_package() -> None:
    """Take the package out of reach: what user code imports of it is another copy.

    All of it is loaded, and bound where it is used.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == "sphinx_jaxpr"]:
        del sys.modules[name]


def _private_streams() -> tuple[TextIO, int]:
    """Keep the pipes for the protocol; user code gets no input, its output goes to fd 2."""
    requests = os.fdopen(_away(0), "r", encoding="utf-8")
    replies = _away(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - lives on
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115 - lives on
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
    with (
        contextlib.suppress(OSError),
        open("/proc/self/oom_score_adj", "w", encoding="ascii") as stream,
    ):
        stream.write("1000")


def _leave_with_parent() -> None:
    """End when the keeper is gone, where the system does not see to it."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)  # what user code started goes too
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Serve until the input ends."""
    requests, replies = _private_streams()
    _load_package()
    from sphinx_jaxpr.tracing.frames import frame
    from sphinx_jaxpr.worker.keeper import keep

    life = int(sys.argv.pop()) if len(sys.argv) > 1 else -1
    if not keep(life, (requests.fileno(), replies)):
        _leave_with_parent()
    greeting = json.loads(requests.readline())
    token = greeting["token"]
    _guard_memory(greeting["memory"])
    roots = greeting["roots"]
    # Behind all else while JAX is imported: a project's random.py is not what JAX means.
    sys.path[:] = [entry for entry in sys.path if entry not in roots] + roots
    try:
        import jax

        if not hasattr(jax, "make_jaxpr"):
            raise ImportError("the module 'jax' that was found is not JAX")
        if greeting["devices"]:
            jax.devices()
        # After JAX, and once: user code may clear sys.modules.
        from sphinx_jaxpr.worker.server import Server

        _withdraw_package()
        sys.path[:] = roots + [entry for entry in sys.path if entry not in roots]
        server = Server(replies, token, PACKAGE_FOLDER, roots)
    except BaseException as error:
        os.write(replies, frame(token, {"broken": f"{type(error).__name__}: {error}"}))
    else:
        try:
            server.serve(requests)
        except BaseException:  # the pipe is not as it was
            traceback.print_exc()
            os._exit(1)
    os._exit(0)  # threads of user code don't keep the process


if __name__ == "__main__":
    main()
