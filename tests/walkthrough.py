"""Do what a page of the documentation tells its reader to do.

    python tests/walkthrough.py PAGE [FOLDER]

Files are the blocks ``{code-block}`` with a caption that begins with a path; ``PATH, added`` is
appended to what is there, and ``PATH, changed`` has lines with ``-`` that those with ``+`` replace.
Commands are the lines of ``console`` blocks that begin with ``$ ``; the other lines are what they
must print, where ``…`` stands for anything and line breaks don't matter.
Commands run in the folder, with the interpreter that runs this file, offline: what would make an
environment or install something is left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent

_BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?:\{code-block\} \w+\n:caption: (?P<name>[^\n]+)\n\n|console\n)"
    r"(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_INSTALLS = re.compile(r"python -m (venv|pip)\b|\. \S+/activate$|git clone\b")


@dataclass
class Step:
    """A file to write, or a command to run and what it must print."""

    file: str = ""
    how: str = ""
    command: str = ""
    text: str = ""


def steps(page: str) -> Iterator[Step]:
    """What a page asks for, in its order."""
    for found in _BLOCK.finditer(page):
        if found["name"]:
            file, _, how = found["name"].partition(", ")
            yield Step(file=file, how=how, text=found["body"])
        else:
            for part in re.split(r"^\$ ", found["body"], flags=re.MULTILINE)[1:]:
                command, _, printed = part.partition("\n")
                yield Step(command=command, text=printed)


def walk(page: str, folder: Path) -> int:
    """Do all of it; raises ``AssertionError`` where something else happens. How many steps."""
    todo = list(steps(page))
    for step in todo:
        if step.file:
            path = folder / step.file
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_text("utf-8") if step.how else ""
            path.write_text(_written(before, step), "utf-8")
        elif not _INSTALLS.search(step.command):
            _run(step, folder)
    return len(todo)


def _written(before: str, step: Step) -> str:
    """The text of a file after a step."""
    if step.how == "added":
        return f"{before}\n{step.text}"
    if step.how == "changed":
        lines = step.text.splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
        assert before.count(old) == 1, f"{step.file} has no such lines, or several:\n{old}"
        return before.replace(old, new)
    assert not step.how, f"{step.file}: {step.how!r}"
    return step.text


def run_in(folder: Path, command: str, **env: str) -> tuple[int, str]:
    """The exit status of a command and all that it printed."""
    bin_folder = folder / ".bin"
    bin_folder.mkdir(exist_ok=True)
    for name, module in (("python", ""), ("sphinx-build", "-m sphinx")):
        script = bin_folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', "utf-8")
        script.chmod(0o755)
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(PROJECT), "NO_COLOR": "1", **env},
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout


def _run(step: Step, folder: Path) -> None:
    status, printed = run_in(folder, step.command)
    told = f"$ {step.command}\n{printed}\n[exit status {status}]"
    assert bool(status) == (" -W" in step.command and "WARNING:" in step.text), told
    wanted = [re.escape(part) for part in plain(step.text).split("…")]
    assert re.search(".*".join(wanted), plain(printed)), f"{told}\nwanted:\n{step.text}"
    if not step.text and " -q" in step.command:
        assert not printed.strip(), told


def plain(text: str) -> str:
    """Without line breaks, and with one version for all."""
    return re.sub(r"\bJAX \d[\w.]*", "JAX N", " ".join(text.split()))


if __name__ == "__main__":
    where = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp())
    walk(Path(sys.argv[1]).read_text("utf-8"), where)
