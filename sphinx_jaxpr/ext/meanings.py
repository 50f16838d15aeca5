"""What the primitives of a block mean, and where to read more.

A term of the project's glossary comes first, then an inventory of JAX that
intersphinx has loaded, then the definitions that come with the package.  None
of these links warns where it leads nowhere: it is not there then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Final

from sphinx.application import Sphinx
from sphinx.errors import NoUri

from . import config as settings

if TYPE_CHECKING:
    from ..program.glossary import Glossary
    from ..program.model import Equation, EquationFacts, Printed

_PYTHON: Final = ("py:function", "py:class", "py:method", "py:data", "py:attribute")


@dataclass
class Meaning:
    """One primitive of a block: its definition and its equations in words."""

    primitive: str
    text: str
    href: str
    external: bool
    equations: list[tuple[str, str, str]] = field(default_factory=list)  # id, binders, words


class Meanings:
    """Looks primitives up for one build."""

    def __init__(self, app: Sphinx) -> None:
        self.app = app
        given = settings.value(app.config, "jaxpr_glossary")
        self.terms_of = {k: v for k, v in given.items() if isinstance(v, str)}
        self.defined = {k: v for k, v in given.items() if not isinstance(v, str)}

    @cached_property
    def glossary(self) -> Glossary:
        """The definitions, with the project's own; loaded when a page is written."""
        from ..program.glossary import builtin

        return builtin().merged(self.defined)

    @cached_property
    def terms(self) -> dict[str, tuple[str, str]]:
        """Terms of the project's glossaries in small letters: their pages and anchors."""
        domain = self.app.env.get_domain("std")
        return {
            name.lower(): (docname, anchor)
            for name, _, kind, docname, anchor, _ in domain.get_objects()
            if kind == "term"
        }

    @property
    def digest(self) -> str:
        """Changes with whatever may change a link."""
        return hashlib.sha256(repr(sorted(self.terms.items())).encode()).hexdigest()[:12]

    def href(self, primitive: str, page: str) -> tuple[str, bool]:
        """The address of a primitive's meaning as seen from a page, and whether it leads away."""
        known = self.glossary.entry(primitive)
        names = [self.terms_of.get(primitive, primitive), primitive]
        names += [known.name, *known.aliases] if known else []
        for name in names:
            if name.lower() in self.terms:
                docname, anchor = self.terms[name.lower()]
                return self._local(page, docname, anchor), False
        found = self.in_inventories(known.page) if known and known.page else ""
        return found, bool(found)

    def _local(self, page: str, docname: str, anchor: str) -> str:
        builder = self.app.builder
        if builder.name == "singlehtml":
            return f"#{anchor}"
        try:
            return f"{builder.get_relative_uri(page, docname)}#{anchor}"
        except NoUri:  # a page that is not in this book
            return ""

    def in_inventories(self, name: str, kinds: Iterable[str] = _PYTHON) -> str:
        """The address of an object in what intersphinx has loaded, if anything."""
        inventory: Mapping[str, Any] = getattr(self.app.env, "intersphinx_inventory", {})
        for kind in kinds:
            item = inventory.get(kind, {}).get(name)
            if item is not None:
                return str(getattr(item, "uri", None) or item[2])
        return ""

    def of_block(
        self,
        printed: Printed,
        facts: dict[int, EquationFacts],
        ids: dict[int, str],
        page: str,
    ) -> dict[str, Meaning]:
        """The meanings of all primitives of a block, in the order in which they appear."""
        found: dict[str, Meaning] = {}
        for equation in printed.walk():
            name = equation.primitive
            if name not in found:
                known = self.glossary.entry(name)
                href, external = self.href(name, page)
                found[name] = Meaning(name, known.meaning if known else "", href, external)
            words = self._words(printed, equation, facts.get(equation.start))
            if words:
                binders = " ".join(variable.name for variable in equation.outputs)
                found[name].equations.append((ids[equation.start], binders, words))
        return {name: meaning for name, meaning in found.items() if meaning.text or meaning.href}

    def _words(self, printed: Printed, equation: Equation, known: EquationFacts | None) -> str:
        from ..program.glossary import printed_value

        parameters: dict[str, Any] = {
            parameter.name: printed_value(printed.text[parameter.start : parameter.end])
            for parameter in equation.parameters
            if not parameter.members
        }
        programs: Mapping[str, Any] = {}
        if known is not None:
            parameters |= known.parameters
            programs = known.programs
        types = known.types if known else tuple(v.type for v in equation.outputs)
        inputs = [operand.type for operand in equation.inputs]
        return self.glossary.in_words(
            equation.primitive, parameters, types, inputs=inputs, programs=programs
        )


def as_html(meanings: dict[str, Meaning], block: str, opened: bool) -> str:
    """A fold with one definition for each primitive that has one."""
    rows = []
    for meaning in meanings.values():
        name = escape(meaning.primitive)
        if not meaning.text:
            continue
        said = "".join(
            f'<li><a href="#{escape(identity)}"><code>{escape(binders or name)}</code></a>'
            f" {escape(words)}</li>"
            for identity, binders, words in meaning.equations
        )
        rows.append(
            f'<dt id="{escape(anchor(block, meaning.primitive))}"><code>{name}</code></dt>'
            f"<dd>{escape(meaning.text)}{f'<ul>{said}</ul>' if said else ''}</dd>"
        )
    if not rows:
        return ""
    state = ' open=""' if opened else ""
    return (
        f'<details class="jaxpr-meanings"{state}><summary>What the primitives do</summary>'
        f"<dl>{''.join(rows)}</dl></details>"
    )


def anchor(block: str, primitive: str) -> str:
    """The id of a primitive's definition under a block."""
    return f"{block}-prim-{primitive}"


def links(meanings: dict[str, Meaning], block: str) -> dict[str, str]:
    """For each primitive the attributes of its link."""
    found = {}
    for name, meaning in meanings.items():
        href = meaning.href or f"#{anchor(block, name)}"
        away = " reference external" if meaning.external else ""
        found[name] = f'class="jaxpr-prim{away}" href="{escape(href)}"'
    return found
