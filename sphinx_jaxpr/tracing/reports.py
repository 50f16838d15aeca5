"""Errors, results and settings in words: one line, a headline with details, remarks."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ..program.text import shorten, words
from .result import ErrorKind, Pairs, Result, TraceError

#: Longest message in one line, in characters.
MAX_LINE: Final = 600


def describe(error: TraceError) -> str:
    """One error in one line: what, where in the user's code, where to read more."""
    text = headline(error)
    if error.frames:
        last = error.frames[-1]
        inside = f" in {last.function}" if last.function not in ("", "<module>") else ""
        text += f" [{last.file}:{last.line}{inside}: {last.code}]"
    if error.hint:
        text += f"; hint: {error.hint}"
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
        text = f"the import of {error.module} failed: {text}"
    if error.searched:
        text += f"; searched {', '.join(error.searched)}"
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


def remarks(result: Result | None, base: Result | None = None) -> list[str]:
    """Effects, effects that a transform of ``base`` lost, captured arrays."""
    if result is None:
        return []
    program, before = result.program, base.program if base is not None else None
    effects = program.effects if program is not None else ()
    lost = [effect for effect in (before.effects if before else ()) if effect not in effects]
    lines = []
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
    """How the settings in which a program was traced differ from those of the stored one."""
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
    """A size in bytes as people read it."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"
