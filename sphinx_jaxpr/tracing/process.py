"""One running worker: its start, its pipes, its messages, its end."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from . import descendants
from .checks import is_text
from .frames import Frames, Message, Unusable
from .jobs import Setup
from .result import Needs

WORKER: Final = str(Path(__file__).parents[1] / "worker" / "process.py")
#: Seconds that starting JAX may take.
START_TIMEOUT: Final = 120.0
#: Bytes of the worker's own output that are kept for error reports.
KEPT_OUTPUT: Final = 20_000
#: Seconds within which a process that closed its pipe must end to count as ended.
_GRACE: Final = 2.0
#: Seconds between two checks of a process without a keeper.
_GLANCE: Final = 0.1

#: Longest single wait, in seconds: some systems accept no longer one.
_LONGEST_WAIT: Final = 3600.0
_PIECE: Final = 2**18

#: Names of the streams: messages, what is printed, and a line that ends with the keeper.
REPLIES: Final = "replies"
OUTPUT: Final = "output"
LIFE: Final = "life"


# -- pipes -----------------------------------------------------------------------------

# A pipe ends when the last process that holds its other end closes it, which may be a daemon
# that user code started.  So nothing here waits for an end: one loop reads what is available,
# and closes at once.  If the system has no ``select`` for pipes, threads read, and a thread that
# still waits is abandoned.


def patience(seconds: float) -> float:
    """A single waiting time: never negative, never infinite."""
    return min(max(seconds, 0.0), _LONGEST_WAIT)


#: What a fork of this process inherits, which would keep a worker alive.
_open: weakref.WeakSet[Streams] = weakref.WeakSet()


def _close_in_fork() -> None:
    for pipes in list(_open):
        pipes.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_fork)


class Streams:
    """The output of a process, in pieces, and its input."""

    def __init__(self, child: subprocess.Popen[bytes], life: socket.socket | None) -> None:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        self.life = life
        self.input = child.stdin
        self.sources: dict[int, str] = {child.stdout.fileno(): REPLIES}
        self.sources[child.stderr.fileno()] = OUTPUT
        if life is not None:
            self.sources[life.fileno()] = LIFE
        self.files = [child.stdin, child.stdout, child.stderr]
        self.closed = False
        self.pending = bytearray()
        self.selector = selectors.DefaultSelector()
        for number in (*self.sources, self.input.fileno()):
            os.set_blocking(number, False)
        for number in self.sources:
            self.selector.register(number, selectors.EVENT_READ)
        _open.add(self)

    def send(self, data: bytes) -> None:
        """Write, now or as soon as there is room."""
        self.pending += data
        self._write()

    def _write(self) -> None:
        watched = self.input.fileno() in self.selector.get_map()
        try:
            while self.pending:
                count = os.write(self.input.fileno(), self.pending[:_PIECE])
                del self.pending[:count]
        except BlockingIOError:
            if not watched:
                self.selector.register(self.input.fileno(), selectors.EVENT_WRITE)
            return
        except OSError:  # nobody reads any more; the end of the process will say why
            self.pending.clear()
        if watched:
            self.selector.unregister(self.input.fileno())

    @property
    def number(self) -> int:
        """A descriptor that is ready when there is output, or room for input."""
        return int(self.selector.fileno())

    def wait(self, seconds: float) -> list[tuple[str, bytes]]:
        """The output within ``seconds``: each piece with its stream, empty at its end."""
        pieces = []
        for key, events in self.selector.select(patience(seconds)):
            if events & selectors.EVENT_WRITE:
                self._write()
                continue
            try:
                piece = os.read(key.fd, _PIECE)
            except BlockingIOError:
                continue
            except OSError:
                piece = b""
            if not piece:
                self.selector.unregister(key.fd)
            pieces.append((self.sources[key.fd], piece))
        return pieces

    def unread(self) -> int:
        """Bytes that were sent and not read, as far as the system says."""
        try:
            from fcntl import ioctl
            from termios import FIONREAD

            count = ioctl(self.input.fileno(), FIONREAD, bytes(4))
        except (ImportError, OSError):
            return len(self.pending)
        return len(self.pending) + int.from_bytes(count, sys.byteorder)

    def close(self) -> None:
        """Close all ends."""
        self.closed = True
        _open.discard(self)
        self.selector.close()
        for file in self.files:
            with contextlib.suppress(OSError):
                file.close()
        if self.life is not None:
            self.life.close()


class ThreadedStreams(Streams):
    """The same for systems where pipes can't be watched: a thread for each pipe."""

    def __init__(self, child: subprocess.Popen[bytes], life: socket.socket | None) -> None:
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        self.life = life
        self.input = child.stdin
        self.pieces: queue.Queue[tuple[str, bytes]] = queue.Queue(maxsize=64)
        self.requests: queue.Queue[bytes] = queue.Queue()
        self.closed = False
        self._start(self._carry)
        for name, stream in ((REPLIES, child.stdout), (OUTPUT, child.stderr)):
            self._start(self._read, name, stream)

    def _start(self, target: Any, *args: Any) -> None:
        threading.Thread(target=target, args=args, daemon=True).start()

    def _carry(self) -> None:
        with contextlib.suppress(OSError, ValueError), self.input:
            while data := self.requests.get():
                while data:
                    data = data[os.write(self.input.fileno(), data) :]

    def _read(self, name: str, stream: Any) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            while (piece := os.read(stream.fileno(), _PIECE)) and not self.closed:
                self.pieces.put((name, piece))
        self.pieces.put((name, b""))

    def send(self, data: bytes) -> None:
        self.requests.put(data)

    def wait(self, seconds: float) -> list[tuple[str, bytes]]:
        pieces = []
        with contextlib.suppress(queue.Empty):
            pieces.append(self.pieces.get(timeout=max(patience(seconds), 0.001)))
            while True:
                pieces.append(self.pieces.get_nowait())
        return pieces

    def unread(self) -> int:
        return 0

    def close(self) -> None:
        self.closed = True
        self.requests.put(b"")
        with contextlib.suppress(queue.Empty):  # a thread may wait for room
            while True:
                self.pieces.get_nowait()
        if self.life is not None:
            self.life.close()


def streams(child: subprocess.Popen[bytes], life: socket.socket | None) -> Streams:
    """The streams that the system supports."""
    return ThreadedStreams(child, life) if os.name == "nt" else Streams(child, life)


# -- the process -----------------------------------------------------------------------


class Ended(Exception):
    """The process ended, or can no longer answer."""


_Found = TypeVar("_Found")


class Process:
    """The running worker and its pipes.

    What waits for the worker is a generator that yields the process whenever it has to wait,
    so that one loop can serve several workers and do something else meanwhile.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.token = secrets.token_hex(16)
        self.mark = secrets.token_hex(16)
        self.frames = Frames(self.token)
        self.tail: deque[bytes] = deque()
        self.kept = 0
        self.needs: dict[int, Needs] = {}
        self.answered = 0
        self.worker = 0  # the process below its keeper, where there is one
        self.closed = False  # whether nothing more can be read
        self.over = False  # whether the keeper ended
        self.is_ready = False  # whether JAX has started
        self.memory = 0  # bytes of memory before the present job
        self.settled = 0  # bytes of memory at the first look, and of libraries imported since
        self.until = 0.0  # when whatever waits for it stops waiting
        self.owner = os.getpid()
        self.is_killed = False
        self.child: subprocess.Popen[bytes] | None = None
        self.problem = ""
        ours, theirs = socket.socketpair() if os.name == "posix" else (None, None)
        try:
            self.child = subprocess.Popen(
                [setup.python, "-P", WORKER, *([str(theirs.fileno())] if theirs else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={**setup.environment, descendants.MARK: self.mark},
                cwd=setup.folder or None,
                start_new_session=True,
                pass_fds=[theirs.fileno()] if theirs else [],
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self.problem = f"{setup.python!r} can't be started: {reason}"
            if ours is not None:
                ours.close()
            return
        finally:
            if theirs is not None:
                theirs.close()
        self.streams: Streams = streams(self.child, ours)
        # JAX reads its flags at the first use of a device: if asked for here, a wrong one
        # is reported as such.
        greeting = {"token": self.token, "roots": list(setup.roots), "memory": setup.memory}
        self.say({**greeting, "devices": bool(setup.flags)})

    def greeting(self, until: float) -> Hearing[str]:
        """Wait until JAX has started, at most to ``until``; what went wrong, or ``""``."""
        if self.child is None:
            return f"jaxpr_python: {self.problem}"
        try:
            message = yield from self.hear(min(time.monotonic() + START_TIMEOUT, until))
        except Unusable as error:
            return (
                f"the tracing process sent something unreadable at its start: {error}{self._hint()}"
            )
        except Ended:
            last = self.output().strip().splitlines()[-1:] or ["no output"]
            return f"the tracing process {self.ending()} at its start: {last[0]}{self._hint()}"
        if message is None:
            text = f"the tracing process did not start JAX within {START_TIMEOUT:g} s"
            return text + self._hint()
        if message.get("ready") is True:
            self.is_ready = True
            return ""
        reason = message.get("broken")
        reason = (
            reason[:2000] if isinstance(reason, str) and is_text(reason) else "it gave no reason"
        )
        return f"the tracing process could not start JAX: {reason}{self._hint()}"

    def _hint(self) -> str:
        """What may be wrong with the interpreter or the environment."""
        variables = dict.fromkeys(f"{key}={text}" for key, text in self.setup.flags)
        flags = dict(self.setup.flags)
        variables.update({key: None for key, _ in self.setup.settings if key not in flags})
        hint = f" (interpreter {self.setup.python}"
        # Names only, since a value may be a secret.
        return hint + (f"; its environment sets {', '.join(variables)})" if variables else ")")

    def say(self, message: Message) -> None:
        """Send one message."""
        self.streams.send(json.dumps(message).encode() + b"\n")

    def hear(self, until: float) -> Hearing[Message | None]:
        """The next message; ``None`` if none arrives before ``until``."""
        self.until = until
        while True:
            try:
                message = self.frames.take() if self.frames.buffer else None
            except Unusable:
                if self.over:  # from a child, after the end of the process
                    raise Ended from None
                raise
            if message is not None:
                return message
            if self.closed:
                raise Ended
            if until - time.monotonic() > 0:
                yield self
            else:
                self.listen(0)
                return self.frames.take()

    @property
    def longest_wait(self) -> float:
        """Seconds for which it makes sense to wait for output."""
        if self.over:
            return 0
        left = self.until - time.monotonic()
        return left if self.worker else min(left, _GLANCE)  # no keeper says when it ended

    def listen(self, seconds: float) -> None:
        """Read the output that comes within ``seconds``."""
        if not self.worker and self.child is not None:
            self.over = self.over or self.child.poll() is not None
        pieces = self.streams.wait(0 if self.over else seconds)
        for name, piece in pieces:
            if name == REPLIES:
                self.frames.feed(piece)
                self.closed = self.closed or not piece
            elif name != LIFE:
                self._keep(piece)
            elif piece:
                self._meet(piece)
            elif self.worker:  # otherwise a wrapper does not pass it on
                self.over = True
        if self.over and not pieces:
            self.closed = True

    def _meet(self, piece: bytes) -> None:
        """Read from the keeper which process the worker is."""
        if piece.strip().isdigit() and len(piece) < 12:
            self.worker = int(piece)

    def _keep(self, piece: bytes) -> None:
        self.tail.append(piece)
        self.kept += len(piece)
        while self.kept - len(self.tail[0]) > KEPT_OUTPUT:
            self.kept -= len(self.tail.popleft())

    def needs_of(self, message: Message) -> Needs | None:
        """The dependencies of a reply: the worker sends each set once, with a number.

        ``None`` if the reply names no set.  Raises :class:`Unusable` where the number is
        unknown, or that of another set.
        """
        if "deps" not in message:
            return None
        number = message["deps"]
        if "needs" in message:
            needs = Needs.from_json(message["needs"])
            if self.needs.setdefault(number, needs) != needs:
                raise Unusable("deps is the number of another set")
        elif number not in self.needs:
            raise Unusable("deps is not the number of a set")
        self.answered += 1
        return self.needs[number]

    def has_begun(self) -> bool:
        """Whether the worker read all that it was sent, and runs; true where that is unknown."""
        pid = self.worker or (self.child.pid if self.child is not None else 0)
        return not descendants.is_stopped(pid) and not self.streams.unread()

    def note_memory(self) -> None:
        """Note how much memory the worker takes, which does nothing now."""
        self.memory = descendants.memory(self.worker)

    def excuse(self, least: int) -> None:
        """Don't count what the last job took as growth, if that is at least ``least`` bytes."""
        taken = descendants.memory(self.worker) - self.memory
        if self.settled and taken >= least:
            self.settled += taken

    def has_grown(self, most: int) -> bool:
        """Whether the worker takes ``most`` bytes more than at the first look, and libraries."""
        memory = descendants.memory(self.worker)
        self.settled = self.settled or memory
        return memory - self.settled > most

    def output(self) -> str:
        """The end of what the worker and user code printed."""
        self._drain()
        printed = b"".join((self.frames.noise, *self.tail))
        return printed[-KEPT_OUTPUT:].decode(errors="replace")

    def _drain(self) -> None:
        """Read the available output, without waiting for more."""
        if self.child is None or self.streams.closed:
            return
        until = time.monotonic() + 1
        while (pieces := self.streams.wait(0)) and time.monotonic() < until:
            for name, piece in pieces:
                if name not in (REPLIES, LIFE):
                    self._keep(piece)

    def ending(self) -> str:
        """How the process ended, in words."""
        assert self.child is not None
        until = time.monotonic() + _GRACE
        if not self.over and hasattr(signal, "SIGCONT"):  # user code may have stopped the keeper
            self.child.send_signal(signal.SIGCONT)
        while (code := self.child.poll()) is None:
            if time.monotonic() > until or (not self.over and descendants.runs(self.worker)):
                return "closed its channel without ending"
            time.sleep(0.005)
        if code >= 0:
            return f"ended with exit status {code}"
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-code).name}"
        return f"was ended by signal {-code}"

    def kill(self) -> None:
        """Kill the worker and every process that it started."""
        if self.child is None or self.is_killed or self.owner != os.getpid():  # in a fork
            return
        self.is_killed = True
        self._drain()
        running = self.child.returncode is None
        if hasattr(os, "killpg"):
            # The keeper is spared: it adopts as long as processes remain below it.
            root = self.child.pid if running else None
            descendants.end(root, self.mark, self.worker)
            if running:
                with contextlib.suppress(OSError):
                    os.killpg(self.child.pid, signal.SIGKILL)
        self.child.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(timeout=5)
        self.streams.close()


def wait(processes: Sequence[Process], seconds: float) -> None:
    """Read what the processes write within ``seconds``; not longer than any can wait."""
    seconds = min([seconds, *(process.longest_wait for process in processes)])
    if len(processes) == 1:
        processes[0].listen(seconds)
        return
    with selectors.DefaultSelector() as selector:
        for process in processes:
            selector.register(process.streams.number, selectors.EVENT_READ)
        selector.select(patience(seconds))
    for process in processes:
        process.listen(0)


#: Yields a process whenever it has to wait for it.
Hearing: TypeAlias = Generator[Process, None, _Found]
