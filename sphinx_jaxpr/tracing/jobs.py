"""What a worker gets: jobs, the code of pages, the kind of process, and how long it may take.

Every build loads this module, and few need a request.
"""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .files import digest

if TYPE_CHECKING:
    from .request import Request

#: Raised when the meaning of a request or of a result changes.
SCHEMA: Final = 7

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


# --- the code of a page as a module
#
# Everybody calls it ``<page>``: results, locks, messages, ``jaxpr_allowed_modules``.  One worker
# has such modules of many pages, and several of one page, so there each has a name of its own,
# which never leaves the worker.

#: The name of the module, and of the file that its lines belong to.
PAGE: Final = "<page>"
_OWN_NAME: Final = re.compile(r"<page:[0-9a-f]{12}>")


def digest_of(texts: Sequence[str]) -> str:
    """What a request names as its code: a digest of the texts of its parts, in order."""
    return digest(list(texts))


def module_name(code: str) -> str:
    """The name of the module in the worker, and of its file, by the digest of its code."""
    return f"<page:{code[:12]}>"


def is_page_code(name: str) -> bool:
    """Whether a module or a file of the worker is the code of a page."""
    return name.startswith("<page:")


def public(text: str) -> str:
    """A text of the worker with the name that everybody knows."""
    return _OWN_NAME.sub(PAGE, text) if "<page:" in text else text


def first_lines(counts: Iterable[int]) -> list[int]:
    """The line of the module that each part begins with, by the numbers of their lines."""
    firsts, line = [], 1
    for count in counts:
        firsts.append(line)
        line += count
    return firsts


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


# --- how long it may take


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
