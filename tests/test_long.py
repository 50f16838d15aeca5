"""The list of tests that CI leaves out names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

TESTS = Path(__file__).parent
LISTED = [
    line for line in (TESTS / "long.txt").read_text("utf-8").splitlines() if line[:1] not in "#"
]


def test_each_is_a_test() -> None:
    assert len(LISTED) > 100
    assert sorted(set(LISTED)) == LISTED
    for line in LISTED:
        file, _, name = line.partition("::")
        source = (TESTS.parent / file).read_text("utf-8")
        assert re.search(rf"^def {re.escape(name.partition('[')[0])}\(", source, re.MULTILINE), line
