"""The built wheel, installed elsewhere, serves a project that knows nothing of this one."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.support import PROJECT, require

pytestmark = pytest.mark.slow

OFFLINE = re.compile(
    r"No matching distribution|Could not find a version|Connection|Temporary failure"
    r"|Network is unreachable|Name or service not known"
)

STENCILS = '''
"""A package of its own."""

import jax.numpy as jnp


def laplace(u, *, step):
    """The second difference along the last axis.

    .. jaxpr-transform:: laplace
       :args: u=f32[16]
       :static: step=1
       :name: laplace
       :caption: In a docstring.
    """
    return jnp.roll(u, step) - 2 * u + jnp.roll(u, -step)


class Heat:
    """Heat on a line.

    .. jaxpr-transform:: .advance
       :args: u=f32[16]
       :static: self=HEAT
    """

    def __init__(self, rate):
        self.rate = rate

    def advance(self, u):
        """One step in time.

        .. jaxpr-transform:: .advance
           :args: u=f32[16]
           :static: self=HEAT
           :transforms: jvp
        """
        return u + self.rate * laplace(u, step=1)


HEAT = Heat(0.1)
'''

CONF = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
project = "Stencils"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_jaxpr"]
autodoc_mock_imports = ["jax"]
"""

INDEX = """
# Stencils

```{jaxpr-transform} stencils:laplace
:args: u=f32[16]
:static: step=1
:transforms: grad, vmap
:name: second_difference
```

```jaxpr
{ lambda ; a:f32[8]. let b:f32[8] = sin a in (b,) }
```

```{eval-rst}
.. automodule:: stencils
   :members:
```
"""

PROBE = """
import sys
from importlib.metadata import entry_points
from pygments.lexers import get_lexer_by_name
import sphinx_jaxpr
(entry,) = entry_points(group="pygments.lexers", name="jaxpr")
assert entry.load() is type(get_lexer_by_name("jaxpr"))
assert "jax" not in sys.modules and "sphinx" not in sys.modules
print(sphinx_jaxpr.__file__)
"""


def run(command: list[str], folder: Path, what: str = "") -> str:
    """Standard output of a command; skips where ``what`` can't be had without a network."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if what and done.returncode:
        require(not OFFLINE.search(done.stdout + done.stderr), what)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as ``python -m build`` makes it."""
    require(importlib.util.find_spec("build") is not None, "the package build")
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(PROJECT)]
    run(command, out, "a package index with hatchling")
    (found,) = out.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has the wheel and what it asks for, and nothing else."""
    folder = tmp_path_factory.mktemp("venv")
    run([sys.executable, "-m", "venv", str(folder)], folder)
    found = str(folder / "bin" / "python")
    pip = [found, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, f"{wheel}[jax]", "myst-parser"], folder, "a package index with JAX and Sphinx")
    return found


def test_it_holds_what_the_package_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = PROJECT / "sphinx_jaxpr"
    files = {
        path.relative_to(PROJECT).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"sphinx_jaxpr/static/jaxpr.css", "sphinx_jaxpr/py.typed"} <= files
    assert files <= names
    foreign = {name.partition("/")[0] for name in names - files}
    assert all(name.endswith(".dist-info") for name in foreign)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_lexer_is_found_by_name(python: str, tmp_path: Path) -> None:
    shown = run([python, "-c", PROBE], tmp_path).strip()
    assert not Path(shown).is_relative_to(PROJECT)


def test_another_project_uses_it(python: str, tmp_path: Path) -> None:
    for name, text in {
        "stencils/__init__.py": STENCILS,
        "docs/conf.py": CONF,
        "docs/index.md": INDEX,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), "utf-8")
    out = tmp_path / "out"
    run([python, "-m", "sphinx", "-W", "-n", "-j", "auto", "docs", str(out)], tmp_path)
    page = BeautifulSoup((out / "index.html").read_text("utf-8"), "html.parser")
    figures = {str(figure["id"]): figure for figure in page.select("figure.jaxpr")}
    assert list(figures) == [
        "jaxpr-second_difference",
        "jaxpr-second_difference.grad",
        "jaxpr-second_difference.vmap",
        "jaxpr-advance",
        "jaxpr-advance-2",
        "jaxpr-advance.jvp",
        "jaxpr-laplace",
    ]
    for identity, figure in figures.items():
        assert figure["class"] == ["jaxpr"], identity
        assert figure.select(".jaxpr-eqn[data-primitive]"), identity
    assert "In a docstring." in figures["jaxpr-laplace"].get_text()
    assert page.select(".highlight-jaxpr .nf")
    assert (out / "_static" / "jaxpr.css").exists()
    assert (out / "_static" / "jaxpr.js").exists()
