"""Finds and kills what a worker started, wherever it went.

Two nets.  The first is the tree: the worker's keeper (``worker/keeper.py``) adopts every
process below it whose parent ended, so that a daemon in a session of its own stays below
it.  The second is a mark in the environment that a process was started with, for what is left
when the keeper itself was killed.  Both read Linux's ``/proc``; elsewhere there is the process
group alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator
from typing import Final

#: The variable that marks the processes of one worker.
MARK: Final = "SPHINX_JAXPR_WORKER"
#: Seconds after which processes that start others faster than they can be found are left.
PATIENCE: Final = 3.0
_PROC: Final = "/proc"


def end(root: int | None, mark: str, groups: Iterable[int] = ()) -> None:
    """Kill all that is below ``root`` or marked, until nothing is left; ``root`` is spared.

    ``groups`` are process groups that are known to be the worker's.
    """
    for group in groups:
        _send(group, group=True)
    if not os.path.isdir(f"{_PROC}/self"):
        return
    until = time.monotonic() + PATIENCE
    while found := below(root, mark):
        for pid, group in found.items():
            # A group at once: a member that is just being forked is in it.
            if group == pid or group in found:
                _send(group, group=True)
            _send(pid)
        if time.monotonic() > until:
            return
        time.sleep(0.001)  # for the killed to be gone


def below(root: int | None, mark: str) -> dict[int, int]:
    """Processes that run below ``root``, or below one that is marked, with their groups."""
    parents: dict[int, list[int]] = {}
    groups: dict[int, int] = {}
    for pid, parent, group in _running():
        parents.setdefault(parent, []).append(pid)
        groups[pid] = group
    spared = {root, os.getpid()}
    todo = [pid for pid in groups if mark and _is_marked(pid, mark)]
    if root is not None:
        todo.append(root)
    found: set[int] = set()
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += parents.get(pid, ())
    return {pid: groups[pid] for pid in found if pid in groups and pid not in spared}


def _running() -> Iterator[tuple[int, int, int]]:
    """Each process with its parent and its group; those that have ended do not count."""
    for name in os.listdir(_PROC):
        if not name.isdigit():
            continue
        try:
            with open(f"{_PROC}/{name}/stat", "rb") as stream:
                # The name of the program, in brackets, may hold anything.
                fields = stream.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if len(fields) > 2 and fields[0] not in (b"Z", b"X"):
            yield int(name), int(fields[1]), int(fields[2])


def _is_marked(pid: int, mark: str) -> bool:
    try:
        with open(f"{_PROC}/{pid}/environ", "rb") as stream:
            return f"{MARK}={mark}".encode() in stream.read().split(b"\0")
    except OSError:  # another user's, or gone
        return False


def _send(number: int, *, group: bool = False) -> None:
    if number <= 1:
        return
    with contextlib.suppress(OSError):
        if group:
            os.killpg(number, signal.SIGKILL)
        else:
            os.kill(number, signal.SIGKILL)
