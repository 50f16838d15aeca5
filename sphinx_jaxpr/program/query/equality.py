"""Comparisons: what can be equal, what is, and what a verdict looked at.

Kinds that are never equal are refused, as an order between them is: a page that says
``e.shape != 4`` has made a slip, and would be right for ever.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

from .base import Asking, Version, View, ordered, version, words
from .equivalence import same
from .evidence import Idle, Nothing, emptiness, idle, reason_of
from .given import Given, GivenSet, Size, SymbolicSize, is_flag
from .syntax import PathError
from .values import Value, Values
from .views import BlockView, Equations, EquationView, Programs, ProgramView, Uses
from .vocabulary import Dtype, ParametersView, PartWord, Word

# --- comparing: What values have in common: elements, kinds, weight.

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


def sets_of(one: Any, two: Any) -> tuple[Any, Any]:
    """Two sides, where one is a set from a parameter and the other a set, as sets."""
    if isinstance(one, GivenSet) and isinstance(two, (frozenset, GivenSet)):
        one = frozenset(one)
    if isinstance(two, GivenSet) and isinstance(one, frozenset):
        two = frozenset(two)
    return one, two


def settled(value: Any) -> Any:
    """A value as an element of what compares its elements: uses are numbers there."""
    if isinstance(value, tuple) and value and not isinstance(value, Given):
        return tuple(settled(item) for item in value)
    return number_of(program_of(value))


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
    if isinstance(value, Word):
        return f'the {value.what} "{words(value)[:40]}"'
    if is_flag(value):
        return "true or false"
    for types, said in _KINDS:
        if isinstance(value, types):
            return said
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


# --- equality: Comparisons: what can be equal, what is, and what a verdict looked at.


class NeverEqual(PathError):
    """A comparison of kinds that have nothing in common."""


def compare(operator: ast.cmpop, one: Any, two: Any, asking: Asking) -> bool | Idle:
    """One comparison of a chain."""
    sign = SIGNS[type(operator)]
    match operator:
        case ast.In():
            return contains(two, one, asking, sign)
        case ast.NotIn():
            return denied(contains(two, one, asking, sign))
        case ast.Eq():
            return equal(one, two, asking)
        case ast.NotEq():
            return denied(equal(one, two, asking, sign))
    return _order(operator, *sets_of(settled(one), settled(two)), asking)


def denied(verdict: bool | Idle) -> bool | Idle:
    """``not``: what looked at nothing still does."""
    if isinstance(verdict, Idle) and verdict.reason is not None:
        return idle(not verdict, verdict.reason, stays=verdict.stays)
    return not verdict


def equal(one: Any, two: Any, asking: Asking, sign: str = "==") -> bool | Idle:
    """``==``: lists element by element, views by what they point at."""
    if type(one) is type(two) and type(one) in _ATOMS:
        asking.spend(3)
        return bool(one == two)
    weigh(one, asking)
    weigh(two, asking)
    return _looked(_Comparison(asking, sign).equal(one, two), one, two)


def _looked(answer: bool, one: Any, two: Any) -> bool | Idle:
    """The verdict of a comparison, idle where no side looked at anything."""
    if not (isinstance(one, _COLLECTIONS) or isinstance(two, _COLLECTIONS)):
        return answer
    if type(one) is type(two) is tuple and len(one) == len(two):  # lists of what is compared
        parts = (_looked(answer, left, right) for left, right in zip(one, two, strict=True))
        return next((part for part in parts if isinstance(part, Idle)), answer)
    reasons = reason_of(one), reason_of(two)
    known = reasons[0] or reasons[1]
    if known is None:
        return answer
    for reason, side in zip(reasons, (one, two), strict=True):
        if not (reason or _is_written(side, known)):
            return answer
    return idle(answer, known, stays=all(reasons))


def _is_written(value: Any, reason: Nothing) -> bool:
    """Whether a value stands on the page as it is; an empty one says that there is none."""
    if type(value) in (tuple, frozenset):
        return all(_is_written(item, reason) for item in value) if value else reason.is_drawn
    return type(value) in (bool, int, float, str)


def contains(whole: Any, part: Any, asking: Asking, sign: str = "in") -> bool | Idle:
    """``part in whole``."""
    whole, part = program_of(whole), program_of(part)
    if isinstance(whole, str):
        return _in_text(whole, part, asking)
    if isinstance(whole, ParametersView) and isinstance(part, str):
        return whole.has(str(part), asking)
    if isinstance(whole, View) and isinstance(part, str):
        raise PathError(_no_text_in(whole, part))
    items = elements(whole, asking, "`in`")
    weigh(items, asking)
    comparison = _Comparison(asking, sign)
    if isinstance(part, Equations) and isinstance(whole, Equations) and len(part.equations) != 1:
        found = [comparison.among(e, items) for e in elements(part, asking, "`in`")]
        answer = all(found) and bool(found)
    else:
        weigh((part,) * len(items), asking)
        answer = comparison.among(part, items)
    reason = reason_of(part) if items else emptiness(whole)
    return answer if reason is None else idle(answer, reason)


def _in_text(whole: str, part: Any, asking: Asking) -> bool:
    if not isinstance(part, str):
        raise PathError(f"`in` a text takes a text, not {kind(part)}")
    asking.spend((len(whole) + len(part)) // 20 + 1)
    if isinstance(whole, Word):
        if not isinstance(part, (Word, Given)):
            whole.check_part(part, asking)
        return whole.has(str(part))
    return str(part) in str(whole)


def _no_text_in(whole: View, part: str) -> str:
    if isinstance(whole, Equations):
        return (
            f'`{whole.path}` holds equations: write `"{part}" in ops({whole.path})`, or its'
            f" equations `{whole.path}[{part}]`"
        )
    return f"a text is never in {kind(whole)}"


# -- equality -----------------------------------------------------------------------------

#: Views of one group may be one thing.
_GROUPS: Final[tuple[tuple[type[View], ...], ...]] = (
    (Equations, EquationView),
    (Value, Values),
    (Programs,),
)
_ATOMS: Final = frozenset({bool, int, float, str})
_COLLECTIONS: Final = (tuple, frozenset, View, Idle)


def parts(one: str, two: str, asking: Asking) -> bool:
    """Whether two texts are equal; what a part of a word is compared with must be one of some."""
    for part, text in ((one, two), (two, one)):
        if isinstance(part, PartWord) and type(text) is str:
            part.check(text, asking)
    return str(one) == str(two)


class _Comparison:
    """One comparison: the work that it spends, and its sign for messages."""

    def __init__(self, asking: Asking, sign: str) -> None:
        self.asking = asking
        self.sign = sign

    def equal(self, one: Any, two: Any) -> bool:
        self.asking.spend(4)
        one, two = program_of(one), program_of(two)
        if one is None or two is None:
            return one is two
        if GivenSet in (type(one), type(two)):  # a set is written as a list, too
            one, two = (frozenset(v) if isinstance(v, tuple) else v for v in (one, two))
        sides = _sequence(one), _sequence(two)
        if sides[0] is not None and sides[1] is not None and tuple in map(_base, (one, two)):
            return self.lists(sides[0], sides[1])
        if not _are_equations(one, two):
            one, two = number_of(one), number_of(two)
        if isinstance(one, Given) or isinstance(two, Given):
            return self.given(one, two)
        if isinstance(one, Version) or isinstance(two, Version):
            left, right = versions(one, two)
            return bool(left == right)
        if isinstance(one, PartWord) or isinstance(two, PartWord):
            return self.plain(one, two)
        if isinstance(one, Word) or isinstance(two, Word):
            return self.words(one, two)
        if isinstance(one, View) or isinstance(two, View):
            return self.views(one, two)
        if isinstance(one, frozenset) and isinstance(two, frozenset):
            left, right = aligned(one, two, self.asking, self.sign)
            return left == right
        return self.plain(one, two)

    def never(self, one: Any, two: Any, more: str = "") -> NeverEqual:
        more = more or _instead(one, two) or _instead(two, one)
        return NeverEqual(f"`{self.sign}` can't compare {kind(one)} with {kind(two)}{more}")

    def plain(self, one: Any, two: Any) -> bool:
        """Numbers, texts, true and false; a symbolic size is a text among numbers."""
        numbers = [isinstance(v, (int, float)) and not is_flag(v) for v in (one, two)]
        texts = [isinstance(v, str) for v in (one, two)]
        if all(texts):
            return parts(one, two, self.asking)
        if all(numbers) or (is_flag(one) and is_flag(two)):
            return bool(one == two)
        if any(numbers) and any(texts):
            text, number = (one, two) if texts[0] else (two, one)
            named = isinstance(number, Size) and not _is_number(text)
            if named or isinstance(text, SymbolicSize):
                return False
        raise self.never(one, two)

    def given(self, one: Any, two: Any) -> bool:
        """A value of a parameter with anything; only a dtype must be one."""
        if isinstance(one, str) and isinstance(two, str):
            for word, text in ((one, two), (two, one)):
                if isinstance(word, Dtype) and not isinstance(text, (Word, Given)):
                    return word.means(text, self.asking)
            if isinstance(one, Dtype) and isinstance(two, Dtype):
                return one == two
            return str(one) == str(two)
        if isinstance(one, View) or isinstance(two, View):
            return False
        return bool(one == two)

    def words(self, one: Any, two: Any) -> bool:
        if isinstance(one, Word) and isinstance(two, Word):
            if one.what == two.what:
                return one == two
        elif isinstance(one, Word) and isinstance(two, str):
            return one.means(str(two), self.asking)
        elif isinstance(two, Word) and isinstance(one, str):
            return two.means(str(one), self.asking)
        raise self.never(one, two)

    def lists(self, one: Sequence[Any], two: Sequence[Any]) -> bool:
        """Element by element, to the end: a wrong word counts behind a difference too."""
        same = [self.equal(left, right) for left, right in zip(one, two, strict=False)]
        short, long = sorted((one, two), key=len)
        if short and len({*map(_base, short)}) == 1:
            for left in long[len(short) :]:
                self.equal(left, short[0])
        return len(one) == len(two) and all(same)

    def among(self, part: Any, items: Sequence[Any]) -> bool:
        """Whether one of several things is ``part``; all of them are looked at."""
        found = [self.equal(item, part) for item in items]
        return any(found)

    def partners(self, item: Any, others: frozenset[Any]) -> list[Any]:
        """What of a set equals ``item``; an error where nothing of it ever could."""
        todo = list(others)
        if isinstance(item, View):  # equal ones have been found; what is left is their block
            todo = todo[:1]
        weigh((item,) * len(todo), self.asking)
        found, errors = [], list[NeverEqual]()
        for other in todo:
            try:
                if self.equal(other, item):
                    found.append(other)
            except NeverEqual as error:
                errors.append(error)
        if errors and len(errors) == len(todo):
            raise errors[0]
        return found

    def views(self, one: Any, two: Any) -> bool:
        if not (isinstance(one, View) and isinstance(two, View)):
            raise self.never(one, two)
        if isinstance(one, ParametersView) and isinstance(two, ParametersView):
            return self.parameters(one, two)
        sides = one, two
        one, two = _single(one), _single(two)
        if not any(isinstance(one, g) and isinstance(two, g) for g in _GROUPS):
            if type(one) is type(two):
                return bool(one == two)
            raise self.never(one, two)
        if one.key[0] != two.key[0]:
            raise PathError(
                f"`{one.path}` and `{two.path}` are in different blocks, so they are never the"
                f" same: {_across(one, two)}"
            )
        if isinstance(one, ProgramView) is not isinstance(two, ProgramView):
            raise self.never(one, two, f"; {_across(one, two)}")
        if isinstance(one, Equations) and isinstance(two, Equations):
            return [e.start for e in one.equations] == [e.start for e in two.equations]
        many = next((v for v in (one, two) if isinstance(v, (Equations, Values))), None)
        if many is not None and any(isinstance(v, (EquationView, Value)) for v in sides):
            if isinstance(many, Equations) and not many.equations:
                raise PathError(many.missing())
            raise self.never(one, two, f"; choose one of them, as in `{many.path}[0]`")
        return bool(one == two)

    def parameters(self, one: ParametersView, two: ParametersView) -> bool:
        """Whether two equations have the same parameters; programs are compared by :func:`same`."""
        if one.key == two.key or {*one.names} != {*two.names}:
            return one.key == two.key
        self.asking.spend(20 * len(one.names))
        return all(self.parameter(one.value(name), two.value(name)) for name in one.names)

    def parameter(self, one: Any, two: Any) -> bool:
        if isinstance(one, ProgramView) and isinstance(two, ProgramView):
            return same(one, two, self.asking)
        if isinstance(one, Programs) and isinstance(two, Programs):
            pairs = zip(one.programs, two.programs, strict=False)
            alike = all(same(left, right, self.asking) for left, right in pairs)
            return alike and len(one.programs) == len(two.programs)
        return self.equal(one, two)


def _across(one: View, two: View) -> str:
    if isinstance(one, (Value, Values)):
        return f"compare `{one.path}.shape` or `.dtype`"
    return f"compare with `same({one.path}, {two.path})` or `ops({one.path}) == ops({two.path})`"


def _base(value: Any) -> type:
    """The type of a value without its marks."""
    kinds = (bool, int, float, tuple, frozenset)
    if is_flag(value):
        return bool
    return next((kind for kind in kinds if isinstance(value, kind)), type(value))


def _sequence(value: Any) -> Sequence[Any] | None:
    """The elements of what may be compared with a list."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, (Equations, Values, Programs)):
        return value.members()
    return None


def _are_equations(one: Any, two: Any) -> bool:
    """Whether uses are meant as equations here: beside other equations."""
    kinds = (Equations, EquationView)
    both = isinstance(one, kinds) and isinstance(two, kinds)
    return both and not (isinstance(one, Uses) and isinstance(two, Uses))


def _single(view: View) -> View:
    match view:
        case ProgramView():
            return view
        case Equations(equations=(only,)):
            return EquationView(view.block, view.path, only)
    if isinstance(view, Values) and len(view.values) == 1:
        return view.values[0]
    return view


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _instead(one: Any, two: Any) -> str:
    """What was meant where ``one`` is compared with ``two``, or ``""``."""
    if isinstance(one, Equations):
        return f"; did you mean `len({one.path})` or `ops({one.path})`?"
    if isinstance(one, EquationView) and isinstance(two, str):
        return f"; its primitive is `{one.path}.primitive`"
    if isinstance(one, View) and isinstance(two, str):
        return "; letters of variables change between JAX releases"
    is_number = isinstance(one, (int, float)) and not is_flag(one)
    if is_number and isinstance(two, str) and _is_number(two):
        said = f"; write a number without quotes, `{words(two)[:40]}`, or a text with them"
        return f'{said}, `"{words(one)}"`'
    if isinstance(one, tuple) and isinstance(two, (int, float)):
        return "; did you mean `len(...)` of it, or one element, `[0]`?"
    if isinstance(one, frozenset) and isinstance(two, tuple):
        return "; make a set of the list, `set(...)`"
    if is_flag(one) and isinstance(two, (int, float)):
        return "; write `True` or `False`"
    return ""


# -- sets, order --------------------------------------------------------------------------


def aligned(
    one: frozenset[Any], two: frozenset[Any], asking: Asking, sign: str
) -> tuple[frozenset[Any], frozenset[Any]]:
    """Both sets with equal elements made identical, so that Python can compare them."""
    comparison = _Comparison(asking, sign)
    same: dict[Any, Any] = {}  # of the first -> what stands for it
    right = set()
    for texts, others in ((one, two), (two, one)):
        for word in {type(o): o for o in others if isinstance(o, Word)}.values():
            for text in (text for text in texts if type(text) is str):
                word.check(text, asking)
    for item in two:
        if item in one and type(item) is not str:
            right.add(item)
            continue
        found = comparison.partners(item, one)
        stands = next((one for one in (item, *found) if isinstance(one, Word)), (*found, item)[0])
        same.update((other, stands) for other in found)
        right.add(stands)
    return frozenset(same.get(item, item) for item in one), frozenset(right)


def _order(operator: ast.cmpop, one: Any, two: Any, asking: Asking) -> bool | Idle:
    weigh(one, asking)
    weigh(two, asking)
    if isinstance(one, Version) or isinstance(two, Version):
        one, two = versions(one, two)
    sign = SIGNS[type(operator)]
    sets = isinstance(one, frozenset) and isinstance(two, frozenset)
    if not sets and not _comparable(one, two):
        raise PathError(f"`{sign}` can't compare {kind(one)} with {kind(two)}")
    left, right = aligned(one, two, asking, sign) if sets else (one, two)
    try:
        match operator:
            case ast.Lt():
                answer = left < right
            case ast.LtE():
                answer = left <= right
            case ast.Gt():
                answer = left > right
            case _:
                answer = left >= right
    except TypeError:
        raise PathError(f"`{sign}` can't compare {kind(one)} with {kind(two)}") from None
    # A set of nothing is part of any, a list of nothing before any: that looks at one side alone.
    part = {ast.Lt: one, ast.LtE: one, ast.Gt: two, ast.GtE: two}[type(operator)]
    if isinstance(part, _COLLECTIONS) and (reason := reason_of(part)) is not None:
        return idle(bool(answer), reason)
    return _looked(bool(answer), one, two)


def _comparable(one: Any, two: Any) -> bool:
    return any(
        isinstance(one, kinds) and isinstance(two, kinds) for kinds in ((int, float), str, tuple)
    )


def versions(one: Any, two: Any) -> tuple[Any, Any]:
    """Two sides of which one is a version, as what compares."""
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
