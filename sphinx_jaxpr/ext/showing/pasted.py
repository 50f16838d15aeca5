"""Renders pasted blocks: the same figures and listings, marked as pasted."""

from __future__ import annotations

from html import escape

from docutils import nodes

from ..locale import _
from ..records import Block
from .block import BlockRenderer
from .figures import HtmlRenderer
from .listings import NodeRenderer


def title() -> str:
    """The beginning of a pasted block's header."""
    return _("Pasted jaxpr")


class _Pasted(BlockRenderer):
    """A block with only a text, and the author's word for the version."""

    def remarks(self, block: Block) -> list[str]:
        # Readers should know that the text is unchecked.
        return [_("pasted, not checked")]

    def version(self, block: Block) -> str:
        return block.pasted.version if block.pasted else ""


class PastedHtmlRenderer(_Pasted, HtmlRenderer):
    """For builders that write HTML."""

    def title(self, block: Block) -> str:
        return f'<span class="jaxpr-title">{escape(title())}</span>'


class PastedNodeRenderer(_Pasted, NodeRenderer):
    """For all other builders."""

    def heading(self, block: Block) -> list[nodes.Node]:
        header = [part.text for part in self.traced[block.identity].header]
        about = [*header, *self.remarks(block), self.version(block)]
        return [nodes.paragraph("", f"{title()} - {'; '.join(filter(None, about))}")]
