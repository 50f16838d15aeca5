"""What becomes of a request, as plain frozen data: a result, or an error; both in words.

This is the one place that knows their JSON.  ``from_json`` expects data that passed the
checks of :mod:`.checks`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeAlias

from ..program.text import followed, place, shorten, words
from .files import JsonObject, canonical, loads
from .jobs import PAGE

if TYPE_CHECKING:
    from ..program.facts import Facts


# --- a result as it travels, and as it is stored

#: Fields of a result that a page shows only on request, or never.
_REST = ("source", "settings")


class EncodedResult(NamedTuple):
    """A result as two JSON texts, which travel and are stored as the worker wrote them.

    ``visible`` is what a page can show, so its digest says whether pages must be written
    again.  ``rest`` names places: files, lines, and the settings of JAX.  Neither text has a
    tab or a line break, so both fit into a line of a pack.
    """

    visible: bytes
    rest: bytes

    @property
    def digest(self) -> str:
        """Changes with what a page can show."""
        return hashlib.sha256(self.visible).hexdigest()

    def data(self) -> Mapping[str, Any]:
        """The JSON data of the whole result, unchecked; ``ValueError`` if a text is none."""
        return joined(loads(self.visible), loads(self.rest))


def encoded(data: Mapping[str, Any]) -> EncodedResult:
    """The texts of a result's JSON data."""
    visible, rest = split(data)
    return EncodedResult(canonical(visible).encode(), canonical(rest).encode())


def split(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The two parts of a result's JSON data."""
    visible: Any = {name: part for name, part in data.items() if name not in _REST}
    rest = {name: data[name] for name in _REST if name in data}
    facts = visible.get("facts")
    if facts:
        visible["facts"] = {"programs": facts["programs"]}
        rest["sources"] = facts["sources"]
    return visible, rest


def joined(visible: Any, rest: Any) -> Mapping[str, Any]:
    """The inverse of :func:`split`; ``ValueError`` if these are no such parts."""
    if type(visible) is not dict or type(rest) is not dict:
        raise ValueError("a part of a result is not an object")
    facts: Any = visible.get("facts")
    if (
        not visible.keys().isdisjoint(_REST)
        or not rest.keys() <= {*_REST, "sources"}
        or ("sources" in rest) != (type(facts) is dict)
        or (type(facts) is dict and "sources" in facts)
    ):
        raise ValueError("the parts of a result do not belong together")
    if "sources" not in rest:
        return {**visible, **rest}
    more = {name: part for name, part in rest.items() if name != "sources"}
    return {**visible, **more, "facts": {**facts, "sources": rest["sources"]}}


# --- results and errors


class ErrorKind(StrEnum):
    """Where a request failed; no other kind exists."""

    CRASH = "crash"  # the worker ended
    IMPORT = "import"  # a module that the page names could not be imported
    LOCK = "lock"  # the lock has no such program
    OPTION = "option"  # an option of the directive cannot be carried out
    STATE = "state"  # the effects of an earlier request are in the way
    TARGET = "target"  # the target does not exist, or is not a function
    TIMEOUT = "timeout"
    TRACE = "trace"  # the traced function, or JAX, raised
    WORKER = "worker"  # the worker did not start


@dataclass(frozen=True)
class Frame:
    """One frame of the user's code; ``line`` counts from 1."""

    file: str
    line: int
    function: str
    code: str

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote and :mod:`.checks` has passed."""
        return cls(data["file"], data["line"], data["function"], data["code"])

    def to_json(self) -> JsonObject:
        """Plain data; what is empty is left out where it may be."""
        return {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "code": self.code,
        }


@dataclass(frozen=True)
class TraceError:
    """Why there is no program.

    ``type`` is the exception's, ``mro`` the names of its classes, ``frames`` the
    user's own, innermost last.  ``option`` names the directive's option at fault,
    ``module`` the one whose import failed, ``searched`` the import roots,
    ``log`` the file with the whole traceback.  ``whole_module`` says that all
    blocks of a module share the error.
    """

    kind: ErrorKind
    message: str
    type: str = ""
    mro: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    hint: str = ""
    log: str = ""
    module: str = ""
    option: str = ""
    output: str = ""
    searched: tuple[str, ...] = ()
    traceback: str = ""
    wanted: str = ""
    whole_module: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote and :mod:`.checks` has passed."""
        more = {name: data[name] for name in _TEXTS if name in data}
        return cls(
            ErrorKind(data["kind"]),
            data["message"],
            data["type"],
            tuple(data["mro"]),
            tuple(map(Frame.from_json, data["frames"])),
            searched=tuple(data.get("searched", ())),
            whole_module=data.get("whole_module", False),
            **more,
        )

    def to_json(self) -> JsonObject:
        """Plain data; what is empty is left out where it may be."""
        data: JsonObject = {
            "kind": self.kind.value,
            "type": self.type,
            "mro": list(self.mro),
            "message": self.message,
            "frames": [frame.to_json() for frame in self.frames],
        }
        data |= {name: text for name in _TEXTS if (text := getattr(self, name))}
        if self.searched:
            data["searched"] = list(self.searched)
        if self.whole_module:
            data["whole_module"] = True
        return data

    def on_page(self) -> Self:
        """The part that a page shows, and that decides whether the error was expected."""
        return type(self)(self.kind, self.message, self.type, self.mro, self.frames)


_TEXTS = ("hint", "log", "module", "option", "output", "traceback", "wanted")


@dataclass(frozen=True)
class FunctionSource:
    """The Python source of a function, dedented; ``line`` is its first in ``file``."""

    text: str
    file: str
    line: int

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote and :mod:`.checks` has passed."""
        return cls(data["text"], data["file"], data["line"])

    def to_json(self) -> JsonObject:
        """Plain data; what is empty is left out where it may be."""
        return {"text": self.text, "file": self.file, "line": self.line}


#: Pairs of texts: names with types, names with leaves, settings with values.
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class TracedProgram:
    """A jaxpr: JAX's text, its effects, what it captured (types with bytes), its facts."""

    text: str
    effects: tuple[str, ...]
    constants: tuple[tuple[str, int], ...]
    facts: Facts


@dataclass(frozen=True)
class Result:
    """What a page can show: a program, or an error that it expects.

    ``call`` makes the program; ``args`` has each argument with its type, ``inputs``
    for each input the argument and the leaf.  Both are ``None`` if an error came
    before they were known.  ``settings`` are those of JAX that were not at their defaults.
    ``outputs`` has for each result JAX's name of the leaf, where the tree is known;
    ``undifferentiated`` each leaf that a transform left out of differentiation, and its type.
    """

    jax: str = ""
    call: str = ""
    args: Pairs | None = None
    inputs: Pairs | None = None
    mesh: str = ""
    settings: Pairs = ()
    source: FunctionSource | None = None
    program: TracedProgram | None = None
    error: TraceError | None = None
    outputs: tuple[str, ...] | None = None
    undifferentiated: Pairs = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote and :mod:`.checks` has passed."""
        program = None
        if "text" in data:
            # A build without changes reads no program.
            from ..program.facts import Facts

            program = TracedProgram(
                data["text"],
                tuple(data["effects"]),
                tuple((kind, size) for kind, size in data["constants"]),
                Facts.from_json(data["facts"]),
            )
        source, error = data.get("source"), data.get("error")
        return cls(
            data.get("jax", ""),
            data.get("call", ""),
            _pairs(data.get("args")),
            _pairs(data.get("inputs")),
            data.get("mesh", ""),
            _pairs(data.get("settings")) or (),
            FunctionSource.from_json(source) if source else None,
            program,
            TraceError.from_json(error) if error else None,
            tuple(data["outputs"]) if "outputs" in data else None,
            _pairs(data.get("undifferentiated")) or (),
        )

    def to_json(self) -> JsonObject:
        """Plain data without the parts that are unknown or empty.

        A program always has ``jax``, ``call``, ``args`` and ``inputs``.
        """
        data: JsonObject = {}
        if self.program is not None:
            data |= {"jax": "", "call": "", "args": [], "inputs": []}
        data |= {name: text for name in ("jax", "call", "mesh") if (text := getattr(self, name))}
        for name in ("args", "inputs"):
            if (pairs := getattr(self, name)) is not None:
                data[name] = [list(pair) for pair in pairs]
        if self.outputs is not None:
            data["outputs"] = list(self.outputs)
        for name in ("settings", "undifferentiated"):
            if pairs := getattr(self, name):
                data[name] = [list(pair) for pair in pairs]
        if self.source is not None:
            data["source"] = self.source.to_json()
        if self.program is not None:
            data["text"] = self.program.text
            data["effects"] = list(self.program.effects)
            data["constants"] = [list(pair) for pair in self.program.constants]
            data["facts"] = self.program.facts.to_json()
        if self.error is not None:
            data["error"] = self.error.to_json()
        return data


def _pairs(data: Any) -> Pairs | None:
    return None if data is None else tuple((first, second) for first, second in data)


@dataclass(frozen=True)
class Needs:
    """The dependencies of a program that the worker saw; paths are absolute.

    ``files`` were read, ``folders`` listed: each with a digest of its content, ``""`` where
    it was missing.  ``paths`` and ``sizes`` were asked for.  ``modules`` are the top-level
    names that were looked up, ``missing`` those of them that were not found anywhere,
    ``parts`` the paths in packages where a submodule was looked up, with what was there.
    ``variables`` are names of environment variables.
    """

    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    distributions: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote."""
        return cls(**{part.name: data[part.name] for part in fields(cls) if part.name in data})

    def to_json(self) -> JsonObject:
        """Plain data, without the parts that are empty."""
        parts = ((item.name, getattr(self, item.name)) for item in fields(self))
        return {name: part for name, part in parts if part}


class ReceivedResult:
    """A program as the worker wrote it: checked JSON data, and its texts."""

    def __init__(self, data: Mapping[str, Any], texts: EncodedResult) -> None:
        self.data = data
        self.texts = texts

    @cached_property
    def result(self) -> Result:
        """The program itself, read when first asked for."""
        return Result.from_json(self.data)


@dataclass(frozen=True)
class Reply:
    """The outcome of one request to a worker.

    Either ``result`` or ``error`` is set; ``known`` is the part of a result that preceded
    the error.  ``needs`` are the dependencies of the answer, if they are known.  A result is
    ``made`` here or ``received`` with its texts.
    """

    made: Result | None = None
    error: TraceError | None = None
    known: Result | None = None
    needs: Needs | None = None
    received: ReceivedResult | None = field(default=None, compare=False)

    @property
    def result(self) -> Result | None:
        """The program."""
        return self.made if self.received is None else self.received.result

    @classmethod
    def from_json(
        cls,
        data: Mapping[str, Any],
        needs: Needs | None = None,
        texts: EncodedResult | None = None,
    ) -> Self:
        """Read a message of the worker; the client completes its ``needs`` and ``texts``."""
        if texts is not None:
            return cls(needs=needs, received=ReceivedResult(data["result"], texts))
        result, error, known = (data.get(name) for name in ("result", "error", "known"))
        return cls(
            None if result is None else Result.from_json(result),
            None if error is None else TraceError.from_json(error),
            None if known is None else Result.from_json(known),
            needs,
        )

    def to_json(self) -> JsonObject:
        """A message of the worker, without its ``needs``: it sends each set only once."""
        parts = (("result", self.result), ("error", self.error), ("known", self.known))
        return {name: part.to_json() for name, part in parts if part is not None}


# --- lines elsewhere

#: A file and a line of it, given what a result says.
Relocation: TypeAlias = Callable[[str, int], tuple[str, int]]


def relocated(result: Result, at: Relocation) -> Result:
    """A result with other lines: of its source, its equations, its error."""
    source, program, error = result.source, result.program, result.error
    if source is not None:
        file, line = at(source.file, source.line)
        source = replace(source, file=file, line=line)
    if program is not None:
        moved = {
            (file, line, function): (*at(file, line), function)
            for file, line, function in program.facts.sources
        }
        program = replace(program, facts=program.facts.moved(moved))
    error = relocated_error(error, at) if error is not None else None
    return replace(result, source=source, program=program, error=error)


def relocated_error(error: TraceError, at: Relocation) -> TraceError:
    """An error with other lines."""
    frames = []
    for frame in error.frames:
        file, line = at(frame.file, frame.line)
        frames.append(replace(frame, file=file, line=line))
    return replace(error, frames=tuple(frames))


# --- errors, results and settings in words

#: Longest message in one line, in characters.
MAX_LINE: Final = 600


def describe(error: TraceError) -> str:
    """One error in one line: what, where in the user's code, where to read more."""
    text = headline(error)
    if error.frames:
        last = error.frames[-1]
        inside = f" in {last.function}" if last.function not in ("", "<module>") else ""
        text += f" [{place(last.file, last.line)}{inside}: {last.code}]"
    if error.hint:
        text = followed(text, f"hint: {error.hint}")
    if error.log:
        text += f" (more in {error.log})"
    return text


def headline(error: TraceError) -> str:
    """What went wrong, in one line, without file and line."""
    lines = [line.strip() for line in error.message.splitlines() if line.strip()]
    text = " ".join(lines[:3])
    text = text if len(text) <= MAX_LINE else text[:MAX_LINE] + "..."
    if error.type:
        text = f"{error.type}: {text}" if text else error.type
    if error.kind is ErrorKind.IMPORT:
        subject = "the page's code" if error.module == PAGE else f"the import of {error.module}"
        text = f"{subject} failed: {text}"
    if error.searched:
        roots = f"searched {', '.join(error.searched)}"
        text += f" ({roots})" if text.endswith("?") else f"; {roots}"
    return text


def error_parts(error: TraceError) -> tuple[str, str]:
    """The headline of an error and the lines below it."""
    lines = error.message.splitlines()
    first = headline(replace(error, message=lines[0] if lines else ""))
    detail = lines[1:20]
    for frame in error.frames[-3:]:
        inside = f", in {frame.function}" if frame.function else ""
        detail += [f"{frame.file}, line {frame.line}{inside}", f"    {frame.code}"]
    return first, "\n".join(detail).strip("\n")


def unmet(raises: str, error: TraceError | None) -> str:
    """How an error differs from the expected one, ``Type: part of its message``; else ``""``."""
    kind, _, part = (" ".join(piece.split()) for piece in raises.partition(":"))
    if error is None:
        return f"expected {words(raises, 80)}, but no error occurred"
    if error.kind is not ErrorKind.TRACE:
        return f"expected {words(raises, 80)}, found {describe(error)}"
    if kind.rpartition(".")[2] not in error.mro:
        return f"expected {words(kind, 80)}, found {describe(error)}"
    if part not in " ".join(error.message.split()):
        return f"expected a message with {shorten(part)}, found {describe(error)}"
    return ""


#: How many leaves that were not differentiated a remark lists.
LISTED_LEAVES: Final = 6


def remarks(result: Result | None, base: Result | None = None) -> list[str]:
    """What was not differentiated, effects, those that a transform lost, captured arrays."""
    if result is None:
        return []
    program, before = result.program, base.program if base is not None else None
    effects = program.effects if program is not None else ()
    lost = [effect for effect in (before.effects if before else ()) if effect not in effects]
    lines = []
    if leaves := [f"{leaf} ({kind})" for leaf, kind in result.undifferentiated]:
        listed = ", ".join(leaves[:LISTED_LEAVES])
        more = f" and {len(leaves) - LISTED_LEAVES} more" if leaves[LISTED_LEAVES:] else ""
        lines.append(f"not differentiated: {listed}{more}")
    if effects:
        lines.append(f"effects: {', '.join(effects)}")
    if lost:
        lines.append(f"the base has effects that are lost here: {', '.join(lost)}")
    if program is not None and (sizes := program.constants):
        total = megabytes(sum(size for _, size in sizes))
        listed = ", ".join(kind for kind, _ in sizes[:4]) + (", ..." if sizes[4:] else "")
        lines.append(f"{total} captured: {listed}")
    return lines


def differences(before: Pairs, now: Pairs) -> str:
    """How the settings of a trace differ from those of the stored program."""
    then, today = dict(before), dict(now)
    changes = []
    for name in sorted({*then, *today}):
        old, new = then.get(name), today.get(name)
        if old == new:
            continue
        was = f"was {old}" if old is not None else "had its default"
        is_now = f"is {new}" if new is not None else "has its default"
        changes.append(f"{name} {was} when the stored one was traced and {is_now} now")
    return "; ".join(changes)


def megabytes(size: int) -> str:
    """A size in bytes for people."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"
