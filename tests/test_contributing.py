"""The map of the code in CONTRIBUTING.md names every file once, and no file that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

PROJECT = Path(__file__).parent.parent
PAGE = (PROJECT / "CONTRIBUTING.md").read_text("utf-8")


def listed() -> list[str]:
    """The files of the map, with their folders."""
    files = []
    folder = ""
    for line in PAGE.partition("<!-- FILES -->")[2].partition("<!-- END FILES -->")[0].split("\n"):
        if heading := re.match(r"\*\*`(sphinx_jaxpr/[\w/]*)`\*\*", line):
            folder = heading[1]
        elif row := re.match(r"\| `(\w+\.py)` \| \S", line):
            files.append(folder + row[1])
    return files


def test_every_file_has_a_line() -> None:
    package = PROJECT / "sphinx_jaxpr"
    files = {path.relative_to(PROJECT).as_posix() for path in package.rglob("*.py")}
    files -= {file for file in files if file.endswith("/__init__.py") and file.count("/") > 1}
    assert len(files) > 100
    assert sorted(listed()) == sorted(files)


def test_what_the_page_points_to_is_there() -> None:
    """Paths in prose and tables, relative to the project or to the package."""
    paths = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.(?:py|md|toml|css|txt))?)`", PAGE))
    assert len(paths) > 30
    missing = [
        path
        for path in sorted(paths)
        if not (PROJECT / path).exists() and not (PROJECT / "sphinx_jaxpr" / path).exists()
    ]
    assert not missing
