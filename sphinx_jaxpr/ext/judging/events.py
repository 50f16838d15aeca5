"""Events for other extensions: a block was traced, a figure is about to be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from docutils import nodes
from sphinx.application import Sphinx

from ..records import Block, BlockReport, DirectiveRecord
from .names.appearances import Appearances
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
    # Sphinx documents how to connect and emit, not how to ask; if in doubt, assume a handler.
    listeners: Mapping[str, object] | None = getattr(app.events, "listeners", None)
    return listeners is None or bool(listeners.get(event))


def emit_traced(app: Sphinx, session: BuildSession, appearances: Appearances) -> None:
    """Emit ``jaxpr-block-traced`` for each block that a page shows, once for each page."""
    if session.mode == "skip" or not is_awaited(app, BLOCK_TRACED):
        return
    for docname, page in appearances.pages.items():
        for directive in page:
            # Handlers read every result.
            session.mend((directive, block) for block in directive.blocks)
        for _docname, directive, block in appearances.on(docname):
            if block.pasted is None:
                app.emit(BLOCK_TRACED, docname, report_of(session, directive, block))


def emit_figures(
    app: Sphinx,
    session: BuildSession,
    docname: str,
    directive: DirectiveRecord,
    figures: Iterable[tuple[Block, nodes.Element]],
) -> None:
    """Emit ``jaxpr-figure`` for the nodes that show the blocks of a directive."""
    if is_awaited(app, FIGURE):
        for block, node in figures:
            app.emit(FIGURE, docname, report_of(session, directive, block), node)


def report_of(session: BuildSession, directive: DirectiveRecord, block: Block) -> BlockReport:
    """The report about a block for other extensions."""
    from ...tracing.result import describe

    traced = session.traced(directive, block)
    error = traced.error if session.mode != "skip" else None
    if block.pasted is not None:
        version = block.pasted.version
    else:
        version = traced.result.jax if traced.result is not None else ""
        version = version or session.versions().get("jax", "")
    return BlockReport(
        name=block.name,
        label=block.label,
        target=block.request.target if block.request else "",
        text=traced.text,
        error=describe(error) if error else None,
        jax=version or None,
    )
