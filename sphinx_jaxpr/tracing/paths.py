"""Paths in results: relative to the project, never a home folder's name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from typing import Any, Final

from .folders import Folders, dotted_names

#: Where Python's default reprs show a memory address, as JAX masks its own.
_ADDRESS: Final = re.compile(r"(?<= at )0x[0-9a-fA-F]{6,}")


#: A folder that libraries are installed in, wherever that is.
_SITE: Final = re.compile(r"(?<![\w.-])/[^\s:'\"<>]*/(?:site|dist)-packages/")


class Paths:
    """Hides ``roots`` (import roots, the source folder), what is above, and the home folder."""

    def __init__(self, source: str, roots: Iterable[str]) -> None:
        self.source = os.path.abspath(source)
        self.home = os.path.expanduser("~")
        self.folders = Folders()
        self.roots = [os.path.abspath(root) for root in roots if root]
        self.shown = {**_above(self.source, self.home), self.home: "~"}
        self.shown.update(dict.fromkeys(self.roots, "."))
        self.shown[self.source] = "."
        self.shown.update({os.path.realpath(path): to for path, to in self.shown.items()})
        self.shown.pop(os.sep, None)
        known = "|".join(re.escape(path) for path in sorted(self.shown, key=len, reverse=True))
        after = rf"(?:{re.escape(os.sep)}|(?![\w-]|\.\w))"
        self.pattern = re.compile(rf"(?<![\w.-])({known}){after}")

    def hide(self, text: str) -> str:
        """``text`` without the absolute prefixes of this machine."""
        return self.pattern.sub(self._short, text) if os.sep in text else text

    def _short(self, found: re.Match[str]) -> str:
        short = self.shown[found[1]]
        if not found[0].endswith(os.sep):
            return short
        return "" if short == "." else short + os.sep

    def hide_all(self, data: Any, depth: int = 2) -> Any:
        """``hide`` for every string in JSON data, and where libraries are installed.

        The large parts of a result name no file: those, ``depth`` levels down,
        are looked at as a whole, which costs a tenth.
        """
        if isinstance(data, str):
            return self.hide(_SITE.sub("", data))
        if not isinstance(data, (list, dict)) or (depth >= 0 and os.sep not in json.dumps(data)):
            return data
        if isinstance(data, list):
            return [self.hide_all(item, depth - 1) for item in data]
        return {key: self.hide_all(item, depth - 1) for key, item in data.items()}

    def stored(self, file: str) -> str:
        """A file as the store keeps it: relative to the source folder."""
        inside = self.home + os.sep
        if len(self.home) > 1 and file.startswith(inside) and not self.source.startswith(inside):
            return "~/" + file[len(inside) :].replace(os.sep, "/")
        return os.path.relpath(file, self.source).replace(os.sep, "/")

    def absolute(self, stored: str) -> str:
        """The inverse of :meth:`stored`."""
        if stored.startswith("~/"):
            return os.path.join(self.home, stored[2:])
        return os.path.normpath(os.path.join(self.source, stored))

    def module(self, name: str) -> str:
        """Where a top-level module lies among the roots, as stored; ``""`` if elsewhere.

        Folders without ``__init__`` count only where nothing else is found, and all of them.
        """
        looked = self.folders.search(name, self.roots)
        for root, found in looked.items():
            if found and not found.endswith("/"):
                return self.stored(os.path.join(root, found))
        parts = [os.path.join(root, name) for root, found in looked.items() if found]
        return os.pathsep.join(map(self.stored, parts))

    def places(self, name: str) -> list[str]:
        """The files that a dotted name of a page could lead to, the one that counts first."""
        found: dict[str, str] = {}
        for file in self.folders.places(name, self.roots):
            found.setdefault(os.path.realpath(file), file)
        return list(found.values())

    def other_name(self, file: str) -> str:
        """A dotted name that leads to a file below the roots and to no other, or ``""``."""
        names = dotted_names(file, self.roots)
        return next((name for name in names if self.places(name) == [file]), "")


def _above(source: str, home: str) -> dict[str, str]:
    """The folders above the source folder, up to the home folder."""
    found = {}
    path, short = os.path.dirname(source), ".."
    while path not in (home, os.path.dirname(path)):
        found[path] = short
        path, short = os.path.dirname(path), os.path.join(short, "..")
    return found


def mask(text: str) -> str:
    """``text`` without memory addresses, which change from build to build."""
    return _ADDRESS.sub("0xXXXXXXXXXXXX", text)
