"""The environment of a worker: on one quiet CPU, whatever is set where it is started."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from .fingerprint import FLAG_PREFIXES
from .jobs import Setup

#: What keeps tracing on one quiet CPU; the caller may override each.
_ENVIRONMENT: Final = {
    "JAX_PLATFORMS": "cpu",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
#: Values that need no look at whether JAX can work with them.
_QUIET: Final = {**_ENVIRONMENT, "JAX_ENABLE_X64": "1"}
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
_DROPPED: Final = ("COLUMNS", "LINES", "PYTHONSTARTUP", "PYTHONINSPECT", "COVERAGE_PROCESS_START")


def setup(
    python: str,
    roots: Sequence[str],
    settings: Mapping[str, str],
    memory: int,
    *,
    x64: bool,
    folder: str = "",
) -> Setup:
    """The worker that traces with or without 64-bit types; ``settings`` win over all else."""
    settings = dict(settings)
    if x64:
        settings["JAX_ENABLE_X64"] = "1"
    environment = {k: v for k, v in os.environ.items() if k not in _DROPPED}
    for name in _THREADS:
        environment.setdefault(name, "1")
    if environment.get("PYTHONPATH"):  # of where we are, not of where the worker is
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
