"""Collects the records of a page from its doctree, with ids that are unique on the page."""

from __future__ import annotations

import re
from typing import Final

from docutils import nodes
from sphinx import addnodes

from ...tracing.files import file_name
from ..config import ProjectSettings
from ..nodes import jaxpr_blocks, jaxpr_code, jaxpr_primitives
from ..records import (
    CodePart,
    DirectiveRecord,
    Finding,
    PageRecords,
    PrimitiveList,
    ShowRecord,
)
from . import statements


def collect(docname: str, doctree: nodes.document, settings: ProjectSettings) -> PageRecords:
    """The records of a page; its nodes keep their own, and the page's name."""
    directives, shows, code, findings = _blocks(docname, doctree, settings)
    lists = list(doctree.findall(jaxpr_primitives))
    for number, listed in enumerate(lists, 1):
        only = statements.conditions(listed, addnodes.only, "expr")
        listed["docname"] = docname
        listed["listing"] = PrimitiveList(listed["scope"], number, only)
    on_page, named, others = statements.collect(docname, doctree, [*directives, *shows])
    findings += others
    findings += [finding for listed in lists for finding in listed["findings"]]
    return PageRecords(
        directives=tuple(directives),
        lists=tuple(listed["listing"] for listed in lists),
        statements=tuple(on_page),
        findings=tuple(findings),
        shows=tuple(shows),
        links=tuple(_links(doctree)),
        named=tuple(named),
        code=tuple(code),
    )


def _blocks(
    docname: str, doctree: nodes.document, settings: ProjectSettings
) -> tuple[list[DirectiveRecord], list[ShowRecord], list[CodePart], list[Finding]]:
    """The blocks of a page, where they are shown, its code, and what is wrong with that."""
    if not any(isinstance(node, jaxpr_blocks | jaxpr_code) for node in doctree.findall()):
        return [], [], [], []  # most pages of a project may have neither
    from .code import CodeOfPage, with_nodes

    taken: set[str] = set()
    directives = []
    shows = []
    code = CodeOfPage(with_nodes(doctree), settings)
    for number, (node, above) in enumerate(code.blocks):
        only = statements.conditions(node, addnodes.only, "expr")
        node["docname"], node["number"] = docname, number
        if "show" in node:
            shows.append(node["show"]._replace(only=only, number=number))
            continue
        notes = node.get("without_code", ""), node.get("bare_name", "")
        directive = code.resolved(node["directive"], above, *notes)
        directive = _on_page(directive, docname, taken, only)
        node["directive"] = directive._replace(number=number)
        directives.append(node["directive"])
    findings = code.findings
    for written in list(doctree.findall(jaxpr_code)):
        findings += written["findings"]
        written.parent.remove(written)  # the code block beside it shows the code
    return directives, shows, code.parts, findings


def _links(doctree: nodes.document) -> list[str]:
    """What links without a role of ours name that may be blocks: ``any``, links of Markdown."""
    targets = (
        node.get("reftarget", "")
        for node in doctree.findall(addnodes.pending_xref)
        if node.get("reftype") in ("any", "myst")
    )
    return sorted({target for target in targets if _BLOCK.fullmatch(target)})


#: What may be the name of a block.
_BLOCK: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", re.ASCII)


def _on_page(
    directive: DirectiveRecord, docname: str, taken: set[str], only: tuple[str, ...]
) -> DirectiveRecord:
    """A directive with ids that are unique on its page, and each block's file in the lock.

    A name that is local to a page is in the page's folder.
    """
    blocks = []
    for block in directive.blocks:
        identity, count = block.identity, 2
        while identity in taken:
            identity = f"{block.identity}-{count}"
            count += 1
        taken.add(identity)
        local = identity.removeprefix("jaxpr-")
        name, page = (block.name, "") if directive.explicit else (local, docname)
        blocks.append(block._replace(identity=identity, lock=file_name(name, page)))
    return directive._replace(blocks=tuple(blocks), only=only, page=docname)
