"""The table as a page of the documentation."""

from __future__ import annotations

import datetime
import platform
import re
from collections.abc import Sequence
from importlib.metadata import version

from .rows import Tried

_HEAD = """\
# What is tried and what holds

Real builds, in processes of their own, are killed, starved of disk, fed with damaged and forged
files and with pages that nobody would write. `python -m tests.faults --long --write FILE` makes
this page; a short form runs with every change.

{versions}; seed {seed}; {date}.

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


def table(done: Sequence[Tried], seed: int) -> str:
    """The table in Markdown, and below it what does not hold."""
    text = _HEAD.format(versions=_versions(), seed=seed, date=datetime.date.today())
    text += "".join(
        f"| {found.row.name} | {_cell(found.row.what)} | "
        + (f"not tried: {found.missing} | |" if found.missing else _figures(found))
        + "\n"
        for found in done
    )
    text += _UNTRIED
    for found in done:
        text += "".join(f"- {found.row.name}: {_cell(lost)}\n" for lost in found.tally.lost)
    notes = [f"- {found.row.name}: {_cell(n)}\n" for found in done for n in found.tally.notes]
    return text + ("\n## Notes\n\n" + "".join(notes) if notes else "")


def _figures(found: Tried) -> str:
    return f"{found.tally.tried:,} | {found.tally.held:,} |"


def _cell(text: str) -> str:
    """Text that is neither markup nor a second cell; no folder of this machine."""
    plain = re.sub(r"(?:/[\w.~-]+){2,}", lambda path: ".../" + path[0].rpartition("/")[2], text)
    shown = "".join(c if c.isprintable() else " " for c in plain)
    return re.sub(r"([\\`*_{}\[\]<>|$])", r"\\\1", shown[:300])


def _versions() -> str:
    names = {"jax": "JAX", "sphinx": "Sphinx", "myst-parser": "MyST-Parser"}
    found = [f"Python {platform.python_version()}"]
    return ", ".join([*found, *(f"{names[name]} {version(name)}" for name in names)])
