"""Links to ids of this project, in every builder."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.builders import Builder
from sphinx.errors import NoUri
from sphinx.util.nodes import make_refnode

_SCHEME = re.compile(r"[^/?#]*?:")
_SCHEMES = ("http:", "https:")


def is_page(address: str) -> bool:
    """Whether an address that another project gave is one of a page: no script, no data."""
    # Browsers leave out what is white or controls, wherever it stands.
    scheme = _SCHEME.match("".join(one for one in address if one > " " and one != "\x7f"))
    return bool(address) and (scheme is None or scheme[0].lower() in _SCHEMES)


def link(
    builder: Builder, page: str, other: str, identity: str, *content: nodes.Node
) -> nodes.reference | None:
    """A link on ``page`` to an id on another one; ``None`` where that one is not in the book."""
    if builder.name == "singlehtml":  # where Sphinx would put the page's id before it
        page = other
    try:
        return make_refnode(builder, page, other, identity, list(content))
    except NoUri:
        return None
