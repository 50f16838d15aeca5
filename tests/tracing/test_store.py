"""Entries of results: found again, made again when anything about them is wrong."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sphinx_jaxpr.tracing import packs, store
from sphinx_jaxpr.tracing.files import Cache
from sphinx_jaxpr.tracing.fingerprint import Installed, _Answer
from sphinx_jaxpr.tracing.folders import Folders, file_digest, kind
from sphinx_jaxpr.tracing.masking import PathMasker
from sphinx_jaxpr.tracing.needs import Present
from sphinx_jaxpr.tracing.packs import read_seen
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import Needs, Result
from sphinx_jaxpr.tracing.store import FAILED, INDEX, Seen, Store, seen
from tests.support import PROJECT
from tests.tracing.results import ERROR, RESULT, RESULT_JSON

pytestmark = pytest.mark.once

REQUEST = Request("layers:dense")
A, B, C = ("a" * 40, "b" * 40, "c" * 40)
DAY = 24 * 3600


class Folder:
    """A cache folder beside a project of one module and one data file."""

    def __init__(self, path: Path, *, new: bool = True) -> None:
        self.cache = path / "cache"
        self.docs = path / "docs"
        self.module = self.docs / "layers.py"
        if new:
            self.docs.mkdir()
            self.module.write_text("1")
        self.missing = self.docs / "missing.cfg"
        self.environment: dict[str, str] = {}
        self.depends: dict[str, str] = {}
        self.installed: set[str] = set()
        self.told: list[str] = []
        self.now = 20_000.5 * DAY

    def store(self) -> Store:
        paths = PathMasker(str(self.docs), [str(self.docs)])
        cache = Cache(self.cache, self.told.append)
        installed = Installed(sys.executable, self.environment, cache, paths)
        present = Present(paths, installed, self.depends, [str(self.docs / "out")])
        return Store(cache, present, lambda: self.now)

    def needs(self) -> Needs:
        """The module, the absence of a file, and pytest."""
        files = {str(self.module): file_digest(str(self.module)), str(self.missing): ""}
        return Needs(files, distributions=["pytest"])

    def save(self, *keys: str, result: Result = RESULT) -> None:
        """Store a result, as one build."""
        store = self.store()
        for key in keys:
            store.save(key, REQUEST, result, self.needs(), {"jax": "1"})
        store.flush()

    def fresh(self, key: str = A) -> Seen | None:
        return self.store().fresh(key)

    @property
    def packs(self) -> list[Path]:
        return sorted(self.cache.glob("*.pack"))

    @property
    def index(self) -> Path:
        return self.cache / INDEX


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.save(A)
    return folder


def test_what_was_stored_is_found_until_something_that_it_needs_changes(folder: Folder) -> None:
    assert folder.fresh() == seen(RESULT)
    assert folder.store().load(A) == RESULT
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
        "the contents of the folder data changed",
    ),
    "the folder is gone": (lambda f: (f.docs / "data").rename(f.docs / "gone"), "data is gone"),
    "a path comes": (lambda f: (f.docs / "flag").touch(), "flag now exists"),
    "a path goes": (lambda f: (f.docs / "asked").unlink(), "asked is gone"),
    "a file is a folder": (
        lambda f: ((f.docs / "asked").unlink(), (f.docs / "asked").mkdir()),
        "asked changed",
    ),
    "a size": (lambda f: (f.docs / "sized").write_text("22"), "sized changed"),
    "a missed submodule": (
        lambda f: (f.docs / "pk/fast.py").touch(),
        "the module 'fast' is now found: pk/fast.py",
    ),
    "a submodule that others hide": (
        lambda f: ((f.docs / "pk/slow").mkdir(), (f.docs / "pk/slow/__init__.py").touch()),
        "the module 'slow' is now pk/slow/__init__.py, it was pk/slow.py",
    ),
    "a missed module": (
        lambda f: (f.docs / "helper.py").touch(),
        "the module 'helper' is now found: helper.py",
    ),
    "a module is installed": (
        lambda f: f.installed.add("optional_mod"),
        "the module 'optional_mod' is now installed",
    ),
    "what is installed": (
        lambda f: _install(f.docs / "plug-1.0.dist-info"),
        "the installed distributions changed",
    ),
    "a variable": (
        lambda f: f.environment.update(TOKEN="another secret"),
        "the environment variable TOKEN changed",
    ),
    "a variable is set": (
        lambda f: f.environment.update(UNSET=""),
        "the environment variable UNSET is now set",
    ),
    "further files": (
        lambda f: f.depends.update({"*.csv": "2"}),
        "files of '*.csv' in jaxpr_depends changed",
    ),
    "a further pattern": (
        lambda f: f.depends.update({"*.txt": ""}),
        "jaxpr_depends has the new pattern '*.txt'",
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
    store.save(A, REQUEST, RESULT, needs, {})
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
    assert folder.store().why(A, REQUEST.digest, {}) == told


def test_what_the_build_writes_is_no_need(folder: Folder) -> None:
    out = folder.docs / "out"
    out.mkdir()
    store = folder.store()
    store.save(A, REQUEST, RESULT, Needs(folders={str(out): Folders().digest(str(out))}), {})
    (out / "page.html").touch()
    assert folder.fresh()


def test_why_there_is_no_result(folder: Folder) -> None:
    store = folder.store()
    assert store.why(B, Request("layers:other").digest, {"jax": "1"}) == ""
    assert store.why(B, REQUEST.digest, {"jax": "2"}) == "jax 1 is now 2"
    made = {"jax": "1", "environment variable XLA_FLAGS": "digest"}
    assert store.why(B, REQUEST.digest, made) == "the environment variable XLA_FLAGS is new"


def test_modules_that_an_interpreter_has(tmp_path: Path) -> None:
    paths = PathMasker(str(tmp_path), [])
    own = Installed(sys.executable, {}, Cache(tmp_path), paths)
    assert [own.module(name) for name in ("pytest", "json", "no_such_mod")] == ["1", "1", ""]
    other = Installed("other", {}, Cache(tmp_path), paths)
    other.__dict__["_answer"] = _Answer(folders=("site", "none"))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "optional_mod.py").touch()
    assert [other.module(name) for name in ("optional_mod", "no_such_mod")] == ["1", ""]


def test_to_look_for_a_module_imports_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hostile").mkdir()
    (tmp_path / "hostile" / "__init__.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(str(tmp_path))
    own = Installed(sys.executable, {}, Cache(tmp_path), PathMasker(str(tmp_path), []))
    assert own.module("hostile") == "1"
    assert [own.module(name) for name in ("hostile.x", "", ".", "\0", "\ud800")] == [""] * 5
    assert [own.version(name) for name in ("", "\0", "../x", "\ud800")] == [""] * 4


def test_another_version_of_a_distribution(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0")
    assert not folder.fresh()


def test_places_in_a_file_are_no_part_of_what_is_seen() -> None:
    data = json.loads(json.dumps(RESULT_JSON))
    data["facts"]["sources"][0][1] = data["source"]["line"] = 7
    moved = seen(Result.from_json(data))
    assert moved.program == seen(RESULT).program
    assert moved.source != seen(RESULT).source  # where the source is shown, its lines are
    data["source"]["text"] += "  # why"
    commented = seen(Result.from_json(data))
    assert commented.program == seen(RESULT).program
    assert commented.source not in (moved.source, seen(RESULT).source)
    data["facts"]["programs"][0]["inputs"] = ["f32[7]"]
    assert seen(Result.from_json(data)).program != seen(RESULT).program


def test_names_that_are_shown_are_plain() -> None:
    """Lists of primitives are made of what an index says: it is checked as results are."""
    kept = [*seen(RESULT)]
    assert read_seen(kept) == seen(RESULT)
    for bad in ("sin\x1b[31m", "a\0", "\u202esin", "\ud800", "a\rb", ["sin"], None):
        assert read_seen([*kept[:3], bad]) is None, bad


def test_an_error_is_a_result_where_it_was_expected(folder: Folder) -> None:
    folder.save(B, B + FAILED, result=ERROR)
    assert folder.store().fresh(B) is None
    assert folder.store().fresh(B, raises=True) == seen(ERROR)
    assert folder.store().fresh(B + FAILED, raises=True) == seen(ERROR)
    assert folder.store().load(B + FAILED) == ERROR
    folder.index.unlink()
    assert folder.store().fresh(B) is None
    assert folder.store().fresh(B, raises=True) == seen(ERROR)
    folder.save(C + FAILED)  # what is no error is no failure
    folder.index.unlink()
    assert folder.store().fresh(C + FAILED, raises=True) is None


def test_states_of_the_sources_have_results_of_their_own(folder: Folder) -> None:
    """Two branches on one store: each finds its own."""
    other = replace(RESULT, call="other")
    folder.module.write_text("2")
    folder.save(A, result=other)
    for text, result in (("1", RESULT), ("2", other), ("1", RESULT)):
        folder.module.write_text(text)
        store = folder.store()
        assert store.fresh(A) == seen(result) and store.load(A) == result
    # Of two for one state the later one counts, whatever the clock says.
    folder.now -= 400 * DAY
    folder.save(A, result=replace(RESULT, call="newest"))
    for _ in range(2):
        store = folder.store()
        assert store.fresh(A) and (store.load(A) or RESULT).call == "newest"
        folder.index.unlink(missing_ok=True)


def test_a_warm_look_reads_the_index_alone_and_writes_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.cache.iterdir()}
    monkeypatch.setattr(packs, "opened", None)
    store = folder.store()
    assert store.fresh(A) and not store.changed
    assert not store.loaded
    store.flush()
    assert before == {path: path.stat().st_mtime_ns for path in folder.cache.iterdir()}


def test_a_copy_is_as_good(folder: Folder) -> None:
    """Times of files say nothing; packs that another machine adds are read."""
    for path in folder.cache.iterdir():
        os.utime(path, (1, 1))
    other = folder.cache.with_name("other")
    shutil.copytree(folder.cache, other)
    folder.cache, mine = other, folder.cache
    folder.save(B)
    for pack in folder.packs:
        shutil.copyfile(pack, mine / pack.name)
    folder.cache = mine
    assert folder.fresh(A) and folder.fresh(B)


def test_no_file_names_the_machine(folder: Folder) -> None:
    for path in folder.cache.iterdir():
        assert str(folder.docs.parent) not in path.read_text()


# -- several builds at once ------------------------------------------------------------


def test_builds_at_once_keep_what_each_found_out(folder: Folder) -> None:
    one, two = folder.store(), folder.store()
    for writer, key in ((one, B), (two, C)):
        writer.save(key, REQUEST, RESULT, folder.needs(), {})
    one.flush()
    two.flush()
    assert not folder.store().changed  # the index has all of it
    assert all(folder.fresh(key) for key in (A, B, C))


def test_packs_are_made_one_while_others_read(folder: Folder) -> None:
    keys = [f"{n:040x}" for n in range(store.MANY + 4)]
    reader = folder.store()
    for key in keys[:4]:
        folder.save(key)
    early = folder.store()
    assert all(early.fresh(key) for key in keys[:4])
    writer = folder.store()
    writer.save(B, REQUEST, RESULT, folder.needs(), {})  # its pack is open
    for key in keys[4:]:
        folder.save(key)
    assert len(folder.packs) < store.MANY
    writer.save(C, REQUEST, RESULT, folder.needs(), {})
    assert reader.fresh(A) and reader.load(A) == RESULT
    assert [early.load(key) for key in keys[:4]] == [RESULT] * 4
    early.changed = True
    early.flush()  # its index would name packs that are gone
    writer.flush()
    again = folder.store()
    assert not again.changed and not again.damaged
    assert all(again.fresh(key) and again.load(key) for key in (A, B, C, *keys))


def test_what_cannot_be_moved_stays(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MANY", 1)

    def full(self: packs.Pack, text: bytes) -> int:
        raise OSError(errno.ENOSPC, "full")

    folder.save(B)
    with monkeypatch.context() as patched:
        full_disk = folder.store()
        patched.setattr(packs.Pack, "append", full)
        full_disk.changed = True
        full_disk.flush()
    assert all(folder.fresh(key) for key in (A, B))
    folder.save(C)
    assert len(folder.packs) == 1
    assert all(folder.fresh(key) for key in (A, B, C))


WRITER = """
import sys
from pathlib import Path
from tests.tracing.test_store import REQUEST, RESULT, Folder
folder = Folder(Path(sys.argv[1]), new=False)
store = folder.store()
print("ready", flush=True)
for n in range(int(sys.argv[3])):
    store.save(f"{n:039x}{sys.argv[2]}", REQUEST, RESULT, folder.needs(), {})
    if sys.argv[4:]:
        store.flush()
store.flush()
"""


def writer(folder: Folder, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder.docs.parent), *arguments]
    return subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)


def ready(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def test_two_processes_append_at_once(folder: Folder) -> None:
    """One of them makes one pack of many again and again."""
    folder.now = time.time()
    running = [writer(folder, "1", "300"), writer(folder, "2", "60", "flush")]
    for process in running:
        with ready(process):
            assert process.wait(60) == 0
    store = folder.store()
    for n in range(300):
        for letter in "12"[: 2 if n < 60 else 1]:
            key = f"{n:039x}{letter}"
            assert store.fresh(key) and store.load(key) == RESULT
    assert not store.damaged


def test_a_killed_writer_costs_one_record(folder: Folder) -> None:
    folder.now = time.time()
    for turn in range(3):
        with ready(writer(folder, str(turn), "100000")) as process:
            time.sleep(0.02 * turn + 0.01)
            process.kill()
        store = folder.store()
        assert not store.damaged
        found = [key for key in store.index.rows if key[-1] == str(turn)]
        assert sorted(found) == [f"{n:039x}{turn}" for n in range(len(found))]
        assert all(store.fresh(key) for key in found)
        store.flush()
    # What they left is cleared away by a build that writes.
    folder.now += 40 * DAY
    folder.save(B)
    assert len(folder.packs) == 1 and folder.fresh(B)


# -- what goes -------------------------------------------------------------------------


def test_what_nothing_asks_for_goes(folder: Folder) -> None:
    folder.save(B)
    for _ in range(3):
        folder.now += 15 * DAY
        before = folder.index.read_bytes()
        store = folder.store()
        assert store.fresh(A)
        store.flush()
        assert folder.index.read_bytes() != before  # once a day
        store = folder.store()
        assert store.fresh(A) and not store.changed
    assert folder.fresh(A) and not folder.fresh(B)
    assert sum(pack.read_bytes().count(b"\n") for pack in folder.packs) == 1
    folder.now += 31 * DAY
    folder.save(C)
    assert not folder.fresh(A) and folder.fresh(C)


def test_the_least_recently_asked_go_first(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SIZE", 1)
    folder.now += DAY
    folder.save(B)
    assert folder.fresh(A) and folder.fresh(B)  # asked for yesterday: it stays
    folder.now += DAY
    folder.save(C)
    assert not folder.fresh(A) and folder.fresh(B) and folder.fresh(C)


def test_old_states_of_one_program_are_few(folder: Folder) -> None:
    for n in range(8):
        folder.module.write_text(str(n))
        folder.save(A)
        folder.now += DAY
    kept = []
    for n in range(8):
        folder.module.write_text(str(n))
        kept += [n] if folder.fresh(A) else []
    assert kept == [4, 5, 6, 7]


def test_what_others_left_goes_with_time(folder: Folder) -> None:
    names = [f"{A}.json", f"{A}{FAILED}.json", "index.json", "verdicts.txt", "index-3.txt",
             f"3-{'0' * 16}.pack", "tracebacks/0123456789ab.log"]  # fmt: skip
    stays = ["notes.md", "tracebacks/mine", "pages-0123456789ab.txt", "lock-index.txt",
             "tracebacks/server.log", ".notes.tmp"]  # fmt: skip
    temporary = [".0123456789abcdef.tmp", ".abcdefgh.tmp", "tracebacks/.0123456789abcdef.tmp"]
    (folder.cache / "tracebacks").mkdir()
    for name in (*names, *stays, *temporary):
        (folder.cache / name).touch()
    (folder.cache / "index.json").write_text('{"entries":{}}\n')
    (folder.cache / "verdicts.txt").write_text('{"0123456789abcdef01234567":[]}\n')
    folder.now = time.time()
    folder.save(B)
    assert all((folder.cache / name).exists() for name in (*names, *stays, *temporary))
    folder.now += 2 * DAY
    folder.save(B)
    assert all((folder.cache / name).exists() for name in (*names, *stays))
    assert not any((folder.cache / name).exists() for name in temporary)
    folder.now += store.DAYS * DAY
    folder.save(B)
    assert all((folder.cache / name).exists() for name in stays)
    assert not any((folder.cache / name).exists() for name in names)


def test_files_of_others_stay(folder: Folder, tmp_path: Path) -> None:
    """A store in a folder that others use, or with a link that leads to such a folder."""
    folder.cache.mkdir(exist_ok=True)
    logs = tmp_path / "logs"
    logs.mkdir()
    (folder.cache / "tracebacks").symlink_to(logs)
    files = [folder.cache / "index.json", folder.cache / "verdicts.txt", logs / "0123456789ab.log"]
    for file in (*files, logs / ".0123456789abcdef.tmp"):
        file.write_text('{"pages": 1}')
    folder.now = time.time() + (store.DAYS + 1) * DAY
    folder.save(B)
    assert all(file.exists() for file in (*files, logs / ".0123456789abcdef.tmp"))


# -- what can't be written -------------------------------------------------------------


REASONS = ["ENOSPC", "EDQUOT", "EFBIG", "EIO", "EROFS", "EACCES"]


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("call", ["write", "open", "mkdir"])
def test_a_disk_that_takes_nothing_costs_the_storing_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, reason: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(getattr(errno, reason), reason.lower())

    plain = os.open
    folder = Folder(tmp_path)
    if call == "open":

        def new(path: str, flags: int, *mode: int) -> int:
            return plain(path, flags, *mode) if not flags & os.O_CREAT else fails() or -1

        monkeypatch.setattr(os, "open", new)
    else:
        monkeypatch.setattr(os, call, fails)
    store = folder.store()
    for key in (A, B):
        assert store.save(key, REQUEST, RESULT, folder.needs(), {}) == seen(RESULT)
        assert store.load(key) == RESULT
    store.flush()
    assert folder.told == [reason.lower()]
    assert not store.cache.write("tracebacks/x.log", "text") and len(folder.told) == 1
    monkeypatch.undo()
    assert folder.fresh(A) is None
    folder.save(A)
    assert folder.fresh(A)


def test_a_record_that_does_not_fit_leaves_the_others(folder: Folder) -> None:
    """A limit on the size of files is a full disk that a test can have."""
    code = """
import resource, signal, sys
from pathlib import Path
from tests.tracing.test_store import A, B, C, REQUEST, RESULT, Folder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
folder = Folder(Path(sys.argv[1]), new=False)
store = folder.store()
for key in (B, C, *(f"{n:040x}" for n in range(9))):
    store.save(key, REQUEST, RESULT, folder.needs(), {})
store.flush()
assert store.load(C) == RESULT
print(folder.told)
"""
    command = [sys.executable, "-c", code, str(folder.docs.parent)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout == f"['{os.strerror(errno.EFBIG)}']\n"
    assert folder.fresh(A) and folder.fresh(B)
    assert all(pack.read_bytes()[-1:] == b"\n" for pack in folder.packs)


def test_a_store_that_is_read_only_is_read(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: str, flags: int, *mode: int) -> int:
        if flags & (os.O_CREAT | os.O_RDWR | os.O_WRONLY):
            raise OSError(errno.EROFS, "read-only")
        return plain(path, flags, *mode)

    plain = os.open
    monkeypatch.setattr(os, "open", fails)
    for _ in range(2):
        folder.now += DAY  # an index that is not written costs nothing
        store = folder.store()
        assert store.fresh(A) and store.load(A) == RESULT
        store.flush()
        assert not store.cache.keep("lock-index.txt", {})
        assert folder.told == []
    store.save(B, REQUEST, RESULT, folder.needs(), {})
    assert folder.told == ["read-only"]


def test_whoever_may_not_write_reads(folder: Folder) -> None:
    """Another user, of a folder that anybody may read."""
    if os.getuid():
        pytest.skip("needs the right to become another user")
    code = f"""
import os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(PROJECT)!r})
from pathlib import Path
from tests.tracing.test_store import A, B, REQUEST, RESULT, Folder
folder = Folder(Path({str(folder.docs.parent)!r}), new=False)
os.setgroups([]); os.setgid(65534); os.setuid(65534)
folder.now = 30_000 * 24 * 3600
store = folder.store()
assert store.fresh(A) and store.load(A) == RESULT
store.flush()
assert folder.told == []
store.save(B, REQUEST, RESULT, folder.needs(), {{}})
store.flush()
assert len(folder.told) == 1 and store.load(B) == RESULT
"""
    for path in [*folder.docs.parent.rglob("*"), *list(folder.docs.parents)[:4]]:
        if path.owner() == "root" and "pytest" in str(path):
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    subprocess.run([sys.executable, "-c", code], cwd="/", check=True)


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_files_have_the_modes_that_the_umask_gives(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        folder = Folder(tmp_path)
        folder.save(A)
        folder.store().cache.write("tracebacks/x.log", "text")
    finally:
        os.umask(before)
    files = [path for path in folder.cache.rglob("*") if path.is_file()]
    assert len(files) == 3
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask, path
    for path in (folder.cache, folder.cache / "tracebacks"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o777 & ~umask, path
