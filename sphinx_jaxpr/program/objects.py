"""Values of parameters: programs, tuples of programs, and objects that print programs.

What an object prints with ``str`` is a text of its own: its letters begin at ``a``
again, and it may share programs under names that mean others elsewhere.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final, NamedTuple

from . import scan
from .model import KEYWORD, LITERAL, Program, Token
from .terms import Terms

#: Texts inside objects inside of such texts, and so on, are each read again to find their end.
MAX_TEXTS: Final = 8

# Their values are names of Python functions, which shared programs are named after.
_NOT_REFERENCES = frozenset({"name", "jvp", "fwd", "bwd", "fmt", "axis_name"})


class Held(NamedTuple):
    """What a value turned out to be; ``is_whole``: nothing but ``members`` in a tuple."""

    end: int
    members: tuple[Program | str, ...] = ()
    programs: tuple[Program, ...] = ()
    frame: str = ""
    is_whole: bool = True
    is_opaque: bool = False


class Values(Terms):
    """Reads values; a program in one is asked for by its position."""

    def __init__(self, text: str, shared: frozenset[str]) -> None:
        super().__init__(text)
        self._scanner = scan.Scanner(text)
        self._shared = shared
        self.local: list[tuple[str, Program]] = []
        self._locals: frozenset[str] | None = None
        self._texts: list[int] = []  # where those that objects print begin

    def _object(
        self, name: str, start: int, width: int, begun: Held | None
    ) -> Generator[int, Program | None, Held]:
        """A value that is no printed program: a scalar, a shared name, any object.

        An object may print programs; ``begun`` are the first, where they are read already.
        """
        first = begun.end if begun and begun.members else start
        end = self._scanner.value_end(first, width, name)
        if end < 0:
            return Held(-1)
        if begun is not None and begun.is_opaque:
            return Held(end, is_opaque=True)
        if begun is None and scan.SCALAR.fullmatch(self.text, start, end):
            self.tokens.append(Token(start, end, LITERAL))
        elif begun is not None or scan.OPEN.search(self.text, start, end):
            return (yield from self._texts_in(start, end, begun))
        elif name not in _NOT_REFERENCES:
            value = self.text[start:end]
            if value in self._shared:
                return Held(end, (self._reference(value),))
        return Held(end)

    def _texts_in(
        self, start: int, end: int, begun: Held | None
    ) -> Generator[int, Program | None, Held]:
        """The programs that an object prints: each is a text with names of its own."""
        text = self.text
        members = list(begun.members) if begun else []
        programs = list(begun.programs) if begun else []
        position = begun.end if begun else start
        frame = [text[start : programs[0].start]] if programs else []
        is_opaque = False
        while match := scan.START.search(text, position, end):
            frame.append(text[position : match.start()])
            mark = self.mark()
            found = None
            if len(self._texts) < MAX_TEXTS:
                found = yield from self._text(match.start())
            if found is None or found[-1].end > end:
                self.rollback(mark)
                is_opaque = True
                break
            programs += found
            members.append(found[-1])
            position = found[-1].end
        frame.append(text[position:end])
        around = " ".join("…".join(frame).split())
        return Held(end, tuple(members), tuple(programs), around, False, is_opaque)

    def _text(self, position: int) -> Generator[int, Program | None, list[Program] | None]:
        """``let name = {...} in {...}``: what it shares, and then the program itself."""
        known, scope = len(self.local), self._scope
        self._scope = {}
        self._texts.append(position)
        found: list[Program] = []
        program: Program | None = None
        while True:
            let = scan.LET.match(self.text, position)
            if let is not None:
                self._shared |= self._local_names()
                self.tokens.append(Token(*let.span(1), KEYWORD))
            program = yield (let.end() if let else scan.skip(scan.GAP, self.text, position))
            if program is None:
                break
            found.append(program)
            if let is None:
                break
            self.local.append((self._reference(let[2]), program))
            position = program.end
            if end := scan.LET_IN.match(self.text, position):
                self.tokens.append(Token(*end.span(1), KEYWORD))
                position = end.end()
        self._texts.pop()
        self._scope = scope
        if program is None:
            del self.local[known:]
            return None
        return found

    def _local_names(self) -> frozenset[str]:
        """All names that texts inside of objects share; looked for once."""
        if self._locals is None:
            self._locals = frozenset(scan.LOCAL_NAME.findall(self.text))
        return self._locals

    def _reference(self, name: str) -> str:
        """How a shared program is called: the same name means another one in another text."""
        return f"{name}@{self._texts[-1]}" if self._texts else name

    def _held(self, start: int) -> Generator[int, Program | None, Held | None]:
        """A value that is a program, or a tuple of programs and shared names.

        Not whole where something else follows: a tuple of more than that begins with them.
        Opaque where they can't be read; no text is read twice.
        """
        text, mark = self.text, self.mark()
        members: list[Program | str] = []
        several = text.startswith("(", start)
        end, is_opaque = start, False
        position = scan.skip(scan.GAP, text, start + several)
        while True:
            if scan.OPEN.match(text, position):
                program = yield position
                if program is None:
                    is_opaque = True
                    break
                members.append(program)
                end = program.end
            else:
                name = scan.WORD.match(text, position)
                if name is None or name[0] not in self._shared:
                    break
                members.append(self._reference(name[0]))
                end = name.end()
            position = scan.skip(scan.GAP, text, end)
            if not several or text.startswith(")", position):
                whole = end + (position + 1 - end) * several
                if scan.AFTER_VALUE.match(text, whole):
                    return Held(whole, tuple(members), _programs(members))
                is_opaque = not several
                break
        if not _programs(members) and not is_opaque:
            return None
        if is_opaque:
            self.rollback(mark)
            members = []
        return Held(end, tuple(members), _programs(members), "", False, is_opaque)


def _programs(members: list[Program | str]) -> tuple[Program, ...]:
    return tuple(member for member in members if isinstance(member, Program))
