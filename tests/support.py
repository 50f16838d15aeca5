"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOTS = TESTS / "roots"
PROJECT = TESTS.parent


def require(condition: bool, what: str) -> None:
    """Go on where ``condition`` holds; else skip, saying ``what`` is missing.

    Where ``CI`` is set everything is meant to be there, so the test fails.
    """
    if condition:
        return
    if os.environ.get("CI"):
        pytest.fail(f"needs {what}, which a CI machine must have", pytrace=False)
    pytest.skip(f"needs {what}")


def interpreter(environment: str) -> Path:
    """The Python of an environment that ``tests/run.py`` made: ``oldest`` or ``newest``."""
    folder = PROJECT / ".venvs" / environment
    require(
        (folder / "stamp").exists(),
        f"the {environment} environment: python tests/run.py --only {environment}",
    )
    return folder / "bin" / "python"
