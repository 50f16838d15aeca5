"""The roles: links, values and claims in sentences.  They leave nodes; nothing is judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxRole

from ...program.text import similar
from ..nodes import jaxpr_statement
from . import words
from .claims.names import keys_of

#: Roles allowed in section titles; Sphinx copies titles while it reads pages.
IN_TITLES: Final = ("ref", "prim")
#: Roles whose words are a link.
LINKS: Final = ("ref", "eqn", "prim", "var")
_EXAMPLES: Final = {
    "claim": "len(dense) == 4",
    "var": "dense[tanh].inputs[0]",
    "ref": "dense",
    "prim": "tanh",
}
#: What is words rather than a path.
_WORDS: Final = re.compile(r"[\w`'’*-]+(?: [\w`'’*-]+)+")
#: Words before a value, which has none.
_WITH_WORDS: Final = re.compile(r"[^<]+ <([^<>].*)>")
#: The old form of links into other projects, ``other:dense``.
_ELSEWHERE: Final = re.compile(r"([a-zA-Z][\w-]*):([a-zA-Z_]\w*(?:\.\w+)*)(?:\[.*\])?")
#: What an author who knows Markdown has to know.
_QUOTES_IN_RST: Final = (
    r"; in reStructuredText each backquote in a role needs a backslash, as in \`\`code\`\`"
)


class StatementRole(SphinxRole):
    """A role of the domain: a link, a value or a claim.

    The first ``<`` ends the words, which are inline markup of the page's language.  Leaves::

        <jaxpr_statement role="claim" expression="len(dense) == 4" words="four" raw=... problem="">
            four

    A ``ref`` without the name of the domain, where that is the page's default domain, may name a
    label too; ``otherwise`` then has what Sphinx's own role leaves.
    """

    written: str  # its text, in the page's own markup

    def __init__(self, role: str) -> None:
        self.role = role

    def __call__(
        self,
        name: str,
        rawtext: str,
        text: str,
        lineno: int,
        inliner: Any,
        options: dict[str, Any] | None = None,
        content: Sequence[str] = (),
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Run the role on a text as the parser gives it."""
        self.is_markdown = words.is_markdown(inliner)
        self.written = words.written(text, is_markdown=self.is_markdown)
        nodes_left, messages = super().__call__(
            name, rawtext, text, lineno, inliner, options, content
        )
        if self.role == "ref" and _is_short(rawtext):
            standard = self.env.get_domain("std").role("ref")
            statement = nodes_left[0]
            assert standard is not None and isinstance(statement, jaxpr_statement)
            otherwise, problems = standard("ref", rawtext, text, lineno, inliner)
            if not all(isinstance(node, addnodes.pending_xref) for node in otherwise):
                return otherwise, problems  # it links to nothing, as in {ref}`!name`
            statement["otherwise"] = otherwise
        return nodes_left, messages

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Leave one ``jaxpr_statement``."""
        text, expression = self._parts()
        name, by_words = "", self.role == "claim" and not expression
        if by_words:
            name = text
        elif self.role == "claim" and expression[0] == "#":
            name, expression = expression[1:].strip(), ""
        shown, messages = self._shown(text, expression)
        node = jaxpr_statement(self.rawtext, "", role=self.role, expression=expression)
        node["raw"] = self.rawtext
        node["ends_in_blank"] = self.written[-1:].isspace()
        # Before quotation marks in them are made typographic.
        node["words"] = words.plain(shown) if text else name or expression
        node["problem"] = self._problem(name, expression, text)
        node["has_words"] = bool(text)
        if name:
            node["name"], node["by_words"] = name, by_words
            node["hint"] = "" if self.is_markdown or "`" not in name else _QUOTES_IN_RST
            node["keys"] = keys_of(name, words.plain(shown) if by_words else name)
        node += shown
        source, line = self.get_source_info()
        # A parser may count lines from the parent block; `find_lines` corrects them.
        node.source, node.line = source, line
        return [node], messages

    def _parts(self) -> tuple[str, str]:
        """The words and the expression."""
        if self.role == "val":
            return "", " ".join(self.text.split())
        text, expression = words.split(self.written, is_markdown=self.is_markdown)
        if expression or self.role == "claim":
            return text, expression
        return "", " ".join(self.text.split())

    def _problem(self, name: str, expression: str, text: str) -> str:
        """What is wrong with the text of the role, as far as its form shows."""
        if self.role == "val" and (parts := _WITH_WORDS.fullmatch(expression)):
            return f"a value is shown in place of words; write `{parts[1]}` alone"
        if elsewhere := _ELSEWHERE.fullmatch(expression):
            role = f"external+{elsewhere[1]}:jaxpr:ref"
            form = (
                f"{{{role}}}`{elsewhere[2]}`" if self.is_markdown else f":{role}:`{elsewhere[2]}`"
            )
            return f"{expression!r} is not a path; a block of another project is linked by {form}"
        if self.role in LINKS and not text and not _is_short(self.rawtext):
            if "`" in expression and not self.is_markdown:
                return f"{expression!r} is not a path{_QUOTES_IN_RST}"
            if _WORDS.fullmatch(expression):
                form = f"`{expression} <{_EXAMPLES.get(self.role, 'dense[tanh]')}>`"
                return f"{expression!r} is not a path; behind words write one, as in {form}"
        if expression or name:
            return ""
        form = f"`words <{_EXAMPLES.get(self.role, 'path')}>`"
        return f"the role is empty; write a path, or {form}"

    def _shown(
        self, text: str, expression: str
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if text:
            return words.parsed(text, self.inliner, self.lineno)
        if self.role == "claim":  # nothing, or the words of the line that it names
            return [], []
        last = expression if self.role != "prim" else expression.strip("\"'")
        return [nodes.literal(last, last)], []


def _is_short(raw: str) -> bool:
    """Whether a role is written as ``ref``, without its domain."""
    raw = raw.lower()
    return raw.startswith(":ref:`") or raw.endswith("`:ref:")


#: Other names of roles.
_MEANT: Final = {
    **dict.fromkeys("eq equation eqns".split(), "eqn"),
    **dict.fromkeys("value expr expression".split(), "val"),
    **dict.fromkeys("primitive op".split(), "prim"),
    **dict.fromkeys("link block program".split(), "ref"),
    **dict.fromkeys("variable letter".split(), "var"),
    **dict.fromkeys("check assert claims".split(), "claim"),
}
_ROLES: Final = ("ref", "eqn", "prim", "val", "var", "claim")


class MisspeltRole(StatementRole):
    """A role that the domain doesn't have: what was meant, and a finding."""

    def __init__(self, role: str, wrong: str) -> None:
        super().__init__(role)
        self.wrong = wrong

    def _problem(self, name: str, expression: str, text: str) -> str:
        return f"there is no role `jaxpr:{self.wrong}`, did you mean `jaxpr:{self.role}`?"


def misspelt(name: str) -> MisspeltRole | None:
    """What a role of the domain that there is not was perhaps meant to be."""
    meant = _MEANT.get(name) or next(iter(similar(name, _ROLES)), "")
    return MisspeltRole(meant, name) if meant else None
