"""``jaxpr-code``: code on the page.  All of it, in order, is one module of the page."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.directives.code import CodeBlock

from ...program.text import CELL, in_cell, nearest, plural, shorten
from ...tracing.jobs import PAGE, digest_of
from ...tracing.request import Request
from ...tracing.specs import names_in
from ..config import ProjectSettings, settings_of
from ..nodes import jaxpr_blocks, jaxpr_code
from ..records import Asked, CodePart, CodeSpan, DirectiveRecord, Finding, LeftOut
from .bindings import Bindings, bindings, needed
from .notebooks.left_out import why_missing
from .options import CheckedDirective

#: A line or a range of lines, which may be open at one end.
_RANGE: Final = re.compile(r"\s*(?=.*\d)(\d*)(?:-(\d*))?\s*")
#: The options of a code block as Sphinx checks them.
_SHOWN: Final = dict(CodeBlock.option_spec or {})


class JaxprCode(CheckedDirective):
    """Python code that blocks of the page use.  Leaves in the doctree::

        <jaxpr_code part="CodePart(...)" findings="...">
        <literal_block language="python">
            ...

    The second is Sphinx's own ``code-block``; with the flag ``hide`` there is none.
    """

    optional_arguments = 1
    final_argument_whitespace = True
    option_names = ("hide", *_SHOWN)

    def run(self) -> list[nodes.Node]:
        """Leave the code for :func:`with_nodes`, and a code block for readers."""
        self.begin()
        self.check_option_names()
        if self.arguments:
            self.add_finding(
                f"{self.name} takes no argument, since its code is always Python; found"
                f" {shorten(self.arguments[0])}"
            )
        options = self._checked()
        lines = self._dedented(options)
        text = "\n".join(lines)
        if "jaxpr-code" not in settings_of(self.env).page_code:
            text = ""
            self.add_finding(f"blocks can't use {self.name}: jaxpr_page_code doesn't list it")
        line, cell = self.first_line(), 0
        if in_cell(self.span.source, line):
            cell, line = divmod(line, CELL)
        part = CodePart(text, self.span.source, line, cell)
        code = jaxpr_code(part=part, findings=self.findings, left_out=())
        self.set_source_info(code)
        return [code] if "hide" in self.options else [code, *self._shown(lines, options)]

    def _checked(self) -> dict[str, object]:
        """The options of the code block that can be read, with a finding for each other one."""
        options: dict[str, object] = {}
        for option, text in self.options.items():
            if option not in _SHOWN:
                continue
            try:
                options[option] = _SHOWN[option](text or "")
            except (ValueError, TypeError) as error:
                self.add_finding(f"{option}: {error}", option=option)
        return options

    def _dedented(self, options: dict[str, object]) -> list[str]:
        """The lines of the code as ``dedent`` leaves them, with findings where Sphinx would warn.

        (It warns once, and no later build would repeat that.)
        """
        lines = list(self.content)
        if "dedent" in options:
            width = options.pop("dedent")
            if width is None:
                lines = textwrap.dedent("\n".join(lines)).split("\n")
            elif isinstance(width, int):
                if any(line[:width].strip() for line in lines):
                    self.add_finding(f"dedent: {width} is more than the code has", option="dedent")
                lines = [line[width:] for line in lines]
        if "emphasize-lines" in options:
            self._check_emphasized(options, len(lines))
        return lines

    def _check_emphasized(self, options: dict[str, object], count: int) -> None:
        given = str(options["emphasize-lines"])
        ranges = [_RANGE.fullmatch(part) for part in given.split(",")]
        pairs = [
            (int(r[1] or 1), int(r[2] or count) if r[2] is not None else 0) for r in ranges if r
        ]
        if len(pairs) < len(ranges) or any(last and first > last for first, last in pairs):
            problem = "are no lines; expected numbers and ranges, as in 2,4-6"
        elif any(max(pair) > count for pair in pairs):
            problem = f"are not all in the code, which has {plural(count, 'line')}"
        else:
            return
        del options["emphasize-lines"]
        message = f"emphasize-lines: {shorten(given)} {problem}"
        self.add_finding(message, option="emphasize-lines")

    def _shown(self, lines: list[str], options: dict[str, object]) -> list[nodes.Node]:
        block = CodeBlock(
            "code-block",
            ["python"],
            options,
            StringList(lines, self.span.source),
            self.lineno,
            self.content_offset,
            self.block_text,
            self.state,
            self.state_machine,
        )
        return list(block.run())


# --- the code of a page, and what its blocks use of it


def with_nodes(doctree: nodes.document) -> list[tuple[nodes.Element, CodePart | None]]:
    """The pieces of a page's code and its blocks, in document order.

    Each is a node with its part of the code, or the node of a block (``jaxpr_blocks``) with
    ``None``; a block may use the parts before it.
    """
    parts: list[tuple[nodes.Element, CodePart | None]] = []
    for node in doctree.findall(nodes.Element):
        if isinstance(node, jaxpr_blocks):
            parts.append((node, None))
        elif isinstance(node, jaxpr_code):
            parts.append((node, node["part"]))
    return parts


class CodeOfPage:
    """The code of a page, and what each block uses of it.

    ``pieces`` are those of :func:`with_nodes`.  Then ``parts`` are those of the code, ``blocks``
    the nodes of blocks, each with the number of parts above it, and ``findings`` what is
    wrong with the code.  ``left_out`` has, for each part, the names that it should bind but
    for lines that are not run.
    """

    def __init__(
        self, pieces: Iterable[tuple[nodes.Element, CodePart | None]], settings: ProjectSettings
    ) -> None:
        self.settings = settings
        self.parts: list[CodePart] = []
        self.blocks: list[tuple[nodes.Element, int]] = []
        self.left_out: list[tuple[LeftOut, ...]] = []
        for node, part in pieces:
            if part is None:
                self.blocks.append((node, len(self.parts)))
            else:
                self.parts.append(part)
                self.left_out.append(node["left_out"])
        self.bindings = [bindings(part.text) for part in self.parts]
        self.findings = [] if settings.python else list(self._syntax_errors())
        allowed = settings.allowed_modules
        self.is_allowed = not allowed or PAGE in allowed

    def _syntax_errors(self) -> Iterator[Finding]:
        """Code that is not Python; a ``jaxpr_python`` may know more of it than this one."""
        for part, piece in zip(self.parts, self.bindings, strict=True):
            if piece.problem is not None:
                message, line = piece.problem
                text = f"the page's code can't be read: {message}"
                yield Finding("trace", text, part.source, part.line_of(line))

    def resolved(
        self, directive: DirectiveRecord, above: int, without_code: str, bare_name: str = ""
    ) -> DirectiveRecord:
        """A directive with what its blocks use of the ``above`` first parts of the code.

        ``without_code`` is what is wrong with its target unless that is a name of the code;
        ``bare_name`` is the target as written if that was looked up in the current module.
        """
        request = directive.blocks[0].request if self.parts or without_code else None
        if request is None:
            return directive
        if bare_name and any(bare_name in piece.binds for piece in self.bindings[:above]):
            # On a page its code comes first, then the current module.
            request = replace(request, target=bare_name, bare=False)
            directive = _with(directive, target=bare_name, bare=False)
        names = names_of(request)
        if without_code and (problem := self._unbound(request.target, above, without_code)):
            finding = Finding("option", problem, directive.source, directive.line)
            return _without_request(
                directive._replace(findings=(*directive.findings, finding)), problem
            )
        pieces = self.bindings[:above]
        missing = self._missing(above)
        directive = directive._replace(left_out=_of_names(missing, names))
        if not self.is_allowed or not any(_may_bind(piece, names) for piece in pieces):
            return directive
        if self.findings and any(piece.problem is not None for piece in pieces):
            return _without_request(directive, "the page's code above can't be read")
        numbers = needed(pieces, names)
        code = digest_of([self.parts[number].text for number in numbers])
        spans = tuple(self._span(number) for number in numbers)
        reads = names.union(*(pieces[number].reads for number in numbers))
        return _with(directive, code=code)._replace(code=spans, left_out=_of_names(missing, reads))

    def _missing(self, above: int) -> dict[str, LeftOut]:
        """The names that the ``above`` first parts leave without a value, as they would not be."""
        missing: dict[str, LeftOut] = {}
        for piece, left_out in zip(self.bindings[:above], self.left_out, strict=False):
            for name in piece.binds:
                missing.pop(name, None)
            missing.update((each.name, each) for each in left_out)
        return missing

    def _unbound(self, target: str, above: int, without_code: str) -> str:
        """Why a name can't be a target if no code above binds it, or ``""``."""
        first, dot, _ = target.partition(".")
        missing = self._missing(above).get(first)
        if self.is_allowed and missing is not None:
            return why_missing(missing, os.path.basename)
        if self.is_allowed and any(_may_bind(piece, {first}) for piece in self.bindings[:above]):
            return ""
        if dot or not self.parts:
            return without_code
        if not self.is_allowed:
            listed = ", ".join(self.settings.allowed_modules)
            return (
                f"{shorten(target)} could only be a name of the page's code, which is outside"
                f" jaxpr_allowed_modules ({listed}); list {PAGE!r} there to allow it"
            )
        for part, piece in zip(self.parts[above:], self.bindings[above:], strict=True):
            if target in piece.binds:
                code = f"cell {part.cell}" if part.cell else f"the code at line {part.line}"
                return (
                    f"{shorten(target)} is defined only below this block, by {code}; a block sees"
                    " the code above it"
                )
        names = sorted(set().union(*(piece.binds for piece in self.bindings[:above])))
        return (
            f"no code above this block defines {shorten(target)}{nearest(target, names)}; a"
            " function of a module is written package.module:qualname"
        )

    def _span(self, number: int) -> CodeSpan:
        part = self.parts[number]
        return CodeSpan(number, part.text.count("\n") + 1, part.source, part.line, part.cell)


def _of_names(missing: Mapping[str, LeftOut], names: Collection[str]) -> tuple[LeftOut, ...]:
    return tuple(missing[name] for name in sorted(missing.keys() & set(names)))


def _may_bind(piece: Bindings, names: Collection[str]) -> bool:
    return piece.is_open or not piece.binds.isdisjoint(names)


def names_of(request: Request) -> set[str]:
    """The names of a request that may be those of the page's code."""
    values: list[Any] = [v for _, v in (*request.args, *request.static, *(request.make or ()))]
    names = [name for name in names_in([*values, request.mesh]) if ":" not in name]
    if ":" not in request.target or request.bare:
        names.append(request.target.rpartition(":")[2])
    return {name.partition(".")[0] for name in names}


def _with(directive: DirectiveRecord, **changes: Any) -> DirectiveRecord:
    """A directive with these changes to its requests."""
    requests = [
        replace(block.request, **changes) if block.request else None for block in directive.blocks
    ]
    first = requests[0]
    shared = first.to_json() if first else {}
    blocks = []
    for block, request in zip(directive.blocks, requests, strict=True):
        asked = Asked.of_json(request, request.variant_json(shared)) if request else None
        blocks.append(block._replace(asked=asked, digest=asked.digest if asked else block.digest))
    named = [name for request in requests if request is not None for name in request.modules]
    return directive._replace(blocks=tuple(blocks), modules=tuple(dict.fromkeys(named)))


def _without_request(directive: DirectiveRecord, problem: str) -> DirectiveRecord:
    """A directive whose blocks can't be traced."""
    blocks = tuple(
        block._replace(asked=None, digest="", problem=block.problem or problem)
        for block in directive.blocks
    )
    return directive._replace(blocks=blocks, modules=())
