"""A real build whose store can't be what it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.ext.judging.test_rebuild import QUIET, page, traced
from tests.support import Project
from tests.tracing.test_files import put

pytestmark = pytest.mark.once


def test_things_in_the_places_of_files(tmp_path: Path) -> None:
    """Each is as if it were not there, and nothing waits for it."""
    files = {"docs/index.md": page("layers:f", "layers:g", "layers:bad", args="x=f32[2]")}
    project = Project(tmp_path, files, QUIET + '\njaxpr_cache_dir = "../cache"\n')
    body = "    return x * {}\n"
    project.write(
        "src/layers.py",
        "def f(x):\n" + body.format(2) + "def g(x):\n" + body.format(3)
        + "def bad(x):\n    raise ValueError\n",
    )  # fmt: skip
    cache = tmp_path / "cache"
    first = project.build("html", env={"TZ": "UTC"})
    assert first.traced == 3 and len(first.warnings) == 1
    [log] = cache.glob("tracebacks/*.log")
    [pack] = cache.glob("*.pack")
    [index] = cache.glob("index-*.txt")
    assert f"tracebacks/{log.name}" in first.stderr
    # The records move on; where they were there is a pipe.
    pack.rename(pack.with_name(f"{pack.name[0]}-{'0' * 16}.pack"))
    for path, what in ((pack, "pipe"), (index, "folder"), (log, "loop")):
        put(path, what)
    for place in (tmp_path / "out/html/.doctrees/jaxpr").glob("*.txt"):
        put(place, "folder")
    second = project.build("html", "-a")
    assert second.code == 0 and traced(second) == ["layers:bad"]
    assert len(second.warnings) == 1 and f"tracebacks/{log.name}" in second.stderr
    assert set(second.texts("index")) == set(first.texts("index"))
    log.unlink()
    os.rmdir(log.parent)
    put(log.parent, "pipe")
    third = project.build("html")
    assert third.code == 0 and traced(third) == ["layers:bad"]
    assert len(third.warnings) == 1 and "more in" not in third.stderr
