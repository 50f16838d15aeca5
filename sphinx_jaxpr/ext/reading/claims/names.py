"""The names of lines of ``jaxpr-claims``: how sentences find them, and show them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from unicodedata import normalize

from docutils import nodes
from sphinx.transforms import SphinxTransform

from ...nodes import jaxpr_claims, jaxpr_name, jaxpr_statement
from ...records import docstring_of

_MARKS: Final = re.compile(r"[`*\\]")
#: On an element: the names of the claims in it as its author wrote it, before a translation.
_BEFORE: Final = "jaxpr-names"


def keys_of(raw: str, plain: str) -> tuple[str, ...]:
    """The normalised forms of a name, ``raw`` as written and ``plain`` without markup.

    Two names are the same if they share one: white space, capitals and markup don't count.
    """
    forms = (" ".join(_MARKS.sub("", text).split()) for text in (plain, raw))
    return tuple(dict.fromkeys(normalize("NFC", form).casefold() for form in forms if form))


# --- translations


class KeepNames(SphinxTransform):
    """Notes, before sentences are translated, which lines their claims name by their words.

    A translated sentence has translated words.
    """

    default_priority = 15  # before Sphinx translates

    def apply(self, **kwargs: object) -> None:
        """Note the names on the elements whose text is translated."""
        for node in self.document.findall(jaxpr_statement):
            if node.get("by_words"):
                around = _block_around(node)
                around[_BEFORE] = [*around.get(_BEFORE, ()), node["keys"]]


def _block_around(node: nodes.Element) -> nodes.Element:
    """The nearest element around a role that is not inline itself."""
    parent: nodes.Element = node.parent
    while isinstance(parent, nodes.Inline) and parent.parent is not None:
        parent = parent.parent
    return parent


def restore_names(doctree: nodes.document) -> None:
    """Let the claims of translated sentences name the lines that the original ones name.

    A name that a translation keeps, as its words or as ``<#name>``, is that line's.  The others
    go by their order, where there are as many as there are names left.
    """
    for element in doctree.findall(lambda node: isinstance(node, nodes.Element)):
        assert isinstance(element, nodes.Element)
        names = element.attributes.pop(_BEFORE, None)
        if not names or not element.get("translated"):
            continue
        claims = [
            node
            for node in element.findall(jaxpr_statement)
            if node.get("keys") and _block_around(node) is element
        ]
        outright = {key for node in claims if not node["by_words"] for key in node["keys"]}
        left = [keys for keys in names if not outright & {*keys}]
        translated = []
        for node in (node for node in claims if node["by_words"]):
            node["translated"] = True
            kept = next((keys for keys in left if {*keys} & {*node["keys"]}), None)
            if kept is None:
                translated.append(node)
            else:
                left.remove(kept)
        if len(translated) == len(left):
            for node, keys in zip(translated, left, strict=True):
                node["keys"] = keys


# --- names that sentences show


def show_names(doctree: nodes.document, roles: Iterable[nodes.Element]) -> None:
    """Put the words of a line into the sentences that name it without words of their own.

    The names of all other lines leave the tree, so that only what readers see is translated.
    """
    names: dict[tuple[str, str], jaxpr_name] = {}
    lines = list(doctree.findall(jaxpr_name))
    for name in lines:
        for key in name["keys"]:
            names.setdefault((docstring_of(str(name.source)), key), name)
    shown = set()
    for node in roles:
        if node.get("keys") and not node.children:
            scope = docstring_of(str(node.source))
            named = next((names[scope, key] for key in node["keys"] if (scope, key) in names), None)
            if named is None:
                node += nodes.Text(node["name"])  # which is a finding
                continue
            node += [child.deepcopy() for child in named.children]
            node["words"] = named["plain"]
            shown.add(named)
    for name in lines:
        if name not in shown:
            assert isinstance(name.parent, jaxpr_claims)
            name.parent.remove(name)
