"""The pipes of a process, read and written without ever waiting for another process.

A pipe ends when the last process that holds its other end closes it, which may be a daemon
that user code started.  So nothing here waits for an end: there is one loop that takes what is
there, and closing is closing.  Where the system has no ``select`` for pipes, threads read, and a
thread that still waits is left behind.
"""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import socket
import subprocess
import threading
from typing import Any, Final

#: Longest single wait, in seconds: what systems take for a time has an end.
_LONGEST: Final = 3600.0
_PIECE: Final = 2**18

#: Names of the streams: messages, what is printed, and a line that ends with the keeper.
REPLIES: Final = "replies"
OUTPUT: Final = "output"
LIFE: Final = "life"


def patience(seconds: float) -> float:
    """A time to wait for in one go: never negative, never infinite."""
    return min(max(seconds, 0.0), _LONGEST)


class Streams:
    """What a process says, in pieces, and what is said to it."""

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
        except OSError:  # nobody reads any more: its end tells
            self.pending.clear()
        if watched:
            self.selector.unregister(self.input.fileno())

    def wait(self, seconds: float) -> list[tuple[str, bytes]]:
        """What comes within ``seconds``: each piece with its stream, empty at its end."""
        found = []
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
            found.append((self.sources[key.fd], piece))
        return found

    def close(self) -> None:
        """Let go of all ends."""
        self.closed = True
        self.selector.close()
        for file in self.files:
            with contextlib.suppress(OSError):
                file.close()
        if self.life is not None:
            self.life.close()


class ThreadedStreams(Streams):
    """The same where pipes can't be watched: a thread for each."""

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
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self.pieces.get(timeout=max(patience(seconds), 0.001)))
            while True:
                found.append(self.pieces.get_nowait())
        return found

    def close(self) -> None:
        self.closed = True
        self.requests.put(b"")
        with contextlib.suppress(queue.Empty):  # a thread may wait for room
            while True:
                self.pieces.get_nowait()
        if self.life is not None:
            self.life.close()


def streams(child: subprocess.Popen[bytes], life: socket.socket | None) -> Streams:
    """The way that the system has."""
    return ThreadedStreams(child, life) if os.name == "nt" else Streams(child, life)
