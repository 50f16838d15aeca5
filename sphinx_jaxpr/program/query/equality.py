"""Comparisons: what can be equal, what is, and what a verdict looked at.

Kinds that are never equal are refused, as an order between them is: a page that says
``e.shape != 4`` has a slip in it, and would be right forever.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

from .base import Asking, Version, View, version, words
from .elements import SIGNS, elements, kind, number_of, program_of, sets_of, settled, weigh
from .equivalence import same
from .evidence import Idle, Nothing, emptiness, idle, reason_of
from .facts.numbers import LiteralNumber
from .facts.parameters import Given, GivenSet, Size, SymbolicSize, is_flag
from .facts.words import AxisName, AxisNames
from .syntax import PathError
from .values import Value, Values, in_brackets
from .views import Equations, EquationView, Programs, ProgramView, Uses
from .vocabulary import Dtype, ParametersView, PartWord, Word


class NeverEqual(PathError):
    """A comparison of kinds that have nothing in common."""


def compare(operator: ast.cmpop, left: Any, right: Any, asking: Asking) -> bool | Idle:
    """One comparison of a chain."""
    sign = SIGNS[type(operator)]
    match operator:
        case ast.In():
            return contains(right, left, asking, sign)
        case ast.NotIn():
            return denied(contains(right, left, asking, sign))
        case ast.Eq():
            return equal(left, right, asking)
        case ast.NotEq():
            return denied(equal(left, right, asking, sign))
    return _order(operator, *sets_of(settled(left), settled(right)), asking)


def denied(verdict: bool | Idle) -> bool | Idle:
    """``not``: what looked at nothing still does."""
    if isinstance(verdict, Idle) and verdict.reason is not None:
        return idle(not verdict, verdict.reason, stays=verdict.stays)
    return not verdict


def equal(left: Any, right: Any, asking: Asking, sign: str = "==") -> bool | Idle:
    """``==``: lists element by element, views by what they point at."""
    if type(left) is type(right) and type(left) in _ATOMS:
        asking.spend(3)
        return bool(left == right)
    weigh(left, asking)
    weigh(right, asking)
    return _looked(_Comparison(asking, sign).equal(left, right), left, right)


def _looked(answer: bool, first: Any, second: Any) -> bool | Idle:
    """The verdict of a comparison, idle where no side looked at anything."""
    if not (isinstance(first, _COLLECTIONS) or isinstance(second, _COLLECTIONS)):
        return answer
    if type(first) is type(second) is tuple and len(first) == len(
        second
    ):  # lists of what is compared
        parts = (_looked(answer, left, right) for left, right in zip(first, second, strict=True))
        return next((part for part in parts if isinstance(part, Idle)), answer)
    reasons = reason_of(first), reason_of(second)
    cause = reasons[0] or reasons[1]
    if cause is None:
        return answer
    for reason, side in zip(reasons, (first, second), strict=True):
        if not (reason or _is_written(side, cause)):
            return answer
    return idle(answer, cause, stays=all(reasons))


def _is_written(value: Any, reason: Nothing) -> bool:
    """Whether a value is written out on the page; an empty one states that there is none."""
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
        answers = [comparison.among(e, items) for e in elements(part, asking, "`in`")]
        answer = all(answers) and bool(answers)
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
            f" equations `{whole.path}{in_brackets(part)}`"
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


def parts(left: str, right: str, asking: Asking) -> bool:
    """Whether two texts are equal; what a part of a word is compared with must be one of some."""
    for part, text in ((left, right), (right, left)):
        if isinstance(part, PartWord) and type(text) is str:
            part.check(text, asking)
    return str(left) == str(right)


class _Comparison:
    """One comparison: the work that it spends, and its sign for messages."""

    def __init__(self, asking: Asking, sign: str) -> None:
        self.asking = asking
        self.sign = sign

    def equal(self, first: Any, second: Any) -> bool:
        self.asking.spend(4)
        first, second = program_of(first), program_of(second)
        if first is None or second is None:
            return first is second
        for axes, other in ((first, second), (second, first)):
            if isinstance(axes, AxisNames):
                return self.axes(axes, other)
        if GivenSet in (type(first), type(second)):  # a set is written as a list, too
            first, second = (frozenset(v) if isinstance(v, tuple) else v for v in (first, second))
        sides = _sequence(first), _sequence(second)
        if sides[0] is not None and sides[1] is not None and tuple in map(_base, (first, second)):
            return self.lists(sides[0], sides[1])
        if not _are_equations(first, second):
            first, second = number_of(first), number_of(second)
        if isinstance(first, Given) or isinstance(second, Given):
            return self.given(first, second)
        if isinstance(first, Version) or isinstance(second, Version):
            left, right = versions(first, second)
            return bool(left == right)
        if isinstance(first, PartWord) or isinstance(second, PartWord):
            return self.plain(first, second)
        if isinstance(first, Word) or isinstance(second, Word):
            return self.words(first, second)
        if isinstance(first, View) or isinstance(second, View):
            return self.views(first, second)
        if isinstance(first, frozenset) and isinstance(second, frozenset):
            left, right = aligned(first, second, self.asking, self.sign)
            return left == right
        return self.plain(first, second)

    def never(self, left: Any, right: Any, more: str = "") -> NeverEqual:
        more = more or _instead(left, right) or _instead(right, left)
        return NeverEqual(f"`{self.sign}` can't compare {kind(left)} with {kind(right)}{more}")

    def plain(self, left: Any, right: Any) -> bool:
        """Numbers, texts, true and false; a symbolic size is a text among numbers."""
        numbers = [isinstance(v, (int, float)) and not is_flag(v) for v in (left, right)]
        texts = [isinstance(v, str) for v in (left, right)]
        if all(texts):
            return parts(left, right, self.asking)
        if all(numbers) or (is_flag(left) and is_flag(right)):
            return bool(left == right)
        if any(numbers) and any(texts):
            text, number = (left, right) if texts[0] else (right, left)
            if isinstance(number, LiteralNumber):
                return number.is_called(str(text))
            named = isinstance(number, Size) and not _is_number(text)
            if named or isinstance(text, SymbolicSize):
                return False
        raise self.never(left, right)

    def axes(self, axes: AxisNames, other: Any) -> bool:
        """The axes over which a value varies with a list or a set of names."""
        if isinstance(other, str):
            name = words(other)[:40]
            raise self.never(axes, other, f'; write `== ("{name}",)` or `"{name}" in ...`')
        if not isinstance(other, (tuple, frozenset)):
            raise self.never(axes, other)
        for name in other:
            if not isinstance(name, str) or (
                isinstance(name, Word) and not isinstance(name, AxisName)
            ):
                raise self.never(axes, other)
            AxisName.check(str(name), self.asking)
        return axes.means(other)

    def given(self, left: Any, right: Any) -> bool:
        """A value of a parameter with anything; only a dtype must be one."""
        if isinstance(left, str) and isinstance(right, str):
            for word, text in ((left, right), (right, left)):
                if isinstance(word, Dtype) and not isinstance(text, (Word, Given)):
                    return word.means(text, self.asking)
            if isinstance(left, Dtype) and isinstance(right, Dtype):
                return left == right
            return str(left) == str(right)
        if isinstance(left, View) or isinstance(right, View):
            return False
        return bool(left == right)

    def words(self, left: Any, right: Any) -> bool:
        if isinstance(left, Word) and isinstance(right, Word):
            if left.what == right.what:
                return left == right
        elif isinstance(left, Word) and isinstance(right, str):
            return left.means(str(right), self.asking)
        elif isinstance(right, Word) and isinstance(left, str):
            return right.means(str(left), self.asking)
        raise self.never(left, right)

    def lists(self, first: Sequence[Any], second: Sequence[Any]) -> bool:
        """Element by element, to the end: a wrong word counts behind a difference too."""
        same = [self.equal(left, right) for left, right in zip(first, second, strict=False)]
        short, long = sorted((first, second), key=len)
        if short and len({*map(_base, short)}) == 1:
            for left in long[len(short) :]:
                self.equal(left, short[0])
        return len(first) == len(second) and all(same)

    def among(self, part: Any, items: Sequence[Any]) -> bool:
        """Whether one of several things is ``part``; all of them are looked at."""
        answers = [self.equal(item, part) for item in items]
        return any(answers)

    def partners(self, item: Any, others: frozenset[Any]) -> list[Any]:
        """What of a set equals ``item``; an error where nothing of it ever could."""
        todo = list(others)
        if isinstance(item, View):  # equal ones have been alike; what is left is their block
            todo = todo[:1]
        weigh((item,) * len(todo), self.asking)
        alike, errors = [], list[NeverEqual]()
        for other in todo:
            try:
                if self.equal(other, item):
                    alike.append(other)
            except NeverEqual as error:
                errors.append(error)
        if errors and len(errors) == len(todo):
            raise errors[0]
        return alike

    def views(self, left: Any, right: Any) -> bool:
        if not (isinstance(left, View) and isinstance(right, View)):
            raise self.never(left, right)
        if isinstance(left, ParametersView) and isinstance(right, ParametersView):
            return self.parameters(left, right)
        sides = left, right
        left, right = _single(left), _single(right)
        if not any(isinstance(left, g) and isinstance(right, g) for g in _GROUPS):
            if type(left) is type(right):
                return bool(left == right)
            raise self.never(left, right)
        if left.key[0] != right.key[0]:
            raise PathError(
                f"`{left.path}` and `{right.path}` are in different blocks, so they are never the"
                f" same: {_across(left, right)}"
            )
        if isinstance(left, ProgramView) is not isinstance(right, ProgramView):
            raise self.never(left, right, f"; {_across(left, right)}")
        if isinstance(left, Equations) and isinstance(right, Equations):
            return [e.start for e in left.equations] == [e.start for e in right.equations]
        many = next((v for v in (left, right) if isinstance(v, (Equations, Values))), None)
        if many is not None and any(isinstance(v, (EquationView, Value)) for v in sides):
            if isinstance(many, Equations) and not many.equations:
                raise PathError(many.missing())
            raise self.never(left, right, f"; choose one of them, as in `{many.path}[0]`")
        return bool(left == right)

    def parameters(self, left: ParametersView, right: ParametersView) -> bool:
        """Whether two equations have the same parameters; programs are compared by :func:`same`."""
        if left.key == right.key or {*left.names} != {*right.names}:
            return left.key == right.key
        self.asking.spend(20 * len(left.names))
        return all(self.parameter(left.value(name), right.value(name)) for name in left.names)

    def parameter(self, first: Any, second: Any) -> bool:
        if isinstance(first, ProgramView) and isinstance(second, ProgramView):
            return same(first, second, self.asking)
        if isinstance(first, Programs) and isinstance(second, Programs):
            pairs = zip(first.programs, second.programs, strict=False)
            alike = all(same(left, right, self.asking) for left, right in pairs)
            return alike and len(first.programs) == len(second.programs)
        return self.equal(first, second)


def _across(left: View, right: View) -> str:
    if isinstance(left, (Value, Values)):
        return f"compare `{left.path}.shape` or `.dtype`"
    return (
        f"compare with `same({left.path}, {right.path})` or `ops({left.path}) == ops({right.path})`"
    )


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


def _are_equations(left: Any, right: Any) -> bool:
    """Whether uses are meant as equations here: beside other equations."""
    kinds = (Equations, EquationView)
    both = isinstance(left, kinds) and isinstance(right, kinds)
    return both and not (isinstance(left, Uses) and isinstance(right, Uses))


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


def _instead(left: Any, right: Any) -> str:
    """What was meant where ``left`` is compared with ``right``, or ``""``."""
    if isinstance(left, Equations | EquationView) and isinstance(right, Value | Values):
        return _of_results(left)
    if isinstance(left, Equations):
        return f"; did you mean `len({left.path})` or `ops({left.path})`?"
    if isinstance(left, EquationView) and isinstance(right, str):
        return f"; its primitive is `{left.path}.primitive`"
    if isinstance(left, View) and isinstance(right, str):
        return "; letters of variables change between JAX releases"
    is_number = isinstance(left, (int, float)) and not is_flag(left)
    if is_number and isinstance(right, str) and _is_number(right):
        return f"; write a number without quotes, `{words(right)[:40]}`, and a text with them"
    if isinstance(left, tuple) and isinstance(right, (int, float)):
        return "; did you mean `len(...)` of it, or one element, `[0]`?"
    if isinstance(left, frozenset) and isinstance(right, tuple):
        return "; make a set of the list, `set(...)`"
    if is_flag(left) and isinstance(right, (int, float)):
        return "; for true or false, write `True` or `False`, and for a number its digits"
    return ""


def _of_results(equations: Equations | EquationView) -> str:
    """That an equation is not a value, and where its result is."""
    if isinstance(equations, EquationView):
        return f"; an equation is not a value: its results are `{equations.path}.outputs`"
    if isinstance(equations, ProgramView) or len(equations.equations) == 1:
        return f"; equations are not values: results are `{equations.path}.outputs`"
    return "; equations are not values"


# -- sets, order --------------------------------------------------------------------------


def aligned(
    first: frozenset[Any], second: frozenset[Any], asking: Asking, sign: str
) -> tuple[frozenset[Any], frozenset[Any]]:
    """Both sets with equal elements made identical, so that Python can compare them."""
    comparison = _Comparison(asking, sign)
    same: dict[Any, Any] = {}  # of the first -> what represents it
    unified = set()
    for texts, others in ((first, second), (second, first)):
        for word in {type(o): o for o in others if isinstance(o, Word)}.values():
            for text in (text for text in texts if type(text) is str):
                word.check(text, asking)
    for item in second:
        if item in first and type(item) is not str:
            unified.add(item)
            continue
        partners = comparison.partners(item, first)
        stands = next(
            (value for value in (item, *partners) if isinstance(value, Word)), (*partners, item)[0]
        )
        same.update((other, stands) for other in partners)
        unified.add(stands)
    return frozenset(same.get(item, item) for item in first), frozenset(unified)


def _order(operator: ast.cmpop, first: Any, second: Any, asking: Asking) -> bool | Idle:
    weigh(first, asking)
    weigh(second, asking)
    if isinstance(first, Version) or isinstance(second, Version):
        first, second = versions(first, second)
    sign = SIGNS[type(operator)]
    sets = isinstance(first, frozenset) and isinstance(second, frozenset)
    if not sets and not _comparable(first, second):
        raise PathError(f"`{sign}` can't compare {kind(first)} with {kind(second)}")
    left, right = aligned(first, second, asking, sign) if sets else (first, second)
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
        raise PathError(f"`{sign}` can't compare {kind(first)} with {kind(second)}") from None
    # A set of nothing is part of any, a list of nothing before any: that looks at one side alone.
    part = {ast.Lt: first, ast.LtE: first, ast.Gt: second, ast.GtE: second}[type(operator)]
    if isinstance(part, _COLLECTIONS) and (reason := reason_of(part)) is not None:
        return idle(bool(answer), reason)
    return _looked(bool(answer), first, second)


def _comparable(left: Any, right: Any) -> bool:
    if is_flag(left) or is_flag(right):
        return is_flag(left) and is_flag(right)
    return any(
        isinstance(left, kinds) and isinstance(right, kinds) for kinds in ((int, float), str, tuple)
    )


def versions(left: Any, right: Any) -> tuple[Any, Any]:
    """Two sides of which one is a version, as what compares."""
    pair = []
    for value in (left, right):
        if isinstance(value, Version):
            pair.append(version(value.text))
        elif isinstance(value, str):
            pair.append(version(value))
        else:
            named = left if isinstance(left, Version) else right
            raise PathError(
                f"`{named.path}` is a version and compares with a text, as in"
                f' `{named.path} >= "0.12"`'
            )
    return pair[0], pair[1]
