"""Everything that can be run on this project: ``nox --list``.

The sessions ``oldest``, ``jaxdocs`` and ``newest`` have environments under ``.venvs``, which are
recreated when ``pyproject.toml``, their pins or their Python change, and with
``--reuse-venv=never``.  All other sessions run in the environment of nox itself:
``make`` installs it in ``.venv``.  What follows ``--`` goes to the command of a session::

    .venv/bin/nox -s main -- tests/program -q

A pinned session that can't be set up on this machine is skipped; where ``CI`` is set,
it fails.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nox
from nox.command import CommandFailed

PROJECT = Path(__file__).resolve().parent
ENVIRONMENTS = PROJECT / ".venvs"
HTML = "docs/_build/html"
CI = bool(os.environ.get("CI"))

nox.needs_version = ">=2025.10.14"
nox.options.envdir = str(ENVIRONMENTS)
nox.options.error_on_missing_interpreters = CI
nox.options.download_python = "never"
nox.options.default_venv_backend = "uv|virtualenv"  # pip takes a minute for each environment


# --- interpreters -----------------------------------------------------------

# A final CPython with a GIL prints its version.
PROBE = """
import sys, sysconfig
final = sys.version_info.releaselevel == "final"
cpython = sys.implementation.name == "cpython"
if final and cpython and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print("%d.%d" % sys.version_info[:2])
"""


def version_of(python: str) -> str | None:
    """The version, as ``3.13``, of an interpreter that runs and prints it; else ``None``."""
    try:
        probe = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return probe.stdout.strip() or None


def pyenv_root() -> Path | None:
    """The folder of pyenv, whose versions are on PATH only where they are activated."""
    if root := os.environ.get("PYENV_ROOT"):
        return Path(root)
    if pyenv := shutil.which("pyenv"):
        done = subprocess.run([pyenv, "root"], capture_output=True, text=True)
        return Path(done.stdout.strip()) if done.returncode == 0 else None
    return None


def candidates(version: str) -> Iterator[str]:
    """Where an interpreter of a version may be: here, on PATH, among those of pyenv."""
    yield sys.executable
    if python := shutil.which(f"python{version}"):
        yield python
    if root := pyenv_root():
        # Sorted as text: any patch release will do.
        yield from map(str, sorted(root.glob(f"versions/{version}.*/bin/python"), reverse=True))


def interpreter(versions: Sequence[str]) -> tuple[str, str] | None:
    """The first of some versions that this machine has, and its interpreter."""
    for version in versions:
        for python in candidates(version):
            if version_of(python) == version:
                return version, python
    return None


# --- the pinned environments ------------------------------------------------


@dataclass(frozen=True)
class Pinned:
    """An environment under ``.venvs``, with a Python and packages of its own."""

    name: str
    versions: tuple[str, ...]  # of Python, the preferred one first
    pins: tuple[str, ...]

    @cached_property
    def interpreter(self) -> tuple[str, str] | None:
        return interpreter(self.versions)

    @property
    def python(self) -> str:
        """The interpreter; where there is none, words that nox reports as missing."""
        missing = f"{' or '.join(self.versions)} (final CPython)"
        return self.interpreter[1] if self.interpreter else missing

    @property
    def stamp(self) -> Path:
        """Holds the recipe that the environment was made from; tests look for it, too."""
        return ENVIRONMENTS / self.name / "stamp"

    @cached_property
    def recipe(self) -> str:
        version = self.interpreter[0] if self.interpreter else ""
        project = (PROJECT / "pyproject.toml").read_text("utf-8")
        return hashlib.sha256("\n".join([*self.pins, version, project]).encode()).hexdigest()

    @property
    def current(self) -> bool:
        """Whether the environment is complete and was made from this recipe."""
        return self.stamp.exists() and self.stamp.read_text("utf-8") == self.recipe

    def install(self, session: nox.Session) -> None:
        """Install the project and the pins, unless the environment has them."""
        if self.current:
            return
        self.stamp.unlink(missing_ok=True)
        uv = session.venv_backend == "uv"
        pip = ("uv", "pip") if uv else ("python", "-m", "pip")
        quiet = ("--quiet", *(["--compile-bytecode"] if uv else []))
        try:
            ran = session.run_install(*pip, "install", *quiet, "--editable", ".[test]", *self.pins)
        except CommandFailed:
            if CI:
                raise
            session.skip("its packages cannot be installed on this machine, see above")
        if ran:  # not with --no-install
            self.stamp.write_text(self.recipe, "utf-8")


OLDEST = Pinned(
    "oldest",
    ("3.11",),
    ("jax==0.7.2", "jaxlib==0.7.2", "sphinx==7.4.*", "myst-parser==3.*", "docutils==0.20.*"),
)
# What JAX's own pages are built with: the lines of docs/requirements.txt of jax-ml/jax
# (2026-08-08) that its conf.py and its pages load, on the Python of its .readthedocs.yml.
JAXDOCS = Pinned(
    "jaxdocs",
    ("3.12", "3.11"),
    (
        "jax",
        "sphinx>=7.3.2,<8.0",
        "pydata-sphinx-theme==0.16.1",
        "snowballstemmer<3.0.0",
        "sphinx-book-theme==1.1.1",
        "myst-nb>=1.0.0",
        "ipython>=8.8.0",
        "sphinx-copybutton>=0.5.0",
        "sphinx-design",
        "sphinx-remove-toctrees",
        "sphinxcontrib-mermaid",
        "sphinxext-rediraffe",
        "matplotlib",
    ),
)
NEWEST = Pinned("newest", ("3.14", "3.13"), ("jax", "sphinx", "myst-parser"))


# --- what `make test` runs, in this order -----------------------------------

PYTEST = ("-m", "pytest", "-n", "2", "--dist", "worksteal", "--durations", "12")


def run_tests(session: nox.Session, python: str, *arguments: str) -> None:
    """pytest, with byte code: else each of a thousand processes compiles the package itself."""
    session.run(python, "-m", "compileall", "-q", "sphinx_jaxpr")
    session.run(python, *PYTEST, *arguments, env={"PYTHONDONTWRITEBYTECODE": ""})


@nox.session(venv_backend="none")
@nox.parametrize(
    "command",
    [
        nox.param(("ruff", "check", "."), id="check"),
        nox.param(("ruff", "format", "--check", "."), id="format"),
        nox.param(("mypy",), id="types"),
    ],
)
def lint(session: nox.Session, command: tuple[str, ...]) -> None:
    """ruff and mypy"""
    session.run(sys.executable, "-m", *command)


def pinned(session: nox.Session, environment: Pinned) -> None:
    environment.install(session)
    marks = "not browser and not latex and not slow and not once and not long and not jaxdocs"
    run_tests(session, "python", "-m", marks, *session.posargs)


@nox.session(python=OLDEST.python, reuse_venv=OLDEST.current)
def oldest(session: nox.Session) -> None:
    """the tests on Python 3.11 with the oldest supported versions"""
    pinned(session, OLDEST)


@nox.session(python=JAXDOCS.python, reuse_venv=JAXDOCS.current)
def jaxdocs(session: nox.Session) -> None:
    """pages as JAX's documentation builds them; without CI, all that builds pages"""
    JAXDOCS.install(session)
    if CI:
        chosen: tuple[str, ...] = ("tests/ext/builds/test_jaxdocs.py",)
    else:
        marks = "not browser and not latex and not slow and not once"
        chosen = ("-m", marks, "tests/ext", "tests/lesson")
    run_tests(session, "python", *(session.posargs or chosen))


@nox.session(python=NEWEST.python, reuse_venv=NEWEST.current)
def newest(session: nox.Session) -> None:
    """the tests on the newest Python here with the newest of everything"""
    pinned(session, NEWEST)


@nox.session(venv_backend="none")
def main(session: nox.Session) -> None:
    """the whole suite; last, as some of its tests trace in the other two environments"""
    if CI:
        session.log("CI is set: leaving out the tests in tests/long.txt")
    marks = "not long and not jaxdocs" if CI else "not jaxdocs"
    run_tests(session, sys.executable, "-m", marks, *session.posargs)


# --- what is run by name ----------------------------------------------------


@nox.session(venv_backend="none", default=False)
def docs(session: nox.Session) -> None:
    """the documentation, built with this extension"""
    sphinx = ("-m", "sphinx", "-W", "-n", "-j", "auto", "-b", "html", "docs", HTML)
    session.run(sys.executable, *sphinx)
    session.log(f"Open {HTML}/index.html")
    session.log(f"The lesson: {HTML}/lessons/transforms.html")


@nox.session(venv_backend="none", default=False)
def oracle(session: nox.Session) -> None:
    """what the language says, checked against jaxpr objects at length"""
    session.run(sys.executable, "-m", "tests.oracle", *session.posargs)


@nox.session(venv_backend="none", default=False)
def faults(session: nox.Session) -> None:
    """real builds under kills, full disks and forged files"""
    session.run(sys.executable, "-m", "tests.faults", *session.posargs)


@nox.session(venv_backend="none", default=False)
def benchmarks(session: nox.Session) -> None:
    """all rows of benchmarks/results.md, in an hour: seconds and memory beside others"""
    session.run(sys.executable, "-m", "benchmarks", *session.posargs)


@nox.session(venv_backend="none", default=False, requires=["docs"])
def picture(session: nox.Session) -> None:
    """the pictures of the readme, taken from the lesson (needs Chromium)"""
    session.run(sys.executable, "tools/picture.py", HTML)
