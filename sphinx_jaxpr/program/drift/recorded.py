"""A recorded program as a comparison of two JAX versions reads it."""

from __future__ import annotations

import keyword
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

from ..facts import Facts, align
from ..model import BINDER, Equation, Operand, Parameter, Printed, Program, Variable, walk
from ..parser.parser import parse
from ..query.blocks import BlockIndex
from ..renames import table
from ..text import expect

#: Characters of a value that a difference shows.
SHOWN: Final = 100

# Types that have the precision of Python's own: in ``np.float32(0.1)`` the type is a value.
_NUMPY: Final = re.compile(r"\bnp\.(?:u?int\d+|float64|bool_?|str_)\(([^()]*)\)")
_SET: Final = re.compile(r"\b((?:frozen)?set\()\{([^{}]*)\}\)")
_NAMED: Final = re.compile(r"=([^\W\d]\w*)")
_SPEC: Final = re.compile(r"\bPartitionSpec\(")
#: The axes that a value varies over: ``{x,y}`` in older JAX, ``{V:(x,y)}`` in newer.
_VARYING: Final = re.compile(r"(.*\])\{(?:V:)?\(?([\w,]+)\)?\}")
_FLOAT: Final = re.compile(r"[+-]?(\d+\.\d*|\d*\.\d+|\d+(?=e))(e[+-]?\d+)?")

#: Stands for a program in the text of a parameter.
_PROGRAM: Final = "{}"
_BETWEEN: Final = re.compile(r"[\s,]*\{\}[\s,]*")


class Missing:
    """Stands for a parameter of which no plain value is known."""


MISSING: Final = Missing()


class RecordedValue(NamedTuple):
    """A parameter: its printed text, if it is printed, its plain value, its programs.

    ``rest`` is what the text of one with programs says around them.
    """

    text: str | None
    plain: Any = MISSING
    members: tuple[Program, ...] = ()
    rest: str = ""

    @property
    def shown(self) -> str:
        """The value for people."""
        text = self.text if self.text is not None else str(self.plain)
        return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."


class Recording(Protocol):
    """What a comparison asks of a traced block: its program, or its error.

    ``text`` is ``None`` where there is an error instead, as (type or kind, message).
    ``argument_names`` is empty where the names are unknown.
    """

    @property
    def text(self) -> str | None:
        """JAX's text, ``None`` where there is no program."""

    @property
    def facts(self) -> Facts:
        """What the jaxpr object said of the program."""

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of the inputs."""

    @property
    def error_words(self) -> tuple[str, str]:
        """The type and the message of the error, or two empty texts."""

    @property
    def printed(self) -> Printed:
        """The text, parsed."""

    @property
    def index(self) -> BlockIndex:
        """Lookups over text and facts."""


@dataclass(frozen=True)
class RecordedText:
    """A recording without a traced block: a text with its facts, or an error."""

    text: str | None
    facts: Facts = field(default_factory=Facts)
    argument_names: tuple[str, ...] = ()
    error_words: tuple[str, str] = ("", "")

    @classmethod
    def of(cls, program: Printed | str | Mapping[str, Any]) -> RecordedText:
        """The recording of a printed program, of its text, or of the data of a lock file."""
        if isinstance(program, Printed):
            return cls(program.text)
        if isinstance(program, str):
            return cls(program)
        expect(program, Mapping, "a program, its text or a recording of it")
        if "text" not in program and "error" not in program:
            raise ValueError("a recording has a `text` or an `error`")
        try:
            names = tuple(str(name) for name, _ in program.get("args", ()))
            if "text" not in program:
                error = program["error"]
                kind = str(error.get("type") or error.get("kind", "error"))
                return cls(None, argument_names=names, error_words=(kind, str(error["message"])))
            text = program["text"]
            text = text if isinstance(text, str) else "\n".join(text)
            facts = Facts.from_json(program["facts"]) if program.get("facts") else Facts()
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not a recording of a program: {error!r}") from None
        return cls(text, facts, names)

    @cached_property
    def printed(self) -> Printed:
        """The text as parsed."""
        return parse(self.text or "")

    @cached_property
    def index(self) -> BlockIndex:
        """Lookups over its equations."""
        return BlockIndex(self.printed, align(self.printed, self.facts))


class RecordedProgram:
    """Lookups over a recording that is a program."""

    def __init__(self, recording: Recording) -> None:
        self.printed = recording.printed
        self.index = recording.index
        self.facts = recording.facts.programs

    @cached_property
    def hidden(self) -> set[str]:
        """Names of shared programs that opaque text holds: ``Solve(matvec=jaxpr)``."""
        names: set[str] = set()
        for equation in self.printed.walk() if self.printed.shared else ():
            for parameter in equation.parameters:
                if not parameter.members:
                    names.update(_NAMED.findall(self.index.text, parameter.start, parameter.end))
        return names

    def primitive(self, equation: Equation) -> str:
        """The newest name of an equation's primitive."""
        return table().names(equation.primitive)[0]

    def parameters(self, equation: Equation) -> dict[str, RecordedValue]:
        """All parameters, also those that are not printed."""
        facts = self.index.facts.get(equation.start)
        plain = facts.parameters if facts else {}
        values = {name: RecordedValue(None, value) for name, value in plain.items()}
        for parameter in equation.parameters:
            members = [self.index.member(member) for member in parameter.members]
            values[parameter.name] = RecordedValue(
                collapsed(self.index.text[parameter.start : parameter.end]),
                plain.get(parameter.name, MISSING),
                tuple(member for member in members if member is not None),
                self.around(parameter) if parameter.members else "",
            )
        return values

    def around(self, parameter: Parameter) -> str:
        """The text of a parameter with a sign in place of each program or its name."""
        pieces, position = [], parameter.start
        for program in parameter.programs:
            pieces.append(self.index.text[position : program.start])
            position = program.end
        pieces.append(self.index.text[position : parameter.end])
        names = "|".join(map(re.escape, sorted(parameter.references, key=len, reverse=True)))
        if names:
            named = re.compile(rf"(?<![\w.])({names})(?![\w.=])")
            pieces = [named.sub(_PROGRAM, piece) for piece in pieces]
        return collapsed(_BETWEEN.sub(_PROGRAM, _PROGRAM.join(pieces)))

    def lettered(self, program: Program) -> str:
        """The text of a program with numbers in place of letters."""
        tokens = self.printed.tokens
        index = bisect_left(tokens, program.start, key=lambda token: token.start)
        first = next((t.variable for t in tokens[index:] if t.kind == BINDER), 0)
        pieces, position = [], program.start
        while index < len(tokens) and tokens[index].end <= program.end:
            token = tokens[index]
            if token.variable >= 0:
                pieces += [self.index.text[position : token.start], f"%{token.variable - first}"]
                position = token.end
            index += 1
        return collapsed("".join([*pieces, self.index.text[position : program.end]]))

    def type_of(self, thing: Variable | Operand) -> str:
        """The type of a value, ``""`` where none is known."""
        if isinstance(thing, Operand):
            return self.index.type_of(thing.variable) if thing.variable else thing.type
        return self.index.type_of(thing)

    def types(self, equation: Equation) -> list[str]:
        """The types of an equation's results."""
        return [self.type_of(variable) for variable in equation.outputs]

    def phase(self, equation: Equation) -> str | None:
        """The phase of an equation; ``None`` where nothing is known."""
        facts = self.index.facts.get(equation.start)
        return facts.phase if facts else None

    def effects(self, program: Program) -> list[str] | None:
        """The effects of a program; ``None`` where they are not known."""
        whole = 0 if program is self.printed.program else None
        index = self.index.tables.get(program.start, whole)
        if index is None or index >= len(self.facts):
            return None
        return list(self.facts[index].effects)

    def is_pure(self, program: Program) -> bool:
        """Whether the order of its equations means nothing: no effects, no references."""
        if self.effects(program) != []:
            return False
        if any(equation.primitive in table().stateful for equation in walk(program)):
            return False
        made = [v for equation in program.equations for v in equation.outputs]
        values = (*program.constants, *program.inputs, *made)
        return not any("Ref" in self.type_of(v) for v in values)

    def brief(self, equation: Equation) -> str:
        """An equation without letters: ``f32[8] = tanh``."""
        kinds = " ".join(self.types(equation))
        return f"{kinds} = {equation.primitive}" if kinds else equation.primitive


class Places:
    """What the equations of one program are called: ``[tanh]``, ``[mul][1]``."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def _known(self) -> dict[int, str]:
        counts = Counter(equation.primitive for equation in self.program.equations)
        met: Counter[str] = Counter()
        paths = {}
        for equation in self.program.equations:
            name = equation.primitive
            plain = name.isidentifier() and name.isascii() and not keyword.iskeyword(name)
            path = f"[{name}]" if plain else f'["{name}"]'
            paths[equation.start] = f"{path}[{met[name]}]" if counts[name] > 1 else path
            met[name] += 1
        return paths

    def of(self, equation: Equation) -> str:
        """The place of an equation within the program."""
        return self._known[equation.start]


def collapsed(text: str) -> str:
    """``text`` on one line."""
    return " ".join(text.split())


def literal(text: str) -> str:
    """A literal in one spelling: floats as Python writes them."""
    return repr(float(text)) if _FLOAT.fullmatch(text) else text


def normal(text: str) -> str:
    """A printed value without what only its printing decides."""
    text = _SPEC.sub("P(", _NUMPY.sub(r"\1", text))
    text = _SET.sub(lambda m: f"{m[1]}{{{', '.join(sorted(_members(m[2])))}}})", text)
    return literal(text)


def _members(text: str) -> list[str]:
    """What is between the commas of a printed set, with tuples and texts kept whole."""
    members, start, depth, quote = [], 0, 0, ""
    for index, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote and text[index - 1] != "\\" else quote
        elif sign in "'\"":
            quote = sign
        else:
            depth += (sign in "([") - (sign in ")]")
            if sign == "," and depth == 0:
                members.append(text[start:index].strip())
                start = index + 1
    return [*members, text[start:].strip()]


def kind(text: str) -> str:
    """A printed type in one spelling."""
    match = _VARYING.fullmatch(text)
    return f"{match[1]}{{V:{','.join(sorted(match[2].split(',')))}}}" if match else text
