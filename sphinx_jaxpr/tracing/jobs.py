"""What a worker gets: jobs, the kind of process that does them, and how long they may take.

Every build loads this module, and few need a request.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from .request import Request

#: Raised when the meaning of a request or of a result changes.
SCHEMA: Final = 6

#: Seconds from which a time counts as unlimited: some systems can't wait longer.
MAX_SECONDS: Final = 1_000_000


class Setup(NamedTuple):
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


class CodeToRun(NamedTuple):
    """The code of a page that a worker runs for a request.

    The request names the parts at the positions ``used``.  The others are there for other
    requests, so that all of them share one module; they make no difference to this one.
    """

    parts: tuple[str, ...]
    used: tuple[int, ...]

    @property
    def is_shared(self) -> bool:
        """Whether it has parts for other requests."""
        return len(self.used) < len(self.parts)

    @property
    def alone(self) -> CodeToRun:
        """What the request names, and nothing else."""
        return CodeToRun(tuple(self.parts[n] for n in self.used), tuple(range(len(self.used))))


class Job(NamedTuple):
    """One request to trace, with its time limit in seconds, which may be infinite.

    ``code`` is that of the page, if the request may use it.
    """

    key: str
    request: Request
    timeout: float
    code: CodeToRun | None = None


def seconds(value: Any) -> float:
    """A number of seconds, also as text; 0.0 for anything else.

    Infinity means no limit, and so does a time longer than clocks can wait.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return 0.0
    try:
        number = float(value)
    except ValueError:
        return 0.0
    except OverflowError:  # an integer
        number = math.inf if value > 0 else 0.0  # type: ignore[operator] # an integer
    if not number > 0:  # NaN too
        return 0.0
    return number if number <= MAX_SECONDS else math.inf


class Limit:
    """The seconds that all tracing of a build may take, in all workers together.

    Time counts only while programs are traced, not while pages are read or written.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self.left = seconds
        self.until = math.inf  # by the monotonic clock

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count time while the context lasts."""
        self.until = time.monotonic() + self.left
        try:
            yield
        finally:
            self.left = self.until - time.monotonic()

    def is_over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self.until
