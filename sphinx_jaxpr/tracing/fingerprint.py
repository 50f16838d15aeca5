"""Versions of what is installed for an interpreter, without importing any of it."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from functools import cached_property
from typing import Any

from .. import __version__
from .request import SCHEMA

_PROBE = (
    "import importlib.metadata as m, json, platform;"
    "print(json.dumps([platform.python_version(),"
    " {(d.name or '').lower(): d.version for d in m.distributions()}]))"
)
#: Inherited variables that change what JAX traces.
_PREFIXES = ("JAX_", "XLA_")


class Installed:
    """Distributions that an interpreter sees; another one than ours is asked once."""

    def __init__(self, python: str, environment: dict[str, str]) -> None:
        self.python = python
        self.environment = environment
        self.own = os.path.abspath(python) == os.path.abspath(sys.executable)
        self.known: dict[str, str] = {}

    @cached_property
    def _other(self) -> tuple[str, dict[str, str]]:
        try:
            done = subprocess.run(
                [self.python, "-P", "-c", _PROBE],
                env=self.environment,
                capture_output=True,
                timeout=60,
                check=True,
            )
            version, names = json.loads(done.stdout)
            return version, names
        except (OSError, ValueError, subprocess.SubprocessError):
            return "", {}  # the worker will say what is wrong with it

    @property
    def python_version(self) -> str:
        """The version of Python as text."""
        return platform.python_version() if self.own else self._other[0]

    def version(self, name: str) -> str:
        """The version of a distribution, ``""`` where it is not installed."""
        if name not in self.known:
            if self.own:
                try:
                    self.known[name] = importlib.metadata.version(name)
                except importlib.metadata.PackageNotFoundError:
                    self.known[name] = ""
            else:
                self.known[name] = self._other[1].get(name.lower(), "")
        return self.known[name]


def environment_facts(
    installed: Installed, settings: dict[str, str], environment: dict[str, str]
) -> dict[str, Any]:
    """What enters every key beside the request: a change of any makes all anew."""
    inherited = {k: v for k, v in environment.items() if k.startswith(_PREFIXES)}
    return {
        "schema": SCHEMA,
        "package": __version__,
        "python": installed.python_version,
        **{name: installed.version(name) for name in ("jax", "jaxlib", "numpy")},
        "environment": {**inherited, **settings},
    }
