"""What the tests share."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from tests.build_server import BuildServer

TESTS = Path(__file__).parent
PROJECT = TESTS.parent


def require(condition: bool, what: str) -> None:
    """Go on where ``condition`` holds; else skip, saying ``what`` is missing.

    Where ``CI`` is set everything is meant to be there, so the test fails.
    """
    if condition:
        return
    if os.environ.get("CI"):
        pytest.fail(f"needs {what}, which a CI machine must have", pytrace=False)
    pytest.skip(f"needs {what}")


def once(*values: str) -> list[Any]:
    """Parameters that are tried in the main environment alone, as tests with that mark are."""
    return [pytest.param(value, marks=pytest.mark.once) for value in values]


def interpreter(environment: str) -> Path:
    """The Python of an environment that ``noxfile.py`` makes: ``oldest`` or ``newest``."""
    folder = PROJECT / ".venvs" / environment
    require(
        (folder / "stamp").exists(),
        f"the {environment} environment: .venv/bin/nox --install-only -s {environment}",
    )
    return folder / "bin" / "python"


CONF = """
import sys
sys.path.insert(0, {code!r})
project = "p"
extensions = ["myst_parser", "sphinx_jaxpr"]
html_theme = "alabaster"
show_warning_types = True
"""

#: Behind the settings of a test: before Sphinx 8 this warning has no type to suppress.
ORPHANS = """
import logging, sphinx
if sphinx.version_info < (8,) and "toc.not_included" in globals().get("suppress_warnings", ()):
    logging.getLogger("sphinx.sphinx.environment").addFilter(
        lambda record: "isn't included in any toctree" not in str(record.msg)
    )
"""

DENSE = """
import jax.numpy as jnp


def dense(x, w, b):
    return jnp.tanh(x @ w + b)
"""


@dataclass
class Build:
    """What one run of ``sphinx-build`` in its own process did."""

    code: int
    out: Path
    stdout: str
    stderr: str

    @property
    def warnings(self) -> list[str]:
        """The lines of standard error that are warnings or errors."""
        return [line for line in self.stderr.splitlines() if _WARNING.search(line)]

    @property
    def traced(self) -> int:
        """How many programs the worker traced."""
        counts = re.findall(r"tracing jaxprs\.\.\. \[ *\d+%\]", self.stdout)
        return len(counts)

    def page(self, name: str) -> BeautifulSoup:
        """A written HTML page."""
        text = (self.out / f"{name}.html").read_text("utf-8")
        # Else Beautiful Soup makes one blank of the blanks that a line begins with.
        return BeautifulSoup(text, "html.parser", preserve_whitespace_tags={"body", "pre"})

    def texts(self, name: str) -> dict[str, str]:
        """The programs that a page shows: id of the figure -> text of its lines."""
        return {
            str(figure["id"]): "\n".join(line.get_text() for line in figure.select(".jaxpr-line"))
            for figure in self.page(name).select("figure.jaxpr")
        }


_SERVER = BuildServer()
_WARNING = re.compile(r"(WARNING|ERROR|CRITICAL|SEVERE):")


class Project:
    """A documentation project in a folder: ``docs/`` with its pages, ``src/`` with its code."""

    def __init__(self, folder: Path, files: Mapping[str, str], conf: str = "") -> None:
        self.folder = folder
        self.docs = folder / "docs"
        self.docs.mkdir(parents=True, exist_ok=True)
        (folder / "src").mkdir(exist_ok=True)
        self.write("src/layers.py", DENSE)
        self.write("docs/conf.py", CONF.format(code=str(folder / "src")) + conf + ORPHANS)
        for name, text in files.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> Path:
        """Write a file; names begin with ``docs/`` or ``src/``."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
        return path

    def build(
        self,
        builder: str = "html",
        *flags: str,
        env: Mapping[str, str] | None = None,
        python: str = sys.executable,
        timeout: float = 300,
        files: Sequence[str] = (),
    ) -> Build:
        """Run ``sphinx-build`` as a user would; outputs go to ``out/<builder>``."""
        out = self.folder / "out" / builder
        only = [str(self.docs / file) for file in files]
        listed = [] if "-q" in flags or "-Q" in flags else ["-v"]  # names each traced program
        arguments = ["-b", builder, *listed, *flags, str(self.docs), str(out), *only]
        own = env or {}
        env = {**os.environ, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"}
        env["PYTHONDONTWRITEBYTECODE"] = "1"  # tests edit modules more often than once a second
        env.update(own)
        if python == sys.executable and not any(name.startswith("PYTHON") for name in own):
            code, stdout, stderr = _SERVER.build(arguments, self.folder, env, timeout)
            return Build(code, out, stdout, stderr)
        done = subprocess.run(
            [python, "-m", "sphinx", *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            cwd=self.folder,
            env=env,
            timeout=timeout,
            check=False,
        )
        return Build(done.returncode, out, done.stdout, done.stderr)
