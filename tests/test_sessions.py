"""The sessions of ``noxfile.py``: their order, their interpreters, when they install and skip."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import PROJECT

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def noxfile() -> ModuleType:
    return importlib.import_module("noxfile")  # needs nox, which main alone has


def run_nox(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """nox on a copy of the project's sessions, where PATH has no Python."""
    for name in ("noxfile.py", "pyproject.toml"):
        shutil.copy(PROJECT / name, folder)
    kept = {k: v for k, v in os.environ.items() if k not in ("CI", "FORCE_COLOR", "PYENV_ROOT")}
    return subprocess.run(
        [sys.executable, "-m", "nox", *arguments],
        cwd=folder,
        env={**kept, "PATH": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


def fake_python(path: Path, prints: str) -> str:
    """An executable that prints what a probe of an interpreter would print."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {prints}\n", "utf-8")
    path.chmod(0o755)
    return str(path)


def test_the_main_suite_runs_after_the_environments_that_it_traces_in(tmp_path: Path) -> None:
    listed = run_nox(tmp_path, "--list").stdout
    selected = [line.split()[1] for line in listed.splitlines() if line.startswith("* ")]
    lint = ["lint(check)", "lint(format)", "lint(types)"]
    assert selected == [*lint, "oldest", "jaxdocs", "newest", "main"], listed


def test_a_missing_interpreter_skips_a_session_and_fails_it_in_ci(tmp_path: Path) -> None:
    # The interpreter that runs nox is found without PATH, so take the other session.
    name = "oldest" if sys.version_info >= (3, 12) else "newest"
    here = run_nox(tmp_path, "-s", name)
    assert here.returncode == 0, here.stdout
    assert f"Session {name} skipped: Python interpreter 3." in here.stdout
    ci = run_nox(tmp_path, "-s", name, CI="true")
    assert ci.returncode == 1, ci.stdout
    assert f"Session {name} failed: Python interpreter 3." in ci.stdout


def test_interpreters_come_from_path_and_pyenv_the_preferred_version_first(
    noxfile: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(sys, "executable", fake_python(tmp_path / "here", "3.12"))
    wanted = ("3.14", "3.13")
    assert noxfile.interpreter(wanted) is None
    pyenv = tmp_path / "pyenv" / "versions"
    older = fake_python(pyenv / "3.13.1" / "bin" / "python", "3.13")
    assert noxfile.interpreter(wanted) == ("3.13", older)
    # A pre-release prints nothing.
    fake_python(pyenv / "3.14.0rc1" / "bin" / "python", "")
    assert noxfile.interpreter(wanted) == ("3.13", older)
    newer = fake_python(tmp_path / "bin" / "python3.14", "3.14")
    assert noxfile.interpreter(wanted) == ("3.14", newer)
    assert noxfile.interpreter(("3.12",)) == ("3.12", sys.executable)


class Session:
    """What an installation asks of a nox session."""

    bin = "bin"

    def __init__(self, error: Exception | None = None, without_uv: Exception | None = None) -> None:
        self.error = error
        self.without_uv = without_uv
        self.commands: list[tuple[str, ...]] = []

    def run_install(self, *command: str, external: bool = False) -> bool:
        if "uv" in command and self.without_uv:
            raise self.without_uv
        self.commands.append(command)
        if self.error:
            raise self.error
        return True

    def skip(self, reason: str) -> None:
        pytest.skip(reason)


def test_an_environment_installs_once_for_its_pins(
    noxfile: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noxfile, "ENVIRONMENTS", tmp_path)
    (tmp_path / "some").mkdir()
    session = Session()
    for pins in (("jax==0.7.2",), ("jax==0.7.2",), ("jax==0.8.0",)):
        environment = noxfile.Pinned("some", ("3.11",), pins)
        environment.install(session)
        assert environment.current
    assert [command[-1] for command in session.commands] == ["jax==0.7.2", "jax==0.8.0"]
    assert {command[2:4] for command in session.commands} == {("uv", "pip")}
    without = Session(without_uv=noxfile.CommandFailed("No module named uv"))
    noxfile.Pinned("some", ("3.11",), ("jax==0.9.0",)).install(without)
    assert without.commands[0][:3] == ("python", "-m", "pip")


def test_a_failed_installation_skips_the_session_and_fails_it_in_ci(
    noxfile: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noxfile, "ENVIRONMENTS", tmp_path)
    environment = noxfile.Pinned("some", ("3.11",), ("jax==0.7.2",))
    environment.stamp.parent.mkdir()
    environment.stamp.write_text("an older recipe", "utf-8")
    session = Session(noxfile.CommandFailed("Returned code 1"))
    monkeypatch.setattr(noxfile, "CI", False)
    with pytest.raises(pytest.skip.Exception, match="cannot be installed"):
        environment.install(session)
    monkeypatch.setattr(noxfile, "CI", True)
    with pytest.raises(noxfile.CommandFailed):
        environment.install(session)
    assert not environment.stamp.exists()
