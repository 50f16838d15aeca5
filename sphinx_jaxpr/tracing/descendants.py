"""Finds and kills the processes that a worker started.

Two nets.  The first is the tree: the worker's keeper (``worker/keeper.py``) adopts every
process below it whose parent ended, so a daemon in its own session stays
below it.  The second is a mark in the environment that a process was started with, for
processes left over when the keeper itself was killed.  Both read Linux's ``/proc``; on other
systems only the process group is known.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

#: The variable that marks the processes of one worker.
MARK: Final = "SPHINX_JAXPR_WORKER"
#: Seconds after which processes that spawn others faster than they can be found are left.
PATIENCE: Final = 3.0
_PROC: Final = "/proc"


@dataclass(frozen=True)
class _Running:
    """A process when seen; ``started`` distinguishes it from a later one with the same id."""

    pid: int
    state: bytes
    parent: int
    group: int
    started: bytes


def end(root: int | None, mark: str, group: int = 0) -> None:
    """Kill every process below ``root`` or marked, until none is left; ``root`` is spared.

    ``group`` is a process group that is known to be the worker's.
    """
    if not os.path.isdir(f"{_PROC}/self"):
        if group > 1:
            _kill_group(group)
        return
    until = time.monotonic() + PATIENCE
    spared = {root, os.getpgrp()}
    while processes := below(root, mark, lambda process: _kill(process, spared)):
        for process in processes:
            _kill(process, spared)
        if time.monotonic() > until:
            return
        time.sleep(0.001)  # wait until the killed processes are gone


def below(
    root: int | None, mark: str, met: Callable[[_Running], None] = lambda process: None
) -> list[_Running]:
    """The processes below ``root``, or below a marked process.

    ``met`` gets the direct children of ``root`` at once, the latest first: a process that
    only starts its successor and ends is gone before all others have been inspected.
    """
    running: dict[int, _Running] = {}
    children: dict[int, list[int]] = {}
    for pid in sorted(map(int, filter(str.isdigit, os.listdir(_PROC))), reverse=True):
        if (process := _look(pid)) is not None:
            if process.parent == root:
                met(process)
            running[pid] = process
            children.setdefault(process.parent, []).append(pid)
    todo = [pid for pid in running if mark and _is_marked(pid, mark)]
    if root is not None:
        todo.append(root)
    pids: set[int] = set()
    while todo:
        pid = todo.pop()
        if pid not in pids:
            pids.add(pid)
            todo += children.get(pid, ())
    return [running[pid] for pid in pids - {root, os.getpid()} if pid in running]


def _look(pid: int) -> _Running | None:
    """A process, if it still runs."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as stream:
            # The name of the program, in brackets, may hold anything.
            fields = stream.read().rpartition(b")")[2].split()
        if fields[0] in (b"Z", b"X"):
            return None
        return _Running(pid, fields[0], int(fields[1]), int(fields[2]), fields[19])
    except (OSError, IndexError, ValueError):
        return None


def _kill(process: _Running, spared: set[int | None]) -> None:
    """Kill a process, if it is still the one that was seen, and its group.

    A group at once: what is just being forked is in it.  A worker
    creates all groups below it, except the one that its keeper began in.
    """
    if process.group > 1 and process.group not in spared:
        _kill_group(process.group)
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:  # it is gone
        return
    except AttributeError:  # no such thing here
        handle = -1
    now = _look(process.pid)
    with contextlib.suppress(OSError):
        if now is None or now.started != process.started:
            pass
        elif handle >= 0:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        else:
            os.kill(process.pid, signal.SIGKILL)
    if handle >= 0:
        os.close(handle)


def _kill_group(group: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def runs(pid: int) -> bool:
    """Whether a process exists and keeps running for a moment; false if that is unknown."""
    for _ in range(20):
        if not pid or _look(pid) is None:
            return False
        time.sleep(0.01)
    return True


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped by a signal; false if that is unknown."""
    process = _look(pid) if pid else None
    return process is not None and process.state in (b"T", b"t")


def memory(pid: int) -> int:
    """Bytes of memory that a process takes; 0 if that is unknown."""
    try:
        with open(f"{_PROC}/{pid}/statm", "rb") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def _is_marked(pid: int, mark: str) -> bool:
    try:
        with open(f"{_PROC}/{pid}/environ", "rb") as stream:
            return f"{MARK}={mark}".encode() in stream.read().split(b"\0")
    except OSError:  # another user's, or gone
        return False
