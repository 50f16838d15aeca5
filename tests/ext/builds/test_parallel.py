"""Parallel builds give what serial ones give, however and wherever Sphinx is started."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ext.judging.test_rebuild import QUIET, Watched, page
from tests.support import PROJECT, Build, Project

MODULES = {
    "src/layers.py": """
        import jax.numpy as jnp


        def dense(x, w):
            return jnp.tanh(x @ w)


        def wrong(x):
            return x @ x
    """,
    "docs/index.md": "# Index\n\n"
    + page("layers:dense", args="f32[2,3], f32[3,4]", transforms="grad, vmap").split("\n\n")[1],
    "docs/again.md": page("layers:dense", args="f32[2,3], f32[3,4]", name="mine")
    + page("layers:dense", args="f32[2,3], f32[3,4]"),
    "docs/clash.rst": "Clash\n=====\n\n.. jaxpr-transform:: layers:dense\n   :name: mine\n"
    "   :args: f32[2,3], f32[3,5]\n",
    "docs/wrong.md": page("layers:wrong", args="x=f32[2,3]") + page("layers:none"),
}


def files(out: Path) -> dict[str, bytes]:
    """All output, but for what says when and how it was built."""
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and ".doctrees" not in path.parts and path.name != ".buildinfo"
    }


@pytest.mark.once
def test_parallel_equals_serial(tmp_path: Path) -> None:
    """Same files to the byte, same findings in the same order, under any hash seed."""
    pages = {
        f"docs/p{n}.md": page("layers:dense", args=f"f32[2,{n}], f32[{n},4]") for n in range(1, 13)
    }
    project = Project(tmp_path, {**MODULES, **pages}, QUIET)
    serial = project.build("html", env={"PYTHONHASHSEED": "1"})
    expected = files(serial.out)
    assert serial.traced == 12 + 5
    assert len(serial.warnings) == 3, serial.stderr
    for seed, builder in (("2", "html"), ("3", "html")):
        serial.out.rename(tmp_path / f"before-{seed}")
        parallel = project.build(builder, "-j", "4", env={"PYTHONHASHSEED": seed})
        assert re.search(r"reading sources\.\.\. \[ *\d+%\] \w+ \.\. \w+", parallel.stdout)
        assert "safe for parallel" not in parallel.stderr
        assert parallel.traced == serial.traced
        assert parallel.stderr == serial.stderr
        found = files(parallel.out)
        assert found.keys() == expected.keys()
        assert [name for name in found if found[name] != expected[name]] == []
    # What one way of building has stored serves the other; what failed is told again.
    again = project.build()
    assert again.traced == 2 and again.warnings == serial.warnings
    project.write("docs/p3.md", page("layers:dense", args="f32[2,7], f32[7,4]", title="More"))
    more = project.build("html", "-j", "4")
    assert more.traced == 2 and more.warnings == serial.warnings
    assert "7,4" in more.texts("p3")["jaxpr-dense"]


SCRIPT = """
import sys
from sphinx.cmd.build import main
sys.path.insert(0, {project!r})
assert main(["-b", "html", "-W", "-j", "2", {docs!r}, {out!r}]) == 0
assert main(["-b", "html", "-W", "-j", "2", {docs!r}, {out!r}]) == 0
"""

# Serial: after a parallel reading Sphinx 9.0 shows the doctrees that it has in memory.
TWICE = """
import sys
from pathlib import Path
from sphinx.application import Sphinx
sys.path.insert(0, {project!r})
docs = Path({docs!r})
app = Sphinx(docs, docs, {out!r}, {out!r} + "/.doctrees", "html")
app.build()
for page in docs.glob("p*.md"):
    page.write_text(page.read_text().replace("[2]", "[5]"))
app.build()
assert app.statuscode == 0
"""


@pytest.fixture
def odd(tmp_path: Path) -> Project:
    """A project whose path has what paths may have, with enough pages to read in parallel."""
    pages = {f"docs/p{n}.md": page("layers:g", args="x=f32[2]") for n in range(8)}
    project = Project(tmp_path / "a b é #1", {"docs/index.md": "# I\n", **pages}, QUIET)
    project.write("src/layers.py", "def g(x):\n    return x * 2.0\n")
    return project


def run(project: Project, *command: str, cwd: Path) -> Build:
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, timeout=300, check=False,
        env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(PROJECT)},
    )  # fmt: skip
    plain = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    return Build(done.returncode, project.folder / "out" / "html", plain, done.stderr)


@pytest.mark.parametrize("script", [SCRIPT, TWICE], ids=["main", "application"])
def test_from_a_script_without_a_main_guard(odd: Project, tmp_path: Path, script: str) -> None:
    path = tmp_path / "build.py"
    places = {"project": str(PROJECT), "docs": str(odd.docs), "out": str(odd.folder / "out/html")}
    path.write_text(script.format(**places), "utf-8")
    built = run(odd, sys.executable, str(path), cwd=tmp_path)
    assert built.code == 0 and not built.warnings, built.stderr
    assert built.traced == (1 if script is SCRIPT else 2)
    assert ("f32[2]" if script is SCRIPT else "f32[5]") in built.texts("p3")["jaxpr-g"]


def test_from_elsewhere(odd: Project, tmp_path: Path) -> None:
    """The console script, another working folder, relative paths, conf.py in another folder."""
    confdir = tmp_path / "conf"
    confdir.mkdir()
    (odd.docs / "conf.py").rename(confdir / "conf.py")
    sphinx = str(Path(sys.executable).parent / "sphinx-build")
    out = str(odd.folder / "out/html")
    command = [sphinx, "-W", "-j", "2", "-c", str(confdir), str(odd.docs), out]
    built = run(odd, *command, cwd=tmp_path)
    assert built.code == 0, built.stderr
    assert built.traced == 1 and "f32[2]" in built.texts("p7")["jaxpr-g"]
    relative = [sphinx, "-W", "-c", "../../conf", ".", "../out/html"]
    again = run(odd, *relative, cwd=odd.docs)
    assert again.code == 0, again.stderr
    assert again.traced == 0 and "no targets are out of date" in again.stdout


def test_two_builds_at_once(odd: Project) -> None:
    """On one cache folder; both are whole, and so is what they leave."""
    shared = odd.folder / "cache"
    conf = odd.docs / "conf.py"
    conf.write_text(conf.read_text() + f"jaxpr_cache_dir = {str(shared)!r}\n", "utf-8")
    for n in range(8):
        odd.write(f"docs/p{n}.md", page("layers:g", args=f"x=f32[{n + 2}]"))
    builders = ("html", "dirhtml")
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "sphinx", "-W", "-b", builder, str(odd.docs),
             str(odd.folder / "out" / builder)],
            env={**os.environ, "PYTHONPATH": str(PROJECT)}, cwd=odd.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for builder in builders
    ]  # fmt: skip
    for process in running:
        _, problems = process.communicate(timeout=300)
        assert process.returncode == 0, problems
    watched = Watched(odd)
    assert watched.build("-W")[0] == []
    assert not list(shared.glob(".*"))
