"""Paths in results: relative to the project, never a home folder's name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any


class Paths:
    """Hides ``roots`` (import roots, the source folder) and the home folder."""

    def __init__(self, source: str, roots: Iterable[str]) -> None:
        self.source = os.path.abspath(source)
        absolute = {os.path.abspath(root) for root in (*roots, self.source) if root}
        absolute |= {os.path.realpath(root) for root in absolute}
        absolute.discard(os.sep)
        self.roots = sorted(absolute, key=lambda root: (-len(root), root))
        self.home = os.path.expanduser("~")
        prefixes = "|".join(re.escape(root.rstrip(os.sep) + os.sep) for root in self.roots)
        self.pattern = re.compile(f"(?<![\\w.-])(?:{prefixes})") if prefixes else None

    def shown(self, file: str) -> str:
        """A file as a reader should see it: relative to its root, or ``~/...``."""
        return self.hide(file)

    def hide(self, text: str) -> str:
        """``text`` without the absolute prefixes of this machine."""
        if self.pattern is not None and os.sep in text:
            text = self.pattern.sub("", text)
        if len(self.home) > 1 and self.home in text:
            text = text.replace(self.home + os.sep, "~" + os.sep)
        return text

    def hide_all(self, data: Any) -> Any:
        """``hide`` for every string in JSON data."""
        if isinstance(data, str):
            return self.hide(data)
        if isinstance(data, list):
            return [self.hide_all(item) for item in data]
        if isinstance(data, dict):
            return {key: self.hide_all(item) for key, item in data.items()}
        return data

    def stored(self, file: str) -> str:
        """A file as the store keeps it: relative to the source folder."""
        relative = os.path.relpath(file, self.source)
        if len(self.home) > 1 and file.startswith(self.home + os.sep):
            common = os.path.commonpath([file, self.source])
            if not common.startswith(self.home):
                return "~" + file[len(self.home) :]
        return relative.replace(os.sep, "/")

    def absolute(self, stored: str) -> str:
        """The inverse of :meth:`stored`."""
        if stored.startswith("~"):
            return self.home + stored[1:]
        return os.path.normpath(os.path.join(self.source, stored))
