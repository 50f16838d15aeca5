"""Blocks as HTML figures."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes

from .html import code
from .nodes import jaxpr_figure
from .records import Block
from .shown import Shown, error_parts


class Figures(Shown):
    """For builders that write HTML: one ``jaxpr_figure`` a block."""

    def shown(self) -> list[nodes.Node]:
        found: list[nodes.Node] = [*self.rest, *self.source()]
        for place, block in enumerate(self.blocks):
            caption = self.caption if place == 0 else None
            found.append(self.figure(block, caption))
        return found

    def figure(self, block: Block, caption: nodes.Element | None) -> jaxpr_figure:
        if self.engine.mode == "skip":
            kind, body = "jaxpr-skipped", _paragraph("Not traced: jaxpr_mode is skip.")
        else:
            kind, body = self.body(block)
        classes = " ".join(["jaxpr", *filter(None, [kind]), *self.gallery.classes])
        before = f'<figure class="{escape(classes)}" id="{escape(self.id_of(block))}">\n{body}'
        about = [*self.remarks(block), *filter(None, [self.arguments(block), self.version(block)])]
        spans = "".join(f'<span class="jaxpr-about">{escape(text)}</span> ' for text in about)
        after = f'<span class="jaxpr-footer">{spans.rstrip()}</span>' if spans else ""
        figure = jaxpr_figure()
        if caption is not None or after:
            before += "<figcaption>"
            after += "</figcaption>"
        figure["before"], figure["after"] = before, after + "</figure>\n"
        if caption is not None:
            line = nodes.inline("", "", *[child.deepcopy() for child in caption.children])
            line["classes"].append("jaxpr-caption")
            figure += line
        return figure

    def body(self, block: Block) -> tuple[str, str]:
        error = self.error(block)
        if error is not None:
            if self.is_expected(block):
                return "jaxpr-raises", self.head(block) + _error_html(error)
            return "jaxpr-error", self.head(block) + _error_html(error)
        found = self.engine.printed(block)
        assert found is not None
        printed, facts = found
        opened = ' open=""' if self.is_open(block, printed) else ""
        summary = f'<code class="jaxpr-call">{escape(self.call(block))}</code>'
        counts = self.counts(block, "→")
        if counts:
            summary += f' <span class="jaxpr-count">{escape(counts)}</span>'
        lines = code(printed, facts, self.id_of(block))
        return "", (
            f"<details{opened}><summary>{summary}</summary>\n"
            f'<div class="jaxpr-code notranslate" translate="no">{lines}</div></details>\n'
        )

    def head(self, block: Block) -> str:
        return f'<p class="jaxpr-head"><code>{escape(self.call(block))}</code></p>'

    def arguments(self, block: Block) -> str:
        result = self.engine.result(block) or {}
        return ", ".join(f"{name}: {kind}" for name, kind in result.get("args", []))


def _paragraph(text: str) -> str:
    return f'<p class="jaxpr-message">{escape(text)}</p>\n'


_LINK = re.compile(r"https://[\w./#?=&%+-]+\w")


def _error_html(error: dict[str, Any]) -> str:
    headline, detail = error_parts(error)
    found = _paragraph(headline)
    if detail:
        found += f'<pre class="jaxpr-detail">{escape(detail)}</pre>\n'
    return _LINK.sub(lambda link: f'<a href="{link[0]}">{link[0]}</a>', found)
