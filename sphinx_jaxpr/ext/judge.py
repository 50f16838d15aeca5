"""What to tell the author, from the outcomes of all pages, at every build."""

from __future__ import annotations

import os
from typing import Any

from sphinx.util import logging

from . import config as settings
from .engine import Engine, Outcome
from .records import Block, Finding, Gallery

logger = logging.getLogger(__name__)

_SUBTYPES = {"option": "option", "timeout": "timeout", "raises": "raises"}
#: Failures of a whole module or of the worker: told once, with a count.
_WIDE = ("import", "worker")


def findings(engine: Engine, galleries: dict[str, list[Gallery]]) -> list[Finding]:
    """All findings about the blocks of ``galleries``, in the order of the pages."""
    found: list[Finding] = []
    wide: dict[tuple[str, str], list[tuple[Gallery, int]]] = {}
    for page in galleries.values():
        for gallery in page:
            found.extend(gallery.findings)
            if engine.mode != "skip":
                found.extend(_of_gallery(engine, gallery, wide))
    for (kind, message), places in wide.items():
        first = places[0][0]
        others = sum(count for _, count in places) - 1
        more = f" ({others} more block{'s' * (others != 1)} for the same reason)" if others else ""
        found.append(Finding(_subtype(kind), message + more, first.source, first.line))
    return found


def report(found: list[Finding], srcdir: str) -> None:
    """Warn, each finding once at its place."""
    seen: set[Finding] = set()
    for finding in found:
        if finding in seen:
            continue
        seen.add(finding)
        source = finding.source
        if "docstring of" not in source:
            source = os.path.normpath(os.path.join(srcdir, source))
        logger.warning(
            "%s",
            finding.message,
            location=f"{source}:{finding.line}",
            type="jaxpr",
            subtype=finding.kind,
        )


def _subtype(kind: str) -> str:
    return _SUBTYPES.get(kind, "trace")


def _of_gallery(
    engine: Engine, gallery: Gallery, wide: dict[tuple[str, str], list[tuple[Gallery, int]]]
) -> list[Finding]:
    found: list[Finding] = []
    alike: dict[tuple[str, str], list[Block]] = {}
    base_matters = _base_matters(engine, gallery)
    for block in gallery.blocks:
        outcome = engine.outcome(block)
        if outcome is None or (not block.label and not base_matters):
            continue
        if block.request is not None and block.request.expects_error:
            found.extend(_expected(engine, gallery, block, outcome))
        elif outcome.error is not None:
            error = outcome.error
            message = describe(error)
            if error["kind"] in _WIDE or error.get("whole_module"):
                key = (error["kind"], message)
                wide.setdefault(key, []).append((gallery, 1))
            else:
                alike.setdefault((error["kind"], message), []).append(block)
    for (kind, message), blocks in alike.items():
        names = [block.name for block in blocks]
        also = f" (and so for {', '.join(names[1:])})" if names[1:] else ""
        text = f"{names[0]}: {message}{also}"
        found.append(Finding(_subtype(kind), text, gallery.source, gallery.line))
    found.extend(_constants(engine, gallery))
    return found


def _base_matters(engine: Engine, gallery: Gallery) -> bool:
    """A hidden base that can't be traced alone is no fault where its variants can.

    (A function that uses an axis name traces only under the transform that binds it.)
    """
    base, *variants = gallery.blocks
    if base.shown or not variants:
        return True
    return all((o := engine.outcome(block)) is None or o.error is not None for block in variants)


def _expected(engine: Engine, gallery: Gallery, block: Block, outcome: Outcome) -> list[Finding]:
    kind, _, part = (piece.strip() for piece in gallery.raises.partition(":"))
    error = outcome.error or (engine.result(block) or {}).get("error")
    if error is None:
        message = f"{block.name}: expected {gallery.raises}, but no error occurred"
    elif error["kind"] != "trace":
        message = f"{block.name}: expected {gallery.raises}, found {describe(error)}"
    elif kind.rpartition(".")[2] not in error["mro"]:
        message = f"{block.name}: expected {kind}, found {describe(error)}"
    elif part and part not in " ".join(error["message"].split()):
        message = f"{block.name}: expected a message with {part!r}, found {describe(error)}"
    else:
        return []
    return [Finding("raises", message, gallery.source, gallery.line)]


def describe(error: dict[str, Any]) -> str:
    """One error in one line: what, where in the user's code, where to read more."""
    lines = [line.strip() for line in error["message"].splitlines() if line.strip()]
    text = " ".join(lines[:3])[:600]
    if error["type"] and error["type"] != "RequestError":
        text = f"{error['type']}: {text}" if text else error["type"]
    if error["kind"] == "import":
        text = f"the import failed: {text}"
    if error.get("searched"):
        text += f"; searched {', '.join(_shown(root) for root in error['searched'])}"
    frames = error.get("frames") or []
    if frames:
        last = frames[-1]
        inside = f" in {last['function']}" if last["function"] not in ("", "<module>") else ""
        text += f" [{last['file']}:{last['line']}{inside}: {last['code']}]"
    if error.get("log"):
        text += f" (more in {error['log']})"
    return text


def _shown(root: str) -> str:
    return root or "."


def _constants(engine: Engine, gallery: Gallery) -> list[Finding]:
    limit = settings.value(engine.app.config, "jaxpr_max_constants")
    for block in gallery.blocks:
        result = engine.result(block)
        sizes = (result or {}).get("constants", [])
        total = sum(size for _, size in sizes)
        if total > limit:
            listed = ", ".join(f"{kind} ({megabytes(size)})" for kind, size in sizes[:5])
            return [
                Finding(
                    "trace",
                    f"{block.name}: {megabytes(total)} captured: {listed}; pass large arrays as"
                    f" arguments, or raise jaxpr_max_constants ({limit})",
                    gallery.source,
                    gallery.line,
                )
            ]
    return []


def megabytes(size: int) -> str:
    """A size in bytes as people read it."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"
