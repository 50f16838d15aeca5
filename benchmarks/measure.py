"""Runs a command and reports what its whole tree of processes used.

    python benchmarks/measure.py FILE COMMAND...

As a command it writes the figures to ``FILE``.  It adopts whatever the command leaves
behind, so a worker that nobody waited for is in the figures too (on Linux).
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PR_SET_CHILD_SUBREAPER: Final = 36


@dataclass(frozen=True)
class Usage:
    """What a command used: seconds on the wall, seconds of processor, largest process in MB."""

    wall: float
    cpu: float
    peak: float

    def __add__(self, other: Usage) -> Usage:
        """One command after the other."""
        return Usage(self.wall + other.wall, self.cpu + other.cpu, max(self.peak, other.peak))


def run(command: Sequence[str], cwd: Path) -> Usage:
    """Run a command, which must succeed."""
    environment = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("JAX_", "XLA_", "PYTHON"))
    }
    environment |= {"PYTHONHASHSEED": "0", "JAX_PLATFORMS": "cpu"}
    with tempfile.NamedTemporaryFile() as figures:
        done = subprocess.run(
            [sys.executable, __file__, figures.name, *command],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr[-3000:]}")
        return Usage(**json.loads(Path(figures.name).read_text()))


def interleaved(rounds: int, arms: Mapping[str, Callable[[], Usage]]) -> dict[str, list[Usage]]:
    """Run all arms in turn, ``rounds`` times; every second round in the opposite order."""
    usages: dict[str, list[Usage]] = {name: [] for name in arms}
    for number in range(rounds):
        for name in list(arms)[:: -1 if number % 2 else 1]:
            usages[name].append(arms[name]())
    return usages


def median(usages: Sequence[Usage]) -> Usage:
    """The median of each figure."""
    return Usage(
        statistics.median(usage.wall for usage in usages),
        statistics.median(usage.cpu for usage in usages),
        statistics.median(usage.peak for usage in usages),
    )


def _main(file: str, command: list[str]) -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ)
    status, wall = 0, 0.0
    while True:
        try:
            pid, code = os.wait()
        except ChildProcessError:
            break
        if pid == child:
            status, wall = os.waitstatus_to_exitcode(code), time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    usage = {"wall": wall, "cpu": used.ru_utime + used.ru_stime, "peak": used.ru_maxrss / 1024}
    Path(file).write_text(json.dumps(usage))
    return status


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], sys.argv[2:]))
