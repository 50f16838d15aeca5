"""Operators and functions on the values of an expression, all of bounded size."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any, Final

from .comparing import SIGNS, elements, kind, number_of, program_of, weigh
from .kinds import Asking, View, words
from .paths import PathError
from .same import same
from .views import Equations, EquationView

#: Largest whole number that may come up, in bits.
MAX_BITS: Final = 256
#: Longest text, in characters, and list, in elements.
MAX_TEXT: Final = 100_000
MAX_ITEMS: Final = 20_000


# -- arithmetic ---------------------------------------------------------------------------


def binary(operator: ast.operator, one: Any, two: Any, asking: Asking) -> Any:
    """An arithmetic operator, also on texts, lists and sets where that is plain."""
    one, two = number_of(one), number_of(two)
    sign = SIGNS[type(operator)]
    try:
        if isinstance(one, frozenset) and isinstance(two, frozenset):
            return _of_sets(sign, one, two, asking)
        if isinstance(one, (int, float)) and isinstance(two, (int, float)):
            return _of_numbers(sign, one, two)
        if isinstance(one, (str, tuple)):
            return _of_lists(sign, one, two, asking)
        if isinstance(two, (str, tuple)) and sign == "*":
            return _of_lists(sign, two, one, asking)
    except ZeroDivisionError:
        raise PathError("a division by zero") from None
    except OverflowError:
        raise PathError("a number became too large") from None
    raise _refused(sign, one, two)


def _refused(sign: str, one: Any, two: Any) -> PathError:
    return PathError(f"`{sign}` can't be used on {kind(one)} and {kind(two)}")


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


def _of_numbers(sign: str, one: Any, two: Any) -> Any:
    if sign not in _NUMERIC:
        raise _refused(sign, one, two)
    whole = sign == "**" and isinstance(one, int) and isinstance(two, int)
    if whole and (abs(two) > MAX_BITS or one.bit_length() * abs(two) > 2 * MAX_BITS):
        raise PathError(f"`**`: the result would be too large ({words(one)} ** {words(two)})")
    return number(_NUMERIC[sign](one, two))


def number(value: Any) -> Any:
    """A result that may stay; neither too large nor complex."""
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise PathError("a number became too large")
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise PathError("a result is no finite number")
    return value


def _of_lists(sign: str, one: Any, two: Any, asking: Asking) -> Any:
    limit = MAX_TEXT if isinstance(one, str) else MAX_ITEMS
    what = "text" if isinstance(one, str) else "list"
    size = -1
    if sign == "+" and isinstance(two, str if isinstance(one, str) else tuple):
        size = len(one) + len(two)
    elif sign == "*" and isinstance(two, int):
        size = len(one) * max(two, 0)
    if size < 0:
        raise _refused(sign, one, two)
    if size > limit:
        raise PathError(f"a {what} became longer than {limit:,}")
    asking.spend(size // (100 if what == "text" else 1) + 1)
    return one + two if sign == "+" else one * two


def _of_sets(sign: str, one: Any, two: Any, asking: Asking) -> Any:
    if sign not in _SETS:
        raise _refused(sign, one, two)
    asking.spend(len(one) + len(two))
    weigh((one, two), asking)
    return _SETS[sign](one, two)


# -- functions ----------------------------------------------------------------------------


def call(name: str, arguments: list[Any], asking: Asking) -> Any:
    """A function by its name; its name was checked when the expression was read."""
    least, most, function = _FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        takes = str(least) if least == most else f"{least} to {most}"
        if most > 50:
            takes = f"{least} or more"
        word = "argument" if takes == "1" else "arguments"
        raise PathError(f"`{name}` takes {takes} {word}, not {len(arguments)}")
    try:
        return function(arguments, asking)
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
    return make_set(elements(arguments[0], asking, "`set`") if arguments else (), asking)


def make_set(items: tuple[Any, ...], asking: Asking) -> frozenset[Any]:
    """A set, once its elements are paid for."""
    weigh(items, asking)
    return frozenset(program_of(item) for item in items)


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
            raise PathError(f"`{name}` of nothing: the list is empty")
        return min(items) if name == "min" else max(items)

    return function


def _plain(items: tuple[Any, ...], name: str, asking: Asking) -> tuple[Any, ...]:
    """Items that have an order; sorting them is paid for."""
    items = tuple(number_of(item) for item in items)
    for _ in range(max(len(items).bit_length(), 1)):
        weigh(items, asking)
    if bad := [item for item in items if isinstance(item, (View, frozenset)) or item is None]:
        raise PathError(f"`{name}` takes numbers or texts, not {kind(bad[0])}")
    return items


def _sorted(arguments: list[Any], asking: Asking) -> tuple[Any, ...]:
    return tuple(sorted(_plain(elements(arguments[0], asking, "`sorted`"), "sorted", asking)))


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
    found = []
    value = program_of(arguments[0])
    if isinstance(value, EquationView):
        return (value.equation.primitive,)
    if isinstance(value, Equations):
        asking.spend(len(value.equations))
        return tuple(equation.primitive for equation in value.equations)
    for item in elements(value, asking, "`ops`"):
        if not isinstance(item, EquationView):
            raise PathError(f"`ops` takes a program or equations, not {kind(item)}")
        found.append(item.equation.primitive)
    return tuple(found)


_Function = Callable[[list[Any], Asking], Any]
_FUNCTIONS: Final[dict[str, tuple[int, int, _Function]]] = {
    "len": (1, 1, _len),
    "all": (1, 1, lambda a, asking: all(truth(v) for v in elements(a[0], asking, "`all`"))),
    "any": (1, 1, lambda a, asking: any(truth(v) for v in elements(a[0], asking, "`any`"))),
    "set": (0, 1, _set),
    "sum": (1, 1, _sum),
    "min": (1, 99, _least("min")),
    "max": (1, 99, _least("max")),
    "sorted": (1, 1, _sorted),
    "abs": (1, 1, _abs),
    "round": (1, 2, _round),
    "ops": (1, 1, _ops),
    "same": (2, 2, lambda a, asking: same(program_of(a[0]), program_of(a[1]), asking)),
}
