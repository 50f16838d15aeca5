"""Values of parameters: programs, tuples of programs, and objects that print programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Final, NamedTuple

from ..model import KEYWORD, LITERAL, Program, Token, Variable
from . import scanner

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


class ValueReader(ABC):
    """Reads values; a program in one is asked for by its position.

    The parser that it is a part of keeps the tokens, and says which variables names mean.
    """

    tokens: list[Token]
    _scope: dict[str, Variable]

    def __init__(self, text: str, shared: frozenset[str]) -> None:
        self.text = text
        self._scanner = scanner.Scanner(text)
        self._shared = shared
        self.local: list[tuple[str, Program]] = []
        self._locals: frozenset[str] | None = None
        self._texts: list[int] = []  # where those that objects print begin

    @abstractmethod
    def gap(self, position: int) -> int:
        """Where the blanks and comments at ``position`` end."""

    @abstractmethod
    def mark(self) -> tuple[int, int]:
        """A state to go back to with :meth:`rollback` where a reading turns out wrong."""

    @abstractmethod
    def rollback(self, mark: tuple[int, int]) -> None:
        """Forget what was read since :meth:`mark`."""

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
            program = yield (let.end() if let else self.gap(position))
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
        position = self.gap(start + several)
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
            position = self.gap(end)
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
