"""What a result depends on, and whether any of it has changed.

The worker reports what it saw (:class:`.result.Needs`).  The store keeps a text by name for
each part, and the next build compares it with the current state.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from .fingerprint import ALL_INSTALLED, Installed
from .folders import Folders, file_digest, kind
from .masking import PathMasker

if TYPE_CHECKING:
    from .result import Needs

#: Parts whose names are paths, kept relative to the project.
_PLACES: Final = ("files", "folders", "paths", "sizes", "parts")
_NAMES: Final = ("modules", "missing", "distributions", "variables")
#: The part that is the same for all programs: what ``jaxpr_depends`` names.
DEPENDS: Final = "depends"
PARTS: Final = (*_PLACES, *_NAMES, DEPENDS)

Stored = dict[str, dict[str, str]]


class Present:
    """The current state; each file, folder and version is looked up once a build.

    ``depends`` are the patterns of ``jaxpr_depends`` with a digest of the files that each matches,
    ``outputs`` the folders that the build itself fills, so their contents say nothing.
    """

    def __init__(
        self,
        paths: PathMasker,
        installed: Installed,
        depends: Mapping[str, str] | None = None,
        outputs: Iterable[str] = (),
    ) -> None:
        self.paths = paths
        self.installed = installed
        self.depends = dict(depends or {})
        self.outputs = tuple(os.path.join(folder, "") for folder in outputs)
        self.folders = Folders()
        self._known: dict[tuple[str, str], str] = {}
        self._look: dict[str, Callable[[str], str]] = {
            "files": lambda name: file_digest(paths.absolute(name)),
            "folders": lambda name: self.folders.digest(paths.absolute(name)),
            "paths": lambda name: kind(paths.absolute(name)),
            "sizes": lambda name: kind(paths.absolute(name), sized=True),
            "parts": self._part,
            "modules": paths.module,
            "missing": installed.module,
            "distributions": installed.version,
            "variables": self._variable,
            DEPENDS: lambda name: self.depends.get(name, ""),
        }

    def value(self, part: str, name: str) -> str:
        """The text for one thing that a program may depend on."""
        if (part, name) not in self._known:
            self._known[part, name] = self._look[part](name)
        return self._known[part, name]

    def _part(self, name: str) -> str:
        folder, _, last = self.paths.absolute(name).rpartition(os.sep)
        return self.folders.module(folder, last)

    def _variable(self, name: str) -> str:
        """A short digest: a variable may hold a secret, which a long one could confirm."""
        value = self.installed.environment.get(name)
        if value is None:
            return ""
        text = f"{name}={value}".encode(errors="surrogateescape")
        return hashlib.sha256(text).hexdigest()[:8]

    def stored(self, needs: Needs, tops: Iterable[str]) -> Stored:
        """What to keep; ``tops`` are the top-level modules that the request names itself."""
        kept: Stored = {
            part: {
                self.paths.stored(path): state
                for path, state in getattr(needs, part).items()
                if part != "folders" or not (path + os.sep).startswith(self.outputs)
            }
            for part in _PLACES
        }
        for part in _NAMES:
            names = {*getattr(needs, part), *(tops if part == "modules" else ())}
            kept[part] = {name: self.value(part, name) for name in names}
        return {**kept, DEPENDS: self.depends}

    def changed(self, needs: Stored) -> str:
        """What has changed among ``needs``, in words; ``""`` where nothing has."""
        for part in PARTS:
            for name, before in needs[part].items():
                now = self.value(part, name)
                if now != before:
                    return _change(part, name, before, now)
        added = self.depends.keys() - needs[DEPENDS].keys()
        return f"jaxpr_depends has the new pattern {min(added)!r}" if added else ""


def _change(part: str, name: str, before: str, now: str) -> str:
    came = "now exists" if not before else "is gone" if not now else "changed"
    match part:
        case "folders":
            contents = "the contents of the folder " if before and now else ""
            return f"{contents}{name} {came}"
        case "modules" | "parts":
            folder = f"{os.path.dirname(name)}/" if part == "parts" else ""
            last = f"the module {os.path.basename(name)!r}"
            if not before:
                return f"{last} is now found: {folder}{now}"
            here = f"is now {folder}{now}" if now else "is no longer found"
            return f"{last} {here}, it was {folder}{before}"
        case "missing":
            return f"the module {name!r} {'is now installed' if now else 'is gone'}"
        case "distributions" if name == ALL_INSTALLED:
            return "the installed distributions changed"
        case "distributions":
            return f"{name} {before or '(none)'} is now {now or 'not installed'}"
        case "variables":
            return f"the environment variable {name} {came.replace('now exists', 'is now set')}"
        case "depends":
            return f"files of {name!r} in jaxpr_depends changed"
    return f"{name} {came}"


def are_stored(data: Any) -> bool:
    """Whether data is what :meth:`Present.stored` makes."""
    return (
        type(data) is dict
        and len(data) == len(PARTS)
        and all(
            type(data.get(part)) is dict and all(type(text) is str for text in data[part].values())
            for part in PARTS
        )
    )
