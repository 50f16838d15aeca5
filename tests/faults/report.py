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

from .rows import Tried

_HEAD = """\
# What is tried and what holds

Real builds, in processes of their own, are killed, starved of disk, fed with damaged and forged
files and with pages that nobody would write. `python -m tests.faults --long --write FILE` makes
this page; a short form runs with every change. How to run rows of it: CONTRIBUTING.md.

{versions}; {date}.

| row | what is tried | tried | held |
|---|---|--:|--:|
"""

_UNTRIED = """
(what-is-not-held)=
## What is not held

- Other systems than Linux: the rows use its processes and file systems.
- Who replaces a stored result *and* its digest can show another program ({doc}`security`).
- What Sphinx itself leaves behind: when a page comes, goes or changes its title, previous and next
  links and side bars of the other pages stay as they were until those pages are written. The soak
  leaves these out.
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
