"""What to say of an outcome: an error in words, and what is noteworthy of a result."""

from __future__ import annotations

from typing import Any, Final

from ..program.quoted import shorten, words

#: Longest message in one line, in characters.
MAX_LINE: Final = 600


def describe(error: dict[str, Any]) -> str:
    """One error in one line: what, where in the user's code, where to read more."""
    text = headline(error)
    frames = error.get("frames") or []
    if frames:
        last = frames[-1]
        inside = f" in {last['function']}" if last["function"] not in ("", "<module>") else ""
        text += f" [{last['file']}:{last['line']}{inside}: {last['code']}]"
    if error.get("hint"):
        text += f"; hint: {error['hint']}"
    if error.get("log"):
        text += f" (more in {error['log']})"
    return text


def headline(error: dict[str, Any]) -> str:
    """What went wrong, in one line, without a place."""
    lines = [line.strip() for line in error["message"].splitlines() if line.strip()]
    text = " ".join(lines[:3])
    text = text if len(text) <= MAX_LINE else text[:MAX_LINE] + "..."
    if error["type"]:
        text = f"{error['type']}: {text}" if text else error["type"]
    if error["kind"] == "import":
        text = f"the import of {error['module']} failed: {text}"
    if error.get("searched"):
        text += f"; searched {', '.join(error['searched'])}"
    return text


def error_parts(error: dict[str, Any]) -> tuple[str, str]:
    """The headline of an error and the lines below it."""
    lines = error["message"].splitlines()
    first = headline({**error, "message": lines[0] if lines else ""})
    detail = lines[1:20]
    for frame in error.get("frames", [])[-3:]:
        inside = f", in {frame['function']}" if frame["function"] else ""
        detail += [f"{frame['file']}, line {frame['line']}{inside}", f"    {frame['code']}"]
    return first, "\n".join(detail).strip("\n")


def unmet(raises: str, error: dict[str, Any] | None) -> str:
    """How an error differs from the one that is expected, ``Type: part of its message``."""
    kind, _, part = (" ".join(piece.split()) for piece in raises.partition(":"))
    if error is None:
        return f"expected {words(raises, 80)}, but no error occurred"
    if error["kind"] != "trace":
        return f"expected {words(raises, 80)}, found {describe(error)}"
    if kind.rpartition(".")[2] not in error["mro"]:
        return f"expected {words(kind, 80)}, found {describe(error)}"
    if part not in " ".join(error["message"].split()):
        return f"expected a message with {shorten(part)}, found {describe(error)}"
    return ""


def remarks(result: dict[str, Any], base: dict[str, Any]) -> list[str]:
    """Effects, effects that a transform of ``base`` lost, captured arrays."""
    found = []
    effects = result.get("effects", [])
    if effects:
        found.append(f"effects: {', '.join(effects)}")
    lost = [effect for effect in base.get("effects", []) if effect not in effects]
    if lost and result:
        found.append(f"the base has effects that are lost here: {', '.join(lost)}")
    sizes = result.get("constants", [])
    if sizes:
        total = megabytes(sum(size for _, size in sizes))
        listed = ", ".join(kind for kind, _ in sizes[:4]) + (", ..." if sizes[4:] else "")
        found.append(f"{total} captured: {listed}")
    return found


def differences(before: list[list[str]], now: list[list[str]]) -> str:
    """How the settings in which a program was traced differ from those of the stored one."""
    one: dict[str, str] = {pair[0]: pair[1] for pair in before}
    two: dict[str, str] = {pair[0]: pair[1] for pair in now}
    found = []
    for name in sorted({*one, *two}):
        then, today = one.get(name), two.get(name)
        if then == today:
            continue
        was = f"was {then}" if then is not None else "had its default"
        then_now = f"is {today}" if today is not None else "has its default"
        found.append(f"{name} {was} when the stored one was traced and {then_now} now")
    return "; ".join(found)


def megabytes(size: int) -> str:
    """A size in bytes as people read it."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"
