"""No part of a page works much more for a text that is a little longer; nothing is too deep."""

from __future__ import annotations

import pytest

from tests.faults.curves import PARTS, SHAPES, work

pytestmark = pytest.mark.once

#: Characters of the shorter text; the longer one has four times as many.
SIZE = 3_000


@pytest.mark.parametrize("part", PARTS)
def test_work_grows_with_the_text(part: str) -> None:
    grown = {}
    for name, shape in SHAPES.items():
        small, large = (work(PARTS[part](shape(size))) for size in (SIZE, 4 * SIZE))
        # Four times as long is four times the work; sixteen times where it is quadratic.
        if large > 7 * small + 2_000:
            grown[name] = (small, large)
    assert grown == {}


@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_too_deep(part: str) -> None:
    for shape in ("deep on one line", "deep over lines"):
        PARTS[part](SHAPES[shape](80_000))()
