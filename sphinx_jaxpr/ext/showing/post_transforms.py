"""The post-transform that puts links, values and claims into sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.builders.html import StandaloneHTMLBuilder

from ...program.text import on_one_line
from ..judging.domain import JaxprDomain, are_met
from ..judging.events import emit_figures
from ..judging.findings import StatementChecker
from ..judging.verdicts import judging
from ..links import link
from ..nodes import jaxpr_blocks, jaxpr_claims, jaxpr_statement, jaxpr_when
from ..pages import PageTransform
from ..reading.statements import in_title
from ..records import COMPARE, TRUE, Block, BlockOnPage, Statement, Verdict

if TYPE_CHECKING:
    from .block import BlockRenderer


# --- the post-transform that fills the pages


class ShowBlocks(PageTransform):
    """Replaces every ``jaxpr_blocks`` before references are resolved."""

    domain_name = "jaxpr"
    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        if self.app.builder.name == "gettext":  # the captions as their authors wrote them
            return
        domain = cast(JaxprDomain, self.env.get_domain("jaxpr"))
        nodes = list(self.document.findall(jaxpr_blocks))
        defined: dict[str, str] = {}
        if domain.session:
            domain.session.explained = defined
        if not nodes:
            return
        # They bring the parser and more, which a build that writes nothing never needs.
        from .figures import CompareRenderer, HtmlRenderer
        from .listings import NodeRenderer
        from .pasted import PastedHtmlRenderer, PastedNodeRenderer

        is_html = isinstance(self.app.builder, StandaloneHTMLBuilder)
        taken: set[str] = set()
        session = domain.session or judging(self.app, domain.visible(self.app.tags))
        for node in nodes:
            directive = node["directive"]
            # What an `only` takes away later defines nothing for others.
            hidden = not are_met(directive.only, self.app.tags)
            session.defined = {**defined} if hidden else defined
            form: type[BlockRenderer]
            if directive.blocks[0].pasted:
                form = PastedHtmlRenderer if is_html else PastedNodeRenderer
            else:
                form = (
                    (CompareRenderer if directive.layout == COMPARE else HtmlRenderer)
                    if is_html
                    else NodeRenderer
                )
            shown = form(session, directive, node, taken)
            page = node.get("docname", self.env.docname)
            session.renamed.update(((page, old), new) for old, new in shown.ids.items())
            node.replace_self([*shown.shown(), *shown.closing()])
            emit_figures(self.app, session, page, shown.figures)


# --- the post-transform that puts links, values and claims into sentences

_CLASSES = dict.fromkeys(("ref", "eqn", "prim"), "jaxpr-link")
_CLASSES |= {"val": "jaxpr-value", "claim": "jaxpr-claim"}


class ShowStatements(PageTransform):
    """Replaces the nodes of roles, and keeps or drops what stands under a condition."""

    domain_name = "jaxpr"
    default_priority = 7  # after the blocks: captions and notes hold roles too

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        if self.app.builder.name == "gettext":  # sentences as their authors wrote them
            return
        kinds = (jaxpr_statement, jaxpr_claims, jaxpr_when)
        found = list(self.document.findall(lambda node: isinstance(node, kinds)))
        if not found:
            return
        self.domain = cast(JaxprDomain, self.env.get_domain("jaxpr"))
        self.session = self.domain.session or judging(self.app, self.domain.visible(self.app.tags))
        self.sentences = StatementChecker(self.session, {})
        for node in found:
            assert isinstance(node, nodes.Element)
            put(node, self.shown(node))

    def shown(self, node: nodes.Element) -> list[nodes.Node]:
        """What stands for a node."""
        if isinstance(node, jaxpr_claims):
            return []
        page = node["docname"]
        if isinstance(node, jaxpr_when):
            if node["problem"] or self.sentences.is_kept(page, node["expression"]):
                return list(node.children)
            forget_footnotes(node)
            return []
        what = node["what"]
        children = [child.deepcopy() for child in node.children]
        shown = nodes.inline("", "", *children, classes=[_CLASSES[what]])
        if self.session.mode == "skip" or node["problem"]:
            return [shown]
        statement = Statement(what, node["expression"], "", "", 0)
        verdict = self.session.verdicts.of(page, statement)
        if what == "val":
            # A blank line would end the paragraph, in TeX in the midst of an argument.
            text = on_one_line(verdict.text) if verdict.state == TRUE else "?"
            return [nodes.inline(text, text, classes=[_CLASSES[what]], translatable=False)]
        if what == "claim":
            return [self.claimed(shown, verdict)]
        found = None
        # LaTeX sets titles once more as running heads, in capitals, with the names of links.
        bare = _in_link(node) or (self.app.builder.format == "latex" and in_title(node))
        if verdict.state == TRUE and not bare:
            found = self.link(page, verdict, what)
        if found is None:
            return [shown]
        found += shown
        return [found]

    def claimed(self, shown: nodes.inline, verdict: Verdict) -> nodes.Node:
        """The words of a claim, with a mark for readers where the project wants one."""
        if verdict.state == TRUE and self.session.settings.claim_mark:
            mark = nodes.inline("", "\u00a0\u2713", classes=["jaxpr-checked"])
            mark["translatable"] = False
            if self.app.builder.format == "html":
                shown += mark
        return shown

    def link(self, page: str, verdict: Verdict, what: str) -> nodes.reference | None:
        """An empty link to what a path leads to."""
        if what == "prim":
            return self.session.verdicts.link(page, verdict.text)
        if verdict.where:  # in another project
            return nodes.reference("", "", internal=False, refuri=verdict.where)
        place = self.session.verdicts.place(page, verdict)
        if place is None or not place.block.shown:
            return None
        return link(self.app.builder, page, place.page, self.identity(place, verdict.start))

    def identity(self, place: BlockOnPage, start: int) -> str:
        """The id of a block, or of its equation where the format has such."""
        block: Block = place.block
        identity = self.session.renamed.get((place.page, block.identity), block.identity)
        if start < 0 or not isinstance(self.app.builder, StandaloneHTMLBuilder):
            return identity
        from ...program.html.code import equation_ids

        found = self.session.printed(block)
        return equation_ids(found[0], identity).get(start, identity) if found else identity


def _in_link(node: nodes.Element) -> bool:
    parent = node.parent
    while isinstance(parent, nodes.TextElement | addnodes.pending_xref):
        if isinstance(parent, nodes.reference | addnodes.pending_xref):
            return True
        parent = parent.parent
    return False


def put(node: nodes.Element, shown: list[nodes.Node]) -> None:
    """Put nodes where ``node`` stands; its ids (of a label above it) and classes go on."""
    if not isinstance(node, jaxpr_when):
        node.replace_self(shown)
        return
    for child in shown:
        if isinstance(child, nodes.Element):
            child["classes"] += node["classes"]
    if node["ids"]:  # they stay where the part is left out
        shown = [nodes.inline("", "", ids=node["ids"]), *shown]
    parent = node.parent
    place = parent.index(node)
    parent[place : place + 1] = shown


def forget_footnotes(node: nodes.Element) -> None:
    """Footnotes and citations have no way back to a part that is left out."""
    around: Any = node
    while around.parent is not None and not isinstance(around, addnodes.start_of_file):
        around = around.parent
    gone = {
        identity
        for kind in (nodes.footnote_reference, nodes.citation_reference)
        for reference in node.findall(kind)
        for identity in reference["ids"]
    }
    for note in around.findall(lambda one: isinstance(one, nodes.footnote | nodes.citation)):
        if gone & {*note["backrefs"]}:
            note["backrefs"] = [one for one in note["backrefs"] if one not in gone]
