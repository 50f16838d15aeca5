"""The post-transform that fills the pages."""

from __future__ import annotations

from typing import Any, cast

from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.transforms.post_transforms import SphinxPostTransform

from .domain import JaxprDomain
from .nodes import jaxpr_gallery
from .records import COMPARE
from .verdicts import judging


class ShowBlocks(SphinxPostTransform):
    """Replaces every ``jaxpr_gallery`` before references are resolved."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        if self.app.builder.name == "gettext":  # the captions as their authors wrote them
            return
        domain = cast(JaxprDomain, self.env.get_domain("jaxpr"))
        nodes = list(self.document.findall(jaxpr_gallery))
        if not nodes:
            return
        # They bring the parser and more, which a build that writes nothing never needs.
        from .compare import Pairs
        from .figure import Figures
        from .plain import Listings

        is_html = isinstance(self.app.builder, StandaloneHTMLBuilder)
        taken: set[str] = set()
        for node in nodes:
            engine = domain.engine or judging(self.app, domain.visible(self.app.tags))
            gallery = node["gallery"]
            form = (Pairs if gallery.layout == COMPARE else Figures) if is_html else Listings
            shown = form(engine, gallery, node, taken)
            page = node.get("docname", self.env.docname)
            engine.renamed.update(((page, old), new) for old, new in shown.ids.items())
            node.replace_self(shown.shown())
