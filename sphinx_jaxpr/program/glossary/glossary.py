"""What primitives mean, and what the parameters of an equation say.

The definitions are in ``primitives.toml``; a project adds its own.  Parameters are put
into words that are made of their values, by :mod:`.wording`:

    >>> builtin().in_words("dot_general", {"dimension_numbers": [[[1], [0]], [[], []]]})
    'contracts axis 1 of the left with axis 0 of the right, no batch axes'
"""

from __future__ import annotations

import ast
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from .formats import Applied
from .wording import words

if TYPE_CHECKING:
    from ..model import EquationFacts, Printed

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


class Glossary:
    """Definitions by name; never changed once made."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = {entry.name: entry for entry in entries}
        self._names = {alias: e.name for e in self._entries.values() for alias in e.aliases}
        self._names |= {name: name for name in self._entries}

    def entry(self, name: str) -> Entry | None:
        """The definition of a primitive, by its name or another name of it."""
        return self._entries.get(self._names.get(name, ""))

    def entries(self, names: Iterable[str]) -> dict[str, Entry]:
        """The definitions of those primitives that have one, by the names that are given."""
        known = ((name, self._entries.get(self._names.get(name, ""))) for name in names)
        return {name: entry for name, entry in known if entry is not None}

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
        return Glossary(entries.values())

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
        (text,) = words([self._use(primitive, parameters, types, inputs, programs or {})])
        return text

    def _use(
        self,
        primitive: str,
        parameters: Mapping[str, Any],
        types: Sequence[str],
        inputs: Sequence[str],
        programs: Mapping[str, Sequence[Any]],
    ) -> tuple[Applied, str]:
        """One use of a primitive, and the template of its words."""
        entry = self.entry(primitive)
        name, template = (entry.name, entry.words) if entry else (primitive, "")
        return Applied(name, parameters, types, inputs, programs), template

    def equations_in_words(
        self, printed: Printed, facts: Mapping[int, EquationFacts]
    ) -> dict[int, str]:
        """What the parameters of each equation say, by its ``start``; ``facts`` are too."""
        equations = printed.walk()
        uses = []
        for equation in equations:
            parameters: dict[str, Any] = {
                parameter.name: printed_value(printed.text[parameter.start : parameter.end])
                for parameter in equation.parameters
                if not parameter.members
            }
            known = facts.get(equation.start)
            if known is not None:
                parameters |= known.parameters
            types = known.types if known else tuple(v.type for v in equation.outputs)
            inputs = [operand.type for operand in equation.inputs]
            programs = known.programs if known else {}
            uses.append(self._use(equation.primitive, parameters, types, inputs, programs))
        return {e.start: text for e, text in zip(equations, words(uses), strict=True)}


@cache
def builtin() -> Glossary:
    """The definitions that come with the package."""
    text = files(__package__).joinpath("primitives.toml").read_text("utf-8")
    tables = tomllib.loads(text).items()
    return Glossary(
        Entry(name, **{**table, "aliases": tuple(table.get("aliases", ()))})
        for name, table in tables
    )


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
