"""The roles: links, values and claims in sentences.  They leave nodes and judge nothing."""

from __future__ import annotations

from typing import Final

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from ...program.text import clipped
from ..nodes import jaxpr_statement

#: Roles that may stand in the title of a section, which is copied while pages are read.
IN_TITLES: Final = ("ref", "prim")


class Quoting(SphinxRole):
    """One role; ``what`` is its name in the domain.

    The first ``<`` ends the words, so that an expression may hold another one.
    """

    def __init__(self, what: str) -> None:
        self.what = what

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave one ``jaxpr_statement``."""
        words, expression = self._parts()
        node = jaxpr_statement(self.rawtext, "", what=self.what, expression=expression)
        node["raw"] = self.rawtext
        node["words"] = words or expression  # before quotation marks in them are made typographic
        node["problem"] = self._problem(words, expression)
        node += self._shown(words, expression)
        source, line = self.get_source_info()
        # A parser may count a block's lines from its parent's: the line is found when all is read.
        node.source, node.line = source, line
        return [node], []

    def _parts(self) -> tuple[str, str]:
        text = " ".join(self.text.split())
        if self.what == "val":
            return "", text
        words, mark, rest = text.partition("<")
        if mark and rest.endswith(">"):
            return words.strip(), rest[:-1].strip()
        return (text, "") if self.what == "claim" else ("", text)

    def _problem(self, words: str, expression: str) -> str:
        form = f"`words <{'len(dense) == 4' if self.what == 'claim' else 'path'}>`"
        if self.what == "claim" and not expression:
            return f"the claim {clipped(words, 60)!r} has no predicate; write it as {form}"
        if self.what == "claim" and not words:
            return f"the claim of {clipped(expression, 60)!r} has no words; write it as {form}"
        return "" if expression else f"the role is empty; write a path, or {form}"

    def _shown(self, words: str, expression: str) -> nodes.Node:
        if words:
            return nodes.Text(words)
        last = expression if self.what != "prim" else expression.strip("\"'")
        return nodes.literal(last, last)


ROLES: Final = {what: Quoting(what) for what in ("ref", "eqn", "prim", "val", "claim")}
