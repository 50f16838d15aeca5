"""What a second build does: as little as it may, and all that it must."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support import Build, Project

pytestmark = pytest.mark.once

#: Says at the end of a build what must never be in Sphinx's process.
WATCH = """
def setup(app):
    def finished(app, exception):
        import threading
        found = {name for name in sys.modules if name.partition(".")[0] in WATCHED}
        print("foreign modules:", sorted(found))
        print("threads:", threading.active_count())
    app.connect("build-finished", finished)
WATCHED = ["jax", "jaxlib", "numpy", "layers", "pkg", "lone", "other", "late", "loud"]
"""


QUIET = 'suppress_warnings = ["toc.not_included"]\n'


def page(*targets: str, title: str = "Page", **options: str) -> str:
    """A page with one block a target, its arguments fixed."""
    options = {"args": "x=f32[3]", **options}
    lines = "".join(f":{key.rstrip('_')}: {value}\n" for key, value in options.items())
    blocks = [f"```{{jaxpr-transform}} {target}\n{lines}```\n" for target in targets]
    return f"# {title}\n\n" + "\n".join(blocks)


def traced(build: Build) -> list[str]:
    """The programs that a build traced."""
    found = re.findall(r"tracing jaxprs\.\.\. \[ *\d+%\] (.*)", build.stdout)
    assert len(found) == build.traced
    return sorted(name.strip() for name in found)


class Watched:
    """A project, built again and again: which programs, which pages."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.times: dict[str, int] = {}

    def build(self, *flags: str, code: int = 0, **more: object) -> tuple[list[str], list[str]]:
        """Build; the programs traced, and the pages of HTML written."""
        self.last = build = self.project.build("html", *flags, **more)  # type: ignore[arg-type]  # passed on
        assert build.code == code, build.stderr + build.stdout[-1000:]
        before, self.times = self.times, self.stamps()
        pages = [name for name, time in self.times.items() if before.get(name) != time]
        return traced(build), sorted(pages)

    def stamps(self) -> dict[str, int]:
        out = self.project.folder / "out" / "html"
        made = {path.stem: path.stat().st_mtime_ns for path in out.glob("*.html")}
        by_every_build = ("genindex", "search", "jaxpr-primitives")
        return {k: v for k, v in made.items() if k not in by_every_build}

    def snapshot(self) -> dict[Path, int]:
        """Every file beside the outputs, with its time."""
        found = {}
        for path in self.project.folder.rglob("*"):
            if "out" not in path.relative_to(self.project.folder).parts:
                found[path] = path.stat().st_mtime_ns
        return found


MODULES = {
    "src/pkg/__init__.py": "import jax\n",
    "src/pkg/helper.py": """
        import pathlib
        SCALE = float((pathlib.Path(__file__).parent / "scale.txt").read_text())
    """,
    "src/pkg/scale.txt": "2.0",
    "src/pkg/one.py": "from . import helper\n\n\ndef f(x):\n    return x * helper.SCALE\n",
    "src/pkg/two.py": "from . import helper\n\n\ndef f(x):\n    return x + helper.SCALE\n",
    "src/lone.py": """
        import importlib
        import json
        import pathlib


        def f(x):
            import late
            table = json.loads((pathlib.Path(__file__).parent / "table.json").read_text())
            return importlib.import_module("named").g(late.h(x)) - table[0]
    """,
    "src/late.py": "def h(x):\n    return x * 3.0\n",
    "src/named.py": "def g(x):\n    return x / 4.0\n",
    "src/table.json": "[5.0]",
    "src/other.py": "def f(x):\n    return -x\n",
    "docs/index.md": "# Index\n",
    "docs/one.md": page("pkg.one:f"),
    "docs/two.md": page("pkg.two:f"),
    "docs/lone.md": page("lone:f"),
    "docs/other.md": page("other:f"),
}

Edit = tuple[str, tuple[str, str], set[str], set[str]]
BOTH = {"pkg.one:f", "pkg.two:f"}

# One build after each round.  What is edited, how, the programs that it concerns, and
# the pages that show something else.
ROUNDS: list[list[Edit]] = [
    [
        ("src/pkg/scale.txt", ("2.0", "6.0"), BOTH, {"one", "two"}),
        ("src/late.py", ("3.0", "7.0"), {"lone:f"}, {"lone"}),
    ],
    [
        ("src/pkg/__init__.py", ("jax", "jax.numpy"), BOTH, set()),
        ("src/other.py", ("-x", "x"), {"other:f"}, {"other"}),
    ],
    [
        ("src/pkg/helper.py", ("import", "# why\nimport"), BOTH, set()),
        ("src/table.json", ("5.0", "9.0"), {"lone:f"}, {"lone"}),
    ],
    [
        ("src/pkg/one.py", ("x *", "x -"), {"pkg.one:f"}, {"one"}),
        ("src/other.py", ("x\n", "x\n# the end\n"), {"other:f"}, set()),
    ],
    [
        ("src/pkg/two.py", ("def f", "# a line more\ndef f"), {"pkg.two:f"}, set()),
        ("src/named.py", ("4.0", "8.0"), {"lone:f"}, {"lone"}),
    ],
]


def test_edits(tmp_path: Path) -> None:
    """Exactly what an edit concerns is traced again, and written if it shows something else."""
    project = Project(tmp_path, MODULES, QUIET + WATCH)
    starts = tmp_path / "starts"
    wrapper = project.write(
        "python.sh", f'#!/bin/sh\necho $# >> "{starts}"\nexec {sys.executable} "$@"\n'
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    with project.docs.joinpath("conf.py").open("a") as conf:
        conf.write(f"jaxpr_python = {str(wrapper)!r}\n")
    watched = Watched(project)
    everything, pages = watched.build("-W")
    assert len(everything) == 4 and len(pages) == 5
    assert "foreign modules: []" in watched.last.stdout
    cold = starts.read_text()

    assert watched.build("-W") == ([], [])
    assert "foreign modules: []" in watched.last.stdout
    assert "threads: 1" in watched.last.stdout
    assert "0 added, 0 changed, 0 removed" in watched.last.stdout
    assert "no targets are out of date" in watched.last.stdout
    assert starts.read_text() == cold  # no process was started, not even to ask for versions

    for name in ("src/pkg/helper.py", "src/other.py", "src/table.json"):
        os.utime(project.folder / name)
    assert watched.build() == ([], [])

    for edits in ROUNDS:
        for name, (old, new), _, _ in edits:
            path = project.folder / name
            assert old in path.read_text()
            path.write_text(path.read_text().replace(old, new, 1))
        programs = set().union(*(edit[2] for edit in edits))
        written = set().union(*(edit[3] for edit in edits))
        assert watched.build("-W") == (sorted(programs), sorted(written)), edits
    assert watched.build() == ([], [])
    assert not list(project.folder.rglob("__pycache__"))


#: Ways to depend on what is not there, or not read: the module's text, and what changes.
WAYS: dict[str, tuple[str, str]] = {
    "tried": (
        "try:\n    from .fast import N\nexcept ImportError:\n    N = 2\n",
        "src/ways/fast.py",
    ),
    "optional": (
        "try:\n    import opt\n    N = 3\nexcept ImportError:\n    N = 2\n",
        "docs/opt.py",
    ),
    "spec": (
        "import importlib.util as u\nN = 2 + (u.find_spec('opt_too') is not None)\n",
        "src/opt_too/__init__.py",
    ),
    "listed": (
        "import os\nN = len(os.listdir(os.path.dirname(__file__) + '/data'))\n",
        "src/ways/data/b.csv",
    ),
    "globbed": (
        "import glob\nimport os\n"
        "N = 1 + len(glob.glob(os.path.dirname(__file__) + '/more/*.csv'))\n",
        "src/ways/more/b.csv",
    ),
    "asked": (
        "import pathlib\nN = 2 + pathlib.Path(__file__).with_name('flag').exists()\n",
        "src/ways/flag",
    ),
    "shadowed": ("import helper\nN = helper.N\n", "docs/helper.py"),
}
WAYS_FILES = {
    "src/ways/__init__.py": "",
    **{
        f"src/ways/{k}.py": f"{text}\n\ndef f(x):\n    return x[:N]\n"
        for k, (text, _) in WAYS.items()
    },
    # From the folder of conf.py, wherever the build was started.
    "src/ways/plain.py": "import json\n\nopen('further/a.txt')\n\n\ndef f(x):\n    return x\n",
    "src/ways/data/a.csv": "",
    "src/ways/data/c.csv": "",
    "src/ways/more/a.csv": "",
    "src/helper.py": "N = 2\n",
    "docs/further/a.txt": "",
    # What JAX itself imports under this name is the standard library's.
    "docs/random.py": "N = 1\n",
}


def test_what_was_not_there(tmp_path: Path) -> None:
    """All ways to depend on it at once, each told; what nobody asked for traces nothing."""
    targets = [f"ways.{name}:f" for name in WAYS] + ["ways.plain:f"]
    secret = ["ways.secret:f"]
    project = Project(tmp_path, {"docs/index.md": page(*targets, *secret), **WAYS_FILES})
    project.write(
        "src/ways/secret.py",
        "import os\nN = len(os.environ['PASS'])\n\n\ndef f(x):\n    return x[:N]\n",
    )
    watched = Watched(project)
    env = {"PASS": "ab"}
    assert len(watched.build("-W", env=env)[0]) == len(targets) + 1
    for name in ("src/new.py", "src/ways/new.py", "docs/new.txt", "docs/further/b.txt"):
        project.write(name, "")
    assert watched.build("-W", env={**env, "OTHER": "1"}) == ([], [])
    for _, name in WAYS.values():
        project.write(name, "N = 3\n")
    found, pages = watched.build("-W", "-v", env={"PASS": "abc"})
    assert found == sorted([*targets[:-1], *secret]) and pages == ["index"]
    for told in (
        "ways.tried:f is traced: the module 'fast' is now found: ../src/ways/fast.py",
        "ways.optional:f is traced: the module 'opt' is now found: opt.py",
        "ways.spec:f is traced: the module 'opt_too' is now found: ../src/opt_too/__init__.py",
        "ways.listed:f is traced: the contents of the folder ../src/ways/data changed",
        "ways.asked:f is traced: ../src/ways/flag now exists",
        "ways.shadowed:f is traced: the module 'helper' is now helper.py, it was ../src/helper.py",
        "ways.secret:f is traced: the environment variable PASS changed",
    ):
        assert told in watched.last.stdout
    conf = project.docs / "conf.py"
    conf.write_text(conf.read_text() + 'jaxpr_depends = ["further/*", "none/*.csv"]\n')
    found, _ = watched.build(env={"PASS": "abc"})
    assert len(found) == len(targets) + 1
    [warning] = watched.last.warnings
    assert re.search(
        r"conf\.py:\d+: WARNING: jaxpr_depends: no file matches 'none/\*\.csv'", warning
    )
    project.write("docs/further/b.txt", "2")
    found, _ = watched.build("-v", env={"PASS": "abc"})
    assert len(found) == len(targets) + 1
    assert "is traced: files of 'further/*' in jaxpr_depends changed" in watched.last.stdout
    assert watched.build(env={"PASS": "abc"})[0] == []
    # Elsewhere the store is kept, unless all is asked for.
    elsewhere = ("-D", "jaxpr_cache_dir=_cache", "-D", "jaxpr_depends=")
    assert len(watched.build(*elsewhere, "-W", env=env)[0]) == len(targets) + 1
    assert watched.build(*elsewhere, "-W", "-E", env=env)[0] == []
    fresh = watched.build(*elsewhere, "-W", "-v", "-D", "jaxpr_fresh=1", env=env)[0]
    assert len(fresh) == len(targets) + 1
    assert "ways.plain:f is traced: this build uses no stored result" in watched.last.stdout


def test_a_module_in_two_import_roots(tmp_path: Path) -> None:
    files = {
        "docs/one/model.py": "def f(x):\n    return x\n",
        "docs/two/model.py": "def f(x):\n    return -x\n",
        "docs/deep/other.py": "def f(x):\n    return x\n",
        "docs/random.py": "def f(x):\n    return x\n",
        "docs/index.md": page("model:f", "other:f", "random:f")
        + page("two.model:f", "model:f").replace("# Page", "# More"),
    }
    project = Project(tmp_path, files, 'jaxpr_paths = ["one", "two"]\n')
    build = project.build("html")
    told = [re.sub(r".*(index\.md:\d+): WARNING: ", r"\1 ", text) for text in build.warnings]
    assert any(
        text.startswith(
            "index.md:3 the module 'model' is in 2 import roots: one/model.py is traced,"
            " two/model.py hidden; name the other one 'two.model'"
        )
        for text in told
    ), told
    assert sum("import roots" in text for text in told) == 1
    [missing] = [text for text in told if "no module 'other'" in text]
    assert "its file is importable as 'deep.other'" in missing
    [hidden] = [text for text in told if "random" in text]
    assert "'random' is a module of the standard library, which hides random.py" in hidden


COSMETIC: list[tuple[str, str]] = [
    (":caption: One\n", ":caption: Another\n"),
    (":caption: Another\n", ":caption: Another\n:open: none\n"),
    (":open: none\n", ":open: none\n:class: wide\n:source:\n"),
    (":source:\n", ":source:\n:base: hide\n"),
    (":base: hide\n", ":name: other\n"),
]


def test_cosmetic_changes_trace_nothing(tmp_path: Path) -> None:
    text = page(
        "layers:dense", args="f32[2,2], f32[2,2], f32[2]", transforms="grad, vmap", caption="One"
    )
    project = Project(tmp_path, {"docs/index.md": text})
    watched = Watched(project)
    assert len(watched.build("-W")[0]) == 3
    for old, new in COSMETIC:
        assert old in text
        text = text.replace(old, new)
        project.write("docs/index.md", text)
        assert watched.build("-W") == ([], ["index"])
    for setting in ("jaxpr_open=all", "html_theme=basic", "language=de", "jaxpr_timeout=60"):
        assert watched.build("-W", "-D", setting)[0] == []
    # The source is shown now: a comment in it is something else to see.
    path = project.folder / "src/layers.py"
    path.write_text(path.read_text().replace("return", "# said\n    return"))
    found, pages = watched.build("-W")
    assert len(found) == 3 and pages == ["index"]
    assert "# said" in watched.last.page("index").get_text()


def types(build: Build, name: str = "index") -> list[set[str]]:
    """The element types of each program of a page."""
    return [set(re.findall(r"\b[fi]\d\d", text)) for text in build.texts(name).values()]


def test_environments_never_mix(tmp_path: Path) -> None:
    """64-bit blocks, settings of the worker, inherited variables."""
    text = page("layers:wide", args="x=f32[2]") + page("layers:wide", args="x=f32[2]", x64="")
    text += page("layers:told", args="x=f32[2]")
    project = Project(tmp_path, {"docs/index.md": text.replace(":x64: ", ":x64:")})
    project.write(
        "src/layers.py",
        """
        import os
        import jax.numpy as jnp

        def wide(x):
            return x + jnp.arange(2)

        def told(x):
            return x * float(os.environ.get("TOLD", "1"))
        """,
    )
    watched = Watched(project)
    assert len(watched.build()[0]) == 3
    narrow, wide, _ = types(watched.last)
    assert "i64" not in narrow and "f64" not in narrow and "i64" in wide
    for value, times in (("2", 3), ("3", 3), ("2", 0), ("3", 0)):
        found, _ = watched.build("-D", f"jaxpr_env.TOLD={value}")
        assert len(found) == times
        assert f"mul b {value}.0" in watched.last.texts("index")["jaxpr-told"].replace("a", "b")
        assert types(watched.last)[:2] == [narrow, wide]
    for variable in ("JAX_DEFAULT_MATMUL_PRECISION", "XLA_FLAGS"):
        value = "highest" if variable.startswith("JAX") else "--xla_cpu_enable_fast_math=false"
        assert len(watched.build(env={variable: value})[0]) == 3
        assert watched.build(env={variable: value})[0] == []
    assert watched.build(env={"UNRELATED": "1", "JAX_PLATFORMS": "tpu"}) == ([], [])


def packs(project: Project) -> list[Path]:
    return sorted((project.folder / "out/html/.doctrees/jaxpr").glob("*.pack"))


def test_a_damaged_store_is_made_again(tmp_path: Path) -> None:
    targets = [f"layers:f{place}" for place in range(6)]
    project = Project(tmp_path, {"docs/index.md": page(*targets)})
    project.write(
        "src/layers.py", "".join(f"def f{n}(x):\n    return x * {n}.0\n" for n in range(6))
    )
    watched = Watched(project)
    assert len(watched.build()[0]) == 6
    [pack] = packs(project)
    [index] = pack.parent.glob("index-*.txt")
    good = pack.read_bytes().splitlines(keepends=True)
    damaged = [good[0][:200], b"\n", good[2].replace(b'"effects":[]', b'"effects":[NaN]'),
               good[3].replace(b"lambda ;", b"lambda  ;"), b"[1\n", good[5]]  # fmt: skip
    pack.write_bytes(b"".join(damaged))
    index.unlink()
    found, pages = watched.build("-W")
    assert len(found) == 5 and pages == []
    assert "4 stored jaxprs were damaged; what a page still needs" in watched.last.stdout
    again = b"".join(path.read_bytes() for path in packs(project)).splitlines(keepends=True)
    results = [sorted(line.partition(b"\t")[2] for line in lines) for lines in (good, again)]
    assert results[0] == results[1]  # and what was damaged is gone
    for text in ("", "{", '{"schema": 1, "entries": {"a": 1}, "needs": {}}'):
        index.write_text(text)
        assert watched.build("-W") == ([], [])
    # What no page has to be written for is not read, and so not missed.
    for path in packs(project):
        path.write_bytes(b" " * path.stat().st_size)
    assert watched.build("-W") == ([], [])
    found, pages = watched.build("-W", "-a")
    assert len(found) == 6 and pages == ["index"]
    assert watched.build("-W", "-a") == ([], ["index"])
    found, pages = watched.build("-W", "-E")
    assert len(found) == 6 and pages == ["index"]


def test_builders_that_share_a_cache(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": "# I\n", "docs/a.md": page("layers:g")})
    path = project.write("src/layers.py", "def g(x):\n    return x * 2.0\n")
    shared = ("-d", str(tmp_path / "doctrees"))
    watched = Watched(project)
    assert watched.build(*shared)[0] == ["layers:g"]
    text = project.build("text", *shared)
    assert text.traced == 0 and "2.0" in (text.out / "a.txt").read_text()
    path.write_text(path.read_text().replace("2.0", "3.0"))
    assert traced(project.build("text", *shared)) == ["layers:g"]
    assert "3.0" in (text.out / "a.txt").read_text()
    assert watched.build(*shared) == ([], ["a"])
    assert "3.0" in watched.last.texts("a")["jaxpr-g"]
    # The output is gone, the doctrees stay.
    shutil.rmtree(watched.last.out)
    assert watched.build(*shared) == ([], ["a", "index"])
    # A list of files leaves a page out, which is written by the next whole build.
    path.write_text(path.read_text().replace("3.0", "4.0"))
    listed = project.build("html", *shared, files=["index.md"])
    assert traced(listed) == ["layers:g"]
    assert "3.0" in listed.texts("a")["jaxpr-g"]
    watched.times = watched.stamps()
    assert watched.build(*shared)[1] == ["a"]
    assert "4.0" in watched.last.texts("a")["jaxpr-g"]


def test_pages_come_and_go(tmp_path: Path) -> None:
    only = "# T\n\n````{only} extra\n" + page("layers:f").partition("\n\n")[2] + "````\n\n"
    files = {
        "docs/index.md": "# Index\n",
        "docs/gone.md": page("layers:f", name="stays"),
        "docs/moved.md": page("layers:g"),
        "docs/less.md": page("layers:f", "layers:h"),
        "docs/tagged.md": only + page("layers:g").partition("\n\n")[2],
    }
    project = Project(tmp_path, files, QUIET)
    project.write("src/layers.py", "".join(f"def {n}(x):\n    return -x\n" for n in "fgh"))
    watched = Watched(project)
    assert watched.build("-W")[0] == ["layers:f", "layers:g", "layers:h"]
    (project.docs / "gone.md").unlink()
    (project.docs / "moved.md").rename(project.docs / "here.md")
    project.write("docs/less.md", page("layers:h", name="stays"))
    found, pages = watched.build("-W")
    assert found == [] and pages == ["here", "less"]
    assert set(watched.last.texts("less")) == {"jaxpr-stays"}
    assert set(watched.last.texts("tagged")) == {"jaxpr-g"}
    found, _ = watched.build("-W", "-t", "extra")
    assert found == [] and set(watched.last.texts("tagged")) == {"jaxpr-f", "jaxpr-g"}
    assert "0 added, 0 changed, 0 removed" in watched.last.stdout
    found, _ = watched.build("-W")
    assert set(watched.last.texts("tagged")) == {"jaxpr-g"}


def test_functions_that_are_in_no_file(tmp_path: Path) -> None:
    """By exec, from an archive, built in: traced or refused, and found again."""
    targets = ["made:f", "zipped:g", "jax.numpy.tanh", "math:sin"]
    project = Project(tmp_path, {"docs/index.md": page(*targets, args="f32[3]")})
    project.write("src/made.py", "exec('def f(x):\\n    return x + x')\n")
    archive = tmp_path / "src" / "code.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("zipped.py", "def g(x):\n    return x * x\n")
    conf = project.docs / "conf.py"
    conf.write_text(conf.read_text() + f"sys.path.insert(0, {str(archive)!r})\n")
    watched = Watched(project)
    found, _ = watched.build()
    assert len(found) == 4
    assert set(watched.last.texts("index")) >= {"jaxpr-f", "jaxpr-g", "jaxpr-tanh"}
    [warning] = watched.last.warnings
    assert "index.md:15: WARNING: sin: TypeError" in warning
    project.write("docs/index.md", page(*targets[:3], args="f32[3]"))
    assert watched.build("-W")[0] == []
    assert watched.build("-W") == ([], [])
    assert "no targets are out of date" in watched.last.stdout
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("zipped.py", "def g(x):\n    return x - x\n")
    assert watched.build("-W") == (["zipped:g"], ["index"])


def test_an_included_part(tmp_path: Path) -> None:
    part = page("layers:f").partition("\n\n")[2]
    files = {
        "docs/index.md": "# Index\n\n```{include} part.inc\n```\n",
        "docs/second.rst": (
            "Second\n======\n\n.. include:: part.inc\n   :parser: myst_parser.sphinx_\n"
        ),
        "docs/part.inc": part,
    }
    project = Project(tmp_path, files, QUIET)
    project.write("src/layers.py", "def f(x):\n    return -x\n\n\ndef g(x):\n    return x * x\n")
    watched = Watched(project)
    assert watched.build("-W") == (["layers:f"], ["index", "second"])
    project.write("docs/part.inc", part.replace(":f", ":g"))
    assert watched.build("-W") == (["layers:g"], ["index", "second"])
    for name in ("index", "second"):
        assert set(watched.last.texts(name)) == {"jaxpr-g"}
    project.write("docs/part.inc", part.replace("layers:f", "layers:none"))
    watched.build("-W", code=1)
    for warning in watched.last.warnings:
        assert "part.inc:1: WARNING" in warning, warning


ALL_OPTIONS = """
jaxpr_open = "all"
jaxpr_timeout = 20
jaxpr_total_timeout = 600
jaxpr_env = {"TOLD": "1"}
jaxpr_python = sys.executable
jaxpr_paths = ["../src"]
jaxpr_depends = ["../src/layers.py"]
jaxpr_memory = 4000
jaxpr_mode = "trace"
jaxpr_cache_dir = "_cache"
jaxpr_lock_dir = "_lock"
jaxpr_lock_only = ["dense"]
jaxpr_transforms = {"twice": "layers:twice"}
jaxpr_allowed_modules = ["layers"]
jaxpr_elide = "params, casts dead"
jaxpr_glossary = {"neg": {"meaning": "Turns the sign."}}
jaxpr_claim_mark = True
jaxpr_fresh = False
jaxpr_max_equations = 100
jaxpr_max_constants = 1000
exclude_patterns = ["_cache"]
"""


def test_every_option_set_and_a_cache_inside_the_sources(tmp_path: Path) -> None:
    """No option is in the way of the pickled environment; nothing is written but the cache."""
    from sphinx_jaxpr.ext.config import OPTIONS

    assert all(f"\n{option.name} = " in ALL_OPTIONS for option in OPTIONS)
    text = page("layers:f", transforms="twice") + page("layers:bad")
    project = Project(
        tmp_path, {"docs/index.md": page("layers:f", transforms="twice")}, ALL_OPTIONS
    )
    project.write(
        "src/layers.py",
        """
        import time

        def f(x):
            return -x

        def bad(x):
            raise ValueError(f"seen <thing at {hex(time.time_ns())}>")

        def twice(fn, args):
            return (lambda *a: fn(fn(*a))), args
        """,
    )
    watched = Watched(project)
    sources = watched.snapshot()
    assert watched.build("-W")[0] == ["layers:f", "layers:f twice"]
    assert watched.build("-W") == ([], [])
    assert "config changed" not in watched.last.stdout
    made = watched.snapshot()
    assert {path for path in made if "_cache" not in path.parts} == set(sources)
    assert watched.build("-W", "-D", "jaxpr_open=none")[0] == []
    assert watched.snapshot() == {
        **made,
        **{k: v for k, v in watched.snapshot().items() if "pages" in k.name},
    }
    # A failing block, traced by every build, changes nothing from its second time on.
    project.write("docs/index.md", text)
    watched.build("-W", code=1)
    made = watched.snapshot()
    found, pages = watched.build("-W", code=1)
    assert (found, pages) == (["layers:bad"], [])
    assert watched.snapshot() == made
