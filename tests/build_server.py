"""``sphinx-build`` in processes that are forked from one which has imported Sphinx.

Importing Sphinx is a third of the work of a small build, and half of one without changes.
Each build is a process of its own with the arguments, folder, environment and output that
``python -m sphinx`` would have.  What is imported before is what Sphinx imports in every build:
nothing of this project, of MyST-Parser or of a theme.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn


class BuildServer:
    """The process that forks, started by the first build."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        atexit.register(self.close)

    def build(
        self, arguments: Sequence[str], folder: Path, env: Mapping[str, str], timeout: float
    ) -> tuple[int, str, str]:
        """The exit status of a build, and what it wrote to its two outputs.

        The environment must not have other values for Python itself (``PYTHON...``) than that
        of the first build: an interpreter reads them when it starts.
        """
        with tempfile.TemporaryDirectory() as outputs:
            files = [Path(outputs, name) for name in ("stdout", "stderr")]
            request = {
                "arguments": list(arguments),
                "folder": str(folder),
                "env": dict(env),
                "outputs": [str(file) for file in files],
            }
            code = self._ask(request, env, timeout)
            stdout, stderr = (file.read_text("utf-8", errors="replace") for file in files)
        return code, stdout, stderr

    def _ask(self, request: dict[str, Any], env: Mapping[str, str], timeout: float) -> int:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=dict(env),
                start_new_session=True,
            )
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{json.dumps(request)}\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], timeout)[0]:
            os.killpg(process.pid, signal.SIGKILL)
            self.close()
            raise subprocess.TimeoutExpired(request["arguments"], timeout)
        return int(process.stdout.readline())

    def close(self) -> None:
        """End the process; the next build starts another."""
        process, self._process = self._process, None
        if process is not None:
            with process:  # closes its pipes, which ends it, and waits
                pass


def serve() -> None:
    """Fork for each line of standard input, and answer with the exit status."""
    from sphinx.application import builtin_extensions

    importlib.import_module("sphinx.cmd.build")
    for name in builtin_extensions:
        importlib.import_module(name)
    gc.freeze()  # else a collection in a child copies the memory of all that
    for line in sys.stdin:
        if child := os.fork():
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            sys.stdout.write(f"{status}\n")
            sys.stdout.flush()
        else:
            build(json.loads(line))


def build(request: dict[str, Any]) -> NoReturn:
    """What ``python -m sphinx`` does, in this process."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.stdin = open(os.devnull)  # noqa: SIM115 # open as long as the process
    for descriptor, path in enumerate((os.devnull, *request["outputs"])):
        flags = os.O_WRONLY | os.O_CREAT if descriptor else os.O_RDONLY
        os.dup2(os.open(path, flags, 0o600), descriptor)
    sys.path[0] = request["folder"]
    sys.argv[1:] = request["arguments"]
    runpy.run_module("sphinx", run_name="__main__", alter_sys=True)
    raise SystemExit(0)


if __name__ == "__main__":
    serve()
