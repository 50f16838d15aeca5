"""Which files are the project's, also where it lies among installed libraries."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator

import pytest

from sphinx_jaxpr.tracing import places

SITE = sysconfig.get_paths()["purelib"]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = places._own
    yield
    places._own = before


def test_a_project_among_libraries() -> None:
    own, beside = (os.path.join(SITE, *parts) for parts in (("p", "m.py"), ("p2", "m.py")))
    assert not places.is_project_file(own)
    places.has_inside([os.path.join(SITE, "p"), SITE, "/elsewhere"])
    assert places.is_project_file(own)
    assert not places.is_project_file(beside)
    assert places.is_project_file("/elsewhere/m.py")


def test_the_project_of_a_folder() -> None:
    docs = os.path.join(SITE, "p", "docs", "source")
    assert places.project_in(docs) == os.path.join(SITE, "p", "")
    assert places.project_in(SITE) == places.project_in("/elsewhere/p") == ""
