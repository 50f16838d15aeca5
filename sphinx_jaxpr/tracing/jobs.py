"""What is handed to the worker: which process, and which programs."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from .request import Request

#: More seconds than these are no limit: clocks of some systems wait no longer.
MAX_SECONDS: Final = 1_000_000


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
    """One request to trace, with its time limit in seconds, which may be infinite."""

    key: str
    request: Request
    timeout: float


def seconds(value: Any) -> float:
    """A number of seconds, also as text; 0.0 where it is none.

    Infinity means no limit, and so does whatever is beyond what clocks can wait for.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return 0.0
    try:
        found = float(value)
    except ValueError:
        return 0.0
    except OverflowError:  # an integer
        found = math.inf if value > 0 else 0.0  # type: ignore[operator] # an integer
    if not found > 0:  # NaN too
        return 0.0
    return found if found <= MAX_SECONDS else math.inf


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
