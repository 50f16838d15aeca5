"""Which files are the project's, also where it lies among installed libraries."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator

import pytest

from sphinx_jaxpr.tracing import folders

SITE = sysconfig.get_paths()["purelib"]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = folders._own
    yield
    folders._own = before


def test_a_project_among_libraries() -> None:
    own, beside = (os.path.join(SITE, *parts) for parts in (("p", "m.py"), ("p2", "m.py")))
    assert not folders.is_project_file(own)
    folders.has_inside([os.path.join(SITE, "p"), SITE, "/elsewhere"])
    assert folders.is_project_file(own)
    assert not folders.is_project_file(beside)
    assert folders.is_project_file("/elsewhere/m.py")


def test_the_project_of_a_folder() -> None:
    docs = os.path.join(SITE, "p", "docs", "source")
    assert folders.project_in(docs) == os.path.join(SITE, "p", "")
    assert folders.project_in(SITE) == folders.project_in("/elsewhere/p") == ""
