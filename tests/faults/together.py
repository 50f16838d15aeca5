"""Builds that run at once on one store, and a store that goes while it is used."""

from __future__ import annotations

import random
import shutil
import time

from .builds import Site, a_moment, as_clean, ended, folder, outputs
from .rows import Tally, row
from .site import clean, files, site, size


def _others(where: Site, count: int) -> list[Site]:
    """Projects with other pages and modules that share the first one's store."""
    found = [where]
    for n in range(1, count):
        pages = files(6 + n)
        pages["src/other.py"] += f"\n        NUMBER = {n}\n"
        pages["src/helpers.py"] = pages["src/helpers.py"].replace("tanh", "sin" if n % 2 else "cos")
        pages = {name: text.replace("[tanh]", "[add]") for name, text in pages.items()}
        conf = f"jaxpr_cache_dir = {str(where.store)!r}\n"
        other = Site(where.folder / f"other{n}", pages, conf)
        other.store = where.store
        found.append(other)
    return found


@row(short=0, long=12)
def same_project(chance: random.Random, count: int) -> Tally:
    """Two or four builds of one project at once on one store, each as a clean one."""
    tally = Tally()
    with folder() as where:
        pages = size(count)
        place, (expected, _) = site(where, pages), clean(pages)
        for turn in range(count):
            cold = turn % 3 != 2
            many = 4 if turn % 2 else 2
            outs = [f"out{n}" for n in range(many)]
            place.forget(*outs, *([place.store_name] if cold else []))
            running = []
            for out in outs:
                running.append(place.start("html", "-W", out=out))
                time.sleep(chance.uniform(0, 0.5))
            for out, one in zip(outs, running, strict=True):
                built = one.end("html")
                built.out = place.out("html", out)
                problems = [*as_clean(built, expected), *one.orphans()]
                tally.note(f"{many} at once, {'cold' if cold else 'warm'}", problems)
            place.forget("out")
            tally.note("a build after them", as_clean(place.run("html", "-W"), expected))
    return tally


@row(short=0, long=6)
def other_projects(chance: random.Random, count: int) -> Tally:
    """Two or four projects, with modules of the same names, at once on one store."""
    tally = Tally()
    with folder() as where:
        places = _others(site(where), 4 if count > 1 else 2)
        # Claims of the others are false on purpose: that must stay so.
        expected = [(place.clean(), outputs(place.out("html", "clean"))) for place in places]
        for turn in range(count):
            chosen = list(zip(places, expected, strict=True))[: 2 + 2 * (turn % 2)]
            for place, _ in chosen:
                place.forget("out")
            if turn % 3 != 2:
                places[0].forget(places[0].store_name)
            running = [place.start("html") for place, _ in chosen]
            for (place, (first, pages)), one in zip(chosen, running, strict=True):
                built = one.end("html")
                problems = as_clean(built, pages)
                if len(built.warnings) != len(first.warnings):
                    problems.append(f"{len(built.warnings)} warnings, not {len(first.warnings)}")
                tally.note(f"{len(chosen)} projects, {place.folder.name}", problems)
    return tally


@row(short=0, long=20)
def store_deleted(chance: random.Random, count: int) -> Tally:
    """The store is deleted at a random moment of a build, and then built again."""
    tally = Tally()
    with folder() as where:
        pages = size(count)
        place, (expected, longest) = site(where, pages), clean(pages)
        place.run()
        for turn in range(count):
            place.forget("out", *([place.store_name] if turn % 2 else []))
            running = place.start("html", "-W")
            moment = a_moment(chance, longest if turn % 2 else longest * 0.4)
            time.sleep(moment)
            shutil.rmtree(place.store, ignore_errors=True)
            built = running.end("html")
            problems = [*ended(built), *as_clean(built, expected)[bool(built.code) :]]
            if built.code == 1 and len(built.warnings) > 1:
                problems.append(f"{len(built.warnings)} warnings")
            again = place.run("html", "-W")
            problems += [f"then {problem}" for problem in as_clean(again, expected)]
            tally.note(f"after {moment:.2f} s", problems)
    return tally


ROWS = [same_project, other_projects, store_deleted]
