"""Fixtures for every test, and a closing word on what could not be tried."""

from __future__ import annotations

import shutil
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support import require

REPORTED = ("jax", "jaxlib", "numpy", "sphinx", "docutils", "myst-parser")


def pytest_report_header() -> str:
    """The versions that are tested, beside that of Python."""
    return "versions: " + ", ".join(f"{name} {version(name)}" for name in REPORTED)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what ``long.txt`` lists by its ids; ``test_long.py`` sees that they are tests."""
    listed = set((Path(__file__).parent / "long.txt").read_text("utf-8").splitlines())
    for item in items:
        if item.nodeid in listed:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """A Chromium or Chrome of this machine, for playwright's ``executable_path``."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    path = next(filter(None, found), "")
    require(bool(path), "chromium, chromium-browser or google-chrome on PATH")
    return path


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once per reason how many tests were skipped."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ") if report.longrepr else "no reason given"
        for report in terminalreporter.stats.get("skipped", ())
    )
    if not reasons:
        return
    terminalreporter.section("not tried here", yellow=True)
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:4} skipped: {reason}")
