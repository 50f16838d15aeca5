"""The plain data that every other room passes around.

A :class:`Printed` is JAX's printed text of one jaxpr together with its
structure.  All positions are character offsets into ``Printed.text``, half
open as in a Python slice, so that nothing of the text is ever copied or lost.
Tokens and operands, of which there are most, are named tuples: Python makes
them three times as fast as frozen dataclasses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

# Token kinds.  A binder introduces a variable, a use reads it; text that no
# token covers (spaces, punctuation, opaque reprs) is shown as it is.
BINDER: Final = "binder"
USE: Final = "use"
TYPE: Final = "type"
PRIMITIVE: Final = "primitive"
KEYWORD: Final = "keyword"
PARAMETER: Final = "parameter"
LITERAL: Final = "literal"


class Token(NamedTuple):
    """One coloured piece of the text; ``variable`` is set for binders and uses.

    It is the index of a :class:`Variable`, -1 in a use that nothing binds.
    """

    start: int
    end: int
    kind: str
    variable: int = -1


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Parameter:
    """``name=value`` of an equation; ``start``, ``end`` span the value.

    ``programs`` are those printed inside the value, in order; ``references``
    are names of shared programs (``jaxpr=relu``) that the value is made of.
    ``members`` are both, in the order of the value, as ``branches`` mixes them;
    the programs that a text inside the value shares (``[let f = ... in ...]``)
    are named by members and are none themselves.  ``frame`` is the text around
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


@dataclass(frozen=True, slots=True)
class Equation:
    """``binders = primitive[parameters] operands``, or without binders."""

    start: int
    end: int
    primitive: str
    outputs: tuple[Variable, ...]
    inputs: tuple[Operand, ...]
    parameters: tuple[Parameter, ...]

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs printed inside this equation, in printed order."""
        return tuple(p for parameter in self.parameters for p in parameter.programs)


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Printed:
    """A text and what was understood of it.

    ``program`` is ``None`` where the text is no jaxpr at all: then it is shown
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

    def walk(self) -> Iterator[Equation]:
        """Every equation at any depth, shared programs first, as printed."""
        for _, program in self.shared:
            yield from walk(program)
        if self.program is not None:
            yield from walk(self.program)


def walk(program: Program) -> Iterator[Equation]:
    """Every equation of ``program`` at any depth, in printed order.

    Iterative, so that a deeply nested program can't exhaust the stack.
    """
    stack: list[Iterator[Equation]] = [iter(program.equations)]
    while stack:
        equation = next(stack[-1], None)
        if equation is None:
            stack.pop()
            continue
        yield equation
        stack.extend(iter(p.equations) for p in reversed(equation.programs))


def programs(printed: Printed) -> list[Program]:
    """Every program at any depth, shared ones and the outermost first."""
    found = [program for _, program in printed.shared]
    if printed.program is not None:
        found.append(printed.program)
    for equation in printed.walk():
        found.extend(equation.programs)
    return found


#: A parameter as JSON has it; ``{"dtype": ...}`` and ``{"text": ...}`` are objects with a name.
Plain: TypeAlias = None | bool | int | float | str | list["Plain"] | dict[str, str]


@dataclass(frozen=True, slots=True)
class EquationFacts:
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
