"""Glossary cards: a term in prose shows its definition in place.

Definitions are those of Sphinx's own glossary.  They are at the end of a page, once and hidden;
the script shows them at the links, which stay plain links without it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment
from sphinx.util import docname_join

from ..ext.api import PageTransform, ProjectBlocks, jaxpr_blocks
from . import records as settings
from .domain import LessonDomain
from .nodes import element, is_interactive, lesson_element, words

#: Nodes of a definition that a card omits: they belong elsewhere, or have an id.
_LEFT_OUT: Final = (
    jaxpr_blocks,
    nodes.target,
    nodes.footnote_reference,
    nodes.citation_reference,
    nodes.system_message,
    addnodes.index,
)
#: Nodes in which terms stay plain links: titles are copied, glossaries show definitions.
_PLAIN: Final = (nodes.title, addnodes.glossary)


def defined(doctree: nodes.document) -> Iterator[tuple[str, nodes.definition]]:
    """The definitions in a page's glossaries, with the anchors of their terms."""
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            meaning = next((part for part in item if isinstance(part, nodes.definition)), None)
            for term in (part for part in item if isinstance(part, nodes.term)):
                if meaning is not None and term["ids"]:
                    yield term["ids"][0], meaning


def digests_of(doctree: nodes.document) -> dict[str, str]:
    """A digest of each definition on a page, by the anchor of its term."""
    return {
        anchor: hashlib.sha256(meaning.pformat().encode()).hexdigest()[:12]
        for anchor, meaning in defined(doctree)
    }


def used(doctree: nodes.document) -> list[str]:
    """The terms that a page links."""
    return sorted({node["reftarget"] for node in _terms(doctree)})


def _terms(doctree: nodes.document) -> Iterator[addnodes.pending_xref]:
    for node in doctree.findall(addnodes.pending_xref):
        if (node.get("refdomain"), node.get("reftype")) == ("std", "term"):
            yield node


class GlossaryTerms:
    """The terms of a project, as Sphinx resolves them: as written, else ignoring case."""

    def __init__(self, env: BuildEnvironment) -> None:
        self.exact: dict[str, tuple[str, str]] = {}
        self.lower: dict[str, tuple[str, str]] = {}
        for name, _, kind, docname, anchor, _ in env.get_domain("std").get_objects():
            if kind == "term":
                self.exact[name] = self.lower[name.lower()] = (docname, anchor)

    def find(self, name: str) -> tuple[str, str] | None:
        """The page and anchor of a term."""
        return self.exact.get(name) or self.lower.get(name.lower())


def digests(env: BuildEnvironment, domain: LessonDomain) -> dict[str, str]:
    """For each page that links terms what its cards show."""
    terms = GlossaryTerms(env)
    blocks = ProjectBlocks(env)
    by_page: dict[str, str] = {}
    for page, names in domain.uses.items():
        parts: list[str | None] = []
        for docname, anchor in filter(None, map(terms.find, names)):
            # A definition may contain values, which a build computes.
            definition = domain.terms.get(docname, {}).get(anchor)
            parts += [docname, anchor, definition, blocks.page_digest(docname)]
        if parts:
            by_page[page] = repr(parts)
    return by_page


class ShowCards(PageTransform):
    """Marks terms and puts their definitions at the end of the page, for browsers.

    A link becomes ``<inline classes="lesson-term"><pending_xref ...>``, and the page ends with::

        <lesson_element tag="div" classes="lesson-cards no-search" attributes="hidden">
            <lesson_element tag="div" classes="lesson-card" ids="lesson-card-term-carry">
                ...
    """

    domain_name = "lesson"
    default_priority = 6  # before statements and references, which definitions contain too

    def run(self, **kwargs: Any) -> None:
        """Fill the tree; it is one page, or several put together."""
        mode = settings.cards(self.config)
        links = list(_terms(self.document)) if mode != "off" else []
        if not links or not is_interactive(self.app.builder):
            return
        self.domain = LessonDomain.of(self.env)
        terms = GlossaryTerms(self.env)
        self.cards: dict[str, lesson_element] = {}
        seen: set[tuple[int, int]] = set()
        for node in links:
            address = terms.find(node["reftarget"])
            meaning = self.definition(*address) if address else None
            if address is None or meaning is None or _around(node, *_PLAIN) is not None:
                continue
            once = (id(_around(node, nodes.section)), id(meaning))  # a meaning may have two terms
            if (mode == "section" and once in seen) or not self.has_card(node, meaning, *address):
                continue
            if _around(node, addnodes.only) is None:  # otherwise it may be removed
                seen.add(once)
            node.replace_self(words("term", node.deepcopy()))
        if self.cards:
            cards = element("div", "cards", *self.cards.values(), hidden="")
            cards["classes"].append("no-search")  # a page isn't about the terms that it links
            self.document += cards

    def has_card(
        self, node: addnodes.pending_xref, meaning: nodes.definition, docname: str, anchor: str
    ) -> bool:
        """Whether a term has a card, which is created on first use."""
        if anchor not in self.cards:
            page = node.get("refdoc", self.env.docname)
            card = element("div", "card", *_copied(meaning, docname, page))
            card["ids"] = [f"lesson-card-{anchor}"]
            card["defined"] = docname
            self.cards[anchor] = card
        return bool(self.cards[anchor]["defined"] == docname)

    def definition(self, docname: str, anchor: str) -> nodes.definition | None:
        """A definition as its author wrote it; a page of definitions is loaded once."""
        loaded = self.domain.glossaries
        if docname not in loaded:
            terms = self.domain.terms.get(docname)
            loaded[docname] = dict(defined(self.env.get_doctree(docname))) if terms else {}
        return loaded[docname].get(anchor)


def _around(node: nodes.Node, *kinds: type[nodes.Element]) -> nodes.Element | None:
    parent = node.parent
    while parent is not None and not isinstance(parent, kinds):
        parent = parent.parent
    return parent


def _copied(meaning: nodes.definition, docname: str, page: str) -> list[nodes.Node]:
    """A definition for another page: without ids, with links relative to that page."""
    copy = meaning.deepcopy()
    for node in list(copy.findall(nodes.Element)):
        if isinstance(node, _LEFT_OUT):
            node.parent.remove(node)
        elif isinstance(node, nodes.image):
            node.replace_self(nodes.inline("", node.get("alt", "")))
        else:
            node["ids"], node["names"] = [], []
        if isinstance(node, addnodes.pending_xref):
            if node.get("reftype") == "doc":
                node["reftarget"] = "/" + docname_join(docname, node["reftarget"])
            node["refdoc"] = page
            node["refwarn"] = False  # the glossary's own page warns
    return copy.children
