"""What becomes of a request: a result, or an error, as plain frozen data.

This is the one place that knows their JSON.  ``from_json`` expects what
:func:`.outcome.problem` and :func:`.outcome.error_problem` accept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from .needs import Needs

if TYPE_CHECKING:
    from ..program.facts import Facts


class ErrorKind(StrEnum):
    """Where a request ended; no other kind exists."""

    CRASH = "crash"  # the worker ended
    IMPORT = "import"  # a module of the page's could not be imported
    LOCK = "lock"  # the lock has no such program
    OPTION = "option"  # an option of the directive cannot be carried out
    STATE = "state"  # what an earlier request left behind is in the way
    TARGET = "target"  # the target does not exist, or is not a function
    TIMEOUT = "timeout"
    TRACE = "trace"  # the traced function, or JAX, raised
    WORKER = "worker"  # the worker did not start


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the user's code; ``line`` counts from 1."""

    file: str
    line: int
    function: str
    code: str

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["file"], data["line"], data["function"], data["code"])

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "function": self.function,
            "code": self.code,
        }


@dataclass(frozen=True, slots=True)
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

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {
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
        """What a page shows of it, and what decides whether it was expected."""
        return type(self)(self.kind, self.message, self.type, self.mro, self.frames)


_TEXTS = ("hint", "log", "module", "option", "output", "traceback", "wanted")


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """The Python source of a function, dedented; ``line`` is its first in ``file``."""

    text: str
    file: str
    line: int

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["text"], data["file"], data["line"])

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "file": self.file, "line": self.line}


#: Pairs of texts: names with types, names with leaves, settings with values.
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class TracedProgram:
    """A jaxpr: JAX's text, its effects, what it captured (types with bytes), its facts."""

    text: str
    effects: tuple[str, ...]
    constants: tuple[tuple[str, int], ...]
    facts: Facts


@dataclass(frozen=True, slots=True)
class Result:
    """What a page can show: a program, or an error that it expects.

    ``call`` makes the program; ``args`` has each argument with its type, ``inputs``
    for each input the argument and the leaf.  Both are ``None`` where an error came
    before they were known.  ``settings`` are JAX's that were not at their defaults.
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

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        program = None
        if "text" in data:
            # A build in which nothing changed reads no program.
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
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data without the parts that are unknown or empty.

        A program always has ``jax``, ``call``, ``args`` and ``inputs``.
        """
        data: dict[str, Any] = {}
        if self.program is not None:
            data |= {"jax": "", "call": "", "args": [], "inputs": []}
        data |= {name: text for name in ("jax", "call", "mesh") if (text := getattr(self, name))}
        for name in ("args", "inputs"):
            if (pairs := getattr(self, name)) is not None:
                data[name] = [list(pair) for pair in pairs]
        if self.settings:
            data["settings"] = [list(pair) for pair in self.settings]
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


@dataclass(frozen=True, slots=True)
class Reply:
    """What became of one request that was handed to a worker.

    Either ``result`` or ``error``; ``known`` is the part of a result that was there
    before the error.  ``needs`` is what the answer depends on, where it is known.
    """

    result: Result | None = None
    error: TraceError | None = None
    known: Result | None = None
    needs: Needs | None = None
