"""Paths in results: relative to the project, never a home folder's name."""

from __future__ import annotations

import marshal
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from ..program.text import spelled, spelled_all
from .files import canonical
from .folders import Folders, dotted_names

if TYPE_CHECKING:
    from .result import EncodedResult, ReceivedResult, Result, TraceError

#: A memory address in a text: in Python's default reprs, in effects, in names of objects.
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{6,}")
#: An ``id()`` as JAX's messages write it: ``BatchTracer with object id 140174``,
#: ``Var(id=140174)``, ``<DynamicJaxprTracer 140174>``.
_IDENTITY: Final = re.compile(r"(\bobject id |\bVar\(id=|<\w*Tracer )\d+\b")
#: What each of these begins or ends with.
_SIGNS: Final = ("object id ", "Var(id=", "Tracer ")

#: The end of a folder in which libraries are installed, wherever it is.
_SITE: Final = re.compile(
    r"[/\\][Ll]ib(?:64)?[/\\](?:(?:python|pypy)[\d.]*t?[/\\])?(?:site|dist)-packages[/\\]"
)
#: Characters that end a path, and where a path begins.
_ENDS: Final = "\"' \n\t<>"
_BEGINS: Final = re.compile(r"(?<![\w.-])(?:/|[A-Za-z]:[/\\])")

#: Files that mark the folder of a project: of version control, or else of its build.
_VERSIONED: Final = (".git", ".hg", ".jj", ".svn")
_BUILT: Final = ("pyproject.toml", "setup.py", "setup.cfg")


class PathMasker:
    """Masks the folders of this machine: the project's, import roots, and the home folder.

    In a text, such a folder is masked where a path begins with it; other paths are left alone.
    """

    def __init__(self, source: str, roots: Iterable[str]) -> None:
        self.source = os.path.abspath(source)
        self.home = os.path.expanduser("~")
        self.folders = Folders()
        self.roots = [os.path.abspath(root) for root in roots if root]
        above = _above(self.source, self.home)
        project = _project(self.source, above)
        is_at_home = _lies_in(self.source, self.home)
        own = {path: to for path, to in above.items() if is_at_home or _lies_in(path, project)}
        self.masks = _Masks(self._shown(own))
        #: For paths only, of files that are known to be the project's.
        self.wide = _Masks(self._shown(above))
        #: The folders among these that look like folders of installed libraries, but aren't.
        self.inner = _Masks({p: to for p, to in self.wide.folders.items() if _SITE.search(p)})
        self._displayed: dict[str, str] = {}  # by the names of files

    def _shown(self, above: Mapping[str, str]) -> dict[str, str]:
        short = {**above, self.home: "~", **dict.fromkeys(self.roots, "."), self.source: "."}
        short.update({os.path.realpath(path): to for path, to in short.items()})
        return {path: to for path, to in short.items() if path.strip(os.sep)}

    def hide(self, text: str) -> str:
        """``text`` with the folders of this machine masked in place."""
        return self.masks.masked(self._without_site(text))

    def displayed(self, file: str) -> str:
        """A file of the user's code for display, without the folders above the project."""
        return self.wide.masked(self._without_site(file))

    def _without_site(self, text: str) -> str:
        return _without_site(self.inner.masked(text)) if "-packages" in text else text

    def hide_all(self, data: Any, depth: int = 2) -> Any:
        """``hide`` for every text in JSON data.

        The large parts of a result, ``depth`` levels down, rarely name a folder, so each is
        first checked as a whole.
        """
        if isinstance(data, str):
            return self.hide(data)
        if not isinstance(data, (list, dict)) or (depth >= 0 and not self._may_hide(data)):
            return data
        if isinstance(data, list):
            return [self.hide_all(item, depth - 1) for item in data]
        return {self.hide(key): self.hide_all(item, depth - 1) for key, item in data.items()}

    def _may_hide(self, data: Any) -> bool:
        """Whether ``data`` can contain a folder, by one search of all its texts."""
        written = marshal.dumps(data)
        return b"-packages" in written or any(part in written for part in self.masks.parts)

    def received(self, received: ReceivedResult) -> tuple[Result, EncodedResult]:
        """A program without the folders of this machine, and its texts.

        The larger text, with the program itself, stays as it came where one look shows that
        it names no folder.
        """
        from .result import EncodedResult, encoded, joined, split

        texts = received.texts
        if self._may_name(texts.visible):
            result = self.result(received.result)
            return result, encoded(result.to_json())
        visible, rest = split(received.data)
        rest = self.hide_all(self._with_files_displayed(rest))
        masked = EncodedResult(texts.visible, canonical(rest).encode())
        return type(received.result).from_json(joined(visible, rest)), masked

    def result(self, result: Result) -> Result:
        """A result, or an error in one, without the folders of this machine."""
        from .result import joined, split

        visible, rest = split(result.to_json())
        data = self.hide_all(joined(visible, self._with_files_displayed(rest)))
        hidden = type(result).from_json(data)
        return replace(hidden, error=self.error(result.error)) if result.error else hidden

    def _with_files_displayed(self, rest: Mapping[str, Any]) -> Mapping[str, Any]:
        """The part of a result that names files, which are known to be the project's."""
        rest = dict(rest)
        if rest.get("source"):
            rest["source"] = {**rest["source"], "file": self._file(rest["source"]["file"])}
        if "sources" in rest:
            rest["sources"] = [[self._file(file), *more] for file, *more in rest["sources"]]
        return rest

    def _may_name(self, text: bytes) -> bool:
        """Whether JSON can name a folder.

        Without these escapes JSON has one way to write a text, so none that names a folder
        is missed, whoever wrote it.
        """
        if not text.isascii() or b"\\u" in text or b"\\/" in text:
            return True
        return b"-packages" in text or any(part in text for part in self.masks.json_parts)

    def _file(self, file: str) -> str:
        if file not in self._displayed:
            self._displayed[file] = self.displayed(file)
        return self._displayed[file]

    def error(self, error: TraceError) -> TraceError:
        """An error without the folders of this machine; control characters are spelled out.

        The worker spells them out already, but an error of its client may contain some.
        """
        data = error.to_json()
        for frame in data["frames"]:
            frame["file"] = self.displayed(frame["file"])
        return type(error).from_json(spelled_all(self.hide_all(data)))

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
        """The file of a top-level module among the roots, as stored; ``""`` if elsewhere.

        Folders without ``__init__`` count only if nothing else is found, and then all count.
        """
        looked = self.folders.search(name, self.roots)
        for root, hit in looked.items():
            if hit and not hit.endswith("/"):
                return self.stored(os.path.join(root, hit))
        parts = [os.path.join(root, name) for root, hit in looked.items() if hit]
        return os.pathsep.join(map(self.stored, parts))

    def places(self, name: str) -> list[str]:
        """The files that a dotted name of a page could mean, the one that counts first."""
        files: dict[str, str] = {}
        for file in self.folders.places(name, self.roots):
            files.setdefault(os.path.realpath(file), file)
        return list(files.values())

    def other_name(self, file: str) -> str:
        """A dotted name that means a file below the roots and no other, or ``""``."""
        names = dotted_names(file, self.roots)
        return next((name for name in names if self.places(name) == [file]), "")


def _above(source: str, home: str) -> dict[str, str]:
    """The folders above the source folder, up to the home folder."""
    folders = {}
    path, short = os.path.dirname(source), ".."
    while path not in (home, os.path.dirname(path)):
        folders[path] = short
        path, short = os.path.dirname(path), os.path.join(short, "..")
    return folders


def _project(source: str, above: Iterable[str]) -> str:
    """The folder of the project that a source folder belongs to, at least itself."""
    for marks in (_VERSIONED, _BUILT):
        for path in (source, *above):
            if any(os.path.exists(os.path.join(path, mark)) for mark in marks):
                return path
    return source


def _lies_in(path: str, folder: str) -> bool:
    return len(folder) > 1 and os.path.join(path, "").startswith(os.path.join(folder, ""))


def _without_site(text: str) -> str:
    """``text`` without the folders that libraries are installed in.

    Each is searched for from its end, so that any text is read once.
    """
    parts, done = [], 0
    for match in _SITE.finditer(text):
        cut = max(text.rfind(end, done, match.start()) for end in _ENDS) + 1
        begins = _BEGINS.search(text, max(cut, done), match.start() + 1)
        if begins is not None:
            parts.append(text[done : begins.start()])
            done = match.end()
    return "".join([*parts, text[done:]])


def mask(text: str) -> str:
    """``text`` with memory addresses masked, which change from run to run.

    They look as in JAX's own prints, where addresses are masked too.
    """
    if "0x" in text:
        text = _ADDRESS.sub("0xXXXXXXXXXXXX", text)
    if any(sign in text for sign in _SIGNS):  # most texts have none, and the search takes long
        text = _IDENTITY.sub(r"\1XXXXXXXXXXXX", text)
    return text


class _Masks:
    """Replaces folders at the beginning of paths by their short forms.

    A folder is recognized as it is, as in a Python literal, and quoted as in a URL.
    """

    def __init__(self, short: Mapping[str, str]) -> None:
        self.folders = short
        self.short = {form: to for path, to in short.items() for form in _forms(path)}
        forms = sorted(self.short, key=len, reverse=True)
        #: A part of each folder: a text without any of these contains no folder.
        self.least = [f for f in forms if not any(o in f for o in forms if o != f)]
        self.parts = [form.encode("utf-8", "surrogatepass") for form in self.least]
        self.json_parts = [canonical(form)[1:-1].encode() for form in self.least if form.isascii()]
        first: dict[str, list[str]] = {}
        for form in forms:
            first.setdefault(form[0], []).append(form)
        self._first = first

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """Finds the folders, by the first character of each; few builds have a text with one."""
        return [_pattern(begin, alike) for begin, alike in self._first.items()]

    def masked(self, text: str) -> str:
        """``text`` with each folder replaced by its short form."""
        if any(part in text for part in self.least):
            for pattern in self.patterns:
                text = pattern.sub(self._short, text)
        return text

    def _short(self, match: re.Match[str]) -> str:
        short = self.short[match["folder"]]
        separator = match["separator"] or ""
        # Inside the project its own folder is omitted.
        return "" if short == "." and match["inside"] is not None else short + separator


def _forms(path: str) -> Iterator[str]:
    """How a folder is written in a text."""
    plain = spelled(path)
    yield from (path, plain, plain.replace("\\", "\\\\"), ascii(path)[1:-1])
    url = path.replace(os.sep, "/")
    yield url
    with_quotes = os.fsencode(url)
    yield quote(with_quotes)
    yield quote(with_quotes, safe="")


def _pattern(begin: str, forms: Iterable[str]) -> re.Pattern[str]:
    """Finds folders that begin with one character, where a path can begin and end.

    A folder with a single name may look like other paths, such as those in a tree of
    parameters.  So it must be where a path begins, not just where no name continues.
    """
    first = re.escape(begin)
    deep: list[str] = []
    single: list[str] = []
    for form in forms:
        names = list(filter(None, re.split(r"[/\\]+|%2F|%5C", form)))
        (deep if len(names) > 1 else single).append(re.escape(form[1:]))
    free = rf"(?:(?<=%..{first})|(?<![\w.-]{first}))"
    strict = rf"(?:(?<=file://{first})|(?<![\w.)\]}}~/\\-]{first}))"
    kinds = [(free, deep), (strict, single)]
    folders = "|".join(f"{before}(?:{'|'.join(rest)})" for before, rest in kinds if rest)
    after = r"/|%2F" if os.sep == "/" else r"[/\\]{1,2}|%2F|%5C"
    ends = r"(?![\w+@~$%-]|\.\w)"
    return re.compile(
        rf"(?P<folder>{first}(?:{folders}))(?:(?P<separator>{after})(?P<inside>(?=[\w.~*{{$%-]))?|{ends})"
    )
