"""``python -m sphinx_jaxpr drift``: one documentation, two interpreters."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sphinx_jaxpr.__main__ import main
from tests.support import PROJECT, Project, interpreter

pytestmark = pytest.mark.once

PAGE = """
# Page

```{jaxpr-transform} changing:f
:args: x=f32[3]
:transforms: grad, vmap
:name: f
```

```{jaxpr-transform} changing:same
:args: x=f32[3]
```

```{jaxpr-transform} changing:fails
:args: x=f32[3]
```

{jaxpr:claim}`a sine <f[sin]>`, {jaxpr:claim}`two <len(same_) == 1>` and
{jaxpr:claim}`always false <len(same_) == 2>`.
"""
CODE = """
import os

import jax.numpy as jnp

NEW = "NEW_JAX" in os.environ


def f(x):
    return jnp.cos(x) if NEW else jnp.sin(x)


def same(x):
    return x * 2.0


def fails(x):
    if NEW:
        raise TypeError("no more")
    return x
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"docs/index.md": PAGE, "src/changing.py": CODE})


def other(project: Project) -> str:
    """An interpreter in which the code does something else."""
    text = f'#!/bin/sh\nNEW_JAX=1 exec "{sys.executable}" "$@"\n'
    path = project.write("python.sh", text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sphinx_jaxpr", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        timeout=300,
        check=False,
    )


def test_blocks_are_compared(project: Project) -> None:
    before = {path for path in project.folder.rglob("*") if "__pycache__" not in path.parts}
    python = other(project)
    done = command("drift", str(project.docs), "--python", python)
    assert (done.returncode, done.stderr) == (1, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "f: program" in lines
    assert "[sin] equation | f32[3] = sin | | program" in lines
    assert "[cos] equation | | f32[3] = cos | program" in lines
    assert "index/fails: program" in lines
    assert "result | a program | TypeError | program" in lines
    assert lines[-2].endswith("5 blocks: 1 same, 4 program")
    assert lines[-1] == "1 sentence would become false"
    broken = next(line for line in lines if "[jaxpr.claim]" in line)
    assert broken.startswith("index.md:17: [jaxpr.claim] claim 'a sine' is false on JAX")
    assert "always false" not in done.stdout
    told = command("drift", str(project.docs), "--python", python, "--json")
    data = json.loads(told.stdout)
    assert {block["name"]: block["level"] for block in data["blocks"]} == {
        "f": "program", "f.grad": "program", "f.vmap": "program",
        "index/same_": "same", "index/fails": "program",
    }  # fmt: skip
    assert [one["line"] for one in data["broken"]] == [17]
    now = {path for path in project.folder.rglob("*") if "__pycache__" not in path.parts}
    assert now == {*before, Path(python)}


def test_nothing_differs_from_itself(project: Project) -> None:
    done = command("drift", str(project.docs), "--python", sys.executable)
    assert (done.returncode, done.stderr) == (0, "")
    blocks, sentences = done.stdout.splitlines()
    assert blocks.endswith("5 blocks: 5 same")
    assert sentences == "No sentences would become false"


def test_what_cannot_be_compared(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drift", str(project.folder), "--python", sys.executable]) == 2
    assert "has no conf.py" in capsys.readouterr().err
    assert main(["drift", str(project.docs), "--python", "/no/such/python"]) == 2
    assert "'/no/such/python' can't be started" in capsys.readouterr().err
    # Sphinx would put the default in the place of each: JAX compared with itself.
    for python in ("", " ", "\udcff", "~" + "x" * 5_000, "a\0b"):
        assert main(["drift", str(project.docs), "--python", python]) == 2
        assert "python" in (told := capsys.readouterr().err)
        assert len(told) < 500
    assert main(["drift", str(project.docs), "--python", sys.executable, "-D", "jaxpr_open"]) == 2
    assert "expected NAME=VALUE, found 'jaxpr_open'" in capsys.readouterr().err
    project.write("docs/index.md", "# Nothing\n")
    assert main(["drift", str(project.docs), "--python", sys.executable]) == 2
    assert "has no block to trace" in capsys.readouterr().err
    project.write("docs/conf.py", "raise ValueError('broken conf')\n")
    assert main(["drift", str(project.docs), "--python", sys.executable]) == 2
    assert "broken conf" in capsys.readouterr().err


@pytest.mark.matrix
def test_with_the_newest_jax(project: Project) -> None:
    project.write("docs/index.md", PAGE.replace("changing:f\n", "layers:dense\n").replace(
        "x=f32[3]\n:transforms: grad, vmap", "x=f32[2,3], w=f32[3,3], b=f32[3]\n:transforms: grad"
    ))  # fmt: skip
    newest = interpreter("newest")
    done = command("drift", str(project.docs), "--python", str(newest))
    assert done.returncode in (0, 1), done.stderr
    assert " -> " in done.stdout.splitlines()[-2]
