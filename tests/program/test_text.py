"""Which characters are spelled out: what a reader, a terminal or a parser would misread."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from sphinx_jaxpr.program.text import (
    is_plain,
    nearest,
    on_one_line,
    plural,
    similar,
    spelled,
    spelled_all,
)

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31m\x00\x7f\x9b", "a\\x1b[31m\\x00\\x7f\\x9b"),
        ("\u202ea\u2066\u200f\u061c", "\\u202ea\\u2066\\u200f\\u061c"),
        ("a\r\x85\u2028\u2029", "a\\x0d\\x85\\u2028\\u2029"),
        ("\ufeff\ufffe\udc80\ufdd0\U0001ffff\U000e0041", None),
        ("\u200b\u200c\u200d\u2060\u00ad\u3164\ufff9", None),
    ],
)
def test_spelled(text: str, shown: str | None) -> None:
    python = text.encode("ascii", "backslashreplace").decode()
    assert spelled(text) == (shown or python)
    assert is_plain(spelled(text)) and not is_plain(text)


def test_what_can_be_seen_stays() -> None:
    seen = "a\tb\nλ é \xa0 中 ↦ العربية हिन्दी 👍🏽 ❤\ufe0f e\u0301 \ufffd"
    assert spelled(seen) == seen


def test_every_character() -> None:
    numbers = [*range(0x10000), *range(0x1D100, 0x1D200), *range(0xE0000, 0xE1002), sys.maxunicode]
    hidden = {c for c in map(chr, numbers) if not is_plain(c)}
    assert all(spelled(c).isascii() and spelled(c).isprintable() for c in hidden)
    control = {chr(c) for c in [*range(32), *range(0x7F, 0xA0)]} - {"\n", "\t"}
    surrogates = {chr(c) for c in range(0xD800, 0xE000)}
    assert control | surrogates <= hidden
    directions = {"LRE", "LRO", "RLE", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN"}
    for c in map(chr, range(0xE000)):
        if unicodedata.bidirectional(c) in directions:
            assert c in hidden, ascii(c)
    # No line but that of a newline: what Python and others split at is spelled.
    assert len("".join(map(spelled, hidden)).splitlines()) == 1


def test_data_with_keys() -> None:
    data = {"a\x1b": ["\u202e", {"b": "c\x00"}], "n": [1, None, True, 0.5]}
    shown = {"a\\x1b": ["\\u202e", {"b": "c\\x00"}], "n": [1, None, True, 0.5]}
    assert spelled_all(data) == shown


def test_one_line() -> None:
    assert on_one_line("a\n::error::b\r\n") == "a ::error::b\\x0d "


def test_the_nearest_words() -> None:
    known = ["dot_general", "scatter-add", "tanh", "tan", "Gather"]
    assert similar("dot_genral", known) == ["dot_general"]
    assert similar("scatteradd", known) == ["scatter-add"]
    assert similar("GATHER", known) == ["Gather"]
    assert similar("", known) == similar("qqqqqqqq", known) == []
    # Half of its letters in common doesn't make a word a suggestion.
    assert similar("NOTHING", ["wrong"]) == similar("gone", ["Net"]) == []
    assert similar("dense", ["set", "len", "dot_general"]) == []
    assert similar("tanhh", known, count=2) == ["tanh", "tan"]
    assert nearest("tahn", ["add", "tanh"]) == ", did you mean 'tanh'?"
    assert nearest("tanhh", known, 2, str) == ", did you mean tanh or tan?"
    assert nearest("qqqqqqqq", known) == ""


def test_plurals() -> None:
    assert plural(1, "equation") == "1 equation"
    assert [plural(n, "equation") for n in (0, 2)] == ["0 equations", "2 equations"]
    assert plural(2, "axis", "axes") == "2 axes"
