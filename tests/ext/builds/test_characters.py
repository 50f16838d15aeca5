"""Hostile text of programs is inert in every format, and no folder of the machine is told."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults import markup
from tests.support import require

pytestmark = pytest.mark.once


def test_hostile_text_is_inert(tmp_path: Path) -> None:
    tried = markup.tried(tmp_path, markup.FEW, markup.few(), told=1)
    assert not list(tried.problems())
    text = (tried.folder / "out" / "text" / "index.txt").read_text("utf-8")
    assert "touch /tmp/pwn" in text
    assert "names=('~', '.', 'file://z')" in text
    assert "a\\x00\\x01\\x08\\x0b" in text
    told = (tried.folder / "out" / "text" / "told.txt").read_text("utf-8")
    assert "not in ~/x.npy y.npy . touch /tmp/pwn" in told
    assert "a\\udc80\\ud800b" in told
    # A value in a sentence, and what a claim says of it.
    assert "Its text is a\\x00\\x01" in text
    assert 'is "a\\x00\\x01' in tried.terminal


@pytest.mark.slow
def test_every_text_in_every_builder(tmp_path: Path) -> None:
    assert not list(markup.tried(tmp_path).problems())


@pytest.mark.slow
def test_two_checkouts_give_the_same(tmp_path: Path) -> None:
    found = []
    for name in ("one", "another-one"):
        tried = markup.tried(tmp_path / name, ("jaxpr-record", "html"), markup.few(), told=0)
        files = {n: d for n, kind, d in tried.files() if kind in (".json", ".html")}
        found.append({n: d for n, d in files.items() if "doctrees" not in n})
    assert found[0] == found[1]


@pytest.mark.latex
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pdflatex", "lualatex"])
def test_hostile_text_in_a_pdf(tmp_path: Path, engine: str) -> None:
    require(shutil.which(engine) is not None, engine)
    conf = f"latex_engine = {engine!r}\n"
    tried = markup.tried(tmp_path, ("latex",), told=1, conf=conf)
    assert not list(tried.problems())
    folder = tried.folder / "out" / "latex"
    source = next(path.name for path in folder.glob("*.tex") if "hyper" in path.read_text("utf-8"))
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", source]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:].decode("utf-8", "replace")
