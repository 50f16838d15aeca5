"""What all values have: elements, a kind in words, a weight as work."""

from __future__ import annotations

import ast
from typing import Any, Final

from .base import Asking, View, ordered, words
from .facts.parameters import Given, GivenSet, is_flag
from .facts.words import AxisNames
from .scope import BlockView
from .syntax import PathError
from .views import Equations, Uses
from .vocabulary import Word

SIGNS: Final[dict[type[ast.AST], str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}


def program_of(value: Any) -> Any:
    """A block's program, or the value as it is."""
    return value.program() if isinstance(value, BlockView) else value


def number_of(value: Any) -> Any:
    """The uses of a value as their number, or the value as it is."""
    return len(value.equations) if isinstance(value, Uses) else value


def sets_of(left: Any, right: Any) -> tuple[Any, Any]:
    """Two sides, where one is a set from a parameter and the other a set, as sets."""
    if isinstance(left, (GivenSet, AxisNames)) and isinstance(right, (frozenset, GivenSet)):
        left = frozenset(left)
    if isinstance(right, (GivenSet, AxisNames)) and isinstance(left, frozenset):
        right = frozenset(right)
    return left, right


def settled(value: Any) -> Any:
    """A value as an element of what compares its elements: uses are numbers there."""
    if isinstance(value, tuple) and value and not isinstance(value, (Given, AxisNames)):
        return tuple(settled(item) for item in value)
    return number_of(program_of(value))


def elements(value: Any, asking: Asking, noun: str) -> tuple[Any, ...]:
    """What ``value`` is a collection of."""
    value = program_of(value)
    items: tuple[Any, ...] | None = None
    if isinstance(value, tuple):
        items = value
    elif isinstance(value, frozenset):
        weigh(value, asking)
        items = ordered(value)
    elif isinstance(value, View):
        if isinstance(value, Equations):  # paid before views are made
            asking.spend(3 * len(value.equations))
        items = value.members()
    if items is None:
        raise PathError(f"{noun} takes a list or a program, not {kind(value)}")
    asking.spend(len(items))
    return items


def kind(value: Any) -> str:
    """What a value is, in words."""
    if isinstance(value, BlockView):
        return f"the block `{value.path}`"
    if isinstance(value, View):
        return f"`{value.path}` ({value.what})"
    if isinstance(value, Word):
        return f'the {value.what} "{words(value)[:40]}"'
    if is_flag(value):
        return "true or false"
    for types, noun in _KINDS:
        if isinstance(value, types):
            return noun
    return f'the text "{words(value)[:40]}"'


_KINDS: Final = (
    ((int, float), "a number"),
    (tuple, "a list"),
    (frozenset, "a set"),
    (type(None), "None"),
)


def weigh(value: Any, asking: Asking) -> None:
    """Count a value as work, element by element, before Python walks through it."""
    todo = [value]
    while todo:
        current = todo.pop()
        asking.spend(1)
        if isinstance(current, (tuple, frozenset)):
            todo.extend(current)
        elif isinstance(current, str):
            asking.spend(len(current) // 100)
        elif isinstance(current, View):
            asking.spend(len(current.key) // 10)
