"""The statements of a page, collected once it is read, with their exact lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from docutils import nodes
from sphinx import addnodes

from ...program.text import clipped
from ..nodes import jaxpr_claims, jaxpr_name, jaxpr_statement, jaxpr_when
from ..records import DirectiveRecord, Finding, NamedLine, ShowRecord, Statement
from . import words
from .claims.names import restore_names, show_names
from .roles import IN_TITLES, LINKS
from .source_lines import find_lines

if TYPE_CHECKING:
    from .claims.named import LineNames

_STATEMENTS = (jaxpr_statement, jaxpr_claims, jaxpr_when)
_CUT_OFF: Final = "a backquote in its words ends the role; put more of them around it: {}"
#: The beginning of a role as Markdown has it.
_OPENED: Final = re.compile(r"\{jaxpr:([a-z]+)\}(?=`)")


def prepare(doctree: nodes.document) -> list[Finding]:
    """Find the lines of all roles and the words that they show, and clear titles of them."""
    restore_names(doctree)
    roles = find_lines(doctree)
    show_names(doctree, roles)
    return [*_take_from_titles(roles), *_left_as_text(doctree)]


def _left_as_text(doctree: nodes.document) -> Iterator[Finding]:
    """Findings about roles that the parser took for text, so that nothing would be checked."""
    for text in doctree.findall(nodes.Text):
        if "{jaxpr:" not in text or isinstance(text.parent, nodes.literal | nodes.FixedTextElement):
            continue
        is_markdown = str(doctree.get("source", "")).endswith((".md", ".ipynb"))
        for match in _OPENED.finditer(text):
            if is_markdown:
                reason = "as many backquotes have to end a role as begin it, and no others between"
            else:
                reason = f"in reStructuredText the role is written :jaxpr:{match[1]}:`...`"
            around = text.parent
            while around.line is None and around.parent is not None:
                around = around.parent
            before = around.astext().partition(text)[0] + text[: match.start()]
            line = (around.line or 1) + before.count("\n")
            message = f"{match[0]} is text here, and nothing is checked: {reason}"
            yield Finding("option", message, str(around.source), line)


def _take_from_titles(roles: Iterable[nodes.Element]) -> list[Finding]:
    """Keep only the words of roles in titles, which Sphinx copies before anything is traced."""
    findings = []
    for node in roles:
        if not in_title(node):
            continue
        if node["role"] in IN_TITLES:
            if "otherwise" in node:  # tables of contents show a label as Sphinx's own role does
                node[:] = [child.deepcopy() for child in node["otherwise"][0].children]
            continue
        findings.append(
            Finding(
                "option",
                f"jaxpr:{node['role']} cannot be used in a title, which tables of contents copy"
                f" before it is checked; only the words {clipped(node['words'], 60)!r} are kept",
                str(node.source),
                node.line or 1,
            )
        )
        words.unwrap(node)
    return findings


def in_title(node: nodes.Node) -> bool:
    """Whether a node is in the title of a section or a page."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, nodes.title):
            return isinstance(parent.parent, nodes.section | nodes.document)
        parent = parent.parent
    return False


def collect(
    docname: str, doctree: nodes.document, directives: Iterable[DirectiveRecord | ShowRecord]
) -> tuple[list[Statement], list[NamedLine], list[Finding]]:
    """All statements of a page, in its order, its named lines, and the findings about both.

    Paths of the ``directives`` may use the lets of the page.
    """
    on_page: list[Statement] = []
    findings: list[Finding] = []
    elements = [
        node
        for node in doctree.findall(_is_statement)
        # Roles in the name of a line count in the sentences that show it.
        if isinstance(node, nodes.Element) and not isinstance(node.parent, jaxpr_name)
    ]
    names = _line_names(elements)
    for node in elements:
        node["docname"] = docname
        findings += node.get("findings", ())
        if isinstance(node, jaxpr_claims):
            on_page += names.at_their_lines(node) if names else ()
            continue
        if names and node.get("keys"):
            node["problem"] = names.problem(node)
        if isinstance(node, jaxpr_statement) and (node["problem"] or node["ends_in_blank"]):
            meant = words.cut_off(node)
            node["problem"] = _CUT_OFF.format(meant) if meant else node["problem"]
        node["statement"] = _statement(node)
        on_page.append(node["statement"])
        if isinstance(node, jaxpr_statement) and node["role"] in LINKS:
            findings += _links_inside(node)
    findings += names.unused(on_page, directives) if names else ()
    return on_page, names.lines if names else [], findings


def _line_names(elements: Iterable[nodes.Element]) -> LineNames | None:
    """The names of lines on a page; most pages have none, and need no language."""
    claims = [node for node in elements if isinstance(node, jaxpr_claims)]
    roles = [node for node in elements if node.get("keys")]
    if not claims and not roles:
        return None
    from .claims.named import LineNames, lines_of

    parts = [
        (conditions(node, addnodes.only, "expr"), conditions(node, jaxpr_when, "expression"))
        for node in claims
    ]
    return LineNames(
        {node: lines_of(node, *part) for node, part in zip(claims, parts, strict=True)}, roles
    )


def _is_statement(node: nodes.Node) -> bool:
    return isinstance(node, _STATEMENTS)


def _links_inside(node: jaxpr_statement) -> list[Finding]:
    """Findings about links in the words of a link, which are removed."""
    return [
        Finding(
            "option",
            f"jaxpr:{node['role']}: its words {clipped(node['words'], 60)!r} are a link, and can't"
            f" hold another one; {clipped(text, 60)!r} links to nothing",
            str(node.source),
            node.line or 1,
        )
        for text in words.without_links(node)
    ]


def _statement(node: nodes.Element) -> Statement:
    is_role = isinstance(node, jaxpr_statement)
    return Statement(
        node["role"] if is_role else "when",
        node["expression"],
        node["words"] if is_role else "",
        str(node.source),
        node.line or 1,
        only=conditions(node, addnodes.only, "expr"),
        when=conditions(node, jaxpr_when, "expression"),
        problem=node["problem"],
        label=node["otherwise"][0]["reftarget"] if "otherwise" in node else "",
        named=tuple(node.get("keys", ())),
    )


def conditions(node: nodes.Node, kind: type[nodes.Element], key: str) -> tuple[str, ...]:
    """The conditions of all nodes of a kind around ``node``."""
    around = []
    parent = node.parent
    while parent is not None:
        if isinstance(parent, kind):
            around.append(parent[key])
        parent = parent.parent
    return tuple(around)
