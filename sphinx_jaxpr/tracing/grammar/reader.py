"""Tokens and values in the text of an option, read from left to right."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from ...program.dtypes import DTYPES, KEYS
from ...program.text import message as bounded
from ...program.text import nearest, shorten
from ..hints.meant import meant_dtype, separating
from ..specs import MEMORIES, Aval, Call, Name, Ref, Value

MAX_LENGTH: Final = 10_000
MAX_DEPTH: Final = 40
#: Python refuses to read an integer of more digits.
MAX_DIGITS: Final = 4_300
#: Longest position of an argument, in digits.
MAX_POSITION: Final = 9
#: Sizes of arrays are smaller than this.
MAX_DIMENSION: Final = 2**63


class GrammarError(ValueError):
    """A text that can't be read; ``offset`` is the character where it stops.

    ``advice`` is the end of the message: what to write, where nothing better is known.
    """

    def __init__(self, reason: str, offset: int, advice: str = "") -> None:
        super().__init__(bounded(reason + advice))
        self.reason = bounded(reason)
        self.offset = offset


_TOKEN = re.compile(
    r"""(?P<number>[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9_]+)?[jJ]?)
      | (?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<mark>[()\[\]{},:=|<>])""",
    re.VERBOSE,
)
#: ``str.isdigit`` also accepts digits of other scripts.
_DIGITS = frozenset("0123456789")
_NUMERIC = _DIGITS | frozenset("+-.")
#: Most shapes: numbers that are surely small enough, and nothing else.
_PLAIN_SHAPE = re.compile(r"\[([0-9]{1,18}(?:, *[0-9]{1,18})*)?\]")
#: What is written of ``f32(128,64)`` behind the dtype.
_SIZES = re.compile(r"\(([0-9 ,]+)\)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_WORDS: Final[dict[str, bool | float | None]] = {
    "True": True,
    "False": False,
    "None": None,
    "inf": math.inf,
    "nan": math.nan,
}
_SINGLE = frozenset({"True", "False", "None"})
_INFINITE = re.compile(r"[+-](inf|nan)\b(?![.(\[])")
#: The rest of ``module:name``; a spec behind a colon is meant as that of an argument.
_MEMBER = re.compile(r":[^\W\d]\w*(?:\.[^\W\d]\w*)*(?![\w\[<{])")


def quoted(text: str) -> str:
    """The beginning of a text as a message quotes it; ``the end`` if nothing is left."""
    near = text.lstrip().split("\n")[0][:20]
    return shorten(near) if near else "the end"


class Reader:
    """Reads tokens and values from one text, left to right."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise GrammarError(f"longer than {MAX_LENGTH} characters", MAX_LENGTH)
        self.text = text
        self.offset = 0
        self.depth = 0
        self.started = False

    # -- tokens

    def skip(self, newlines: bool = True) -> None:
        """Go on to what is not blank."""
        if not self.text[self.offset : self.offset + 1].isspace():
            return
        while self.offset < len(self.text) and (
            self.text[self.offset].isspace() and (newlines or self.text[self.offset] != "\n")
        ):
            self.offset += 1

    def match(self, kind: str) -> str | None:
        """Take a token of this kind, if it is next."""
        start = self.offset
        self.skip()
        token = _TOKEN.match(self.text, self.offset)
        if token is None or token.lastgroup != kind:
            self.offset = start  # a new line stays, it may separate items
            return None
        self.offset = token.end()
        return token[0]

    def peek(self, mark: str) -> bool:
        """Whether ``mark`` is next."""
        start = self.offset
        if self.text.startswith(mark, start):
            return True
        if self.text[start : start + 1].isspace():
            self.skip()
            if self.text.startswith(mark, self.offset):
                return True
            self.offset = start  # a new line stays, it may separate items
        return False

    def accept(self, mark: str) -> bool:
        """Take ``mark``, if it is next."""
        if not self.peek(mark):
            return False
        self.offset += len(mark)
        return True

    def accept_word(self, word: str) -> bool:
        """Take this name, if it is next."""
        start = self.offset
        if self.match("name") == word:
            return True
        self.offset = start
        return False

    def at_number(self) -> bool:
        """Whether a digit is next."""
        self.skip()
        return self.text[self.offset : self.offset + 1] in _DIGITS

    def more(self, advice: str = "") -> bool:
        """Whether another item of the outermost list follows; skips its comma or line break.

        ``advice`` ends the message where something else follows.
        """
        self.skip(newlines=False)
        separated = not self.started
        while self.text[self.offset : self.offset + 1] in {",", "\n"}:
            separated = True
            self.offset += 1
            self.skip(newlines=False)
        if self.offset >= len(self.text):
            return False
        if not separated:
            advice = advice or separating(self.text[: self.offset], self.text[self.offset :])
            raise GrammarError(f"expected ',' before {self.rest()}", self.offset, advice)
        self.started = True
        return True

    def rest(self) -> str:
        """What follows, quoted for a message."""
        return quoted(self.text[self.offset :])

    # -- values

    def name(self, expected: str) -> str:
        """Take a name; ``expected`` says of what, for the error."""
        name = self.match("name")
        if name is None:
            raise GrammarError(f"expected {expected}, found {self.rest()}", self.offset)
        return name

    def keyword(self) -> str:
        """``name=`` where it is next, else ``""``."""
        start = self.offset
        name = self.match("name")
        if name is not None and "." not in name and self.accept("="):
            return name
        self.offset = start
        return ""

    def position(self) -> int | None:
        """Take ``0=``, the position of a parameter, if it is next."""
        start = self.offset
        digits = self.match("number")
        if digits is not None and set(digits) <= _DIGITS and self.accept("="):
            if len(digits) > MAX_POSITION:
                raise GrammarError(f"no function has a position {shorten(digits)}", start)
            return int(digits)
        self.offset = start
        return None

    def value(self) -> Value:
        """Take a value of any kind."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise GrammarError(f"nested more than {MAX_DEPTH} deep", self.offset)
        try:
            return self._value()
        finally:
            self.depth -= 1

    def _value(self) -> Value:
        start = self.offset
        self.skip()
        first, self.offset = self.text[self.offset : self.offset + 1], start
        if first == "(":
            self.accept(first)
            items, commas = self.items(")")
            return items[0] if len(items) == 1 and not commas else tuple(items)
        if first == "[":
            self.accept(first)
            return self.items("]")[0]
        if first == "{":
            self.accept(first)
            return self.mapping()
        if first in {'"', "'"}:
            if (string := self.match("string")) is not None:
                return _ESCAPE.sub(r"\1", string[1:-1])
        elif first in _NUMERIC:
            if (number := self.match("number")) is not None:
                return _number(number, start)
            if (sign := self.signed()) is not None:
                return sign
        elif (name := self.match("name")) is not None:
            return self.named(self.of_module(name), start)
        raise GrammarError(f"expected a value, found {self.rest()}", self.offset)

    def signed(self) -> float | None:
        """``-inf`` and the like, which aren't number tokens."""
        start = self.offset
        self.skip()
        match = _INFINITE.match(self.text, self.offset)
        if match is None:
            self.offset = start
            return None
        self.offset = match.end()
        return float(match[0])

    def items(self, close: str) -> tuple[list[Any], int]:
        """Take values up to ``close``; also how many commas there were."""
        items: list[Any] = []
        commas = 0
        while not self.accept(close):
            items.append(self.value())
            if self.accept(","):
                commas += 1
            elif not self.peek(close):
                raise GrammarError(f"expected ',' or {close!r}, found {self.rest()}", self.offset)
        return items, commas

    def mapping(self) -> dict[str | int, Any]:
        """Take the rest of ``{key: value}``."""
        result: dict[str | int, Any] = {}
        while not self.accept("}"):
            start = self.offset
            word = self.match("name")
            plain = word is not None and word not in _SINGLE and self.peek(":")
            if not plain:
                self.offset = start
            key = word if plain and word is not None else self.value()
            if isinstance(key, Name):
                key = key.text
            if not isinstance(key, (str, int)) or isinstance(key, bool):
                raise GrammarError("a key is a name, a string or an integer", start)
            if not self.accept(":"):
                raise GrammarError(f"expected ':' after the key {shorten(str(key))}", self.offset)
            result[key] = self.value()
            if not self.accept(",") and not self.peek("}"):
                raise GrammarError(f"expected ',' or '}}', found {self.rest()}", self.offset)
        return result

    def of_module(self, name: str) -> str:
        """``name``, or ``module:name`` if it goes on so."""
        member = _MEMBER.match(self.text, self.offset)
        if member is None or name in _WORDS or name == "lambda":
            return name
        self.offset = member.end()
        return name + member[0]

    def named(self, name: str, start: int) -> Value:
        """Take what goes on after a name: a type, a call, a dotted name."""
        if name == "key" and self.accept("<"):
            name = f"key<{self.match('name') or ''}>"
            if not self.accept(">"):
                raise GrammarError("expected '>' as in key<fry>[]", self.offset)
        if name == "lambda":
            raise GrammarError(
                "options hold no code: define the function in a module and name it", start
            )
        if name == "Ref" and self.text.startswith("{", self.offset):
            return self.ref(start)
        if name == "Ref" and self.text.startswith(("[", "("), self.offset):
            raise GrammarError("a mutable array is written Ref{f32[3]}", start)
        if self.text.startswith("<", self.offset) and name in DTYPES:
            return self.aval(name, start, self.memory(name))
        if self.text.startswith("[", self.offset):
            return self.aval(name, start)
        if self.text.startswith("(", self.offset):
            return self.call(name, start)
        return _WORDS[name] if name in _WORDS else Name(name)

    def call(self, name: str, start: int) -> Call:
        """Take the rest of ``name(...)``."""
        if name in DTYPES or name in KEYS:
            sizes = _SIZES.match(self.text, self.offset)
            spec = f"{name}[{sizes[1].strip(' ,') if sizes else '8,128'}]"
            raise GrammarError(f"dimensions go in brackets, as in {spec}", start)
        self.offset += 1
        items: list[Value] = []
        named: dict[str, Value] = {}
        while not self.accept(")"):
            before = self.offset
            key = self.keyword()
            if key in named:
                raise GrammarError(f"{_called(name)} is given {shorten(key)} twice", before)
            if key:
                named[key] = self.value()
            elif named:
                message = "is given an argument by position behind one by name"
                raise GrammarError(f"{_called(name)} {message}", before)
            else:
                items.append(self.value())
            if not self.accept(",") and not self.peek(")"):
                raise GrammarError(f"expected ',' or ')', found {self.rest()}", self.offset)
        return Call(name, tuple(items), tuple(named.items()))

    def ref(self, start: int) -> Ref:
        """Take the rest of ``Ref{...}``."""
        self.offset += 1
        inner = self.value()
        if not isinstance(inner, Aval):
            raise GrammarError("a Ref holds one array, as in Ref{f32[3]}", start)
        if not self.accept("}"):
            raise GrammarError(
                f"expected '}}' as in Ref{{f32[3]}}, found {self.rest()}", self.offset
            )
        return Ref(inner)

    def memory(self, dtype: str) -> str:
        """A memory space, as in ``f32<host>[4]``."""
        self.offset += 1
        start = self.offset
        space = self.match("name") or ""
        if space not in MEMORIES:
            hint = nearest(space, MEMORIES)
            raise GrammarError(f"unknown memory space {shorten(space)}{hint}", start)
        if not self.accept(">") or not self.text.startswith("[", self.offset):
            raise GrammarError(f"expected '>[' as in {dtype}<{space}>[4]", self.offset)
        return "" if space == MEMORIES[-1] else space  # the default is not printed

    def aval(self, dtype: str, start: int, memory: str = "") -> Aval:
        """Take the rest of ``f32[...]``."""
        if dtype not in DTYPES and dtype not in KEYS:
            meant = meant_dtype(dtype)
            hint = (
                f", did you mean {shorten(meant)}?"
                if meant
                else "; an attribute takes no index here"
            )
            raise GrammarError(f"unknown dtype {shorten(dtype)}{hint}", start)
        if plain := _PLAIN_SHAPE.match(self.text, self.offset):
            self.offset = plain.end()
            sizes = plain[1].split(",") if plain[1] else ()
            return Aval(dtype, tuple(map(int, sizes)), memory=memory)
        self.offset += 1
        dims: list[int] = []
        axes: list[tuple[str, ...]] = []
        while not self.accept("]"):
            dim = None if self.peek("@") else self.value()
            if self.peek("@") and not isinstance(dim, int):
                message = f"before @ is a dimension, as in {dtype}[4@a,8]"
                raise GrammarError(message, start)
            if not isinstance(dim, int) or isinstance(dim, bool) or not 0 <= dim < MAX_DIMENSION:
                raise GrammarError(
                    f"a dimension of {dtype}[...] is a number, as in {dtype}[8,128]", start
                )
            dims.append(dim)
            axes.append(self.split() if self.accept("@") else ())
            if not self.accept(",") and not self.peek("]"):
                raise GrammarError(f"expected ',' or ']', found {self.rest()}", self.offset)
        used = [axis for names in axes for axis in names]
        for axis in used:
            if used.count(axis) > 1:
                raise GrammarError(f"mesh axis {shorten(axis)} splits more than once", start)
        return Aval(dtype, tuple(dims), tuple(axes) if used else (), memory)

    def split(self) -> tuple[str, ...]:
        """The mesh axes after ``@``: ``a``, or ``(a,b)``."""
        start = self.offset
        items: list[Any] = [self.value()]
        if isinstance(items[0], tuple):
            items = list(items[0])
        names = [item.text if isinstance(item, Name) else item for item in items]
        if not names or not all(isinstance(name, str) and name.isidentifier() for name in names):
            raise GrammarError("@ is followed by a mesh axis, as in f32[4@a,8@(b,c)]", start)
        return tuple(names)


def _called(name: str) -> str:
    return f"{shorten(name)[1:-1]}(...)"


def _number(text: str, offset: int) -> int | float | complex:
    try:
        if text[-1] in "jJ":
            return complex(text)
        return float(text) if set(text) & set(".eE") else int(text)
    except ValueError:
        pass
    problem = "has too many digits" if len(text) > MAX_DIGITS else "is not a number"
    raise GrammarError(f"{shorten(text)} {problem}", offset)
