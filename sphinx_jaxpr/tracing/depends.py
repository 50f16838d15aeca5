"""Further files that all programs depend on: what the patterns of ``jaxpr_depends`` lead to."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Sequence

from .files import digest
from .folders import file_digest

#: What no program depends on, wherever a pattern leads.
_NEVER = ("__pycache__", ".git")


def digests(
    patterns: Iterable[str], folder: str, outputs: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """For each pattern a digest of the files that it leads to, and the patterns without any."""
    found, empty = {}, []
    for pattern in patterns:
        files = sorted(set(matches(pattern, folder, outputs)))
        if not files:
            empty.append(pattern)
        listed = [[name, file_digest(os.path.join(folder, name))] for name in files]
        found[pattern] = digest(listed)
    return found, empty


def matches(pattern: str, folder: str, outputs: Sequence[str]) -> Iterator[str]:
    """Files that a pattern leads to, relative to ``folder``; of a folder, all that are in it."""
    kept = tuple(os.path.join(path, "") for path in outputs)
    for name in glob.iglob(pattern, root_dir=folder, recursive=True, include_hidden=True):
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(path):
            files = [path]
        else:
            files = [
                os.path.join(above, file) for above, _, names in os.walk(path) for file in names
            ]
        for file in files:
            relative = os.path.relpath(file, folder)
            if not file.startswith(kept) and not set(relative.split(os.sep)) & set(_NEVER):
                yield relative.replace(os.sep, "/")
