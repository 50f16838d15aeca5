"""Files that are whole or not there, whatever stands in their place."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.tracing import files
from sphinx_jaxpr.tracing.files import (
    Cache,
    canonical,
    loads,
    read,
    signed,
    unsigned,
    write_atomically,
    write_changed,
)
from tests.support import PROJECT

pytestmark = pytest.mark.once


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


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    write_atomically(path, "1")

    def full(handle: int, data: memoryview) -> int:
        if len(data) < 3:
            raise OSError(errno.ENOSPC, "full")
        return plain(handle, data[:2])

    plain = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="full"):
            write_atomically(path, "1234")
    assert path.read_text() == "1"
    assert os.listdir(tmp_path) == ["x.json"]
    write_atomically(path, "a\ud800")  # what no file can hold is spelled out
    assert path.read_text() == "a\\ud800"


def test_equal_text_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    write_changed(path, "1")
    os.utime(path, (1, 1))
    write_changed(path, "1")
    assert path.stat().st_mtime == 1
    write_changed(path, "2")
    assert path.read_text() == "2"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_modes_are_those_of_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "x" / "y.json"
    before = os.umask(umask)
    try:
        write_atomically(path, "1")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_json_is_what_it_seems() -> None:
    assert loads('{"a": [1.5, "\\ud835\\udc99", null]}') == {"a": [1.5, "\U0001d499", None]}
    refused: list[str | bytes] = [
        "NaN", "-Infinity", "1e999", '{"a": 1, "a": 2}', "[" * 100_000, "9" * 5000,
        '"\\ud800"', '["\\uDC00"]', b'"\xff"', b"", '{"a": 1}}', "\ufeff1",
    ]  # fmt: skip
    for text in refused:
        with pytest.raises(ValueError):
            loads(text)
    assert loads('"\\ud800"', halves=True) == "\ud800"


def test_a_line_shows_every_change_of_it() -> None:
    line = signed(canonical({"a": 1}))
    assert unsigned(line) == b'{"a":1}'
    for place in range(len(line)):
        assert unsigned(line[:place]) is None
        for bit in range(8):
            other = bytearray(line)
            other[place] ^= 1 << bit
            assert unsigned(bytes(other)) is None


def put(path: Path, what: str) -> None:
    """Put something in the place of a file."""
    if path.exists() or path.is_symlink():
        path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "full folder":
        (path / "x").mkdir(parents=True)
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "socket":
        before = Path.cwd()
        os.chdir(path.parent)  # the path of a socket is a short one
        try:
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(path.name)
        finally:
            os.chdir(before)
    else:
        path.symlink_to({"loop": path.name, "broken": "none", "device": "/dev/zero"}[what])


def same(data: object) -> object:
    """Reads any data."""
    return data


PLACED = ["folder", "full folder", "pipe", "socket", "loop", "broken", "device"]


@pytest.mark.parametrize("what", PLACED)
def test_what_is_no_file_is_not_there(
    tmp_path: Path, what: str, recwarn: pytest.WarningsRecorder
) -> None:
    told: list[str] = []
    cache = Cache(tmp_path, told.append)
    put(tmp_path / "x.txt", what)
    assert read(tmp_path / "x.txt") is None
    assert cache.load("x.txt", same) is None and cache.stamp("x.txt") == b""
    assert cache.keep("x.txt", 1) == ("folder" not in what)
    assert cache.load("x.txt", same) == (None if "folder" in what else 1)
    assert told == [] and len(os.listdir(tmp_path)) == 1
    # And the folder itself.
    put(tmp_path / "inside", what)
    below = Cache(tmp_path / "inside" / "x", told.append)
    assert below.load("x.txt", same) is None
    assert below.keep("x.txt", 1) == ("folder" in what)


def test_links_to_files_are_followed_and_never_written_through(tmp_path: Path) -> None:
    write_atomically(tmp_path / "there", "1")
    (tmp_path / "link").symlink_to("there")
    assert read(tmp_path / "link") == 1
    write_changed(tmp_path / "link", "2")
    assert read(tmp_path / "link") == 2 and read(tmp_path / "there") == 1


def test_what_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_atomically(tmp_path / "x", '"' + "a" * 98 + '"')
    monkeypatch.setattr(files, "MOST", 100)
    assert read(tmp_path / "x")
    monkeypatch.setattr(files, "MOST", 99)
    assert read(tmp_path / "x") is None


@pytest.mark.parametrize("name", ["\0", "\ud800", "a" * 5000])
def test_names_that_no_file_can_have(tmp_path: Path, name: str) -> None:
    cache = Cache(tmp_path / name)
    assert cache.load("x", same) is None and read(tmp_path / name) is None
    assert cache.keep("x", 1) is False


def test_what_would_wait_has_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As ``/proc/kmsg``, a regular file; where it does not wait, Python reads ``None``."""
    ours, other = os.pipe()
    os.set_blocking(ours, False)
    monkeypatch.setattr(files, "opened", lambda path: os.fdopen(os.dup(ours), "rb"))
    assert read(tmp_path / "one") is None
    cache = Cache(tmp_path)
    assert (cache.load("one", same), cache.stamp("one")) == (None, b"")
    os.close(ours)
    os.close(other)


def test_a_cache_gives_what_its_reader_takes_of_its_schema(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.keep("x", {"a": 1}, [1, 4])

    def number(data: Any) -> int | None:
        return data["a"] if type(data.get("a")) is int else None

    assert cache.load("x", number, [1, 4]) == 1
    assert cache.load("x", same, [1, 4]) == {"a": 1}
    assert cache.load("x", number, [1, 5]) is None
    assert cache.load("missing", number, [1, 4]) is None
    assert cache.load("x", same) == {"a": 1, "schema": [1, 4]}
    cache.keep("x", {"a": "text"}, [1, 4])
    assert cache.load("x", number, [1, 4]) is None
    cache.keep("x", [1])
    assert cache.load("x", number, [1, 4]) is None  # no object, so no schema
