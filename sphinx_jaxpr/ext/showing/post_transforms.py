"""The post-transforms that put blocks, links, values and claims into pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.builders.html import StandaloneHTMLBuilder

from ...program.text import on_one_line
from ..judging.build import RunningBuild
from ..judging.events import emit_figures
from ..judging.start import running
from ..judging.tags import are_met
from ..links import link
from ..nodes import jaxpr_blocks, jaxpr_claims, jaxpr_statement, jaxpr_when
from ..pages import PageTransform
from ..reading.roles import LINKS
from ..reading.statements import in_title
from ..records import COMPARE, TRUE, BlockOnPage, DirectiveRecord, Verdict

if TYPE_CHECKING:
    from .block import BlockRenderer, Rendering


class ShowBlocks(PageTransform):
    """Replaces every ``jaxpr_blocks`` before references are resolved.

    Leaves for each block, in builders that write HTML::

        <jaxpr_figure before="<figure ..." after="...</figure>" is_beside="False">
            <inline classes="jaxpr-caption">
            <jaxpr_words>
        <enumerated_list classes="jaxpr-notes">

    and in all others::

        <target ids="jaxpr-dense">
        <paragraph>
            <literal>
                the call
             - how the transform acted
        <literal_block language="jaxpr">
    """

    domain_name = "jaxpr"
    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        if self.app.builder.name == "gettext":  # the captions as their authors wrote them
            return
        build = running(self.app)
        definitions = build.ids.begin_tree()
        pending = list(self.document.findall(jaxpr_blocks))
        if not pending:
            return
        rendering = self.rendering(build)
        for node in pending:
            # A part that `only` removes later can't define anything for others.
            hidden = not are_met(node["directive"].only, self.app.tags)
            self.show(build, rendering, node, {**definitions} if hidden else definitions)

    def show(
        self,
        build: RunningBuild,
        rendering: Rendering,
        node: jaxpr_blocks,
        definitions: dict[str, str],
    ) -> None:
        """Replace the node of one directive."""
        record: DirectiveRecord = node["directive"]
        build.session.mend((record, block) for block in record.blocks)
        renderer = self.renderer(record)(rendering, record, node, definitions)
        page = node.get("docname", self.env.docname)
        build.ids.show_blocks(page, renderer.ids)
        node.replace_self([*renderer.render(), *renderer.closing()])
        emit_figures(self.app, build.session, page, record, renderer.figures)

    def rendering(self, build: RunningBuild) -> Rendering:
        """The context for rendering all directives of the tree."""
        from .block import Rendering

        return Rendering(
            build.session,
            build.targets,
            build.meanings,
            page=self.env.docname,
            format=self.app.builder.format,
            builder=self.app.builder.name,
            settings=build.session.settings,
            latex_engine=self.app.config.latex_engine,
            taken=set(),
        )

    def renderer(self, record: DirectiveRecord) -> type[BlockRenderer]:
        """The class that renders a directive in the format of this build."""
        # They load the parser and more, which a build that writes nothing doesn't need.
        from .figures import CompareRenderer, HtmlRenderer
        from .listings import NodeRenderer
        from .pasted import PastedHtmlRenderer, PastedNodeRenderer

        is_html = isinstance(self.app.builder, StandaloneHTMLBuilder)
        if record.blocks[0].pasted:
            return PastedHtmlRenderer if is_html else PastedNodeRenderer
        if not is_html:
            return NodeRenderer
        return CompareRenderer if record.layout == COMPARE else HtmlRenderer


_CLASSES = dict.fromkeys(("ref", "eqn", "prim"), "jaxpr-link")
_CLASSES |= {"val": "jaxpr-value", "claim": "jaxpr-claim"}


class ShowStatements(PageTransform):
    """Replaces the nodes of roles, and keeps or drops conditional parts.

    Leaves ``<inline classes="jaxpr-link">`` (in a reference), ``jaxpr-value`` or ``jaxpr-claim``.
    """

    domain_name = "jaxpr"
    default_priority = 7  # after the blocks: captions and notes hold roles too

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        if self.app.builder.name == "gettext":  # sentences as their authors wrote them
            return
        kinds = (jaxpr_statement, jaxpr_claims, jaxpr_when)
        pending = list(self.document.findall(lambda node: isinstance(node, kinds)))
        if not pending:
            return
        self.build = running(self.app)
        for node in reversed(pending):  # words may hold roles, whose own words come first
            assert isinstance(node, nodes.Element)
            if isinstance(node, jaxpr_statement) and node["role"] == "claim" and not node.children:
                remove_unseen(node)
            else:
                put(node, self.replacement(node))

    def replacement(self, node: nodes.Element) -> list[nodes.Node]:
        """The nodes that replace a statement."""
        if isinstance(node, jaxpr_claims):
            return []
        page = node["docname"]
        if isinstance(node, jaxpr_when):
            verdicts, expression = self.build.verdicts, node["expression"]
            if node["problem"] or verdicts.is_kept(page, expression, str(node.source)):
                return list(node.children)
            forget_footnotes(node)
            return []
        role = node["role"]
        words = nodes.inline("", "", *node.children, classes=[_CLASSES[role]])
        if self.build.session.mode == "skip" or node["problem"]:
            return [words]
        _, verdict = self.build.verdicts.resolved(page, node["statement"])[0]
        if role == "val":
            # A blank line would end the paragraph, in TeX even within an argument.
            text = on_one_line(verdict.text) if verdict.state == TRUE else "?"
            return [nodes.inline(text, text, classes=[_CLASSES[role]], translatable=False)]
        if role == "claim":
            return [self.claim(words, verdict)]
        reference = None
        # LaTeX repeats titles as running heads, in capitals, with the names of links.
        bare = _in_link(node) or (self.app.builder.format == "latex" and in_title(node))
        if verdict.state == TRUE and not bare:
            reference = self.link(page, verdict, role)
        if reference is None:
            return [words]
        reference += words
        return [reference]

    def claim(self, words: nodes.inline, verdict: Verdict) -> nodes.Node:
        """The words of a claim, with a mark for readers where the project wants one."""
        if verdict.state == TRUE and self.build.session.settings.claim_mark:
            mark = nodes.inline("", "\u00a0\u2713", classes=["jaxpr-checked"])
            mark["translatable"] = False
            if self.app.builder.format == "html":
                words += mark
        return words

    def link(self, page: str, verdict: Verdict, role: str) -> nodes.reference | None:
        """An empty link to the target of a path."""
        if role == "prim":
            return self.build.verdicts.link(page, verdict.text)
        if verdict.where:  # in another project
            return nodes.reference("", "", internal=False, refuri=verdict.where)
        target = self.build.verdicts.target(page, verdict)
        if target is None or not target.block.is_shown:
            return None
        return link(self.app.builder, page, target.page, self.identity(target, verdict.start))

    def identity(self, target: BlockOnPage, start: int) -> str:
        """The id of a block, or of its equation if the format has such."""
        identity = self.build.ids.of_block(target.page, target.block.identity)
        if start < 0 or not isinstance(self.app.builder, StandaloneHTMLBuilder):
            return identity
        from ...program.html.code import equation_ids

        printed = self.build.session.traced(target.directive, target.block).printed
        return equation_ids(printed, identity).get(start, identity)


def _in_link(node: nodes.Element) -> bool:
    parent = node.parent
    while isinstance(parent, nodes.TextElement | addnodes.pending_xref):
        if isinstance(parent, nodes.reference | addnodes.pending_xref):
            return True
        if isinstance(parent, jaxpr_statement) and parent["role"] in LINKS:
            return True
        parent = parent.parent
    return False


def put(node: nodes.Element, replacement: list[nodes.Node]) -> None:
    """Replace ``node``; its ids (of a label above it) and classes are kept."""
    if not isinstance(node, jaxpr_when):
        node.replace_self(replacement)
        return
    for child in replacement:
        if isinstance(child, nodes.Element):
            child["classes"] += node["classes"]
    if node["ids"]:  # they stay if the part is omitted
        replacement = [nodes.inline("", "", ids=node["ids"]), *replacement]
    parent = node.parent
    index = parent.index(node)
    parent[index : index + 1] = replacement


def remove_unseen(node: nodes.Element) -> None:
    """Remove a node that shows nothing: of the blanks around it one stays, or none at an end.

    A paragraph of its own goes with it.
    """
    parent = node.parent
    index = parent.index(node)
    before = parent[index - 1] if index else None
    after = parent[index + 1] if index + 1 < len(parent) else None
    is_spaced = after is None or (isinstance(after, nodes.Text) and after[:1].isspace())
    if isinstance(before, nodes.Text) and is_spaced:
        parent[index - 1 : index] = [nodes.Text(text)] if (text := before.rstrip()) else []
    elif before is None and isinstance(after, nodes.Text):
        parent[index + 1 : index + 2] = [nodes.Text(text)] if (text := after.lstrip()) else []
    parent.remove(node)
    if isinstance(parent, nodes.paragraph) and not parent.children and not parent["ids"]:
        parent.parent.remove(parent)


def forget_footnotes(node: nodes.Element) -> None:
    """Remove the backlinks of footnotes and citations to an omitted part."""
    around: Any = node
    while around.parent is not None and not isinstance(around, addnodes.start_of_file):
        around = around.parent
    gone = {
        identity
        for kind in (nodes.footnote_reference, nodes.citation_reference)
        for reference in node.findall(kind)
        for identity in reference["ids"]
    }
    kinds = nodes.footnote | nodes.citation
    for note in around.findall(lambda node: isinstance(node, kinds)):
        if gone & {*note["backrefs"]}:
            note["backrefs"] = [back for back in note["backrefs"] if back not in gone]
