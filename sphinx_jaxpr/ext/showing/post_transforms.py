"""The post-transforms that put blocks, links, values and claims into pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.builders.html import StandaloneHTMLBuilder

from ...program.text import on_one_line
from ..judging.build import RunningBuild
from ..judging.domain import JaxprDomain
from ..judging.events import emit_figures
from ..judging.findings import StatementChecker
from ..judging.names.appearances import Appearance
from ..judging.names.tags import are_met
from ..judging.start import running
from ..links import link
from ..nodes import jaxpr_blocks, jaxpr_claims, jaxpr_letter, jaxpr_statement, jaxpr_when
from ..pages import PageTransform
from ..reading.roles import LINKS
from ..reading.statements import in_title
from ..records import COMPARE, TRUE, BlockOnPage, DirectiveRecord, Statement, Verdict

if TYPE_CHECKING:
    from .block import BlockRenderer, Rendering
    from .writing import WritingMarks


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
            page = node.get("docname", self.env.docname)
            record = build.appearances.view(page, node.get("number", -1)) or node.get("directive")
            if record is None:  # in a part that `only` removes later
                node.replace_self([])
                continue
            # Such a part can't define anything for others.
            hidden = not are_met(record.only, self.app.tags)
            self.show(build, rendering, node, record, {**definitions} if hidden else definitions)

    def show(
        self,
        build: RunningBuild,
        rendering: Rendering,
        node: jaxpr_blocks,
        record: DirectiveRecord,
        definitions: dict[str, str],
    ) -> None:
        """Replace the node of one directive by what ``record`` shows."""
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
_CLASSES |= {"val": "jaxpr-value", "claim": "jaxpr-claim", "var": "jaxpr-letters"}


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
        self.build = running(self.app)
        is_writing = self.build.session.settings.shows_findings(self.app.builder)
        if not pending and not is_writing:
            return
        marks = self.marks() if is_writing else None
        for node in reversed(pending):  # words may hold roles, whose own words come first
            assert isinstance(node, nodes.Element)
            self.show(node, marks)
        if marks:
            marks.finish()

    def show(self, node: nodes.Element, marks: WritingMarks | None) -> None:
        """Put what a statement shows in its place, and the mark behind it."""
        beside = marks.beside(node) if marks and not self.is_label(node) else []
        is_unseen = isinstance(node, jaxpr_statement) and node["role"] == "claim"
        if is_unseen and not node.children and not beside:
            remove_unseen(node)
        else:
            shown = self.replacement(node)
            put(node, [*beside, *shown] if isinstance(node, jaxpr_when) else [*shown, *beside])

    def marks(self) -> WritingMarks:
        """What authors see of what is wrong."""
        from .writing import WritingMarks, pages_of

        domain = JaxprDomain.of(self.env)
        pages = pages_of(self.document, self.env.docname)
        statements = domain.visible_statements(self.app.tags, pages)
        checker = StatementChecker(self.build.session, self.build.verdicts, statements)
        return WritingMarks(domain, checker, self.document, pages)

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
        if self.is_label(node):
            return [each.deepcopy() for each in node["otherwise"]]
        words = nodes.inline("", "", *node.children, classes=[_CLASSES[role]])
        if self.build.session.mode == "skip" or node["problem"]:
            return [words]
        _, verdict = self.build.verdicts.resolved(page, node["statement"])[0]
        if role == "val":
            # A blank line would end the paragraph, in TeX even within an argument.
            text = on_one_line(verdict.text) if verdict.state == TRUE else "?"
            return [nodes.inline(text, text, classes=[_CLASSES[role]], translatable=False)]
        if role == "var":
            return [self.letters(node, words, verdict)]
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

    def is_label(self, node: nodes.Element) -> bool:
        """Whether a node is a short ``ref`` that is left to Sphinx, which links to a label."""
        if "otherwise" not in node:
            return False
        page = node["docname"]
        label = node["otherwise"][0]["reftarget"]
        statement = Statement("ref", node["expression"], "", "", 0, label=label)
        if self.build.session.mode == "skip":  # nothing else warns
            return not self.build.verdicts.names_block(page, statement)
        return self.build.verdicts.means_label(page, statement)

    def claim(self, words: nodes.inline, verdict: Verdict) -> nodes.Node:
        """The words of a claim, with a mark for readers where the project wants one."""
        if verdict.state == TRUE and self.build.session.settings.claim_mark:
            mark = nodes.inline("", "\u00a0\u2713", classes=["jaxpr-checked"])
            mark["translatable"] = False
            if self.app.builder.format == "html":
                words += mark
        return words

    def letters(self, node: nodes.Element, words: nodes.inline, verdict: Verdict) -> nodes.inline:
        """The letters of values, or the words for them, each with its link."""
        has_words = node["has_words"]
        if verdict.state != TRUE:
            return words if has_words else nodes.inline("?", "?", classes=words["classes"])
        if has_words:
            parts = [(words.children, [*verdict.letters])]
        else:
            words["translatable"] = False
            parts = [([nodes.literal(one[0], one[0])], [one]) for one in verdict.letters]
        words.clear()
        for number, (shown, letters) in enumerate(parts):
            words += [nodes.Text(" ")] * bool(number)
            words += self.letter(node, verdict, shown, letters)
        return words

    def letter(
        self,
        node: nodes.Element,
        verdict: Verdict,
        shown: list[nodes.Node],
        letters: list[tuple[str, int, int]],
    ) -> list[nodes.Node]:
        """What is shown for some letters, with a link to where the first is bound."""
        page = node["docname"]
        variables = [(variable, start) for _, variable, start in letters if variable >= 0]
        target = self.build.verdicts.target(page, verdict)
        appearance = next(iter(self.build.verdicts.appearances(page, verdict)), None)
        if not variables or target is None or appearance is None:
            return shown
        reference = None
        if not _in_link(node):
            identity = self.identity(target, appearance, variables[0][1])
            reference = link(self.app.builder, page, appearance.page, identity)
        if reference is not None:
            reference += shown
            shown = [reference]
        is_near = appearance.page == page or self.app.builder.name == "singlehtml"
        block = self.identity(target, appearance, -1) if is_near else ""
        named = " ".join(str(variable) for variable, _ in variables)
        return [jaxpr_letter("", "", *shown, block=block, var=named)]

    def link(self, page: str, verdict: Verdict, role: str) -> nodes.reference | None:
        """An empty link to the target of a path."""
        if role == "prim":
            return self.build.verdicts.link(page, verdict.text)
        if verdict.where:  # in another project
            return nodes.reference("", "", internal=False, refuri=verdict.where)
        target = self.build.verdicts.target(page, verdict)
        if target is None:
            return None
        for appearance in self.build.verdicts.appearances(page, verdict):
            identity = self.identity(target, appearance, verdict.start)
            reference = link(self.app.builder, page, appearance.page, identity)
            if reference is not None:
                return reference
        return None

    def identity(self, target: BlockOnPage, appearance: Appearance, start: int) -> str:
        """The id of a figure, or of an equation in it if the format has such."""
        identity = self.build.ids.of_block(*appearance)
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
