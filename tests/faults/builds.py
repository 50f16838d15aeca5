"""Projects that are built in processes of their own, and what is compared of them."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.support import PROJECT, Build, Project

#: Names a run in the environment of all that it starts, however far that goes.
MARK = "SPHINX_JAXPR_FAULTS"
#: Seconds after which a build counts as hanging.
LIMIT = 240.0
#: What is no output, or says when it was made.
_BESIDE = (".doctrees", "_sources", ".buildinfo", ".buildinfo.bak")


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that others may read, and that is gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="faults-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Running:
    """A build that has been started, with all that it starts itself."""

    def __init__(self, site: Site, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.site = site
        self.mark = uuid.uuid4().hex
        self.built: Build | None = None
        self.began = time.monotonic()
        self.files = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115 - till the end
        plain = {**os.environ, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1"}
        self.main = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=self.files[0],
            stderr=self.files[1],
            cwd=site.folder,
            env={**plain, MARK: self.mark, **env},
            start_new_session=True,
        )

    def processes(self) -> list[psutil.Process]:
        """All that run with this build's mark, whatever became of their parents."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                zombie = process.status() == psutil.STATUS_ZOMBIE
                if process.environ().get(MARK) == self.mark and not zombie:
                    found.append(process)
        return found

    def worker(self) -> psutil.Process | None:
        """The process that traces, if it runs."""
        with contextlib.suppress(psutil.Error):
            for process in psutil.Process(self.main.pid).children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if any("worker" in part for part in process.cmdline()):
                        return process
        return None

    def kill(self, what: signal.Signals, group: bool = False) -> bool:
        """Send a signal; whether the build was still there to get it."""
        there = self.main.poll() is None
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.main.pid, what)
        return there

    def end(self, builder: str, seconds: float = LIMIT) -> Build:
        """Wait for it; code -1 where it hangs."""
        if self.built is not None:
            return self.built
        try:
            code = self.main.wait(max(1.0, self.began + seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.clear()
            code = -1
        texts = []
        for stream in self.files:
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
            stream.close()
        self.built = Build(code, self.site.out(builder), *texts)
        return self.built

    def orphans(self, seconds: float = 5.0) -> list[str]:
        """What still runs some seconds after the end; it is ended here."""
        until = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < until:
            time.sleep(0.1)
        names = []
        for process in left:
            with contextlib.suppress(psutil.Error):
                names.append(" ".join(process.cmdline())[:100] or process.name())
        self.clear()
        return [f"still running: {name}" for name in names]

    def clear(self) -> None:
        """End all of it."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.main.wait(10)


class Site(Project):
    """A project whose results lie in ``store/``, beside its pages."""

    store_name = "store"

    def __init__(self, where: Path, files: Mapping[str, str], conf: str = "") -> None:
        store = f"jaxpr_cache_dir = {str(where / self.store_name)!r}\n"
        super().__init__(where, files, store + conf)
        self.store = where / self.store_name

    def out(self, builder: str, name: str = "out") -> Path:
        return self.folder / name / builder

    def command(self, builder: str, *flags: str, out: str = "out") -> list[str]:
        """What builds; outputs and doctrees of each ``out`` are apart."""
        target = str(self.out(builder, out))
        return [sys.executable, "-m", "sphinx", "-b", builder, *flags, str(self.docs), target]

    def start(
        self,
        builder: str = "html",
        *flags: str,
        env: Mapping[str, str] | None = None,
        around: Sequence[str] = (),
        out: str = "out",
    ) -> Running:
        """Start a build; ``around`` is a command that gets the build's as its arguments."""
        return Running(self, [*around, *self.command(builder, *flags, out=out)], env or {})

    def run(
        self,
        builder: str = "html",
        *flags: str,
        env: Mapping[str, str] | None = None,
        around: Sequence[str] = (),
        out: str = "out",
        seconds: float = LIMIT,
    ) -> Build:
        """Build, and wait; code -1 where it hangs."""
        running = self.start(builder, *flags, env=env, around=around, out=out)
        built = running.end(builder, seconds)
        built.out = self.out(builder, out)
        return built

    def clean(self, builder: str = "html", *flags: str) -> Build:
        """Build the same tree with nothing of before."""
        for name in ("clean", "clean-store"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        store = f"jaxpr_cache_dir={self.folder / 'clean-store'}"
        return self.run(builder, *flags, "-E", "-a", "-D", store, out="clean")

    def forget(self, *names: str) -> None:
        """Remove outputs and stores, links and files that stand in their place too."""
        for name in names or ("out", self.store_name):
            remove(self.folder / name)

    def stored(self) -> list[Path]:
        """The files of the store, however it is laid out."""
        return sorted(path for path in self.store.rglob("*") if path.is_file())


def remove(path: Path) -> None:
    """Remove whatever stands there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def outputs(out: Path) -> dict[str, Any]:
    """All output by name; what has no order is without one."""
    found: dict[str, Any] = {}
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out)
        if path.is_file() and not set(name.parts) & set(_BESIDE):
            found[name.as_posix()] = _comparable(path)
    return found


def _comparable(path: Path) -> Any:
    data = path.read_bytes()
    if path.name == "searchindex.js":
        inner = data.decode().partition("(")[2].rpartition(")")[0]
        return _unordered(json.loads(inner))
    if path.name == "objects.inv":
        head, rest = data.split(b"zlib.\n", 1)
        return head, sorted(zlib.decompress(rest).splitlines())
    return data


def _unordered(data: Any) -> Any:
    if isinstance(data, dict):  # Sphinx keeps words that no page has any more
        return {key: _unordered(value) for key, value in data.items() if value != []}
    if isinstance(data, list) and not all(isinstance(item, str) for item in data):
        return sorted((_unordered(item) for item in data), key=repr)
    return data


def differences(found: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    """Names of what one has and the other hasn't, or has otherwise."""
    return [
        f"{name} {'differs' if name in found and name in expected else said}"
        for name in sorted({*found, *expected})
        if found.get(name) != expected.get(name)
        for said in ["is missing" if name in expected else "is too much"]
    ]


def as_clean(built: Build, expected: Mapping[str, Any]) -> list[str]:
    """What is wrong with a build that should be like the clean one, exit code included."""
    return [*ended(built, (0,)), *differences(outputs(built.out), expected)[:3]]


def ended(built: Build, codes: Sequence[int] = (0, 1)) -> list[str]:
    """What is wrong with how a build ended."""
    if built.code == -1:
        return [f"hangs after {LIMIT:.0f} s"]
    if built.code in codes and "Traceback (most recent call last)" not in built.stderr:
        return []
    lines = [line for line in built.stderr.splitlines() if line.strip()]
    said = [line for line in lines if _ENDS.search(line)] or lines[-1:] or ["nothing said"]
    return [f"exit {built.code}: {said[-1].strip()[:200]}"]


_ENDS = re.compile(r"(?:Exception|Error)\b.*:")


def findings(built: Build, site: Project) -> list[str]:
    """The extension's own warnings, without what differs from machine to machine."""
    lines = re.findall(r"^.*\[jaxpr\.\w+\].*$", built.stderr, re.MULTILINE)
    return sorted(line.replace(str(site.folder), "") for line in lines)


def took(run: Any) -> float:
    """Seconds that a call takes."""
    began = time.monotonic()
    run()
    return time.monotonic() - began


def a_moment(chance: random.Random, longest: float) -> float:
    """A random moment of a build: later ones more often, when more is under way."""
    return chance.triangular(0.05, longest, longest * 0.7)
