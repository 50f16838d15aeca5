"""The statements of a page, collected once it is read, with their exact lines."""

from __future__ import annotations

from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes

from ...program.text import clipped
from ..nodes import jaxpr_claims, jaxpr_statement, jaxpr_when
from ..records import Finding, Statement
from .roles import IN_TITLES, LINKS
from .source_lines import find_lines
from .words import without_links

_STATEMENTS = (jaxpr_statement, jaxpr_claims, jaxpr_when)


def take_from_titles(doctree: nodes.document) -> list[Finding]:
    """Keep only the words of roles in titles, which Sphinx copies before anything is traced."""
    findings = []
    for node in find_lines(doctree):
        if node["role"] in IN_TITLES or not in_title(node):
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
        kept = nodes.inline("", "", *node.children)
        has_attributes = any(node[name] for name in node.basic_attributes)
        node.replace_self(kept if has_attributes else kept.children)
    return findings


def in_title(node: nodes.Node) -> bool:
    """Whether a node is in the title of a section or a page."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, nodes.title):
            return isinstance(parent.parent, nodes.section | nodes.document)
        parent = parent.parent
    return False


def collect(docname: str, doctree: nodes.document) -> tuple[list[Statement], list[Finding]]:
    """All statements of a page, in its order, and the findings of their directives."""
    on_page: list[Statement] = []
    findings: list[Finding] = []
    for node in doctree.findall(lambda node: isinstance(node, _STATEMENTS)):
        assert isinstance(node, nodes.Element)
        node["docname"] = docname
        findings += node.get("findings", ())
        on_page += _statements(node)
        if isinstance(node, jaxpr_statement) and node["role"] in LINKS:
            findings += _links_inside(node)
    return on_page, findings


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
        for text in without_links(node)
    ]


def _statements(node: nodes.Element) -> Iterator[Statement]:
    source = str(node.source)
    only = conditions(node, addnodes.only, "expr")
    when = conditions(node, jaxpr_when, "expression")
    if isinstance(node, jaxpr_claims):
        for line, text in node["lines"]:
            yield Statement("claim", text, "", source, line, only=only, when=when)
        return
    role = node["role"] if isinstance(node, jaxpr_statement) else "when"
    words = node["words"] if isinstance(node, jaxpr_statement) else ""
    line, problem = node.line or 1, node["problem"]
    yield Statement(
        role, node["expression"], words, source, line, only=only, when=when, problem=problem
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
