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
    """Whether an address from another project is that of a page: not a script, not data."""
    # Browsers ignore white space and control characters anywhere in it.
    scheme = _SCHEME.match("".join(sign for sign in address if sign > " " and sign != "\x7f"))
    return bool(address) and (scheme is None or scheme[0].lower() in _SCHEMES)


def link(
    builder: Builder, page: str, other: str, identity: str, *content: nodes.Node
) -> nodes.reference | None:
    """A link on ``page`` to an id on another one; ``None`` if that one isn't in the output."""
    if builder.name == "singlehtml":  # Sphinx would put the page's id before it
        page = other
    try:
        return make_refnode(builder, page, other, identity, list(content))
    except NoUri:
        return None
