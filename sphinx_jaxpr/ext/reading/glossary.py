"""``jaxpr-glossary``: leaves a node for a list of the primitives of a page or of the project."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from ...tracing.grammar import nearest, shorten
from ..nodes import jaxpr_primitives
from ..records import Finding
from .options import AnyOption, unread
from .source_lines import locate

SCOPES: Final = ("project", "page")


class JaxprGlossary(SphinxDirective):
    """Leaves a node that the post-transform fills; ``scope`` is ``project`` or ``page``."""

    option_spec: ClassVar[Any] = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_primitives``."""
        place = locate(self)
        scope = self.options.get("scope", "project").strip()
        node = jaxpr_primitives(scope=scope if scope in SCOPES else "project")
        self.set_source_info(node)
        node["findings"] = unread(self, place, "glossary") + [
            Finding(
                "glossary",
                f"unknown option {shorten(option)}{nearest(option, ('scope',))} (known: scope)",
                place.source,
                place.option(option),
            )
            for option in self.options
            if option != "scope"
        ]
        if scope not in SCOPES:
            message = (
                f"scope: {shorten(scope)} is none of {', '.join(SCOPES)}{nearest(scope, SCOPES)}"
            )
            found = Finding("glossary", message, place.source, place.option("scope"))
            node["findings"].append(found)
        return [node]
