"""Spreads jobs over workers: one, and a second where it pays."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final

from .client import Client
from .jobs import Job, Limit, Setup

#: Jobs from which a second start of JAX costs less than it saves.
WORTH_A_SECOND: Final = 100


def run(
    setup: Setup, jobs: Sequence[Job], limit: Limit | None = None
) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Yield each job with its outcome, as they come; ``limit`` is for all of them together.

    A base and its variants stay with one worker, in order: they build on what
    the base left, and where it ends the worker they are not tried.
    """
    limit = limit or Limit()
    with limit.counting():
        if len(jobs) >= WORTH_A_SECOND and _processors() > 1:
            yield from _shared([Client(setup, limit) for _ in range(2)], _shares(jobs))
        else:
            yield from Client(setup, limit).run(jobs)


def _shared(
    clients: Sequence[Client], shares: Sequence[Sequence[Job]]
) -> Iterator[tuple[Job, dict[str, Any]]]:
    outcomes: queue.Queue[tuple[Job, dict[str, Any]] | None] = queue.Queue()
    threads = [
        threading.Thread(target=_serve, args=(client, share, outcomes), daemon=True)
        for client, share in zip(clients, shares, strict=False)  # all may belong together
    ]
    for thread in threads:
        thread.start()
    try:
        running = len(threads)
        while running:
            found = outcomes.get()
            if found is None:
                running -= 1
            else:
                yield found
    finally:  # also when the build is interrupted: no worker stays behind
        for client in clients:
            client.close()
        for thread in threads:
            thread.join(timeout=5)


def _serve(client: Client, share: Sequence[Job], outcomes: queue.Queue[Any]) -> None:
    try:
        for found in client.run(share):
            outcomes.put(found)
    finally:
        outcomes.put(None)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def backwards(jobs: Sequence[Job]) -> list[Job]:
    """The jobs in another order; a base still comes before its variants."""
    return [job for group in reversed(_groups(jobs)) for job in group]


def _groups(jobs: Sequence[Job]) -> list[list[Job]]:
    """Bases, each with its variants."""
    groups: dict[str, list[Job]] = {}
    for job in jobs:
        groups.setdefault(job.request.base.digest, []).append(job)
    return list(groups.values())


def _shares(jobs: Sequence[Job]) -> list[list[Job]]:
    """Two halves; what belongs together goes to the half that has less."""
    halves: list[list[Job]] = [[], []]
    for group in _groups(jobs):
        min(halves, key=len).extend(group)
    return [half for half in halves if half]
