"""Live blocks against the same text pasted, built side by side in one go.

    python benchmarks/build.py --pages 100 --blocks 6 --rounds 3

Makes two projects with the same visible text: ``live`` has one directive a
page (a base and its variants), ``pasted`` has code blocks.  A third arm,
``script``, is one plain Python process that traces and prints all programs.
Rounds alternate between the arms; the medians' ratios are the result, since
wall time on a shared machine is not:

- cold: live / (pasted + script)
- warm (nothing changed): live / pasted
- whether a build with ``-j 2`` gives the same bytes as a serial one
"""

from __future__ import annotations

import argparse
import compileall
import filecmp
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CODE = """
import jax.numpy as jnp


def dense(x, w, b):
    return jnp.tanh(x @ w + b)
"""

SCRIPT = """
import json, sys
import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, PartitionSpec as P
from benchcode import dense

def s(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)

mesh = AbstractMesh((8,), ("data",), axis_types=(AxisType.Auto,))
variants = [
    (dense, ()),
    (jax.grad(lambda x, w, b: dense(x, w, b).sum(), argnums=1), ()),
    (jax.vmap(dense, in_axes=(0, None, None), axis_size=8), "x"),
    (lambda x, w, b: jax.lax.scan(lambda x, w: (dense(x, w, b), None), x, w, length=4)[0], "w"),
    (jax.grad(lambda x, w, b: jax.remat(dense)(x, w, b).sum(), argnums=1), ()),
    (jax.shard_map(dense, mesh=mesh, in_specs=(P("data"), P(), P()), out_specs=P("data")), ()),
]
texts = []
for page in range(int(sys.argv[1])):
    n = 32 + 8 * page
    for fn, grown in variants[: int(sys.argv[2])]:
        x = s(8, n, 64) if grown == "x" else s(n, 64)
        w = s(4, 64, 64) if grown == "w" else s(64, 64)
        texts.append(str(jax.make_jaxpr(fn)(x, w, s(64))))
json.dump(texts, open(sys.argv[3], "w"))
"""

TRANSFORMS = (
    "grad(argnums=w)",
    "vmap(axis_size=8)",
    "scan(over=w, length=4)",
    "remat | grad(argnums=w)",
    "shard_map",
)


def title(page: int) -> str:
    text = f"Page {page}"
    return f"{text}\n{'=' * len(text)}\n\n"


def indented(text: str) -> str:
    return "".join(f"   {line}\n" if line else "\n" for line in text.splitlines())


def live_page(page: int, blocks: int) -> str:
    return (
        f"{title(page)}.. jaxpr-transform:: benchcode:dense\n"
        f"   :args: x=bf16[{32 + 8 * page},64], w=bf16[64,64], b=bf16[64]\n"
        f"   :transforms: {', '.join(TRANSFORMS[: blocks - 1])}\n"
    )


def pasted_page(page: int, texts: list[str]) -> str:
    out = [title(page)]
    for place, text in enumerate(texts):
        call = (TRANSFORMS[place - 1] if place else "dense") + f"  # {page}"
        out.append(f".. code-block:: python\n\n{indented(call)}\n")
        out.append(f".. code-block:: text\n\n{indented(text)}\n")
    return "\n".join(out)


def project(folder: Path, pages: list[str], extensions: list[str]) -> None:
    docs = folder / "docs"
    docs.mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "src" / "benchcode.py").write_text(CODE)
    (docs / "conf.py").write_text(
        "import os, sys\n"
        "sys.path.insert(0, os.path.abspath('../src'))\n"
        f"project = 'bench'\nextensions = {extensions!r}\nhtml_theme = 'alabaster'\n"
        "html_last_updated_fmt = None\nhtml_copy_source = False\n"
    )
    toctree = "".join(f"   page{n:03d}\n" for n in range(len(pages)))
    (docs / "index.rst").write_text(f"Index\n=====\n\n.. toctree::\n\n{toctree}")
    for n, text in enumerate(pages):
        (docs / f"page{n:03d}.rst").write_text(text)


def run(command: list[str], cwd: Path) -> tuple[float, float]:
    """Run a command; its seconds on the wall and of processor, children included."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "JAX_PLATFORMS": "cpu"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start, used = time.perf_counter(), os.times()
    done = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        sys.exit(f"{command} failed:\n{done.stderr[-3000:]}")
    now = os.times()
    spent = now.children_user + now.children_system - used.children_user - used.children_system
    return time.perf_counter() - start, spent


def build(folder: Path, *flags: str, out: str = "out") -> tuple[float, float]:
    python = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html"]
    return run([*python, *flags, "docs", out], folder)


def same(one: Path, other: Path) -> list[str]:
    """Files that differ between two outputs."""
    names = sorted(
        str(path.relative_to(one))
        for path in one.rglob("*")
        if path.is_file() and ".doctrees" not in path.parts
    )
    _, mismatch, errors = filecmp.cmpfiles(one, other, names, shallow=False)
    return [*mismatch, *errors]


def measure(work: Path, pages: int, blocks: int, rounds: int) -> dict[str, object]:
    # As an installation does: else every process would compile the package anew.
    package = importlib.util.find_spec("sphinx_jaxpr")
    assert package is not None and package.submodule_search_locations
    compileall.compile_dir(package.submodule_search_locations[0], quiet=1)
    code = work / "code"
    code.mkdir()
    (code / "benchcode.py").write_text(CODE)
    (code / "script.py").write_text(SCRIPT)
    script = [sys.executable, "script.py", str(pages), str(blocks), "texts.json"]
    run(script, code)
    texts = json.loads((code / "texts.json").read_text())
    rows = [texts[n * blocks : (n + 1) * blocks] for n in range(pages)]
    live, pasted = work / "live", work / "pasted"
    project(live, [live_page(n, blocks) for n in range(pages)], ["sphinx_jaxpr"])
    project(pasted, [pasted_page(n, row) for n, row in enumerate(rows)], [])
    times: dict[str, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        for folder in (live, pasted):
            shutil.rmtree(folder / "out", ignore_errors=True)
            times.setdefault(f"cold {folder.name}", []).append(build(folder))
        times.setdefault("script", []).append(run(script, code))
        for _ in range(3):  # warm builds are short: more of them, in turn
            for folder in (live, pasted):
                times.setdefault(f"warm {folder.name}", []).append(build(folder))
    build(live, "-j", "2", "-E", out="out-j2")
    shutil.rmtree(live / "out")
    build(live)
    size = sum(path.stat().st_size for path in (live / "out").glob("page*.html"))
    pasted_size = sum(path.stat().st_size for path in (pasted / "out").glob("page*.html"))
    return {
        "wall": ratios(times, 0),
        "processor": ratios(times, 1),
        "html bytes ratio": round(size / pasted_size, 2),
        "differs with -j 2": same(live / "out", live / "out-j2"),
    }


def ratios(times: dict[str, list[tuple[float, float]]], which: int) -> dict[str, float]:
    """Medians in seconds, and what is asked of them."""
    median = {name: statistics.median(row[which] for row in rows) for name, rows in times.items()}
    return {
        **{name: round(value, 2) for name, value in median.items()},
        "cold ratio": round(median["cold live"] / (median["cold pasted"] + median["script"]), 2),
        "warm ratio": round(median["warm live"] / median["warm pasted"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--blocks", type=int, default=6, choices=range(1, 7))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        print(json.dumps(measure(Path(work), given.pages, given.blocks, given.rounds), indent=2))


if __name__ == "__main__":
    main()
