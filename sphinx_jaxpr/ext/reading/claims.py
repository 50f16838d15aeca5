"""``jaxpr-claims``: claims that readers don't see."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Sequence

from docutils import nodes

from ..nodes import jaxpr_claims
from .options import CheckedDirective


class JaxprClaims(CheckedDirective):
    """One expression a line; a line that is indented or closes a bracket continues the one above.

    So does a line after a backslash.  Leaves in the doctree::

        <jaxpr_claims lines="(12, 'len(dense) == 4') (13, 'dense.grad[tanh]')" findings="...">
    """

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_claims``."""
        self.begin()
        self.check_myst_options()
        self.check_option_names()
        first = self.span.content(list(self.content))
        node = jaxpr_claims(findings=self.findings)
        self.set_source_info(node)
        node.source = self.span.source
        node["lines"] = [(first + n, text) for n, text in expressions(list(self.content))]
        if not node["lines"]:
            self.add_finding(
                f"{self.name} is empty; write one expression a line, as in"
                " len(dense.vmap) == len(dense) + 1",
                "claim",
            )
        return [node]


def expressions(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The expressions of a body, each with the number of its first line; without comments."""
    numbered: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        text = without_comment(line)
        if not text.strip():
            continue
        first, before = numbered[-1] if numbered else (number, "")
        above = before.removesuffix("\\").rstrip()  # which continues, as Python's lines do
        if numbered and (above != before or text[:1].isspace() or text[0] in ")]}"):
            numbered[-1] = (first, f"{above} {text.strip()}")
        else:
            numbered.append((number, text.strip()))
    return numbered


def without_comment(line: str) -> str:
    """A line up to its comment; a ``#`` in a string doesn't start one."""
    if "#" not in line:
        return line
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.COMMENT:
                return line[: len(line) - len(line.lstrip()) + token.start[1]]
    except (
        tokenize.TokenError,
        SyntaxError,
    ):  # it continues below, or isn't Python, which is a finding later
        quoted = line.partition("#")
        return quoted[0] if quoted[0].count('"') % 2 == quoted[0].count("'") % 2 == 0 else line
    return line
