"""Links to ids of this project, in every builder."""

from __future__ import annotations

import re
from collections.abc import Mapping

from docutils import nodes
from sphinx.builders import Builder
from sphinx.errors import NoUri
from sphinx.util.nodes import make_refnode

_SCHEME = re.compile(r"[^/?#]*?:")
_SCHEMES = ("http:", "https:")


def is_page(address: str) -> bool:
    """Whether an address from another project is that of a page, not a script or data."""
    # Browsers ignore white space and control characters anywhere in it.
    scheme = _SCHEME.match("".join(sign for sign in address if sign > " " and sign != "\x7f"))
    return bool(address) and (scheme is None or scheme[0].lower() in _SCHEMES)


def link(
    builder: Builder, page: str, other: str, identity: str, *content: nodes.Node
) -> nodes.reference | None:
    """A link on ``page`` to an id on another one; ``None`` if that one isn't in the output."""
    if builder.name == "singlehtml":  # otherwise Sphinx prepends the page's id
        page = other
    try:
        return make_refnode(builder, page, other, identity, list(content))
    except NoUri:
        return None


class ShownIds:
    """The ids of blocks, lists and definitions in the trees that a build has shown.

    A tree is one page, or several combined, where an id may be taken already.
    ``definitions`` has, for the tree that is being shown, the id that explains each
    primitive; ``None`` before the first tree.
    """

    def __init__(self) -> None:
        self.definitions: dict[str, str] | None = None
        self._blocks: dict[tuple[str, str], str] = {}
        self._lists: dict[tuple[str, int], int] = {}

    def begin_tree(self) -> dict[str, str]:
        """Forget the definitions of the previous tree; the new ones, to be filled."""
        definitions: dict[str, str] = {}
        self.definitions = definitions
        return definitions

    def of_block(self, page: str, identity: str) -> str:
        """The id under which a block of a page is shown."""
        return self._blocks.get((page, identity), identity)

    def show_blocks(self, page: str, ids: Mapping[str, str]) -> None:
        """Note under which ids blocks of a page are shown."""
        self._blocks.update(((page, identity), shown_id) for identity, shown_id in ids.items())

    def number_of_list(self, page: str, number: int) -> int:
        """The number of a list of primitives in its tree."""
        return self._lists.get((page, number), number)

    def show_list(self, page: str, number: int, shown_number: int) -> None:
        """Note the number of a list of primitives in its tree."""
        self._lists[(page, number)] = shown_number
