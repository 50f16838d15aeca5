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
from ...program.matching.summary import in_words
from ...tracing.outcome import error_parts
from ..judging.path_targets import PathTarget
from ..locale import _
from ..nodes import jaxpr_figure, jaxpr_source, jaxpr_words
from ..records import Block
from .block import BlockRenderer, free, only_in_base
from .notes import as_list, marker

# --- blocks as HTML figures


@dataclass(frozen=True)
class Look:
    """How a figure differs from one that stands alone.

    ``identity`` is its id, ``side`` has its rows beside another one, ``opened``
    says how it starts; a ``copy`` of a figure that the page has already repeats no notes,
    and says what it is ``beside``.
    ``before`` and ``after`` is the markup around it.
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

    def shown(self) -> list[nodes.Node]:
        found: list[nodes.Node] = [*self.rest, *self.source()]
        for place, block in enumerate(self.blocks):
            caption = self.caption if place == 0 else None
            found.append(self.figure(block, caption))
            found.extend(as_list(self.notes_of(block), self.back))
        return [*found, *self.lost_notes()]

    def back(self, found: PathTarget) -> nodes.Node:
        """A link from a note to its equation."""
        assert found.block is not None
        printed = self.session.printed(found.block)
        assert printed is not None
        identity = equation_ids(printed[0], self.id_of(found.block))[found.start]
        shown = nodes.literal(found.note.path, found.note.path)
        return nodes.reference("", "", shown, internal=True, refid=identity)

    def markers(self, block: Block) -> dict[int, str]:
        """For equations with notes: their numbered marks."""
        marks: dict[int, str] = {}
        for number, (found, _node, identity) in enumerate(self.notes_of(block), 1):
            marks[found.start] = marks.get(found.start, "") + marker(number, escape(identity))
        return marks

    def figure(
        self, block: Block, caption: nodes.Element | None, look: Look = ALONE
    ) -> jaxpr_figure:
        kind, opened, summary, body = self.parts(block, look)
        classes = " ".join(["jaxpr", *filter(None, [kind]), *self.directive.classes])
        about = [*self.remarks(block), *filter(None, [self.arguments(block), self.version(block)])]
        placed = f' data-rows="{powers(look.side.rows)}"' if look.side else ""
        source = f' data-source="{escape(self.source_id)}"' if self.python(block) else ""
        before, after = markup.figure(
            look.identity or self.id_of(block),
            classes,
            placed + source,
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
            figure += jaxpr_words("", nodes.Text(self.words(block)))
        self.figures.append((block, figure))
        return figure

    def parts(self, block: Block, look: Look) -> tuple[str, bool, str, str]:
        """A class of its own, whether it starts open, the summary and what it folds."""
        summary = self.title(block)
        if self.is_skipped(block):
            message = markup.paragraph(_("Not traced: jaxpr_mode is skip."))
            return "jaxpr-skipped", True, summary, message
        error = self.error(block)
        if error is not None:
            kind = "jaxpr-raises" if self.is_expected(block) else "jaxpr-error"
            return kind, True, summary, markup.error(*error_parts(error))
        found = self.session.printed(block)
        assert found is not None
        printed, facts = found
        summary += self.line(block) + markup.beside(look.beside, _("(beside {label})"))
        identity = look.identity or self.id_of(block)
        page = self.session.app.env.docname
        ids = equation_ids(printed, identity)
        known = self.session.meanings.of_block(printed, facts, ids, page)
        if not look.copy:
            self.explained.add(known, identity, block.label)
        marks = Marks(
            changes=self.matched(block).change,
            source=self.python(block),
            notes=self.markers(block) if not look.copy else {},
            links=links(known, self.session.defined),
            folded=folds(printed) if self.elides_parameters() else (),
            runs=self.runs(block),
            side=look.side,
            names=self.input_names(block),
        )
        lines = code(printed, facts, identity, marks)
        body = markup.code(lines)
        if look.side is None:  # else the base stands beside it
            body += self.only_in_base(block)
        opened = self.is_open(block, printed) if look.opened is None else look.opened
        return "", opened, summary, body

    @cached_property
    def explained(self) -> Explained:
        return Explained(self.session.defined)

    def closing(self) -> list[nodes.Node]:
        """What the primitives of all blocks do, once."""
        found = self.explained.as_html(self.epub, _("What the primitives do"))
        # Not as raw HTML, which the search would take for words of the page.
        return [jaxpr_figure("", before=found, after="")] if found else []

    def runs(self, block: Block) -> list[Run]:
        """Neighbouring equations that are folded together; in a book nothing may be."""
        found = self.session.printed(block)
        return runs(found[0], self.elided(block)) if found and not self.epub else []

    def only_in_base(self, block: Block) -> str:
        """The equations that the base has and this block lacks, each a link where it is shown."""
        gone, more = self.dropped(block)
        base = self.directive.blocks[0]
        found = self.session.printed(base)
        if not gone or found is None:
            return ""
        ids = equation_ids(found[0], self.id_of(base)) if base.shown else {}
        listed = []
        for equation in gone:
            said = f"<code>{escape(in_words(equation))}</code>"
            link = f'<a href="#{escape(ids[equation.start])}">{said}</a>' if ids else said
            listed.append(link)
        rest = [escape(_("and {count} more").format(count=more))] if more else []
        return f'<p class="jaxpr-dropped">{only_in_base()}{", ".join([*listed, *rest])}</p>\n'

    def title(self, block: Block) -> str:
        """What the header begins with."""
        return markup.context(self.context(block)) + markup.call(self.call(block))

    def python(self, block: Block) -> dict[int, tuple[int, str]]:
        """For equations of this function's own lines: the line, and where it is shown."""
        found = self.session.printed(block)
        source = self.source_of()
        if found is None or source is None:
            return {}
        first, count = source["line"], source["text"].count("\n") + 1
        lines = {}
        for start, known in found[1].items():
            if known.source and known.source[0] == source["file"]:
                line = known.source[1]
                if first <= line < first + count:
                    lines[start] = (line, f"{self.lines_id}-{line}")
        return lines

    @property
    def source_id(self) -> str:
        """What connects the listing of Python with the figures."""
        return self.id_of(self.directive.blocks[0])

    @property
    def lines_id(self) -> str:
        """What the ids of the lines of Python begin with."""
        return f"{self.source_id}-line"

    def source(self) -> list[nodes.Node]:
        """The listing; a line has an id, and its number leads to what it made."""
        found = super().source()
        known = self.source_of()
        if not found or known is None:
            return found
        listing = found[0]
        assert isinstance(listing, nodes.literal_block)
        first, last = known["line"], known["line"] + known["text"].count("\n")
        listing["highlight_args"] = {"linespans": self.lines_id, "linenostart": first}
        made, width = self.made(), len(str(last))
        numbers = {
            f"{self.lines_id}-{line}": self.number(line, width, made.get(line, []))
            for line in range(first, last + 1)
        }
        return [jaxpr_source("", listing, source=self.source_id, lines=numbers)]

    def number(self, line: int, width: int, made: list[str]) -> str:
        """The begin of a line of Python, as HTML; ``made`` are the ids of its equations."""
        identity, number = f'id="{escape(self.lines_id)}-{line}"', str(line).rjust(width)
        if not made:
            return f'<span {identity}><span class="linenos">{number}</span>'
        single, several = _("line {line}: 1 equation"), _("line {line}: {count} equations")
        label = (single if len(made) == 1 else several).format(line=line, count=len(made))
        # Themes give the number its margin as a span.
        link = f'<a href="#{escape(made[0])}" aria-label="{escape(label)}">{number}</a>'
        return f'<span {identity} data-line="{line}"><span class="linenos">{link}</span>'

    def made(self) -> dict[int, list[str]]:
        """For lines of Python the ids of the equations that they made, as shown."""
        found: dict[int, list[str]] = {}
        for block in self.blocks:
            lines = self.python(block)
            printed = self.session.printed(block) if lines else None
            if printed is not None:
                ids = equation_ids(printed[0], self.id_of(block))
                for start, (line, _) in sorted(lines.items()):
                    found.setdefault(line, []).append(ids[start])
        return found

    def line(self, block: Block) -> str:
        """The computed line of the header, and a legend where there are several phases."""
        return markup.computed(self.acted(block), self.phases(block))

    def words(self, block: Block) -> str:
        """The functions and primitives of a block, for the search; no letters or types."""
        found = None if self.is_skipped(block) else self.session.printed(block)
        primitives = {equation.primitive for equation in found[0].walk()} if found else set()
        target = block.request.target.replace(":", ".") if block.request else ""
        return " ".join([*target.split("."), block.label, *sorted(primitives)])

    def input_names(self, block: Block) -> tuple[str, ...]:
        """JAX's own name of each input: ``params['w']``."""
        from ...program.facts import names_of

        result, found = self.session.result(block), self.session.printed(block)
        if result is None or found is None or found[0].program is None:
            return ()
        return names_of(result, len(found[0].program.inputs)).leaves

    def arguments(self, block: Block) -> str:
        result = self.session.result(block) or {}
        return ", ".join(f"{name}: {kind}" for name, kind in result.get("args", []))


# --- ``layout: compare``: each variant beside the base, what was matched on one row

_BEFORE = '<div class="jaxpr-compare">\n'
_AFTER = "</div>\n"


class CompareRenderer(HtmlRenderer):
    """The base is shown once for each variant: first under its own id, then as a copy."""

    def shown(self) -> list[nodes.Node]:
        base, *variants = self.directive.blocks
        if self.epub or not variants or self.session.printed(base) is None:
            return super().shown()
        found: list[nodes.Node] = [*self.rest, *self.source()]
        self.caption_left = self.caption
        self.base_shown = False
        pairs = [block for block in variants if self.session.printed(block) is not None]
        if not pairs:
            found += self.once(base)
        for block in variants:
            found += self.pair(base, block) if block in pairs else [self.figure(block, None)]
            found += as_list(self.notes_of(block), self.back)
        return [*found, *self.lost_notes()]

    def once(self, base: Block, look: Look | None = None) -> list[nodes.Node]:
        """The base under its own id, with the caption; its notes follow the pair."""
        self.base_shown = True
        caption, self.caption_left = self.caption_left, None
        found: list[nodes.Node] = [self.figure(base, caption, look or Look())]
        return found if look else [*found, *as_list(self.notes_of(base), self.back)]

    def pair(self, base: Block, block: Block) -> list[nodes.Node]:
        """Two figures in one box."""
        left, right = self.sides(base, block)
        one, two = self.session.printed(base), self.session.printed(block)
        assert one is not None and two is not None
        opened = self.is_open(block, two[0])
        wide = self.is_open(base, one[0]) or opened
        beside = Look(side=right, opened=opened, after=_AFTER)
        if self.base_shown:
            identity = free(f"{self.id_of(block)}-base", self.taken)
            look = Look(identity, left, wide, copy=True, beside=block.label, before=_BEFORE)
            return [self.figure(base, None, look), self.figure(block, None, beside)]
        first = self.once(base, Look(side=left, opened=wide, before=_BEFORE))
        notes = as_list(self.notes_of(base), self.back)
        return [*first, self.figure(block, None, beside), *notes]

    def sides(self, base: Block, block: Block) -> tuple[Column | None, Column | None]:
        """The rows of both programs, where their lines can be put into rows."""
        one, two = self.session.printed(base), self.session.printed(block)
        if one is None or two is None or not (one[0].program and two[0].program):
            return None, None
        try:
            sides = Column(one[0], self.runs(base)), Column(two[0], self.runs(block))
            aligned = align(*sides, self.matched(block))
        except Unaligned:
            aligned = False
        return sides if aligned else (None, None)
