"""The quotes of a page: found once it is read, with their exact lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes

from ...program.text import clipped
from ..nodes import jaxpr_claims, jaxpr_statement, jaxpr_when
from ..records import Finding, Statement
from .roles import IN_TITLES
from .source_lines import find_lines

_QUOTING = (jaxpr_statement, jaxpr_claims, jaxpr_when)


def take_from_titles(doctree: nodes.document) -> list[Finding]:
    """Leave only words of roles in titles, which Sphinx copies before anything is known."""
    found = []
    for node in find_lines(doctree):
        if node["what"] in IN_TITLES or not in_title(node):
            continue
        found.append(
            Finding(
                "option",
                f"jaxpr:{node['what']} can't stand in a title, which is shown in tables of contents"
                f" before it is judged; the words {clipped(node['words'], 60)!r} stay",
                str(node.source),
                node.line or 1,
            )
        )
        kept = nodes.inline("", "", *node.children)
        has_attributes = any(node[name] for name in node.basic_attributes)
        node.replace_self(kept if has_attributes else kept.children)
    return found


def in_title(node: nodes.Node) -> bool:
    """Whether a node stands in the title of a section or a page."""
    parent = node.parent
    while parent is not None:
        if isinstance(parent, nodes.title):
            return isinstance(parent.parent, nodes.section | nodes.document)
        parent = parent.parent
    return False


def collect(docname: str, doctree: nodes.document) -> tuple[list[Statement], list[Finding]]:
    """All quotes of a page, in its order, and what is wrong with their directives."""
    found: list[Statement] = []
    findings: list[Finding] = []
    for node in doctree.findall(lambda node: isinstance(node, _QUOTING)):
        assert isinstance(node, nodes.Element)
        node["docname"] = docname
        findings += node.get("findings", ())
        found += _statements(node)
    return found, findings


def _statements(node: nodes.Element) -> Iterator[Statement]:
    source = str(node.source)
    around: dict[str, Any] = {"only": conditions(node, addnodes.only, "expr")}
    around["when"] = conditions(node, jaxpr_when, "expression")
    if isinstance(node, jaxpr_claims):
        for line, text in node["lines"]:
            yield Statement("claim", text, "", source, line, **around)
        return
    what = node["what"] if isinstance(node, jaxpr_statement) else "when"
    words = node["words"] if isinstance(node, jaxpr_statement) else ""
    line, problem = node.line or 1, node["problem"]
    yield Statement(what, node["expression"], words, source, line, problem=problem, **around)


def conditions(node: nodes.Node, kind: type[nodes.Element], key: str) -> tuple[str, ...]:
    """The conditions of all nodes of a kind around ``node``."""
    found = []
    parent = node.parent
    while parent is not None:
        if isinstance(parent, kind):
            found.append(parent[key])
        parent = parent.parent
    return tuple(found)
