"""Options of directives, whatever they are called, and what those of blocks share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, Final

from docutils import nodes
from docutils.parsers.rst.directives import class_option
from sphinx.util.docutils import SphinxDirective

from ...tracing.grammar import nearest, shorten
from ...tracing.request import check_name
from ..records import Finding
from .myst import COMPLAINTS, markdown_traps
from .source_lines import SourceSpan

_HALF: Final = re.compile("[\ud800-\udfff]")


class AnyOption(dict[str, Any]):
    """Accepts every option: an unknown one is our finding, told by every build.

    The parsers would drop it with a message of their own, once.
    """

    def __bool__(self) -> bool:
        return True

    def __missing__(self, key: str) -> Any:
        return lambda text: text or ""

    def __contains__(self, key: object) -> bool:
        return True


class BlockDirective(SphinxDirective):
    """A directive that shows blocks; ``run`` sets its ``place`` and ``findings`` first."""

    has_content = True
    option_spec: ClassVar[Any] = AnyOption()
    place: SourceSpan
    findings: list[Finding]

    def _finding(self, message: str, option: str = "", kind: str = "option") -> None:
        line = self.place.option(option) if option else self.place.line
        self.findings.append(Finding(kind, message, self.place.source, line))

    def _unknown(self, option: str, known: Iterable[str]) -> None:
        listed = ", ".join(known)
        self._finding(
            f"unknown option {shorten(option)}{nearest(option, known)} (known: {listed})", option
        )

    def _check_characters(self) -> None:
        """Half a character, which an escape of YAML can make, is in no file that is written."""
        for option, text in self.options.items():
            if isinstance(text, str) and _HALF.search(text):
                self.options[option] = _HALF.sub("\ufffd", text)
                message = f"{option}: {shorten(text)} holds half a character"
                self._finding(message, option if option.isprintable() else "")

    def _explicit(self) -> str:
        """The name that the author gave, if it can be one."""
        given: str = self.options.get("name", "").strip()
        if given:
            problem = check_name(given, "name")
            if not problem:
                return given
            self._finding(problem, "name")
        elif "name" in self.options:
            self._finding("option 'name' is empty", "name")
        return ""

    def _choice(self, option: str, known: tuple[str, ...], default: str) -> str:
        if option not in self.options:
            return default
        given = str(self.options[option]).strip()
        if given in known:
            return given
        self._finding(f"{option}: {shorten(given)} is none of {', '.join(known)}", option)
        return default

    def _classes(self) -> list[str]:
        given = self.options.get("class", "")
        try:
            return list(class_option(given)) if given else []
        except ValueError as error:
            self._finding(f"class: {error}", "class")
            return []

    def _caption(self, node: nodes.Element) -> str:
        text = str(self.options.get("caption", "")).strip()
        if not text:
            return ""
        line = self.place.option("caption")
        children, messages = self.parse_inline(text, lineno=line)
        caption = nodes.caption(text, "", *children)
        caption.source, caption.line = self.place.source, line
        node += caption
        node += messages
        return text


def unread(directive: SphinxDirective, place: SourceSpan, subtype: str = "option") -> list[Finding]:
    """What MyST made of the options of a directive that the author did not mean."""
    traps = markdown_traps(place, directive.options, [], COMPLAINTS.take())
    return [Finding(subtype, message, place.source, line) for message, line in traps.found]


def unknown(directive: SphinxDirective, place: SourceSpan) -> list[Finding]:
    """What to tell of the options of a directive that takes none."""
    return unread(directive, place) + [
        Finding(
            "option",
            f"{directive.name} takes no options; found {shorten(option)}",
            place.source,
            place.option(option),
        )
        for option in directive.options
    ]
