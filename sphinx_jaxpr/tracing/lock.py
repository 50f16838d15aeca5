"""The lock: of each block one JSON file, to be read by people and kept in git.

A file holds what was asked for, the version of JAX that answered, and the whole
result, so that pages made from it are those that were traced.  What a line of it
means is described in ``docs/reference/lock.md``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ..program.text import message, words
from . import request as requests
from .files import Cache, digest, read
from .folders import file_digest
from .grammar import Aval, Call, Mesh, Name, Ref, Value
from .outcome import problem
from .packs import Seen, read_seen, seen
from .request import Request

# --- the lock: of each block one JSON file, to be read by people and kept in git

#: Raised when the meaning of a file changes, or of the results in it.
SCHEMA: Final = 1

_PLAIN: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,78}[a-z0-9_-])?")
#: Names that Windows keeps for devices, whatever follows their first dot.
_DEVICES: Final = frozenset(
    ["con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10))]
)
#: Longest list that stands on one line.
_LINE: Final = 90
#: Of what a file tells the version, and what it says of a request.
_VERSIONS: Final = frozenset(["jax", "jaxlib", "python"])
_FLAGS: Final = ("jit", "x64", "expects_error")
_REQUEST: Final = frozenset(
    ["target", "args", "static", "transforms", "mesh", "around", "jaxpr_transforms", *_FLAGS]
)


# -- names of files --------------------------------------------------------------------


def file_name(name: str, docname: str = "") -> str:
    """The file of a block, relative to the lock's folder, with ``/``.

    ``docname`` is that of the page where the name holds for a page alone.  Whatever
    some system can't have as a file's name, or takes for another one, gets a hash.
    """
    folders = [_segment(part) for part in docname.split("/")] if docname else []
    return "/".join([*folders, f"{_segment(name)}.json"])


def _segment(name: str) -> str:
    device = name.partition(".")[0] in _DEVICES
    if _PLAIN.fullmatch(name) and not device and not name.endswith(".json"):
        return name
    slug = re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:40].strip(".-").replace(".", "_")
    data = name.encode("utf-8", "surrogatepass")  # half a character has a hash as well
    return f"{slug}~{hashlib.sha256(data).hexdigest()[:8]}"


def stored(folder: Path) -> Iterator[str]:
    """The files of a lock's folder, relative to it, with ``/``."""
    found = []
    for above, _, names in os.walk(folder):  # what can't be read is as if it were not there
        for name in names:
            path = Path(above, name)
            if name.endswith(".json") and path.is_file():
                found.append(path.relative_to(folder))
    yield from (path.as_posix() for path in sorted(found))


# -- what was asked for ----------------------------------------------------------------


def readable(request: Request) -> dict[str, Any]:
    """A request as its author wrote it; two requests that differ differ in it."""
    found: dict[str, Any] = {"target": request.target}
    if request.args:
        found["args"] = ", ".join(f"{n}={written(v)}" if n else written(v) for n, v in request.args)
    if request.static:
        found["static"] = ", ".join(f"{key}={written(value)}" for key, value in request.static)
    if request.steps:
        found["transforms"] = " | ".join(
            f"{step.name}({', '.join(f'{k}={written(v)}' for k, v in step.options)})"
            if step.options
            else step.name
            for step in request.steps
        )
    if request.third_party:
        found["jaxpr_transforms"] = dict(request.third_party)
    if request.mesh:
        found["mesh"] = str(request.mesh) if isinstance(request.mesh, Mesh) else request.mesh.text
    if request.around:
        found["around"] = ", ".join([*request.around, *(["bare"] if request.bare else [])])
    for flag in _FLAGS:
        if getattr(request, flag):
            found[flag] = True
    return found


def written(value: Value) -> str:
    """A value as it is written in an option."""
    match value:
        case Name(text):
            return text
        case Aval() | Ref():
            return str(value)
        case Call(name, items):
            return f"{name}({', '.join(map(written, items))})"
        case tuple():
            inner = ", ".join(map(written, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        case list():
            return f"[{', '.join(map(written, value))}]"
        case dict():
            # A plain word as a key is a string here, whether quoted or not.
            return "{" + ", ".join(f"{k!r}: {written(v)}" for k, v in value.items()) + "}"
    return repr(value)


def differing(asked: dict[str, Any], locked: dict[str, Any]) -> str:
    """How two requests differ, in words."""
    said = []
    for key in dict.fromkeys([*asked, *locked]):
        if asked.get(key) != locked.get(key):
            here, there = (words(str(found.get(key, "none")), 100) for found in (asked, locked))
            said.append(f"{key} {here} here, {there} there")
    return message("; ".join(said))


# -- files -----------------------------------------------------------------------------


def encoded(
    block: str, request: Request, result: dict[str, Any], versions: dict[str, str]
) -> dict[str, Any]:
    """The data of a file, texts as lists of lines."""
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "block": block,
        "versions": {"jax": result.get("jax", ""), **versions},
        "request": readable(request),
    }
    if "text" in result:
        data["text"] = result["text"].split("\n")
    source = result.get("source")
    if source:
        data["source"] = {**source, "text": source["text"].split("\n")}
    rest = {k: v for k, v in result.items() if k not in ("jax", "text", "source")}
    return {**data, **dict(sorted(rest.items()))}


def decoded(data: dict[str, Any]) -> dict[str, Any]:
    """The result in a file: the inverse of :func:`encoded`."""
    rest = ("schema", "block", "versions", "request")
    result = {key: value for key, value in data.items() if key not in rest}
    result["jax"] = data["versions"]["jax"]
    if "text" in data:
        result["text"] = "\n".join(data["text"])
    if "source" in data:
        result["source"] = {**data["source"], "text": "\n".join(data["source"]["text"])}
    return result


def load(path: Path) -> dict[str, Any] | None:
    """The data of a file, ``None`` where it is no whole lock file of this schema."""
    data = read(path)
    return data if _is_lock(data) else None


def unchanged(old: dict[str, Any] | None, new: dict[str, Any]) -> bool:
    """Whether a file need not be written: jaxlib and Python alone are no reason."""
    if old is None:
        return False
    kept = [{**data, "versions": {"jax": data["versions"]["jax"]}} for data in (old, new)]
    return bool(kept[0] == json.loads(json.dumps(kept[1])))


def dumped(data: dict[str, Any]) -> str:
    """The text of a file: one line for each line of a program, each equation, each fact."""
    rows = [f"  {json.dumps(key)}: {_pretty(value, 1)}" for key, value in data.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def _json(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair: only an escape can stand for it
        return json.dumps(value, sort_keys=True, allow_nan=False)
    return text


def _pretty(value: Any, depth: int) -> str:
    short = _json(value)
    lines = isinstance(value, list) and depth <= 2 and all(isinstance(v, str) for v in value)
    if not value or depth > 4 or not isinstance(value, (list, dict)):
        return short
    if len(short) <= _LINE and not (lines and len(value) > 1):
        return short
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, list):
        rows = [inner + _pretty(item, depth + 1) for item in value]
        return "[\n" + ",\n".join(rows) + f"\n{outer}]"
    rows = [
        f"{inner}{_json(key)}: {_pretty(item, depth + 1)}" for key, item in sorted(value.items())
    ]
    return "{\n" + ",\n".join(rows) + f"\n{outer}}}"


def signature(path: Path) -> list[int] | None:
    """What changes when a file is written; ``None`` where there is none."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return [state.st_size, state.st_mtime_ns]


# -- whether data is a lock file -------------------------------------------------------


def _is_lock(data: Any) -> bool:
    """Whether each field of a file is what we write: nothing in it is believed unchecked."""
    try:
        return bool(
            data["schema"] == SCHEMA
            and type(data["block"]) is str
            and _are_versions(data["versions"])
            and _is_request(data["request"])
            and ("text" not in data or _are_texts(data["text"]))
            and ("source" not in data or _are_texts(data["source"]["text"]))
            and not problem(decoded(data))
        )
    except (KeyError, TypeError, AttributeError, RecursionError):
        return False


def _are_texts(data: Any) -> bool:
    return type(data) is list and all(type(item) is str for item in data)


def _are_versions(data: Any) -> bool:
    texts = all(type(text) is str and len(text) <= _LINE for text in data.values())
    return texts and "jax" in data and data.keys() <= _VERSIONS


def _is_request(data: Any) -> bool:
    """Whether it is what :func:`readable` makes."""
    for name, value in data.items():
        if name == "jaxpr_transforms":
            if not all(type(path) is str for path in value.values()):
                return False
        elif type(value) is not (bool if name in _FLAGS else str) or name not in _REQUEST:
            return False
    return "target" in data


# --- results that come from the lock instead of a trace

INDEX: Final = "lock-index.txt"
_SCHEMA: Final = [SCHEMA, requests.SCHEMA]


class LockFolder:
    """The lock of a project, read where its files are not known to be as they were.

    ``shown`` is the folder as its messages name it; ``kept`` has the index, which is only a
    shortcut for builds in which nothing changed.  What changed is known by digests: times
    of files say nothing on another machine.
    """

    def __init__(self, folder: Path, shown: str, kept: Cache) -> None:
        self.folder = folder
        self.shown = shown
        self.kept = kept
        self.loaded: dict[str, dict[str, Any] | None] = {}
        self.results: dict[str, dict[str, Any]] = {}
        found = kept.data(INDEX)
        known = type(found) is dict and found.get("schema") == _SCHEMA
        rows = found.get("files") if known else None
        self.rows: dict[str, Any] = rows if type(rows) is dict else {}

    @property
    def exists(self) -> bool:
        """Whether the project has a lock at all."""
        return os.path.isdir(self.folder)

    def data(self, file: str) -> dict[str, Any] | None:
        """The data of a file, ``None`` where it is missing or damaged."""
        if file not in self.loaded:
            self.loaded[file] = load(self.folder / file)
        return self.loaded[file]

    def result(self, file: str) -> dict[str, Any] | None:
        """The result in a file."""
        if file not in self.results:
            data = self.data(file)
            if data is None:
                return None
            self.results[file] = decoded(data)
        return self.results[file]

    def look(self, file: str, request: Request, asked: str) -> tuple[Seen, str]:
        """What the result in a file shows, or why it can't be used.

        ``asked`` is the digest of the request, for which a file is looked at but once.
        """
        state = file_digest(str(self.folder / file))
        row: Any = self.rows.get(file)
        if state and type(row) is list and row[:2] == [state, asked] and len(row) == 3:
            known = read_seen(row[2])
            if known is not None:
                return known, ""
        problem = self.problem(file, request)
        if problem:
            return Seen(digest(problem), ""), problem
        found = seen(self.result(file) or {})
        self.rows[file] = [state, asked, [*found]]
        return found, ""

    def problem(self, file: str, request: Request) -> str:
        """Why a file can't be used for a request, or ``""``."""
        make = "`sphinx-build -b jaxpr-lock` makes it"
        place = f"{self.shown}/{file}"
        if not self.exists:
            return f"there is no lock: {make} in {self.shown}"
        if signature(self.folder / file) is None:
            return f"it is not in the lock ({place}); {make}"
        data = self.data(file)
        if data is None:
            return f"{place} is no whole lock file (a conflict that was left?); {make} anew"
        if data["request"] != readable(request):
            said = differing(readable(request), data["request"])
            return f"{place} was made for another request: {said}; {make} anew"
        return ""

    def flush(self) -> None:
        """Keep what was looked at."""
        rows = {name: row for name, row in self.rows.items() if os.path.exists(self.folder / name)}
        self.kept.keep(INDEX, {"schema": _SCHEMA, "files": rows})
