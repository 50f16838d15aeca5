"""Blocks as standard nodes, for every builder that does not write HTML."""

from __future__ import annotations

import re
from typing import Any, Final

from docutils import nodes

from .records import Block
from .shown import Shown, error_parts

#: A word longer than this can leave a printed page's margin.
LONG_WORD: Final = 70


class Listings(Shown):
    """A heading line and a captioned listing for each block."""

    def shown(self) -> list[nodes.Node]:
        found: list[nodes.Node] = [*self.rest, *self.source()]
        for place, block in enumerate(self.blocks):
            found.append(nodes.target("", "", ids=[self.id_of(block)]))
            found.append(self.heading(block))
            error = None if self.engine.mode == "skip" else self.error(block)
            if self.engine.mode == "skip":
                body: list[nodes.Node] = [nodes.paragraph("", "Not traced: jaxpr_mode is skip.")]
            elif error is not None:
                body = _error_nodes(error, self.is_expected(block))
            else:
                body = self.listing(block)
            found.extend(_captioned(body, self.caption if place == 0 else None))
        return found

    def heading(self, block: Block) -> nodes.paragraph:
        call = self.call(block)
        line = nodes.paragraph("", "", nodes.literal(call, call))
        about = [self.counts(block, "to"), *self.remarks(block), self.version(block)]
        text = "; ".join(filter(None, about))
        if text:
            line += nodes.Text(f" - {text}")
        return line

    def listing(self, block: Block) -> list[nodes.Node]:
        result = self.engine.result(block)
        assert result is not None
        text: str = result["text"]
        listing = nodes.literal_block(text, text, language="jaxpr", translatable=False)
        if not any(len(word) > LONG_WORD for word in re.findall(r"\S+", text)):
            return [listing]
        # Only TeX needs leave to break a word that is longer than the line.
        allow = nodes.raw("", r"\begingroup\sphinxsetup{verbatimforcewraps=true}", format="latex")
        return [allow, listing, nodes.raw("", r"\endgroup", format="latex")]


def _error_nodes(error: dict[str, Any], expected: bool) -> list[nodes.Node]:
    headline, detail = error_parts(error)
    if expected:
        text = f"{headline}\n{detail}".strip()
        return [nodes.literal_block(text, text, language="none", translatable=False)]
    box = nodes.error("", nodes.paragraph("", headline))
    if detail:
        box += nodes.literal_block(detail, detail, language="none", translatable=False)
    return [box]


def _captioned(body: list[nodes.Node], caption: nodes.Element | None) -> list[nodes.Node]:
    """``body`` with the caption in the way that Sphinx captions a listing."""
    if caption is None:
        return body
    for place, node in enumerate(body):
        if isinstance(node, nodes.literal_block):
            box = nodes.container("", literal_block=True, classes=["literal-block-wrapper"])
            box += [caption.deepcopy(), node]
            return [*body[:place], box, *body[place + 1 :]]
    return [*body, nodes.paragraph("", "", *[child.deepcopy() for child in caption.children])]
