"""The table as a page of the documentation."""

from __future__ import annotations

import datetime
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .rows import Tried, every

_HEAD = """\
# What is tried and what holds

Real builds, each in a process of its own, are killed, starved of disk space, and fed damaged and
forged files and pages that nobody would write. `python -m tests.faults --long --write FILE` makes
this page; `--list` says how often the long form tries each row. A short form runs with every
change. CONTRIBUTING.md says how to run single rows.

{versions}; {date}. The counts are those of the last run of each row, long or not.

| row | what is tried | tried | held |
|---|---|--:|--:|
"""

_UNTRIED = """
(what-is-not-held)=
## What is not held

- Systems other than Linux: the rows use its processes and file systems.
- Whoever replaces a stored result *and* its digest can show another program, and whoever can
  write Sphinx's pickled environment can run code ({doc}`security`).
- Code that searches its own process for the worker's token can give its own block another
  program.
- A process that both clears its environment and kills the keeper outlives the build.
- {confval}`jaxpr_allowed_modules` limits names alone. What a listed module does with a name is up
  to it.
- Sphinx's own leftovers: when a page comes, goes or changes its title, the previous and next
  links and the side bars of other pages stay as they were until those pages are written. The soak
  ignores these.
"""


def line(found: Tried) -> str:
    """A row as the command prints it."""
    tally = found.tally
    if found.missing:
        return f"{found.row.name:24} not tried: {found.missing}"
    return f"{found.row.name:24} {tally.tried:8,} tried {tally.held:8,} held {found.seconds:7.0f} s"


def results(path: Path | None, done: Sequence[Tried], seed: int) -> dict[str, Any]:
    """What came of rows, by name: now, and in earlier runs that a file has; it is kept there.

    The long form takes hours, and may be run row by row.
    """
    kept = json.loads(path.read_text("utf-8")) if path and path.exists() else {}
    for found in done:
        row = {"what": found.row.what, "missing": found.missing, "seed": seed}
        kept[found.row.name] = {**row, "seconds": round(found.seconds), **asdict(found.tally)}
    if path:
        path.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    return dict(sorted(kept.items()))


def table(rows: Mapping[str, Any]) -> str:
    """The table in Markdown, and below it what does not hold."""
    text = _HEAD.format(versions=_versions(), date=datetime.date.today())
    for name, row in rows.items():
        tried, held = f"{row['tried']:,}", f"{row['held']:,}"
        if row["missing"]:
            tried, held = f"not tried: {_cell(row['missing'])}", ""
        what = row["what"].replace("|", "\\|")
        text += f"| {name} | {what} | {tried} | {held} |\n"
    text += _UNTRIED
    untried = [one.name for one in every() if one.name not in rows]
    if untried:
        text += f"- Rows of the table that this page has no run of: {', '.join(untried)}.\n"
    for key in ("lost", "notes"):
        said = [f"- {name}: {one}\n" for name, row in rows.items() for one in _said(row[key])]
        text += "\n## Notes\n\n" if said and key == "notes" else ""
        text += "".join(said)
    return text


def _said(lines: Sequence[str]) -> list[str]:
    """The lines for people: what differs in numbers alone is said once."""
    found = {re.sub(r"0x[0-9a-f]+|\d+", "", line): _cell(line) for line in reversed(lines)}
    return list(reversed(found.values()))


def _cell(text: str) -> str:
    """Text that is neither markup nor a second cell; no folder of this machine."""
    plain = re.sub(r"(?:/[\w.~-]+){2,}", lambda path: ".../" + path[0].rpartition("/")[2], text)
    plain = re.sub(r" at 0x[0-9a-f]+", "", plain)
    shown = "".join(c if c.isprintable() else " " for c in plain)
    return re.sub(r"([\\`*_{}\[\]<>|$])", r"\\\1", shown[:300])


def _versions() -> str:
    names = {"jax": "JAX", "sphinx": "Sphinx", "myst-parser": "MyST-Parser"}
    found = [f"Python {platform.python_version()}"]
    return ", ".join([*found, *(f"{names[name]} {version(name)}" for name in names)])
