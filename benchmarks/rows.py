"""The rows of the table: what is built, beside what, and what is asked of it."""

from __future__ import annotations

import importlib.util
import math
import shutil
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import browser, projects, sentences
from .inside import peaks, receiving
from .large import Large
from .measure import Usage, interleaved, median
from .projects import Page, Project, Script, galleries


@dataclass(frozen=True)
class Figure:
    """A measured figure beside its bound; ``detail`` has what it was computed from."""

    work: str
    bound: str
    measured: str
    holds: bool
    detail: str = ""


@dataclass(frozen=True)
class Run:
    """Where a row may write, and how many rounds it runs."""

    folder: Path
    rounds: int


Row = Callable[[Run], list[Figure]]


def seconds(usages: Mapping[str, Sequence[Usage]]) -> str:
    """Processor seconds of each arm: the median, and the least in brackets."""
    return ", ".join(
        f"{name} {median(rows).cpu:.2f} ({min(row.cpu for row in rows):.2f})"
        for name, rows in usages.items()
    )


def ratio(work: str, bound: float, mine: float, theirs: float, detail: str) -> Figure:
    """A ratio that must be at most ``bound``."""
    return Figure(
        work, f"at most {bound:.2f} x", f"{mine / theirs:.2f} x", mine <= bound * theirs, detail
    )


def extra(work: str, bound: float, mine: float, theirs: float, detail: str) -> Figure:
    """Seconds over something else, which must be at most ``bound``."""
    over = mine - theirs
    return Figure(work, f"at most + {bound:.3g} s", f"{over:+.3f} s", over <= bound, detail)


@dataclass(frozen=True)
class Arms:
    """A project of ours, the same with pasted text, and the plain script."""

    live: Project
    pasted: Project
    script: Script


def arms(folder: Path, pages: Sequence[Page], theme: str = "alabaster") -> Arms:
    """Make all three, in ``folder``."""
    plain = Script.of(folder / "script", pages)
    plain.run()
    texts = plain.texts(pages)
    return Arms(
        Project(folder / "live", projects.OURS, pages, texts, theme),
        Project(folder / "pasted", projects.PASTED, pages, texts, theme),
        plain,
    )


def cold(run: Run) -> list[Figure]:
    """Everything is traced, read and written: one directive a page, and six."""
    figures = []
    shapes = {
        "one directive a page": galleries(40),
        "six directives": projects.separate(40),
    }
    for shape, pages in shapes.items():
        work = f"cold, 40 pages x 6 blocks, {shape}"
        sides = arms(run.folder / shape.replace(" ", "-"), pages)
        runs = {"live": sides.live.cold, "pasted": sides.pasted.cold, "script": sides.script.run}
        usages = interleaved(run.rounds, runs)
        both = [a + b for a, b in zip(usages["pasted"], usages["script"], strict=True)]
        mine, theirs = median(usages["live"]), median(both)
        detail = seconds(usages)
        figures.append(
            ratio(f"{work}: processor / (pasted + script)", 1.20, mine.cpu, theirs.cpu, detail)
        )
        walls = f"live {mine.wall:.2f}, pasted + script {theirs.wall:.2f}"
        figures.append(
            ratio(f"{work}: wall / (pasted + script)", 0.90, mine.wall, theirs.wall, walls)
        )
    return figures


def one_page(run: Run) -> list[Figure]:
    """One page of six blocks from nothing."""
    sides = arms(run.folder / "one", galleries(1))
    usages = interleaved(
        run.rounds,
        {"live": sides.live.cold, "pasted": sides.pasted.cold, "script": sides.script.run},
    )
    theirs = median(usages["pasted"]).cpu + median(usages["script"]).cpu
    return [
        extra("cold, 1 page x 6: over pasted + script", 0.3, median(usages["live"]).cpu, theirs,
              seconds(usages))
    ]  # fmt: skip


def peers(run: Run) -> list[Figure]:
    """The same 120 programs on 20 pages, by the other tools that are installed."""
    pages = galleries(20)
    sides = arms(run.folder / "peers", pages)
    texts = sides.script.texts(pages)
    runs = {"live": sides.live.cold, "pasted": sides.pasted.cold}
    for name, tool in projects.PEERS.items():
        if all(_installed(extension) for extension in tool.extensions):
            runs[name] = Project(run.folder / "peers" / name, tool, pages, texts).cold
    usages = interleaved(run.rounds, runs)
    mine = median(usages["live"]).cpu
    return [
        ratio(f"cold, 20 pages x 6 (120 programs): processor / {name}", 1.0, mine,
              median(usages[name]).cpu, seconds({n: usages[n] for n in ("live", "pasted", name)}))
        for name in projects.PEERS
        if name in usages
    ]  # fmt: skip


def _installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def warm(run: Run) -> list[Figure]:
    """Nothing changed, or one page did."""
    figures = []
    for count in (40, 200):
        sides = arms(run.folder / f"warm{count}", galleries(count))
        for side in (sides.live, sides.pasted):
            side.cold()
        runs = {"live": sides.live.build, "pasted": sides.pasted.build}
        usages = interleaved(2 * run.rounds, runs)
        blocks = 6 * count
        figures.append(
            extra(f"warm, nothing changed, {blocks} blocks: over pasted", 0.05 + 0.0001 * blocks,
                  median(usages["live"]).cpu, median(usages["pasted"]).cpu, seconds(usages))
        )  # fmt: skip
        runs = {"live": sides.live.touched, "pasted": sides.pasted.touched}
        usages = interleaved(run.rounds, runs)
        figures.append(
            extra(f"one page of {count} touched: over pasted, same edit", 0.1,
                  median(usages["live"]).cpu, median(usages["pasted"]).cpu, seconds(usages))
        )  # fmt: skip
    return figures


def edited(run: Run) -> list[Figure]:
    """One of 100 functions edited, each in a module of its own."""
    pages = projects.modules(10, 10)
    sides = arms(run.folder / "edited", pages)
    only = Script.of(run.folder / "edited" / "single", pages, pages[0].blocks[:1])
    for side in (sides.live, sides.pasted):
        side.cold()
    usages = interleaved(
        run.rounds,
        {"live": sides.live.edited, "pasted": sides.pasted.touched, "script": only.run},
    )
    theirs = median(usages["pasted"]).cpu + median(usages["script"]).cpu
    return [
        extra("one function of 100 edited: over pasted (one page edited) + its script", 0.3,
              median(usages["live"]).cpu, theirs, seconds(usages))
    ]  # fmt: skip


def kept(run: Run) -> list[Figure]:
    """The store is kept, everything else is made again."""
    sides = arms(run.folder / "kept", galleries(40))
    for side in (sides.live, sides.pasted):
        side.cold()
    usages = interleaved(run.rounds, {"live": sides.live.kept, "pasted": sides.pasted.kept})
    return [
        ratio("store kept, pages new, 40 x 6: processor / pasted", 1.15,
              median(usages["live"]).cpu, median(usages["pasted"]).cpu, seconds(usages))
    ]  # fmt: skip


def judging(run: Run) -> list[Figure]:
    """Sentences in projects of more and more pages, nothing changed."""
    sizes = (125, 250, 500, 1000)
    costs: dict[int, float] = {}
    details = []
    for size in sizes:
        folder = run.folder / f"judging{size}"
        prose = sentences.Prose(folder / "with", size, sentences=True)
        bare = sentences.Prose(folder / "without", size, sentences=False)
        for side in (prose, bare):
            side.build()
        usages = interleaved(run.rounds, {"with": prose.build, "without": bare.build})
        gaps = [a.cpu - b.cpu for a, b in zip(usages["with"], usages["without"], strict=True)]
        costs[size] = max(statistics.median(gaps), 0.0)
        details.append(f"{size} pages {1000 * costs[size] / (3 * size):.2f} ms")
    last, half = costs[sizes[-1]], costs[sizes[-2]]
    exponent = math.log2(last / half) if half > 0 and last > 0 else 0.0
    per = 1000 * last / (3 * sizes[-1])
    detail = "a sentence: " + ", ".join(details)
    return [
        Figure("judging, warm, 1,000 pages: a sentence", "at most 0.2 ms",
               f"{per:.2f} ms", per <= 0.2, detail),
        Figure("judging, warm: exponent from 500 to 1,000 pages", "about 1",
               f"{exponent:.2f}", exponent <= 1.3, detail),
    ]  # fmt: skip


def memory(run: Run) -> list[Figure]:
    """10,000 blocks, cold: the largest process of a build beside pasted."""
    pages = projects.long(98, 17)
    blocks = sum(len(page.blocks) for page in pages)
    # Pasted pages repeat six texts: what they say does not matter to memory.
    few = galleries(1)
    script = Script.of(run.folder / "script", few)
    script.run()
    (six,) = script.texts(few)
    texts = [six * (len(page.blocks) // 6) for page in pages]
    live = Project(run.folder / "live", projects.OURS, pages, texts)
    pasted = Project(run.folder / "pasted", projects.PASTED, pages, texts)
    mine = peaks(live.folder)
    theirs = peaks(pasted.folder)
    over = mine["sphinx"] - theirs["sphinx"]
    detail = f"Sphinx {mine['sphinx']:.0f} MB, pasted {theirs['sphinx']:.0f} MB"
    return [
        Figure(f"{blocks} blocks, cold: memory of Sphinx over pasted", "at most 150 MB",
               f"{over:.0f} MB", over <= 150, detail),
        Figure(f"{blocks} blocks, cold: largest worker", "flat", f"{mine['children']:.0f} MB",
               mine["children"] <= 450, "JAX itself takes about 170 MB"),
    ]  # fmt: skip


def large(run: Run) -> list[Figure]:
    """One block of more and more equations, from nothing."""
    costs: dict[int, float] = {}
    details = []
    for equations in (5_000, 20_000, 50_000):
        sides = Large.of(run.folder / f"large{equations}", equations)
        arms = {"live": sides.live, "pasted": sides.pasted, "script": sides.script}
        usages = interleaved(max(1, run.rounds // 2), arms)
        costs[equations] = median(usages["live"]).cpu
        details.append(f"{equations}: {seconds(usages)}")
    slope = (costs[50_000] - costs[20_000]) / 30_000
    before = (costs[20_000] - costs[5_000]) / 15_000
    grown = slope / before
    return [
        Figure("one block, cold: seconds an equation, 20,000 to 50,000 over 5,000 to 20,000",
               "about 1", f"{grown:.2f}", grown <= 1.3, "; ".join(details))
    ]  # fmt: skip


def results(run: Run) -> list[Figure]:
    """What Sphinx's process needs for each result."""
    pages = galleries(100)
    side = arms(run.folder / "results", pages).live
    programs = sum(len(page.traced) for page in pages)
    costs = []
    for _ in range(run.rounds):
        shutil.rmtree(side.folder / "out-inside", ignore_errors=True)
        costs.append(1000 * receiving(side.folder) / programs)
    middle = statistics.median(costs)
    detail = f"{programs} programs; least {min(costs):.2f} ms; start of the worker included"
    return [
        Figure("looking up, receiving and keeping results: a program", "at most 0.5 ms",
               f"{middle:.2f} ms", middle <= 0.5, detail)
    ]  # fmt: skip


def in_browser(run: Run) -> list[Figure]:
    """A block of 20,000 equations in a browser."""
    side = Large.of(run.folder / "browser", 20_000)
    side.live()
    try:
        figures = browser.measure(side.folder / "live-out" / "index.html")
    except browser.NoBrowser as missing:
        return [Figure("one block of 20,000 equations in a browser", "", str(missing), False)]
    detail = ", ".join(f"{name} {value:.0f}" for name, value in figures.items())
    bounds = {"open": 500, "pointing": 16, "arrow key": 50}
    return [
        Figure(f"one block of 20,000 equations in a browser: {name}", f"under {bound} ms",
               f"{figures[name]:.0f} ms", figures[name] < bound, detail)
        for name, bound in bounds.items()
    ]  # fmt: skip


ROWS: Final[dict[str, Row]] = {
    "cold": cold,
    "one-page": one_page,
    "peers": peers,
    "warm": warm,
    "edited": edited,
    "kept": kept,
    "judging": judging,
    "memory": memory,
    "large": large,
    "results": results,
    "browser": in_browser,
}
