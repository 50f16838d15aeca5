"""Values of parameters: programs, tuples of programs, and objects that print programs.

JAX prints parameter values with ``str``, so a value can be any text at all:
brackets that never close, quotes, newlines.  What bounds it is the layout.  A
parameter list is either broken over lines, where each name and the closing
bracket have a column of their own, or it is flat, where brackets are matched
first and, should they not match, the next thing that parses decides.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Final, NamedTuple

from ..model import KEYWORD, LITERAL, Program, Token, Variable
from . import patterns
from .patterns import ATOM_TEXT, IN_TEXT, INDICES_TEXT, INSIDE, NAME, TYPE

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
        self._scanner = Scanner(text)
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
        is_open = patterns.OPEN.search(self.text, start, end) is not None
        if begun is not None or (is_open and not patterns.SCALAR.fullmatch(self.text, start, end)):
            return (yield from self._texts_in(start, end, begun))
        return self._closed(name, start, end)

    def _may_hold(self, start: int) -> bool:
        """Whether a value may begin with a program, or be a tuple of some."""
        sign = self.text[start : start + 1]
        if sign == "(" and not self._shared:
            return self.text.startswith("{", self.gap(start + 1))
        return sign in ("{", "(")

    def _closed(self, name: str, start: int, end: int) -> HeldProgram:
        """A value that prints no program: a scalar, the name of a shared one, any object."""
        if patterns.SCALAR.fullmatch(self.text, start, end):
            self.tokens.append(Token(start, end, LITERAL))
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
        while match := patterns.START.search(text, position, end):
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
            let = patterns.LET.match(self.text, position)
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
            if end := patterns.LET_IN.match(self.text, position):
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
            self._locals = frozenset(patterns.LOCAL_NAME.findall(self.text))
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
            if patterns.OPEN.match(text, position):
                program = yield position
                if program is None:
                    is_opaque = True
                    break
                members.append(program)
                end = program.end
            else:
                name = patterns.WORD.match(text, position)
                if name is None or name[0] not in self._shared:
                    break
                members.append(self._reference(name[0]))
                end = name.end()
            position = self.gap(end)
            if not several or text.startswith(")", position):
                whole = end + (position + 1 - end) * several
                if patterns.AFTER_VALUE.match(text, whole):
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


# --- how far an opaque value reaches

_TAIL: Final = re.compile(
    rf"(?: (?!{IN_TEXT})(?:{NAME}{INDICES_TEXT}|{ATOM_TEXT}))*+\s*(?:$|;|#|\Z|{IN_TEXT})",
    re.MULTILINE,
)
_SIMPLE: Final = re.compile(
    rf"'[^'\\\n]*+'|\"[^\"\\\n]*+\"|[^()\[\]{{}}'\"\s]*+(?:[\[({{]{INSIDE}[\])}}])?+"
)
_NEXT: Final = re.compile(rf"\s+{NAME}=(?!=)")
_LOOKS_LIKE: Final = rf"{NAME}:{TYPE} (?:=|<-) |in \("
_ANCHOR: Final = re.compile(rf"\n( *)(?:(\])|({NAME})=(?!=)|(?:{_LOOKS_LIKE}))")
_MARK: Final = re.compile(r"(\{\s*lambda\b)|[)}\]] \}")
_SCAN: Final = re.compile(
    r"(?<=[=(\[{,: ])(?:'(?:\\.|[^'\\\n])*+'|\"(?:\\.|[^\"\\\n])*+\")"
    rf"|(?P<open>[\[({{])|(?P<close>[\])}}])|(?P<next>(?<!\s)\s++{NAME}=(?!=))"
    rf"|(?P<stop>\n *(?:{_LOOKS_LIKE}))"
)
_RESYNC: Final = re.compile(
    rf"\n( *)(?:({_LOOKS_LIKE})|(?=[^\s\])}}]))|(\{{\s*lambda\b)|([)}}\]] \}})|(;\s)"
    rf"|\s(?={IN_TEXT})"
)
_PAIRS: Final = {"[": "]", "(": ")", "{": "}"}
# ``debug_print`` shows its format as it is, so only its own names end it.
_AFTER_FORMAT: Final = re.compile(
    r"(?:\n( *)| )(?:(?:has_placeholders|ordered|partitioned)=(?:True|False)\b"
    r"|in_tree=PyTreeDef|logging_record=|np_printoptions=)"
)


class Scanner:
    """Finds where opaque text ends, in time linear in the length of ``text``.

    Guesses that fail cost a scan; ``budget`` bounds the sum of them, after
    which ends that are not plain are not found any more.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.budget = 4 * len(text) + 20_000

    def value_end(self, start: int, width: int, name: str) -> int:
        """The end of the value at ``start``, or -1.

        ``width`` is the column of the parameter names, -1 in a flat list.
        """
        if width >= 2:
            end = self._format(start, width) if name == "fmt" else -1
            return end if end >= 0 else self._broken(start, width)
        if name != "fmt":
            match = _SIMPLE.match(self.text, start)
            if match and self._ends(match.end()):
                return match.end()
        end = self._flat(start, name)
        while end > start and self.text[end - 1].isspace():
            end -= 1
        return end

    def _ends(self, position: int) -> bool:
        """Whether a flat value may end here: a closing bracket or a name follows."""
        if self.text.startswith("]", position):
            return _TAIL.match(self.text, position + 1) is not None
        return _NEXT.match(self.text, position) is not None

    def _format(self, start: int, width: int) -> int:
        """The end of a ``debug_print`` format; one of any sane length."""
        limit = start + min(10_000, self.budget)
        for match in _AFTER_FORMAT.finditer(self.text, start, limit):
            if len(match[1] or "") == width:
                return match.start()
        self.budget -= limit - start
        return -1

    def _broken(self, start: int, width: int) -> int:
        """The line break before the next name, or before the closing bracket.

        The repr of some objects prints jaxprs from column 0, whose lines may
        look like ours: those count only outside ``{ lambda ... }``.
        """
        first, depth, counted = -1, 0, start
        if self.budget <= 0:
            return -1
        for match in _ANCHOR.finditer(self.text, start):
            column, here = len(match[1]), match.start()
            ours = column == width - 2 if match[2] else bool(match[3]) and column == width
            left = not match[2] and not match[3] and column <= width - 2
            if not ours and not left:
                continue
            for mark in _MARK.finditer(self.text, counted, here):
                depth = depth + 1 if mark[1] else max(depth - 1, 0)
            counted = here
            if depth == 0:
                self.budget -= here - start if left else 0
                return here if ours else first
            if first < 0 and ours:
                first = here
        self.budget -= len(self.text) - start
        return first

    def _flat(self, start: int, name: str) -> int:
        if self.budget <= 0:
            return -1
        matched = self._scan(start, name, strict=True)
        return matched if matched >= 0 else self._scan(start, name, strict=False)

    def _scan(self, start: int, name: str, *, strict: bool) -> int:
        """The first end outside all brackets; not ``strict``: the first end."""
        expected: list[str] = []
        here = start
        for match in _SCAN.finditer(self.text, start):
            here = match.start()
            group = match.lastgroup
            if group == "open" and strict:
                expected.append(_PAIRS[match[0]])
            elif group == "close" and expected:
                if match[0] != expected.pop():
                    break
            elif group == "close" and match[0] == "]" and self._ends(here):
                return here
            elif group == "next" and not expected:
                if name != "fmt" or _AFTER_FORMAT.match(self.text, here):
                    return here
            elif group == "stop" and not strict:
                break
            if here - start > self.budget:
                break
        self.budget -= here - start
        return -1

    def resync(self, start: int, column: int, flat: bool) -> int:
        """Where the equation after a broken one begins (or ``in``), or ~position.

        ``column`` is that of the equations; a negative answer is the inverted
        position at which the program turned out to have ended without an end.
        """
        depth = 0
        for match in _RESYNC.finditer(self.text, start):
            here = match.end()
            if match[3]:
                depth += flat
            elif match[4]:
                depth -= depth > 0
            elif match[1] is not None:
                indent = len(match[1])
                first = match.start() + 1 + indent
                if indent == column or (match[2] == "in (" and indent in (column - 2, column - 4)):
                    return first
                if match[2] and indent < column - 2:
                    return ~first
            elif flat and depth == 0:
                return here
        return ~len(self.text)
