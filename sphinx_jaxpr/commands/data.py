"""Programs as JSON; the reference documents the form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from ..ext.html import equation_ids
from .programs import Program

#: Raised when a field changes its meaning or goes.
SCHEMA: Final = 1


def data(target: str, programs: Sequence[Program], opened: str) -> str:
    """One object with all programs."""
    version = next((one.result["jax"] for one in programs if "jax" in one.result), None)
    found = {
        "schema": SCHEMA,
        "target": target,
        "jax": version,
        "blocks": [_block(program) for program in programs],
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _block(program: Program) -> dict[str, Any]:
    result = program.result
    found: dict[str, Any] = {
        "name": program.name,
        "label": program.label,
        "call": result.get("call"),
        "args": [{"name": name, "type": kind} for name, kind in result.get("args", ())],
    }
    if program.error is not None:
        shown = {key: program.error[key] for key in ("kind", "type", "message", "frames")}
        return {**found, "error": shown}
    return {
        **found,
        "text": program.printed.text,
        "summary": "; ".join(f"{part.verb} {part.text}".strip() for part in program.acted),
        "effects": result["effects"],
        "constants": [{"type": kind, "bytes": size} for kind, size in result["constants"]],
        "equations": _equations(program),
    }


def _equations(program: Program) -> list[dict[str, Any]]:
    """Every equation at any depth, in printed order."""
    ids = equation_ids(program.printed, f"jaxpr-{program.name}")
    found = []
    for equation in program.printed.walk():
        known = program.facts.get(equation.start)
        source = known.source if known else None
        found.append(
            {
                "id": ids[equation.start],
                "primitive": equation.primitive,
                "phase": (known.phase if known else "") or None,
                "change": program.match.change.get(equation.start),
                "types": list(known.types) if known else [v.type for v in equation.outputs],
                "source": dict(zip(("file", "line", "function"), source, strict=True))
                if source
                else None,
                "start": equation.start,
                "end": equation.end,
            }
        )
    return found
