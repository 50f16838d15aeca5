"""The post-transform that fills the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from sphinx.builders.html import StandaloneHTMLBuilder

from .domain import JaxprDomain, are_met
from .nodes import jaxpr_gallery
from .pages import PageTransform
from .records import COMPARE
from .verdicts import judging

if TYPE_CHECKING:
    from .shown import Shown


class ShowBlocks(PageTransform):
    """Replaces every ``jaxpr_gallery`` before references are resolved."""

    of = "jaxpr"
    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        if self.app.builder.name == "gettext":  # the captions as their authors wrote them
            return
        domain = cast(JaxprDomain, self.env.get_domain("jaxpr"))
        nodes = list(self.document.findall(jaxpr_gallery))
        defined: dict[str, str] = {}
        if domain.engine:
            domain.engine.explained = defined
        if not nodes:
            return
        # They bring the parser and more, which a build that writes nothing never needs.
        from .compare import Pairs
        from .figure import Figures
        from .pasting import PastedFigures, PastedListings
        from .plain import Listings

        is_html = isinstance(self.app.builder, StandaloneHTMLBuilder)
        taken: set[str] = set()
        engine = domain.engine or judging(self.app, domain.visible(self.app.tags))
        for node in nodes:
            gallery = node["gallery"]
            # What an `only` takes away later defines nothing for others.
            hidden = not are_met(gallery.only, self.app.tags)
            engine.defined = {**defined} if hidden else defined
            form: type[Shown]
            if gallery.blocks[0].pasted:
                form = PastedFigures if is_html else PastedListings
            else:
                form = (Pairs if gallery.layout == COMPARE else Figures) if is_html else Listings
            shown = form(engine, gallery, node, taken)
            page = node.get("docname", self.env.docname)
            engine.renamed.update(((page, old), new) for old, new in shown.ids.items())
            node.replace_self([*shown.shown(), *shown.closing()])
