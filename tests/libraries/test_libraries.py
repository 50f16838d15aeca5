"""Functions of five libraries, shown without a module of helpers: ``docs/examples/libraries``.

The text of each block is JAX's own text of the same program, which ``oracle.py`` makes by hand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support import PROJECT, Build, Project, require

pytestmark = pytest.mark.once

PAGES = PROJECT / "docs/examples/libraries"
LIBRARIES = ("optax", "flax", "equinox", "numpyro", "blackjax")
STRICT = ("-W", "--keep-going", "-n")
_ADDRESS = re.compile(r"0x[0-9a-fX]+")

Texts = dict[str, dict[str, str]]


@pytest.fixture(scope="module", autouse=True)
def libraries() -> None:
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    require(not missing, f"{', '.join(missing)}: pip install -e .[libraries]")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("libraries")
    shutil.copytree(PAGES, folder / "docs")
    project = Project.__new__(Project)  # these pages have a conf.py and need no code beside them
    project.folder, project.docs = folder, folder / "docs"
    return project


@pytest.fixture(scope="module")
def both(project: Project) -> tuple[Build, Texts]:
    """A build of the pages, and what JAX prints for their programs meanwhile."""
    oracle = subprocess.Popen(
        [sys.executable, str(Path(__file__).parent / "oracle.py")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0"},
    )
    build = project.build("html", *STRICT, "-j", "2")
    printed, _ = oracle.communicate(timeout=300)
    assert oracle.returncode == 0
    return build, json.loads(printed)


@pytest.fixture(scope="module")
def build(both: tuple[Build, Texts]) -> Build:
    return both[0]


def test_the_pages_build_and_every_claim_holds(build: Build) -> None:
    assert (build.code, build.warnings) == (0, []), build.stderr


@pytest.mark.parametrize("library", LIBRARIES)
def test_each_block_is_what_jax_prints(library: str, both: tuple[Build, Texts]) -> None:
    build, printed = both
    shown = {name.removeprefix("jaxpr-"): text for name, text in build.texts(library).items()}
    expected = printed[library]
    assert list(shown) == list(expected)
    for name, text in expected.items():
        assert _ADDRESS.sub("0x", shown[name]) == _ADDRESS.sub("0x", text), name


def test_there_are_five_blocks_for_each_library(both: tuple[Build, Texts]) -> None:
    bases = {page: [name for name in texts if "." not in name] for page, texts in both[1].items()}
    assert {page: len(names) for page, names in bases.items()} == dict.fromkeys(LIBRARIES, 5)


def test_a_second_build_traces_nothing_and_shows_the_same(project: Project, build: Build) -> None:
    before = {name: build.texts(name) for name in LIBRARIES}
    for page in project.docs.glob("*.md"):  # so that each is written again
        page.write_text(page.read_text("utf-8") + "\nAnother sentence.\n", "utf-8")
    again = project.build("html", *STRICT)
    assert (again.code, again.warnings, again.traced) == (0, [], 0), again.stderr
    assert {name: again.texts(name) for name in LIBRARIES} == before
