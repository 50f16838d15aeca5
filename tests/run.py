"""Run the whole test matrix, and close with one summary.

    python tests/run.py [--only main|oldest|newest] [--fresh] [-- PYTEST ARGUMENTS]

=========  ==================================================================
``main``   the environment of the Python that runs this file: ruff, mypy and
           the whole suite
``oldest``  Python 3.11 with the oldest versions that are supported
``newest``  the newest Python found here, with the newest of everything
=========  ==================================================================

The last two live under ``.venvs`` and are made anew when ``pyproject.toml`` or
their pins change, or with ``--fresh``.  One that can't be made here is
reported as SKIPPED; where ``CI`` is set, that is a failure.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = PROJECT / ".venvs"
REPORTED = ("jax", "jaxlib", "numpy", "sphinx", "docutils", "myst-parser", "pytest")


# --- interpreters -----------------------------------------------------------


def version_of(python: str | Path) -> tuple[int, int] | None:
    """The version of an interpreter, if it runs, is final and is CPython with a GIL."""
    probe = (
        "import sys, sysconfig; v = sys.version_info;"
        "fit = v.releaselevel == 'final' and sys.implementation.name == 'cpython'"
        " and not sysconfig.get_config_var('Py_GIL_DISABLED');"
        "print(*v[:2]) if fit else sys.exit(1)"
    )
    try:
        done = subprocess.run([python, "-c", probe], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    major, minor = done.stdout.split()
    return int(major), int(minor)


def interpreters(minors: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], str]]:
    """Interpreters of these minor versions: this one, those on PATH, those of pyenv."""
    candidates = [sys.executable]
    for minor in minors:
        candidates.append(shutil.which(f"python3.{minor}") or "")
        for root in pyenv_roots():
            found = root.glob(f"versions/3.{minor}.*/bin/python")
            candidates.extend(str(path) for path in sorted(found, reverse=True))
    for candidate in filter(None, candidates):
        version = version_of(candidate)
        if version is not None and version[0] == 3 and version[1] in minors:
            yield version, candidate


def pyenv_roots() -> Iterator[Path]:
    if root := os.environ.get("PYENV_ROOT"):
        yield Path(root)
    elif pyenv := shutil.which("pyenv"):
        done = subprocess.run([pyenv, "root"], capture_output=True, text=True)
        if done.returncode == 0:
            yield Path(done.stdout.strip())


def oldest_python() -> str | None:
    return next((python for _, python in interpreters((11,))), None)


def newest_python() -> str | None:
    found = list(interpreters((14, 13)))
    newest = max((version for version, _ in found), default=None)
    return next((python for version, python in found if version == newest), None)


# --- environments -----------------------------------------------------------


class CannotMake(Exception):
    """An environment can't be made on this machine."""


@dataclass(frozen=True)
class Pinned:
    """An environment of its own under ``.venvs``."""

    name: str
    python: Callable[[], str | None]
    wanted: str
    pins: tuple[str, ...]

    @property
    def folder(self) -> Path:
        return ENVIRONMENTS / self.name

    def make(self, fresh: bool) -> str:
        """The environment's interpreter; installs only where something changed."""
        base = self.python()
        if base is None:
            raise CannotMake(f"no {self.wanted} on PATH or in pyenv")
        project = (PROJECT / "pyproject.toml").read_text("utf-8")
        recipe = "\n".join([*self.pins, str(version_of(base)), project])
        digest = hashlib.sha256(recipe.encode()).hexdigest()
        stamp = self.folder / "stamp"
        python = str(self.folder / "bin" / "python")
        made = stamp.exists() and stamp.read_text("utf-8") == digest
        if made and not fresh and version_of(python) is not None:
            return python
        print(f"{self.name}: making {self.folder.relative_to(PROJECT)} with {base}", flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.install([base, "-m", "venv", str(self.folder)])
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        self.install([*pip, "--editable", ".[test]", *self.pins])
        stamp.write_text(digest, "utf-8")
        return python

    def install(self, command: list[str]) -> None:
        done = subprocess.run(
            command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:
            print(done.stdout, flush=True)
            lines = done.stdout.strip().splitlines() or [f"exit status {done.returncode}"]
            errors = [line for line in lines if line.lower().startswith("error")]
            raise CannotMake(f"`{shlex.join(command[1:4])}` failed: {(errors or lines)[-1]}")


PINNED = (
    Pinned(
        "oldest",
        oldest_python,
        "Python 3.11",
        ("jax==0.7.2", "jaxlib==0.7.2", "sphinx==8.2.*", "myst-parser==4.*", "docutils==0.21.*"),
    ),
    Pinned("newest", newest_python, "Python 3.13 or 3.14", ("jax", "sphinx", "myst-parser")),
)


# --- runs -------------------------------------------------------------------


@dataclass
class Report:
    """What one environment has to say in the summary."""

    name: str
    versions: str = ""
    skipped: str = ""
    failures: list[str] = field(default_factory=list)
    passes: list[str] = field(default_factory=list)
    closing: str = ""

    def note(self, what: str, passed: bool) -> None:
        (self.passes if passed else self.failures).append(what)


def heading(text: str) -> None:
    print(f"\n{f' {text} ':#^79}", flush=True)


def versions(python: str) -> str:
    """``Python 3.11.7, jax 0.7.2, ...`` of an environment."""
    probe = (
        "import sys, json, platform; from importlib.metadata import version\n"
        "print(json.dumps([platform.python_version(), *map(version, sys.argv[1:])]))"
    )
    done = subprocess.run([python, "-c", probe, *REPORTED], capture_output=True, text=True)
    if done.returncode:
        return f"versions unknown: {done.stderr.strip().splitlines()[-1]}"
    names = ("Python", *REPORTED)
    return ", ".join(map(" ".join, zip(names, json.loads(done.stdout), strict=True)))


def run_pytest(python: str, arguments: list[str], report: Report) -> None:
    """Run pytest with its output passing through, and keep its closing line."""
    # Builds differ much in length: who is done takes over from who is not.
    command = [python, "-m", "pytest", "-n", "2", "--dist", "worksteal", "--durations", "12"]
    command += arguments
    if sys.stdout.isatty():
        command.append("--color=yes")
    print("$", shlex.join(command), flush=True)
    with subprocess.Popen(
        command, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        tail = b""
        while chunk := os.read(process.stdout.fileno(), 4096):
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            tail = (tail + chunk)[-4096:]
    text = re.sub(r"\x1b\[[0-9;]*m", "", tail.decode("utf-8", "replace"))
    # Something may still speak after pytest's closing line, as a thread of JAX.
    counts = r"passed|failed|skipped|deselected|xfailed|xpassed|errors?|no tests ran"
    closing = re.findall(rf"^.*\b(?:{counts})\b.* in [0-9.]+s.*$", text, re.MULTILINE)
    report.closing = closing[-1] if closing else "pytest did not come to its closing line"
    report.note("pytest", process.returncode == 0)


def run_main(extra: list[str], report: Report) -> None:
    for tool in (["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]):
        print("$", *tool, flush=True)
        done = subprocess.run([sys.executable, "-m", *tool], cwd=PROJECT)
        report.note(" ".join(tool[:2]).removesuffix(" ."), done.returncode == 0)
    # A CI machine has 20 minutes for all of it.
    short = ["-m", "not long"] if os.environ.get("CI") else []
    if short:
        print("CI is set: what tests/long.txt lists is left out", flush=True)
    run_pytest(sys.executable, [*short, *extra], report)


def run(names: list[str], fresh: bool, extra: list[str]) -> list[Report]:
    """Make the environments, then test in each: the main suite may trace in the others."""
    reports = {name: Report(name) for name in names}
    pythons = {"main": sys.executable}
    for environment in PINNED:
        if environment.name in reports:
            try:
                pythons[environment.name] = environment.make(fresh)
            except CannotMake as reason:
                reports[environment.name].skipped = str(reason)
    for name, report in reports.items():
        if report.skipped:
            continue
        report.versions = versions(pythons[name])
        heading(f"{name}: {report.versions.partition(', numpy')[0]}")
        if name == "main":
            run_main(extra, report)
        else:
            marks = ["-m", "not browser and not latex and not slow and not once and not long"]
            run_pytest(pythons[name], [*marks, *extra], report)
    return list(reports.values())


def summarise(reports: list[Report], ci: bool) -> bool:
    """Print the summary; whether all is well."""
    heading("summary")
    for report in reports:
        if report.skipped:
            verdict = "FAILED, since CI is set" if ci else "nothing was tested here"
            print(f"{report.name}: SKIPPED ({verdict}): {report.skipped}")
            continue
        print(f"{report.name}: {'FAILED' if report.failures else 'passed'}")
        print(f"    {report.versions}")
        if report.passes:
            print(f"    passed: {', '.join(report.passes)}")
        if report.failures:
            print(f"    FAILED: {', '.join(report.failures)}")
    for report in reports:
        if report.closing:
            print(f"\n{report.name}:\n{report.closing}")
    sys.stdout.flush()
    return not any(report.failures or (ci and report.skipped) for report in reports)


def main() -> int:
    names = ["main", *(environment.name for environment in PINNED)]
    parser = argparse.ArgumentParser(description="Run the whole test matrix.")
    parser.add_argument("--only", choices=names, action="append", help="one environment")
    parser.add_argument("--fresh", action="store_true", help="make oldest and newest anew")
    parser.add_argument("pytest", nargs="*", help="arguments for pytest, after --")
    options = parser.parse_args()
    reports = run(options.only or names, options.fresh, options.pytest)
    return 0 if summarise(reports, bool(os.environ.get("CI"))) else 1


if __name__ == "__main__":
    sys.exit(main())
