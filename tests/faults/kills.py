"""Builds that are ended at a random moment: the next one is as if nothing had been."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import psutil

from .builds import Running, Site, a_moment, as_clean, differences, ended, folder, outputs, took
from .rows import Tally, row
from .site import clean, site, size

#: Days after which what a killed build left counts as left for good.
OLD = 60


def _worked_on(chance: random.Random, place: Site) -> None:
    """Give the next build something to do: all, or some of it."""
    if chance.random() < 0.5:
        place.forget()
        return
    for name in chance.sample(["src/layers.py", "src/other.py", "docs/page3.md"], 2):
        path = place.folder / name
        end = "\n# a comment\n" if path.suffix == ".py" else "\n%  a comment\n"
        path.write_text(path.read_text("utf-8") + end, "utf-8")


def _temporary(where: Path) -> list[Path]:
    """Files that no finished build has: hidden ones, and those that are called temporary."""
    found = (path for path in where.rglob("*") if path.is_file() or path.is_symlink())
    return [path for path in found if path.name.startswith(".") or path.suffix == ".tmp"]


class _Killed:
    """One project that is built, ended and built again, many times."""

    def __init__(
        self,
        chance: random.Random,
        place: Site,
        expected: tuple[dict[str, Any], float],
        builder: str = "html",
    ) -> None:
        self.chance = chance
        self.place = place
        self.builder = builder
        self.tally = Tally()
        self.missed = 0
        self.expected, self.longest = expected

    def hit(self, how: signal.Signals, group: bool) -> tuple[Running, float]:
        """A build that was ended while it ran, and when."""
        for _ in range(4):
            _worked_on(self.chance, self.place)
            running = self.place.start(self.builder)
            moment = a_moment(self.chance, self.longest)
            time.sleep(moment)
            if running.kill(how, group):
                return running, moment
            running.end(self.builder)
            self.longest *= 0.9
        self.missed += 1
        return running, moment

    def check(self, what: str, running: Running, problems: list[str]) -> None:
        """Build again, and count the try."""
        problems += running.orphans()
        again = self.place.run(self.builder, "-W")
        problems += self.compared(again)
        self.tally.note(what, problems)

    def compared(self, again: Any) -> list[str]:
        return as_clean(again, self.expected)

    def closing(self, *places: Path) -> Tally:
        """What was left behind for good: it is made old, and the next build may take it away."""
        left = [path for place in places for path in _temporary(place)]
        if self.missed:
            self.tally.notes.append(f"{self.missed} of the builds ended before they were hit")
        if not left:
            return self.tally
        self.tally.notes.append(f"{len(left)} temporary files after {self.tally.tried} kills")
        long_ago = time.time() - OLD * 86_400
        for path in left:
            os.utime(path, (long_ago, long_ago))
        # A build that has something to write.
        source = self.place.folder / "src/layers.py"
        source.write_text(source.read_text("utf-8") + "\n# the last\n", "utf-8")
        self.place.run(self.builder)
        names = sorted(path.name for path in left if path.exists())[:5]
        text = [f"temporary files of {OLD} days ago stay: {', '.join(names)}"] if names else []
        self.tally.note("afterwards", text)
        return self.tally


def _ended(chance: random.Random, count: int, how: signal.Signals, group: bool) -> Tally:
    with folder() as where:
        pages = size(count)
        killed = _Killed(chance, site(where, pages), clean(pages))
        for _ in range(count):
            running, moment = killed.hit(how, group)
            built = running.end("html", 60)
            problems = ["hangs"] if built.code == -1 else []
            killed.check(f"{how.name} after {moment:.2f} s", running, problems)
        return killed.closing(killed.place.store)


@row(short=0, long=50)
def kill_build(chance: random.Random, count: int) -> Tally:
    """`kill -9` of sphinx-build and all of its process group at a random moment, then a build."""
    return _ended(chance, count, signal.SIGKILL, group=True)


@row(long=50)
def kill_main(chance: random.Random, count: int) -> Tally:
    """`kill -9` of the main process alone; what it started has to end too."""
    return _ended(chance, count, signal.SIGKILL, group=False)


@row(short=0, long=20)
def interrupt(chance: random.Random, count: int) -> Tally:
    """SIGINT (Ctrl-C) at a random moment, then a build."""
    return _ended(chance, count, signal.SIGINT, group=True)


@row(short=0, long=20)
def terminate(chance: random.Random, count: int) -> Tally:
    """SIGTERM at a random moment, then a build."""
    return _ended(chance, count, signal.SIGTERM, group=False)


@row(short=0, long=20)
def kill_worker(chance: random.Random, count: int) -> Tally:
    """`kill -9` of the tracing process at a random moment: the build goes on, then another."""
    with folder() as where:
        pages = size(count)
        killed = _Killed(chance, site(where, pages), clean(pages))
        for _ in range(count):
            killed.place.forget()
            running = killed.place.start()
            moment = _kill_the_worker(chance, running, killed.longest)
            if moment < 0:
                killed.missed += 1
            built = running.end("html")
            # The index of primitives is of blocks that were traced, and there may be none.
            pages = set(killed.expected) - set(outputs(built.out)) - {"jaxpr-primitives.html"}
            lost = [f"{name} is not written" for name in sorted(pages)[:3]]
            killed.check(f"after {moment:.2f} s", running, [*ended(built), *lost])
        return killed.closing(killed.place.store)


def _kill_the_worker(chance: random.Random, running: Running, longest: float) -> float:
    """Seconds after which it was killed, -1 where it was not."""
    while running.main.poll() is None and not running.worker():
        time.sleep(0.01)
    began = time.monotonic()
    time.sleep(chance.uniform(0.0, longest * 0.5))
    if (worker := running.worker()) is not None:
        with contextlib.suppress(psutil.Error):
            worker.kill()
            return time.monotonic() - began
    return -1.0


@row(short=0, long=15)
def kill_lock(chance: random.Random, count: int) -> Tally:
    """`kill -9` of `-b jaxpr-lock` at a random moment, then again: the same lock."""
    with folder() as where:
        place = site(where)
        lock = place.docs / "_jaxprs"
        seconds = took(lambda: place.run("jaxpr-lock"))
        killed = _Killed(chance, place, ({}, seconds), "jaxpr-lock")
        expected = outputs(lock)

        def compared(again: Any) -> list[str]:
            found = outputs(lock)
            # What is half written has a hidden name; the closing looks at these.
            whole = {name: data for name, data in found.items() if "/." not in f"/{name}"}
            return [*ended(again, (0,)), *differences(whole, expected)]

        killed.compared = compared  # type: ignore[method-assign] # another comparison
        for _ in range(count):
            if chance.random() < 0.5:
                place.forget("docs/_jaxprs")
            running, moment = killed.hit(signal.SIGKILL, group=True)
            running.end("jaxpr-lock", 60)
            killed.check(f"after {moment:.2f} s", running, [])
        return killed.closing(place.store, lock)


@row(short=0, long=15)
def kill_check(chance: random.Random, count: int) -> Tally:
    """`kill -9` of `-b jaxpr-check` at a random moment, then again: the same report."""
    with folder() as where:
        place = site(where)
        place.write("docs/page9.md", "# Nine\n\n{jaxpr:claim}`no <len(dense3) == 99>`\n")
        seconds = took(lambda: place.run("jaxpr-check"))
        expected = outputs(place.out("jaxpr-check"))
        killed = _Killed(chance, place, ({}, seconds), "jaxpr-check")

        def compared(again: Any) -> list[str]:
            return [*ended(again, (1,)), *differences(outputs(again.out), expected)]

        killed.compared = compared  # type: ignore[method-assign] # another comparison
        for _ in range(count):
            running, moment = killed.hit(signal.SIGKILL, group=True)
            running.end("jaxpr-check", 60)
            killed.check(f"after {moment:.2f} s", running, [])
        return killed.closing(place.store)


ROWS = [kill_build, kill_main, interrupt, terminate, kill_worker, kill_lock, kill_check]
