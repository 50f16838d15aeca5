"""Files of the lock: their names, their text, and what is no such file."""

from __future__ import annotations

import copy
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sphinx_jaxpr.program.drift.compare import compare
from sphinx_jaxpr.program.drift.levels import Level
from sphinx_jaxpr.tracing import lock
from sphinx_jaxpr.tracing.files import Cache, canonical, file_name, signed
from sphinx_jaxpr.tracing.folders import file_digest
from sphinx_jaxpr.tracing.grammar import arguments, static, transforms
from sphinx_jaxpr.tracing.jobs import SCHEMA
from sphinx_jaxpr.tracing.lock import LockFile, LockFolder
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import Result, describe, remarks
from sphinx_jaxpr.tracing.store import seen
from tests.program.recordings import recording

pytestmark = pytest.mark.once

REQUEST = Request("layers:dense", arguments("x=f32[8], w=f32[8,8]"))
RESULT = Result.from_json({
    "jax": "0.10.2",
    "source": {"text": 'def dense(x):\n    return "é"', "file": "layers.py", "line": 3},
    "call": "dense",
    "args": [["x", "f32[8]"]],
    "inputs": [["x", "f32[8]"]],
    "text": "{ lambda ; a:f32[8]. let\n    b:f32[8] = sin a\n  in (b,) }",
    "effects": [],
    "constants": [["f32[3]", 12]],
    "facts": {
        "programs": [
            {
                "inputs": ["f32[8]"],
                "constants": [],
                "outputs": ["f32[8]"],
                "effects": [],
                "equations": [["sin", "", 0, ["f32[8]"], {"accuracy": None}, {}]],
                "unused": [],
            }
        ],
        "sources": [["layers.py", 4, "dense"]],
    },
})  # fmt: skip
ERROR = Result.from_json({
    "jax": "0.10.2",
    "error": {
        "kind": "trace",
        "type": "TypeError",
        "mro": ["TypeError", "Exception"],
        "message": "no",
        "frames": [{"file": "a.py", "line": 3, "function": "f", "code": "raise"}],
    },
})  # fmt: skip
VERSIONS = {"jaxlib": "0.10.2", "python": "3.11.7"}


# -- names ---------------------------------------------------------------------------


def test_plain_names_are_the_files() -> None:
    assert file_name("dense") == "dense.json"
    assert file_name("dense.grad") == "dense.grad.json"
    assert file_name("dense.grad-2", "guide/intro_1.0") == "guide/intro_1.0/dense.grad-2.json"


ODD = [
    "Dense", "DENSE", "con", "aux.grad", "nul", "lpt1", "é", "a b", "a:b", "a\\b", "..", ".", ".a",
    "a.", "-a", "a\nb", "x" * 300, "a.json", "a~b", "ä", "%2e", "*", "", "com0.x", "a\0b",
]  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_safe_on_every_system(name: str) -> None:
    for file in (
        file_name("dense", f"guide/{name}" if name else "guide/"),
        file_name(name),
    ):
        for part in file.removesuffix(".json").split("/"):
            assert part.isascii() and part.isprintable() and 0 < len(part) < 100
            assert not set(part) & set('<>:"|?*\\ ')
            assert part[0] not in ".-" and part[-1] != "."
            assert part.partition(".")[0].lower() not in ("con", "aux", "nul", "lpt1", "com0")
            assert not part.endswith(".json")


def test_no_two_names_share_a_file_even_where_case_means_nothing() -> None:
    names = [*ODD, "dense", "a", "ab", "json", "a.b"]
    files = [file_name(name).lower() for name in names]
    files += [file_name("dense", name).lower() for name in names if name]
    assert len(files) == len(set(files))


# -- requests ------------------------------------------------------------------------


def requests() -> list[Request]:
    found = [REQUEST, Request("layers:dense"), Request("layers:other", REQUEST.args)]
    for text in ("n=3", "n=3.0", "n=True", "n='3'", "n=None", "n=(3,)", "n=[3]", "n={'a': 3}",
                 "n=a.b", "n='a.b'", "n=1j", "1=3"):  # fmt: skip
        found.append(Request("layers:dense", REQUEST.args, static(text)))
    for text in ("grad", "grad(argnums=w)", "grad(argnums=1)", "grad | vmap", "vmap | grad",
                 "vmap(in_axes={x: 0, w: None})", "shard_map(in_specs={x: ('data', None)})",
                 "remat(policy=save_only_these_names('a'))"):  # fmt: skip
        found.append(Request("layers:dense", REQUEST.args, (), transforms(text)[0].steps))
    found.append(Request("layers:dense", REQUEST.args, jit=True))
    found.append(Request("layers:dense", REQUEST.args, x64=True))
    found.append(Request("layers:dense", REQUEST.args, expects_error=True))
    found.append(Request("layers:dense", REQUEST.args, third_party=(("a", "b:c"),)))
    return found


def test_requests_that_differ_read_differently() -> None:
    texts = [json.dumps(lock.readable(request)) for request in requests()]
    assert len(set(texts)) == len(texts)
    assert "shard_map(in_specs={'x': ('data', None)})" in " ".join(texts)
    assert lock.readable(REQUEST) == {"target": "layers:dense", "args": "x=f32[8], w=f32[8,8]"}


def test_what_differs_is_said() -> None:
    here = lock.readable(Request("a:f", arguments("x=f32[8]"), jit=True))
    there = lock.readable(Request("a:f", arguments("x=f32[9]")))
    assert (
        lock.differing(here, there)
        == "args x=f32[8] here, x=f32[9] there; jit True here, none there"
    )
    assert lock.differing(here, here) == ""


# -- texts ---------------------------------------------------------------------------


@pytest.mark.parametrize("result", [RESULT, ERROR])
def test_a_result_comes_back_as_it_was(tmp_path: Path, result: Result) -> None:
    data = LockFile.of("dense", REQUEST, result, VERSIONS)
    path = tmp_path / "dense.json"
    path.write_bytes(data.text().encode())
    loaded = lock.load(path)
    assert loaded is not None and loaded == data and loaded.result == result
    assert loaded.text() == data.text()
    assert loaded.is_unchanged(data) and loaded.differing_parts(data) == []


def test_a_file_is_made_for_people() -> None:
    lines = LockFile.of("dense", REQUEST, RESULT, VERSIONS).text().split("\n")
    assert lines[:4] == ["{", '  "schema": 1,', '  "block": "dense",',
        '  "versions": {"jax": "0.10.2", "jaxlib": "0.10.2", "python": "3.11.7"},']  # fmt: skip
    assert '    "    b:f32[8] = sin a",' in lines
    assert any('return \\"é\\"' in line for line in lines)
    assert any('["sin", "", 0, ["f32[8]"], {"accuracy": null}, {}]' in line for line in lines)
    assert lines[-1] == ""


def test_half_a_character_can_be_written(tmp_path: Path) -> None:
    assert RESULT.program is not None
    odd = replace(RESULT, program=replace(RESULT.program, text="{ lambda ; \ud800 }"))
    (tmp_path / "a.json").write_text(LockFile.of("a", REQUEST, odd, {}).text(), "utf-8")
    assert lock.load(tmp_path / "a.json") is None  # results have it spelled out


def test_only_a_change_that_matters_is_one() -> None:
    old = LockFile.of("dense", REQUEST, RESULT, VERSIONS)
    assert old.is_unchanged(LockFile.of("dense", REQUEST, RESULT, {**VERSIONS, "python": "3.12.0"}))
    newer = LockFile.of("dense", REQUEST, replace(RESULT, jax="0.12.0"), VERSIONS)
    assert not old.is_unchanged(newer) and old.differing_parts(newer) == ["versions"]
    other = LockFile.of("dense", REQUEST, replace(RESULT, call="f"), VERSIONS)
    assert not old.is_unchanged(other) and old.differing_parts(other) == ["call"]


def damages() -> list[Any]:
    good = LockFile.of("dense", REQUEST, RESULT, VERSIONS).to_json()
    found: list[Any] = [[], 3, None, {}, "text", {**good, "schema": 2}, {**good, "block": 3}]
    for key in ("block", "versions", "request", "text", "call", "effects", "constants", "facts"):
        found.append({k: v for k, v in good.items() if k != key})
    for key, value in (
        ("text", "a"), ("text", [1]), ("source", {}), ("args", [[1]]), ("facts", {}),
        ("constants", [["f32", "12"]]), ("versions", {}), ("versions", {"jax": 1}),
    ):  # fmt: skip
        found.append({**good, key: value})
    for place, value in (
        (0, 3),
        (1, None),
        (2, 1),
        (2, "0"),
        (3, "f32"),
        (4, []),
        (5, {"jaxpr": [1]}),
    ):
        data = copy.deepcopy(good)
        data["facts"]["programs"][0]["equations"][0][place] = value
        found.append(data)
    bad = LockFile.of("dense", REQUEST, ERROR, VERSIONS).to_json()
    for key in ("kind", "type", "mro", "message", "frames"):
        found.append({**bad, "error": {k: v for k, v in bad["error"].items() if k != key}})
    found.append({**bad, "error": {**bad["error"], "frames": [{"file": "a"}]}})
    return found


@pytest.mark.parametrize("data", damages())
def test_what_is_no_whole_file_is_refused(tmp_path: Path, data: Any) -> None:
    (tmp_path / "a.json").write_text(json.dumps(data), "utf-8")
    assert lock.load(tmp_path / "a.json") is None


def test_a_conflict_that_git_left_is_refused(tmp_path: Path) -> None:
    text = LockFile.of("dense", REQUEST, RESULT, VERSIONS).text()
    for bad in (text[: len(text) // 2], "<<<<<<< HEAD\n" + text, "", "[" * 100_000):
        (tmp_path / "a.json").write_text(bad, "utf-8")
        assert lock.load(tmp_path / "a.json") is None
    assert lock.load(tmp_path / "missing.json") is None


# -- the folder ----------------------------------------------------------------------


def folder(path: Path) -> LockFolder:
    return LockFolder(path / "_jaxprs", "_jaxprs", Cache(path))


def test_results_from_the_folder(tmp_path: Path) -> None:
    file = tmp_path / "_jaxprs" / "dense.json"
    assert "there is no lock" in folder(tmp_path).look("dense.json", REQUEST, "a")[1]
    file.parent.mkdir()
    assert "_jaxprs/dense.json" in folder(tmp_path).look("dense.json", REQUEST, "a")[1]
    file.write_text(LockFile.of("dense", REQUEST, RESULT, VERSIONS).text(), "utf-8")
    first = folder(tmp_path)
    assert first.look("dense.json", REQUEST, "a") == (seen(RESULT), "")
    first.flush()
    # Now the file need not be understood to know what it shows, whenever it was written.
    os.utime(file, (1, 1))
    again = folder(tmp_path)
    assert again.look("dense.json", REQUEST, "a") == (seen(RESULT), "")
    assert not again.loaded
    assert folder(tmp_path).look("dense.json", REQUEST, "b") == (seen(RESULT), "")
    # Until its text is another one, of one length and time.
    state = file.stat()
    file.write_bytes(b"x" * state.st_size)
    os.utime(file, (1, 1))
    assert "not a complete lock file" in folder(tmp_path).look("dense.json", REQUEST, "a")[1]


def test_another_request_is_told(tmp_path: Path) -> None:
    file = tmp_path / "_jaxprs" / "dense.json"
    file.parent.mkdir()
    file.write_text(LockFile.of("dense", REQUEST, RESULT, VERSIONS).text(), "utf-8")
    other = Request("layers:dense", arguments("x=f32[9], w=f32[8,8]"))
    problem = folder(tmp_path).look("dense.json", other, "b")[1]
    assert "args x=f32[9], w=f32[8,8] here, x=f32[8], w=f32[8,8] there" in problem


FORGED: list[Any] = [
    *(bytes(text, "utf-8") for text in ("", "[]", '{"schema": 1, "files": {}}', "3" * 70)),
    *([], {"schema": 9}, {"schema": [1, SCHEMA], "files": []}, {"files": {}}),
    *(
        {"schema": [1, SCHEMA], "files": {"dense.json": row}}
        for row in (3, [], [1], {"signature": [1]}, ["DIGEST", "a", 3], ["DIGEST", "a", ["x"] * 4])
    ),
]


@pytest.mark.parametrize("index", FORGED)
def test_a_damaged_index_costs_time_alone(tmp_path: Path, index: Any) -> None:
    file = tmp_path / "_jaxprs" / "dense.json"
    file.parent.mkdir()
    file.write_text(LockFile.of("dense", REQUEST, RESULT, VERSIONS).text(), "utf-8")
    if not isinstance(index, bytes):
        known = canonical(index).replace("DIGEST", file_digest(str(file)))
        index = signed(known)
    (tmp_path / "lock-index.txt").write_bytes(index)
    assert folder(tmp_path).look("dense.json", REQUEST, "a") == (seen(RESULT), "")


# -- hostile files -------------------------------------------------------------------

HOSTILE: list[Any] = [
    None, True, 0, -1, 1.5, 10**400, "", "\ud800\u202e\0", "javascript:alert(1)", [], [[]], {},
    {"a": [10**400]}, [None], [3, 3], "9" * 5_000, 2**63,
]  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Each part of JSON data, as the keys that lead to it."""
    if not isinstance(data, (dict, list)):
        return [path]
    pairs = data.items() if isinstance(data, dict) else enumerate(data)
    return [path, *(one for key, part in pairs for one in places(part, (*path, key)))]


@pytest.mark.parametrize("result", [RESULT, ERROR])
def test_each_field_of_a_file_is_looked_at(tmp_path: Path, result: Result) -> None:
    good = LockFile.of("dense", REQUEST, result, VERSIONS).to_json()
    file = tmp_path / "_jaxprs" / "dense.json"
    file.parent.mkdir()
    accepted = 0
    for number, (*above, last) in enumerate(places(good)[1:]):
        for value in [*HOSTILE[number % 4 :: 4], "gone"]:
            data = copy.deepcopy(good)
            inside: Any = data
            for key in above:
                inside = inside[key]
            if value == "gone":
                del inside[last]
            else:
                inside[last] = value
            file.write_text(json.dumps(data), "utf-8")
            found, problem = folder(tmp_path).look("dense.json", REQUEST, "a")
            assert found.program
            assert len(problem) < 1_000
            assert problem.isprintable()
            loaded = folder(tmp_path).result("dense.json")
            if problem or loaded is None:
                continue
            accepted += 1
            describe(loaded.error) if loaded.error is not None else remarks(loaded)
            if loaded.program is not None:
                same = recording(loaded.to_json())
                assert compare(same, same).level is Level.SAME
    assert accepted > 5  # texts may be any


@pytest.mark.parametrize("text", ['{"a":' * 5_000, "[" * 100_000, '{"schema": NaN}', "1" * 5_000,
    '{"schema": 1e999}', "\ufeff{}", "\0", " " * 5_000_000])  # fmt: skip
def test_no_text_ends_the_reading(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text, "utf-8")
    assert lock.load(tmp_path / "a.json") is None


def test_half_a_character_has_a_file() -> None:
    assert file_name("\ud800") != file_name("\udfff")


def test_a_folder_that_no_system_can_have(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("x" * 300, "file", "file/more", "no"):
        assert list(lock.stored(tmp_path / name)) == []
        assert not LockFolder(tmp_path / name, name, Cache(tmp_path)).exists
