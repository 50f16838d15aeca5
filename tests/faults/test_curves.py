"""No part of a page works much more for a text that is a little longer; nothing is too deep."""

from __future__ import annotations

import pytest

from tests.faults.curves import PARTS, SHAPES, exponent, work

pytestmark = pytest.mark.once

#: Characters of the shorter text; the longer one has four times as many.
SIZE = 1_000
#: Where only a number of candidates is tried, and so many are there from this size on.
BOUNDED = {("match", "deep on one line"): 4_000, ("match", "deep over lines"): 4_000}
DEEP = ("deep on one line", "deep over lines")


@pytest.mark.parametrize("part", PARTS)
def test_work_grows_with_the_text(part: str) -> None:
    grown = {}
    for name, shape in SHAPES.items():
        size = BOUNDED.get((part, name), SIZE)
        small, large = (work(PARTS[part](shape(length))) for length in (size, 4 * size))
        # Four times as long is four times the work; sixteen times where it is quadratic.
        if large > 6.5 * small + 500:
            grown[name] = (small, large)
    assert grown == {}


@pytest.mark.parametrize("part", PARTS)
def test_nothing_is_too_deep(part: str) -> None:
    for name in DEEP:
        PARTS[part](SHAPES[name](40_000))()


def test_what_is_counted_shows_a_quadratic_part() -> None:
    def run(size: int) -> int:
        from tests.faults.curves import Text

        text = Text("x" * size)
        return work(lambda: [text[: place + 1] for place in range(size)])

    assert run(4_000) > 10 * run(1_000)
    assert exponent([(1, 1.0), (2, 4.0), (4, 16.0)]) == pytest.approx(2)
