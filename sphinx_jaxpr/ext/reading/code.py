"""``jaxpr-code``: code on the page.  All of it, in order, is one module of the page."""

from __future__ import annotations

from typing import Final

from docutils import nodes
from sphinx.directives.code import CodeBlock, dedent_lines

from ...program.text import shorten
from ..nodes import jaxpr_blocks, jaxpr_code
from ..records import CodePart
from .options import CheckedDirective

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
        code = jaxpr_code(part=self._part(), findings=self.findings)
        self.set_source_info(code)
        return [code, *self._shown(self._checked())]

    def _checked(self) -> dict[str, object]:
        """The options of the code block that can be read, with a finding for each other one."""
        options: dict[str, object] = {}
        for option, text in self.options.items():
            if option not in _SHOWN:
                continue
            try:
                options[option] = _SHOWN[option](text or None)
            except (ValueError, TypeError) as error:
                self.add_finding(f"{option}: {error}", option=option)
        return options

    def _part(self) -> CodePart:
        lines = list(self.content)
        text = "\n".join(lines)
        if "dedent" in self.options:
            text = "".join(dedent_lines(text.splitlines(True), None))
        return CodePart(text, self.span.source, self.span.content(lines))

    def _shown(self, options: dict[str, object]) -> list[nodes.Node]:
        if "hide" in self.options:
            return []
        block = CodeBlock(
            "code-block",
            ["python"],
            options,
            self.content,
            self.lineno,
            self.content_offset,
            self.block_text,
            self.state,
            self.state_machine,
        )
        return list(block.run())


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
