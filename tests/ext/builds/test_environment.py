"""Where a build runs: environment, interpreter, versions, and what pages must not tell of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ext.judging.test_rebuild import WATCH, Watched, page
from tests.support import PROJECT, Build, Project, interpreter

pytestmark = pytest.mark.once

DEVICES = """
    import os

    import jax
    import numpy as np

    assert "XLA_FLAGS" in os.environ and jax.default_backend() == "cpu"
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
    eight = jax.device_put(np.ones(8), jax.sharding.NamedSharding(mesh, jax.P(("a", "b"))))


    def f(x):
        return jax.shard_map(
            lambda y: jax.lax.psum(y, "a"), mesh=mesh, in_specs=jax.P("a"), out_specs=jax.P()
        )(x)
"""


@pytest.mark.parametrize("platforms", [None, "tpu"])
def test_devices_are_those_of_the_settings(tmp_path: Path, platforms: str | None) -> None:
    """Flags are there before the first import; the CPU alone is used, whatever the shell says."""
    conf = 'jaxpr_env = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}\n'
    project = Project(tmp_path, {"docs/index.md": page("meshed:f", args="x=f32[8]")}, conf)
    project.write("src/meshed.py", DEVICES.replace("jax.P(", "jax.sharding.PartitionSpec("))
    shell = {"JAX_PLATFORMS": platforms} if platforms else {}
    if not platforms and "JAX_PLATFORMS" in os.environ:
        shell = {"JAX_PLATFORMS": ""}
    built = project.build("html", "-W", env=shell)
    assert built.code == 0, built.stderr
    assert "psum" in built.texts("index")["jaxpr-f"]


LOUD = """
    import os
    import pathlib
    import threading
    import time

    import jax.numpy as jnp

    (pathlib.Path(__file__).parent / "made.txt").write_text("made at import")
    threading.Thread(target=time.sleep, args=(600,)).start()
    # The pool of XLA has one thread a processor, where nobody bounds it.
    jnp.ones(3).block_until_ready()
    names = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
    assert sum("Eigen" in name for name in names) < 2, names


    def f(x):
        return -x
"""


def test_an_import_with_effects_leaves_sphinx_alone(tmp_path: Path) -> None:
    """A file made, a thread started, a device used; no more threads than one processor needs."""
    project = Project(tmp_path, {"docs/index.md": page("loud:f")}, WATCH)
    path = project.write("src/loud.py", LOUD)
    built = project.build("html", "-W")
    assert built.code == 0, built.stderr
    assert (path.parent / "made.txt").exists()
    assert "foreign modules: []" in built.stdout and "threads: 1" in built.stdout
    assert project.build("html", "-W").traced == 0  # made by itself: nothing that it needs


DOCUMENTED = """
    import numpy as np


    class Layer:
        \"\"\"A layer.

        .. jaxpr-transform:: .double
           :args: x=f32[3]
           :static: self=LAYER
        \"\"\"

        def double(self, x):
            return x * np.float32(2)


    LAYER = Layer()


    def triple(x):
        \"\"\"Three times.

        .. jaxpr-transform:: triple
           :name: thrice
           :args: x=f32[3]

        .. jaxpr-transform:: nowhere
        \"\"\"
        return x * np.float32(3)
"""
AUTODOC = """
extensions.append("sphinx.ext.autodoc")
autodoc_mock_imports = ["numpy"]
suppress_warnings = ["toc.not_included", "autodoc.mocked_object"]
"""


def test_docstrings_under_mocked_imports(tmp_path: Path) -> None:
    """Autodoc's mocks don't reach the worker; one docstring on two pages is no clash."""
    rst = "{0}\n{1}\n\n.. automodule:: documented\n   :members:\n{2}"
    files = {
        "docs/index.rst": rst.format("One", "===", ""),
        "docs/two.rst": rst.format("Two", "===", "   :no-index:\n"),
    }
    project = Project(tmp_path, files, AUTODOC)
    project.write("src/documented.py", DOCUMENTED)
    built = project.build()
    assert built.code == 0, built.stderr
    assert set(built.texts("index")) == {"jaxpr-double", "jaxpr-thrice", "jaxpr-nowhere"}
    assert built.texts("index") == built.texts("two")
    assert "mul a 3.0" in built.texts("two")["jaxpr-thrice"]
    # One finding for one docstring, though two pages show it.
    [warning] = built.warnings
    assert "src/documented.py:docstring of documented.triple:7: WARNING: nowhere: " in warning
    again = project.build()
    assert again.warnings == built.warnings
    assert again.traced == 1  # what failed, and that alone


SECRET = "secretname"
TELLING = """
    from pathlib import Path

    from jax.extend.core import Primitive

    HERE = Path(__file__)
    load = Primitive("load")
    load.def_abstract_eval(lambda x, **places: x)


    def shown(x):
        return load.bind(
            x, file=str(HERE), folder=str(HERE.parent), other=HERE.parents[2] / "y" / "z.py"
        )


    def fails(x):
        raise OSError(f"nothing at {HERE} in {HERE.parents[1]}, {HERE.parents[2]}")
"""


def texts_below(folder: Path) -> dict[Path, str]:
    """All that a build wrote, but for what Sphinx itself keeps to itself."""
    own = {"environment.pickle", ".buildinfo"}
    return {
        path: path.read_bytes().decode("utf-8", "replace")
        for path in folder.rglob("*")
        if path.is_file() and path.name not in own and path.suffix != ".doctree"
    }


def test_nothing_published_names_the_machine(tmp_path: Path) -> None:
    folder = tmp_path / "home" / SECRET / "x"
    text = page("telling:shown") + page("telling:fails", raises="OSError")
    text += page("telling:fails") + page("broken:f")
    conf = 'jaxpr_cache_dir = "../cache"\njaxpr_env = {"TOKEN": "tokenvalue"}\n'
    project = Project(folder, {"docs/index.md": text}, conf)
    project.write("src/telling.py", TELLING)
    project.write("src/broken.py", "raise ImportError(f'no way from {__file__}')\n")
    env = {"HOME": str(tmp_path / "home")}
    for builder in ("html", "text", "latex", "json"):
        built = project.build(builder, env=env)
        assert len(built.warnings) == 2, built.stderr
    made = texts_below(folder / "out") | texts_below(folder / "cache")
    assert {path.suffix for path in made} >= {".html", ".txt", ".tex", ".fjson", ".pack", ".log"}
    for path, found in made.items():
        assert SECRET not in found and "tokenvalue" not in found, path
    shown = project.build(env=env).texts("index")["jaxpr-shown"]
    assert "file=telling.py" in shown and "other=../../y/z.py" in shown and "folder=." in shown


SITE = """
import importlib.metadata, os, site, sys
folder = {folder!r}
plain = site.getsitepackages
site.getsitepackages = lambda *args: [*plain(*args), folder]
sys.path.append(folder)
version = importlib.metadata.version
importlib.metadata.version = lambda name: os.environ.get("FAKE_" + name.upper()) or version(name)
"""


class Site:
    """A folder of installed distributions, added to the interpreter's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "site"
        self.folder.mkdir()
        custom = folder / "custom"
        custom.mkdir()
        (custom / "sitecustomize.py").write_text(SITE.format(folder=str(self.folder)))
        self.env = {"PYTHONPATH": f"{custom}{os.pathsep}{PROJECT}"}

    def install(self, name: str, text: str, version: str) -> None:
        (self.folder / f"{name}.py").write_text(text)
        for old in self.folder.glob(f"{name}-*"):
            shutil.rmtree(old)
        info = self.folder / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
        (info / "top_level.txt").write_text(name)


def test_versions_of_what_is_installed(tmp_path: Path) -> None:
    """A distribution counts by its version, for those that import it; JAX and numpy for all."""
    site = Site(tmp_path)
    site.install("lower", "SCALE = 2.0", "1.0")
    site.install("upper", "import lower\nSCALE = lower.SCALE\n", "1.0")
    project = Project(tmp_path, {"docs/index.md": page("uses:f", "plain:g")})
    project.write("src/uses.py", "import upper\n\ndef f(x):\n    return x * upper.SCALE\n")
    project.write("src/plain.py", "def g(x):\n    return -x\n")
    watched = Watched(project)
    assert watched.build("-W", env=site.env)[0] == ["plain:g", "uses:f"]
    site.install("lower", "SCALE = 3.0", "1.0")
    assert watched.build("-W", env=site.env) == ([], [])
    site.install("lower", "SCALE = 3.0", "1.1")
    assert watched.build("-W", env=site.env) == (["uses:f"], ["index"])
    site.install("upper", "SCALE = 3.0\n", "2.0")
    assert watched.build("-W", env=site.env) == (["uses:f"], [])
    for name in ("FAKE_JAX", "FAKE_NUMPY"):
        found, _ = watched.build("-W", env={**site.env, name: "99.0"})
        assert found == ["plain:g", "uses:f"]
    assert watched.build("-W", env=site.env) == ([], [])


GALLERY = (
    "x=bf16[32,64], w=bf16[64,64], b=bf16[64]",
    "grad(argnums=w), value_and_grad, hessian, jvp, vjp, linearize, jacfwd, jacrev,"
    " vmap(axis_size=8), scan(over=w, length=4), remat | grad(argnums=w), checkpoint,"
    " shard_map, jit, grad | vmap",
)


def gallery() -> str:
    """Every built-in transform of the lesson's function."""
    return page("layers:dense", args=GALLERY[0], transforms=GALLERY[1])


def check_gallery(built: Build) -> None:
    assert built.code == 0, built.stderr
    texts = built.texts("index")
    assert len(texts) == 16 and all(texts.values())


STRICT = 'jaxpr_env = {"PYTHONWARNINGS": "error::DeprecationWarning"}\n'


def test_no_deprecated_part_of_jax_is_used(tmp_path: Path) -> None:
    project = Project(tmp_path, {"docs/index.md": gallery()}, STRICT)
    check_gallery(project.build("html", "-W"))


@pytest.mark.matrix
@pytest.mark.parametrize("environment", ["oldest", "newest"])
def test_another_interpreter_traces(tmp_path: Path, environment: str) -> None:
    """Without this package, and under another JAX; each has results of its own."""
    python = interpreter(environment)
    project = Project(tmp_path, {"docs/index.md": gallery()}, STRICT)
    watched = Watched(project)
    assert len(watched.build("-W")[0]) == 16
    own = watched.last.page("index").select_one("figcaption").get_text()
    other = ("-W", "-D", f"jaxpr_python={python}")
    assert len(watched.build(*other)[0]) == 16
    check_gallery(watched.last)
    assert watched.last.page("index").select_one("figcaption").get_text() != own
    assert watched.build(*other) == ([], [])
    assert watched.build("-W") == ([], ["index"])
    assert watched.last.page("index").select_one("figcaption").get_text() == own


EVERY_PART = """
# {jaxpr:prim}`tanh`

```{jaxpr-transform} layers:dense
:name: dense
:args: x=f32[2,3], w=f32[3,4], b=f32[4]
:transforms: grad
:layout: compare
:source:
```

{jaxpr:val}`len(dense)` {jaxpr:eqn}`dense[tanh]` {jaxpr:claim}`all <len(dense) == 4>`

```{jaxpr-when} jax >= "0.5"
Yes.
```

```{jaxpr-glossary}
```

```{lesson-check} What?
:name: q
An answer.
```

```{lesson-checklist}
- [ ] One.
```
"""
BUILDS = """
import sys
from sphinx.cmd.build import main

source, out, *builders = sys.argv[1:]
for one in builders:
    trees = f"{out}/trees-{one == 'gettext'}"  # which takes no others'
    if main(["-q", "-b", one, "-d", trees, source, f"{out}/{one}"]):
        sys.exit(f"{one} failed")
"""
BUILDERS = "html singlehtml epub latex text man texinfo xml gettext jaxpr-check jaxpr-lock".split()


@pytest.mark.parametrize(
    "environment",
    ["", *(pytest.param(name, marks=pytest.mark.matrix) for name in ("oldest", "newest"))],
)
def test_warnings_of_python_as_errors(tmp_path: Path, environment: str) -> None:
    """No part of Sphinx, JAX or Python that is deprecated is used, and every file is closed."""
    python = str(interpreter(environment)) if environment else sys.executable
    conf = 'extensions += ["sphinx_jaxpr.lesson"]\nversion = copyright = "1"\n'
    project = Project(tmp_path, {"docs/index.md": EVERY_PART}, conf)
    strict = {"PYTHONWARNINGS": "error", "PYTHONPATH": str(PROJECT)}
    builders = BUILDERS if not environment else ["html", "latex", "jaxpr-check", "jaxpr-lock"]
    command = [python, "-X", "dev", "-W", "error", "-c", BUILDS, str(project.docs), str(tmp_path)]
    done = subprocess.run(
        [*command, *builders],
        env={**os.environ, **strict},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_width_of_the_terminal_makes_no_difference(tmp_path: Path) -> None:
    page = (
        "# P\n\n```{jaxpr-transform} layers:dense\n:transforms: jit, hessian(argnums=b)\n"
        ":args: x=f32[2,3], w=f32[3,3], b=f32[3]\n```\n"
    )
    shown = []
    for width in ("40", "200"):
        project = Project(tmp_path / width, {"docs/index.md": page})
        done = project.build("html", "-W", env={"COLUMNS": width, "LINES": "5"})
        assert (done.code, done.traced) == (0, 3)
        shown.append(done.texts("index"))
    assert shown[0] == shown[1]
