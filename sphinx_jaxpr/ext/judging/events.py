"""Events for other extensions: a block was traced, a figure is about to be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx

from ...tracing.outcome import describe
from ..records import Block, BlockReport, DirectiveRecord
from .session import BuildSession

#: Handlers get the application, the name of the page and a :class:`BlockReport`.
BLOCK_TRACED: Final = "jaxpr-block-traced"
#: Handlers get these, and the node that shows the block.
FIGURE: Final = "jaxpr-figure"


def add_events(app: Sphinx) -> None:
    """Register both, so that other extensions can connect handlers."""
    app.add_event(BLOCK_TRACED)
    app.add_event(FIGURE)


def is_awaited(app: Sphinx, event: str) -> bool:
    """Whether a handler is connected; if none is, nothing is loaded for the event."""
    # Sphinx documents connecting and emitting, not asking: if in doubt, it is awaited.
    listeners: Mapping[str, object] | None = getattr(app.events, "listeners", None)
    return listeners is None or bool(listeners.get(event))


def emit_traced(
    app: Sphinx, session: BuildSession, directives: Mapping[str, Iterable[DirectiveRecord]]
) -> None:
    """Emit ``jaxpr-block-traced`` for each block of ``directives`` that pages show."""
    if session.mode == "skip" or not is_awaited(app, BLOCK_TRACED):
        return
    for docname, page in directives.items():
        for block in (block for directive in page for block in directive.blocks):
            if block.shown and block.pasted is None:
                app.emit(BLOCK_TRACED, docname, report_of(session, block))


def emit_figures(
    app: Sphinx, session: BuildSession, docname: str, figures: Iterable[tuple[Block, nodes.Element]]
) -> None:
    """Emit ``jaxpr-figure`` for the nodes that show blocks of a page."""
    if is_awaited(app, FIGURE):
        for block, node in figures:
            app.emit(FIGURE, docname, report_of(session, block), node)


def report_of(session: BuildSession, block: Block) -> BlockReport:
    """What other extensions learn of a block."""
    result = session.result(block) or {}  # first: a damaged one is traced again
    outcome = session.outcome(block)
    error = (outcome.error if outcome else None) or result.get("error")
    made = block.pasted.version if block.pasted else result.get("jax")
    return BlockReport(
        name=block.name,
        label=block.label,
        target=block.request.target if block.request else "",
        text=result.get("text"),
        error=describe(error) if error else block.problem or None,
        jax=made or (None if block.pasted else session.versions().get("jax")),
    )
