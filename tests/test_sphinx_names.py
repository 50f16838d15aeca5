"""What the package uses of Sphinx is there in the oldest Sphinx, as a type checker sees it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support import PROJECT, interpreter

pytestmark = [pytest.mark.once, pytest.mark.matrix]

#: Names that a module, a class or a function lacks.  Its other complaints are about types.
MISSING = re.compile(r"\[(attr-defined|call-arg|import-not-found)\]$")


def test_every_name_is_in_sphinx_7_4() -> None:
    checked = ("sphinx_jaxpr/ext", "sphinx_jaxpr/lesson")
    python = ("--python-executable", str(interpreter("jaxdocs")))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *python, "--cache-dir", "/dev/null", *checked],
        cwd=PROJECT,
        capture_output=True,
        text=True,
    )
    assert re.search(r"checked \d\d source files", done.stdout), done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if MISSING.search(line)] == []
