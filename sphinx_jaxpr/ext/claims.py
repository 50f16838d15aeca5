"""``jaxpr-claims`` and ``jaxpr-when``: what is checked unseen, and prose for some versions only."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from .nodes import jaxpr_claims, jaxpr_gallery, jaxpr_when
from .options import AnyOption
from .place import locate
from .records import Finding


class JaxprClaims(SphinxDirective):
    """One expression a line; a deeper indented line goes on with the one above."""

    has_content = True
    option_spec: ClassVar[Any] = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_claims``."""
        place = locate(self)
        first = place.content(list(self.content))
        node = jaxpr_claims()
        self.set_source_info(node)
        node.source = place.source
        node["lines"] = [(first + n, text) for n, text in expressions(list(self.content))]
        node["findings"] = _of_options(self, place) + (
            []
            if node["lines"]
            else [
                Finding(
                    "claim",
                    f"{self.name} is empty; write one expression a line, as in"
                    " len(dense.vmap) == len(dense) + 1",
                    place.source,
                    place.line,
                )
            ]
        )
        return [node]


def _of_options(directive: SphinxDirective, place: Any) -> list[Finding]:
    return [
        Finding(
            "option",
            f"{directive.name} takes no options; found {option!r}",
            place.source,
            place.option(option),
        )
        for option in directive.options
    ]


def expressions(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The expressions of a body with their places in it, comments left out."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        text = without_comment(line)
        if not text.strip():
            continue
        if found and text[:1].isspace():
            place, before = found[-1]
            found[-1] = (place, f"{before} {text.strip()}")
        else:
            found.append((number, text.strip()))
    return found


def without_comment(line: str) -> str:
    """A line up to its comment; a ``#`` in a text is none."""
    if "#" not in line:
        return line
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.COMMENT:
                return line[: len(line) - len(line.lstrip()) + token.start[1]]
    except (tokenize.TokenError, SyntaxError):  # it goes on below, or is no Python: told later
        quoted = line.partition("#")
        return quoted[0] if quoted[0].count('"') % 2 == quoted[0].count("'") % 2 == 0 else line
    return line


#: What a part of a page that may be left out can't hold, since it is noted while pages are read.
_REFUSED: Final[tuple[tuple[type[nodes.Element], str], ...]] = (
    (nodes.section, "a heading"),
    (nodes.title, "a heading"),
    (nodes.target, "a label"),
    (jaxpr_gallery, "a block"),
)


class JaxprWhen(SphinxDirective):
    """Its body is shown where the expression, its argument, is true."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = AnyOption()

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_when`` around the parsed body."""
        place = locate(self)
        expression = " ".join(self.arguments[0].split()) if self.arguments else ""
        node = jaxpr_when(expression=expression, problem="")
        self.set_source_info(node)
        node.source, node.line = place.source, place.line
        node["findings"] = _of_options(self, place)
        if not expression:
            node["problem"] = (
                f"{self.name} has no condition; write it on the directive's own line, as in"
                f' {self.name} jax >= "0.12"'
            )
        node += self.parse_content_to_nodes(allow_section_headings=False)
        for kind, what in _REFUSED:
            for inner in node.findall(kind):
                if kind is nodes.title and not isinstance(inner.parent, nodes.section):
                    continue
                line = inner.line or place.line
                message = (
                    f"{what} can't stand in {self.name}: it is noted while the page is read, before"
                    " it is known whether it will be shown; move it out, or use two pages"
                )
                node["findings"].append(Finding("option", message, place.source, line))
                break
        return [node]
