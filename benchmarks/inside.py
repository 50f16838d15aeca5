"""Figures that only Sphinx's own process can measure: its memory, and its time for results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

_PEAKS: Final = """
import json, resource, sys
from sphinx.cmd.build import main
status = main(sys.argv[2:])
peak = lambda who: resource.getrusage(who).ru_maxrss / 1024
figures = {"sphinx": peak(resource.RUSAGE_SELF), "children": peak(resource.RUSAGE_CHILDREN)}
open(sys.argv[1], "w").write(json.dumps(figures))
sys.exit(status)
"""

#: Seconds of processor that Sphinx's process needs to look programs up, have them traced, check
#: and store them, without what it does for pages meanwhile.
_RECEIVING: Final = """
import json, sys, time
from sphinx.cmd.build import main
from sphinx_jaxpr.ext.judging.session import BuildSession

prepare, seconds = BuildSession.prepare, []

def timed(session, directives):
    session.idle = lambda: False
    start = time.process_time()
    prepare(session, directives)
    seconds.append(time.process_time() - start)

BuildSession.prepare = timed
status = main(sys.argv[2:])
open(sys.argv[1], "w").write(json.dumps({"seconds": sum(seconds)}))
sys.exit(status)
"""


def peaks(project: Path) -> dict[str, float]:
    """The largest memory of Sphinx and of its workers, in MB, in a build from nothing."""
    return _build(project, _PEAKS)


def receiving(project: Path) -> float:
    """Seconds of processor that Sphinx needs to receive and keep results, in a cold build."""
    return _build(project, _RECEIVING)["seconds"]


def _build(project: Path, script: str) -> dict[str, float]:
    file = project / "figures.json"
    command = [sys.executable, "-c", script, str(file), "-q", "-E", "docs", "out-inside"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    subprocess.run(command, cwd=project, env=environment, check=True)
    figures: dict[str, float] = json.loads(file.read_text())
    return figures
