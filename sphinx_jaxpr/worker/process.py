"""The process that imports user code and JAX, and answers JSON lines.

It is started by path, under any interpreter that has JAX: the package is
loaded from this file's folder, and Sphinx's environment is not needed.

Protocol.  In, one JSON object a line: a greeting with ``token``, ``roots``, ``memory`` and
``devices``, then one ``{"id", "request"}`` per program.  Out, in frames that carry the token
(``tracing/frames.py``), so that no output of user code is taken for a message: ``{"ready"}``
or ``{"broken"}``, then for each request ``{"id", "stage", "module"}`` as work begins and proceeds,
and ``{"id", "result" | "error", "deps"}`` at its end.  ``{"id", "again"}`` instead says why this
process, after what it traced before, can't trace the request as if it were alone, so that another
process must.  An ``id`` is random, so only a process that was sent a request can answer it.

The pipes arrive as descriptors 0 and 1.  They are moved at once to numbers that no code uses by
accident, and are closed in every program that user code starts.
"""

from __future__ import annotations

import contextlib
import gc
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
    """A copy of a descriptor with a number that no loop over small numbers reaches."""
    try:
        import fcntl
    except ImportError:  # not a Unix
        return os.dup(descriptor)
    for number in (1000 + os.getpid() % 20_000, 900, 200, 50):
        with contextlib.suppress(OSError):  # above the limit of the process
            return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, number)
    return os.dup(descriptor)


def _withdraw_package() -> None:
    """Take the package out of reach: user code that imports it gets another copy.

    By now all modules are loaded, and their names are bound where they are used.
    """
    for name in [name for name in sys.modules if name.partition(".")[0] == "sphinx_jaxpr"]:
        del sys.modules[name]


def _private_streams() -> tuple[TextIO, int]:
    """Keep the pipes for the protocol; user code has no input, and its output goes to fd 2."""
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
    """Turn a memory blow-up into a MemoryError here, before the machine suffers."""
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


#: Allocations after which Python looks for garbage, by generation.  A trace makes many objects that
#: live on; by its defaults Python would look through them again and again.
_GARBAGE = (50_000, 20, 50)


def _collect_seldom() -> None:
    """Look for garbage seldom, and never among what is imported by now.

    Isolation takes this for the settings of the start, like any that user code may change.
    """
    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    gc.enable()


def _leave_with_parent() -> None:
    """End when the keeper is gone, if the system does not take care of that."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)  # end what user code started too
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
    # Last while JAX is imported, which must not get a project's random.py.
    sys.path[:] = [entry for entry in sys.path if entry not in roots] + roots
    gc.disable()  # imports leave no garbage worth a look
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
        _collect_seldom()
        server = Server(replies, token, PACKAGE_FOLDER, roots)
    except BaseException as error:
        os.write(replies, frame(token, {"broken": f"{type(error).__name__}: {error}"}))
    else:
        try:
            server.serve(requests)
        except BaseException:  # user code changed the pipe
            traceback.print_exc()
            os._exit(1)
    os._exit(0)  # threads of user code don't keep the process alive


if __name__ == "__main__":
    main()
