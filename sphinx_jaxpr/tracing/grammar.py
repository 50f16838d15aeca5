"""The small language of the directive's options: values, specs, transforms.

A hand-written parser.  It builds plain data and never evaluates anything.

====================  =====================================================
text                  value
====================  =====================================================
``3``, ``-1.5``       ``int``, ``float``, ``complex``
``"a"``, ``True``     ``str``, ``bool``, ``None``
``(1, 2)``, ``[1]``   ``tuple``, ``list``
``{x: 0, "d": 8}``    ``dict`` (a bare key is its name)
``bf16[32,64]``       :class:`Aval`
``jax.nn.relu``       :class:`Name`
``policy("a")``       :class:`Call`
====================  =====================================================
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

MAX_LENGTH: Final = 10_000
MAX_DEPTH: Final = 40

_FLOATS = "f16 f32 f64 bf16 f4_e2m1fn f6_e2m3fn f6_e3m2fn f8_e3m4 f8_e4m3 f8_e4m3fn"
_FLOATS += " f8_e4m3fnuz f8_e4m3b11fnuz f8_e5m2 f8_e5m2fnuz f8_e8m0fnu"
_INTEGERS = "i2 i4 i8 i16 i32 i64 u2 u4 u8 u16 u32 u64"
_LONG = {"bf": "bfloat", "f": "float", "i": "int", "u": "uint", "c": "complex"}

#: short dtype, as jaxprs print it -> the name numpy or ml_dtypes knows.
DTYPES: Final[dict[str, str]] = {
    "bool": "bool",
    **{
        short: re.sub(r"^(bf|f|i|u|c)", lambda m: _LONG[m[0]], short)
        for short in f"{_FLOATS} {_INTEGERS} c64 c128".split()
    },
}
#: short key tag -> the name of the generator, as ``jax.random.key`` takes it.
KEYS: Final[dict[str, str]] = {
    "key<fry>": "threefry2x32",
    "key<rbg>": "rbg",
    "key<urbg>": "unsafe_rbg",
}
WIDE: Final = frozenset({"f64", "i64", "u64", "c128"})


class GrammarError(ValueError):
    """A text that can't be read; ``offset`` is the character where it stops."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Name:
    """A dotted name, meant as an argument or an attribute of the target's module."""

    text: str


@dataclass(frozen=True, slots=True)
class Aval:
    """An abstract array: short dtype and dimensions."""

    dtype: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Call:
    """A name with arguments, as in ``save_only_these_names("a")``."""

    name: str
    arguments: tuple[Value, ...]


Value: TypeAlias = (
    "int | float | complex | str | bool | None | Name | Aval | Call"
    " | tuple[Any, ...] | list[Any] | dict[str | int, Any]"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One transform with the options that were written."""

    name: str
    options: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """Transforms applied left to right, and the label of the resulting variant."""

    steps: tuple[Step, ...]
    label: str
    offset: int = 0


def nearest(word: str, known: Iterable[str]) -> str:
    """``", did you mean 'x'?"`` for the nearest known word, or nothing."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f", did you mean {found[0]!r}?" if found else ""


def arguments(text: str) -> tuple[tuple[str, Value], ...]:
    """Parse ``x=bf16[32,64], f32[]``; the name of a positional spec is ``""``."""
    reader = _Reader(text)
    items: list[tuple[str, Value]] = []
    names: set[str] = set()
    while reader.more():
        start = reader.offset
        name = reader.keyword()
        value = reader.value()
        _check_spec(value, start)
        if name and name in names:
            raise GrammarError(f"argument {name!r} is given twice", start)
        names.add(name)
        if not name and items and items[-1][0]:
            raise GrammarError("a spec without a name follows one with a name", start)
        items.append((name, value))
    return tuple(items)


def static(text: str) -> tuple[tuple[str | int, Value], ...]:
    """Parse ``n=3, act=jax.nn.relu, 1=4``; an integer key is a position."""
    reader = _Reader(text)
    items: list[tuple[str | int, Value]] = []
    keys: set[str | int] = set()
    while reader.more():
        start = reader.offset
        key: str | int | None = reader.position() if reader.at_number() else reader.keyword()
        if key in (None, ""):
            raise GrammarError("expected name=value or position=value", start)
        assert key is not None
        value = reader.value()
        if _holds(value, Aval):
            raise GrammarError(f"{key!r} is a spec: specs belong in args", start)
        if _holds(value, Call):
            raise GrammarError(
                f"{key!r} is a call: name an attribute of the target's module instead", start
            )
        if key in keys:
            raise GrammarError(f"{key!r} is given twice", start)
        keys.add(key)
        items.append((key, value))
    return tuple(items)


def transforms(text: str) -> tuple[Chain, ...]:
    """Parse ``grad(argnums=w) | vmap(axis_size=8) as both, remat``."""
    reader = _Reader(text)
    chains: list[Chain] = []
    while reader.more():
        start = reader.offset
        steps = [_step(reader)]
        while reader.accept("|"):
            steps.append(_step(reader))
        label = "_".join(step.name.rpartition(".")[2] for step in steps)
        if reader.accept_word("as"):
            label = reader.name("a label after 'as'")
        chains.append(Chain(tuple(steps), label, start))
    return tuple(chains)


def _step(reader: _Reader) -> Step:
    name = reader.name("the name of a transform")
    options: dict[str, Value] = {}
    if reader.accept("("):
        while not reader.accept(")"):
            start = reader.offset
            key = reader.keyword()
            if not key:
                raise GrammarError(f"an option of {name!r} is written option=value", start)
            if key in options:
                raise GrammarError(f"option {key!r} of {name!r} is given twice", start)
            options[key] = reader.value()
            if not reader.accept(",") and not reader.peek(")"):
                raise GrammarError(f"expected ',' or ')' in the options of {name!r}", reader.offset)
    return Step(name, tuple(options.items()))


def _check_spec(value: Value, offset: int) -> None:
    if _holds(value, str) or _holds(value, bool):
        raise GrammarError("strings and flags are no specs: they belong in static", offset)
    if _holds(value, Call):
        raise GrammarError("a call is no spec: name a function without parameters instead", offset)


def _holds(value: Value, kind: type) -> bool:
    """Whether ``value`` is or contains a ``kind``."""
    if isinstance(value, (tuple, list)):
        return any(_holds(item, kind) for item in value)
    if isinstance(value, dict):
        return any(_holds(item, kind) for item in value.values())
    return isinstance(value, kind)


_TOKEN = re.compile(
    r"""(?P<number>[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJ]?)
      | (?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
      | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<mark>[()\[\]{},:=|<>])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_WORDS: Final[dict[str, bool | None]] = {"True": True, "False": False, "None": None}


class _Reader:
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
        while self.offset < len(self.text) and (
            self.text[self.offset].isspace() and (newlines or self.text[self.offset] != "\n")
        ):
            self.offset += 1

    def match(self, kind: str) -> str | None:
        start = self.offset
        self.skip()
        found = _TOKEN.match(self.text, self.offset)
        if found is None or found.lastgroup != kind:
            self.offset = start  # a new line stays, it may separate items
            return None
        self.offset = found.end()
        return found[0]

    def peek(self, mark: str) -> bool:
        start = self.offset
        self.skip()
        if self.text.startswith(mark, self.offset):
            return True
        self.offset = start  # a new line stays, it may separate items
        return False

    def accept(self, mark: str) -> bool:
        if not self.peek(mark):
            return False
        self.offset += len(mark)
        return True

    def accept_word(self, word: str) -> bool:
        start = self.offset
        if self.match("name") == word:
            return True
        self.offset = start
        return False

    def at_number(self) -> bool:
        self.skip()
        return self.text[self.offset : self.offset + 1].isdigit()

    def more(self) -> bool:
        """At an item of the outermost list: past its separator, a comma or a new line."""
        self.skip(newlines=False)
        separated = not self.started
        while self.text[self.offset : self.offset + 1] in {",", "\n"}:
            separated = True
            self.offset += 1
            self.skip(newlines=False)
        if self.offset >= len(self.text):
            return False
        if not separated:
            raise GrammarError(f"expected ',' before {self.rest()!r}", self.offset)
        self.started = True
        return True

    def rest(self) -> str:
        return self.text[self.offset :].lstrip().split("\n")[0][:20] or "the end"

    # -- values

    def name(self, what: str) -> str:
        found = self.match("name")
        if found is None:
            raise GrammarError(f"expected {what}, found {self.rest()!r}", self.offset)
        return found

    def keyword(self) -> str:
        """``name=`` if it stands here, else ``""``."""
        start = self.offset
        found = self.match("name")
        if found is not None and "." not in found and self.accept("="):
            return found
        self.offset = start
        return ""

    def position(self) -> int | None:
        start = self.offset
        found = self.match("number")
        if found is not None and found.isdigit() and self.accept("="):
            return int(found)
        self.offset = start
        return None

    def value(self) -> Value:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise GrammarError(f"nested more than {MAX_DEPTH} deep", self.offset)
        try:
            return self._value()
        finally:
            self.depth -= 1

    def _value(self) -> Value:
        start = self.offset
        if self.accept("("):
            items, commas = self.items(")")
            return items[0] if len(items) == 1 and not commas else tuple(items)
        if self.accept("["):
            return self.items("]")[0]
        if self.accept("{"):
            return self.mapping()
        if (string := self.match("string")) is not None:
            return _ESCAPE.sub(r"\1", string[1:-1])
        if (number := self.match("number")) is not None:
            return _number(number, start)
        if (name := self.match("name")) is not None:
            return self.named(name, start)
        raise GrammarError(f"expected a value, found {self.rest()!r}", self.offset)

    def items(self, close: str) -> tuple[list[Any], int]:
        items: list[Any] = []
        commas = 0
        while not self.accept(close):
            items.append(self.value())
            if self.accept(","):
                commas += 1
            elif not self.peek(close):
                raise GrammarError(f"expected ',' or {close!r}, found {self.rest()!r}", self.offset)
        return items, commas

    def mapping(self) -> dict[str | int, Any]:
        result: dict[str | int, Any] = {}
        while not self.accept("}"):
            start = self.offset
            key = self.value()
            if isinstance(key, Name):
                key = key.text
            if not isinstance(key, (str, int)) or isinstance(key, bool):
                raise GrammarError("a key is a name, a string or an integer", start)
            if not self.accept(":"):
                raise GrammarError(f"expected ':' after the key {key!r}", self.offset)
            result[key] = self.value()
            if not self.accept(",") and not self.peek("}"):
                raise GrammarError(f"expected ',' or '}}', found {self.rest()!r}", self.offset)
        return result

    def named(self, name: str, start: int) -> Value:
        if name in _WORDS:
            return _WORDS[name]
        if name == "key" and self.accept("<"):
            name = f"key<{self.match('name') or ''}>"
            if not self.accept(">"):
                raise GrammarError("expected '>' as in key<fry>[]", self.offset)
        if self.text.startswith("[", self.offset):
            return self.aval(name, start)
        if self.text.startswith("(", self.offset):
            self.offset += 1
            return Call(name, tuple(self.items(")")[0]))
        return Name(name)

    def aval(self, dtype: str, start: int) -> Aval:
        if dtype not in DTYPES and dtype not in KEYS:
            short = {long: short for short, long in DTYPES.items()}.get(dtype)
            hint = f", did you mean {short!r}?" if short else nearest(dtype, [*DTYPES, *KEYS])
            raise GrammarError(f"unknown dtype {dtype!r}{hint}", start)
        self.offset += 1
        dims, _ = self.items("]")
        for dim in dims:
            if not isinstance(dim, int) or isinstance(dim, bool) or dim < 0:
                raise GrammarError(
                    f"a dimension of {dtype}[...] is a number, as in {dtype}[8,128]", start
                )
        return Aval(dtype, tuple(dims))


def _number(text: str, offset: int) -> int | float | complex:
    try:
        if text[-1] in "jJ":
            return complex(text)
        return float(text) if set(text) & set(".eE") else int(text)
    except ValueError:
        raise GrammarError(f"{text!r} is no number", offset) from None
