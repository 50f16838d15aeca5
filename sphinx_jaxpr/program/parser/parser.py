"""JAX's printed text of a jaxpr -> :class:`Printed`, without loss.

The text alone is read, so the version of JAX that printed it does not matter,
and a pasted jaxpr works as well as a traced one.  An equation that isn't
understood stays plain text; the ones around it do not suffer.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, NamedTuple, TypeVar

from ..model import (
    KEYWORD,
    LITERAL,
    PARAMETER,
    PRIMITIVE,
    Equation,
    Operand,
    Parameter,
    Printed,
    Program,
    Token,
    Variable,
)
from ..text import expect
from . import scanner
from .terms import TermReader

# --- values of parameters: programs, tuples of programs, and objects that print programs

#: Texts inside objects inside of such texts, and so on, are each read again to find their end.
MAX_TEXTS: Final = 8

# Their values are names of Python functions, which shared programs are named after.
_NOT_REFERENCES = frozenset({"name", "jvp", "fwd", "bwd", "fmt", "axis_name"})


class HeldProgram(NamedTuple):
    """What a value turned out to be; ``is_whole``: nothing but ``members`` in a tuple."""

    end: int
    members: tuple[Program | str, ...] = ()
    programs: tuple[Program, ...] = ()
    frame: str = ""
    is_whole: bool = True
    is_opaque: bool = False


class ValueReader(TermReader):
    """Reads values; a program in one is asked for by its position."""

    def __init__(self, text: str, shared: frozenset[str]) -> None:
        super().__init__(text)
        self._scanner = scanner.Scanner(text)
        self._shared = shared
        self.local: list[tuple[str, Program]] = []
        self._locals: frozenset[str] | None = None
        self._texts: list[int] = []  # where those that objects print begin

    def _object(
        self, name: str, start: int, width: int, begun: HeldProgram | None
    ) -> Generator[int, Program | None, HeldProgram]:
        """A value that is not a printed program: a scalar, a shared name, any object.

        An object may print programs; ``begun`` are the first, where they are read already.
        """
        first = begun.end if begun and begun.members else start
        end = self._scanner.value_end(first, width, name)
        if end < 0:
            return HeldProgram(-1)
        if begun is not None and begun.is_opaque:
            return HeldProgram(end, is_opaque=True)
        if begun is None and scanner.SCALAR.fullmatch(self.text, start, end):
            self.tokens.append(Token(start, end, LITERAL))
        elif begun is not None or scanner.OPEN.search(self.text, start, end):
            return (yield from self._texts_in(start, end, begun))
        elif name not in _NOT_REFERENCES:
            value = self.text[start:end]
            if value in self._shared:
                return HeldProgram(end, (self._reference(value),))
        return HeldProgram(end)

    def _texts_in(
        self, start: int, end: int, begun: HeldProgram | None
    ) -> Generator[int, Program | None, HeldProgram]:
        """The programs that an object prints: each is a text with its own names."""
        text = self.text
        members = list(begun.members) if begun else []
        programs = list(begun.programs) if begun else []
        position = begun.end if begun else start
        frame = [text[start : programs[0].start]] if programs else []
        is_opaque = False
        while match := scanner.START.search(text, position, end):
            frame.append(text[position : match.start()])
            mark = self.mark()
            printed = None
            if len(self._texts) < MAX_TEXTS:
                printed = yield from self._text(match.start())
            if printed is None or printed[-1].end > end:
                self.rollback(mark)
                is_opaque = True
                break
            programs += printed
            members.append(printed[-1])
            position = printed[-1].end
        frame.append(text[position:end])
        around = " ".join("…".join(frame).split())
        return HeldProgram(end, tuple(members), tuple(programs), around, False, is_opaque)

    def _text(self, position: int) -> Generator[int, Program | None, list[Program] | None]:
        """``let name = {...} in {...}``: what it shares, and then the program itself."""
        count, scope = len(self.local), self._scope
        self._scope = {}
        self._texts.append(position)
        programs: list[Program] = []
        program: Program | None = None
        while True:
            let = scanner.LET.match(self.text, position)
            if let is not None:
                self._shared |= self._local_names()
                self.tokens.append(Token(*let.span(1), KEYWORD))
            program = yield (let.end() if let else scanner.skip(scanner.GAP, self.text, position))
            if program is None:
                break
            programs.append(program)
            if let is None:
                break
            self.local.append((self._reference(let[2]), program))
            position = program.end
            if end := scanner.LET_IN.match(self.text, position):
                self.tokens.append(Token(*end.span(1), KEYWORD))
                position = end.end()
        self._texts.pop()
        self._scope = scope
        if program is None:
            del self.local[count:]
            return None
        return programs

    def _local_names(self) -> frozenset[str]:
        """All names that texts inside of objects share; looked for once."""
        if self._locals is None:
            self._locals = frozenset(scanner.LOCAL_NAME.findall(self.text))
        return self._locals

    def _reference(self, name: str) -> str:
        """How a shared program is called: the same name means another one in another text."""
        return f"{name}@{self._texts[-1]}" if self._texts else name

    def _held(self, start: int) -> Generator[int, Program | None, HeldProgram | None]:
        """A value that is a program, or a tuple of programs and shared names.

        Not whole where something else follows: a tuple of more than that begins with them.
        Opaque where they can't be read. No text is read twice.
        """
        text, mark = self.text, self.mark()
        members: list[Program | str] = []
        several = text.startswith("(", start)
        end, is_opaque = start, False
        position = scanner.skip(scanner.GAP, text, start + several)
        while True:
            if scanner.OPEN.match(text, position):
                program = yield position
                if program is None:
                    is_opaque = True
                    break
                members.append(program)
                end = program.end
            else:
                name = scanner.WORD.match(text, position)
                if name is None or name[0] not in self._shared:
                    break
                members.append(self._reference(name[0]))
                end = name.end()
            position = scanner.skip(scanner.GAP, text, end)
            if not several or text.startswith(")", position):
                whole = end + (position + 1 - end) * several
                if scanner.AFTER_VALUE.match(text, whole):
                    return HeldProgram(whole, tuple(members), _programs(members))
                is_opaque = not several
                break
        if not _programs(members) and not is_opaque:
            return None
        if is_opaque:
            self.rollback(mark)
            members = []
        return HeldProgram(end, tuple(members), _programs(members), "", False, is_opaque)


def _programs(members: list[Program | str]) -> tuple[Program, ...]:
    return tuple(member for member in members if isinstance(member, Program))


# --- whole programs

_T = TypeVar("_T")

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
    match = scanner.START.search(text)
    if match is None:
        return Printed(text, None, (), ())
    parser = _Parser(text, shared=match[1] is not None)
    shared: list[tuple[str, Program]] = []
    position = match.start()
    while let := scanner.LET.match(text, position):
        parser.tokens.append(Token(*let.span(1), KEYWORD))
        program = parser.run(let.end())
        if program is None:
            break
        shared.append((let[2], program))
        position = program.end
        if end := scanner.LET_IN.match(text, position):
            parser.tokens.append(Token(*end.span(1), KEYWORD))
            position = end.end()
    position = scanner.skip(scanner.GAP, text, position)
    program = parser.run(position)
    if program is None and not shared:
        return Printed(text, None, (), ())
    return Printed(text, program, tuple(shared), tuple(parser.tokens), tuple(parser.local))


class _Parser(ValueReader):
    """Reads programs; a nested one is asked for, so that no nesting is too deep."""

    def __init__(self, text: str, *, shared: bool) -> None:
        names = scanner.LET_NAME.findall(text) if shared else ()
        super().__init__(text, frozenset(names))
        # How far nested programs have been read: no text is read twice, so an
        # equation that fails behind them is given up as far as this.
        self._resume = 0

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
        match = scanner.OPEN.match(self.text, start)
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
        position = scanner.skip(scanner.GAP, text, position)
        if not text.startswith(";", position):
            return [], [], -1
        inputs, position = self.binders(position + 1)
        position = scanner.skip(scanner.GAP, text, position)
        let = scanner.HEADER_LET.match(text, position + 1)
        if not text.startswith(".", position) or let is None:
            return [], [], -1
        self.tokens.append(Token(*let.span(1), KEYWORD))
        return constants, inputs, let.end()

    def _equations(
        self, position: int
    ) -> Generator[int, Program | None, tuple[list[Equation], int]]:
        """The equations and the position of ``in``, or -1."""
        text, end, size = self.text, position, len(self.text)
        position = scanner.skip(scanner.BETWEEN, text, end)
        flat = text.find("\n", end, position) < 0
        column = self.column(position)
        equations: list[Equation] = []
        while position < size:
            if text[position] == "i" and scanner.END.match(text, position):
                return equations, position
            if self.leaves(end, position, column - 1):
                break
            mark = self.mark()
            equation = self._plain(position, column)
            if equation is None:
                equation = yield from self._equation(position, column)
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
                position = scanner.skip(scanner.BETWEEN, text, end)
        self._resume = max(self._resume, position)
        return equations, -1

    def _outputs(self, position: int) -> tuple[list[Operand], int]:
        """``in (a, b) }``: the outputs, and where the program ends or -1."""
        if position < 0:
            return [], -1
        match = scanner.END.match(self.text, position)
        assert match is not None
        self.tokens.append(Token(*match.span(1), KEYWORD))
        position = match.end()
        outputs: list[Operand] = []
        while operand := self.atom(position):
            outputs.append(operand)
            comma = scanner.COMMA.match(self.text, operand.end)
            position = comma.end() if comma else operand.end
        close = scanner.CLOSE.match(self.text, position)
        return outputs, close.end() if close else -1

    def _plain(self, start: int, column: int) -> Equation | None:
        """The common case: one binder, no parameters."""
        match = scanner.PLAIN.match(self.text, start)
        if match is None:
            return None
        mark = self.mark()
        variable = self.binder(match)
        self.tokens.append(Token(*match.span(3), PRIMITIVE))
        operands, end = self.operands(match.end(), column)
        if end < 0:
            self.rollback(mark)
            return None
        return Equation(start, end, match[3], (variable,), tuple(operands), ())

    def _equation(self, start: int, column: int) -> _Asks[Equation]:
        mark = self.mark()
        binders, position = self.binders(start, column)
        if match := scanner.BINDS.match(self.text, position):
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
        pattern = scanner.BOUND_PRIMITIVE if binders else scanner.PRIMITIVE
        match = pattern.match(self.text, position)
        if match is None:
            return None
        self.tokens.append(Token(*match.span(), PRIMITIVE))
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
        return Equation(start, end, match[0], tuple(binders), tuple(operands), tuple(parameters))

    def _state(
        self, start: int, position: int, column: int, binders: list[Variable]
    ) -> Equation | None:
        """Reads and writes of references, which JAX prints with arrows."""
        access = None
        if len(binders) == 1 and (arrow := scanner.READS.match(self.text, position)):
            access = self.read(arrow.end())
        elif len(binders) == 1 and (comma := scanner.COMMA.match(self.text, position)):
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
        match = scanner.BROKEN.match(text, start)
        width = len(match[1]) if match else -1
        position = match.end() if match else start + 1
        while position < len(text):
            if text.startswith("]", position):
                return position + 1
            name = scanner.PARAMETER.match(text, position)
            if name is None:
                if parameters:
                    break
                end = self._scanner.value_end(position, width, "")
            else:
                value = name.end()
                self.tokens.append(Token(*name.span(1), PARAMETER))
                held = None
                if text[value : value + 1] in ("{", "("):
                    held = yield from self._held(value)
                if held is None or not held.is_whole:
                    held = yield from self._object(name[1], value, width, held)
                end = held.end
                if end >= 0:
                    parameters.append(_parameter(name[1], value, held))
            if end < 0:
                break
            position = scanner.skip(scanner.GAP, text, end)
        self._scanner.budget -= position - start
        return -1


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
