"""JAX's printed text of a jaxpr -> :class:`Printed`, without loss.

The text alone is read, so the version of JAX that printed it does not matter,
and a pasted jaxpr works as well as a traced one.  An equation that isn't
understood stays plain text; the ones around it do not suffer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Final, TypeVar

from ..model import (
    BINDER,
    KEYWORD,
    LITERAL,
    PARAMETER,
    PRIMITIVE,
    TYPE,
    USE,
    Equation,
    Operand,
    Parameter,
    Printed,
    Program,
    Token,
    Variable,
)
from ..text import expect
from . import patterns
from .values import HeldProgram, ValueReader

# JAX calls each dropped value "_", and prints a use of one if a call drops what
# its program returns.  Only one such value in a program says which one is meant.
_ANY: Final = Variable(-1, "_", "")

_T = TypeVar("_T")

# Most of what a text consists of; a third of the time that ``Token(...)`` takes.
_token: Final[Callable[[tuple[int, int, str, int]], Token]] = partial(tuple.__new__, Token)
_operand: Final[Callable[[tuple[int, int, str, Variable | None, str]], Operand]] = partial(
    tuple.__new__, Operand
)

#: Programs nested deeper than this stay opaque text.
MAX_DEPTH = 1000

# Asks for the program at a position; is sent it, or None where there is none.
_Asks = Generator[int, Program | None, _T | None]


def parse(text: str) -> Printed:
    """Read what ``str(jaxpr)`` printed, in the style of any JAX since 0.4.30.

    No text is refused: what cannot be read stays plain text.  ``Printed.program`` is
    ``None`` where there is no jaxpr at all.  Raises :exc:`TypeError` for what is not a
    text, and nothing else.

    >>> printed = parse("{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }")
    >>> printed
    <Printed program of 1 equation, 52 characters>
    >>> printed.program.equations
    (<Equation b = tanh a>,)
    >>> printed.text_of(printed.program.equations[0])
    'b:f32[8] = tanh a'
    >>> parse("no jaxpr")
    <Printed text of 8 characters, without a program>
    """
    expect(text, str, "the text of a jaxpr")
    match = patterns.START.search(text)
    if match is None:
        return Printed(text, None, (), ())
    parser = _Parser(text, shared=match[1] is not None)
    shared: list[tuple[str, Program]] = []
    position = match.start()
    while let := patterns.LET.match(text, position):
        parser.tokens.append(Token(*let.span(1), KEYWORD))
        program = parser.run(let.end())
        if program is None:
            break
        shared.append((let[2], program))
        position = program.end
        if end := patterns.LET_IN.match(text, position):
            parser.tokens.append(Token(*end.span(1), KEYWORD))
            position = end.end()
    position = skip(patterns.GAP, text, position)
    program = parser.run(position)
    if program is None and not shared:
        return Printed(text, None, (), ())
    return Printed(text, program, tuple(shared), tuple(parser.tokens), tuple(parser.local))


def skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    """The end of what ``pattern`` matches at ``position``."""
    match = pattern.match(text, position)
    return match.end() if match else position


class _Parser(ValueReader):
    """Reads programs; a nested one is asked for, so that no nesting is too deep.

    A program sees its own binders first and the enclosing program's otherwise,
    so one dictionary serves all scopes; ``_undo`` brings back what a nested
    program hid.
    """

    def __init__(self, text: str, *, shared: bool) -> None:
        names = patterns.LET_NAME.findall(text) if shared else ()
        super().__init__(text, frozenset(names))
        self.tokens: list[Token] = []
        self._variables = 0
        self._types: dict[str, str] = {}
        self._scope: dict[str, Variable] = {}
        self._undo: list[tuple[str, Variable | None]] = []
        self._line = (0, 0)
        # How far nested programs have been read: no text is read twice, so an
        # equation that fails behind them is given up as far as this.
        self._resume = 0

    # -- programs

    def run(self, position: int) -> Program | None:
        """The program at ``position``; as much of it as was read where its end is missing."""
        stack = [self._program(position, outermost=True)]
        answer: Program | None = None
        while stack:
            try:
                asked = stack[-1].send(answer)
            except StopIteration as stop:
                stack.pop()
                answer = stop.value
            else:
                answer = None
                if len(stack) < MAX_DEPTH:
                    stack.append(self._program(asked, outermost=False))
        return answer

    def _program(self, start: int, *, outermost: bool) -> _Asks[Program]:
        match = patterns.OPEN.match(self.text, start)
        if match is None:
            return None
        mark, depth = self.mark(), self.enter()
        self.tokens.append(Token(*match.span(1), KEYWORD))
        constants, inputs, header_end = self._header(match.end())
        program, end = None, -1
        if header_end >= 0:
            self.bind(constants + inputs)
            equations, position = yield from self._equations(header_end)
            outputs, end = self._outputs(position)
            if end < 0 and outermost:
                end = len(self.text)
            if end >= 0:
                program = Program(
                    start,
                    end,
                    header_end,
                    tuple(constants),
                    tuple(inputs),
                    tuple(equations),
                    tuple(outputs),
                )
        self.leave(depth)
        self._resume = max(self._resume, end)
        if program is None:
            self.rollback(mark)
        return program

    def _header(self, position: int) -> tuple[list[Variable], list[Variable], int]:
        """``consts ; inputs. let``; a negative position where it isn't one."""
        text = self.text
        constants, position = self.binders(position)
        position = skip(patterns.GAP, text, position)
        if not text.startswith(";", position):
            return [], [], -1
        inputs, position = self.binders(position + 1)
        position = skip(patterns.GAP, text, position)
        let = patterns.HEADER_LET.match(text, position + 1)
        if not text.startswith(".", position) or let is None:
            return [], [], -1
        self.tokens.append(Token(*let.span(1), KEYWORD))
        return constants, inputs, let.end()

    def _equations(
        self, position: int
    ) -> Generator[int, Program | None, tuple[list[Equation], int]]:
        """The equations and the position of ``in``, or -1."""
        text, end, size = self.text, position, len(self.text)
        position = skip(patterns.BETWEEN, text, end)
        flat = text.find("\n", end, position) < 0
        column = self.column(position)
        equations: list[Equation] = []
        while position < size:
            if text[position] == "i" and patterns.END.match(text, position):
                return equations, position
            if self.leaves(end, position, column - 1):
                break
            mark = self.mark()
            usual = patterns.PLAIN.match(text, position)
            equation = self._plain(usual, column) if usual else None
            if equation is None:
                equation = yield from self._equation(position, column, usual)
            if equation is None:
                self.rollback(mark)
                end = position = self._scanner.resync(max(position, self._resume), column, flat)
                if position < 0:
                    position = ~position
                    break
            else:
                equations.append(equation)
                self.bind(equation.outputs)
                end = equation.end
                position = skip(patterns.BETWEEN, text, end)
        self._resume = max(self._resume, position)
        return equations, -1

    def _outputs(self, position: int) -> tuple[list[Operand], int]:
        """``in (a, b) }``: the outputs, and where the program ends or -1."""
        if position < 0:
            return [], -1
        match = patterns.END.match(self.text, position)
        assert match is not None
        self.tokens.append(Token(*match.span(1), KEYWORD))
        position = match.end()
        outputs: list[Operand] = []
        while operand := self.atom(position):
            outputs.append(operand)
            comma = patterns.COMMA.match(self.text, operand.end)
            position = comma.end() if comma else operand.end
        close = patterns.CLOSE.match(self.text, position)
        return outputs, close.end() if close else -1

    def _plain(self, match: re.Match[str], column: int) -> Equation | None:
        """The common case: one binder, no parameters."""
        if self.text.startswith("[", match.end()):
            return None
        mark = self.mark()
        variable = self.binder(match)
        self.tokens.append(_token((*match.span(3), PRIMITIVE, -1)))
        operands, end = self.operands(match.end(), column)
        if end < 0:
            self.rollback(mark)
            return None
        return Equation(match.start(), end, match[3], (variable,), tuple(operands), ())

    def _equation(self, start: int, column: int, usual: re.Match[str] | None) -> _Asks[Equation]:
        """Any equation; ``usual`` is how one begins that has one binder."""
        if usual is not None and self.text.startswith("[", usual.end()):
            return (yield from self._bound(start, usual.start(3), column, [self.binder(usual)]))
        mark = self.mark()
        binders, position = self.binders(start, column)
        if match := patterns.BINDS.match(self.text, position):
            return (yield from self._bound(start, match.end(), column, binders))
        equation = self._state(start, position, column, binders)
        if equation is not None:
            return equation
        self.rollback(mark)
        return (yield from self._bound(start, start, column, []))

    def _bound(
        self, start: int, position: int, column: int, binders: list[Variable]
    ) -> _Asks[Equation]:
        """``primitive[parameters] operands``, after the binders."""
        pattern = patterns.BOUND_PRIMITIVE if binders else patterns.PRIMITIVE
        match = pattern.match(self.text, position)
        if match is None:
            return None
        self.tokens.append(_token((*match.span(), PRIMITIVE, -1)))
        position = match.end()
        parameters: list[Parameter] = []
        if self.text.startswith("[", position):
            position = yield from self._parameters(position, parameters)
        elif self.text.startswith("(", position):  # dma_start(p0, add)
            position = self.text.find(")", position, position + 80) + 1
        if position <= 0:
            return None
        operands, end = self.operands(position, column)
        if end < 0:
            return None
        return Equation(
            start,
            end,
            match[0],
            tuple(binders),
            tuple(operands),
            tuple(parameters),
            tuple(program for parameter in parameters for program in parameter.programs),
        )

    def _state(
        self, start: int, position: int, column: int, binders: list[Variable]
    ) -> Equation | None:
        """Reads and writes of references, which JAX prints with arrows."""
        access = None
        if len(binders) == 1 and (arrow := patterns.READS.match(self.text, position)):
            access = self.read(arrow.end())
        elif len(binders) == 1 and (comma := patterns.COMMA.match(self.text, position)):
            access = self.write(comma.end(), exchange=True)
        elif not binders:
            access = self.write(start, exchange=False)
        if access is None:
            return None
        primitive, operands, end = access
        more, position = self.operands(end, column)
        if more or position < 0:
            return None
        return Equation(start, end, primitive, tuple(binders), tuple(operands), ())

    def _parameters(
        self, start: int, parameters: list[Parameter]
    ) -> Generator[int, Program | None, int]:
        """``[name=value ...]`` from its bracket on; the end, or -1."""
        text = self.text
        match = patterns.BROKEN.match(text, start)
        width = len(match[1]) if match else -1
        position = match.end() if match else start + 1
        while position < len(text):
            position = self._lines(position, width, parameters)
            if text.startswith("]", position):
                return position + 1
            name = patterns.PARAMETER.match(text, position)
            if name is None:
                if parameters:
                    break
                end = self._scanner.value_end(position, width, "")
            else:
                value = name.end()
                self.tokens.append(Token(*name.span(1), PARAMETER))
                held = None
                if self._may_hold(value):
                    held = yield from self._held(value)
                if held is None or not held.is_whole:
                    held = yield from self._object(name[1], value, width, held)
                end = held.end
                if end >= 0:
                    parameters.append(_parameter(name[1], value, held))
            if end < 0:
                break
            position = skip(patterns.GAP, text, end)
        self._scanner.budget -= position - start
        return -1

    def _lines(self, position: int, width: int, parameters: list[Parameter]) -> int:
        """Parameters without programs that have a line each; where the first other one begins."""
        text, shared = self.text, bool(self._shared)
        if width < 2 or self._scanner.budget <= 0:
            return position
        while line := patterns.LINE.match(text, position):
            is_last = line[4] is not None
            start, end = line.span(2)
            is_tuple = shared and text.startswith("(", start)  # perhaps of shared programs
            if len(line[3]) != width - 2 * is_last or line[1] == "fmt" or is_tuple:
                break
            self.tokens.append(_token((position, start - 1, PARAMETER, -1)))
            parameters.append(_parameter(line[1], start, self._closed(line[1], start, end)))
            position = line.end(3)
            if is_last:
                break
        return position

    # -- state

    def gap(self, position: int) -> int:
        return skip(patterns.GAP, self.text, position)

    def mark(self) -> tuple[int, int]:
        return len(self.tokens), self._variables

    def rollback(self, mark: tuple[int, int]) -> None:
        tokens, self._variables = mark
        del self.tokens[tokens:]

    def bind(self, variables: Iterable[Variable]) -> None:
        """Make the names of ``variables`` mean them from here on."""
        for variable in variables:
            name = variable.name
            outer = self._scope.get(name)
            self._undo.append((name, outer))
            self._scope[name] = _ANY if name == "_" and outer else variable

    def enter(self) -> int:
        """Begin a scope; the answer is what :meth:`leave` needs to end it."""
        depth = len(self._undo)
        self._undo.append(("_", self._scope.pop("_", None)))
        return depth

    def leave(self, depth: int) -> None:
        while len(self._undo) > depth:
            name, variable = self._undo.pop()
            if variable is None:
                self._scope.pop(name, None)
            else:
                self._scope[name] = variable

    def column(self, position: int) -> int:
        """The column of ``position``; cheap for positions that grow."""
        line_start, start = self._line
        if position < line_start:
            line_start, start = 0, 0
        start = max(start, self.text.rfind("\n", line_start, position) + 1)
        self._line = (position, start)
        return position - start

    def leaves(self, start: int, position: int, column: int) -> bool:
        """Whether the gap between the two ends a text that began at ``column``."""
        line = self.text.rfind("\n", start, position) + 1
        return line > 0 and position - line <= column

    # -- words

    def binders(self, position: int, column: int = -1) -> tuple[list[Variable], int]:
        """Names with types, as many as follow, and where they end.

        A line break down to ``column`` ends them.  Nothing is bound yet.
        """
        variables: list[Variable] = []
        typed = False
        while match := patterns.BINDER.match(self.text, position):
            start = match.start(1)
            if variables and (bool(match[2]) != typed or self.leaves(position, start, column)):
                break
            typed = match[2] is not None
            variables.append(self.binder(match))
            position = match.end()
        return variables, position

    def binder(self, match: re.Match[str]) -> Variable:
        """A match whose first groups are a name and a type."""
        name, kind = match.group(1, 2)
        index = self._variables
        self._variables = index + 1
        # The same type is one text, however often it is printed.
        printed = "" if kind is None else self._types.setdefault(kind, kind)
        self.tokens.append(_token((*match.span(1), BINDER, index)))
        if kind is not None:
            self.tokens.append(_token((*match.span(2), TYPE, -1)))
        return Variable(index, name, printed)

    def atom(self, position: int) -> Operand | None:
        """The variable or literal at ``position``."""
        match = patterns.ATOM.match(self.text, position)
        return self._atom(match) if match else None

    def _atom(self, match: re.Match[str]) -> Operand:
        """A match whose groups are the word and its type."""
        text, type_ = match.groups()
        start, end = match.span(1)
        if type_ is None:
            return self._word(text, start, end)
        self.tokens.append(Token(start, end, LITERAL))
        self.tokens.append(Token(end + 1, match.end(), TYPE))
        return Operand(start, match.end(), text, None, type_)

    def _word(self, text: str, start: int, end: int) -> Operand:
        variable = self._scope.get(text)
        if variable is not None and variable is not _ANY:
            self.tokens.append(_token((start, end, USE, variable.index)))
            return _operand((start, end, text, variable, variable.type))
        free = text.isidentifier() and text not in patterns.LITERAL_WORDS
        self.tokens.append(Token(start, end, USE if free else LITERAL))
        return Operand(start, end, text, None, "")

    def operands(self, position: int, column: int) -> tuple[list[Operand], int]:
        """The operands of an equation at ``column`` and where they end.

        The end is -1 where something else than an equation's end follows.
        """
        text = self.text
        usual = patterns.OPERANDS.match(text, position)
        if usual is not None and (usual[2] is None or len(usual[2]) <= column):
            return self._usual(usual[1], position), usual.end(1)
        atoms: list[Operand] = []
        while True:
            # Nearly always another word after one space, or a line break.
            while match := patterns.OPERAND.match(text, position):
                atoms.append(self._atom(match))
                position = match.end()
            here = skip(patterns.GAP, text, position)
            if self.leaves(position, here, column) or here == len(text) or text[here] == ";":
                return atoms, position
            if here == position or patterns.PROGRAM_END.match(text, here):
                return atoms, position if here > position else -1
            if match := patterns.ATOM.match(text, here):
                if match[1] != "->":  # what a copy of a reference is printed with
                    atoms.append(self._atom(match))
                position = match.end()
            elif match := patterns.REFERENCE.match(text, here):
                atoms += self.reference(here)[0]
                position = match.end()
            else:
                return atoms, -1

    def _usual(self, words: str, position: int) -> list[Operand]:
        """Operands with one blank in front of each: names, and numbers with a type."""
        operands = []
        for word in words.split(" ")[1:]:
            start, position = position + 1, position + 1 + len(word)
            value, colon, kind = word.partition(":")
            if not colon:
                operands.append(self._word(word, start, position))
                continue
            end = start + len(value)
            self.tokens.append(_token((start, end, LITERAL, -1)))
            self.tokens.append(_token((end + 1, position, TYPE, -1)))
            operands.append(_operand((start, position, value, None, kind)))
        return operands

    def reference(self, position: int) -> tuple[list[Operand], int]:
        """``ref[i,j:j+2,:]``: the reference and its indices; -1 if there is none."""
        match = patterns.REFERENCE.match(self.text, position)
        if match is None:
            return [], -1
        operands = [self._word(match[1], *match.span(1))]
        for indices in patterns.INDICES.finditer(self.text, *match.span(2)):
            if indices[1]:  # not a {transform}
                for index in patterns.INDEX.finditer(self.text, *indices.span(1)):
                    operands += self._index(*index.span())
        return operands, match.end()

    def _index(self, start: int, end: int) -> list[Operand]:
        """The operands in one index; a slice's start is printed twice."""
        match = patterns.INDEX_ATOM.fullmatch(self.text, start, end)
        if match is not None:
            word = self._word(match[1], *match.span(1))
            return [word]
        operands: list[Operand] = []
        if self.text.find(":", start, end) >= 0:
            for match in patterns.INDEX_NAME.finditer(self.text, start, end):
                word = self._word(match[0], *match.span())
                if word.text not in {o.text for o in operands}:
                    operands.append(word)
        return operands

    def masks(self, position: int) -> tuple[list[Operand], int]:
        """`` mask=a other=b`` after a masked load or store."""
        operands: list[Operand] = []
        while match := patterns.MASK.match(self.text, position):
            self.tokens.append(Token(*match.span(1), PARAMETER))
            operand = self.atom(match.end())
            if operand is None:
                break
            operands.append(operand)
            position = operand.end
        return operands, position

    # -- reads and writes of references: the primitive, its operands, the end

    def read(self, position: int) -> tuple[str, list[Operand], int] | None:
        """``ref[i]``, after ``a:f32[] <-``."""
        operands, end = self.reference(position)
        if end < 0:
            return None
        masks, end = self.masks(end)
        return "masked_load" if masks else "get", operands + masks, end

    def write(self, position: int, *, exchange: bool) -> tuple[str, list[Operand], int] | None:
        """``ref[i] <- a`` and ``ref[i] += a``; exchanged: ``ref[i] <- ref[i], a``.

        The operands are in the order of the equation, value before indices.
        """
        operands, end = self.reference(position)
        arrow = patterns.WRITES.match(self.text, end) if end >= 0 else None
        if arrow is None:
            return None
        end = arrow.end()
        if exchange:
            _, end = self.reference(end)
            comma = patterns.COMMA.match(self.text, end) if end >= 0 else None
            if comma is None:
                return None
            end = comma.end()
        value = self.atom(end)
        if value is None:
            return None
        masks, end = self.masks(value.end)
        if masks:
            return "masked_swap", [*operands, value, *masks], end
        operands.insert(1, value)
        return "addupdate" if arrow[1] == "+=" else "swap", operands, end


def _parameter(name: str, start: int, held: HeldProgram) -> Parameter:
    references = tuple(m for m in held.members if isinstance(m, str))
    return Parameter(
        name,
        start,
        held.end,
        held.programs,
        references,
        held.members,
        held.frame,
        held.is_opaque,
    )
