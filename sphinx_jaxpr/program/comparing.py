"""What values have in common: elements, kinds, comparisons."""

from __future__ import annotations

import ast
from typing import Any, Final

from .kinds import Asking, Dtype, Parameters, Version, View, ordered, version, words
from .paths import PathError
from .scope import BlockView
from .values import Values
from .views import Equations, EquationView, Uses

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


def elements(value: Any, asking: Asking, what: str) -> tuple[Any, ...]:
    """What ``value`` is a collection of."""
    value = program_of(value)
    found: tuple[Any, ...] | None = None
    if isinstance(value, tuple):
        found = value
    elif isinstance(value, frozenset):
        weigh(value, asking)
        found = ordered(value)
    elif isinstance(value, View):
        if isinstance(value, Equations):  # paid before views are made
            asking.spend(3 * len(value.equations))
        found = value.members()
    if found is None:
        raise PathError(f"{what} takes a list or a program, not {kind(value)}")
    asking.spend(len(found))
    return found


def kind(value: Any) -> str:
    """What a value is, in words."""
    if isinstance(value, BlockView):
        return f"the block `{value.path}`"
    if isinstance(value, View):
        return f"`{value.path}` ({value.what})"
    names = {bool: "true or false", int: "a number", float: "a number", tuple: "a list"}
    names |= {frozenset: "a set", type(None): "None"}
    return names.get(type(value), f'the text "{words(value)[:40]}"')


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


# -- comparisons --------------------------------------------------------------------------


def compare(operator: ast.cmpop, one: Any, two: Any, asking: Asking) -> bool:
    """One comparison of a chain."""
    match operator:
        case ast.In():
            return contains(two, one, asking)
        case ast.NotIn():
            return not contains(two, one, asking)
        case ast.Eq():
            return equal(one, two, asking)
        case ast.NotEq():
            return not equal(one, two, asking)
    return _order(operator, number_of(one), number_of(two), asking)


def _order(operator: ast.cmpop, one: Any, two: Any, asking: Asking) -> bool:
    weigh(one, asking)
    weigh(two, asking)
    if isinstance(one, Version) or isinstance(two, Version):
        one, two = _versions(one, two)
    sign = SIGNS[type(operator)]
    sets = isinstance(one, frozenset) and isinstance(two, frozenset)
    if not sets and not _comparable(one, two):
        raise PathError(f"`{sign}` can't compare {kind(one)} with {kind(two)}")
    try:
        match operator:
            case ast.Lt():
                return bool(one < two)
            case ast.LtE():
                return bool(one <= two)
            case ast.Gt():
                return bool(one > two)
        return bool(one >= two)
    except TypeError:
        raise PathError(f"`{sign}` can't compare {kind(one)} with {kind(two)}") from None


def _comparable(one: Any, two: Any) -> bool:
    return any(
        isinstance(one, kinds) and isinstance(two, kinds) for kinds in ((int, float), str, tuple)
    )


def _versions(one: Any, two: Any) -> tuple[Any, Any]:
    pair = []
    for value in (one, two):
        if isinstance(value, Version):
            pair.append(version(value.text))
        elif isinstance(value, str):
            pair.append(version(value))
        else:
            named = one if isinstance(one, Version) else two
            raise PathError(
                f"`{named.path}` is a version and compares with a text, as in"
                f' `{named.path} >= "0.12"`'
            )
    return pair[0], pair[1]


def equal(one: Any, two: Any, asking: Asking) -> bool:
    """``==``: lists element by element, views by what they point at."""
    weigh(one, asking)
    weigh(two, asking)
    return _equal(one, two)


def _equal(one: Any, two: Any) -> bool:
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(map(_equal, one, two))
    if isinstance(one, Version) or isinstance(two, Version):
        left, right = _versions(one, two)
        return bool(left == right)
    if isinstance(one, Dtype) or isinstance(two, Dtype):
        names = [{str(v), v.short} if isinstance(v, Dtype) else {v} for v in (one, two)]
        return bool(names[0] & names[1])
    one, two = program_of(number_of(one)), program_of(number_of(two))
    if isinstance(one, View) or isinstance(two, View):
        return _same_view(one, two)
    return bool(one == two)


def _same_view(one: Any, two: Any) -> bool:
    if not (isinstance(one, View) and isinstance(two, View)):
        view, other = (one, two) if isinstance(one, View) else (two, one)
        more = ""
        if isinstance(view, Equations):
            more = f"; did you mean `len({view.path})` or `ops({view.path})`?"
        elif isinstance(other, str):
            more = "; letters of variables change between JAX releases"
        raise PathError(f"`==` can't compare {kind(view)} with {kind(other)}{more}")
    one, two = _single(one), _single(two)
    if one.key[0] != two.key[0] and isinstance(one, (Equations, EquationView, Values)):
        raise PathError(
            f"`{one.path}` and `{two.path}` are in different blocks, so never one thing: compare"
            f" by `same({one.path}, {two.path})` or `ops({one.path}) == ops({two.path})`"
        )
    return bool(one == two)


def _single(view: View) -> View:
    if isinstance(view, Equations) and len(view.equations) == 1:
        return EquationView(view.block, view.path, view.equations[0])
    return view


def contains(whole: Any, part: Any, asking: Asking) -> bool:
    """``part in whole``."""
    whole = program_of(whole)
    if isinstance(whole, str):
        if not isinstance(part, str):
            raise PathError(f"`in` a text takes a text, not {kind(part)}")
        asking.spend((len(whole) + len(part)) // 20 + 1)
        return part in whole
    from_parameters = not isinstance(whole, (tuple, frozenset)) and isinstance(part, str)
    if from_parameters and isinstance(whole, View):
        return _names(whole, str(part), asking)
    items = elements(whole, asking, "`in`")
    weigh(items, asking)
    if isinstance(part, Equations) and isinstance(whole, Equations):
        return all(e in items for e in elements(part, asking, "`in`")) and bool(part.equations)
    asking.spend(len(items))
    if isinstance(part, View) and not isinstance(part, Version):
        part = _single(part)
        return any(isinstance(item, View) and item == part for item in items)
    return any(not isinstance(item, View) and equal(item, part, asking) for item in items)


def _names(whole: View, part: str, asking: Asking) -> bool:
    if isinstance(whole, Parameters):
        return whole.has(part, asking)
    if isinstance(whole, Equations):
        raise PathError(
            f'`{whole.path}` holds equations: write `"{part}" in ops({whole.path})`, or its'
            f" equations `{whole.path}[{part}]`"
        )
    raise PathError(f"a text is never in {kind(whole)}")
