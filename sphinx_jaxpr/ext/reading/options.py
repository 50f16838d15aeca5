"""Directives that check their own options, and the base of those that show blocks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar, Final

from docutils import nodes
from docutils.parsers.rst.directives import class_option
from sphinx.util.docutils import SphinxDirective

from ...program.text import nearest, shorten
from ...tracing.options import OPEN_WORDS, read_open
from ...tracing.request import check_name
from ..nodes import jaxpr_note
from ..records import Finding, Note
from . import elide
from .myst import MystProblems, myst_problems
from .notes import node_of, split
from .parsers import AnyOption
from .source_lines import SourceSpan, locate

#: Other names of options.
_MEANT_OPTIONS: Final = {
    **dict.fromkeys("arguments inputs params parameters specs types shapes in".split(), "args"),
    **dict.fromkeys("static_args static_argnums static_argnames kwargs bind".split(), "static"),
    **dict.fromkeys("transformations apply variants".split(), "transforms"),
    **dict.fromkeys("title alt".split(), "caption"),
    **dict.fromkeys("label id".split(), "name"),
    **dict.fromkeys("classes css".split(), "class"),
    **dict.fromkeys("expected error exception".split(), "raises"),
    **dict.fromkeys("hide fold collapse".split(), "elide"),
}
#: Other words for which blocks.
_MEANT_LABELS: Final = {
    **dict.fromkeys("true yes on 1 open".split(), "all"),
    **dict.fromkeys("false no off 0 closed".split(), "none"),
}
_HALF: Final = re.compile("[\ud800-\udfff]")


class CheckedDirective(SphinxDirective):
    """A directive whose mistakes are findings at their exact lines, in every build.

    A subclass sets ``option_names``, the options that it takes, and its ``run`` calls
    :meth:`begin` first.  ``span`` is then where the directive was written, and
    ``findings`` collects what is wrong with it: the extension keeps them with the page, for
    example as an attribute of the node, and hands them to ``report`` in every build.
    """

    has_content = True
    option_spec: ClassVar[Any] = AnyOption()
    #: The options that the directive takes.
    option_names: ClassVar[tuple[str, ...]] = ()
    span: SourceSpan
    findings: list[Finding]

    def begin(self) -> None:
        """Locate the directive in its file, and clear the findings."""
        self.span = locate(self)
        self.findings = []

    def add_finding(
        self, message: str, kind: str = "option", *, option: str = "", line: int = 0
    ) -> None:
        """Add a finding at a line, at an option, or else at the directive.

        ``kind`` is the subtype of the warning.
        """
        line = line or (self.span.option(option) if option else self.span.line)
        self.findings.append(Finding(kind, message, self.span.source, line))

    def first_line(self) -> int:
        """The line of the first line of the content."""
        if self.span.lines or not self.content:
            return self.span.content(list(self.content))
        _, offset = self.content.info(0)  # in a docstring, which is no file
        return self.span.line if offset is None else int(offset) + 1

    def check_option_names(self, kind: str = "option") -> None:
        """Add a finding for each option that isn't one of ``option_names``."""
        for option in self.options:
            if option not in self.option_names:
                self.add_finding(self.unknown_option(option), kind, option=option)

    def unknown_option(self, option: str) -> str:
        """The message about an option that the directive doesn't take."""
        if not self.option_names:
            return f"{self.name} takes no options; found {shorten(option)}"
        return f"{self.name}: {unknown_option(option, self.option_names)}"

    def check_myst_options(self, kind: str = "option") -> MystProblems:
        """Add a finding for each option that MyST took for something other than was meant."""
        problems = myst_problems(self, self.span)
        for message, line in problems.messages:
            self.add_finding(message, kind, line=line)
        return problems


def unknown_option(option: str, names: Iterable[str]) -> str:
    """The message about an option that is none of ``names``, with the nearest of them."""
    names = tuple(names)
    meant = _MEANT_OPTIONS.get(option.lower(), "")
    near = f", did you mean {meant!r}?" if meant in names else nearest(option, names)
    return f"unknown option {shorten(option)}{near} (known: {', '.join(names)})"


class BlockDirective(CheckedDirective):
    """The base of directives that show blocks."""

    def unknown_option(self, option: str) -> str:
        """The message; blocks are the main thing, so it doesn't name the directive."""
        return unknown_option(option, self.option_names)

    def _check_characters(self) -> None:
        """Replace lone surrogates, which YAML can escape and no file can hold."""
        for option, text in self.options.items():
            if isinstance(text, str) and _HALF.search(text):
                self.options[option] = _HALF.sub("\ufffd", text)
                message = f"{option}: {shorten(text)} holds half a character"
                self.add_finding(message, option=option if option.isprintable() else "")

    def _explicit(self) -> str:
        """The name that the author gave, if it is valid."""
        given: str = self.options.get("name", "").strip()
        if given:
            problem = check_name(given, "name")
            if not problem:
                return given
            self.add_finding(problem, option="name")
        elif "name" in self.options:
            self.add_finding("option 'name' is empty", option="name")
        return ""

    def _choice(self, option: str, choices: tuple[str, ...], default: str) -> str:
        if option not in self.options:
            return default
        given = str(self.options[option]).strip()
        if given in choices:
            return given
        message = f"{option}: {shorten(given)} is not one of {', '.join(choices)}"
        self.add_finding(message, option=option)
        return default

    def _check_flags(self, flags: Collection[str]) -> None:
        for option, value in self.options.items():
            if option in flags and value:
                self.add_finding(
                    f"option {option!r} is a flag, without a value; found {shorten(value)}",
                    option=option,
                )

    def _form(self, argument: str) -> str:
        """The directive's first line with an argument, in the page's own markup."""
        if self.span.markdown:
            first = self.span.lines[0].lstrip(" >*-") if self.span.lines else "```"
            return f"{first.partition('{')[0]}{{{self.name}}} {argument}"
        return f".. {self.name}:: {argument}"

    def _opened(self, labels: Collection[str]) -> str:
        """The option ``open``; ``labels`` are those of the blocks."""
        opened, unknown = read_open(str(self.options.get("open", "")), labels)
        self._unknown_labels("open", unknown, (*OPEN_WORDS, *labels))
        return opened

    def _unknown_labels(self, option: str, unknown: Iterable[str], names: Sequence[str]) -> None:
        for word in unknown:
            meant = _MEANT_LABELS.get(word.lower(), "")
            near = f", did you mean {meant!r}?" if meant else nearest(word, names)
            self.add_finding(
                f"{option}: {shorten(word)} is not a label here{near} (known: {', '.join(names)})",
                option=option,
            )

    def _elide(self, names: Collection[str]) -> tuple[tuple[str, ...], tuple[Note, ...]]:
        """The words and paths of the option; ``names`` are the single words that are paths."""
        text = str(self.options.get("elide", ""))
        parts = elide.read(text, names)
        first = self.span.option("elide")

        def line(offset: int) -> int:
            return first + text.count("\n", 0, offset)

        for message, offset in parts.problems:
            self.add_finding(message, line=line(offset))
        paths = [Note(path, self.span.source, line(offset)) for path, offset in parts.paths]
        return parts.words, tuple(paths)

    def _notes(self) -> list[tuple[Note, jaxpr_note]]:
        """The notes of the body, parsed as the page is."""
        lines = list(self.content)
        parts, problems = split(lines)
        first = self.first_line()
        for offset, message in problems:
            self.add_finding(message, line=first + offset)
        notes = []
        for offset, path, text in parts:
            children = self.parse_text_to_nodes(text, offset=self.content_offset + offset + 1)
            note = Note(path, self.span.source, first + offset)
            notes.append((note, node_of(path, children)))
        return notes

    def _classes(self) -> list[str]:
        given = self.options.get("class", "")
        try:
            return list(class_option(given)) if given else []
        except ValueError as error:
            self.add_finding(f"class: {error}", option="class")
            return []

    def _caption(self, node: nodes.Element) -> str:
        text = str(self.options.get("caption", "")).strip()
        if not text:
            return ""
        line = self.span.option("caption")
        children, messages = self.parse_inline(text, lineno=line)
        caption = nodes.caption(text, "", *children)
        caption.source, caption.line = self.span.source, line
        node += caption
        node += messages
        return text
