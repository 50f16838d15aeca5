"""A printed program as HTML: lines, equations around them, folds around those.

The contract of the markup is in the reference; in short: the texts of the
``.jaxpr-line`` elements, joined by newlines, are JAX's text to the letter.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from ..program.match import KEPT
from ..program.model import (
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
from ..program.noise import Fold, Run

_CLASSES = {
    TYPE: "jaxpr-type",
    PRIMITIVE: "jaxpr-prim",
    KEYWORD: "jaxpr-kw",
    PARAMETER: "jaxpr-param",
    LITERAL: "jaxpr-lit",
}

#: What a line that opens a nested program begins with.
_WORDS = (PARAMETER, KEYWORD)


@dataclass(frozen=True)
class Marks:
    """What a block says of its equations, each by its ``start``, outside of their text.

    ``changes``: how they differ from the base; empty for the base itself.
    ``source``: the line of Python that made them, and its address.
    ``notes``: the numbers of notes, as HTML.  ``links`` has for a primitive the
    attributes of a link to its meaning; ``folded`` are lines that start folded,
    ``runs`` neighbouring equations that do.
    """

    changes: dict[int, str] = field(default_factory=dict)
    source: dict[int, tuple[int, str]] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folded: Sequence[Fold] = ()
    runs: Sequence[Run] = ()


NO_MARKS = Marks()


def code(
    printed: Printed, facts: dict[int, EquationFacts], block: str, marks: Marks = NO_MARKS
) -> str:
    """The lines of ``printed`` as HTML; ``block`` is the id of the figure."""
    return _Renderer(printed, facts, block, marks).render()


def equation_ids(printed: Printed, block: str) -> dict[int, str]:
    """The id of every equation, by its ``start``.

    Position; in a nested program: position, index of the program among those
    of its equation as printed, position; in a shared one: ``let``, its index.
    """
    programs = [(program, f"{block}-let-{n}") for n, (_, program) in enumerate(printed.shared)]
    if printed.program is not None:
        programs.append((printed.program, block))
    todo = [(program, f"{stem}-eqn") for program, stem in programs]
    found = {}
    while todo:
        program, stem = todo.pop()
        for place, equation in enumerate(program.equations):
            found[equation.start] = identity = f"{stem}-{place}"
            todo.extend((inner, f"{identity}-{n}") for n, inner in enumerate(equation.programs))
    return found


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
        self.ids = equation_ids(printed, block)
        self.text = printed.text
        self.printed = printed
        self.facts = facts
        self.phase = ""  # of the equation before, in printed order
        self.starts = [0]
        for place, character in enumerate(self.text):
            if character == "\n":
                self.starts.append(place + 1)
        # Block markup goes between lines, inline markup at offsets inside them.
        self.before: dict[int, list[str]] = defaultdict(list)
        self.after: dict[int, list[str]] = defaultdict(list)
        self.inline: list[tuple[int, int, str]] = []  # start, end, opening tag
        self.heads: set[int] = set()  # lines in a summary, which holds no blocks
        self.run_starts = {run.starts[0]: run.text for run in marks.runs}
        self.run_ends = {run.starts[-1] for run in marks.runs}

    def render(self) -> str:
        for _, program in self.printed.shared:
            self.fold(program)
            self.program(program)
        if self.printed.program is not None:
            self.program(self.printed.program)
        for fold in self.marked.folded:
            names = escape(", ".join(fold.names))
            opening = f'<details class="jaxpr-more"><summary>{names}</summary>'
            self.before[fold.first].append(opening)
            self.after[fold.last].append("</details>")
        return "".join(self.lines())

    # -- structure

    def line_of(self, offset: int) -> int:
        return bisect_right(self.starts, offset) - 1

    def line_end(self, line: int) -> int:
        following = line + 1
        return self.starts[following] - 1 if following < len(self.starts) else len(self.text)

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
        attributes = f' id="{escape(self.ids[equation.start])}"'
        attributes += f' data-primitive="{escape(equation.primitive)}"'
        known = self.facts.get(equation.start)
        phase = known.phase if known is not None else ""
        change = self.marked.changes.get(equation.start, "")
        attributes += f' data-phase="{escape(phase)}"' if phase else ""
        attributes += f' data-change="{escape(change)}"' if change else ""
        line, address = self.marked.source.get(equation.start, (0, ""))
        attributes += f' data-line="{line}"' if line else ""
        first, last = self.line_of(equation.start), self.line_of(max(equation.end - 1, 0))
        around = self.text[self.starts[first] : equation.start]
        around += self.text[equation.end : self.line_end(last)]
        if not around.strip():
            self.open_run(equation, first)
            self.before[first].append(f'<div class="jaxpr-eqn"{attributes}>')
            self.before[first].append(self.marks(phase, change) + self.at(line, address))
            self.before[first].append(self.marked.notes.get(equation.start, ""))
            self.close_run(equation, last)
            self.after[last].append("</div>")
            return True
        self.before[first].append(self.marked.notes.get(equation.start, ""))
        end = min(equation.end, self.line_end(first))
        self.inline.append((equation.start, end, f'<span class="jaxpr-eqn"{attributes}>'))
        return False

    def open_run(self, equation: Equation, line: int) -> None:
        """Begin a fold of equations; in it, as behind it, phase and line are said anew."""
        text = self.run_starts.get(equation.start)
        if text is not None:
            self.phase, self.python_line = "", 0
            width = equation.start - self.starts[line]
            opening = f'<details class="jaxpr-more jaxpr-elided"><summary style="--i:{width}">'
            self.before[line].append(f"{opening}{escape(text)}</summary>")

    def close_run(self, equation: Equation, line: int) -> None:
        """End it, behind the equation."""
        if equation.start in self.run_ends:
            self.phase, self.python_line = "", 0
            self.after[line].append("</details>")

    def marks(self, phase: str, change: str) -> str:
        """What colour and gutter say, as text: for screen readers, and where a phase begins."""
        new = phase and phase != self.phase
        self.phase = phase
        shown = f'<span class="jaxpr-phase">{escape(phase)}</span>' if new else ""
        spoken = (change if change != KEPT else "", phase if not new else "")
        text = ", ".join(word for word in spoken if word)
        return shown + (f'<span class="jaxpr-spoken">{escape(text)}: </span>' if text else "")

    def at(self, line: int, address: str) -> str:
        """A link to the line of Python, where it is another one than before."""
        new = line and line != self.python_line
        self.python_line = line
        return f'<a class="jaxpr-at" href="#{escape(address)}">line {line}</a>' if new else ""

    def fold(self, program: Program) -> bool:
        """Make the body of a nested program foldable, where it has lines of its own.

        The line that opens it is the summary (of a header over several lines
        the first); the line that closes it stays in sight, so that a folded
        program still says what it returns.
        """
        first, head = self.line_of(program.start), self.line_of(max(program.header_end - 1, 0))
        last = self.line_of(max(program.end - 1, 0))
        if last - head < 2:
            return True
        count = len(program.equations)
        note = f"{count} equation{'' if count == 1 else 's'}"
        self.heads.add(first)
        self.before[first].append('<details class="jaxpr-body" open=""><summary>')
        self.after[first].append(f'<span class="jaxpr-note">{note}</span></summary>')
        self.after[last - 1].append("</details>")
        return True

    # -- output

    def lines(self) -> Iterator[str]:
        """Each line as a ``pre``, which keeps its spaces everywhere.

        A summary can't hold one.  Its indentation goes into the word behind it, since
        readers of HTML may drop spaces between two tags.
        """
        tokens = iter(self.printed.tokens)
        token = next(tokens, None)
        inline = sorted(self.inline, key=lambda span: (span[0], -span[1]))
        cursor = 0
        for line, start in enumerate(self.starts):
            end = self.line_end(line)
            # (offset, order, -end or 0, markup, offset after): closing tags come first
            events: list[tuple[int, int, int, str, int]] = []
            tag = "span" if line in self.heads else "pre"
            while token is not None and token.start < end:
                stop = min(token.end, end)
                begin = token.start
                if tag == "span" and token.kind in _WORDS and self.is_blank(start, begin):
                    begin = start
                events.append((begin, 2, 0, self.token(token, begin, stop, tag == "span"), stop))
                token = next(tokens, None)
            packed = False
            while cursor < len(inline) and inline[cursor][0] <= end:
                opens, closes, markup = inline[cursor]
                events.append((opens, 1, -closes, markup, opens))
                events.append((closes, 0, 0, "</span>", closes))
                cursor += 1
                packed = True
            yield from self.before.get(line, ())
            yield f'<{tag} class="jaxpr-line{" jaxpr-packed" if packed else ""}"'
            yield self.indentation(start, end)
            position = start
            for offset, _, _, markup, after in sorted(events):
                between = self.text[position:offset]
                # A primitive and its first parameter may part at the end of a line.
                yield "[<wbr />" if between == "[" else escape(between, quote=False)
                yield markup
                position = after
            yield escape(self.text[position:end], quote=False)
            yield f"</{tag}>"
            # What was opened last closes first.
            yield from reversed(self.after.get(line, ()))

    def indentation(self, start: int, end: int) -> str:
        """The end of a line's tag; the style sheet hangs what it wraps under the line."""
        line = self.text[start:end]
        width = len(line) - len(line.lstrip(" "))
        return f' style="--i:{width}">' if width else ">"

    def is_blank(self, start: int, end: int) -> bool:
        return start < end and not self.text[start:end].strip()

    def token(self, token: Token, start: int, stop: int, in_summary: bool) -> str:
        shown = escape(self.text[start:stop], quote=False)
        if token.kind in (BINDER, USE):
            kind = "jaxpr-var jaxpr-binder" if token.kind == BINDER else "jaxpr-var"
            number = f' data-var="{token.variable}"' if token.variable >= 0 else ""
            return f'<span class="{kind}"{number}>{shown}</span>'
        # A link in a summary would be in the way of its fold.
        link = self.marked.links.get(self.text[token.start : token.end]) if not in_summary else None
        if token.kind == PRIMITIVE and link:
            # One stop for the keyboard per primitive: a long program has thousands of links.
            stop_here = "" if link not in self.linked else ' tabindex="-1"'
            self.linked.add(link)
            return f"<a {link}{stop_here}>{shown}</a>"
        return f'<span class="{_CLASSES[token.kind]}">{shown}</span>'
