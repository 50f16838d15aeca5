"""Counts what a build does, so that a test can say how that grows.

Nothing here depends on time: processes started, files written, programs traced, bytes of
output, and calls of the package's functions are the same on every machine.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Builds a project while it counts.  An audit hook sees every start of a process and every
#: file that is opened for writing, whichever way the code goes about it.
_COUNTING: Final = """
import cProfile, json, os, pstats, sys
from pathlib import Path

processes, files = [], set()

def hook(event, arguments):
    if event in ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"):
        processes.append(event)
    elif event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR):
        files.add(str(arguments[0]))

sys.addaudithook(hook)
profile = cProfile.Profile()
from sphinx.cmd.build import main
status = profile.runcall(main, sys.argv[2:])
import sphinx_jaxpr
package = str(Path(sphinx_jaxpr.__file__).parent) + os.sep
stats = pstats.Stats(profile).stats
calls = sum(row[0] for (file, _, _), row in stats.items() if file.startswith(package))
counts = {
    "processes": len(processes),
    "files": sorted(name for name in files if "__pycache__" not in name),
    "calls": calls,
}
open(sys.argv[1], "w").write(json.dumps(counts))
sys.exit(status)
"""


@dataclass(frozen=True)
class Counts:
    """What one build did.

    ``traced`` counts the results that the store gained, ``stored`` is its size in bytes,
    ``bytes`` that of the pages, ``pickled`` that of Sphinx's environment.
    """

    processes: int
    files: tuple[str, ...]
    traced: int
    bytes: int
    stored: int
    pickled: int
    calls: int


def count(project: Path, *flags: str) -> Counts:
    """Build a project, going on from its last build, and count."""
    before = _results(project)
    file = project / "counts.json"
    command = [sys.executable, "-c", _COUNTING, str(file), "-q", *flags]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [*command, "-d", "out/doctrees", "docs", "out/html"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the build failed:\n{done.stdout}\n{done.stderr}")
    counted = json.loads(file.read_text())
    out = project / "out"
    inside = (Path(project, name) for name in counted["files"])
    return Counts(
        processes=counted["processes"],
        files=tuple(str(path) for path in inside if path.is_relative_to(out)),
        traced=_results(project) - before,
        bytes=sum(path.stat().st_size for path in (out / "html").rglob("*.html")),
        stored=sum(path.stat().st_size for path in _packs(project)),
        pickled=(out / "doctrees" / "environment.pickle").stat().st_size,
        calls=counted["calls"],
    )


def _packs(project: Path) -> list[Path]:
    return list((project / "out" / "doctrees" / "jaxpr").rglob("*.pack"))


def _results(project: Path) -> int:
    return sum(len(pack.read_bytes().splitlines()) for pack in _packs(project))


def exponent(figures: Mapping[int, float]) -> float:
    """How figures grow with the size, without what they are at size 0.

    ``figures`` belong to three sizes, each twice the one before: 1 is linear growth,
    2 is quadratic.
    """
    small, middle, large = (figures[size] for size in sorted(figures))
    return math.log2((large - middle) / (middle - small))
