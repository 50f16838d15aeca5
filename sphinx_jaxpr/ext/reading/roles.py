"""The roles: links, values and claims in sentences.  They leave nodes; nothing is judged."""

from __future__ import annotations

from typing import Final

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from ...program.text import clipped
from ..nodes import jaxpr_statement

#: Roles allowed in section titles; Sphinx copies titles while it reads pages.
IN_TITLES: Final = ("ref", "prim")


class StatementRole(SphinxRole):
    """A role of the domain: a link, a value or a claim.

    The first ``<`` ends the words, so an expression may contain another one.  Leaves::

        <jaxpr_statement role="claim" expression="len(dense) == 4" words="four" raw=... problem="">
            four
    """

    def __init__(self, role: str) -> None:
        self.role = role

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave one ``jaxpr_statement``."""
        words, expression = self._parts()
        node = jaxpr_statement(self.rawtext, "", role=self.role, expression=expression)
        node["raw"] = self.rawtext
        node["words"] = words or expression  # before quotation marks in them are made typographic
        node["problem"] = self._problem(words, expression)
        node += self._shown(words, expression)
        source, line = self.get_source_info()
        # A parser may count lines from the parent block; `find_lines` corrects them.
        node.source, node.line = source, line
        return [node], []

    def _parts(self) -> tuple[str, str]:
        text = " ".join(self.text.split())
        if self.role == "val":
            return "", text
        words, mark, rest = text.partition("<")
        if mark and rest.endswith(">"):
            return words.strip(), rest[:-1].strip()
        return (text, "") if self.role == "claim" else ("", text)

    def _problem(self, words: str, expression: str) -> str:
        form = f"`words <{'len(dense) == 4' if self.role == 'claim' else 'path'}>`"
        if self.role == "claim" and not expression:
            return f"{clipped(words, 60)!r} has no predicate; write it as {form}"
        if self.role == "claim" and not words:
            return f"{clipped(expression, 60)!r} has no words; write it as {form}"
        return "" if expression else f"the role is empty; write a path, or {form}"

    def _shown(self, words: str, expression: str) -> nodes.Node:
        if words:
            return nodes.Text(words)
        last = expression if self.role != "prim" else expression.strip("\"'")
        return nodes.literal(last, last)
