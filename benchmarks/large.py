"""One large block against JAX's own tracing and printing of it, in one go.

    python benchmarks/large.py --equations 5000 --rounds 5

Rounds alternate between two arms; the ratio of the medians is the result,
since seconds on a shared machine are not:

- jax: one process traces the function and prints the jaxpr, after JAX is
  ready (it has traced a small function before)
- ours: a fresh build of a page with that block, less a fresh build of the same
  page with a block of one equation, so that starting Sphinx and JAX is in neither

A fifth of a large program is nested in a scan, as in real ones; the rest is
arithmetic with many variables and several types.  ``stages`` are the seconds of
what happens in the Sphinx process, measured there one by one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from build import run

CODE = """
import jax
import jax.numpy as jnp


def chain(x, count):
    y = x
    for n in range(count // 5):
        y = jnp.sin(y) * 2.0 + x
        x = jnp.where(y > 0.5, x, y)
    return x + y


def large(x, count={count}):
    def body(c, _):
        return chain(c, count // 5), None

    y, _ = jax.lax.scan(body, x, None, length=4)
    return chain(y, count - count // 5)


def small(x):
    return x + 1.0
"""

JAX = """
import json, sys, time
import jax, jax.numpy as jnp
from benchcode import large, small

x = jax.ShapeDtypeStruct((32, 64), jnp.float32)
str(jax.make_jaxpr(small)(x))
start, used = time.perf_counter(), time.process_time()
jaxpr = jax.make_jaxpr(large)(x)
traced = time.perf_counter()
text = str(jaxpr)
done, used = time.perf_counter(), time.process_time() - used
count, todo = 0, [jaxpr.jaxpr]
while todo:
    for eqn in todo.pop().eqns:
        count += 1
        todo += [v.jaxpr for v in eqn.params.values() if hasattr(v, "jaxpr")]
print(json.dumps([traced - start, done - traced, used, count, len(text)]))
"""

STAGES = """
import json, sys, time
from pathlib import Path
from sphinx_jaxpr.program.html.code import code
from sphinx_jaxpr.program.facts import Facts, align
from sphinx_jaxpr.program.parser.parser import parse

lines = [line for file in Path(sys.argv[1]).glob("*.pack") for line in file.open("rb")]
found = max(lines, key=len).partition(b"\t")[2]
times = {}
def stage(name, work):
    start = time.perf_counter()
    result = work()
    times[name] = round(time.perf_counter() - start, 3)
    return result
result = stage("load", lambda: json.loads(found))
printed = stage("parse", lambda: parse(result["text"]))
facts = stage("align", lambda: align(printed, Facts.from_json(result["facts"])).equations)
html = stage("render", lambda: code(printed, facts, "jaxpr-large"))
times["html bytes per byte of text"] = round(len(html) / len(result["text"]), 1)
print(json.dumps(times))
"""


def project(folder: Path, name: str, equations: int) -> Path:
    docs = folder / name / "docs"
    docs.mkdir(parents=True)
    (folder / name / "benchcode.py").write_text(CODE.replace("{count}", str(equations)))
    (docs / "conf.py").write_text(
        "import os, sys\nsys.path.insert(0, os.path.abspath('..'))\n"
        "project = 'bench'\nextensions = ['sphinx_jaxpr']\nhtml_theme = 'alabaster'\n"
    )
    page = f"Page\n====\n\n.. jaxpr-transform:: benchcode:{name}\n   :args: x=f32[32,64]\n"
    (docs / "index.rst").write_text(page)
    return folder / name


def answer(script: str, cwd: Path, *arguments: str) -> list[float] | dict[str, float]:
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    found: list[float] | dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(work: Path, equations: int, rounds: int) -> dict[str, object]:
    large, small = (project(work, name, equations) for name in ("large", "small"))
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "-E", "-a", "-b", "html", "docs"]
    wall: dict[str, list[float]] = {"jax": [], "ours": []}
    used: dict[str, list[float]] = {"jax": [], "ours": []}
    trace: list[float] = []
    for number in range(rounds + 1):
        tracing, printing, spent, count, length = answer(JAX, large)
        one, other = (run([*build, f"out{number}"], folder) for folder in (large, small))
        if number:  # the first of all reads files that nobody had read
            wall["jax"].append(tracing + printing)
            trace.append(tracing)
            wall["ours"].append(one[0] - other[0])
            used["jax"].append(spent)
            used["ours"].append(one[1] - other[1])
        time.sleep(0.1)
    jax, ours = (statistics.median(wall[arm]) for arm in ("jax", "ours"))
    mine, theirs = (statistics.median(used[arm]) for arm in ("ours", "jax"))
    return {
        "equations": count,
        "characters": length,
        "jax": round(jax, 2),
        "of that tracing": round(statistics.median(trace), 2),
        "ours": round(ours, 2),
        "ratio": round(ours / jax, 2),
        "ratio by processor": round(mine / theirs, 2),
        "stages": answer(STAGES, work, str(large / f"out{rounds}" / ".doctrees" / "jaxpr")),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--equations", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        print(json.dumps(measure(Path(work), given.equations, given.rounds), indent=2))


if __name__ == "__main__":
    main()
