"""The plain data that every other room passes around.

A :class:`Printed` is JAX's printed text of one jaxpr together with its
structure.  All positions are character offsets into ``Printed.text``, half
open as in a Python slice, so that nothing of the text is ever copied or lost.
Tokens, operands and facts, of which there are most, are named tuples: Python makes
them three times as fast as frozen dataclasses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from .text import clipped, expect, inert, plural

#: Longest ``repr`` of what is here, in characters.
MAX_REPR: Final = 160

# Token kinds.  A binder introduces a variable, a use reads it; text that no
# token covers (spaces, punctuation, opaque reprs) is shown as it is.
BINDER: Final = "binder"
USE: Final = "use"
TYPE: Final = "type"
PRIMITIVE: Final = "primitive"
KEYWORD: Final = "keyword"
PARAMETER: Final = "parameter"
LITERAL: Final = "literal"


class Span(Protocol):
    """A piece of a text: token, operand, parameter, equation or program."""

    @property
    def start(self) -> int:
        """Where it begins in the text."""

    @property
    def end(self) -> int:
        """Where it ends: the offset of the first character after it."""


class Token(NamedTuple):
    """One coloured piece of the text.

    ``kind`` is ``binder``, ``use``, ``type``, ``primitive``, ``keyword``, ``parameter`` or
    ``literal``.  ``variable`` is, in a binder or a use, the index of its :class:`Variable`,
    and -1 in a use that nothing binds.
    """

    start: int
    end: int
    kind: str
    variable: int = -1


def _setters(cls: type) -> list[Callable[[Any, Any], None]]:
    """What writes the fields of a new frozen object, which nothing else may.

    Programs consist of thousands of these; the ``__init__`` that ``dataclass`` makes for a
    frozen class takes three times as long.
    """
    return [getattr(cls, part.name).__set__ for part in fields(cls)]


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Variable:
    """One binding.  The same letter in another scope is another variable.

    ``index`` is unique in one :class:`Printed`; ``name`` is the printed letter
    (``_`` where JAX prints a dropped value); ``type`` is the printed type
    without its colon (``f32[8]``, ``bf16[4,64]{V:data}``), ``""`` where the
    text has none.
    """

    index: int
    name: str
    type: str

    def __init__(self, index: int, name: str, type: str) -> None:
        _set_index(self, index)
        _set_name(self, name)
        _set_type(self, type)

    def __repr__(self) -> str:
        typed = f":{self.type}" if self.type else ""
        return f"<Variable {clipped(inert(self.name + typed), MAX_REPR)}>"


_set_index, _set_name, _set_type = _setters(Variable)


class Operand(NamedTuple):
    """A use of a variable, or a literal (``variable is None``), as printed.

    ``text`` is the name or the value; a literal's type, printed behind it in
    newer versions (``1.0:f32[]``), is in ``type`` and within ``start``, ``end``.
    ``variable`` is also ``None`` for a name that nothing in the text binds.
    """

    start: int
    end: int
    text: str
    variable: Variable | None
    type: str

    def __repr__(self) -> str:
        return f"<Operand {clipped(inert(self.text), MAX_REPR)}>"


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Parameter:
    """``name=value`` of an equation; ``start``, ``end`` span the value.

    ``programs`` are those printed inside the value, in order; ``references``
    are names of shared programs (``jaxpr=relu``) that the value is made of.
    ``members`` are both, in the order of the value, as ``branches`` mixes them;
    the programs that a text inside the value shares (``[let f = ... in ...]``)
    are named in ``members`` but are not members themselves.  ``frame`` is the text around
    programs that an object holds (``Solve(matvec=…, n=3)``), ``""`` where the
    value is a program or a tuple of programs.  ``is_opaque``: a program is
    printed inside that could not be read.
    """

    name: str
    start: int
    end: int
    programs: tuple[Program, ...] = ()
    references: tuple[str, ...] = ()
    members: tuple[Program | str, ...] = ()
    frame: str = ""
    is_opaque: bool = False

    def __init__(
        self,
        name: str,
        start: int,
        end: int,
        programs: tuple[Program, ...] = (),
        references: tuple[str, ...] = (),
        members: tuple[Program | str, ...] = (),
        frame: str = "",
        is_opaque: bool = False,
    ) -> None:
        _set_parameter_name(self, name)
        _set_parameter_start(self, start)
        _set_parameter_end(self, end)
        _set_parameter_programs(self, programs)
        _set_references(self, references)
        _set_members(self, members)
        _set_frame(self, frame)
        _set_is_opaque(self, is_opaque)

    def __repr__(self) -> str:
        held = f" with {plural(len(self.members), 'program')}" if self.members else ""
        return f"<Parameter {clipped(inert(self.name), MAX_REPR)}{held}>"


(
    _set_parameter_name,
    _set_parameter_start,
    _set_parameter_end,
    _set_parameter_programs,
    _set_references,
    _set_members,
    _set_frame,
    _set_is_opaque,
) = _setters(Parameter)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Equation:
    """``binders = primitive[parameters] operands``, or without binders.

    ``outputs`` are the variables that it binds, ``inputs`` what it is applied to.
    ``programs`` are those printed inside, in printed order: those of the parameters.
    """

    start: int
    end: int
    primitive: str
    outputs: tuple[Variable, ...]
    inputs: tuple[Operand, ...]
    parameters: tuple[Parameter, ...]
    programs: tuple[Program, ...] = field(default=(), compare=False)

    def __init__(
        self,
        start: int,
        end: int,
        primitive: str,
        outputs: tuple[Variable, ...],
        inputs: tuple[Operand, ...],
        parameters: tuple[Parameter, ...],
        programs: tuple[Program, ...] = (),
    ) -> None:
        _set_start(self, start)
        _set_end(self, end)
        _set_primitive(self, primitive)
        _set_outputs(self, outputs)
        _set_inputs(self, inputs)
        _set_parameters(self, parameters)
        _set_programs(self, programs)

    def __str__(self) -> str:
        """It without types and parameters: ``c = tanh b``."""
        results = _some([variable.name for variable in self.outputs])
        operands = _some([operand.text for operand in self.inputs])
        return f"{results} = {self.primitive} {operands}".strip().removeprefix("= ")

    def __repr__(self) -> str:
        return f"<Equation {clipped(inert(str(self)), MAX_REPR)}>"


(
    _set_start,
    _set_end,
    _set_primitive,
    _set_outputs,
    _set_inputs,
    _set_parameters,
    _set_programs,
) = _setters(Equation)


def _some(words: list[str], most: int = 6) -> str:
    """Words with blanks between them; of many only the first."""
    return " ".join(words if len(words) <= most else [*words[: most - 1], "..."])


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    """``{ lambda consts ; inputs. let equations in (outputs) }``.

    ``start``, ``end`` span the braces and what is between them; ``header_end``
    is the offset after ``let`` (``start`` where there is none).
    """

    start: int
    end: int
    header_end: int
    constants: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Operand, ...]

    def __repr__(self) -> str:
        """The counts, and the commonest primitives."""
        counts = Counter(equation.primitive for equation in self.equations)
        named = ", ".join(name if n == 1 else f"{n} {name}" for name, n in counts.most_common(6))
        more = ", ..." if len(counts) > 6 else ""
        count = plural(len(self.equations), "equation")
        listed = f": {named}{more}" if named else ""
        return f"<Program of {clipped(inert(count + listed), MAX_REPR)}>"


@dataclass(frozen=True, repr=False)
class Printed:
    """A printed jaxpr: its text, and the structure that was read from it.

    ``program`` is ``None`` where the text is not a jaxpr at all: then it is shown
    as it is.  ``shared`` are the leading ``let name = {...} in`` programs, in
    printed order; ``local`` those of texts inside of parameters, which have names
    of their own.  ``tokens`` are sorted and never overlap.
    """

    text: str
    program: Program | None
    shared: tuple[tuple[str, Program], ...]
    tokens: tuple[Token, ...]
    local: tuple[tuple[str, Program], ...] = ()

    @property
    def named(self) -> dict[str, Program]:
        """What references of parameters name."""
        return dict((*self.shared, *self.local))

    def text_of(self, part: Span) -> str:
        """The text of a token, operand, parameter (its value), equation or program."""
        return self.text[part.start : part.end]

    def __repr__(self) -> str:
        if self.program is None:
            return f"<Printed text of {len(self.text):,} characters, without a program>"
        count = plural(len(self.program.equations), "equation")
        shared = f", {plural(len(self.shared), 'shared program')}" if self.shared else ""
        return f"<Printed program of {count}{shared}, {len(self.text):,} characters>"

    def walk(self) -> tuple[Equation, ...]:
        """Every equation at any depth, shared programs first, as printed."""
        return self._equations

    @cached_property
    def _equations(self) -> tuple[Equation, ...]:
        # Nearly everything that reads a program goes through all of it.
        outermost = [program for _, program in self.shared]
        if self.program is not None:
            outermost.append(self.program)
        return _walk(outermost)


def walk(program: Program) -> tuple[Equation, ...]:
    """Every equation of ``program`` at any depth, in printed order.

    >>> printed = parse("{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = cos b in (c,) }")
    >>> [equation.primitive for equation in walk(printed.program)]
    ['sin', 'cos']

    Raises :exc:`TypeError` for anything but a :class:`Program`.
    """
    expect(program, Program, "a program, such as `printed.program`")
    return _walk([program])


def _walk(programs: list[Program]) -> tuple[Equation, ...]:
    # Iterative, so that a deeply nested program can't exhaust the stack.
    equations: list[Equation] = []
    ahead = [iter(program.equations) for program in reversed(programs)]
    while ahead:
        for equation in ahead[-1]:
            equations.append(equation)
            if equation.programs:
                ahead += [iter(nested.equations) for nested in reversed(equation.programs)]
                break
        else:
            ahead.pop()
    return tuple(equations)


def programs(printed: Printed) -> list[Program]:
    """Every program at any depth, shared ones and the outermost first."""
    every = [program for _, program in printed.shared]
    if printed.program is not None:
        every.append(printed.program)
    for equation in printed.walk():
        if equation.programs:
            every.extend(equation.programs)
    return every


#: A parameter as JSON has it; ``{"dtype": ...}`` and ``{"text": ...}`` are objects with a name.
Plain: TypeAlias = None | bool | int | float | str | list["Plain"] | dict[str, str]


class EquationFacts(NamedTuple):
    """What the jaxpr object knows of an equation and its text does not.

    ``phase`` is ``forward``, ``tangent``, ``transpose``, ``recomputed`` or
    ``""``; ``source`` is (project-relative file, line, function) or ``None``;
    ``types`` are the printed short types of the outputs; ``parameters`` maps
    each parameter to plain data where it is plain, else to its ``repr``;
    ``programs`` maps parameters to indices into the block's table of programs;
    ``unused``: it has no effects, and nothing needs its results.
    """

    primitive: str
    phase: str
    source: tuple[str, int, str] | None
    types: tuple[str, ...]
    parameters: Mapping[str, Plain]
    programs: Mapping[str, tuple[int, ...]]
    unused: bool = False


# --- what flows through an equation, and what a program keeps


class Reached(NamedTuple):
    """The operands that reach a value, as bits of a number: the lowest stands for the first.

    ``is_certain`` is false where each of them may or may not reach it.
    """

    operands: int
    is_certain: bool


class EquationFlow(NamedTuple):
    """Which operands reach each result, and each reference that is written to.

    ``writes`` has the position of a reference among the operands with what reaches it.
    """

    outputs: tuple[Reached, ...]
    writes: tuple[tuple[int, Reached], ...] = ()


#: Values of a program: the position of an equation, or one of these, and a position in it.
CONSTANTS: Final = -2
INPUTS: Final = -1
Kept: TypeAlias = "tuple[tuple[int, int], ...]"
#: In place of values that can't be listed.
UNKNOWN: Final[Kept] = ((-3, 0),)
