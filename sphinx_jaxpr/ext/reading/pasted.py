"""``jaxpr``: annotates a jaxpr in the page's text.  Traces and checks nothing."""

from __future__ import annotations

from textwrap import dedent
from typing import Final

from docutils import nodes

from ...program.text import spelled
from ...tracing.files import digest
from ..nodes import jaxpr_blocks
from ..records import Block, DirectiveRecord, Pasted
from .options import BlockDirective

OPTIONS: Final = ("caption", "name", "open", "class", "version")
#: The name of a block without one.
LOCAL_NAME: Final = "pasted"


class JaxprPasted(BlockDirective):
    """A block whose program is the body.  Leaves in the doctree::

    <jaxpr_blocks directive="DirectiveRecord(... one block with a text, no request)">
        <caption>
            ...
    """

    option_names = OPTIONS

    def run(self) -> list[nodes.Node]:
        """Leave one ``jaxpr_blocks`` with the caption as its child."""
        self.begin()
        self._check_characters()
        self.check_option_names()
        self.check_myst_options()
        given = self._explicit()
        node = jaxpr_blocks()
        self.set_source_info(node)
        caption = self._caption(node)
        block = self._block(given or LOCAL_NAME)
        node["directive"] = DirectiveRecord(
            source=self.span.source,
            line=self.span.line,
            name=block.name,
            explicit=bool(given),
            blocks=(block,),
            opened=self._choice("open", ("auto", "all", "none"), ""),
            classes=tuple(self._classes()),
            caption=caption,
            findings=tuple(self.findings),
        )
        return [node]

    def _block(self, name: str) -> Block:
        text, line = self._text()
        problem, pasted = "", None
        if text:
            version = spelled(" ".join(self.options.get("version", "").split()))
            pasted = Pasted(text, version)
            self._read(text, line)
        else:
            problem = "the body is empty; paste what JAX printed, as it is"
            self.add_finding(f"{self.name}: {problem}")
        return Block(
            name,
            "",
            f"jaxpr-{name}",
            None,
            digest([text, pasted.version if pasted else ""]),
            problem,
            line=self.span.line,
            pasted=pasted,
        )

    def _text(self) -> tuple[str, int]:
        """The body without blanks around it, and the line of the file where it begins.

        Blanks at the ends of lines are dropped too, as docutils does and MyST doesn't.
        """
        lines = [spelled(line).rstrip() for line in self.content]
        blank = next((n for n, line in enumerate(lines) if line.strip()), len(lines))
        text = dedent("\n".join(lines[blank:])).rstrip()
        first = text.partition("\n")[0]
        if first and self.span.lines and self.span.lines[0].rstrip().endswith(first):
            return text, self.span.line  # on the directive's own line
        return text, self.first_line() + blank

    def _read(self, text: str, line: int) -> None:
        """Add a finding where reading stopped; the text is shown unchanged."""
        from ...program.parser.parser import parse
        from ...program.parser.unparsed import unread

        stops = unread(parse(text))
        if not stops:
            return
        first, *others = stops
        more = f" (and so at {len(others)} more place{'s' * (len(others) != 1)})" if others else ""
        line += text.count("\n", 0, first.offset)
        self.add_finding(f"{self.name}: {first.message}{more}", line=line)
