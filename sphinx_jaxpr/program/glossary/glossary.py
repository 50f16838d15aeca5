"""What primitives mean, and what the parameters of an equation say.

The definitions are in ``primitives.toml``; a project adds its own.  Parameters are put
into words that are made of their values, by :mod:`.wording`:

    >>> builtin().in_words("dot_general", {"dimension_numbers": [[[1], [0]], [[], []]]})
    'contracts axis 1 of the left with axis 0 of the right, no batch axes'
"""

from __future__ import annotations

import ast
import re
import tomllib
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from .formats import Applied
from .wording import words

if TYPE_CHECKING:
    from ..model import Equation, EquationFacts, Plain, Printed

#: Longest printed parameter that is read as data, in characters.
MAX_TEXT: Final = 20_000


# -- definitions ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entry:
    """The definition of one primitive; the fields are explained in ``primitives.toml``."""

    name: str
    meaning: str
    kind: str = "custom"
    page: str = ""
    aliases: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    words: str = ""


_FIELDS: Final = {field.name for field in fields(Entry)} - {"name"}


#: The header of one table of ``primitives.toml``.
_HEADER: Final = re.compile(r'^\["?([^"\]\n]+)"?\]$', re.MULTILINE)
#: Wordings that a glossary keeps, and the longest values that it keeps one for, in characters.
MAX_WORDINGS: Final = 4_096
MAX_KEY: Final = 1_000


class Glossary:
    """Definitions by name; never changed once made.

    A definition may be given as the TOML text of its table, which is read when somebody asks
    for it: a project shows a few dozen primitives of several hundred.
    """

    def __init__(self, entries: Mapping[str, Entry | str]) -> None:
        self._entries = {
            # Other names lead to a definition before anybody asks for it.
            name: _entry(name, entry) if isinstance(entry, str) and _ALIASES in entry else entry
            for name, entry in entries.items()
        }
        read = [entry for entry in self._entries.values() if isinstance(entry, Entry)]
        self._names = {alias: entry.name for entry in read for alias in entry.aliases}
        self._wordings: dict[Hashable, str] = {}

    def entry(self, name: str) -> Entry | None:
        """The definition of a primitive, by its name or another name of it."""
        name = name if name in self._entries else self._names.get(name, "")
        entry = self._entries.get(name)
        if isinstance(entry, str):
            entry = self._entries[name] = _entry(name, entry)
        return entry

    def entries(self, names: Iterable[str]) -> dict[str, Entry]:
        """The definitions of those primitives that have one, by the names that are given."""
        defined = ((name, self.entry(name)) for name in names)
        return {name: entry for name, entry in defined if entry is not None}

    def known(self) -> tuple[str, ...]:
        """The names of all defined primitives, sorted, without aliases."""
        return tuple(sorted(self._entries))

    def merged(self, extra: Mapping[str, Mapping[str, str]]) -> Glossary:
        """These definitions with those of a project added.

        A field that is not given stays as it was; ``aliases`` are separated by
        blanks or commas.  Raises :exc:`ValueError` for what cannot be used.
        """
        entries = dict(self._entries)
        for name, given in extra.items():
            defined = self.entry(name)
            if unknown := set(given) - _FIELDS:
                raise ValueError(f"{name}: no such field: {', '.join(sorted(unknown))}")
            values: dict[str, Any] = dict(given)
            if wrong := [field for field, value in values.items() if not isinstance(value, str)]:
                raise ValueError(f"{name}: not a text: {', '.join(sorted(wrong))}")
            if defined is None and not given.get("meaning"):
                raise ValueError(f"{name}: a new primitive needs a meaning")
            if "aliases" in given:
                values["aliases"] = tuple(given["aliases"].replace(",", " ").split())
            entry = replace(defined, **values) if defined else Entry(name, **values)
            entries[entry.name] = entry
        return Glossary(entries) if extra else self

    def in_words(
        self,
        primitive: str,
        parameters: Mapping[str, Any],
        types: Sequence[str] = (),
        *,
        inputs: Sequence[str] = (),
        programs: Mapping[str, Sequence[Any]] | None = None,
    ) -> str:
        """What the parameters of an equation say, or ``""``; never raises.

        ``parameters``, ``types`` (of the outputs) and ``programs`` are as in
        :class:`~.model.EquationFacts`, ``inputs`` the printed types of the operands.
        The more is given, the more can be said.  A parameter that is not plain data
        may be given as :func:`printed_value` of its text.
        """
        entry = self.entry(primitive)
        name, template = (entry.name, entry.words) if entry else (primitive, "")
        return words(Applied(name, parameters, types, inputs, programs or {}), template)

    def equations_in_words(
        self, printed: Printed, facts: Mapping[int, EquationFacts]
    ) -> dict[int, str]:
        """What the parameters of each equation say, by its ``start``; ``facts`` are too."""
        text = printed.text
        return {e.start: self._of_equation(e, text, facts.get(e.start)) for e in printed.walk()}

    def _of_equation(self, equation: Equation, text: str, known: EquationFacts | None) -> str:
        """What the parameters of one equation say; equal equations are put into words once."""
        given = known.parameters if known else {}
        printed = {
            parameter.name: text[parameter.start : parameter.end]
            for parameter in equation.parameters
            if not parameter.members and parameter.name not in given
        }
        types = known.types if known else tuple(v.type for v in equation.outputs)
        inputs = tuple(operand.type for operand in equation.inputs)
        programs = known.programs if known else {}
        # All that words are made of.  Of programs it is how many there are.
        held = tuple((name, len(indices)) for name, indices in programs.items())
        key = (equation.primitive, tuple(printed.items()), _plainly(given), types, inputs, held)
        wording = self._wordings.get(key)
        if wording is None:
            values = {name: printed_value(value) for name, value in printed.items()}
            wording = self.in_words(
                equation.primitive, {**values, **given}, types, inputs=inputs, programs=programs
            )
            plainly = key[2]
            if plainly and len(plainly) + sum(map(len, printed.values())) <= MAX_KEY:
                if len(self._wordings) >= MAX_WORDINGS:
                    self._wordings.clear()
                self._wordings[key] = wording
        return wording


def _plainly(parameters: Mapping[str, Plain]) -> str:
    """Parameters as a text that differs wherever they do; ``""`` where Python prints none."""
    try:
        return repr(parameters)
    except (ValueError, RecursionError):  # a huge integer, a deep list
        return ""


@cache
def builtin() -> Glossary:
    """The definitions that come with the package."""
    text = files(__package__).joinpath("primitives.toml").read_text("utf-8")
    headers = list(_HEADER.finditer(text))
    ends = [*(header.start() for header in headers[1:]), len(text)]
    return Glossary(
        {header[1]: text[header.end() : end] for header, end in zip(headers, ends, strict=True)}
    )


_ALIASES: Final = "\naliases = "


def _entry(name: str, table: str) -> Entry:
    """A definition from the text of its table."""
    values = tomllib.loads(table)
    return Entry(name, **{**values, "aliases": tuple(values.get("aliases", ()))})


#: Largest number that is read, in bits: of about as many digits as Python prints.
MAX_BITS: Final = 4_096


class Gathered(list[Any]):
    """What a printed set holds, in printed order."""


def printed_value(text: str) -> Any:
    """The plain data that a parameter's printed text shows, else the text itself.

    Names are texts, tuples and sets (as :class:`Gathered`) are lists, and so are calls:
    the list of their arguments, as in ``P('data', None)``.  A number or an array of numpy is
    what it holds.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers that run into words
            return _plain(ast.parse(text.strip()[:MAX_TEXT], mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text


def _plain(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() as value) if value.bit_length() > MAX_BITS:
            raise ValueError("Python prints no such number")
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="True_" | "False_" as name):
            return name == "True_"
        case ast.Name() | ast.Attribute():
            return ast.unparse(node)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple() | ast.List():
            return [_plain(item) for item in node.elts]
        case ast.Set():
            return Gathered(_plain(item) for item in node.elts)
        case ast.Call(func=ast.Name(id="frozenset"), args=[ast.Set() as items]):
            return _plain(items)
        case ast.Call(func=function, args=[value]) if _is_numpy(function):
            return _plain(value)
        case ast.Call():
            return [_plain(item) for item in (*node.args, *(k.value for k in node.keywords))]
    raise ValueError(type(node).__name__)


def _is_numpy(function: ast.expr) -> bool:
    """Whether a call is how numpy prints a number or an array, ``np.float32(0.5)``."""
    match function:
        case ast.Attribute(value=ast.Name(id="np" | "numpy" | "ml_dtypes")):
            return True
        case ast.Name(id=name):
            return name in ("array", "Array", "bfloat16") or name.startswith("float8_")
    return False
