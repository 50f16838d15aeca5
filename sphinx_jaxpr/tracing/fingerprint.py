"""Facts of the environment that traces: installed versions, and the worker's variables."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from .. import __version__
from .files import Cache, JsonObject, digest, loads
from .jobs import SCHEMA, Setup
from .masking import PathMasker

# --- the distributions of an interpreter

_PROBE = (
    "import importlib.metadata as m, json, os, platform, sys;"
    "print('\\n' + sys.argv[1] + json.dumps({'python': platform.python_version(),"
    " 'versions': {(d.name or '').lower(): d.version for d in m.distributions()},"
    " 'folders': [p for p in sys.path if os.path.isdir(p)]}))"
)
#: Limits, in seconds and bytes, for the answer of an interpreter that was asked for versions.
_PATIENCE = 60.0
_LONGEST = 2**24
#: In place of a name: all distributions, for code that lists them.
ALL_INSTALLED = "*"
#: Inherited variables that change what JAX traces.
FLAG_PREFIXES = ("JAX_", "XLA_")
#: Those among them that can't change a jaxpr, and so are no part of a key.  Any other may, even
#: if it only seems to be about running programs.
_WITHOUT_EFFECT: Final = frozenset(
    [
        # where compiled programs are kept: JAX only warns where it can't write them
        "JAX_COMPILATION_CACHE_DIR",
        "JAX_COMPILATION_CACHE_MAX_SIZE",
        "JAX_ENABLE_COMPILATION_CACHE",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES",
        # what is logged
        "JAX_DEBUG_LOG_MODULES",
        "JAX_EXPLAIN_CACHE_MISSES",
        "JAX_LOG_COMPILES",
        "JAX_LOGGING_LEVEL",
        # how much memory a device gives to arrays
        "XLA_PYTHON_CLIENT_ALLOCATOR",
        "XLA_PYTHON_CLIENT_MEM_FRACTION",
        # how tracebacks look: a worker gets it from the configuration alone
        "JAX_TRACEBACK_FILTERING",
    ]
)


class _Answer(NamedTuple):
    """An interpreter's version, its distributions with versions, the folders it imports from."""

    python: str = ""
    versions: Mapping[str, str] = MappingProxyType({})
    folders: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, data: Any) -> _Answer | None:
        """Read what the interpreter printed; ``None`` for anything else."""
        fits = (
            type(data) is dict
            and sorted(data) == ["folders", "python", "versions"]
            and type(data["python"]) is str
            and type(data["versions"]) is dict
            and type(data["folders"]) is list
            and all(type(text) is str for text in (*data["versions"].values(), *data["folders"]))
        )
        return cls(data["python"], data["versions"], tuple(data["folders"])) if fits else None


class _KeptAnswer(NamedTuple):
    """An answer, and the state of the folders that it holds for; folders are stored paths."""

    answer: _Answer
    state: str

    @classmethod
    def from_json(cls, data: Any) -> _KeptAnswer | None:
        """Read what :meth:`to_json` wrote; ``None`` for anything else."""
        if type(data) is not dict or type(data.get("state")) is not str:
            return None
        answer = _Answer.from_json(data.get("answer"))
        return None if answer is None else cls(answer, data["state"])

    def to_json(self) -> JsonObject:
        """Plain data."""
        answer = self.answer
        return {
            "answer": {
                "python": answer.python,
                "versions": dict(answer.versions),
                "folders": list(answer.folders),
            },
            "state": self.state,
        }


class Installed:
    """Distributions that an interpreter sees.

    An interpreter other than ours must be asked.  Its answer is kept in ``cache`` as long as
    the folders that it imports from are unchanged, so that a build without changes starts
    no process.
    """

    def __init__(
        self, python: str, environment: dict[str, str], cache: Cache, paths: PathMasker
    ) -> None:
        self.python = python
        self.environment = environment
        self.cache = cache
        self.paths = paths
        self.own = os.path.abspath(python) == os.path.abspath(sys.executable)
        self._versions: dict[str, str] = {}

    @cached_property
    def _answer(self) -> _Answer:
        """What another interpreter says of itself, nothing where it says nothing."""
        variables = {k: v for k, v in self.environment.items() if k.startswith("PYTHON")}
        path = shutil.which(self.python, path=self.environment.get("PATH")) or self.python
        name = f"python-{digest([path, variables])[:12]}.txt"
        kept = self.cache.load(name, _KeptAnswer.from_json)
        if kept is not None and kept.state == self._state(path, kept.answer.folders):
            return kept.answer
        answer = self._ask()
        if answer is None:
            return _Answer()
        folders = tuple(self.paths.stored(folder) for folder in answer.folders)
        answer = answer._replace(folders=folders)
        self.cache.keep(name, _KeptAnswer(answer, self._state(path, folders)).to_json())
        return answer

    def _ask(self) -> _Answer | None:
        token = os.urandom(16).hex()  # a wrapper of the interpreter may print too
        answer = None  # the worker will report what is wrong
        with contextlib.suppress(OSError, ValueError):
            for line in _printed([self.python, "-P", "-c", _PROBE, token], self.environment):
                if line.startswith(token.encode()):
                    answer = _Answer.from_json(loads(line[len(token) :]))
        return answer

    def _state(self, python: str, folders: Iterable[str]) -> str:
        """A digest that changes when something is installed, or Python itself is replaced."""
        states: list[list[int] | None] = []
        for path in (python, *map(self.paths.absolute, folders)):
            try:
                state = os.stat(path)
            except (OSError, ValueError):
                states.append(None)
            else:
                states.append([state.st_mtime_ns, state.st_ino])
        return digest(states)

    @property
    def python_version(self) -> str:
        """The version of Python as text."""
        return platform.python_version() if self.own else self._answer.python

    def version(self, name: str) -> str:
        """The version of a distribution, ``""`` where it is not installed.

        For ``ALL_INSTALLED``, a digest of all names and versions.
        """
        if name not in self._versions:
            if name == ALL_INSTALLED:
                self._versions[name] = digest(self._all())[:16]
            elif self.own:
                try:
                    self._versions[name] = importlib.metadata.version(name) or ""
                except (importlib.metadata.PackageNotFoundError, ValueError):
                    self._versions[name] = ""
            else:
                self._versions[name] = self._answer.versions.get(name.lower(), "")
        return self._versions[name]

    def _all(self) -> list[list[str]]:
        if not self.own:
            return sorted(map(list, self._answer.versions.items()))
        folders = list(dict.fromkeys([*self.paths.roots, *sys.path]))
        distributions = importlib.metadata.distributions(path=folders)
        return sorted(
            [distribution.name or "", distribution.version or ""] for distribution in distributions
        )

    def module(self, name: str) -> str:
        """Whether the interpreter finds a top-level module outside the import roots.

        To find one inside a package would import the package.
        """
        if not name.isidentifier():
            return ""
        if self.own:
            try:
                return "1" if importlib.util.find_spec(name) is not None else ""
            except (ImportError, ValueError, AttributeError):
                return "1" if name in sys.modules else ""
        folders = map(self.paths.absolute, self._answer.folders)
        return "1" if any(self.paths.folders.module(folder, name) for folder in folders) else ""


def _printed(command: list[str], environment: dict[str, str]) -> list[bytes]:
    """The lines that a program prints, until it ends or a limit; nothing is left running."""
    # Most builds ask no other interpreter.
    from . import descendants
    from .process import REPLIES, streams

    mark = os.urandom(16).hex()
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={**environment, descendants.MARK: mark},
        start_new_session=True,
    )
    pipes, printed, ended = streams(child, None), bytearray(), False
    until = time.monotonic() + _PATIENCE
    try:
        while not ended and len(printed) < _LONGEST and time.monotonic() < until:
            ended = child.poll() is not None  # before the last look
            for name, piece in pipes.wait(0.05):
                printed += piece if name == REPLIES else b""
    finally:
        if hasattr(os, "killpg"):
            running = child.returncode is None
            descendants.end(child.pid if running else None, mark, child.pid)
        child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=5)
        pipes.close()
    return bytes(printed).splitlines()


class EnvironmentFacts(NamedTuple):
    """The part of every key beside the request: if it changes, everything is traced again.

    ``versions`` are by name, of this package and Python too; ``variables`` are those of the
    environment that JAX reads, and those that the configuration sets.
    """

    versions: Mapping[str, str]
    variables: Mapping[str, str]

    @property
    def digest(self) -> str:
        """Changes with any part."""
        return digest({"schema": SCHEMA, **self.versions, "environment": dict(self.variables)})

    def by_name(self) -> dict[str, str]:
        """The parts by name, to report changes later; for variables, digests only."""
        variables = {
            f"environment variable {name}": digest([name, text])[:16]
            for name, text in self.variables.items()
        }
        return {"schema": str(SCHEMA), **self.versions, **variables}


def environment_facts(
    installed: Installed, settings: Mapping[str, str], environment: Mapping[str, str]
) -> EnvironmentFacts:
    """The facts of an interpreter and its environment; ``settings`` are the configuration's."""
    inherited = {
        name: text
        for name, text in environment.items()
        if name.startswith(FLAG_PREFIXES) and name not in _WITHOUT_EFFECT
    }
    versions = {
        "package": __version__,
        # The releases of one version mend faults of Python, and print the same jaxprs.
        "python": ".".join(installed.python_version.split(".")[:2]),
        **{name: installed.version(name) for name in ("jax", "jaxlib", "numpy")},
    }
    return EnvironmentFacts(versions, {**inherited, **settings})


# --- the environment of a worker: one quiet CPU, whatever the caller's environment says

#: Variables that keep tracing on one quiet CPU; the caller may override each.
_ENVIRONMENT: Final = {
    "JAX_PLATFORMS": "cpu",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
#: Values that JAX surely accepts.
_QUIET: Final = {**_ENVIRONMENT, "JAX_ENABLE_X64": "1"}
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
_DROPPED: Final = (
    *("COLUMNS", "LINES", "PYTHONSTARTUP", "PYTHONINSPECT", "COVERAGE_PROCESS_START"),
    "JAX_TRACEBACK_FILTERING",
)


def setup(
    python: str,
    roots: Sequence[str],
    settings: Mapping[str, str],
    memory: int,
    *,
    x64: bool,
    folder: str = "",
) -> Setup:
    """The worker that traces with or without 64-bit types; ``settings`` override the rest."""
    settings = dict(settings)
    if x64:
        settings["JAX_ENABLE_X64"] = "1"
    environment = {k: v for k, v in os.environ.items() if k not in _DROPPED}
    for name in _THREADS:
        environment.setdefault(name, "1")
    if environment.get("PYTHONPATH"):  # relative to our folder, not the worker's
        entries = environment["PYTHONPATH"].split(os.pathsep)
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, entries))
    environment.update(_ENVIRONMENT)
    environment.update(settings)
    flags = {
        key: text
        for key, text in environment.items()
        if key.startswith(FLAG_PREFIXES) and (key, text) not in _QUIET.items()
    }
    return Setup(
        python=python,
        environment=environment,
        roots=tuple(roots),
        memory=memory,
        settings=tuple(sorted(settings.items())),
        flags=tuple(sorted(flags.items())),
        folder=folder,
    )
