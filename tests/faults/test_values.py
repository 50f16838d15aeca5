"""Hostile values of pages in one build; all of them, in three builders, in the long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.values import VALUES, lost

pytestmark = pytest.mark.once


def test_some_in_one_build(tmp_path: Path) -> None:
    assert lost(VALUES[1::3], tmp_path, ["html"]) == []


def test_all_in_every_builder(tmp_path: Path) -> None:
    assert lost(VALUES, tmp_path) == []
