"""The computed line over a block."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.program.matching import summary


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ([64], "1 value, 64 bytes, for the backward part"),
        ([8192, 8192, 8216], "3 values, 24.6 kB, for the backward part"),
        ([4, None], "2 values for the backward part"),
    ],
)
def test_what_is_kept(sizes: list[int | None], says: str) -> None:
    assert summary.keeps(sizes) == [summary.SummaryPart("keeps", says)]
    assert summary.keeps([]) == []
