"""Paths in results: relative to the project, never a home folder's name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any, Final

#: Where Python's default reprs show a memory address, as JAX masks its own.
_ADDRESS: Final = re.compile(r"(?<= at )0x[0-9a-fA-F]{6,}")


#: A folder that libraries are installed in, wherever that is.
_SITE: Final = re.compile(r"(?<![\w.-])/[^\s:'\"<>]*/(?:site|dist)-packages/")


class Paths:
    """Hides ``roots`` (import roots, the source folder), what is above, and the home folder."""

    def __init__(self, source: str, roots: Iterable[str]) -> None:
        self.source = os.path.abspath(source)
        self.home = os.path.expanduser("~")
        self._modules: dict[str, str] = {}
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

    def hide_all(self, data: Any) -> Any:
        """``hide`` for every string in JSON data, and where libraries are installed."""
        if isinstance(data, str):
            return self.hide(_SITE.sub("", data))
        if isinstance(data, list):
            return [self.hide_all(item) for item in data]
        if isinstance(data, dict):
            return {key: self.hide_all(item) for key, item in data.items()}
        return data

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
        """Where a top-level module lies among the roots, as stored; ``""`` if elsewhere."""
        if name not in self._modules:
            self._modules[name] = self._find(name)
        return self._modules[name]

    def _find(self, name: str) -> str:
        folders = [os.path.join(root, name) for root in self.roots]
        for folder in folders:
            if os.path.isfile(os.path.join(folder, "__init__.py")):
                return self.stored(folder)
            if os.path.isfile(folder + ".py"):
                return self.stored(folder + ".py")
        # A folder without __init__.py counts only where nothing else is found.
        return next((self.stored(folder) for folder in folders if os.path.isdir(folder)), "")


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
