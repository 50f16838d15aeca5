"""``jaxpr-when``: prose for some versions only."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment

from ..nodes import jaxpr_blocks, jaxpr_code, jaxpr_primitives, jaxpr_when
from ..records import Finding
from .options import CheckedDirective
from .source_lines import is_markdown, lines_at


class JaxprWhen(CheckedDirective):
    """Its body is shown where the expression, its argument, is true.  Leaves in the doctree::

    <jaxpr_when expression='jax >= "0.12"' problem="" findings="...">
        <paragraph>
            ...
    """

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_when`` around the parsed body."""
        self.begin()
        expression = " ".join(self.arguments[0].split()) if self.arguments else ""
        node = jaxpr_when(expression=expression, problem="")
        self.set_source_info(node)
        node.source, node.line = self.span.source, self.span.line
        if not expression:
            node["problem"] = (
                f"{self.name} has no condition; write one on the directive's own line, as in"
                f' {self.name} jax >= "0.12"'
            )
        self.check_myst_options()  # before other directives run, those of the body
        self.check_option_names()
        # rST would report a heading once, as an error; here every build refuses it.
        node += self.parse_content_to_nodes(allow_section_headings=not self.span.markdown)
        node["findings"] = [*self.findings, *self._refused(node)]
        _flatten(node)
        return [node]

    def _refused(self, node: jaxpr_when) -> list[Finding]:
        """A finding for each line with something that must not depend on a condition."""
        refused: dict[tuple[str, int], str] = {}
        for noun, inner in _noted(node, self.state.document, self.env):
            source, line = _position(inner, node)
            if isinstance(inner, nodes.target) and inner["names"] and not is_markdown(self):
                # docutils counts its line in the including file.
                mapped = self.state_machine.get_source_and_line(line)
                source, line = mapped[0] or source, mapped[1] or line
            if os.path.exists(source):
                source = os.path.abspath(source)
            refused.setdefault((source, line), noun)
        return [
            Finding(
                "option",
                f"{noun} cannot be used in {self.name}: Sphinx registers it while it reads the"
                " page, before it is clear whether it will be shown; move it out, or use two"
                " pages",
                source,
                line,
            )
            for (source, line), noun in refused.items()
        ]


def _position(inner: nodes.Element, outer: nodes.Element) -> tuple[str, int]:
    """The file and line of a node: its own, or those of a node around it or inside it."""
    source = str(inner.source or outer.source)
    source = str(outer.source) if source.startswith("<") else source  # generated text
    own = inner
    if isinstance(inner, addnodes.index) and inner.line is None:  # its label has one
        own = next((n for n in _beside(inner) if isinstance(n, nodes.target)), inner)
    if own.line is not None:
        return source, own.line
    around = inner.parent
    while around is not outer and around.line is None:
        around = around.parent
    within = [child.line for child in inner.findall() if child.line is not None]
    if around is not outer or not within:
        return source, around.line or 1
    # Many directives record no line; they begin above the first line of their content.
    lines, first = lines_at(source, min(within))
    last = min(min(within), first + len(lines) - 1)
    above = (n for n in range(last, outer.line or 0, -1) if _DIRECTIVE.match(lines[n - first]))
    return source, next(above, min(within))


def _beside(node: nodes.Element) -> list[nodes.Node]:
    """The siblings just before and just after a node."""
    index = node.parent.index(node)
    return [*node.parent[max(index - 1, 0) : index], *node.parent[index + 1 : index + 2]]


_DIRECTIVE: Final = re.compile(r"[\s>]*(\.\. [\w:-]+::|[`~:]{3,}\s*\{)")
_Kinds = tuple[type[nodes.Element], ...]

#: What Sphinx registers while it reads pages, for tables of contents, indices, references.
_NOTED: Final[tuple[tuple[_Kinds, str], ...]] = (
    ((nodes.section,), "a heading"),
    ((jaxpr_blocks,), "a block"),
    ((jaxpr_code,), "code"),
    ((jaxpr_primitives,), "a list of primitives"),
    ((addnodes.toctree,), "a toctree"),
    ((addnodes.desc,), "a description"),
    ((addnodes.glossary,), "a glossary"),
    ((addnodes.productionlist,), "a grammar"),
    ((nodes.footnote,), "a footnote's text"),
    ((nodes.citation,), "a citation's text"),
    ((addnodes.index,), "an index entry"),
)


def _noted(
    node: nodes.Element, document: nodes.document, env: BuildEnvironment
) -> Iterator[tuple[str, nodes.Element]]:
    """The nodes of a part that are registered, each with a noun; the outer one of two nested."""
    standard = cast(StandardDomain, env.get_domain("std"))
    numbered = standard.get_enumerable_node_type
    for child in node.children:
        if not isinstance(child, nodes.Element) or isinstance(child, jaxpr_when):
            continue
        noun = next((noun for kinds, noun in _NOTED if isinstance(child, kinds)), "")
        noun = noun or _labelled(child, document, numbered if env.config.numfig else None)
        if noun and not _is_part(child):
            yield noun, child
        if not noun or isinstance(child, nodes.section):
            yield from _noted(child, document, env)


def _labelled(
    node: nodes.Element, document: nodes.document, numbered: Callable[[nodes.Node], Any] | None
) -> str:
    """The noun for a node with a name or a number in the whole project, or ``""``."""
    if isinstance(node, nodes.math_block) and node.get("label"):
        return "an equation with a label"
    if isinstance(node, nodes.rubric) and "level" in node:
        return "a heading"  # as MyST leaves it
    if isinstance(node, nodes.target):
        return "" if "refuri" in node or "refname" in node else "a label"
    if any(document.nametypes.get(name) for name in node["names"]):
        return "a label"
    captioned = any(isinstance(child, nodes.caption | nodes.title) for child in node.children)
    return "a numbered figure" if captioned and numbered and numbered(node) else ""


def _is_part(node: nodes.Element) -> bool:
    """Whether a sibling already covers it: a description has an index entry, which has a label."""
    if isinstance(node, addnodes.index):
        return any(isinstance(after, addnodes.desc) for after in _beside(node)[-1:])
    labelled = (addnodes.index, nodes.math_block)
    return isinstance(node, nodes.target) and any(isinstance(n, labelled) for n in _beside(node))


def _flatten(node: nodes.Element) -> None:
    """Keep the titles of refused headings, but not the sections, which contents would list."""
    for section in list(node.findall(nodes.section)):
        title = section.next_node(nodes.title)
        if title is not None and title.parent is section:
            title.replace_self(nodes.rubric(title.rawsource, "", *title.children))
        section.parent.replace(section, section.children)
