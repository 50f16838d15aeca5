"""Names that a page's code lacks, since the lines that bind them are not run: what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ....program.text import place
from ...records import LeftOut

if TYPE_CHECKING:
    from ....tracing.result import TraceError


def why_missing(missing: LeftOut, displayed: Callable[[str], str]) -> str:
    """Why a name has no value, and what to do; ``displayed`` gives a file's name for readers."""
    at = place(displayed(missing.source), missing.line)
    because = f": {missing.reason}" if missing.reason else "; tag its cell `jaxpr` to run it"
    return f"the line that binds `{missing.name}` ({at}) is not run{because}"


def with_hint(
    error: TraceError, left_out: tuple[LeftOut, ...], displayed: Callable[[str], str]
) -> TraceError:
    """An error with a hint, if it is about one of the names."""
    if error.kind == "trace" and error.type != "NameError":
        return error
    names = re.findall(r"['`](\w+)['`.]", error.message)
    missing = next((each for name in names for each in left_out if each.name == name), None)
    if missing is None:
        return error
    hints = [error.hint] * bool(error.hint) + [why_missing(missing, displayed)]
    return replace(error, hint="; ".join(hints))
