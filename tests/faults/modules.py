"""Hostile modules in real builds, a good block beside each."""

from __future__ import annotations

import html
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support import Build, Project

from .hostile import HOSTILE, SHORT, Hostile
from .rows import as_row

#: Stands in a file of the project that no block names: no page may repeat it.
TOKEN = "token-of-a-file-that-no-block-names"
_PER_BUILD = 26
_LONG = ":timeout: 60\n"
_CONF = "jaxpr_timeout = 10\njaxpr_memory = 4000\nexclude_patterns = ['secret*']\n"
_WARNING = re.compile(r"/(?P<page>p\d+)\.md:(?P<line>\d+): (?P<level>[A-Z]+): (?P<text>.*)")


def hostile_modules(chance: random.Random, count: int) -> tuple[int, list[str]]:
    """A module that does harm where it is imported or traced costs its own block alone."""
    rows = [one for one in HOSTILE if one.name in SHORT] if count == 1 else list(HOSTILE)
    lost: list[str] = []
    chance.shuffle(rows)
    for start in range(0, len(rows), _PER_BUILD if count > 1 else len(rows)):
        some = rows[start : start + _PER_BUILD] if count > 1 else rows
        with tempfile.TemporaryDirectory() as folder:
            lost += tried(Path(folder), some)
    return len(rows), lost


def tried(folder: Path, rows: Sequence[Hostile]) -> list[str]:
    """What is not as it must be in one build of these modules."""
    project = Project(folder, _files(folder, rows), _CONF)
    (folder / "secret.txt").write_text(f"{TOKEN}\n" * 40, "utf-8")
    wanted = _expected(folder, len(rows))
    built = project.build("html", "-d", str(folder / "trees"), timeout=600)
    if built.code != 0:
        return [f"exit {built.code} of {[one.name for one in rows]}: {built.stderr[-600:]}"]
    lost = []
    for place, one in enumerate(rows):
        lost += [f"{one.name}: {problem}" for problem in _judged(built, place, one, wanted[place])]
    return lost


def _judged(built: Build, place: int, one: Hostile, wanted: str) -> list[str]:
    page = f"p{place}"
    texts = built.texts(page)
    told = [m for m in _WARNING.finditer(built.stderr) if m["page"] == page]
    problems = []
    if texts.get(f"jaxpr-good{place}", "").split() != wanted.split():
        problems.append(f"the good block shows {texts.get('jaxpr-good', '')[:200]!r}")
    if any(int(m["line"]) > 7 for m in told):
        problems.append(f"the good block has a warning: {told[-1]['text'][:200]}")
    own = [m["text"] for m in told if int(m["line"]) <= 7]
    shown = bool(texts.get(f"jaxpr-bad{place}", "").strip())
    state = "shown" if shown else "not shown"
    if len(own) > 1 or (shown and own) or (not shown and not own):
        problems.append(f"{state}, {len(own)} warnings: {own}")
    if one.expected != "any" and shown != (one.expected == "shown"):
        problems.append(f"is {state}, not {one.expected}: {own}")
    written = (built.out / f"{page}.html").read_text("utf-8")
    figures = "".join(map(str, built.page(page).select("figure.jaxpr")))
    if TOKEN in written or any(TOKEN in text for text in own):
        problems.append("a file was read that no block names")
    if "<script" in figures or "\x1b" in figures or "\x1b" in html.unescape("".join(own)):
        problems.append("markup or control characters of the module are on the page")
    return problems


def _files(folder: Path, rows: Sequence[Hostile]) -> dict[str, str]:
    files = {
        "docs/index.md": "# Hostile\n\n```{toctree}\n"
        + "".join(f"p{place}\n" for place in range(len(rows)))
        + "```\n"
    }
    secret = f"SECRET = {str(folder / 'secret.txt')!r}\n"
    for place, one in enumerate(rows):
        files[f"src/bad{place}.py"] = secret + one.source
        files[f"src/good{place}.py"] = _good(place)
        blocks = [("bad", "f", one.args, ""), ("good", "good", f"x=f32[{place + 2}]", _LONG)]
        files[f"docs/p{place}.md"] = f"# {one.name}\n\n" + "\n".join(
            f"```{{jaxpr-transform}} {module}{place}:{name}\n:args: {args}\n"
            f":name: {module}{place}\n:source:\n{more}```\n"
            for module, name, args, more in blocks
        )
    return files


def _good(place: int) -> str:
    return (
        "import jax.numpy as jnp\n\n\ndef good(x):\n"
        f"    return jnp.tanh(x) @ jnp.sin(x) + {place}.5\n"
    )


def _expected(folder: Path, count: int) -> list[str]:
    """What JAX prints for the good functions where nothing else was imported."""
    program = (
        "import importlib, sys, jax, jax.numpy as jnp\n"
        f"sys.path.insert(0, {str(folder / 'src')!r})\n"
        f"for n in range({count}):\n"
        "    good = importlib.import_module(f'good{n}').good\n"
        "    print(jax.make_jaxpr(good)(jnp.zeros(n + 2)), end='\\0')\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.split("\0")[:-1]


ROWS = [as_row(hostile_modules, short=1, long=len(HOSTILE))]


if __name__ == "__main__":  # python -m tests.faults.modules [NAME...]: these, or all
    named = [one for one in HOSTILE if any(name in one.name for name in sys.argv[1:] or [""])]
    for first in range(0, len(named), _PER_BUILD):
        with tempfile.TemporaryDirectory() as where:
            found = tried(Path(where), named[first : first + _PER_BUILD])
        names = ", ".join(one.name for one in named[first : first + _PER_BUILD])
        sys.stdout.write(f"{names}:\n    " + ("\n    ".join(found) or "held") + "\n")
        sys.stdout.flush()
