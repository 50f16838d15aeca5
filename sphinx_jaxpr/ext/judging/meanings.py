"""The meanings of primitives, and links to read more.

A term of the project's glossary comes first, then an inventory of JAX that
intersphinx has loaded, then the definitions of this package.  If
the target of a link is missing, there is no link and no warning.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.builders import Builder
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment
from sphinx.errors import NoUri

from ...program.html.definitions import Meaning, of_block
from ..links import is_page

if TYPE_CHECKING:
    from ...program.glossary.glossary import Entry, Glossary
    from ...program.model import EquationFacts, Printed

_PYTHON: Final = ("py:function", "py:class", "py:method", "py:data", "py:attribute")


class Meanings:
    """Looks primitives up for one build.

    ``given`` is ``jaxpr_glossary``: for a primitive the term that explains it, or a
    definition.
    """

    def __init__(
        self, given: Mapping[str, str | Mapping[str, str]], env: BuildEnvironment, builder: Builder
    ) -> None:
        self.env = env
        self.builder = builder
        self.terms_of = {k: v for k, v in given.items() if isinstance(v, str)}
        self.defined = {k: v for k, v in given.items() if not isinstance(v, str)}

    @cached_property
    def glossary(self) -> Glossary:
        """The definitions, with the project's own; loaded when a page is written."""
        from ...program.glossary.glossary import builtin

        return builtin().merged(self.defined)

    @cached_property
    def terms(self) -> dict[str, tuple[str, str]]:
        """Terms of the project's glossaries in small letters: their pages and anchors."""
        domain = self.env.get_domain("std")
        return {
            name.lower(): (docname, anchor)
            for name, _, kind, docname, anchor, _ in domain.get_objects()
            if kind == "term"
        }

    @property
    def own_primitives(self) -> list[str]:
        """The primitives that the project explains."""
        return [*self.terms_of, *self.defined]

    @cached_property
    def own_kinds(self) -> dict[str, str]:
        """The kinds of primitives as the project defines them, also by their other names."""
        kinds = {}
        for name, definition in self.defined.items():
            if kind := definition.get("kind"):
                aliases = definition.get("aliases", "").replace(",", " ").split()
                kinds.update(dict.fromkeys([name, *aliases], kind))
        return kinds

    @property
    def digest(self) -> str:
        """A digest that changes with anything that may change a link."""
        return hashlib.sha256(repr(sorted(self.terms.items())).encode()).hexdigest()[:12]

    def href(self, primitive: str, page: str) -> tuple[str, bool]:
        """The address of a primitive's meaning, relative to a page, and whether it is external."""
        return self._href(primitive, self.glossary.entry(primitive), page)

    def _href(self, primitive: str, entry: Entry | None, page: str) -> tuple[str, bool]:
        names = [self.terms_of.get(primitive, primitive), primitive]
        names += [entry.name, *entry.aliases] if entry else []
        for name in names:
            if name.lower() in self.terms:
                docname, anchor = self.terms[name.lower()]
                return self._local(page, docname, anchor), False
        address = self.in_inventories(entry.page) if entry and entry.page else ""
        return address, bool(address)

    def _local(self, page: str, docname: str, anchor: str) -> str:
        if self.builder.name == "singlehtml":
            return f"#{anchor}"
        try:
            return f"{self.builder.get_relative_uri(page, docname)}#{anchor}"
        except NoUri:  # a page that is not in this book
            return ""

    def in_inventories(self, name: str, kinds: Iterable[str] = _PYTHON) -> str:
        """The address of an object in the inventories of intersphinx, if any."""
        inventory: Mapping[str, Any] = getattr(self.env, "intersphinx_inventory", {})
        for kind in kinds:
            item = inventory.get(kind, {}).get(name)
            if item is not None:
                address = str(getattr(item, "uri", None) or item[2])
                return address if is_page(address) else ""
        return ""

    def is_label(self, label: str, page: str) -> bool:
        """Whether a ``ref`` to a label of this project, or of another one, links to something.

        One that the project ignores counts, so that Sphinx ignores it.
        """
        standard = cast(StandardDomain, self.env.get_domain("std"))
        if label in standard.labels or label in standard.anonlabels or self._is_ignored(label):
            return True
        # Extensions find others, intersphinx first of all.
        names = {"refdomain": "std", "reftype": "ref", "reftarget": label, "refexplicit": True}
        wanted = addnodes.pending_xref("", refdoc=page, refwarn=False, **names)
        content = nodes.inline(label, label)
        try:
            events = self.env.events
            return bool(events.emit_firstresult("missing-reference", self.env, wanted, content))
        except NoUri:
            return True

    def _is_ignored(self, label: str) -> bool:
        """Whether ``nitpick_ignore`` or its patterns list a label, as for Sphinx's own role."""
        config = self.env.config
        if not config.nitpicky:
            return False
        kinds = ("ref", "std:ref")
        return any((kind, label) in {*map(tuple, config.nitpick_ignore)} for kind in kinds) or any(
            re.fullmatch(of_kind, kind) and re.fullmatch(of_label, label)
            for of_kind, of_label in config.nitpick_ignore_regex
            for kind in kinds
        )

    def of_block(
        self,
        printed: Printed,
        facts: dict[int, EquationFacts],
        ids: dict[int, str],
        page: str,
    ) -> dict[str, Meaning]:
        """The meanings of all primitives of a block, in the order in which they appear."""
        primitives = {equation.primitive for equation in printed.walk()}
        entries = self.glossary.entries(primitives)
        hrefs = {name: self._href(name, entries.get(name), page) for name in primitives}
        return of_block(self.glossary, printed, facts, ids, hrefs)
