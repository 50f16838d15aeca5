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
        self.installed: set[str] = set()

    def store(self) -> Store:
        paths = Paths(str(self.docs), [str(self.docs)])
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


def needs_of(folder: Folder) -> Needs:
    """Needs of every other kind, as a worker sends them."""
    docs = folder.docs
    for name in ("data/a.csv", "pk/__init__.py", "pk/slow.py", "asked", "sized"):
        (docs / name).parent.mkdir(exist_ok=True)
        (docs / name).write_text("1")
    folder.environment["TOKEN"] = "a secret"
    folder.depends["*.csv"] = "1"
    data, parts = str(docs / "data"), [str(docs / "pk" / name) for name in ("fast", "slow")]
    return Needs(
        folders={data: Folders().digest(data)},
        paths={str(docs / "asked"): "file", str(docs / "flag"): ""},
        sizes={str(docs / "sized"): kind(str(docs / "sized"), sized=True)},
        parts=dict(zip(parts, ("", "slow.py"), strict=True)),
        modules=["pk", "helper"],
        missing=["optional_mod"],
        distributions=["*"],
        variables=["TOKEN", "UNSET"],
    )


def _install(folder: Path) -> None:
    folder.mkdir()
    (folder / "METADATA").write_text("Name: plug\nVersion: 1.0\n")


#: A change, and what is said of it.
CHANGES: dict[str, tuple[Callable[[Folder], object], str]] = {
    "a file in a folder that was listed": (
        lambda f: (f.docs / "data/b.csv").touch(),
        "what the folder data holds changed",
    ),
    "the folder is gone": (lambda f: (f.docs / "data").rename(f.docs / "gone"), "data is gone"),
    "a path comes": (lambda f: (f.docs / "flag").touch(), "flag is there now"),
    "a path goes": (lambda f: (f.docs / "asked").unlink(), "asked is gone"),
    "a file is a folder": (
        lambda f: ((f.docs / "asked").unlink(), (f.docs / "asked").mkdir()),
        "asked changed",
    ),
    "a size": (lambda f: (f.docs / "sized").write_text("22"), "sized changed"),
    "a missed submodule": (
        lambda f: (f.docs / "pk/fast.py").touch(),
        "the module 'fast' is found now: pk/fast.py",
    ),
    "a submodule that others hide": (
        lambda f: ((f.docs / "pk/slow").mkdir(), (f.docs / "pk/slow/__init__.py").touch()),
        "the module 'slow' is pk/slow/__init__.py now, it was pk/slow.py",
    ),
    "a missed module": (
        lambda f: (f.docs / "helper.py").touch(),
        "the module 'helper' is found now: helper.py",
    ),
    "a module is installed": (
        lambda f: f.installed.add("optional_mod"),
        "the module 'optional_mod' is installed now",
    ),
    "what is installed": (
        lambda f: _install(f.docs / "plug-1.0.dist-info"),
        "the distributions that are installed changed",
    ),
    "a variable": (
        lambda f: f.environment.update(TOKEN="another secret"),
        "the environment variable TOKEN changed",
    ),
    "a variable is set": (
        lambda f: f.environment.update(UNSET=""),
        "the environment variable UNSET is set now",
    ),
    "further files": (
        lambda f: f.depends.update({"*.csv": "2"}),
        "files of '*.csv' in jaxpr_depends changed",
    ),
    "a further pattern": (
        lambda f: f.depends.update({"*.txt": ""}),
        "jaxpr_depends has '*.txt', which is new",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_each_kind_of_need_is_judged_and_told(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path)
    monkeypatch.setattr(Installed, "module", lambda _, name: "1" * (name in folder.installed))
    needs = needs_of(folder)
    store = folder.store()
    store.save("a", REQUEST, RESULT, needs, {})
    store.flush()
    assert "secret" not in "".join(path.read_text() for path in folder.cache.iterdir())
    # What nothing asked for is no reason.
    (folder.docs / "unrelated.py").touch()
    (folder.docs / "pk" / "unrelated.py").touch()
    (folder.docs / "data" / "__pycache__").mkdir()
    (folder.docs / "sized").write_text("2")
    folder.environment["OTHER"] = "1"
    assert folder.fresh()
    change, told = CHANGES[what]
    change(folder)
    assert not folder.fresh()
    assert folder.store().why("a", REQUEST.digest, {}) == told


def test_what_the_build_writes_is_no_need(folder: Folder) -> None:
    out = folder.docs / "out"
    out.mkdir()
    store = folder.store()
    store.save("a", REQUEST, RESULT, Needs(folders={str(out): Folders().digest(str(out))}), {})
    (out / "page.html").touch()
    assert folder.fresh()


def test_why_there_is_no_result(folder: Folder) -> None:
    store = folder.store()
    assert store.why("b", Request("layers:other").digest, {"jax": "1"}) == ""
    assert store.why("b", REQUEST.digest, {"jax": "2"}) == "jax 1 is now 2"
    made = {"jax": "1", "environment variable XLA_FLAGS": "digest"}
    assert store.why("b", REQUEST.digest, made) == "the environment variable XLA_FLAGS is new"


def test_modules_that_an_interpreter_has(tmp_path: Path) -> None:
    paths = Paths(str(tmp_path), [])
    own = Installed(sys.executable, {}, tmp_path, paths)
    assert [own.module(name) for name in ("pytest", "json", "no_such_mod")] == ["1", "1", ""]
    other = Installed("other", {}, tmp_path, paths)
    other.__dict__["_other"] = {"folders": ["site", "none"]}
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "optional_mod.py").touch()
    assert [other.module(name) for name in ("optional_mod", "no_such_mod")] == ["1", ""]


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
