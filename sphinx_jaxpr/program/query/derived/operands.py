"""Operands of loops, branches and calls by what they are, the same on every JAX.

An equation that holds programs lists its operands in one row: ``scan`` its constants, then
its carry, then the arrays that it takes slices of.  Where one part ends and the next begins
is in parameters that JAX has renamed and removed, or follows from the programs:

- an array that ``scan`` goes through has one axis more than the body's input for it, and so
  has a result that it stacks;
- what a loop carries is as much as it returns; ``while`` gives each of its two programs the
  constants of its own before that.

The parameters count where they are there; else the programs decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...facts import NO_NAMES, InputNames
from ...glossary.formats import listed
from ...glossary.glossary import builtin
from ...model import Equation, Operand, Program, Variable
from ..blocks import QueryBlock, shape_of
from ..syntax import PathError, nearest

#: Which primitives have which words, by the names of our definitions.
_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "scan": ("consts", "carry", "xs", "final_carry", "ys"),
    "while": ("cond_consts", "body_consts", "carry", "final_carry"),
    "cond": ("branch", "operands"),
    "custom_jvp_call": ("consts", "operands"),
    "custom_vjp_call": ("consts", "operands"),
    "linear_call": ("consts", "operands"),
    "custom_linear_solve": ("consts", "operands"),
}
#: The words of all others that call a program: JAX doesn't note which operands it closed over.
_OF_CALLS: Final = ("operands",)
_CALLING: Final = frozenset({"call", "autodiff"})
_SHARD_MAP: Final = "shard_map"
#: The words for the inputs of a program inside, by the primitive and the parameter.
_INSIDE: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("scan", "jaxpr"): ("consts", "carry", "xs"),
    ("while", "cond_jaxpr"): ("cond_consts", "carry"),
    ("while", "body_jaxpr"): ("body_consts", "carry"),
    ("cond", "branches"): ("operands",),
    ("custom_jvp_call", "call_jaxpr"): ("consts", "operands"),
    ("custom_vjp_call", "call_jaxpr"): ("consts", "operands"),
}
#: All words, each once.
OF_OPERANDS: Final = tuple(dict.fromkeys(word for words in _WORDS.values() for word in words))
#: Those of results.
OF_RESULTS: Final = frozenset({"final_carry", "ys"})
#: The one that is a single value.
BRANCH: Final = "branch"
_COUNTS: Final[dict[str, str]] = {  # parameters with the number of constants
    "custom_jvp_call": "num_consts",
    "custom_vjp_call": "num_consts",
    "linear_call": "num_callee_consts",
}


@dataclass(frozen=True)
class Held:
    """An equation with what it holds: ``parameter`` gives plain values, ``program`` programs."""

    block: QueryBlock
    path: str
    equation: Equation
    parameter: Callable[[str], Any]

    def number(self, name: str) -> int | None:
        """A parameter that is a number of operands."""
        value = self.parameter(name)
        return int(value) if isinstance(value, int) else None

    def program(self, name: str) -> Program | None:
        """The program that a parameter holds."""
        for parameter in self.equation.parameters:
            if parameter.name == name and len(parameter.members) == 1:
                return self.block.index.member(parameter.members[0])
        return None

    def unknown(self, word: str) -> PathError:
        """That neither parameters nor programs say where a part ends."""
        return PathError(
            f"`{self.path}.{word}` can't be determined: neither the parameters of"
            f" `{self.equation.primitive}` nor its programs say how many there are"
        )


def words_of(equation: Equation) -> tuple[str, ...]:
    """The words for operands and results that an equation has; ``()`` where it has none."""
    entry = builtin().entry(equation.primitive)
    name, kind = (entry.name, entry.kind) if entry else (equation.primitive, "")
    if name in _WORDS:
        return _WORDS[name]
    holds = any(parameter.members for parameter in equation.parameters)
    return _OF_CALLS if holds and (kind in _CALLING or name == _SHARD_MAP) else ()


def positions(held: Held, word: str) -> range:
    """Where the operands, or results, of a word are in their row.

    Raises :exc:`PathError` where the equation has no such word, or no text says it.
    """
    equation = held.equation
    words = words_of(equation)
    if word not in words:
        raise PathError(_refusal(held, word, words))
    count = len(equation.outputs if word in OF_RESULTS else equation.inputs)
    parts = _PARTS.get(_name(equation), _of_calls)(held, word)
    if parts is None or word not in parts or parts[word].stop > count:
        raise held.unknown(word)
    return parts[word]


def names_inside(held: Held, parameter: str, count: int) -> InputNames:
    """Names for the ``count`` inputs of a program that a parameter holds, if it has some."""
    words = _INSIDE.get((_name(held.equation), parameter), ())
    try:
        spans = [(word, positions(held, word)) for word in words]
    except PathError:
        return NO_NAMES
    arguments = tuple(word for word, span in spans for _ in span)
    leaves = tuple(f"{word}[{number}]" for word, span in spans for number in range(len(span)))
    return InputNames(arguments, leaves, words) if len(arguments) == count else NO_NAMES


def misplaced(primitive: str, word: str) -> str:
    """Why no equation of a primitive has a word, ``""`` where some may have it."""
    entry = builtin().entry(primitive)
    if entry is None or word not in OF_OPERANDS:
        return ""
    is_call = entry.kind in _CALLING or entry.name == _SHARD_MAP
    words = _WORDS.get(entry.name, _OF_CALLS if is_call else ())
    if word in words:
        return ""
    has = ", ".join(f"`.{name}`" for name in words or ("inputs",))
    return f"`{primitive}` has no `.{word}`; its operands are {has}"


def unknown_inside(primitive: str, parameter: str, name: str) -> str:
    """Why no program in a parameter of a primitive has an input of a name, else ``""``."""
    entry = builtin().entry(primitive)
    words = _INSIDE.get((entry.name if entry else primitive, parameter), ())
    word = name.partition("[")[0]
    if not words or word in words:
        return ""
    near = nearest(word, words) or f" (names: {', '.join(words)})"
    return f"the inputs of `{parameter}` of `{primitive}` have no `{name}`{near}"


def _name(equation: Equation) -> str:
    """The primitive by the name of its definition."""
    entry = builtin().entry(equation.primitive)
    return entry.name if entry else equation.primitive


def _refusal(held: Held, word: str, words: Sequence[str]) -> str:
    path, primitive = held.path, held.equation.primitive
    owners = [f"`{name}`" for name, theirs in _WORDS.items() if word in theirs]
    if word == _OF_CALLS[0]:
        owners += ["calls such as `jit`", "`shard_map`"]
    text = f"`{path}` is `{primitive}`, which has no `.{word}`"
    if words:
        return f"{text}: it has {listed(f'`.{name}`' for name in words)}"
    return f"{text}, as {listed(owners)} have it; all operands are `{path}.inputs`"


# -- the parts of each primitive: by word, where its operands or results are

_Parts = Mapping[str, range]


def _rows(*parts: tuple[str, int]) -> _Parts | None:
    """Parts that follow one another, each with its length."""
    rows, start = {}, 0
    for word, length in parts:
        if length < 0:
            return None
        rows[word] = range(start, start + length)
        start += length
    return rows


def _scan(held: Held, word: str) -> _Parts | None:
    inputs, outputs = held.equation.inputs, held.equation.outputs
    consts, carry = held.number("num_consts"), held.number("num_carry")
    if consts is None or carry is None:
        body = held.program("jaxpr")
        if body is None or len(body.outputs) != len(outputs):
            return None
        stacked = _longer(_ranks(held, outputs), _ranks_of_results(held, body))
        sliced = _longer(_ranks(held, inputs), _ranks(held, body.inputs))
        if stacked is None or sliced is None:
            return None
        carry = len(outputs) - stacked
        consts = len(inputs) - sliced - carry
    if word in OF_RESULTS:
        return _rows(("final_carry", carry), ("ys", len(outputs) - carry))
    return _rows(("consts", consts), ("carry", carry), ("xs", len(inputs) - consts - carry))


def _while(held: Held, word: str) -> _Parts | None:
    total, carry = len(held.equation.inputs), len(held.equation.outputs)
    if word in OF_RESULTS:
        return _rows(("final_carry", carry))
    of_cond, of_body = held.number("cond_nconsts"), held.number("body_nconsts")
    if of_cond is None or of_body is None:
        condition, body = held.program("cond_jaxpr"), held.program("body_jaxpr")
        if condition is None or body is None:
            return None
        of_cond, of_body = len(condition.inputs) - carry, len(body.inputs) - carry
    if of_cond + of_body + carry != total:
        return None
    return _rows(("cond_consts", of_cond), ("body_consts", of_body), ("carry", carry))


def _cond(held: Held, word: str) -> _Parts | None:
    return _rows((BRANCH, 1), ("operands", len(held.equation.inputs) - 1))


def _rule(held: Held, word: str) -> _Parts | None:
    """A rule for derivatives: its constants are the first of its operands."""
    consts = held.number(_COUNTS[_name(held.equation)])
    if consts is None:
        return None
    return _rows(("consts", consts), ("operands", len(held.equation.inputs) - consts))


def _solve(held: Held, word: str) -> _Parts | None:
    """``custom_linear_solve`` closes over values with four functions, of which some may lack."""
    lengths = held.parameter("const_lengths")
    if not isinstance(lengths, (list, tuple)):
        return None
    consts = sum(int(number) for number in lengths if isinstance(number, int))
    return _rows(("consts", consts), ("operands", len(held.equation.inputs) - consts))


def _of_calls(held: Held, word: str) -> _Parts | None:
    return _rows(("operands", len(held.equation.inputs)))


_PARTS: Final[dict[str, Callable[[Held, str], _Parts | None]]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "custom_jvp_call": _rule,
    "custom_vjp_call": _rule,
    "linear_call": _rule,
    "custom_linear_solve": _solve,
}


def _ranks(held: Held, things: Iterable[Variable | Operand]) -> list[int | None]:
    """How many axes operands or results have; ``None`` where their types aren't known."""
    ranks: list[int | None] = []
    for thing in things:
        variable = thing if isinstance(thing, Variable) else thing.variable
        if variable is None:  # a literal: older JAX prints no type behind it
            ranks.append(0 if isinstance(thing, Operand) and thing.text != "_" else None)
        else:
            ranks.append(_rank(held.block.index.type_of(variable)))
    return ranks


def _rank(kind: str) -> int | None:
    """The axes of a type; one without a shape has none, and counts as the same everywhere."""
    return len(shape_of(kind) or ()) if kind else None


def _ranks_of_results(held: Held, body: Program) -> list[int | None]:
    """The same of what a program returns: JAX before 0.8 prints some as ``_``, without types."""
    table = held.block.index.tables.get(body.start)
    if table is not None:
        return [_rank(kind) for kind in held.block.facts.programs[table].outputs]
    return _ranks(held, body.outputs)


def _longer(outer: Sequence[int | None], inner: Sequence[int | None]) -> int | None:
    """How many at the end have one axis more than those inside; ``None`` if that is unclear."""
    if len(outer) != len(inner):
        return None
    longer = []
    for outside, within in zip(outer, inner, strict=True):
        if outside is None or within is None or outside - within not in (0, 1):
            return None
        longer.append(outside > within)
    count = sum(longer)
    return count if all(longer[len(longer) - count :]) else None
