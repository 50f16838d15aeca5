"""From outcomes to nodes: the post-transform that fills the pages."""

from __future__ import annotations

import re
from html import escape
from typing import Any, cast

from docutils import nodes
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.transforms.post_transforms import SphinxPostTransform

from ..program.model import Printed, walk
from . import config as settings
from .domain import JaxprDomain
from .engine import Engine
from .html import code
from .judge import describe, megabytes
from .nodes import jaxpr_figure, jaxpr_gallery
from .records import Block, Gallery

#: Printed lines up to which a block starts open under ``auto``.
OPEN_LINES = 40
#: A word longer than this can leave a printed page's margin.
LONG_WORD = 70


class ShowBlocks(SphinxPostTransform):
    """Replaces every ``jaxpr_gallery`` before references are resolved."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        domain = cast(JaxprDomain, self.env.get_domain("jaxpr"))
        taken: set[str] = set()
        for node in list(self.document.findall(jaxpr_gallery)):
            engine = domain.engine or Engine(self.app)
            shown = _Shown(engine, node["gallery"], node, taken)
            as_html = isinstance(self.app.builder, StandaloneHTMLBuilder)
            node.replace_self(shown.html() if as_html else shown.plain())


class _Shown:
    """One directive on its way to nodes."""

    def __init__(
        self, engine: Engine, gallery: Gallery, node: jaxpr_gallery, taken: set[str]
    ) -> None:
        self.engine = engine
        self.gallery = gallery
        self.caption = next(iter(node.findall(nodes.caption)), None)
        self.rest = [child for child in node.children if child is not self.caption]
        self.blocks = [block for block in gallery.blocks if block.shown]
        self.ids = {block.name + block.identity: _free(block.identity, taken) for block in self.blocks}
        self.epub = engine.app.builder.format == "html" and engine.app.builder.name == "epub"

    def id_of(self, block: Block) -> str:
        return self.ids[block.name + block.identity]

    # -- facts for all formats

    def call(self, block: Block) -> str:
        result = self.engine.result(block)
        if result is not None and "call" in result:
            return str(result["call"])
        target = block.request.target if block.request else block.name
        last = target.replace(":", ".").rpartition(".")[2]
        return f"{last}, {block.label}" if block.label else last

    def counts(self, block: Block, arrow: str) -> str:
        """``4 → 15 equations (18 with nested)``."""
        found = self.engine.printed(block)
        if found is None or found[0].program is None:
            return ""
        own, nested = _count(found[0])
        base = self.engine.printed(self.gallery.blocks[0]) if block.label else None
        before = f"{_count(base[0])[0]} {arrow} " if base and base[0].program is not None else ""
        more = f" ({nested} with nested)" if nested != own else ""
        return f"{before}{own} equation{'' if own == 1 else 's'}{more}"

    def remarks(self, block: Block) -> list[str]:
        """Effects, effects that a transform lost, captured arrays."""
        result = self.engine.result(block) or {}
        remarks = []
        effects = result.get("effects", [])
        if effects:
            remarks.append(f"effects: {', '.join(effects)}")
        base = (self.engine.result(self.gallery.blocks[0]) or {}) if block.label else {}
        lost = [effect for effect in base.get("effects", []) if effect not in effects]
        if lost and result:
            remarks.append(f"the base has effects that are lost here: {', '.join(lost)}")
        sizes = result.get("constants", [])
        if sizes:
            total = megabytes(sum(size for _, size in sizes))
            listed = ", ".join(kind for kind, _ in sizes[:4]) + (", ..." if sizes[4:] else "")
            remarks.append(f"{total} captured: {listed}")
        return remarks

    def version(self, block: Block) -> str:
        result = self.engine.result(block) or {}
        return f"JAX {result['jax']}" if "jax" in result else ""

    def error(self, block: Block) -> dict[str, Any] | None:
        """What to show instead of a program."""
        if block.problem:
            return _problem(block.problem)
        outcome = self.engine.outcome(block)
        if outcome is None:
            return _problem("it was not traced")
        if outcome.error is not None:
            return outcome.error
        result = self.engine.result(block)
        if result is None:
            outcome = self.engine.outcome(block)
            return (outcome.error if outcome else None) or _problem("its stored result is damaged")
        error: dict[str, Any] | None = result.get("error")
        return error

    def is_expected(self, block: Block) -> bool:
        result = self.engine.result(block)
        return result is not None and "error" in result

    def is_open(self, block: Block, printed: Printed) -> bool:
        opened = self.gallery.opened or settings.value(self.engine.app.config, "jaxpr_open")
        if self.epub or opened == "all":
            return True
        limit = settings.value(self.engine.app.config, "jaxpr_max_equations")
        if _count(printed)[1] > limit:
            return False
        if opened == "auto":
            return printed.text.count("\n") < OPEN_LINES
        return (block.label or "base") in opened.split(",")

    # -- HTML

    def html(self) -> list[nodes.Node]:
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

    # -- all other formats

    def plain(self) -> list[nodes.Node]:
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

    def source(self) -> list[nodes.Node]:
        """The function's Python source, where it was asked for."""
        result = self.engine.result(self.gallery.blocks[0]) or {}
        if not self.gallery.with_source or not result.get("source"):
            return []
        text = result["source"]["text"]
        shown = nodes.literal_block(text, text, language="python", translatable=False)
        shown["classes"].append("jaxpr-source")
        return [shown]


def _free(identity: str, taken: set[str]) -> str:
    """An id that is unique also where several pages are put together."""
    found, count = identity, 2
    while found in taken:
        found = f"{identity}-{count}"
        count += 1
    taken.add(found)
    return found


def _count(printed: Printed) -> tuple[int, int]:
    """Equations at the top level, and at any depth (a shared program once)."""
    assert printed.program is not None
    shared = sum(1 for _, program in printed.shared for _ in walk(program))
    return len(printed.program.equations), shared + sum(1 for _ in walk(printed.program))


def _problem(message: str) -> dict[str, Any]:
    return {"kind": "option", "type": "", "message": message, "frames": []}


def _paragraph(text: str) -> str:
    return f'<p class="jaxpr-message">{escape(text)}</p>\n'


def _error_parts(error: dict[str, Any]) -> tuple[str, str]:
    """The headline of an error and the lines below it."""
    lines = error["message"].splitlines() or [""]
    named = error["type"] and error["type"] != "RequestError"
    headline = f"{error['type']}: {lines[0]}" if named else describe({**error, "frames": []})
    detail = lines[1:20] if named else []
    for frame in error.get("frames", [])[-3:]:
        inside = f", in {frame['function']}" if frame["function"] else ""
        detail += [f"{frame['file']}, line {frame['line']}{inside}", f"    {frame['code']}"]
    return headline.strip(), "\n".join(detail).strip("\n")


_LINK = re.compile(r"https://[\w./#?=&%+-]+\w")


def _error_html(error: dict[str, Any]) -> str:
    headline, detail = _error_parts(error)
    found = _paragraph(headline)
    if detail:
        found += f'<pre class="jaxpr-detail">{escape(detail)}</pre>\n'
    return _LINK.sub(lambda link: f'<a href="{link[0]}">{link[0]}</a>', found)


def _error_nodes(error: dict[str, Any], expected: bool) -> list[nodes.Node]:
    headline, detail = _error_parts(error)
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
