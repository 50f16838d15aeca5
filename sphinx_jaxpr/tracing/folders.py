"""The content of folders: modules as an import would find them, and whose files they are.

Nothing is imported, and nothing depends on the interpreter: with these functions the worker
records what a program needed, and every later build compares.
"""

from __future__ import annotations

import glob
import hashlib
import os
import site
import stat
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from .files import MOST, digest, opened
from .jobs import is_page_code

# --- modules, names and kinds of paths

#: Endings of modules, in the order in which Python tries them.
_EXTENSIONS: Final = (".so", ".pyd")  # with a tag of the interpreter before it, or without
_PLAIN: Final = (".py", ".pyc")
#: Files that Python itself puts into a folder of modules.
_BYTE_CODE: Final = "__pycache__"
#: Folders below the import roots that are searched for a module that was not found.
_SEARCHED: Final = 2_000
_DEPTH: Final = 5
#: How many bytes of a file are read at a time.
_PART: Final = 2**20


class Folders:
    """Folders, each listed once."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, bool] | None] = {}

    def names(self, folder: str) -> dict[str, bool] | None:
        """Names in a folder, each with whether it is a folder; ``None`` if there is none."""
        if folder not in self._names:
            try:
                with os.scandir(folder) as entries:
                    names = {entry.name: entry.is_dir() for entry in entries}
            except (OSError, ValueError):
                self._names[folder] = None
            else:
                names.pop(_BYTE_CODE, None)
                self._names[folder] = names
        return self._names[folder]

    def digest(self, folder: str) -> str:
        """A digest of the names in a folder, ``""`` where there is none."""
        names = self.names(folder)
        if names is None:
            return ""
        text = "\n".join(f"{name}/" if names[name] else name for name in sorted(names))
        return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()

    def module(self, folder: str, name: str) -> str:
        """What an import of ``name`` finds in a folder, relative to it; ``""`` for nothing.

        ``name/`` is a folder without ``__init__``, which counts only where no other folder
        of the search has the module.
        """
        names = self.names(folder)
        if not names:
            return ""
        if names.get(name):
            inside = self._file(os.path.join(folder, name), "__init__")
            if inside:
                return f"{name}/{inside}"
        return self._file(folder, name) or (f"{name}/" if names.get(name) else "")

    def _file(self, folder: str, name: str) -> str:
        names = self.names(folder) or {}
        start = f"{name}."
        if not any(file.startswith(start) for file in names):
            return ""
        for file in sorted(names):
            if file.startswith(start) and file.endswith(_EXTENSIONS) and not names[file]:
                return file
        plain = (name + ending for ending in _PLAIN)
        return next((file for file in plain if names.get(file) is False), "")

    def search(self, name: str, folders: Iterable[str]) -> dict[str, str]:
        """Each folder up to the one where an import finds ``name``, with what it has of it."""
        looked: dict[str, str] = {}
        for folder in folders:
            looked[folder] = hit = self.module(folder, name)
            if hit and not hit.endswith("/"):
                break
        return looked

    def places(self, name: str, roots: Iterable[str]) -> list[str]:
        """The files of all modules that a dotted name could mean, in order of the search.

        The part of the name that is a module counts: the rest may be an object inside it.
        A package hides the others of its name with all that they hold.
        """
        folders, hidden = list(roots), list[str]()
        places: list[str] = []
        for part in name.split("."):
            hits = [(folder, self.module(folder, part)) for folder in folders]
            files = [(folder, hit) for folder, hit in hits if hit and not hit.endswith("/")]
            if files:
                first, hit = files[0]
                hits += [(folder, self.module(folder, part)) for folder in hidden]
                others = [(f, h) for f, h in hits if h and not h.endswith("/") and f != first]
                files = [(first, hit), *others]
                places = [os.path.join(folder, hit) for folder, hit in files]
                inside = "/" in hit
                folders = [os.path.join(first, part)] if inside else []
                hidden = [os.path.join(folder, part) for folder, other in others if "/" in other]
            else:
                folders = [os.path.join(folder, part) for folder, hit in hits if hit]
                hidden = [os.path.join(folder, part) for folder in hidden]
                if not folders:
                    break
                places = []
        return places


def kind(path: str, *, sized: bool = False) -> str:
    """The kind of a path: ``folder``, ``file``, ``other``, or ``""``; with a file's size.

    Includes a digest of a link's target, and whether a file is executable.
    """
    try:
        link = os.readlink(path)
    except (OSError, ValueError):
        return _kind(path, sized=sized)
    target = hashlib.sha256(os.fsencode(link)).hexdigest()[:12]
    return " ".join(filter(None, [f"link {target}", _kind(path, sized=sized)]))


def _kind(path: str, *, sized: bool) -> str:
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(state.st_mode):
        return "folder"
    if not stat.S_ISREG(state.st_mode):
        return "other"
    file = "executable file" if state.st_mode & 0o111 else "file"
    return f"{file} of {state.st_size} bytes" if sized else file


def file_digest(path: str) -> str:
    """SHA-256 of a regular file, ``""`` where there is none.

    For a very large file, of its beginning, size and time.  Reading stops at the stated size:
    files of the kernel may have no end, or block.
    """
    try:
        with opened(path) as stream:
            state = os.fstat(stream.fileno())
            content, left = hashlib.sha256(), min(state.st_size, MOST)
            while left > 0 and (part := stream.read(min(left, _PART))):
                content.update(part)
                left -= len(part)
    except OSError:
        return ""
    if state.st_size > MOST:
        content.update(f"{state.st_size} {state.st_mtime_ns}".encode())
    return content.hexdigest()


def dotted_names(file: str, roots: Iterable[str]) -> Iterator[str]:
    """The names by which a file below one of the roots could be imported, shortest first."""
    stem = file.removesuffix(f"{os.sep}__init__.py").removesuffix(".py")
    names = set()
    for root in roots:
        inside = os.path.join(root, "")
        parts = stem.removeprefix(inside).split(os.sep)
        if stem.startswith(inside) and all(part.isidentifier() for part in parts):
            names.add(".".join(parts))
    return iter(sorted(names, key=lambda name: (name.count("."), name)))


def beneath(name: str, roots: Iterable[str]) -> list[str]:
    """Dotted names of modules with this last name anywhere below the roots, up to a limit."""
    roots = list(roots)
    dotted: dict[str, None] = {}
    for folder, names in islice(_folders(roots), _SEARCHED):
        for file in (f"{name}.py", f"{name}/__init__.py"):
            if file in names or ("/" in file and os.path.isfile(os.path.join(folder, file))):
                path = os.path.join(folder, *file.split("/"))
                dotted.update(dict.fromkeys(islice(dotted_names(path, roots), 1)))
    return list(dotted)


def _folders(roots: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The roots, then the folders in them, level by level, as far as they can be packages."""
    level = roots
    seen: set[str] = set()
    for _ in range(_DEPTH):
        below: list[str] = []
        for folder in level:
            real = os.path.realpath(folder)
            if real in seen:
                continue
            seen.add(real)
            try:
                with os.scandir(folder) as entries:
                    listed = {entry.name: entry.is_dir() for entry in entries}
            except OSError:
                continue
            yield folder, sorted(listed)
            packages = (item for item, inside in sorted(listed.items()) if inside)
            below += [os.path.join(folder, item) for item in packages if item.isidentifier()]
        level = below


# --- files that all programs depend on: those that ``jaxpr_depends`` matches

#: Names that no program depends on, even if a pattern matches them.
_NEVER = ("__pycache__", ".git")


def digests(
    patterns: Iterable[str], folder: str, outputs: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """For each pattern a digest of the files that it matches, and the patterns without any."""
    by_pattern, empty = {}, []
    for pattern in patterns:
        files = sorted(set(matches(pattern, folder, outputs)))
        if not files:
            empty.append(pattern)
        listed = [[name, file_digest(os.path.join(folder, name))] for name in files]
        by_pattern[pattern] = digest(listed)
    return by_pattern, empty


def matches(pattern: str, folder: str, outputs: Sequence[str]) -> Iterator[str]:
    """Files that a pattern matches, relative to ``folder``; for a folder, all files in it."""
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


# --- which folders belong to the interpreter, and which to the project


def _site_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[k] for k in ("stdlib", "platstdlib", "purelib", "platlib") if k in paths}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    folders.add(site.getusersitepackages())
    folders.update(os.path.realpath(folder) for folder in list(folders))
    return tuple(sorted(os.path.join(folder, "") for folder in folders))


#: The interpreter's own folders, each with a separator at its end.
SITE_FOLDERS = _site_folders()


#: Folders of a project inside these, once they are known.
_own: tuple[str, ...] = ()


def has_inside(roots: Iterable[str]) -> None:
    """Declare the import roots: those inside the interpreter's folders are the project's."""
    global _own
    folders = (os.path.join(root, "") for root in roots)
    _own = tuple(
        folder
        for folder in folders
        if folder.startswith(SITE_FOLDERS) and folder not in SITE_FOLDERS
    )


def project_in(folder: str) -> str:
    """The project of ``folder``, if that is inside the interpreter's folders, or ``""``."""
    path = os.path.join(folder, "")
    above = max((site for site in SITE_FOLDERS if path.startswith(site)), key=len, default=path)
    inside = path[len(above) :].partition(os.sep)[0]
    return os.path.join(above, inside, "") if inside else ""


def is_project_file(path: str) -> bool:
    """Whether ``path`` is outside the interpreter's own folders, or the code of a page."""
    if not path or path.startswith("<"):
        return is_page_code(path)
    return not path.startswith(SITE_FOLDERS) or path.startswith(_own)
