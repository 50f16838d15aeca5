"""A short run of the generated texts; ``python -m tests.faults.parsers`` is the long one."""

from __future__ import annotations

import pytest

from tests.faults.parsers import LIMIT, Parser, Report, _try, parsers, tried

pytestmark = pytest.mark.once


def test_no_text_is_too_much() -> None:
    found = tried(3_000, seed=1)
    assert found.lost == []
    assert set(found.tried) == {parser.name for parser in parsers()}
    assert found.messages > 1_500  # it tries something


def test_what_is_wrong_is_found() -> None:
    def raises(text: str) -> list[str]:
        raise OverflowError(text)

    lost = {
        "raises": (raises, "OverflowError: text"),
        "long": (lambda text: [text * 200], "a message of 800 characters"),
        "hidden": (lambda text: ["\u202e"], "a message with hidden characters: '\\u202e'"),
    }
    for name, (run, said) in lost.items():
        assert list(_try(Parser(name, run, 1, [], []), "text", Report())) == [said]
    assert LIMIT <= 0.5
