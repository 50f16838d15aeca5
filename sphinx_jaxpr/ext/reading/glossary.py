"""``jaxpr-glossary``: leaves a node for a list of the primitives of a page or of the project."""

from __future__ import annotations

from typing import Final

from docutils import nodes

from ...program.text import nearest, shorten
from ..nodes import jaxpr_primitives
from .options import CheckedDirective, unknown_option

SCOPES: Final = ("project", "page")


class JaxprGlossary(CheckedDirective):
    """A list of primitives; the post-transform fills it.  Leaves in the doctree::

    <jaxpr_primitives scope="project" findings="...">
    """

    has_content = False
    option_names = ("scope",)

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_primitives``."""
        self.begin()
        self.check_myst_options("glossary")
        self.check_option_names("glossary")
        scope = self.options.get("scope", "project").strip()
        if scope not in SCOPES:
            message = (
                f"scope: {shorten(scope)} is not one of {', '.join(SCOPES)}{nearest(scope, SCOPES)}"
            )
            self.add_finding(message, "glossary", option="scope")
            scope = "project"
        node = jaxpr_primitives(scope=scope, findings=self.findings)
        self.set_source_info(node)
        return [node]

    def unknown_option(self, option: str) -> str:
        """The message; the type of the warning says which directive it is about."""
        return unknown_option(option, self.option_names)
