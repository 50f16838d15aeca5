"""What is handed to the worker: which process, and which programs."""

from __future__ import annotations

from dataclasses import dataclass

from .request import Request


@dataclass(frozen=True)
class Setup:
    """One kind of worker process: interpreter, environment, import roots.

    ``memory`` is in megabytes, 0 for half of the machine's; ``settings`` are
    the environment variables that configuration sets, ``flags`` those, set or
    inherited, that JAX reads: named when a worker does not start.  ``folder`` is
    where it works, ``""`` for the folder of the caller.
    """

    python: str
    environment: dict[str, str]
    roots: tuple[str, ...]
    memory: int = 0
    settings: tuple[tuple[str, str], ...] = ()
    flags: tuple[tuple[str, str], ...] = ()
    folder: str = ""


@dataclass(frozen=True)
class Job:
    """One request to trace, with its time limit in seconds."""

    key: str
    request: Request
    timeout: float
