"""Modules as an import would find them, without importing; and files that patterns lead to."""

from __future__ import annotations

import hashlib
import os
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path

import pytest

from sphinx_jaxpr.tracing import folders
from sphinx_jaxpr.tracing.folders import Folders, beneath, digests, file_digest, kind

pytestmark = pytest.mark.once

TAGGED = EXTENSION_SUFFIXES[0]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ((), ""),
        (("m.txt", "other.py", "m.b.py"), ""),
        (("m.py", "m.pyc"), "m.py"),
        (("m.pyc",), "m.pyc"),
        (("m.py", f"m{TAGGED}"), f"m{TAGGED}"),
        (("m.so", "m.py"), "m.so"),
        (("m/x.py", "m.py"), "m.py"),
        (("m/__init__.py", "m.py", "m.so"), "m/__init__.py"),
        (("m/x.py",), "m/"),
        (("m.py/x",), ""),
    ],
)
def test_a_module_is_found_as_python_finds_it(
    tmp_path: Path, files: tuple[str, ...], found: str
) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert Folders().module(str(tmp_path), "m") == found
    spec = PathFinder.find_spec("m", [str(tmp_path)])
    if found.endswith("/"):
        assert spec is not None and spec.origin is None
    else:
        assert (spec.origin if spec else "") == (str(tmp_path / found) if found else "")


def test_the_search_ends_where_a_module_is(tmp_path: Path) -> None:
    folders = [str(tmp_path / name) for name in "abcd"]
    for name in ("b/m/x.txt", "c/m.py", "d/m.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    looked = Folders().search("m", folders)
    assert looked == dict(zip(folders, ("", "m/", "m.py"), strict=False))


def test_places_of_a_dotted_name(tmp_path: Path) -> None:
    files = (
        "a/m.py",
        "b/m.py",
        "a/ns/x.py",
        "b/ns/x.py",
        "a/p/__init__.py",
        "a/p/q.py",
        "b/p/q.py",
    )
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    roots = [str(tmp_path / "a"), str(tmp_path / "b")]

    def places(name: str) -> list[str]:
        found = Folders().places(name, roots)
        return [os.path.relpath(path, tmp_path).replace(os.sep, "/") for path in found]

    assert places("m") == places("m.Model.loss") == ["a/m.py", "b/m.py"]
    assert places("ns.x") == places("ns.x.f") == ["a/ns/x.py", "b/ns/x.py"]
    assert places("p.q") == ["a/p/q.py"]  # a namespace ends where a package is
    assert places("ns") == places("none") == places("none.m") == []


def test_modules_of_a_name_beneath_the_roots(tmp_path: Path) -> None:
    names = ("a/b/m.py", "m/__init__.py", "c-d/m.py", ".venv/m.py", "a/m.txt", "a/n.py")
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert beneath("m", [str(tmp_path)]) == ["m", "a.b.m"]
    assert beneath("x", [str(tmp_path), str(tmp_path / "none")]) == []


def test_kinds_and_names(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("abc")
    (tmp_path / "broken").symlink_to(tmp_path / "none")
    paths = [str(tmp_path / name) for name in ("", "file", "broken", "none", "file/x")]
    assert [kind(path) for path in paths][:2] == ["folder", "file"]
    assert [kind(path) for path in paths[3:]] == ["", ""]
    (tmp_path / "lead").symlink_to(tmp_path / "file")
    links = [kind(paths[2]), kind(str(tmp_path / "lead"))]
    assert links[0].startswith("link ") and links[1].endswith(" file")
    (tmp_path / "lead").unlink()
    (tmp_path / "lead").symlink_to("file")
    assert kind(str(tmp_path / "lead")) != links[1]
    (tmp_path / "lead").chmod(0o755)
    assert kind(paths[1]) == "executable file"
    assert kind(paths[1], sized=True) == "executable file of 3 bytes"
    before = Folders().digest(str(tmp_path))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "file").write_text("other")
    assert Folders().digest(str(tmp_path)) == before != Folders().digest(paths[3]) == ""
    (tmp_path / "new").touch()
    after = Folders().digest(str(tmp_path))
    (tmp_path / "new").unlink()
    (tmp_path / "new").mkdir()
    assert len({before, after, Folders().digest(str(tmp_path))}) == 3


def test_patterns_of_further_files(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    for name in ("data/a.csv", "data/deep/b.csv", "_build/c.csv", "../src/x.so", ".hidden/d.csv"):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text("1")
    patterns = ["data/*.csv", "**/*.csv", "data", "../src/*.so", "none/*"]

    def found() -> list[str]:
        digest, empty = digests(patterns, str(docs), [str(docs / "_build")])
        assert list(digest) == patterns and empty == ["none/*"]
        return list(digest.values())

    def changed() -> list[str]:
        nonlocal before
        after = found()
        pairs = zip(patterns, before, after, strict=True)
        differ = [pattern for pattern, one, two in pairs if one != two]
        before = after
        return differ

    before = found()
    assert changed() == []
    (docs / "data/a.csv").write_text("2")
    assert changed() == ["data/*.csv", "**/*.csv", "data"]
    (docs / "data/deep/new.csv").write_text("")
    assert changed() == ["**/*.csv", "data"]
    (docs / "../src/x.so").rename(docs / "../src/y.so")
    assert changed() == ["../src/*.so"]
    (docs / ".hidden/d.csv").unlink()
    assert changed() == ["**/*.csv"]
    (docs / "_build/new.csv").touch()
    (docs / "data/__pycache__").mkdir()
    (docs / "data/__pycache__/x.csv").touch()
    assert changed() == []


def test_a_digest_is_of_what_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not of pipes, nor of files of the kernel, which may have no end or wait for more."""
    file = tmp_path / "file"
    file.write_bytes(b"a" * 3_000_000)
    assert file_digest(str(file)) == hashlib.sha256(b"a" * 3_000_000).hexdigest()
    empty = hashlib.sha256().hexdigest()
    for path in filter(os.path.isfile, ("/proc/self/pagemap", "/proc/self/status")):
        assert file_digest(path) in (empty, "")
    os.mkfifo(tmp_path / "pipe")
    assert not any(map(file_digest, (f"{tmp_path}/pipe", str(tmp_path), "a\0", "/dev/zero", "")))
    monkeypatch.setattr(folders, "MOST", 10)  # of a very large one the beginning is read
    first = file_digest(str(file))
    state = file.stat()
    with file.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        stream.write(b"b")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert file_digest(str(file)) == first
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert file_digest(str(file)) != first
