"""The lock: one JSON file for each block, and results that come from there instead of a trace.

A file holds the request, the version of JAX that traced it, and the whole result, so that
pages built from it equal those that were traced.  ``docs/reference/lock.md`` describes the
format.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from ..program.text import message, words
from . import jobs
from .checks import problem
from .files import Cache, JsonObject, digest, read
from .folders import file_digest
from .grammar import Aval, Call, Mesh, Name, Ref, Value
from .packs import Seen, read_seen, seen
from .request import Request
from .result import Result
from .specs import call_source, nested_source

# --- the files of the lock

#: Raised when the meaning of a file changes, or of the results in it.
SCHEMA: Final = 1

#: Longest list on one line, in characters.
_LINE: Final = 90
#: Parts of a file that do not belong to the result.
_OWN: Final = frozenset(["schema", "block", "versions", "request"])
#: The programs whose versions a file names, and the fields of a request.
_VERSIONS: Final = frozenset(["jax", "jaxlib", "python"])
#: Digits of the page's code.
_DIGITS: Final = 20
_FLAGS: Final = ("jit", "x64", "expects_error")
_REQUEST: Final = frozenset(
    [
        "target",
        "args",
        "static",
        "transforms",
        "mesh",
        "make",
        "then",
        "around",
        "jaxpr_transforms",
        "code",
        *_FLAGS,
    ]
)


def stored(folder: Path) -> Iterator[str]:
    """The files of a lock's folder, relative to it, with ``/``."""
    paths = []
    for above, _, names in os.walk(folder):  # unreadable files count as missing
        for name in names:
            path = Path(above, name)
            if name.endswith(".json") and path.is_file():
                paths.append(path.relative_to(folder))
    yield from (path.as_posix() for path in sorted(paths))


# -- what was asked for ----------------------------------------------------------------


#: A request as its author wrote it: options by name.
WrittenRequest: TypeAlias = Mapping[str, str | bool | Mapping[str, str]]


def readable(request: Request) -> WrittenRequest:
    """A request as its author wrote it; different requests have different forms."""
    form: dict[str, str | bool | Mapping[str, str]] = {"target": request.target}
    if request.args:
        form["args"] = ", ".join(f"{n}={written(v)}" if n else written(v) for n, v in request.args)
    if request.static:
        form["static"] = ", ".join(f"{key}={written(value)}" for key, value in request.static)
    if request.steps:
        form["transforms"] = " | ".join(
            f"{step.name}({', '.join(f'{k}={written(v)}' for k, v in step.options)})"
            if step.options
            else step.name
            for step in request.steps
        )
    if request.third_party:
        form["jaxpr_transforms"] = dict(request.third_party)
    if request.make is not None:
        form["make"] = ", ".join(f"{n}={written(v)}" if n else written(v) for n, v in request.make)
        form["make"] = form["make"] or "()"
    if request.then:
        form["then"] = request.then
    if request.mesh:
        form["mesh"] = str(request.mesh) if isinstance(request.mesh, Mesh) else request.mesh.text
    if request.around:
        form["around"] = ", ".join([*request.around, *(["bare"] if request.bare else [])])
    if request.code:
        form["code"] = request.code[:_DIGITS]
    for flag in _FLAGS:
        if getattr(request, flag):
            form[flag] = True
    return form


def written(value: Value) -> str:
    """A value as it is written in an option."""
    match value:
        case Name(text):
            return text
        case Aval() | Ref():
            return str(value)
        case Call():
            return call_source(value, written)
    return nested_source(value, written) or repr(value)


def differing(asked: WrittenRequest, locked: WrittenRequest) -> str:
    """How two requests differ, in words."""
    changes = []
    for key in dict.fromkeys([*asked, *locked]):
        if key == "code" and asked.get(key, "") != locked.get(key, ""):
            changes.append("the page's code above the block is not the same")
        elif asked.get(key) != locked.get(key):
            here, there = (words(str(form.get(key, "none")), 100) for form in (asked, locked))
            changes.append(f"{key} {here} here, {there} there")
    return message("; ".join(changes))


# -- files -----------------------------------------------------------------------------


@dataclass(frozen=True)
class LockFile:
    """The content of a file: a request, the versions that traced it, and the result.

    ``block`` is the name of the block, ``versions`` has at least ``jax``, as the result has.
    """

    block: str
    versions: Mapping[str, str]
    request: WrittenRequest
    result: Result

    @classmethod
    def of(
        cls, block: str, request: Request, result: Result, versions: Mapping[str, str]
    ) -> LockFile:
        """The file of a result; ``versions`` are the others beside JAX's."""
        return cls(block, {"jax": result.jax, **versions}, readable(request), result)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LockFile:
        """Read what :meth:`to_json` wrote and :func:`load` has checked."""
        return cls(
            data["block"], data["versions"], data["request"], Result.from_json(_result_of(data))
        )

    def to_json(self) -> JsonObject:
        """Plain data, texts as lists of lines."""
        result = self.result.to_json()
        data: JsonObject = {
            "schema": SCHEMA,
            "block": self.block,
            "versions": dict(self.versions),
            "request": dict(self.request),
        }
        if "text" in result:
            data["text"] = result["text"].split("\n")
        if source := result.get("source"):
            data["source"] = {**source, "text": source["text"].split("\n")}
        rest = {k: part for k, part in result.items() if k not in ("jax", "text", "source")}
        return {**data, **dict(sorted(rest.items()))}

    def text(self) -> str:
        """The file: one line for each line of a program, each equation, each fact."""
        rows = [f"  {json.dumps(key)}: {_pretty(part, 1)}" for key, part in self.to_json().items()]
        return "{\n" + ",\n".join(rows) + "\n}\n"

    def is_unchanged(self, new: LockFile) -> bool:
        """Whether a file can stay: new versions of jaxlib or Python alone don't count."""
        jax = {"jax": self.versions["jax"]}
        return replace(self, versions=jax) == replace(new, versions={"jax": new.versions["jax"]})

    def differing_parts(self, new: LockFile) -> list[str]:
        """The names of the parts that differ, as the file has them."""
        old_data, new_data = self.to_json(), new.to_json()
        names = dict.fromkeys([*old_data, *new_data])
        return [name for name in names if old_data.get(name) != new_data.get(name)]


def load(path: Path) -> LockFile | None:
    """The content of a file; ``None`` unless it is a complete lock file of this schema."""
    data = read(path)
    return LockFile.from_json(data) if _is_lock(data) else None


def _result_of(data: Mapping[str, Any]) -> JsonObject:
    """The JSON of the result in a file."""
    result = {key: part for key, part in data.items() if key not in _OWN}
    result["jax"] = data["versions"]["jax"]
    if "text" in data:
        result["text"] = "\n".join(data["text"])
    if "source" in data:
        result["source"] = {**data["source"], "text": "\n".join(data["source"]["text"])}
    return result


def _json(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate can only be escaped
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
    """Whether each field of a file is valid: nothing is trusted unchecked."""
    try:
        return bool(
            data["schema"] == SCHEMA
            and type(data["block"]) is str
            and _are_versions(data["versions"])
            and _is_request(data["request"])
            and ("text" not in data or _are_texts(data["text"]))
            and ("source" not in data or _are_texts(data["source"]["text"]))
            and not problem(_result_of(data))
        )
    except (KeyError, TypeError, AttributeError, RecursionError):
        return False


def _are_texts(data: Any) -> bool:
    return type(data) is list and all(type(item) is str for item in data)


def _are_versions(data: Any) -> bool:
    texts = all(type(text) is str and len(text) <= _LINE for text in data.values())
    return texts and "jax" in data and data.keys() <= _VERSIONS


def _is_request(data: Any) -> bool:
    """Whether it has the form of :func:`readable`."""
    for name, value in data.items():
        if name == "jaxpr_transforms":
            if not all(type(path) is str for path in value.values()):
                return False
        elif type(value) is not (bool if name in _FLAGS else str) or name not in _REQUEST:
            return False
    return "target" in data


# --- results that come from the lock instead of a trace

INDEX: Final = "lock-index.txt"
_SCHEMA: Final = [SCHEMA, jobs.SCHEMA]


class _LockRow(NamedTuple):
    """An entry of the index: digests of a file and its request, and what its result shows."""

    state: str
    asked: str
    seen: Seen

    @classmethod
    def from_json(cls, data: Any) -> _LockRow | None:
        """Read what :meth:`to_json` wrote; ``None`` for anything else."""
        if type(data) is not list or len(data) != 3:
            return None
        state, asked, kept = data
        shows = read_seen(kept)
        texts = type(state) is str and type(asked) is str
        return cls(state, asked, shows) if texts and shows is not None else None

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [self.state, self.asked, [*self.seen]]


def _rows(data: Any) -> dict[str, _LockRow]:
    """The rows of the index by file, without damaged ones."""
    files = data.get("files")
    rows = files.items() if type(files) is dict else ()
    return {file: row for file, item in rows if (row := _LockRow.from_json(item))}


class LockFolder:
    """The lock of a project; only files that may have changed are read.

    ``display_name`` is the folder as messages name it.  ``cache`` has the index, a mere
    shortcut for builds without changes.  Digests detect changes: on another machine the
    times of files mean nothing.
    """

    def __init__(self, folder: Path, display_name: str, cache: Cache) -> None:
        self.folder = folder
        self.display_name = display_name
        self.cache = cache
        self.loaded: dict[str, LockFile | None] = {}
        self.rows = cache.load(INDEX, _rows, _SCHEMA) or {}

    @property
    def exists(self) -> bool:
        """Whether the project has a lock at all."""
        return os.path.isdir(self.folder)

    def data(self, file: str) -> LockFile | None:
        """The content of a file; ``None`` if it is missing or damaged."""
        if file not in self.loaded:
            self.loaded[file] = load(self.folder / file)
        return self.loaded[file]

    def result(self, file: str) -> Result | None:
        """The result in a file."""
        data = self.data(file)
        return data.result if data is not None else None

    def look(self, file: str, request: Request, asked: str) -> tuple[Seen, str]:
        """What the result in a file shows, or why it can't be used.

        ``asked`` is the digest of the request; for each request a file is read once.
        """
        state = file_digest(str(self.folder / file))
        row = self.rows.get(file)
        if state and row is not None and (row.state, row.asked) == (state, asked):
            return row.seen, ""
        data = self.data(file)
        problem = self.problem(file, request)
        if problem or data is None:
            return Seen(digest(problem), ""), problem
        row = _LockRow(state, asked, seen(data.result))
        self.rows[file] = row
        return row.seen, ""

    def problem(self, file: str, request: Request) -> str:
        """Why a file can't be used for a request, or ``""``."""
        builder = "`sphinx-build -b jaxpr-lock`"
        path = f"{self.display_name}/{file}"
        if not self.exists:
            return f"there is no lock: {builder} creates it in {self.display_name}"
        if signature(self.folder / file) is None:
            return f"it is not in the lock ({path}); {builder} adds it"
        data = self.data(file)
        if data is None:
            problem = "is not a complete lock file (did a merge leave a conflict in it?)"
            return f"{path} {problem}; {builder} recreates it"
        if data.request != readable(request):
            differences = differing(readable(request), data.request)
            return f"{path} was created for another request: {differences}; {builder} recreates it"
        return ""

    def flush(self) -> None:
        """Write the index."""
        rows = {
            file: row.to_json()
            for file, row in self.rows.items()
            if os.path.exists(self.folder / file)
        }
        self.cache.keep(INDEX, {"files": rows}, _SCHEMA)
