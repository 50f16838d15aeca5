"""``drift``: compares the blocks of a documentation between two versions of JAX.

Sphinx runs in its own process with the builder ``jaxpr-record``, once for each interpreter,
and writes only to a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ..block import TracedBlock
from ..program.drift.compare import Drift, compare, counted, table
from ..program.drift.levels import Difference, Level
from ..program.text import on_one_line, shorten, spelled
from ..tracing import lock
from ..tracing.result import ErrorKind
from .usage import ArgumentKeywords

SAME: Final = 0
DRIFTED: Final = 1
FAILED: Final = 2
#: How many lines of Sphinx's output are printed if it fails.
TAIL: Final = 20


class CommandError(Exception):
    """There is nothing to compare; the message says why."""


@dataclass(frozen=True)
class DriftRow:
    """One block: its name (with the page, if it is local to one) and its drift."""

    name: str
    drift: Drift


@dataclass(frozen=True)
class BrokenStatement:
    """A finding of ``jaxpr-check`` about a claim or a path."""

    type: str
    source: str
    line: int
    message: str

    @classmethod
    def from_json(cls, data: Any) -> BrokenStatement | None:
        """Read a finding in ``output.json``; ``None`` for findings about anything else."""
        if not isinstance(data, dict) or data.get("type") not in ("jaxpr.claim", "jaxpr.path"):
            return None
        source, line, message = (data.get(name) for name in ("source", "line", "message"))
        if not (isinstance(source, str) and isinstance(message, str) and type(line) is int):
            return None
        return cls(data["type"], source, line, message)

    @property
    def key(self) -> tuple[str, str, int]:
        """The type and line, which are the same on both versions, unlike messages."""
        return self.type, self.source, self.line


@dataclass(frozen=True)
class Report:
    """All blocks, the two versions of JAX, and the findings that only the new one has."""

    old: str
    new: str
    rows: tuple[DriftRow, ...]
    broken: tuple[BrokenStatement, ...] = ()

    @property
    def status(self) -> int:
        """The exit status."""
        worst = max((row.drift.level for row in self.rows), default=Level.SAME)
        return DRIFTED if worst is Level.PROGRAM or self.broken else SAME

    def lines(self) -> Iterator[str]:
        """The report for people."""
        for row in self.rows:
            if row.drift.level is not Level.SAME:
                yield f"{row.name}: {row.drift.level.words}"
                yield from (f"  {on_one_line(line)}" for line in table(row.drift))
                yield ""
        for finding in self.broken:
            origin = f"{finding.source}:{finding.line}"
            yield on_one_line(f"{origin}: [{finding.type}] {finding.message}")
        if self.broken:
            yield ""
        count = len(self.rows)
        levels = counted([row.drift for row in self.rows])
        yield f"JAX {self.old} -> {self.new}: {count} block{'s' * (count != 1)}: {levels}"
        sentences = len(self.broken)
        yield f"{sentences or 'No'} sentence{'s' * (sentences != 1)} would become false"

    def data(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "old": self.old,
            "new": self.new,
            "blocks": [
                {
                    "name": row.name,
                    "level": row.drift.level.words,
                    "differences": [
                        {
                            "level": d.level.words,
                            "place": d.place,
                            "what": d.what,
                            "old": d.old,
                            "new": d.new,
                        }
                        for d in row.drift.differences
                    ],
                }
                for row in self.rows
            ],
            "broken": [asdict(finding) for finding in self.broken],
        }


#: Options with the keywords that ``argparse`` gets for each.
OPTIONS: Final[dict[str, ArgumentKeywords]] = {
    "--python": {
        "required": True,
        "metavar": "OTHER",
        "help": "the interpreter to compare with",
    },
    "--json": {"action": "store_true", "help": "print JSON instead of tables"},
    "-D": {
        "dest": "settings",
        "action": "append",
        "default": [],
        "metavar": "NAME=VALUE",
        "help": "a setting of conf.py for both builds; may be repeated",
    },
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Tell ``parser`` what the command takes."""
    parser.add_argument("docs", metavar="DOCS", help="the folder with conf.py")
    for option, keywords in OPTIONS.items():
        parser.add_argument(option, **keywords)
    parser.epilog = (
        "Exit status: 0 if no program changed, 1 if one did, 2 if there is nothing to compare."
    )


def run(options: argparse.Namespace) -> int:
    """Compare, print, and return the exit status."""
    try:
        drifts = report(options.docs, options.python, options.settings)
    except CommandError as error:
        sys.stderr.write(f"sphinx_jaxpr drift: {spelled(str(error))}\n")
        return FAILED
    lines = [json.dumps(drifts.data(), indent=1)] if options.json else list(drifts.lines())
    sys.stdout.write("\n".join(lines) + "\n")
    return drifts.status


def report(docs: str, python: str, settings: Sequence[str] = ()) -> Report:
    """Trace with both interpreters and compare."""
    folder = Path(docs)
    if not (folder / "conf.py").is_file():
        raise CommandError(f"{shorten(docs)} has no conf.py")
    other = os.path.abspath(python) if os.sep in python else python
    if shutil.which(other) is None:  # Sphinx would replace some by its own
        raise CommandError(f"--python: {shorten(python)} can't be started: no such interpreter")
    for given in settings:
        if "=" not in given:
            raise CommandError(f"-D: expected NAME=VALUE, found {shorten(given)}")
    with tempfile.TemporaryDirectory(prefix="sphinx-jaxpr-") as name:
        scratch = Path(name)
        theirs = [*settings, f"jaxpr_python={other}"]
        old = _recorded(folder, scratch, "old", settings)
        new = _recorded(folder, scratch, "new", theirs)
        before = {finding.key for finding in _findings(folder, scratch, "old", settings)}
        after = _findings(folder, scratch, "new", theirs)
    if not old:
        raise CommandError(f"{shorten(docs)} has no block to trace")
    gone = Difference(Level.PROGRAM, "", "result", "a recording")
    missing = Drift(Level.PROGRAM, (gone,))
    rows = [
        DriftRow(block.name, compare(block, new[file]) if file in new else missing)
        for file, block in old.items()
    ]
    broken = tuple(finding for finding in after if finding.key not in before)
    return Report(_version(old), _version(new), tuple(rows), broken)


def _findings(
    docs: Path, scratch: Path, name: str, settings: Sequence[str]
) -> list[BrokenStatement]:
    """The findings about the programs just traced."""
    out = scratch / f"{name}-check"
    _sphinx("jaxpr-check", docs, scratch, name, out, settings)
    try:
        data = json.loads((out / "output.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []  # a failed build is reported with its recordings
    findings = data.get("findings") if isinstance(data, dict) else None
    rows = findings if isinstance(findings, list) else ()
    return [row for row in map(BrokenStatement.from_json, rows) if row is not None]


def _recorded(
    docs: Path, scratch: Path, name: str, settings: Sequence[str]
) -> dict[str, TracedBlock]:
    """All blocks by their files in the lock."""
    out = scratch / name
    done = _sphinx("jaxpr-record", docs, scratch, name, out, settings)
    blocks = {}
    for file in lock.stored(out):
        loaded = lock.load(out / file)
        if loaded is not None:
            result = loaded.result
            if result.error is not None and result.error.kind is ErrorKind.WORKER:
                raise CommandError(result.error.message)
            blocks[file] = TracedBlock(file.removesuffix(".json"), result=result)
    if done.returncode and not blocks:
        tail = "\n".join(done.stderr.splitlines()[-TAIL:])
        raise CommandError(f"sphinx-build ended with exit status {done.returncode}:\n{tail}")
    return blocks


def _sphinx(
    builder: str, docs: Path, scratch: Path, name: str, out: Path, settings: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    """One build for one interpreter; its builders share the traced programs."""
    ours = [f"jaxpr_cache_dir={scratch / name}-results", *settings]
    # Ordinary builds report findings; here a failure is a result like any other.
    command = [sys.executable, "-m", "sphinx", "-q", "-b", builder]
    command += [part for setting in ours for part in ("-D", setting)]
    command += ["-d", str(scratch / "doctrees"), str(docs), str(out)]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def _version(blocks: dict[str, TracedBlock]) -> str:
    results = (block.result for block in blocks.values())
    return next((result.jax for result in results if result and result.jax), "unknown")
