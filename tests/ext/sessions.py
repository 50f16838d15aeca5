"""A session of a build without Sphinx, a worker or files, for tests of what it keeps."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from sphinx_jaxpr.ext.judging.session import PAGES, BuildSession, Outcome
from sphinx_jaxpr.ext.records import Block, DirectiveRecord
from sphinx_jaxpr.program.facts import Facts
from sphinx_jaxpr.tracing.grammar import Step
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import Result, TracedProgram
from sphinx_jaxpr.tracing.store import Seen

TEXT = "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = cos b in (c,) }"


def result(text: str = TEXT) -> Result:
    return Result(program=TracedProgram(text, (), (), Facts()))


class Results:
    """A store that reads each result from the text that it has for its key."""

    def __init__(self, variant: str = TEXT) -> None:
        self.variant = variant
        self.installed = SimpleNamespace(version={}.get, python_version="")
        self.read: list[str] = []

    def load(self, key: str) -> Result | None:
        self.read.append(key)
        text = self.variant if key.endswith("vmap") else TEXT
        return result(text) if key != "damaged" else None


def directive(number: int, kept: bool = True) -> DirectiveRecord:
    """A directive with a base and a variant."""
    blocks = [
        Block(
            f"f{number}" + (f".{label}" if label else ""),
            label,
            f"jaxpr-f{number}-{label}",
            Request("m:f", steps=(Step("vmap"),) if label else ()),
            f"{number} {label}" if kept else "damaged",
        )
        for label in ("", "vmap")
    ]
    return DirectiveRecord("page.md", 1, f"f{number}", True, tuple(blocks))


def session_of(store: Results) -> BuildSession:
    """A session with these results."""
    settings: Any = SimpleNamespace(mode="trace", total_timeout=1, timeout=1)
    storage: Any = SimpleNamespace(store=store)
    masker: Any = None
    return BuildSession(settings, masker, storage, PAGES)


def arrived(session: BuildSession, directives: Iterable[DirectiveRecord]) -> None:
    """Let all blocks have a result."""
    for each in directives:
        for block in each.blocks:
            session._outcomes[block.digest] = Outcome(block.digest, Seen("p", "s"))
