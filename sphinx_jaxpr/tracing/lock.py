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

from .files import read
from .grammar import Aval, Call, Mesh, Name, Ref, Value
from .request import Request

#: Raised when the meaning of a file changes, or of the results in it.
SCHEMA: Final = 1

_PLAIN: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,78}[a-z0-9_-])?")
#: Names that Windows keeps for devices, whatever follows their first dot.
_DEVICES: Final = frozenset(
    ["con", "prn", "aux", "nul", *(f"{kind}{n}" for kind in ("com", "lpt") for n in range(10))]
)
#: Longest list that stands on one line.
_LINE: Final = 90


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
    return f"{slug}~{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def stored(folder: Path) -> Iterator[str]:
    """The files of a lock's folder, relative to it, with ``/``."""
    for path in sorted(folder.rglob("*.json")):
        if path.is_file():
            yield path.relative_to(folder).as_posix()


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
    for flag in ("jit", "x64", "expects_error"):
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
            here, there = (found.get(key, "none") for found in (asked, locked))
            said.append(f"{key} {here!s} here, {there!s} there")
    return "; ".join(said)


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
    try:
        shown = _is_program(data) if "text" in data else _is_error(data["error"])
        return bool(
            data["schema"] == SCHEMA
            and isinstance(data["request"], dict)
            and all(isinstance(v, str) for v in [data["block"], *data["versions"].values()])
            and "jax" in data["versions"]
            and ("source" not in data or _is_source(data["source"]))
            and all(len(row) == 2 for row in [*data.get("args", ()), *data.get("constants", ())])
            and shown
        )
    except (KeyError, TypeError, AttributeError, RecursionError):
        return False


def _are_texts(data: Any) -> bool:
    return isinstance(data, list) and all(isinstance(item, str) for item in data)


def _is_source(data: Any) -> bool:
    return (
        isinstance(data["line"], int) and isinstance(data["file"], str) and _are_texts(data["text"])
    )


def _is_error(data: Any) -> bool:
    frames = all(
        isinstance(frame["line"], int)
        and all(isinstance(frame[key], str) for key in ("file", "function", "code"))
        for frame in data["frames"]
    )
    texts = all(isinstance(data[key], str) for key in ("kind", "type", "message"))
    return frames and texts and _are_texts(data["mro"])


def _is_program(data: Any) -> bool:
    facts = data["facts"]
    count = len(facts["programs"])
    return (
        _are_texts(data["text"])
        and _are_texts(data["effects"])
        and isinstance(data["call"], str)
        and all(isinstance(size, int) for _, size in data["constants"])
        and all(_is_row(row, len(facts["sources"]), count)
                for program in facts["programs"] for row in program["equations"])
        and all(_are_texts(program[key]) for program in facts["programs"]
                for key in ("inputs", "outputs", "effects"))
        and all([type(part) for part in place] == [str, int, str] for place in facts["sources"])
    )  # fmt: skip


def _is_row(row: Any, sources: int, programs: int) -> bool:
    primitive, phase, source, types, parameters, inner = row
    return (
        isinstance(primitive, str)
        and isinstance(phase, str)
        and isinstance(source, int)
        and -1 <= source < sources
        and _are_texts(types)
        and isinstance(parameters, dict)
        and all(0 <= place < programs for places in inner.values() for place in places)
    )
