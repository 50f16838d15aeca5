"""All rows of the table in one go.

    python -m benchmarks                      every row; writes benchmarks/results.md
    python -m benchmarks cold warm            some rows; prints them
    python -m benchmarks --rounds 3 --write   fewer rounds

Every row builds its arms in turn, so that a machine that grows slower or faster does so for
all of them.  The figures are medians of processor time of the whole tree of processes,
in ratios or differences inside one row; seconds of different rows say nothing together.
Peers are included where they are installed.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import importlib.metadata
import importlib.util
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from .rows import ROWS, Figure, Run

RESULTS: Final = Path(__file__).with_name("results.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run rows; the exit status is 1 if a bound is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("rows", nargs="*", choices=[*ROWS, []], help="rows to run (all)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each row (5)")
    parser.add_argument(
        "--write", action="store_true", help=f"write {RESULTS.name} after some rows, too"
    )
    given = parser.parse_args(arguments)
    names = given.rows or list(ROWS)
    _compile()
    figures: list[Figure] = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            rows = ROWS[name](Run(Path(folder), given.rounds))
        for figure in rows:
            print(line(figure), flush=True)
        figures += rows
    if given.write or not given.rows:
        RESULTS.write_text(table(figures, given.rounds))
    return 0 if all(figure.holds for figure in figures) else 1


def _compile() -> None:
    """Compile the package, as an installation does; else the first build would."""
    spec = importlib.util.find_spec("sphinx_jaxpr")
    assert spec is not None and spec.submodule_search_locations
    compileall.compile_dir(spec.submodule_search_locations[0], quiet=1)


def line(figure: Figure) -> str:
    """A figure as a row of the table."""
    mark = "yes" if figure.holds else "**no**"
    return f"| {figure.work} | {figure.bound} | {figure.measured} | {mark} | {figure.detail} |"


def table(figures: Sequence[Figure], rounds: int) -> str:
    """The whole table, with the date and the versions."""
    packages = (
        "jax",
        "sphinx",
        "docutils",
        "myst-parser",
        "sphinx-pyrunblock",
        "ipython",
        "myst-nb",
    )
    versions = ", ".join(f"{name} {_version(name)}" for name in packages if _version(name))
    return (
        f"Measured on {datetime.date.today()}: Python {platform.python_version()}, {versions};"
        f" {os.cpu_count()} processors; medians of {rounds} rounds in turn, seconds of processor"
        " time unless said otherwise, the least in brackets.\n\n"
        "| work | bound | measured | holds | from |\n|---|---|---:|---|---|\n"
        + "".join(f"{line(figure)}\n" for figure in figures)
    )


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
