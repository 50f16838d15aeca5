"""``jaxpr-claims``: claims that readers don't see, and names for paths and values."""

from __future__ import annotations

import re
from typing import Final

from docutils import nodes

from ...nodes import jaxpr_claims, jaxpr_name
from .. import words
from ..options import CheckedDirective
from .lines import ClaimLine, read
from .names import keys_of

#: What may be markup in a name.
_MARKUP: Final = re.compile(r"[`*_$\\\[{|<&]|--|://")


class JaxprClaims(CheckedDirective):
    """One expression, named expression or let a line.  Leaves in the doctree::

    <jaxpr_claims lines="(12, ClaimLine(...)) (13, ClaimLine(...))" findings="...">
        <jaxpr_name line="12">
            the
            <literal>
                axes
    """

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_claims``, and a parser's messages about names."""
        self.begin()
        self.check_myst_options()
        self.check_option_names()
        first = self.first_line()
        node = jaxpr_claims(findings=self.findings)
        self.set_source_info(node)
        node.source = self.span.source
        node["lines"] = []
        messages: list[nodes.system_message] = []
        for line in read(list(self.content)):
            keys: tuple[str, ...] = ()
            if line.name:
                name, problems = self._name(line, first + line.number)
                name["plain"] = words.plain(name.children)
                name["keys"] = keys = keys_of(line.name, name["plain"])
                node += name
                messages += problems
            node["lines"].append((first + line.number, line, keys))
        if not node["lines"]:
            self.add_finding(
                f"{self.name} is empty; write one expression a line, as in"
                " len(dense.vmap) == len(dense) + 1",
                "claim",
            )
        return [node, *messages]

    def _name(self, line: ClaimLine, number: int) -> tuple[jaxpr_name, list[nodes.system_message]]:
        """The name of a line, as inline markup of the page's language."""
        node = jaxpr_name(line.name, "")
        node.source, node.line = self.span.source, number
        if not _MARKUP.search(line.name):
            node += nodes.Text(line.name)
            return node, []
        children, messages = self.parse_inline(line.name, lineno=number)
        node += children
        return node, messages
