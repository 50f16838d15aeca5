"""What is handed to the worker: which process, and which programs."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
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


class Limit:
    """The seconds that all tracing of a build may take, in all workers together.

    They count while programs are traced, and not while pages are read or written.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self.left = seconds
        self.until = math.inf  # by the monotonic clock

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Let time count."""
        self.until = time.monotonic() + self.left
        try:
            yield
        finally:
            self.left = self.until - time.monotonic()

    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self.until
