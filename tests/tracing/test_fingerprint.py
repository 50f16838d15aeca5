"""Versions that enter every key, of this interpreter and of another one."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from sphinx_jaxpr.tracing import descendants
from sphinx_jaxpr.tracing.files import Cache, canonical, signed
from sphinx_jaxpr.tracing.fingerprint import (
    EnvironmentFacts,
    Installed,
    _Answer,
    environment_facts,
    setup,
)
from sphinx_jaxpr.tracing.masking import PathMasker

pytestmark = pytest.mark.once


class Other:
    """An interpreter behind a script that counts its starts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "cache"
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True
        )
        python = folder / "env" / "bin" / "python"
        ask = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
        done = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
        self.site = Path(done.stdout.strip())
        self.log = folder / "starts"
        self.python = folder / "python.sh"
        self.python.write_text(f'#!/bin/sh\necho start >> "{self.log}"\nexec "{python}" "$@"\n')
        self.python.chmod(0o755)
        self.paths = PathMasker(str(folder / "docs"), [])

    @property
    def starts(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def installed(self, environment: dict[str, str] | None = None) -> Installed:
        return Installed(str(self.python), environment or {}, Cache(self.folder), self.paths)

    def install(self, name: str, version: str) -> None:
        info = self.site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")


@pytest.fixture
def other(tmp_path: Path) -> Other:
    return Other(tmp_path)


def test_another_interpreter_is_asked_once(other: Other) -> None:
    other.install("Some_Dist", "1.0")
    for _ in range(2):
        installed = other.installed()
        assert installed.version("Some_Dist") == "1.0"
        assert installed.version("jax") == ""
        assert installed.python_version.startswith("3.")
        assert other.starts == 1
    for path in other.folder.iterdir():
        assert str(other.folder.parent) not in path.read_text()


def test_it_is_asked_again_after_a_change(other: Other) -> None:
    assert other.installed().version("some") == ""
    other.install("some", "2.0")
    assert other.installed().version("some") == "2.0"
    assert other.starts == 2
    other.installed({"PYTHONPATH": str(other.site)}).version("some")
    assert other.starts == 3


def test_a_damaged_answer_is_asked_for_again(other: Other) -> None:
    other.installed().version("some")
    [kept] = other.folder.iterdir()
    whole = Cache(other.folder).load(kept.name, lambda data: data)
    forged: list[object] = [3, [], {"answer": 3, "state": ""}, {"state": whole["state"]}]
    for part, value in whole["answer"].items():
        wrong: object = ["a"] if part == "versions" else {"a": 1}
        forged.append({**whole, "answer": {**whole["answer"], part: wrong}})
        forged.append({**whole, "answer": {k: v for k, v in whole["answer"].items() if v != value}})
    forged.append({**whole, "answer": {**whole["answer"], "versions": {"jax": 3}}})
    forged.append({**whole, "answer": {**whole["answer"], "folders": [3, "\0"]}})
    texts = ["", "3", "[" * 100_000, canonical(whole)]
    for text in [*(text.encode() for text in texts), *(signed(canonical(data)) for data in forged)]:
        kept.write_bytes(text)
        assert other.installed().python_version and other.installed().version("jax") == ""
    assert other.starts == 1 + len(texts) + len(forged)
    kept.write_bytes(signed(canonical(whole)))
    assert other.installed().python_version
    assert other.starts == 1 + len(texts) + len(forged)


def test_an_interpreter_that_does_not_start_has_no_versions(tmp_path: Path) -> None:
    paths = PathMasker(str(tmp_path), [])
    installed = Installed(str(tmp_path / "none"), {}, Cache(tmp_path / "cache"), paths)
    assert installed.python_version == "" and installed.version("jax") == ""
    assert not (tmp_path / "cache").exists()


def test_facts_of_the_environment(tmp_path: Path) -> None:
    installed = Installed(sys.executable, {}, Cache(tmp_path), PathMasker(str(tmp_path), []))

    def facts(**environment: str) -> EnvironmentFacts:
        return environment_facts(installed, {"OWN": "1"}, environment)

    plain = facts(HOME="/x")
    assert plain == facts(HOME="/y")
    assert plain != facts(JAX_ENABLE_X64="1")
    assert plain != facts(XLA_FLAGS="--x")
    assert plain != environment_facts(installed, {"OWN": "2"}, {})
    assert plain.digest == facts(HOME="/y").digest != facts(XLA_FLAGS="--x").digest
    # What can't change a program is no part of it.
    assert plain == facts(JAX_TRACEBACK_FILTERING="off", JAX_COMPILATION_CACHE_DIR="/x")
    assert plain != environment_facts(installed, {"JAX_TRACEBACK_FILTERING": "off"}, {})
    before, installed.__dict__["own"] = installed.python_version, False
    installed.__dict__["_answer"] = _Answer(".".join([*before.split(".")[:2], "99"]))
    assert {**facts().versions, "jax": ""}["python"] == plain.versions["python"]
    names = plain.by_name()
    assert {"schema", "package", "python", "jax", "jaxlib", "numpy"} <= names.keys()
    assert len(names["environment variable OWN"]) == 16


def test_tracebacks_look_as_the_configuration_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_TRACEBACK_FILTERING", "off")
    own = {"JAX_TRACEBACK_FILTERING": "remove_frames"}
    assert "JAX_TRACEBACK_FILTERING" not in setup("python", (), {}, 0, x64=False).environment
    assert setup("python", (), own, 0, x64=False).environment.items() >= own.items()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's /proc")
def test_what_starts_it_may_print_and_may_start_more(other: Other) -> None:
    other.install("Some_Dist", "1.0")
    text = other.python.read_text()
    nap = "setsid sleep 1000 & echo $! > " + str(other.log) + ".nap"
    text = text.replace("exec", f"{nap}\necho Activating\nexec")
    other.python.write_text(text)
    began = time.monotonic()
    assert other.installed().version("Some_Dist") == "1.0"
    assert time.monotonic() - began < 30
    assert not descendants.runs(int(Path(f"{other.log}.nap").read_text()))


def test_one_that_prints_for_ever_is_given_up(other: Other) -> None:
    other.python.write_text("#!/bin/sh\nyes\n")
    began = time.monotonic()
    assert other.installed().python_version == ""
    assert time.monotonic() - began < 30
