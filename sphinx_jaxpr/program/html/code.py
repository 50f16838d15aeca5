"""A printed program as HTML: lines, equations around them, folds around those.

The contract of the markup is in the reference; in short: the texts of the
``.jaxpr-line`` elements, joined by newlines, are JAX's text to the letter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from typing import Final, TypeAlias

from ..matching.match import KEPT
from ..model import (
    BINDER,
    KEYWORD,
    LITERAL,
    PARAMETER,
    PRIMITIVE,
    TYPE,
    USE,
    Equation,
    EquationFacts,
    Printed,
    Program,
    Token,
)
from ..text import plural
from .chunks import chunks
from .folding import Fold, Lines, Run
from .side_by_side import LINES, RUN, Column, RowItem

_CLASSES = {
    TYPE: "jaxpr-type",
    PRIMITIVE: "jaxpr-prim",
    KEYWORD: "jaxpr-kw",
    PARAMETER: "jaxpr-param",
    LITERAL: "jaxpr-lit",
}

#: The widest indentation that the markup names: the sum of the style sheet's powers of two.
DEEPEST: Final = 31

#: What a line that opens a nested program begins with.
_WORDS = (PARAMETER, KEYWORD)


@dataclass(frozen=True)
class Marks:
    """What a block says of its equations, each by its ``start``, outside of their text.

    ``changes``: how they differ from the base; empty for the base itself.
    ``source``: the line of Python that made them, and its address.
    ``notes``: the numbers of notes, as HTML.  ``links`` has for a primitive the
    attributes of a link to its meaning; ``folded`` are lines that start folded,
    ``runs`` neighbouring equations that do.  ``side`` has the row of each item
    where two programs are shown side by side.  ``names`` has those of the inputs, in order.
    For a book, whose reader breaks lines into pages, ``is_paged`` keeps a long program whole.
    """

    changes: dict[int, str] = field(default_factory=dict)
    source: dict[int, tuple[int, str]] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folded: Sequence[Fold] = ()
    runs: Sequence[Run] = ()
    side: Column | None = None
    names: Sequence[str] = ()
    is_paged: bool = False


NO_MARKS = Marks()


def code(
    printed: Printed, facts: dict[int, EquationFacts], block: str, marks: Marks = NO_MARKS
) -> str:
    """The lines of ``printed`` as HTML; ``block`` is the id of the figure."""
    return _Renderer(printed, facts, block, marks).render()


@lru_cache
def powers(number: int) -> str:
    """A number as the powers of two that it is the sum of: ``8 2``.

    A strict content security policy allows no inline style; from these words a style
    sheet with one rule for each power computes the number.
    """
    return " ".join(
        str(1 << bit) for bit in reversed(range(number.bit_length())) if number >> bit & 1
    )


def rows(item: RowItem | None) -> str:
    """The attributes that name the rows of an item; it spans one row unless they say more."""
    return _rows(item.row, item.span) if item else ""


def _rows(row: int, span: int) -> str:
    return f' data-row="{powers(row)}"' + (f' data-span="{powers(span)}"' if span > 1 else "")


@lru_cache
def _indent(width: int) -> str:
    """The attribute by which the style sheet hangs what wraps under its line."""
    return f' data-indent="{powers(min(width, DEEPEST))}"' if width else ""


def cell(item: RowItem) -> str:
    """The opening tag of a box for lines that belong to no single equation."""
    return f'<div class="jaxpr-cell"{rows(item)}>'


def gap(item: RowItem | None, tag: str = "div") -> str:
    """Where the other program has rows before an item, and this one none."""
    if item is None or not item.gap:
        return ""
    placed = _rows(item.row - item.gap, item.gap)
    return f'<{tag} class="jaxpr-gap" aria-hidden="true"{placed}></{tag}>'


def equation_ids(printed: Printed, block: str) -> dict[int, str]:
    """The id of every equation, by its ``start``.

    Position; in a nested program: position, index of the program among those
    of its equation as printed, position; in a shared one: ``let``, its index.
    """
    programs = [(program, f"{block}-let-{n}") for n, (_, program) in enumerate(printed.shared)]
    if printed.program is not None:
        programs.append((printed.program, block))
    todo = [(program, f"{stem}-eqn") for program, stem in programs]
    ids = {}
    while todo:
        program, stem = todo.pop()
        for index, equation in enumerate(program.equations):
            ids[equation.start] = identity = f"{stem}-{index}"
            todo.extend((inner, f"{identity}-{n}") for n, inner in enumerate(equation.programs))
    return ids


class _Renderer:
    def __init__(
        self,
        printed: Printed,
        facts: dict[int, EquationFacts],
        block: str,
        marks: Marks,
    ) -> None:
        self.marked = marks
        self.python_line = 0  # of the equation before, in printed order
        self.linked: set[str] = set()
        self.ids = equation_ids(printed, escape(block))
        self.text = printed.text
        self.printed = printed
        self.facts = facts
        self.phase = ""  # of the equation before, in printed order
        self.side = marks.side
        inputs = printed.program.inputs if printed.program is not None else ()
        self.names = {v.index: name for v, name in zip(inputs, marks.names, strict=False)}
        self.placed: dict[int, RowItem] = self.side.equations if self.side else {}
        self.bodies: dict[int, RowItem] = self.side.bodies if self.side else {}
        self.packed: dict[int, RowItem] = self.side.packed if self.side else {}
        self.line_numbers = Lines(self.text)
        self.starts = self.line_numbers.starts
        self.owned = self.line_numbers.owned(printed.walk())
        # Block markup goes between lines, inline markup at offsets inside them.
        self.before: dict[int, list[str]] = defaultdict(list)
        self.after: dict[int, list[str]] = defaultdict(list)
        self.inline: list[tuple[int, int, str]] = []  # start, end, opening tag
        self.heads: set[int] = set()  # lines in a summary, which holds no blocks
        self.begun: set[int] = set()  # lines at which a box for an equation's first lines begins
        self.run_starts = {run.starts[0]: run.text for run in marks.runs}
        self.run_ends = {run.starts[-1] for run in marks.runs}
        # Rows of one grid can't be in boxes of their own.
        is_cut = not marks.is_paged and self.side is None
        cut = (printed, self.line_numbers, self.owned, marks.folded, marks.runs)
        parts = chunks(*cut) if is_cut else ()
        self.chunk_starts = {(part.first, part.in_run): part.lines for part in parts}
        self.chunk_ends = {(part.last, part.in_run) for part in parts}

    def render(self) -> str:
        for _, program in self.printed.shared:
            self.fold(program)
            self.program(program)
        if self.printed.program is not None:
            self.program(self.printed.program)
        for chunk in self.side.chunks if self.side else ():
            if chunk.first not in self.begun:
                self.before[chunk.first].append(f"{gap(chunk)}{cell(chunk)}")
                self.after[chunk.last].append("</div>")
        for fold in self.marked.folded:
            names = escape(", ".join(fold.names))
            opening = f'<details class="jaxpr-more"><summary>{names}</summary>'
            self.before[fold.first].append(opening)
            self.after[fold.last].append("</details>")
        written = self.lines()
        if self.side is not None and self.side.gap:
            written += gap(RowItem(LINES, 0, 0, row=self.side.rows + 1, gap=self.side.gap))
        return written

    # -- structure

    def program(self, program: Program) -> None:
        todo: list[tuple[Program, bool]] = [(program, True)]
        while todo:
            current, foldable = todo.pop()
            inner: list[tuple[Program, bool]] = []
            for equation in current.equations:
                whole = self.equation(equation) and foldable
                inner.extend((nested, whole) for nested in equation.programs)
            # In printed order, so that an outer fold opens before an inner one.
            for nested, whole in reversed(inner):
                todo.append((nested, whole and self.fold(nested)))

    def equation(self, equation: Equation) -> bool:
        """Mark an equation; whether it has its lines for itself."""
        attributes = f' id="{self.ids[equation.start]}"'
        attributes += f' data-primitive="{_escaped(equation.primitive)}"'
        facts = self.facts.get(equation.start)
        phase = facts.phase if facts is not None else ""
        change = self.marked.changes.get(equation.start, "")
        attributes += f' data-phase="{_escaped(phase)}"' if phase else ""
        attributes += f' data-change="{_escaped(change)}"' if change else ""
        line, address = self.marked.source.get(equation.start, (0, ""))
        attributes += f' data-line="{line}"' if line else ""
        own = self.owned.get(equation.start)
        if own is not None:
            first, last = own
            self.chunk(equation, own, in_run=False)
            self.open_run(equation, first)
            self.close_run(equation, last)
            self.chunk(equation, own, in_run=True)
            self.open_equation(equation, first, last, attributes)
            self.before[first].append(self.marks(phase, change) + self.at(line, address))
            self.before[first].append(self.marked.notes.get(equation.start, ""))
            return True
        first = self.line_numbers.at(equation.start)
        self.before[first].append(self.marked.notes.get(equation.start, ""))
        end = min(equation.end, self.line_numbers.ends[first])
        self.inline.append((equation.start, end, f'<span class="jaxpr-eqn"{attributes}>'))
        return False

    def open_equation(self, equation: Equation, first: int, last: int, attributes: str) -> None:
        """Put a box around an equation; one with bodies has a box for its first lines too."""
        item = self.placed.get(equation.start)
        if item is None or item.kind == RUN:
            self.before[first].append(f'<div class="jaxpr-eqn"{attributes}>')
            self.after[last].append("</div>")
            return
        kinds = "jaxpr-eqn jaxpr-cell" + (" jaxpr-grid" if item.items else "")
        opening = f'<div class="{kinds}"{rows(item)}{attributes}>'
        self.before[first].append(gap(item) + opening)
        self.after[last].append("</div>")
        if item.items:
            self.before[first].append(cell(item.items[0]))
            self.after[item.items[0].last].append("</div>")
            self.begun.add(item.items[0].first)

    def chunk(self, equation: Equation, own: tuple[int, int], in_run: bool) -> None:
        """Begin and end a chunk, around folds of equations or in one."""
        lines = self.chunk_starts.get((equation.start, in_run))
        if lines is not None:
            opening = f'<div class="jaxpr-chunk" data-lines="{powers(lines)}">'
            self.before[own[0]].append(opening)
        if (equation.start, in_run) in self.chunk_ends:
            self.after[own[1]].append("</div>")

    def open_run(self, equation: Equation, line: int) -> None:
        """Begin a fold of equations; inside and after it, phase and line are repeated."""
        text = self.run_starts.get(equation.start)
        if text is not None:
            self.phase, self.python_line = "", 0
            width = equation.start - self.starts[line]
            item = self.placed.get(equation.start)
            kinds = "jaxpr-more jaxpr-elided" + (" jaxpr-cell" if item else "")
            opening = f'<details class="{kinds}"{rows(item)}>'
            opening += f"<summary{_indent(width)}>{escape(text)}</summary>"
            self.before[line].append(gap(item) + opening)

    def close_run(self, equation: Equation, line: int) -> None:
        """End it, behind the equation."""
        if equation.start in self.run_ends:
            self.phase, self.python_line = "", 0
            self.after[line].append("</details>")

    def marks(self, phase: str, change: str) -> str:
        """What colour and gutter say, as text: for screen readers, and where a phase begins."""
        new = phase and phase != self.phase
        self.phase = phase
        visible = f'<span class="jaxpr-phase">{_escaped(phase)}</span>' if new else ""
        spoken = (change if change != KEPT else "", phase if not new else "")
        text = ", ".join(filter(None, spoken))
        return visible + (f'<span class="jaxpr-spoken">{_escaped(text)}: </span>' if text else "")

    def at(self, line: int, address: str) -> str:
        """A link to the line of Python, where it is another one than before."""
        new = line and line != self.python_line
        self.python_line = line
        return f'<a class="jaxpr-at" href="#{escape(address)}">line {line}</a>' if new else ""

    def fold(self, program: Program) -> bool:
        """Make the body of a nested program foldable; the line that opens it is the summary."""
        lines = self.line_numbers.body(program)
        if lines is None:
            return True
        first, last = lines
        note = plural(len(program.equations), "equation")
        self.heads.add(first)
        item = self.bodies.get(program.start)
        kinds = "jaxpr-body" + (" jaxpr-cell jaxpr-grid" if item else "")
        opening = f'{gap(item)}<details class="{kinds}"{rows(item)} open=""><summary>'
        self.before[first].append(opening)
        self.after[first].append(f'<span class="jaxpr-note">{note}</span></summary>')
        self.after[last].append("</details>")
        return True

    # -- output

    def lines(self) -> str:
        """Each line as a ``pre``, which keeps its spaces everywhere.

        A summary can't contain one.  Its indentation goes into the word after it, since
        readers of HTML may drop spaces between two tags.
        """
        tokens, index = self.printed.tokens, 0
        count = len(tokens)
        inline = sorted(self.inline, key=lambda span: (span[0], -span[1]))
        cursor = 0
        written: list[str] = []
        for line, start in enumerate(self.starts):
            end = self.line_numbers.ends[line]
            in_summary = line in self.heads
            # Where tags of other kinds come between those of tokens:
            # (offset, order, -end or 0, markup, offset after), closing tags first.
            events: list[_Event] = []
            while cursor < len(inline) and inline[cursor][0] <= end:
                opens, closes, markup = inline[cursor]
                events.append((opens, 1, -closes, markup, opens))
                events.append((closes, 0, 0, "</span>", closes))
                cursor += 1
            item = self.packed.get(line)
            written += self.before.get(line, ())
            written.append(self.opening(line, item, bool(events)))
            events.extend(self.pieces(item))
            is_mixed, position = bool(events), start
            while index < count and (token := tokens[index])[0] < end:
                index += 1
                begin, stop, kind, _ = token
                if stop > end:
                    stop = end
                if in_summary and kind in _WORDS and begin <= self.line_numbers.ink(line)[0]:
                    begin = start
                markup = self.token(token, begin, stop, in_summary)
                if is_mixed:
                    events.append((begin, 2, 0, markup, stop))
                    continue
                if begin > position:
                    written.append(self.between(position, begin))
                written.append(markup)
                position = stop
            for begin, _, _, markup, stop in sorted(events):
                if begin > position:
                    written.append(self.between(position, begin))
                written.append(markup)
                position = stop
            if position < end:
                written.append(_escape(self.text[position:end]))
            written.append("</span>" if in_summary else "</pre>")
            # What was opened last closes first.
            if line in self.after:
                written += reversed(self.after[line])
        return "".join(written)

    def opening(self, line: int, item: RowItem | None, is_packed: bool) -> str:
        """The tag that begins a line."""
        tag = "span" if line in self.heads else "pre"
        printed = self.text[self.starts[line] : self.line_numbers.ends[line]]
        indent = _indent(len(printed) - len(printed.lstrip(" ")))
        if item is None:
            kinds = " jaxpr-packed" if is_packed else ""
            return f'<{tag} class="jaxpr-line{kinds}"{indent}>'
        kinds = (" jaxpr-packed" if is_packed else "") + " jaxpr-cell jaxpr-grid"
        return f'{gap(item)}<{tag} class="jaxpr-line{kinds}"{indent}{rows(item)}>'

    def pieces(self, item: RowItem | None) -> Iterator[_Event]:
        """Events of the pieces that a line is cut into, each around what is in it."""
        for piece in item.items if item else ():
            opening = f'<span class="jaxpr-piece jaxpr-cell"{rows(piece)}>'
            opening = gap(piece, "span") + opening
            yield (piece.start, 1, -len(self.text) - 1, opening, piece.start)
            yield (piece.end, 0, 1, "</span>", piece.end)

    def between(self, start: int, stop: int) -> str:
        """What is between two tokens."""
        text = self.text[start:stop]
        return _between(text) if stop - start <= SHORT else _escape(text)

    def token(self, token: Token, start: int, stop: int, in_summary: bool) -> str:
        text = self.text[start:stop]
        _, _, kind, variable = token
        if kind in _VARIABLES:
            if not text.isalnum():  # most are letters
                text = _escape(text)
            number = f' data-var="{variable}"' if variable >= 0 else ""
            if kind == USE:
                return f'<span class="jaxpr-var"{number}>{text}</span>'
            if name := self.names.get(variable):
                number += f' title="{escape(name)}"'
            return f'<span class="jaxpr-var jaxpr-binder"{number}>{text}</span>'
        if kind == PRIMITIVE and not in_summary:
            # A link in a summary would be in the way of its fold.
            link = self.marked.links.get(self.text[token.start : token.end])
            if link:
                # One stop for the keyboard per primitive: a long program has thousands of links.
                stop_here = "" if link not in self.linked else ' tabindex="-1"'
                self.linked.add(link)
                return f"<a {link}{stop_here}>{_escape(text)}</a>"
        return _span(kind, text) if len(text) <= SHORT else _span.__wrapped__(kind, text)


_Event: TypeAlias = tuple[int, int, int, str, int]
_VARIABLES: Final = frozenset({BINDER, USE})


# The same few texts come again and again, in one program and from one to the next; longer
# ones are not kept.

#: Longest text of which the markup is kept, in characters.
SHORT: Final = 60


def _escape(text: str) -> str:
    """A text between tags."""
    return escape(text, quote=False)


@lru_cache
def _escaped(text: str) -> str:
    return escape(text)


@lru_cache
def _between(text: str) -> str:
    """What is between two tokens."""
    # A primitive and its first parameter may part at the end of a line.
    return "[<wbr />" if text == "[" else _escape(text)


@lru_cache
def _span(kind: str, text: str) -> str:
    """A type, a primitive, a keyword, the name of a parameter or a literal."""
    return f'<span class="{_CLASSES[kind]}">{_escape(text)}</span>'
