"""Entries of results: found again, made again when anything about them is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.tracing.files import read, write_atomically, write_changed
from sphinx_jaxpr.tracing.fingerprint import Installed
from sphinx_jaxpr.tracing.folders import Folders, file_digest, kind
from sphinx_jaxpr.tracing.needs import Needs, Present
from sphinx_jaxpr.tracing.paths import Paths
from sphinx_jaxpr.tracing.request import SCHEMA, Request
from sphinx_jaxpr.tracing.store import Seen, Store, seen
from tests.support import PROJECT

pytestmark = pytest.mark.once

REQUEST = Request("layers:dense")
RESULT: dict[str, Any] = {
    "text": "{ lambda ; a:f32[]. let  in (a,) }",
    "facts": {"programs": [], "sources": [["layers.py", 3, "dense"]]},
    "source": {"text": "def dense(x): return x", "file": "layers.py", "line": 3},
}


class Folder:
    """A cache folder beside a project of one module and one data file."""

    def __init__(self, path: Path) -> None:
        self.cache = path / "cache"
        self.docs = path / "docs"
        self.docs.mkdir()
        self.module = self.docs / "layers.py"
        self.module.write_text("1")
        self.missing = self.docs / "missing.cfg"
        self.environment: dict[str, str] = {}
        self.depends: dict[str, str] = {}

    def store(self) -> Store:
        paths = Paths(str(self.docs), [])
        installed = Installed(sys.executable, self.environment, self.cache, paths)
        return Store(self.cache, Present(paths, installed, self.depends, [str(self.docs / "out")]))

    def save(self, *keys: str) -> None:
        """Store a result that needs the module and the absence of a file, and pytest."""
        store = self.store()
        files = {str(self.module): file_digest(str(self.module)), str(self.missing): ""}
        for key in keys:
            store.save(key, REQUEST, RESULT, Needs(files, distributions=["pytest"]), {"jax": "1"})
        store.flush()

    def fresh(self, key: str = "a") -> Seen | None:
        return self.store().fresh(key)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.save("a")
    return folder


def test_what_was_stored_is_found_until_something_that_it_needs_changes(folder: Folder) -> None:
    assert folder.fresh() == seen(RESULT)
    assert folder.store().load("a") == RESULT
    os.utime(folder.module, (1, 1))
    assert folder.fresh()
    folder.module.write_text("2")
    assert not folder.fresh()
    folder.module.write_text("1")
    folder.missing.write_text("now there")
    assert not folder.fresh()
    folder.missing.unlink()
    assert folder.fresh()
    folder.module.unlink()
    assert not folder.fresh()


def test_another_version_of_a_distribution(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0")
    assert not folder.fresh()


def test_places_in_a_file_are_no_part_of_what_is_seen() -> None:
    moved = json.loads(json.dumps(RESULT))
    moved["facts"]["sources"][0][1] = moved["source"]["line"] = 7
    assert seen(moved).program == seen(RESULT).program
    assert seen(moved).source != seen(RESULT).source  # where the source is shown, its lines are
    moved["source"]["text"] += "  # why"
    assert seen(moved).program == seen(RESULT).program
    assert seen(moved).source != seen(RESULT).source
    moved["facts"]["programs"] = [{"inputs": ["f32[]"]}]
    assert seen(moved).program != seen(RESULT).program


def change(**parts: Any) -> Callable[[str], str]:
    return lambda text: json.dumps({**json.loads(text), **parts})


DAMAGES: dict[str, Callable[[str], str]] = {
    "older schema": change(schema=SCHEMA - 1),
    "truncated": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "NaN": lambda text: text.replace('"line":3', '"line":NaN'),
    "wrong digest": lambda text: text.replace("lambda ;", "lambda  ;"),
    "no result": change(result=None),
    "needs of another kind": change(needs=[1]),
    "needs without hashes": change(needs={"files": {"layers.py": 1}, "distributions": {}}),
    "a list": lambda text: "[1, 2]",
    "a number": lambda text: "3",
    "deep": lambda text: "[" * 100_000,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_a_miss(folder: Folder, damage: str) -> None:
    path = folder.cache / "a.json"
    path.write_text(DAMAGES[damage](path.read_text()))
    store = folder.store()
    assert store.fresh("a") is None
    assert store.load("a") is None
    assert set(store.damaged) == {"a.json"}
    folder.save("a")
    assert folder.fresh()


def test_bytes_that_are_no_text(folder: Folder) -> None:
    (folder.cache / "a.json").write_bytes(b"\xff\xfe\x00")
    (folder.cache / "index.json").write_bytes(b"\xff")
    assert folder.fresh() is None


def rows(text: str, **parts: Any) -> str:
    index = json.loads(text)
    for row in index["entries"].values():
        row.update(parts)
    return json.dumps(index)


INDEX_DAMAGES: dict[str, Callable[[str], str]] = {
    **{name: DAMAGES[name] for name in ("truncated", "empty", "a list", "a number", "deep")},
    "older schema": change(schema=SCHEMA - 1),
    "no needs": change(needs={}),
    "needs of another kind": change(needs=3),
    "entries of another kind": change(entries=[1]),
    "NaN": lambda text: text.replace('"signature":[', '"signature":[NaN,'),
    "seen of another kind": lambda text: rows(text, seen=3),
    "seen too short": lambda text: rows(text, seen=["x"]),
    "another signature": lambda text: rows(text, signature=[1, 2], seen=["x", "y"]),
    "rows of another kind": lambda text: json.dumps(
        {**json.loads(text), "entries": {"a": None, "b": 4}}
    ),
}


@pytest.mark.parametrize("damage", INDEX_DAMAGES)
def test_a_damaged_index_costs_nothing(folder: Folder, damage: str) -> None:
    path = folder.cache / "index.json"
    path.write_text(INDEX_DAMAGES[damage](path.read_text()))
    store = folder.store()
    assert store.fresh("a") == seen(RESULT)
    store.flush()
    assert read(path)["entries"].keys() == {"a"}


def test_an_index_that_is_gone_or_names_what_is_gone(folder: Folder) -> None:
    folder.save("b")
    (folder.cache / "a.json").unlink()
    store = folder.store()
    assert store.fresh("a") is None and store.fresh("b")
    folder.save("c")
    assert read(folder.cache / "index.json")["entries"].keys() == {"b", "c"}
    (folder.cache / "index.json").unlink()
    assert folder.fresh("b") and folder.fresh("c")


def test_a_warm_look_reads_the_index_alone_and_writes_nothing(folder: Folder) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.cache.iterdir()}
    store = folder.store()
    assert store.fresh("a") and not store.changed
    assert not store.loaded
    store.flush()
    assert before == {path: path.stat().st_mtime_ns for path in folder.cache.iterdir()}


def test_no_file_names_the_machine(folder: Folder) -> None:
    for path in folder.cache.iterdir():
        assert str(folder.docs.parent) not in path.read_text()


WRITERS = """
import sys
from pathlib import Path
from sphinx_jaxpr.tracing.files import write_atomically
for _ in range(300):
    write_atomically(Path(sys.argv[1]), '"' + sys.argv[2] * 40_000 + '"')
"""


def test_readers_see_whole_files_while_two_processes_write(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_atomically(path, '"a"')
    command = [sys.executable, "-c", WRITERS, str(path)]
    writers = [subprocess.Popen([*command, letter], cwd=PROJECT) for letter in "ab"]
    while any(writer.poll() is None for writer in writers):
        assert read(path) is not None
    assert [writer.returncode for writer in writers] == [0, 0]
    assert os.listdir(tmp_path) == ["x.json"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_atomically(path, "1")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\ud800")
    assert path.read_text() == "1"
    assert os.listdir(tmp_path) == ["x.json"]


def test_equal_text_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    write_changed(path, "1")
    os.utime(path, (1, 1))
    write_changed(path, "1")
    assert path.stat().st_mtime == 1
    write_changed(path, "2")
    assert path.read_text() == "2"
