"""Operators and functions on the values of an expression, all of bounded size."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from .base import Asking, View, words
from .elements import SIGNS, elements, kind, number_of, program_of, sets_of, settled, weigh
from .equality import aligned
from .equivalence import same
from .evidence import Idle, Nothing, drawn, emptiness, idle, listing, pile, reason_of, verdict_of
from .flow.dependence import depends, reads
from .syntax import PathError
from .views import Equations, EquationView
from .vocabulary import Primitive

#: Largest whole number that may come up, in bits.
MAX_BITS: Final = 256
#: Longest text, in characters, and list, in elements.
MAX_TEXT: Final = 100_000
MAX_ITEMS: Final = 20_000


# -- arithmetic ---------------------------------------------------------------------------


def binary(operator: ast.operator, left: Any, right: Any, asking: Asking) -> Any:
    """An arithmetic operator, also on texts, lists and sets where that is plain."""
    left, right = sets_of(number_of(left), number_of(right))
    sign = SIGNS[type(operator)]
    try:
        if isinstance(left, frozenset) and isinstance(right, frozenset):
            return _of_sets(sign, left, right, asking)
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return _of_numbers(sign, left, right)
        if isinstance(left, (str, tuple)):
            return _of_lists(sign, left, right, asking)
        if isinstance(right, (str, tuple)) and sign == "*":
            return _of_lists(sign, right, left, asking)
    except ZeroDivisionError:
        raise PathError("division by zero") from None
    except OverflowError:
        raise PathError("a number is too large") from None
    raise _refused(sign, left, right)


def _refused(sign: str, left: Any, right: Any) -> PathError:
    return PathError(f"`{sign}` can't be used on {kind(left)} and {kind(right)}")


_NUMERIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
}
_SETS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "-": lambda a, b: a - b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


def _of_numbers(sign: str, left: Any, right: Any) -> Any:
    if sign not in _NUMERIC:
        raise _refused(sign, left, right)
    whole = sign == "**" and isinstance(left, int) and isinstance(right, int)
    if whole and (abs(right) > MAX_BITS or left.bit_length() * abs(right) > 2 * MAX_BITS):
        raise PathError(f"`**`: the result would be too large ({words(left)} ** {words(right)})")
    return number(_NUMERIC[sign](left, right))


def number(value: Any) -> Any:
    """A result that may stay; neither too large nor complex."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise PathError("a number is too large")
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise PathError("a result is not finite")
    return value


def _of_lists(sign: str, left: Any, right: Any, asking: Asking) -> Any:
    limit = MAX_TEXT if isinstance(left, str) else MAX_ITEMS
    noun = "text" if isinstance(left, str) else "list"
    size = -1
    if sign == "+" and isinstance(right, str if isinstance(left, str) else tuple):
        size = len(left) + len(right)
    elif sign == "*" and isinstance(right, int):
        size = len(left) * max(right, 0)
    if size < 0:
        raise _refused(sign, left, right)
    if size > limit:
        raise PathError(f"a {noun} grew longer than {limit:,}")
    asking.spend(size // (100 if noun == "text" else 1) + 1)
    if noun == "text":
        return str(left) + str(right) if sign == "+" else str(left) * right
    joined = tuple(left) + tuple(right) if sign == "+" else tuple(left) * right
    return listing(joined, emptiness(left) or (emptiness(right) if sign == "+" else None))


def _of_sets(sign: str, first: Any, second: Any, asking: Asking) -> Any:
    if sign not in _SETS:
        raise _refused(sign, first, second)
    asking.spend(len(first) + len(second))
    weigh((first, second), asking)
    left, right = aligned(first, second, asking, sign)
    # What second sets share may be nothing though both looked at something.
    first, second = emptiness(first), emptiness(second)
    reason = {"&": drawn(first or second), "-": drawn(first)}.get(sign, first and second)
    return pile(_SETS[sign](left, right), reason)


# -- functions ----------------------------------------------------------------------------


def call(
    name: str, arguments: list[Any], asking: Asking, named: Mapping[str, bool] | None = None
) -> Any:
    """A function by its name; names were checked when the expression was read."""
    least, most, function = _FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        takes = str(least) if least == most else f"{least} to {most}"
        if most > 50:
            takes = f"{least} or more"
        word = "argument" if takes == "1" else "arguments"
        raise PathError(f"`{name}` takes {takes} {word}, not {len(arguments)}")
    try:
        return function(arguments, asking, **(named or {}))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, PathError):
            raise
        raise PathError(f"`{name}` can't be used on {kind(arguments[0])}") from None


def _len(arguments: list[Any], asking: Asking) -> int:
    value = program_of(arguments[0])
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Equations):
        return len(value.equations)
    return len(elements(value, asking, "`len`"))


def truth(value: Any) -> bool:
    """Whether a value counts as true: a collection is, where it is not empty."""
    value = program_of(value)
    if isinstance(value, Equations):
        return bool(value.equations)
    if isinstance(value, View):
        members = value.members()
        return members is None or bool(members)
    return bool(value)


def _set(arguments: list[Any], asking: Asking) -> frozenset[Any]:
    value = program_of(arguments[0]) if arguments else ()
    return make_set(elements(value, asking, "`set`"), asking, emptiness(value))


def make_set(
    items: tuple[Any, ...], asking: Asking, reason: Nothing | None = None
) -> frozenset[Any]:
    """A set, once its elements are paid for; ``reason`` says why it is empty."""
    weigh(items, asking)
    made = frozenset(settled(item) for item in items)
    return made if reason is None else pile(made, reason)


def _sum(arguments: list[Any], asking: Asking) -> Any:
    total: Any = 0
    for item in elements(arguments[0], asking, "`sum`"):
        item = number_of(item)
        if not isinstance(item, (int, float)):
            raise PathError(f"`sum` adds numbers, not {kind(item)}")
        total = number(total + item)
    return total


def _least(name: str) -> Callable[[list[Any], Asking], Any]:
    def function(arguments: list[Any], asking: Asking) -> Any:
        items = elements(arguments[0], asking, f"`{name}`") if len(arguments) == 1 else arguments
        items = _plain(tuple(items), name, asking)
        if not items:
            raise PathError(f"`{name}` of an empty list")
        return min(items) if name == "min" else max(items)

    return function


def _plain(items: tuple[Any, ...], name: str, asking: Asking) -> tuple[Any, ...]:
    """Items that have an order; sorting them is paid for."""
    items = tuple(settled(item) for item in items)
    for _ in range(max(len(items).bit_length(), 1)):
        weigh(items, asking)
    if bad := [item for item in items if isinstance(item, (View, frozenset)) or item is None]:
        raise PathError(f"`{name}` takes numbers or texts, not {kind(bad[0])}")
    return items


def _sorted(arguments: list[Any], asking: Asking) -> tuple[Any, ...]:
    value = program_of(arguments[0])
    items = _plain(elements(value, asking, "`sorted`"), "sorted", asking)
    return listing(sorted(items), emptiness(value))


def _abs(arguments: list[Any], asking: Asking) -> Any:
    return abs(_numbers(arguments, "abs")[0])


def _round(arguments: list[Any], asking: Asking) -> Any:
    value = _numbers(arguments, "round")
    if len(value) == 2 and (not isinstance(value[1], int) or abs(value[1]) > MAX_BITS):
        raise PathError("`round` takes a number of digits")
    return number(round(value[0], value[1]) if len(value) == 2 else round(value[0]))


def _numbers(arguments: list[Any], name: str) -> list[Any]:
    values = [number_of(value) for value in arguments]
    if bad := [value for value in values if not isinstance(value, (int, float))]:
        raise PathError(f"`{name}` takes a number, not {kind(bad[0])}")
    return values


def _ops(arguments: list[Any], asking: Asking) -> tuple[str, ...]:
    primitives = []
    value = program_of(arguments[0])
    if isinstance(value, EquationView):
        return listing([value.primitive])
    if isinstance(value, Equations):
        asking.spend(2 * len(value.equations))
        present = value.block.primitives
        names = [equation.primitive for equation in value.equations]
        words = {name: Primitive(name, present) for name in set(names)}
        return listing((words[name] for name in names), emptiness(value))
    for item in elements(value, asking, "`ops`"):
        if not isinstance(item, EquationView):
            raise PathError(f"`ops` takes a program or equations, not {kind(item)}")
        primitives.append(item.primitive)
    return listing(primitives, emptiness(value))


def _quantified(name: str) -> Callable[[list[Any], Asking], bool | Idle]:
    """``all`` and ``any``: idle over nothing, or where each element is."""

    def function(arguments: list[Any], asking: Asking) -> bool | Idle:
        value = program_of(arguments[0])
        items = elements(value, asking, f"`{name}`")
        answer = (all if name == "all" else any)(truth(item) for item in items)
        deciding = [item for item in map(verdict_of, items) if truth(item) == answer] or items
        reason = emptiness(value) if not items else None
        idlers = [item for item in deciding if isinstance(item, Idle)]
        # Each verdict that is written on the page counts, as with `and`.
        if idlers and (len(idlers) == len(deciding) or _is_display(value, name, answer)):
            reason = reason_of(idlers[0])
        return answer if reason is None else idle(answer, reason)

    return function


def _is_display(value: Any, name: str, answer: bool) -> bool:
    """Whether all elements of a list decide, each of them written on the page."""
    return type(value) is tuple and answer == (name == "all")


def _same(arguments: list[Any], asking: Asking, shapes: bool = True) -> bool | Idle:
    left, right = map(program_of, arguments)
    reasons = reason_of(left), reason_of(right)
    if any(reasons):  # of a program and a list only the equations count
        reasons = reasons[0] or emptiness(left), reasons[1] or emptiness(right)
    answer = same(left, right, asking, shapes)
    return idle(answer, reasons[0], stays=True) if reasons[0] and reasons[1] else answer


def _reads(arguments: list[Any], asking: Asking) -> bool:
    reader, source = arguments
    return reads(reader, source, asking)


def _depends(arguments: list[Any], asking: Asking) -> bool:
    target, source = arguments
    return depends(target, source, asking)


_Function = Callable[..., Any]
#: Of each function the least and the largest number of arguments, and what it does.
_FUNCTIONS: Final[dict[str, tuple[int, int, _Function]]] = {
    "len": (1, 1, _len),
    "all": (1, 1, _quantified("all")),
    "any": (1, 1, _quantified("any")),
    "set": (0, 1, _set),
    "sum": (1, 1, _sum),
    "min": (1, 99, _least("min")),
    "max": (1, 99, _least("max")),
    "sorted": (1, 1, _sorted),
    "abs": (1, 1, _abs),
    "round": (1, 2, _round),
    "ops": (1, 1, _ops),
    "same": (2, 2, _same),
    "reads": (2, 2, _reads),
    "depends": (2, 2, _depends),
}
