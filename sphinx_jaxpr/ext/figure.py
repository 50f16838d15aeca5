"""Blocks as HTML figures."""

from __future__ import annotations

from html import escape

from docutils import nodes

from ..program.noise import folds
from . import markup
from .definitions import as_html, links
from .html import Marks, code, equation_ids
from .nodes import jaxpr_figure, jaxpr_words
from .notes import Placed, as_list, marker
from .records import Block
from .shown import Shown


class Figures(Shown):
    """For builders that write HTML: one ``jaxpr_figure`` a block."""

    def shown(self) -> list[nodes.Node]:
        found: list[nodes.Node] = [*self.rest, *self.source()]
        for place, block in enumerate(self.blocks):
            caption = self.caption if place == 0 else None
            found.append(self.figure(block, caption))
            found.extend(as_list(self.notes_of(block), self.back))
        return [*found, *self.lost_notes()]

    def back(self, found: Placed) -> nodes.Node:
        """A link from a note to its equation."""
        assert found.block is not None
        printed = self.engine.printed(found.block)
        assert printed is not None
        identity = equation_ids(printed[0], self.id_of(found.block))[found.start]
        shown = nodes.literal(found.note.path, found.note.path)
        return nodes.reference("", "", shown, internal=True, refid=identity)

    def markers(self, block: Block) -> dict[int, str]:
        """For equations with notes: their numbered marks."""
        marks: dict[int, str] = {}
        for number, (found, _, identity) in enumerate(self.notes_of(block), 1):
            marks[found.start] = marks.get(found.start, "") + marker(number, escape(identity))
        return marks

    def figure(self, block: Block, caption: nodes.Element | None) -> jaxpr_figure:
        kind, opened, summary, body = self.parts(block)
        classes = " ".join(["jaxpr", *filter(None, [kind]), *self.gallery.classes])
        about = [*self.remarks(block), *filter(None, [self.arguments(block), self.version(block)])]
        figure = jaxpr_figure()
        figure["before"], figure["after"] = markup.figure(
            self.id_of(block),
            classes,
            opened=opened,
            summary=summary,
            body=body,
            about=about,
            has_caption=caption is not None,
        )
        if caption is not None:
            line = nodes.inline("", "", *caption.children)
            line["classes"].append("jaxpr-caption")
            figure += line
        figure += jaxpr_words("", nodes.Text(self.words(block)))
        return figure

    def parts(self, block: Block) -> tuple[str, bool, str, str]:
        """A class of its own, whether it starts open, the summary and what it folds."""
        summary = self.title(block)
        if self.is_skipped(block):
            message = markup.paragraph("Not traced: jaxpr_mode is skip.")
            return "jaxpr-skipped", True, summary, message
        error = self.error(block)
        if error is not None:
            kind = "jaxpr-raises" if self.is_expected(block) else "jaxpr-error"
            return kind, True, summary, markup.error(error)
        found = self.engine.printed(block)
        assert found is not None
        printed, facts = found
        summary += self.line(block)
        identity = self.id_of(block)
        page = self.engine.app.env.docname
        ids = equation_ids(printed, identity)
        known = self.engine.meanings.of_block(printed, facts, ids, page)
        marks = Marks(
            changes=self.matched(block).change,
            source=self.python(block),
            notes=self.markers(block),
            links=links(known, identity),
            folded=folds(printed) if self.elides_parameters() else (),
        )
        lines = code(printed, facts, identity, marks)
        body = markup.code(lines)
        body += as_html(known, identity, self.epub)
        return "", self.is_open(block, printed), summary, body

    def title(self, block: Block) -> str:
        """What the header begins with."""
        return markup.call(self.call(block))

    def python(self, block: Block) -> dict[int, tuple[int, str]]:
        """For equations of this function's own lines: the line, and where it is shown."""
        found = self.engine.printed(block)
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
    def lines_id(self) -> str:
        """What the ids of the lines of Python begin with."""
        return f"{self.id_of(self.gallery.blocks[0])}-line"

    def source(self) -> list[nodes.Node]:
        """The listing, with an id for each line."""
        found = super().source()
        known = self.source_of()
        for node in found:
            if isinstance(node, nodes.literal_block) and known is not None:
                numbered = {"linespans": self.lines_id, "linenostart": known["line"]}
                node["highlight_args"] = numbered
                node["linenos"] = True
        return found

    def line(self, block: Block) -> str:
        """The computed line of the header, and a legend where there are several phases."""
        return markup.computed(self.acted(block), self.phases(block))

    def words(self, block: Block) -> str:
        """The functions and primitives of a block, for the search; no letters or types."""
        found = None if self.is_skipped(block) else self.engine.printed(block)
        primitives = {equation.primitive for equation in found[0].walk()} if found else set()
        target = block.request.target.replace(":", ".") if block.request else ""
        return " ".join([*target.split("."), block.label, *sorted(primitives)])

    def arguments(self, block: Block) -> str:
        result = self.engine.result(block) or {}
        return ", ".join(f"{name}: {kind}" for name, kind in result.get("args", []))
