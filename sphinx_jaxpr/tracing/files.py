"""JSON files that are whole or not there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def canonical(data: Any) -> str:
    """JSON with sorted keys: equal data, equal text.  ``NaN`` is refused."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(data: Any) -> str:
    """Hex digest of JSON data."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()


def read(path: Path) -> Any:
    """The JSON data of a file, ``None`` where it is damaged or missing."""
    try:
        return json.loads(path.read_text("utf-8"), parse_constant=_refuse)
    except (OSError, ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def write_atomically(path: Path, text: str) -> os.stat_result:
    """Write UTF-8 through a temporary file and a rename; readers see all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            state = os.fstat(stream.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return state


def write_changed(path: Path, text: str) -> None:
    """Write a file whose text differs; whoever watches the folder sees no other change."""
    try:
        same = path.read_text("utf-8") == text
    except (OSError, ValueError):
        same = False
    if not same:
        write_atomically(path, text)
