"""What parsers meet before a directive runs, so that mistakes in its options become findings."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from typing import Any, Final

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


class AnyOption(dict[str, Any]):
    """Accepts every option, so that an unknown one is a finding in every build.

    The parsers would drop it, with a message only in the build that reads the page.
    """

    def __bool__(self) -> bool:
        return True

    def __missing__(self, key: str) -> Any:
        return lambda text: text or ""

    def __contains__(self, key: object) -> bool:
        return True


# --- MyST's warnings about the options of our directives, taken over as findings

LOGGER: Final = "sphinx.myst_parser.warnings_"
_PENDING: Final = "jaxpr_myst_warnings"  # in the temporary data of the page that is read
_NAMED: Final = r"'([\w:-]+)': (.*)"


class MystWarnings(logging.Filter):
    """Takes over MyST's warnings about the directives ``names`` while a build reads pages.

    MyST warns once, just before it runs a directive; as findings of the directive,
    the warnings are repeated in every build, with the right form.
    """

    def __init__(self, app: Sphinx, names: Collection[str]) -> None:
        super().__init__()
        self.app = app
        self.names = names

    def connect(self) -> None:
        """Filter from when the first page is read until all pages are."""
        self.app.connect("env-before-read-docs", self.install)
        self.app.connect("env-updated", self.remove)
        self.app.connect("build-finished", self.remove)  # if reading failed

    def install(self, app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        """Begin to filter; parallel readers are forked later."""
        logging.getLogger(LOGGER).addFilter(self)

    def remove(self, app: Sphinx, *result: object) -> None:
        """Stop filtering."""
        logging.getLogger(LOGGER).removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a warning is left to MyST."""
        match = re.match(_NAMED, record.getMessage(), re.DOTALL)
        if match is None or match[1] not in self.names:
            return True
        _pending(self.app.env).setdefault(match[1], []).append(match[2])
        return False


def _pending(env: BuildEnvironment) -> dict[str, list[str]]:
    """Warnings about directives that have not run yet, by name; of the page that is read."""
    data: Any = env.temp_data
    pending: dict[str, list[str]] = data.setdefault(_PENDING, {})
    return pending


def take_warnings(env: BuildEnvironment, name: str) -> list[str]:
    """MyST's warnings about the directive of this name that now runs."""
    return _pending(env).pop(name, [])
