"""``jaxpr-claims``: which lines are one expression."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.ext.reading.claims import expressions


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("a\nb  # said\n\nc", [(0, "a"), (1, "b"), (3, "c")]),
        ("all(\n  a\n)\nb", [(0, "all( a )"), (3, "b")]),
        ("a and \\\n  b\nc", [(0, "a and b"), (2, "c")]),
        ("a and \\\nb and \\\nc\nd", [(0, "a and b and c"), (3, "d")]),
        ("a and \\", [(0, "a and \\")]),
        ("'#' in a.text  # a text", [(0, "'#' in a.text")]),
    ],
)
def test_lines_of_one_expression(body: str, found: list[tuple[int, str]]) -> None:
    assert expressions(body.split("\n")) == found
