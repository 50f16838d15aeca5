"""The lock: made by one builder, shown without JAX, compared with what is traced."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.ext.builds import book
from tests.ext.cases import warned
from tests.support import Build, Project

pytestmark = pytest.mark.once

ARGS = "x=f32[4,4], w=f32[4,4], b=f32[4]"
PAGE = f"""
# Page

```{{jaxpr-transform}} layers:dense
:args: {ARGS}
:transforms: grad(argnums=w), vmap
:name: dense
:source:
```

```{{jaxpr-transform}} layers:dense
:args: {ARGS}
```
"""
LOCKED = ("-D", "jaxpr_mode=locked", "-D", "jaxpr_python=/no/such/python")


def pages(build: Build) -> dict[str, bytes]:
    """All files of an output, but for what Sphinx writes for itself."""
    found = {}
    for path in build.out.rglob("*"):
        name = path.relative_to(build.out)
        if path.is_file() and ".doctrees" not in name.parts and path.name != ".buildinfo":
            found[str(name)] = path.read_bytes()
    return found


def locked_files(project: Project, folder: str = "_jaxprs") -> dict[str, int]:
    """The files of the lock, with their times."""
    root = project.docs / folder
    return {
        path.relative_to(root).as_posix(): path.stat().st_mtime_ns
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def summary(build: Build) -> str:
    (line,) = [line for line in build.stdout.splitlines() if line.startswith("lock in ")]
    return line.partition(": ")[2]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"docs/index.md": PAGE})


# -- making it -------------------------------------------------------------------------


def test_pages_from_the_lock_are_those_that_were_traced(tmp_path: Path) -> None:
    project = Project(tmp_path, book.FILES, book.CONF)
    assert project.build("jaxpr-lock", "-W").code == 0
    for builder in ("html", "text", "latex"):
        traced = project.build(builder, "-W")
        assert traced.code == 0, traced.stderr
        first = pages(traced)
        shutil.rmtree(traced.out)
        again = project.build(builder, "-W", *LOCKED)
        assert (again.code, again.traced) == (0, 0), again.stderr
        assert pages(again) == first
        shutil.rmtree(traced.out)
    shutil.rmtree(tmp_path / "cache")
    # Nothing of the documented code is looked at.
    shutil.rmtree(tmp_path / "src")
    built = project.build("html", "-W", "-j", "2", *LOCKED)
    assert built.code == 0, built.stderr
    text = " ".join(path.read_text("utf-8") for path in (project.docs / "_jaxprs").rglob("*.json"))
    for machine in (str(tmp_path), os.path.expanduser("~") + "/", sys.prefix):
        assert machine not in text


def test_a_second_lock_touches_nothing(project: Project) -> None:
    assert summary(project.build("jaxpr-lock", "-W")) == "4 new"
    files = locked_files(project)
    assert list(files) == ["dense.grad.json", "dense.json", "dense.vmap.json", "index/dense-2.json"]
    again = project.build("jaxpr-lock", "-W", "-j", "2")
    assert (again.code, again.traced, summary(again)) == (0, 3, "4 unchanged")
    assert locked_files(project) == files
    quiet = project.build("jaxpr-lock", "-q")
    assert (quiet.code, quiet.stdout, quiet.stderr) == (0, "", "")
    # Another Python alone is no reason to write; a file that lost its line ends is.
    path = project.docs / "_jaxprs/dense.json"
    path.write_text(re.sub(r'"python": "[\d.]+"', '"python": "3.9.1"', path.read_text("utf-8")))
    assert summary(project.build("jaxpr-lock")) == "4 unchanged"
    data = path.read_bytes()
    assert b"\r" not in data and data.endswith(b"}\n")


def test_what_is_accepted_is_shown(project: Project) -> None:
    project.build("jaxpr-lock")
    code = "import jax.numpy as jnp\n\n\ndef dense(x, w, b):\n    return jnp.cos(x @ w + b)\n"
    project.write("src/layers.py", code)
    page = PAGE.replace(", vmap", ", jvp")
    project.write("docs/index.md", page)
    done = project.build("jaxpr-lock", "-W")
    assert done.code == 0
    lines = [re.sub(r" +", " ", line) for line in done.stdout.splitlines()]
    assert any(line.startswith("dense: program (JAX ") for line in lines)
    assert " [tanh] equation | f32[4,4] = tanh | | program" in lines
    assert " [cos] equation | | f32[4,4] = cos | program" in lines
    assert "_jaxprs/dense.vmap.json: removed, no block asks for it" in lines
    assert summary(done) == "1 new, 3 changed, 1 removed; changes: 3 program"
    assert "dense.vmap.json" not in locked_files(project)
    # A line above the function moves its source, and nothing else.
    project.write("src/layers.py", "# why\n" + code)
    moved = project.build("jaxpr-lock")
    assert "\ndense: source, lines of the source (JAX " in moved.stdout
    assert summary(moved) == "4 changed; changes: 4 same"


WRONG = {
    "trace": ("transforms: grad(argnums=w), vmap", "transforms: grad(argnums=w, sum=False)"),
    "option": (":source:", ":sauce:"),
    "raises": (":source:", ":raises: TypeError"),
    "timeout": (":source:", ":timeout: 0.000001"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_nothing_is_written_where_anything_is_wrong(project: Project, kind: str) -> None:
    project.build("jaxpr-lock")
    before = locked_files(project)
    project.write("src/layers.py", "import jax\n\n\ndef dense(x, w, b):\n    return x @ w\n")
    project.write("docs/index.md", PAGE.replace(*WRONG[kind]))
    for _ in range(2):
        done = project.build("jaxpr-lock")
        assert done.code == 1
        assert f"[jaxpr.{kind}]" in done.stderr
        assert re.search(r"the lock is as it was: \d findings? above \[jaxpr\.lock\]", done.stderr)
        assert locked_files(project) == before


def test_expected_errors_are_locked_too(tmp_path: Path) -> None:
    page = PAGE.replace("grad(argnums=w), vmap", "grad(argnums=w, sum=False)").replace(
        ":source:", ":raises: TypeError: scalar"
    )
    project = Project(tmp_path, {"docs/index.md": page})
    assert project.build("jaxpr-lock", "-W").code == 0
    data = json.loads((project.docs / "_jaxprs/dense.grad.json").read_text("utf-8"))
    assert data["error"]["type"] == "TypeError"
    traced = pages(project.build("html", "-W"))
    shutil.rmtree(tmp_path / "out/html")
    assert pages(project.build("html", "-W", *LOCKED)) == traced


def test_blocks_of_other_formats_and_tags(tmp_path: Path) -> None:
    block = "```{jaxpr-transform} layers:dense\n:args: x=f32[2,2], w=f32[2,2], b=f32[2]\n"
    only = "\n:::{only} %s\n" + block + ":name: %s\n```\n:::\n"
    page = (
        "# Page\n"
        + only % ("html", "paged")
        + only % ("latex", "paper")
        + only % ("draft", "draft")
    )
    conf = 'myst_enable_extensions = ["colon_fence"]\n'
    project = Project(tmp_path, {"docs/index.md": page}, conf)
    assert summary(project.build("jaxpr-lock", "-W")) == "2 new"
    assert summary(project.build("jaxpr-lock", "-W", "-t", "draft")) == "1 new, 2 unchanged"
    assert summary(project.build("jaxpr-lock", "-W")) == "2 unchanged"  # and no orphan
    assert list(locked_files(project)) == ["draft.json", "paged.json", "paper.json"]
    project.write("docs/index.md", page.replace("draft\n", "gone\n"))
    assert summary(project.build("jaxpr-lock", "-W")) == "2 unchanged, 1 removed"


def test_orphans_and_what_else_lies_there(project: Project) -> None:
    project.build("jaxpr-lock")
    root = project.docs / "_jaxprs"
    (root / "README.md").write_text("ours")
    (root / "odd.json").write_text("{}")
    (root / "old").mkdir()
    shutil.copy(root / "dense.json", root / "old/dense.json")
    killed = [root / f"{folder}.{'0a' * 8}.tmp" for folder in ("", "old/")]
    for path in [*killed, root / ".ours.tmp"]:
        path.touch()
        os.utime(path, (1, 1))
    done = project.build("jaxpr-lock")
    assert summary(done) == "4 unchanged, 1 removed"
    assert "_jaxprs/odd.json: left alone, it is not a lock file" in done.stdout
    assert (root / "README.md").exists() and (root / "odd.json").exists()
    assert not (root / "old").exists()
    assert (root / ".ours.tmp").exists() and not killed[0].exists()


def test_a_folder_that_cannot_be_written(project: Project) -> None:
    (project.docs / "taken").write_text("a file")
    done = project.build("jaxpr-lock", "-D", "jaxpr_lock_dir=taken")
    assert done.code == 1
    (warning,) = done.warnings
    assert re.search(r"taken/.*\.json can't be written: .* \[jaxpr\.lock\]", warning)


def test_a_base_that_only_its_variants_need(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": """
        # Page

        ```{jaxpr-transform} layers:inner
        :args: x=f32[4]
        :base: hide
        :transforms: vmap(axis_name=i)
        :name: inner
        ```
        """})  # fmt: skip
    code = "import jax\n\n\ndef inner(x):\n    return jax.lax.psum(x, 'i')\n"
    project.write("src/layers.py", code)
    assert summary(project.build("jaxpr-lock", "-W")) == "1 new"
    traced = pages(project.build("html", "-W"))
    shutil.rmtree(tmp_path / "out/html")
    assert pages(project.build("html", "-W", *LOCKED)) == traced


# -- showing it ------------------------------------------------------------------------


def test_a_warm_build_from_the_lock(project: Project) -> None:
    project.build("jaxpr-lock")
    project.write(
        "docs/other.md",
        "# Other\n\n" + PAGE.partition("\n\n")[2].replace("name: dense", "name: two"),
    )
    project.build("jaxpr-lock")
    html = project.build("html", "-W", "--keep-going", *LOCKED).out
    times = {name: (html / f"{name}.html").stat().st_mtime_ns for name in ("index", "other")}

    def written() -> set[str]:
        built = project.build("html", *LOCKED)
        assert (built.code, built.traced) == (0, 0)
        now = {name: (html / f"{name}.html").stat().st_mtime_ns for name in times}
        changed = {name for name in times if now[name] != times[name]}
        times.update(now)
        return changed

    assert written() == set()
    path = project.docs / "_jaxprs/two.grad.json"
    os.utime(path)
    assert written() == set()
    path.write_text(path.read_text("utf-8").replace("tanh", "sinh"))
    assert written() == {"other"}
    assert "sinh" in (html / "other.html").read_text("utf-8")
    assert written() == set()
    assert not list((project.folder / "out/html/.doctrees/jaxpr").glob("*.pack"))


def test_each_block_that_is_not_in_the_lock_is_told_at_its_line(project: Project) -> None:
    project.build("jaxpr-lock")
    root = project.docs / "_jaxprs"
    (root / "dense.vmap.json").unlink()
    (root / "index/dense-2.json").write_text("<<<<<<< HEAD\n")
    project.write("docs/index.md", PAGE.replace("grad(argnums=w)", "grad(argnums=x)"))
    for _ in range(2):
        built = project.build("html", "-W", "--keep-going", *LOCKED)
        assert (built.code, built.traced) == (1, 0)
        found = {w.text.partition(":")[0]: w for w in warned(built)}
        lines = {"dense.grad": 5, "dense.vmap": 5}
        assert {w.kind for w in found.values()} == {"lock"}
        assert {name: found[name].line for name in lines} == lines
        assert sorted(w.line for w in warned(built)) == [5, 5, 10]
        text = found["dense.grad"].text
        assert "transforms grad(argnums=x) here, grad(argnums=w) there" in text
        assert "it is not in the lock (_jaxprs/dense.vmap.json)" in found["dense.vmap"].text
        assert "_jaxprs/index/dense-2.json is not a complete lock file" in found["dense"].text
        soup = built.page("index")
        errors = [str(figure["id"]) for figure in soup.select("figure.jaxpr-error")]
        assert errors == ["jaxpr-dense.grad", "jaxpr-dense.vmap", "jaxpr-dense-2"]
        assert "sphinx-build -b jaxpr-lock" in soup.find(id="jaxpr-dense.vmap").get_text()
        assert "tanh" in built.texts("index")["jaxpr-dense"]
    assert project.build("jaxpr-lock").code == 0
    assert project.build("html", "-W", *LOCKED).code == 0


def test_a_project_without_a_lock_says_so_once(project: Project) -> None:
    built = project.build("html", *LOCKED)
    (warning,) = warned(built)
    assert (warning.kind, warning.line) == ("lock", 3)
    assert "there is no lock" in warning.text and "(3 more blocks" in warning.text


# -- blocks that always come from it -----------------------------------------------------


def test_locked_blocks(tmp_path: Path) -> None:
    page = PAGE.replace(":source:", ":locked:")
    project = Project(tmp_path, {"docs/index.md": page})
    # What has nothing to be taken from is traced like the others.
    assert summary(project.build("jaxpr-lock", "-W")) == "4 new"
    path = project.docs / "_jaxprs/dense.grad.json"
    path.write_text(re.sub(r'"jax": "[\d.]+"', '"jax": "0.9.1"', path.read_text("utf-8")))
    code = "import jax.numpy as jnp\n\n\ndef dense(x, w, b):\n    return jnp.cos(x @ w + b)\n"
    project.write("src/layers.py", code)
    built = project.build("html", "-W")
    assert (built.code, built.traced) == (0, 1)
    texts = built.texts("index")
    assert "tanh" in texts["jaxpr-dense"] and "cos" in texts["jaxpr-dense-2"]
    said = "from the lock, made with JAX 0.9.1"
    soup = built.page("index")
    assert said in soup.find(id="jaxpr-dense.grad").get_text()
    assert "from the lock" not in soup.find(id="jaxpr-dense-2").get_text()
    for builder, file in (("text", "index.txt"), ("latex", "p.tex")):
        out = project.build(builder, "-W").out / file
        assert said in " ".join(out.read_text("utf-8").split())
    assert summary(project.build("jaxpr-lock", "-W")) == "1 changed, 3 kept; changes: 1 program"
    assert "0.9.1" in path.read_text("utf-8")
    shutil.rmtree(tmp_path / "out/html")
    first = pages(project.build("html", "-W"))
    shutil.rmtree(tmp_path / "out/html")
    assert pages(project.build("html", "-W", *LOCKED)) == first
    # By name it is made, alone.
    one = project.build("jaxpr-lock", "-W", "-D", "jaxpr_lock_only=dense.grad")
    assert summary(one) == "1 changed; changes: 1 program"
    assert "0.9.1" not in path.read_text("utf-8")
    assert "tanh" in (project.docs / "_jaxprs/dense.json").read_text("utf-8")
    both = project.build("jaxpr-lock", "-W", "-D", "jaxpr_lock_only=dense")
    assert summary(both) == "2 changed, 1 unchanged; changes: 2 program"
    wrong = project.build("jaxpr-lock", "-D", "jaxpr_lock_only=dense.gred")
    assert wrong.code == 1
    assert "no block is named 'dense.gred', did you mean 'dense.grad'? [jaxpr.lock]" in wrong.stderr


def test_a_locked_block_that_cannot_be_traced_here(tmp_path: Path) -> None:
    page = PAGE.replace(":source:", ":locked:")
    project = Project(tmp_path, {"docs/index.md": page})
    project.build("jaxpr-lock")
    project.write("src/layers.py", "def dense(x, w, b):\n    raise RuntimeError('needs a TPU')\n")
    project.write("docs/index.md", page.partition("\n\n```{jaxpr-transform} layers:dense\n:args: "
        f"{ARGS}\n```")[0] + "\n")  # fmt: skip
    done = project.build("jaxpr-lock", "-W")
    assert (done.code, done.traced) == (0, 0)
    assert summary(done) == "3 kept, 1 removed"
    missing = project.docs / "_jaxprs/dense.vmap.json"
    missing.unlink()
    assert warned(project.build("html"))[0].kind == "lock"
    refused = project.build("jaxpr-lock")
    assert refused.code == 1 and "needs a TPU" in refused.stderr
    assert not missing.exists()


# -- comparing -------------------------------------------------------------------------

CHECK = """
def setup(app):
    def told(app, exception):
        from sphinx_jaxpr.ext.judging.findings import report
        from sphinx_jaxpr.ext.builders.lock_changes import compare_with_lock
        from sphinx_jaxpr.program.drift.compare import counted
        domain = app.env.get_domain("jaxpr")
        session, directives = domain.build.session, domain.visible(app.tags)
        comparison = compare_with_lock(session, directives, domain.all_directives)
        report(comparison.findings, str(app.srcdir))
        print("levels:", counted(list(comparison.drifts.values())) or "none")
    app.connect("build-finished", told)
"""


def levels(build: Build) -> str:
    return build.stdout.rpartition("levels: ")[2].splitlines()[0]


def test_drift_from_the_lock(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": PAGE}, CHECK)
    built = project.build("html")
    assert (levels(built), built.warnings) == ("none", [])  # no lock is fine
    project.build("jaxpr-lock")
    built = project.build("html")
    assert (levels(built), built.warnings) == ("4 same", [])
    path = project.docs / "_jaxprs/dense.json"
    path.write_text(path.read_text("utf-8").replace("a:f32", "z:f32").replace("] a b", "] z b"))
    built = project.build("html")
    assert (levels(built), built.warnings) == ("3 same, 1 printing", [])
    code = "import jax.numpy as jnp\n\n\ndef dense(x, w, b):\n    return jnp.cos(x @ w + b)\n"
    project.write("src/layers.py", code)
    built = project.build("html")
    assert levels(built) == "4 program"
    found = warned(built)
    assert {w.kind for w in found} == {"drift"}
    assert sorted(w.line for w in found) == [3, 5, 5, 10]
    text = next(w.text for w in found if w.text.startswith("dense.vmap:"))
    assert "`dense.vmap[tanh]`: equation `f32[8,4,4] = tanh` is gone" in text
    assert "`dense.vmap[cos]`: equation `f32[8,4,4] = cos` is new" in text
    assert "in both)" in text


def test_what_the_lock_lacks_and_has_too_much(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": PAGE}, CHECK)
    project.build("jaxpr-lock")
    root = project.docs / "_jaxprs"
    shutil.copy(root / "dense.json", root / "old.json")
    (root / "dense.json").unlink()
    project.write("docs/index.md", PAGE.replace("grad(argnums=w)", "grad(argnums=x)"))
    built = project.build("html")
    found: dict[Any, str] = {w.place: w.text for w in warned(built)}
    assert {w.kind for w in warned(built)} == {"lock"}
    assert set(found) == {("index.md", 3), ("index.md", 5), ("old.json", 1)}
    assert "it is not in the lock" in found["index.md", 3]
    assert "created for another request" in found["index.md", 5]
    assert "no block asks for it" in found["old.json", 1]
    # A block that can't be traced is told as that alone.
    project.write("src/layers.py", "def dense(x, w, b):\n    raise ValueError('x')\n")
    assert {w.kind for w in warned(project.build("html"))} == {"trace", "lock"}


def test_recordings_for_other_programs(project: Project) -> None:
    project.write("docs/index.md", PAGE.replace("grad(argnums=w)", "grad(argnums=w, sum=False)"))
    done = project.build("jaxpr-record")
    root = done.out
    files = {path.relative_to(root).as_posix() for path in root.glob("*.json")}
    assert files == {"dense.json", "dense.grad.json", "dense.vmap.json"}
    assert (root / "index/dense-2.json").exists()
    failed = json.loads((root / "dense.grad.json").read_text("utf-8"))
    assert failed["error"]["type"] == "TypeError"
    assert json.loads((root / "dense.json").read_text("utf-8"))["text"][0].startswith("{ lambda")
    assert not (project.docs / "_jaxprs").exists()
    project.write("docs/index.md", PAGE.replace(", vmap", ""))
    project.build("jaxpr-record", "-W")
    assert not (root / "dense.vmap.json").exists()
    assert (root / "dense.json").exists()
