"""What the primitives of one block mean, below it: definitions, and its equations in words.

Without Sphinx: the caller decides where a primitive links to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..glossary.glossary import Glossary
    from ..model import Equation, EquationFacts, Printed


@dataclass
class Meaning:
    """One primitive of a block: its definition and its equations in words."""

    primitive: str
    text: str
    href: str
    external: bool
    equations: list[tuple[str, str, str]] = field(default_factory=list)  # id, binders, words


def of_block(
    glossary: Glossary,
    printed: Printed,
    facts: Mapping[int, EquationFacts],
    ids: Mapping[int, str],
    href: Callable[[str], tuple[str, bool]],
) -> dict[str, Meaning]:
    """The meanings of all primitives of a block, in the order in which they appear.

    ``href`` gives the address of a primitive's page and whether that is on another site.
    """
    meanings: dict[str, Meaning] = {}
    for equation in printed.walk():
        name = equation.primitive
        if name not in meanings:
            entry = glossary.entry(name)
            meanings[name] = Meaning(name, entry.meaning if entry else "", *href(name))
        words = _words(glossary, printed, equation, facts.get(equation.start))
        if words:
            binders = " ".join(variable.name for variable in equation.outputs)
            meanings[name].equations.append((ids[equation.start], binders, words))
    return {name: meaning for name, meaning in meanings.items() if meaning.text or meaning.href}


def _words(
    glossary: Glossary, printed: Printed, equation: Equation, facts: EquationFacts | None
) -> str:
    from ..glossary.glossary import printed_value

    parameters = {
        parameter.name: printed_value(printed.text[parameter.start : parameter.end])
        for parameter in equation.parameters
        if not parameter.members
    }
    programs: Mapping[str, Any] = {}
    if facts is not None:
        parameters |= facts.parameters
        programs = facts.programs
    types = facts.types if facts else tuple(v.type for v in equation.outputs)
    inputs = [operand.type for operand in equation.inputs]
    return glossary.in_words(
        equation.primitive, parameters, types, inputs=inputs, programs=programs
    )


class Explained:
    """What the primitives of one directive do: each definition once, each wording once.

    ``defined`` has the ids of all definitions of a page: what an earlier
    directive has defined is a link to there.
    """

    def __init__(self, defined: dict[str, str]) -> None:
        self.defined = defined
        self.rows: dict[str, tuple[str, dict[str, list[str]]]] = {}

    def add(self, meanings: dict[str, Meaning], block: str, label: str) -> None:
        """Take in a block with this id."""
        for name, meaning in meanings.items():
            if not meaning.text:
                continue
            new = name not in self.defined
            self.defined.setdefault(name, anchor(block, name))
            _, uses = self.rows.setdefault(name, (meaning.text if new else "", {}))
            for identity, binders, words in meaning.equations:
                link = f'<a href="#{escape(identity)}">{escape(binders or name)}</a>'
                uses.setdefault(words, []).append(f"{escape(label)} {link}" if label else link)

    def as_html(self, opened: bool, title: str = "What the primitives do") -> str:
        """A fold with one entry for each primitive, or nothing."""
        rows = []
        for name, (text, uses) in self.rows.items():
            items = "".join(
                f"<li>{escape(words)}: {', '.join(links)}</li>" for words, links in uses.items()
            )
            if not text and not items:
                continue
            address = escape(self.defined[name])
            term = f'<a href="#{address}">{escape(name)}</a>' if not text else escape(name)
            identity = f' id="{address}"' if text else ""
            listed = f"<ul>{items}</ul>" if items else ""
            rows.append(f"<dt{identity}>{term}</dt><dd>{escape(text)}{listed}</dd>")
        if not rows:
            return ""
        state = ' open=""' if opened else ""
        return (
            f'<details class="jaxpr-meanings"{state}><summary>{escape(title)}</summary>'
            f"<dl>{''.join(rows)}</dl></details>\n"
        )


def anchor(block: str, primitive: str) -> str:
    """The id of a primitive's definition under a block."""
    return f"{block}-prim-{_in_id(primitive)}"


def listed(number: int, primitive: str) -> str:
    """The id of a primitive in the list with this number, of a page or of one document."""
    return f"jaxpr-primitive{number if number > 1 else ''}-{_in_id(primitive)}"


def _in_id(primitive: str) -> str:
    """The name of a primitive as a part of ids: any two names differ, in every format."""
    if _PLAIN.fullmatch(primitive):
        return primitive
    return _ODD.sub(lambda odd: f".{ord(odd[0]):x}.", primitive)


_PLAIN = re.compile(r"[A-Za-z_]\w*(-[A-Za-z_]\w*)*", re.ASCII)
_ODD = re.compile(r"\W|^\d|^$", re.ASCII)


def links(meanings: dict[str, Meaning], defined: dict[str, str]) -> dict[str, str]:
    """For each primitive the attributes of its link; ``defined`` are ids on the page."""
    attributes = {}
    for name, meaning in meanings.items():
        href = meaning.href or f"#{defined[name]}"
        away = " reference external" if meaning.external else ""
        attributes[name] = f'class="jaxpr-prim{away}" href="{escape(href)}"'
    return attributes
