"""Facts and recordings for tests: of jaxpr objects, and of plain data that may be incomplete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sphinx_jaxpr.block import TracedBlock
from sphinx_jaxpr.program.facts import Facts
from sphinx_jaxpr.tracing.result import Result
from sphinx_jaxpr.worker.facts.facts import collect

_PROGRAM = {"inputs": [], "constants": [], "outputs": [], "effects": [], "unused": []}


def collected(jaxpr: Any) -> Facts:
    """What the worker collects of a jaxpr object."""
    return collect(jaxpr).facts


def facts(data: Mapping[str, Any]) -> Facts:
    """Facts from JSON in which any field may be missing."""
    programs = [{**_PROGRAM, "equations": [], **program} for program in data.get("programs", ())]
    return Facts.from_json({"sources": data.get("sources", []), "programs": programs})


def recording(data: Mapping[str, Any]) -> TracedBlock:
    """A block whose result is the given JSON, in which any field may be missing."""
    whole = {"effects": [], "constants": [], **data}
    if "text" in data:
        whole["facts"] = facts(data["facts"]).to_json()
    if "error" in data:
        whole["error"] = {"kind": "trace", "type": "", "mro": [], "frames": [], **data["error"]}
    return TracedBlock("f", result=Result.from_json(whole))
