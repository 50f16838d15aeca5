"""Blocks as HTML figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Final

from docutils import nodes

from ...program.html import markup
from ...program.html.code import Marks, code, equation_ids, powers
from ...program.html.definitions import Explained, links
from ...program.html.folding import Run, folds, runs
from ...program.html.side_by_side import Column, Unaligned, align
from ...tracing.result import error_parts
from ..judging.path_targets import PathTarget
from ..locale import _
from ..nodes import jaxpr_figure, jaxpr_source, jaxpr_words
from ..records import Block
from .block import MOST_DROPPED, BlockRenderer, as_list, free, only_in_base


@dataclass(frozen=True)
class Look:
    """How a figure differs from one by default.

    ``identity`` is its id, ``side`` has its rows beside another one, and ``opened`` says
    whether it starts open.  A ``copy`` of an earlier figure of the page doesn't repeat the
    notes, and names the block that it is ``beside``.  ``before`` and ``after`` are the markup
    around it.
    """

    identity: str = ""
    side: Column | None = None
    opened: bool | None = None
    copy: bool = False
    beside: str = ""
    before: str = ""
    after: str = ""


ALONE: Final = Look()


class HtmlRenderer(BlockRenderer):
    """For builders that write HTML: one ``jaxpr_figure`` a block."""

    def render(self) -> list[nodes.Node]:
        """Figures with their notes; the first has the caption."""
        figures: list[nodes.Node] = [*self.rest, *self.source()]
        for index, block in enumerate(self.blocks):
            figures.append(self.figure(block, self.caption if index == 0 else None))
            figures.extend(as_list(self.own_notes[block.identity], self.back))
        return [*figures, *self.lost_notes()]

    def back(self, target: PathTarget) -> nodes.Node:
        """A link from a note to its equation."""
        assert target.block is not None
        printed = self.traced[target.block.identity].printed
        identity = equation_ids(printed, self.ids[target.block.identity])[target.start]
        path = nodes.literal(target.note.path, target.note.path)
        return nodes.reference("", "", path, internal=True, refid=identity)

    def markers(self, block: Block) -> dict[int, str]:
        """For equations with notes: their numbered marks."""
        marks: dict[int, str] = {}
        for number, (target, _node, identity) in enumerate(self.own_notes[block.identity], 1):
            marks[target.start] = marks.get(target.start, "") + _marker(number, escape(identity))
        return marks

    def figure(
        self, block: Block, caption: nodes.Element | None, look: Look = ALONE
    ) -> jaxpr_figure:
        """One block; its caption is a child."""
        kind, opened, summary, body = self.parts(block, look)
        classes = " ".join(["jaxpr", *filter(None, [kind]), *self.directive.classes])
        arguments = self.traced[block.identity].arguments
        about = [*self.remarks(block), *filter(None, [arguments, self.version(block)])]
        rows = f' data-rows="{powers(look.side.rows)}"' if look.side else ""
        source = f' data-source="{escape(self.source_id)}"' if self.lines_of(block) else ""
        before, after = markup.figure(
            look.identity or self.ids[block.identity],
            classes,
            rows + source,
            opened=opened,
            summary=summary,
            body=body,
            about=about,
            has_caption=caption is not None,
        )
        figure = jaxpr_figure()
        figure["before"], figure["after"] = look.before + before, after + look.after
        figure["is_beside"] = bool(look.before or look.after)
        if caption is not None:
            line = nodes.inline("", "", *caption.children)
            line["classes"].append("jaxpr-caption")
            figure += line
        if not look.copy:
            figure += jaxpr_words("", nodes.Text(self.search_words(block)))
        self.figures.append((block, figure))
        return figure

    def parts(self, block: Block, look: Look) -> tuple[str, bool, str, str]:
        """Its class, whether it starts open, its summary and its folded content."""
        summary = self.title(block)
        if self.is_skipped:
            message = markup.paragraph(_("Not traced: jaxpr_mode is skip."))
            return "jaxpr-skipped", True, summary, message
        traced, error = self.traced[block.identity], self.error(block)
        if error is not None:
            kind = "jaxpr-raises" if traced.is_expected else "jaxpr-error"
            return kind, True, summary, markup.error(*error_parts(error))
        summary += markup.computed(traced.header, traced.phases)
        summary += markup.beside(look.beside, _("(beside {label})"))
        identity = look.identity or self.ids[block.identity]
        printed, facts = traced.printed, traced.aligned.equations
        ids = equation_ids(printed, identity)
        meanings = self.rendering.meanings.of_block(printed, facts, ids, self.rendering.page)
        if not look.copy:
            self.explained.add(meanings, identity, block.label)
        marks = Marks(
            changes=traced.match.change,
            source=self.lines_of(block),
            notes=self.markers(block) if not look.copy else {},
            links=links(meanings, self.definitions),
            folded=folds(printed) if self.elides_parameters() else (),
            runs=self.runs(block),
            side=look.side,
            names=traced.inputs.leaves,
            is_paged=self.is_epub,
        )
        body = markup.code(code(printed, facts, identity, marks))
        if look.side is None:  # otherwise the base is beside it
            body += self.only_in_base(block)
        opened = self.is_open(block) if look.opened is None else look.opened
        return "", opened, summary, body

    @cached_property
    def explained(self) -> Explained:
        """The definitions of the primitives, which the tree shows once."""
        return Explained(self.definitions)

    def closing(self) -> list[nodes.Node]:
        """The definitions of all primitives of the blocks, once."""
        definitions = self.explained.as_html(self.is_epub, _("What the primitives do"))
        # Not as raw HTML, which the search would index as words of the page.
        return [jaxpr_figure("", before=definitions, after="")] if definitions else []

    def runs(self, block: Block) -> list[Run]:
        """Neighbouring equations that are folded together; in a book nothing may be."""
        traced = self.traced[block.identity]
        if not traced.has_program or self.is_epub:
            return []
        return runs(traced.printed, self.elided(block))

    def only_in_base(self, block: Block) -> str:
        """The equations of the base that this block lacks, each linked if it is shown."""
        dropped = self.traced[block.identity].dropped
        if not dropped:
            return ""
        printed = self.traced[self.base.identity].printed
        ids = equation_ids(printed, self.ids[self.base.identity]) if self.base.is_shown else {}
        listed = []
        for equation in dropped[:MOST_DROPPED]:
            text = f"<code>{escape(str(equation))}</code>"
            link = f'<a href="#{escape(ids[equation.start])}">{text}</a>' if ids else text
            listed.append(link)
        more = len(dropped) - MOST_DROPPED
        rest = [escape(_("and {count} more").format(count=more))] if more > 0 else []
        head = escape(only_in_base())
        return f'<p class="jaxpr-dropped">{head}{", ".join([*listed, *rest])}</p>\n'

    def title(self, block: Block) -> str:
        """The beginning of the header."""
        return markup.context(self.context(block)) + markup.call(self.call(block))

    # -- the function's source

    def lines_of(self, block: Block) -> dict[int, tuple[int, str]]:
        """For equations of this function's own lines: the line, and its id in the listing."""
        python = self.python
        if python is None:
            return {}
        last = python.line + python.text.count("\n")
        lines = {}
        for start, facts in self.traced[block.identity].aligned.equations.items():
            if facts.source and facts.source[0] == python.file:
                line = facts.source[1]
                if python.line <= line <= last:
                    lines[start] = (line, f"{self.lines_id}-{line}")
        return lines

    @cached_property
    def source_id(self) -> str:
        """The name that connects the listing of Python with the figures; its lines are unique."""
        return free(self.ids[self.base.identity], self.rendering.taken, "-line")

    @property
    def lines_id(self) -> str:
        """The prefix of the ids of Python lines."""
        return f"{self.source_id}-line"

    def source(self) -> list[nodes.Node]:
        """The listing; each line has an id, and its number links to its equations."""
        listings, python = super().source(), self.python
        if not listings or python is None:
            return listings
        listing = listings[0]
        assert isinstance(listing, nodes.literal_block)
        first, last = python.line, python.line + python.text.count("\n")
        listing["highlight_args"] = {"linespans": self.lines_id, "linenostart": first}
        made, width = self.equations_by_line(), len(str(last))
        numbers = {
            f"{self.lines_id}-{line}": self.number(line, width, made.get(line, []))
            for line in range(first, last + 1)
        }
        return [jaxpr_source("", listing, source=self.source_id, lines=numbers)]

    def number(self, line: int, width: int, made: list[str]) -> str:
        """The beginning of a line of Python, as HTML; ``made`` are the ids of its equations."""
        identity, number = f'id="{escape(self.lines_id)}-{line}"', str(line).rjust(width)
        if not made:
            return f'<span {identity}><span class="linenos">{number}</span>'
        single, several = _("line {line}: 1 equation"), _("line {line}: {count} equations")
        label = (single if len(made) == 1 else several).format(line=line, count=len(made))
        # Themes give the number its margin as a span.
        link = f'<a href="#{escape(made[0])}" aria-label="{escape(label)}">{number}</a>'
        return f'<span {identity} data-line="{line}"><span class="linenos">{link}</span>'

    def equations_by_line(self) -> dict[int, list[str]]:
        """The ids of the shown equations that each line of Python created."""
        by_line: dict[int, list[str]] = {}
        for block in self.blocks:
            lines = self.lines_of(block)
            if lines:
                ids = equation_ids(self.traced[block.identity].printed, self.ids[block.identity])
                for start, (line, _identity) in sorted(lines.items()):
                    by_line.setdefault(line, []).append(ids[start])
        return by_line

    def search_words(self, block: Block) -> str:
        """The functions and primitives of a block, for the search; no letters or types."""
        equations = () if self.is_skipped else self.traced[block.identity].printed.walk()
        primitives = {equation.primitive for equation in equations}
        target = block.request.target.replace(":", ".") if block.request else ""
        return " ".join([*target.split("."), block.label, *sorted(primitives)])


def _marker(number: int, identity: str) -> str:
    """The mark at an equation, as HTML."""
    label = escape(_("note {number}").format(number=number))
    return (
        f'<a class="jaxpr-marker" id="{identity}-at" href="#{identity}"'
        f' aria-label="{label}">{number}</a>'
    )


# --- ``layout: compare``: each variant beside the base, what was matched on one row

_BEFORE = '<div class="jaxpr-compare">\n'
_AFTER = "</div>\n"


class CompareRenderer(HtmlRenderer):
    """The base is shown once for each variant: first under its own id, then as a copy."""

    def render(self) -> list[nodes.Node]:
        """Pairs of figures; blocks without a program are shown singly."""
        base = self.base
        variants = [block for block in self.blocks if block is not base]
        if self.is_epub or not variants or not self.traced[base.identity].has_program:
            return super().render()
        figures: list[nodes.Node] = [*self.rest, *self.source()]
        self.caption_left = self.caption
        self.base_shown = False
        pairs = [block for block in variants if self.traced[block.identity].has_program]
        if not pairs:
            figures += self.once(base)
        for block in variants:
            figures += self.pair(base, block) if block in pairs else [self.figure(block, None)]
            figures += as_list(self.own_notes[block.identity], self.back)
        return [*figures, *self.lost_notes()]

    def once(self, base: Block, look: Look | None = None) -> list[nodes.Node]:
        """The base under its own id, with the caption; its notes follow the pair."""
        self.base_shown = True
        caption, self.caption_left = self.caption_left, None
        figure: list[nodes.Node] = [self.figure(base, caption, look or Look())]
        return figure if look else [*figure, *as_list(self.own_notes[base.identity], self.back)]

    def pair(self, base: Block, block: Block) -> list[nodes.Node]:
        """Two figures in one box."""
        left, right = self.columns(base, block)
        opened = self.is_open(block)
        is_wide = self.is_open(base) or opened
        beside = Look(side=right, opened=opened, after=_AFTER)
        if self.base_shown:
            identity = free(f"{self.ids[block.identity]}-base", self.rendering.taken)
            look = Look(identity, left, is_wide, copy=True, beside=block.label, before=_BEFORE)
            return [self.figure(base, None, look), self.figure(block, None, beside)]
        first = self.once(base, Look(side=left, opened=is_wide, before=_BEFORE))
        notes = as_list(self.own_notes[base.identity], self.back)
        return [*first, self.figure(block, None, beside), *notes]

    def columns(self, base: Block, block: Block) -> tuple[Column | None, Column | None]:
        """The rows of both programs, if their lines can be put into rows."""
        left, right = self.traced[base.identity], self.traced[block.identity]
        if not (left.printed.program and right.printed.program):
            return None, None
        try:
            columns = (
                Column(left.printed, self.runs(base)),
                Column(right.printed, self.runs(block)),
            )
            is_aligned = align(*columns, right.match)
        except Unaligned:
            is_aligned = False
        return columns if is_aligned else (None, None)
