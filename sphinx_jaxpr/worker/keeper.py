"""Outlives the worker, and ends every process that the worker started.

The process that Sphinx starts forks before it imports anything large.  The child becomes the
worker.  The parent is its *keeper*: it runs no user code, adopts what the worker's children
leave behind, and waits for one of two things.  When the worker ends, it kills what is left
and ends in the same way, so that Sphinx sees how.  When Sphinx ends, for whatever reason, the
other end of ``life`` closes, and it kills the worker too.

A child of the worker gets none of its pipes: a child that stays does not keep them open, and
Sphinx sees at once when the worker itself has closed them.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
from collections.abc import Sequence

from ..tracing.descendants import MARK, end

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
#: Signals that ask the keeper to end.
_ENDING = ("SIGTERM", "SIGINT", "SIGHUP")


def keep(life: int, private: Sequence[int]) -> bool:
    """Return in a child, which is the worker; whether the system ends it with its keeper.

    ``private`` are the worker's descriptors, which the keeper does not hold.
    """
    if not hasattr(os, "fork"):
        return False
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    # The worker may have stopped its keeper, which then does not see that Sphinx ended.
    _control(_PR_SET_PDEATHSIG, getattr(signal, "SIGCONT", 0))
    mark = os.environ.get(MARK, "")
    wakes, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(wakes, False)
    handled = ["SIGCHLD", *_ENDING]
    before = {name: signal.signal(getattr(signal, name), lambda *_: None) for name in handled}
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    parent, keeper = os.getppid(), os.getpid()
    worker = os.fork()
    if worker:
        _Keeper(parent, worker, life if _is_socket(life) else -1, wakes, mark).run(private)
    signal.set_wakeup_fd(-1)
    for name, handler in before.items():
        signal.signal(getattr(signal, name), handler or signal.SIG_DFL)
    for descriptor in (wakes, wake, *([life] if _is_socket(life) else [])):
        os.close(descriptor)
    os.setsid()  # signals to the worker's group do not reach its keeper
    linked = _control(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != keeper:
        os._exit(1)
    _keep_from_children(private)
    if mark:  # in the environment that children get, out of what user code reads
        del os.environ[MARK]
        os.putenv(MARK, mark)
    return linked


def _keep_from_children(private: Sequence[int]) -> None:
    """Put nothing in the place of these descriptors in whatever is forked from now on."""
    identities = {descriptor: _identity(descriptor) for descriptor in private}

    def in_child() -> None:
        with contextlib.suppress(OSError):
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor, identity in identities.items():
                with contextlib.suppress(OSError):  # user code closed it
                    if _identity(descriptor) == identity:
                        os.dup2(null, descriptor, inheritable=False)
            os.close(null)

    os.register_at_fork(after_in_child=in_child)


def _identity(descriptor: int) -> tuple[int, int]:
    state = os.fstat(descriptor)
    return state.st_dev, state.st_ino


class _Keeper:
    def __init__(self, parent: int, worker: int, life: int, wakes: int, mark: str) -> None:
        self.parent = parent
        self.worker = worker
        self.life = life
        self.wakes = wakes
        self.mark = mark

    def run(self, private: Sequence[int]) -> None:
        """Wait, kill, and end as the worker did."""
        for descriptor in (0, 1, *private):
            os.close(descriptor)
        if self.life >= 0:
            with contextlib.suppress(OSError):
                os.write(self.life, b"%d\n" % self.worker)
        status = self._wait()
        end(os.getpid(), self.mark, self.worker)
        if status is None:
            os._exit(1)
        if os.WIFSIGNALED(status):
            _end_by(os.WTERMSIG(status))
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)

    def _wait(self) -> int | None:
        """How the worker ended; ``None`` if it must be ended now."""
        watched = [self.wakes, *([self.life] if self.life >= 0 else [])]
        while True:
            ready = select.select(watched, [], [], 1)[0]
            signals = self._signals() if self.wakes in ready else b""
            if (status := self._reaped()) is not None:
                return status
            if self.life in ready or os.getppid() != self.parent:
                return None
            for name in _ENDING:
                if getattr(signal, name) in signals:
                    return int(getattr(signal, name))  # as if it had ended the worker

    def _signals(self) -> bytes:
        with contextlib.suppress(OSError):
            return os.read(self.wakes, 4096)
        return b""

    def _reaped(self) -> int | None:
        last = None
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                if pid == self.worker:
                    last = status
        return last


def _end_by(number: int) -> None:
    """End by a signal, without a core file."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def _is_socket(descriptor: int) -> bool:
    """Whether ``life`` is open: whatever starts the interpreter may have closed it."""
    try:
        return descriptor >= 0 and stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False


def _control(option: int, value: int) -> bool:
    """Call Linux's ``prctl``; whether the system has it."""
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, AttributeError, OSError, TypeError):  # not Linux
        return False
