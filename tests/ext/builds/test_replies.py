"""Real builds with a worker that answers anything: every page is there, every good block shown."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.tracing.checks import reply_problem
from tests.ext.cases import warned
from tests.support import Build, Project
from tests.tracing.test_replies import (
    ERROR,
    FORGED,
    HOSTILE,
    MESSAGES,
    PLAYER,
    PROGRAM,
    places,
    replaced,
)

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(os.name != "posix", reason="an interpreter that is a shell script"),
]

PLAIN = {key: part for key, part in PROGRAM.items() if key not in ("mesh", "settings")}
SHOWN = [{"say": {"result": PLAIN, "deps": 0, "needs": {}}}]


def played(folder: Path, plays: Mapping[str, Any], conf: str = "") -> Project:
    """A project with a page for each few targets, whose worker plays."""
    told = {"*": SHOWN, **plays}
    project = Project(folder, {}, f"suppress_warnings = ['toc.not_included']\n{conf}")
    project.write("plays", json.dumps(told))
    script = project.write(
        "python",
        f"""
        #!/bin/sh
        case "$*" in
        *worker/process.py*) shift 2; PLAYS={folder}/plays exec {sys.executable} {PLAYER} "$@";;
        *) exec {sys.executable} "$@";;
        esac
        """,
    )
    script.chmod(0o755)
    with (project.docs / "conf.py").open("a") as stream:
        stream.write(f"jaxpr_python = {str(script)!r}\n")
    return project


def paged(project: Project, targets: list[str], each: int) -> list[str]:
    """Pages with ``each`` targets and a good block; their names."""
    names = []
    for start in range(0, len(targets), each):
        name = f"p{start}" if start else "index"
        blocks = [
            f"```{{jaxpr-transform}} {target}\n:name: b{start + place}\n:source:\n```\n"
            for place, target in enumerate(targets[start : start + each])
        ]
        good = f"```{{jaxpr-transform}} good.m{start}:f\n:name: good{start}\n```\n"
        claim = f'{{jaxpr:claim}}`it is <good{start}[0].primitive == "sin">`.\n'
        project.write(f"docs/{name}.md", "# Page\n\n" + "\n".join([*blocks, good, claim]))
        names.append(name)
    return names


def good_blocks(built: Build, names: list[str]) -> list[str]:
    """Pages whose good block is not shown."""
    lost = []
    for name in names:
        number = name[1:] if name != "index" else "0"
        if PROGRAM["text"] not in built.texts(name).get(f"jaxpr-good{number}", ""):
            lost.append(name)
    return lost


def accepted() -> list[dict[str, Any]]:
    """Messages of which one field is hostile, and which pass the check all the same."""
    found = []
    for message in MESSAGES[3:]:
        for path in places(message):
            for value in HOSTILE:
                made = replaced(message, path, value)
                if not reply_problem(made, 7):
                    del made["id"]
                    found.append(made)
    return found


@pytest.mark.parametrize("share", [60, 1], ids=["some", "all"])
def test_what_passes_the_check_ends_no_build(tmp_path: Path, share: int) -> None:
    hostile = accepted()
    chosen = hostile[:: max(1, len(hostile) // share)] if share > 1 else hostile
    assert len(chosen) >= 60
    plays = {f"m.m{n}:f": [{"say": message}] for n, message in enumerate(chosen)}
    project = played(tmp_path, plays)
    names = paged(project, list(plays), 40)
    built = project.build()
    assert built.code == 0, built.stderr[-3000:]
    assert "Traceback" not in built.stderr
    assert not good_blocks(built, names)
    for name in names:
        page = built.page(name)
        assert not page.select("figure script, figure [onclick], [href^='javascript:']")


def test_a_bad_reply_is_a_warning_at_its_block(tmp_path: Path) -> None:
    errors = {
        "raises": {"error": {**ERROR, "kind": 5}, "deps": 0},
        "kind": {"error": {**ERROR, "kind": "import", "module": 5}, "deps": 0},
        "searched": {"error": {**ERROR, "kind": "import", "searched": "x"}, "deps": 0},
        "frames": {"error": {**ERROR, "frames": [{}]}, "deps": 0},
        "known": {"error": ERROR, "known": {"jax": 3}, "deps": 0},
    }
    plays = {f"m.{name}:f": done for name, done in FORGED.items()}
    plays |= {f"m.{name}:f": [{"say": message}] for name, message in errors.items()}
    project = played(tmp_path, plays)
    names = paged(project, list(plays), 7)
    built = project.build()
    assert built.code == 0, built.stderr[-3000:]
    assert not good_blocks(built, names)
    found = warned(built)
    assert len(found) == len(plays)
    assert {warning.kind for warning in found} == {"trace"}
    said = [warning.text for warning in found if "can't be used: " in warning.text]
    assert all(any(f"tracing {target} can't" in text for text in said) for target in plays)


def test_a_build_goes_on_from_where_its_time_was_over(tmp_path: Path) -> None:
    stuck = {f"m.stuck{n}:f": [{"do": "import time; time.sleep(100)"}] for n in range(5)}
    targets = ["m.first:f", *stuck, "m.last:f"]
    project = played(tmp_path, stuck, "jaxpr_total_timeout = 2\n")
    paged(project, targets, 9)
    built = project.build()
    (warning,) = warned(built)
    assert warning.kind == "timeout"
    assert warning.text == (
        "tracing stopped after 2 s, the limit of a whole build (jaxpr_total_timeout)"
        " (6 more blocks for the same reason)"
    )
    assert "jaxpr-b0" in built.texts("index")
    project.write("plays", json.dumps({"*": SHOWN}))
    again = project.build("html", "-W")
    assert again.code == 0, again.stderr
    assert again.traced == 7  # the first one was stored
