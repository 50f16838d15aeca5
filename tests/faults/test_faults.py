"""The short form of the fault table: a row each, and what the rows are counted with."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.support import require

from . import children
from .damage import DAMAGE, form, parts, places, put, sealed
from .pages import page
from .report import results, table
from .rows import NotHere, Row, Tally, as_row, every, tried
from .soak import Soak

pytestmark = pytest.mark.once

ROWS = every()
#: Where rows are, and how often at least some are tried in the long form.
MODULES = set(
    """children curves disk forged kills markup modules pages
    parsers soak together values""".split()
)
LONG = {
    "children": 2,
    "generated-pages": 500,
    "hostile-modules": 80,
    "hostile-values": 150,
    "kill-build": 50,
    "parser-texts": 100_000,
    "soak": 100,
    "text-curves": 400,
}


@pytest.mark.slow
@pytest.mark.parametrize("one", [one for one in ROWS if one.short], ids=lambda one: one.name)
def test_it_holds(one: Row) -> None:
    found = tried(one, 1, one.short)
    require(not found.missing, found.missing)
    assert found.tally.tried >= 1
    assert found.tally.lost == []


def test_a_plain_function_is_a_row() -> None:
    def some_row(chance: random.Random, count: int) -> tuple[int, list[str]]:
        """What it
        tries.

        More."""
        return count, ["one"][: chance.randrange(1, 2)]

    one = as_row(some_row)
    assert (one.name, one.what) == ("some-row", "What it tries.")
    assert one(1, 5) == Tally(5, 4, ["one"])


def test_the_same_seed_chooses_the_same() -> None:
    one = as_row(lambda chance, count: (count, [str(chance.random())]), name="x")
    assert one(3, 1) == one(3, 1) != one(4, 1)


def test_what_is_lost_is_written_down(tmp_path: Path) -> None:
    tally = Tally()
    tally.note("good")
    tally.note("bad", ["<b> in /home/some/one/page.html", "<b> in /home/some/one/page.html"])
    tally.note("many", ["a"], 10)
    assert (tally.tried, tally.held) == (12, 10)
    row = Row("name", "what | it", lambda chance, count: tally)

    def missing(chance: random.Random, count: int) -> Tally:
        raise NotHere("a thing")

    results(tmp_path / "kept.json", [tried(row, 1, 1)], 1)
    text = table(results(tmp_path / "kept.json", [tried(Row("other", "", missing), 1, 1)], 1))
    assert "| name | what \\| it | 12 | 10 |" in text
    assert "- name: bad: \\<b\\> in .../page.html\n" in text
    assert "| other |  | not tried: a thing |  |" in text


def test_digests_are_made_right() -> None:
    plain = sealed(b"0" * 64 + b" {}\t[1]", [{"a": 1}, [2]])
    digest, _, text = plain.partition(b" ")
    assert len(digest) == 64 and digest != b"0" * 64
    assert text == b'{"a":1}\t[2]' and parts(plain) == [{"a": 1}, [2]]
    old = json.loads(sealed(b"{}", [{"result": {"x": 1}, "digest": "wrong"}]))
    assert old["digest"] != "wrong"


def test_ways_reach_every_value() -> None:
    data = {"a": [1, {"b": None}], "c": {}}
    ways = list(places(data))
    assert [form(at) for at in ways] == ["a", "a.*", "a.*", "a.*.b", "c"]
    put(data, ways[3], "new")
    assert data == {"a": [1, {"b": "new"}], "c": {}}


def test_damage_is_damage() -> None:
    text = json.dumps({"text": ["a", 1, 22], "n": [3]}).encode() + b"\n"
    for name, damage in DAMAGE.items():
        assert any(damage(text, random.Random(n), b"[0]") != text for n in range(9)), name


def test_every_row_says_what_it_tries() -> None:
    assert {one.run.__module__.rpartition(".")[2] for one in ROWS} == MODULES
    assert [one.name for one in ROWS if not one.what or one.long < one.short] == []
    assert {Path(__file__).stem} & {one.run.__module__ for one in ROWS} == set()


def test_the_long_form_is_long() -> None:
    assert len(children.BEHAVIOURS) >= 50
    assert {one.name for one in ROWS if one.long < LONG.get(one.name, 1)} == set()
    assert LONG.keys() <= {one.name for one in ROWS}


def test_edits_of_the_soak_change_something(tmp_path: Path) -> None:
    one = Soak(random.Random(1), tmp_path)
    one.place.run = lambda *_, **__: None  # type: ignore[assignment] # nothing is built
    changing = set()
    for edit in one.edits * 5:
        before = one.snapshot()
        edit()
        if one.snapshot() != before:
            changing.add(edit.__name__)
    assert {edit.__name__ for edit in one.edits} - changing == set()
    assert len(changing) >= 17


def test_generated_pages_can_be_written() -> None:
    chance = random.Random(1)
    found = [page(chance, number) for number in range(300)]
    assert 150 < sum(name.endswith(".md") for name, _ in found) < 260
    for name, text in found:
        assert f"good{name.partition('.')[0][1:]}" in text
        assert text.encode().decode() == text
