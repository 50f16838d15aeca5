"""Blocks as standard nodes, for every builder that does not write HTML."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from docutils import nodes

from ...program.model import Printed
from ...program.text import on_one_line
from ...tracing.result import TraceError, error_parts
from ..judging.path_targets import PathTarget
from ..locale import _
from ..records import Block
from .block import MOST_DROPPED, BlockRenderer, as_list, only_in_base

if TYPE_CHECKING:
    from ...block import TracedBlock

#: A word longer than this can leave a printed page's margin.
LONG_WORD: Final = 70
#: Paged formats, in which programs are cut at a limit.
PAGED: Final = ("latex", "texinfo")


class NodeRenderer(BlockRenderer):
    """A heading line and a captioned listing for each block."""

    def render(self) -> list[nodes.Node]:
        """Headings and listings with their notes; the first has the caption."""
        body: list[nodes.Node] = [*self.rest, *self.source()]
        for index, block in enumerate(self.blocks):
            body.extend(self.begin(block))
            content = self.content(block)
            self.figures.append((block, content[0]))
            body.extend(self.captioned(content, self.caption if index == 0 else None))
            body.extend(self.notes(block))
        body.extend(self.lost_notes())
        return self.in_tex(body) if self.rendering.format == "latex" else body

    def content(self, block: Block) -> list[nodes.Element]:
        """The program of a block, its error, or a placeholder."""
        if self.is_skipped:
            return [nodes.paragraph("", _("Not traced: jaxpr_mode is skip."))]
        error = self.error(block)
        if error is not None:
            return _error_nodes(error, self.traced[block.identity].is_expected)
        return self.listing(block)

    def begin(self, block: Block) -> list[nodes.Node]:
        """The heading line, with the target for links to the block."""
        heading = self.heading(block)
        if self.rendering.format == "latex" and isinstance(heading[0], nodes.literal_block):
            # Sphinx moves a target before a listing to the listing, which then has the id.
            heading[0]["ids"].append(block.identity)
            return heading
        return [nodes.target("", "", ids=[block.identity]), *heading]

    def notes(self, block: Block) -> list[nodes.Node]:
        """The notes of a block; in paged formats the block links to each."""
        notes = self.own_notes[block.identity]
        rows = as_list(notes, self.where)
        if not rows or self.rendering.format not in PAGED:
            return rows
        line = nodes.paragraph("", _("Notes: "))
        items = rows[0].findall(nodes.list_item)
        pairs = zip(items, notes, strict=False)
        for number, (item, (target, _node, identity)) in enumerate(pairs, 1):
            # Neither format can link to an item.
            item["ids"].remove(identity)
            next(item.findall(nodes.paragraph)).insert(0, nodes.target("", "", ids=[identity]))
            line += nodes.Text(", " if number > 1 else "")
            name = _letters(self.traced[block.identity], target)
            line += [nodes.literal(name, name), nodes.Text(" (")]
            line += nodes.reference("", str(number), internal=True, refid=identity)
            line += nodes.Text(")")
        line += nodes.Text(".")
        return [line, *rows]

    def where(self, target: PathTarget) -> nodes.Node:
        """The equation of a note: its letters, linked to the block, and the path."""
        assert target.block is not None
        name = _letters(self.traced[target.block.identity], target)
        link = nodes.reference("", "", nodes.literal(name, name), internal=True)
        link["refid"] = target.block.identity
        return nodes.inline("", "", link, nodes.Text(f" ({target.note.path})"))

    def heading(self, block: Block) -> list[nodes.Node]:
        """The call, how the transform acted, remarks and version."""
        call = on_one_line(self.call(block))
        line = nodes.paragraph()
        heading: list[nodes.Node] = [line]
        if _has_long_word(call):
            heading = [nodes.literal_block(call, call, language="python", translatable=False), line]
        else:
            line += nodes.literal(call, call)
        header = map(_ascii, self.traced[block.identity].header_words)
        about = [*header, *self.remarks(block), self.version(block)]
        # In a paragraph, a blank line would end it within TeX's argument.
        text = on_one_line("; ".join(filter(None, about)))
        if text:
            line += nodes.Text(f" - {text}" if len(heading) == 1 else text)
        heading = heading if line.children else heading[:1]
        if context := self.context(block):
            heading = [nodes.paragraph("", "", nodes.literal(context, context)), *heading]
        return heading

    def listing(self, block: Block) -> list[nodes.Element]:
        """The text of a program, with the information that HTML shows by colours and folds."""
        printed = self.traced[block.identity].printed
        end, rest = len(printed.text), 0
        if self.rendering.format in PAGED:
            end, rest = _cut(printed, self.rendering.settings.max_equations)
        text = printed.text[:end]
        body: list[nodes.Element] = [
            nodes.literal_block(text, text, language="jaxpr", translatable=False)
        ]
        if marks := self.marks(block):
            text = ". ".join(f"{mark.capitalize()}: {letters}" for mark, letters in marks)
            text = on_one_line(text)
            body.append(nodes.paragraph("", f"{text}."))
        body.extend(self.only_in_base(block))
        if rest:
            single = _("... and 1 more equation, shown in HTML.")
            several = _("... and {count} more equations, shown in HTML.").format(count=rest)
            body.append(nodes.paragraph("", single if rest == 1 else several))
        return body

    def only_in_base(self, block: Block) -> list[nodes.Element]:
        """The equations of the base that this block lacks."""
        dropped = self.traced[block.identity].dropped
        if not dropped:
            return []
        line = nodes.paragraph("", only_in_base())
        for index, equation in enumerate(dropped[:MOST_DROPPED]):
            text = on_one_line(str(equation))
            line += [nodes.Text(", ")] if index else []
            line += nodes.literal(text, text)
        more = len(dropped) - MOST_DROPPED
        line += nodes.Text(_(", and {count} more.").format(count=more) if more > 0 else ".")
        return [line]

    def captioned(
        self, body: list[nodes.Element], caption: nodes.Element | None
    ) -> list[nodes.Element]:
        """``body`` with the caption, as Sphinx captions a listing."""
        if caption is None:
            return body
        # Sphinx's text writer prints a caption in a table letter by letter.
        if self.rendering.format == "latex" or not self.in_table:
            for index, node in enumerate(body):
                if isinstance(node, nodes.literal_block):
                    box = nodes.container("", literal_block=True, classes=["literal-block-wrapper"])
                    box += [caption, node]
                    return [*body[:index], box, *body[index + 1 :]]
        return [nodes.paragraph("", "", *caption.children), *body]

    def in_tex(self, body: list[nodes.Node]) -> list[nodes.Node]:
        """``body`` with TeX's definitions of its letters, and places for line breaks."""
        listings = [listing for node in body for listing in node.findall(nodes.literal_block)]
        if any(_has_long_word(listing.astext()) for listing in listings):
            body = [
                nodes.raw("", BREAK_ANYWHERE, format="latex"),
                *body,
                nodes.raw("", END, format="latex"),
            ]
        if self.rendering.latex_engine == NARROW_ENGINE:
            text = "".join(node.astext() for node in body if not isinstance(node, nodes.raw))
            definitions = letter_definitions(text)
            if definitions:
                body.insert(0, nodes.raw("", definitions, format="latex"))
        return body


def _ascii(text: str) -> str:
    """Replace signs that pdflatex and plain terminals may lack."""
    return text.replace("\u2192", "to").replace("\u00d7", "x")


def _has_long_word(text: str) -> bool:
    return any(len(word) > LONG_WORD for word in re.findall(r"\S+", text))


def _cut(printed: Printed, limit: int) -> tuple[int, int]:
    """Where to end the text after ``limit`` equations, and how many are left out.

    Shared programs and bodies count as printed.
    """
    starts = [equation.start for equation in printed.walk()]
    if len(starts) <= limit:
        return len(printed.text), 0
    end = printed.text.rfind("\n", 0, sorted(starts)[limit])
    return max(end, 0), len(starts) - limit


def _error_nodes(error: TraceError, expected: bool) -> list[nodes.Element]:
    headline, detail = error_parts(error)
    if expected:
        text = f"{headline}\n{detail}".strip()
        return [nodes.literal_block(text, text, language="none", translatable=False)]
    box = nodes.error("", nodes.paragraph("", on_one_line(headline)))
    if detail:
        box += nodes.literal_block(detail, detail, language="none", translatable=False)
    return [box]


# --- TeX for text that is not the author's: line breaks, and letters that it lacks

#: Lets TeX break a word that is longer than the line.
BREAK_ANYWHERE: Final = r"\begingroup\sphinxsetup{verbatimforcewraps=true}"
END: Final = r"\endgroup"

#: The engine that knows only letters with a definition.
NARROW_ENGINE: Final = "pdflatex"

# Names that differ between TeX and Unicode.
_GREEK: Final = {"LAMDA": "lambda", "FINAL SIGMA": "varsigma", "OMICRON": "mathit{o}"}
# Greek capitals that TeX takes from the Latin alphabet.
_LATIN: Final = {
    "ALPHA": "A", "BETA": "B", "EPSILON": "E", "ZETA": "Z", "ETA": "H", "IOTA": "I", "KAPPA": "K",
    "MU": "M", "NU": "N", "OMICRON": "O", "RHO": "P", "TAU": "T", "CHI": "X",
}  # fmt: skip


def letter_definitions(text: str) -> str:
    """TeX that defines the letters of ``text`` that pdfTeX lacks.

    Definitions of the document itself take precedence.
    """
    letters = sorted({letter for letter in text if ord(letter) > 0xFF})
    if not letters:
        return ""
    # No macro and no @, since a table may have read this text before TeX obeys it.
    lines = []
    for letter in letters:
        name = rf"\csname u8:\detokenize{{{letter}}}\endcsname"
        lines.append(
            rf"\expandafter\ifx{name}\relax\expandafter\gdef{name}{{{_shape(letter)}}}\fi%"
        )
    return "\n".join(lines)


def _shape(letter: str) -> str:
    """A letter in TeX: Greek as in mathematics, any other by its number."""
    name = unicodedata.name(letter, "").rpartition(" LETTER ")[2]
    if 0x3B1 <= ord(letter) <= 0x3C9:
        return rf"\ensuremath{{\{_GREEK.get(name, name.lower())}}}"
    if 0x391 <= ord(letter) <= 0x3A9 and name:
        capital = rf"\ensuremath{{\{_GREEK.get(name, name.lower()).capitalize()}}}"
        return _LATIN.get(name, capital)
    return rf"\mbox{{[U+{ord(letter):04X}]}}"


def _letters(block: TracedBlock, target: PathTarget) -> str:
    """How to name an equation on paper: the letters that it binds, or its primitive."""
    for equation in block.printed.walk():
        if equation.start == target.start:
            return " ".join(v.name for v in equation.outputs) or equation.primitive
    return target.note.path
