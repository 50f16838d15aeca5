"""A store that was damaged, or forged with digests made right: a miss, never an exception."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from sphinx_jaxpr.tracing import packs
from sphinx_jaxpr.tracing.checks import problem
from sphinx_jaxpr.tracing.files import Cache, canonical, signed, unsigned
from sphinx_jaxpr.tracing.jobs import SCHEMA
from sphinx_jaxpr.tracing.needs import Present
from sphinx_jaxpr.tracing.result import EncodedResult, Result, split
from sphinx_jaxpr.tracing.store import FAILED, Store, seen
from tests.tracing.results import ERROR_JSON, RESULT, RESULT_JSON
from tests.tracing.test_files import PLACED, put
from tests.tracing.test_store import REQUEST, A, B, Folder, needs_of

pytestmark = pytest.mark.once

HOSTILE: Final[list[Any]] = [
    None, True, -1, 0, 10**400, 2**63, 1.5, "", "x", "javascript:alert(1)", "../../etc/passwd",
    "<script>", "\x1b\u202e\0", [], [[]], {}, {"a": 1}, [1, "a", None], "f" * 40, "0" * 64,
]  # fmt: skip
#: Beside values: texts of JSON that no other writer would write.
TEXTS: Final = ["NaN", "1e999", "9" * 5000, "[" * 5000 + "]" * 5000, '"\\ud800"', '{"a":1,"a":2}']
NAMES: Final = ["", "\0", "..", "json.tool", "a" * 5000, "javascript:", "\x1b"]
MARK: Final = "0bc9-mark"


def mutations(data: Any) -> Iterator[Any]:
    """Data with each of its parts replaced, missing, or doubled; ``MARK`` where text may be put."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield from ({**data, key: found} for found in mutations(value))
            yield {name: value for name, value in data.items() if name != key}
            yield {**{name: value for name, value in data.items() if name != key}, key + "x": value}
        yield {**data, "other": 1}
        yield from ({**data, name: "x"} for name in NAMES)
    if isinstance(data, list):
        for place, value in enumerate(data):
            before, after = data[:place], data[place + 1 :]
            yield from ([*before, found, *after] for found in mutations(value))
            yield [*before, *after]
            yield [*before, value, value, *after]
    yield from HOSTILE
    yield MARK


def forged(data: Any) -> Iterator[str]:
    """JSON of all mutations."""
    for found in mutations(data):
        text = canonical(found)
        if MARK in text:
            yield from (text.replace(f'"{MARK}"', other) for other in TEXTS)
        else:
            yield text


class Shelf:
    """A store of two records, to be looked at again and again."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.needs = needs_of(folder)
        store = folder.store()
        store.save(A, REQUEST, RESULT, self.needs, {"jax": "1"})
        store.save(B, REQUEST, RESULT, self.needs, {"jax": "1"})
        store.flush()
        self.present: Present = store.present
        (self.pack,) = folder.packs
        self.whole = self.pack.read_bytes()
        self.lines = self.whole.splitlines(keepends=True)
        self.index = folder.index.read_bytes()

    def look(self, key: str = A, result: Result | None = RESULT) -> bool:
        """Whether there is a result: ``result`` itself, or any that a page can show."""
        store = Store(Cache(self.folder.cache), self.present, lambda: self.folder.now)
        found = store.fresh(key, raises=key.endswith(FAILED))
        loaded = store.load(key)
        if loaded is not None:
            assert problem(loaded.to_json()) == "" and (result is None or loaded == result)
        store.why(key, REQUEST.digest, {})
        return found is not None and loaded is not None


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(Folder(tmp_path))


@pytest.mark.parametrize("part", ["head", "visible", "rest"])
def test_each_field_of_a_record(shelf: Shelf, part: str) -> None:
    shelf.folder.index.unlink()
    record = packs.record(shelf.lines[0])
    assert record is not None
    parts = {"head": record.head, **record.result._asdict()}
    tried = 0
    for text in forged(json.loads(parts[part])):
        head, *texts = {**parts, part: text.encode()}.values()
        line = packs.line(head, EncodedResult(*texts))
        shelf.pack.write_bytes(line + shelf.lines[1])
        shelf.look(result=RESULT if part == "head" else None)
        tried += 1
        if tried % 20 == 0:
            assert shelf.look(B)
    assert tried > (200 if part == "rest" else 800)


def test_each_field_of_a_failure(shelf: Shelf) -> None:
    record = packs.record(shelf.lines[0])
    assert record is not None
    head = record.head.replace(A.encode(), (A + FAILED).encode())
    for data in (ERROR_JSON, split(RESULT_JSON)[0]):
        rest = b"{}" if data is ERROR_JSON else record.result.rest
        for text in forged(data) if data is ERROR_JSON else [canonical(data)]:
            shelf.pack.write_bytes(packs.line(head, EncodedResult(text.encode(), rest)))
            assert not shelf.look(A + FAILED, None) or "error" in json.loads(text)


def test_each_field_of_the_index(shelf: Shelf) -> None:
    kept = unsigned(shelf.index)
    assert kept is not None
    tried = 0
    for text in forged(json.loads(kept)):
        shelf.folder.index.write_bytes(signed(text))
        shelf.look()
        tried += 1
        if tried % 20 == 0:  # what it hides is traced again, and then it is there
            store = Store(Cache(shelf.folder.cache), shelf.present)
            store.save(B, REQUEST, RESULT, shelf.needs, {})
            store.flush()
            assert shelf.look(B)
            for path in shelf.folder.packs:
                path.unlink()
            shelf.pack.write_bytes(shelf.whole)
    assert tried > 800
    # Records that the index mixes up are none.
    data = json.loads(kept)
    one, two = data["rows"]
    one[2:5], two[2:5] = two[2:5], one[2:5]
    shelf.folder.index.write_bytes(signed(canonical(data)))
    assert not shelf.look() and not shelf.look(B)


@pytest.mark.parametrize("indexed", [True, False], ids=["index", "no index"])
def test_a_pack_cut_anywhere(shelf: Shelf, indexed: bool) -> None:
    """What stands before is found, what follows is traced again, a half line counts as nothing."""
    first = len(shelf.lines[0])
    for length in range(len(shelf.whole)):
        if length % 17 and abs(length - first) > 2:
            continue
        shelf.pack.write_bytes(shelf.whole[:length])
        if indexed:
            shelf.folder.index.write_bytes(shelf.index)
        else:
            shelf.folder.index.unlink(missing_ok=True)
        assert shelf.look() == (length >= first)
        assert not shelf.look(B)


@pytest.mark.parametrize("every", [False, True], ids=["a bit of each byte", "each bit"])
def test_bits_that_flip(shelf: Shelf, every: bool) -> None:
    chance = random.Random(1)
    shelf.folder.index.unlink()
    end = len(shelf.lines[0]) - 1
    for place in range(end + 1):
        for bit in range(8) if every else [chance.randrange(8)]:
            damaged = bytearray(shelf.whole)
            damaged[place] ^= 1 << bit
            shelf.pack.write_bytes(damaged)
            assert not shelf.look()
            if place % 50 == 0 or place == end:
                assert shelf.look(B) == (place != end)
    # With an index the record is found wanting when it is read.
    shelf.folder.index.write_bytes(shelf.index)
    store = Store(Cache(shelf.folder.cache), shelf.present)
    assert store.fresh(A) and store.load(A) is None
    assert store.fresh(A) is None and store.damaged == 1
    store.flush()
    assert not shelf.look()
    shelf.pack.write_bytes(shelf.whole)
    flipped = bytearray(shelf.index)
    for place in range(0, len(flipped), 5):
        flipped[place] ^= 1 << chance.randrange(8)
        shelf.folder.index.write_bytes(flipped)
        assert shelf.look()


@pytest.mark.parametrize("garbage", [b"\0" * 3000, b"\n" * 3000, b"{}\n", b"\xff\xfe" * 99 + b"\n"])
def test_garbage_between_records(shelf: Shelf, garbage: bytes) -> None:
    shelf.folder.index.unlink()
    shelf.pack.write_bytes(garbage + b"\n" + shelf.whole + garbage)
    assert shelf.look() and shelf.look(B)
    shelf.pack.write_bytes(shelf.lines[0] + garbage + b"\n" + shelf.lines[1])
    assert shelf.look() and shelf.look(B)


def test_a_line_that_is_too_long(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.folder.index.unlink()
    text = b'"%s"' % (b"a" * 3 * len(shelf.lines[0]))
    long = packs.line(b"{}", EncodedResult(text, b"{}"))
    shelf.pack.write_bytes(shelf.lines[0] + long + shelf.lines[1])
    monkeypatch.setattr(packs, "MOST", 2 * len(shelf.lines[0]))
    assert shelf.look() and shelf.look(B)


@pytest.mark.parametrize("what", PLACED)
def test_what_is_no_file_in_a_files_place(shelf: Shelf, what: str) -> None:
    """The index, a pack, and the folder."""
    cache = shelf.folder.cache
    put(shelf.folder.index, what)
    assert shelf.look()
    store = Store(Cache(cache), shelf.present)
    store.flush()
    assert shelf.look()
    put(cache / f"{SCHEMA}-{'0' * 16}.pack", what)
    put(cache / "tracebacks", what)
    assert shelf.look()
    shelf.folder.save(A)
    assert shelf.look()
    assert shelf.folder.told == []
    put(shelf.pack, what)
    assert shelf.look()  # the one that was saved since
    shelf.folder.cache = cache.with_name("other")
    put(shelf.folder.cache, what)
    assert not shelf.look()
    store = shelf.folder.store()
    assert store.save(A, REQUEST, RESULT, needs_of(shelf.folder), {}) == seen(RESULT)
    assert store.load(A) == RESULT
    store.flush()
    assert len(shelf.folder.told) == ("folder" not in what)


def test_a_pack_that_goes_between_looking_and_reading(shelf: Shelf) -> None:
    store = Store(Cache(shelf.folder.cache), shelf.present)
    assert store.fresh(A) and store.fresh(B)
    moved = shelf.pack.with_name(f"{SCHEMA}-{'1' * 16}.pack")
    moved.write_bytes(shelf.lines[1] + shelf.lines[0])
    shelf.pack.unlink()
    assert store.load(A) == RESULT
    os.unlink(moved)
    assert store.load(B) is None
    assert not store.damaged or store.fresh(B) is None


def test_what_is_wrong_is_named_by_its_place() -> None:
    long = "n" * 200
    rows = RESULT_JSON["facts"]["programs"][0]["equations"]

    def with_parameters(found: object) -> dict[str, Any]:
        row = [*rows[0][:4], found, rows[0][5]]
        program = {**RESULT_JSON["facts"]["programs"][0], "equations": [row]}
        return {**RESULT_JSON, "facts": {**RESULT_JSON["facts"], "programs": [program]}}

    place = "facts.programs[0].equations[0][4]"
    assert problem(with_parameters({"a": {}})) == f"{place}.a is dict, not plain data"
    assert (
        problem(with_parameters({long: {}})) == f"{place}.{long}"[:80] + " is dict, not plain data"
    )
    assert problem(with_parameters(5)) == f"{place} is int, not an object"
    assert problem({**RESULT_JSON, "args": [["a", 5]]}) == "args[0][1] is int, not a text"
    assert problem({**RESULT_JSON, "args": 5}) == "args is int, not a list"
    assert problem([]) == "the result is list, not an object"
    assert problem({**RESULT_JSON, "more": 1}) == "'more' is not a known field"
    assert problem({**RESULT_JSON, "facts": {}}) == "facts.programs is NoneType, not a list"


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"kept": [[0]]}, ".kept[0] has 1 parts, not 2"),
        ({"kept": [[-4, 0]]}, ".kept[0][0] is not between"),
        ({"kept": [[0, -1]]}, ".kept[0][1] is not between"),
        ({"flows": [[0, ["g"], []]]}, ".flows[0][1][0] is not a set of operands"),
        ({"flows": [[0, ["f" * 20_000], []]]}, ".flows[0][1][0] is not a set of operands"),
        ({"flows": [[0, [], [[-1, "1"]]]]}, ".flows[0][2][0][0] is not between"),
    ],
)
def test_what_flows_is_checked(part: dict[str, Any], reason: str) -> None:
    facts = RESULT_JSON["facts"]
    first, *others = facts["programs"]
    data = {**RESULT_JSON, "facts": {**facts, "programs": [{**first, **part}, *others]}}
    assert f"facts.programs[0]{reason}" in problem(data)
