"""The short form of the rows about processes."""

from __future__ import annotations

import random
import sys

import pytest

from tests.faults import children

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's /proc"),
]


def test_what_user_code_starts_neither_hangs_nor_outlives_a_run() -> None:
    tried, lost = children.children(random.Random(1), 1)
    assert not lost
    assert tried == len(children.BEHAVIOURS) >= 50


def test_with_who_traces_all_ends() -> None:
    tried, lost = children.callers(random.Random(1), 3)
    assert not lost
    assert tried == 3
