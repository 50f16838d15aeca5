"""What is true where a claim is false, so that its author can mend the sentence."""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any, Final

from ..renames import table
from ..text import expect
from .base import View, words
from .elements import elements, program_of
from .scope import NamedPrograms, Scope
from .syntax import PathError, named_arguments, nearest, parse
from .values import in_brackets
from .views import Equations, EquationView, ProgramView
from .walker import Walker

#: Longest shown value, in characters.
MAX_VALUE: Final = 240
#: How many failing elements are named.
MAX_NAMED: Final = 3


def explain(claim: str, programs: NamedPrograms) -> str:
    """What is true where a claim is false: values, differences, near things.

    Raises :exc:`PathError` where the claim has no value.

    >>> f = "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = mul b b in (c,) }"
    >>> explain("ops(f) == ['tanh']", {"f": f})
    '`ops(f)` has one more: mul (2 and 1 in all)'
    """
    expect(claim, str, "a claim")
    walker = Walker(parse(claim), Scope.of(programs))
    walker.evaluate_lets()
    explainer = _Explainer(walker)
    try:
        reasons = explainer.false(walker.expression.body)
    except PathError:  # the explanation takes more work than the expression itself
        reasons = []
    return "; ".join(dict.fromkeys(filter(None, reasons))) or f"`{walker.expression.text}` is false"


def brief(value: Any) -> str:
    """A value in a message, not too long."""
    text = " ".join(words(value).split())
    if value == ():
        text = "empty"
    elif isinstance(value, str):
        text = f'"{text}"'
    elif isinstance(value, tuple) and all(isinstance(item, str) for item in value):
        text = ", ".join(value)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}..."


class _Explainer:
    """Goes down to the parts that make an expression false."""

    def __init__(self, walker: Walker, explained: set[str] | None = None) -> None:
        self.walker = walker
        self.explained = set() if explained is None else explained  # names of lets
        self.expression = walker.expression

    def segment(self, node: ast.expr) -> str:
        return self.expression.segment(node)

    def false(self, node: ast.expr) -> list[str]:
        """Why ``node`` is false."""
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                for value in values:
                    if not self.holds(value):
                        return self.false(value)
            case ast.BoolOp(values=values):
                return [part for value in values[:MAX_NAMED] for part in self.false(value)]
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.true(operand)
            case ast.Call(func=ast.Name(id="all" | "any" as name), args=[argument]):
                return self.quantified(name, argument)
            case ast.Call(func=ast.Name(id="same"), args=[one, two]):
                return self.different(one, two, named_arguments(node).get("shapes", True))
            case ast.Compare():
                return self.compared(node)
            case ast.Name(id=name) if self.walker.is_let(name) and name not in self.walker.bound:
                return self.false_let(name)
        value = self.walker.visit(node)
        return [f"`{self.segment(node)}` is {brief(value)}", *self.missing(node)]

    def false_let(self, name: str) -> list[str]:
        """Why the expression of a let is false, once: others may use it many times."""
        if name in self.explained:
            return []
        self.explained.add(name)
        walker = self.walker.of_let(name)
        return _Explainer(walker, self.explained).false(walker.expression.body)

    def holds(self, node: ast.expr) -> bool:
        return self.walker.holds(node)

    def true(self, node: ast.expr) -> list[str]:
        """The value of a part that should be false but is true."""
        if isinstance(node, ast.Compare):
            return [f"`{self.segment(node)}` is true", *self.sides([node.left, *node.comparators])]
        value = self.walker.visit(node)
        if isinstance(value, Equations):
            return [f"`{self.segment(node)}` is not empty: {brief(value)}"]
        return [f"`{self.segment(node)}` is {'true' if value is True else brief(value)}"]

    # -- comparisons

    def compared(self, node: ast.Compare) -> list[str]:
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            left, right = operands[index : index + 2]
            part = ast.Compare(left, [operator], [right])
            if self.walker.comparison(part):
                continue
            parts = self.difference(operator, left, right) or self.sides([left, right])
            return [*parts, *self.missing(left), *self.missing(right)]
        return self.sides(operands)

    def sides(self, operands: list[ast.expr]) -> list[str]:
        """The values of all operands but literals."""
        return [
            f"`{self.segment(operand)}` is {brief(self.walker.visit(operand))}"
            for operand in operands
            if not is_literal(operand)
        ]

    def difference(self, operator: ast.cmpop, first: ast.expr, second: ast.expr) -> list[str]:
        left, right = (program_of(self.walker.visit(node)) for node in (first, second))
        if isinstance(operator, ast.In | ast.NotIn):
            parts = f"`{self.segment(second)}` is {brief(_listed(right, self.walker))}"
            near = ""
            if isinstance(operator, ast.In) and isinstance(left, str):
                listed = {n for n in _listed(right, self.walker) if isinstance(n, str)}
                real = table().primitive(left, listed)
                near = f", `{left}` is `{real}` here" if real else nearest(left, sorted(listed))
                near = near.replace(", ", "; ", 1)  # a list stands before it
            return [parts + near]
        if not isinstance(operator, ast.Eq):
            return []
        texts = [_texts(value) for value in (left, right)]
        if texts[0] is None or texts[1] is None:
            return []
        if texts[0] == texts[1]:  # of equations in other positions
            names = f"`{self.segment(first)}` and `{self.segment(second)}`"
            parts = (
                f"{names} have the same primitives ({brief(texts[0])}), but are different equations"
            )
            return [f"{parts}; compare them with `same(...)` or `ops(...)`"]
        return [_of_lists(self.segment(first), texts[0], self.segment(second), texts[1])]

    def missing(self, node: ast.expr) -> list[str]:
        """For equations that are asked for: what is near where there are none, what is inside."""
        parts = []
        for part in ast.walk(node):
            if isinstance(part, ast.Subscript) and self.is_closed(part):
                value = self.walker.visit(part)
                if isinstance(value, Equations) and not value.equations and value.wanted:
                    parts.append(value.missing())
            match part:
                case ast.Call(func=ast.Name(id="len"), args=[ast.Subscript() as counted]):
                    if self.is_closed(counted):
                        parts.append(_inside(self.walker.visit(counted)))
        return parts

    def is_closed(self, node: ast.expr) -> bool:
        """Whether a part can be evaluated alone: it names nothing that ``for`` binds."""
        bound = {
            name.id
            for loop in ast.walk(self.expression.body)
            if isinstance(loop, ast.comprehension)
            for name in ast.walk(loop.target)
            if isinstance(name, ast.Name)
        }
        return not any(isinstance(n, ast.Name) and n.id in bound for n in ast.walk(node))

    # -- all, any, same

    def quantified(self, name: str, argument: ast.expr) -> list[str]:
        if not isinstance(argument, ast.GeneratorExp | ast.ListComp):
            value = elements(self.walker.visit(argument), self.walker.asking, f"`{name}`")
            return [f"`{self.segment(argument)}` is {brief(value)}"]
        total, failing = 0, list[str]()
        for _ in self.walker.rounds(argument.generators):
            total += 1
            if not self.holds(argument.elt):
                failing.append(self.round(argument.elt) if len(failing) < MAX_NAMED else "")
        if name == "any":
            return [f"it holds for none of {total}: {_named(failing) or 'there are none'}"]
        return [f"it fails for {len(failing)} of {total}: {_named(failing)}"]

    def round(self, element: ast.expr) -> str:
        """One element for which a predicate fails: what is bound, and what is compared."""
        name = " ".join(map(_named_one, self.walker.bound.values()))
        if isinstance(element, ast.Compare):
            sides = [s for s in (element.left, *element.comparators) if not is_literal(s)]
            parts = [f"`{self.segment(s)}` is {brief(self.walker.visit(s))}" for s in sides[:2]]
            return f"{name} ({', '.join(parts)})"
        return name

    def different(self, first: ast.expr, second: ast.expr, shapes: bool) -> list[str]:
        views = [program_of(self.walker.visit(node)) for node in (first, second)]
        texts = [_texts(view) for view in views]
        if texts[0] is not None and texts[1] is not None and texts[0] != texts[1]:
            return [_of_lists(self.segment(first), texts[0], self.segment(second), texts[1])]
        pairs = [_equations(view) for view in views]
        for left, right in zip(*pairs, strict=False):
            if not self.walker.same(left, right, shapes):
                return [f"the first difference is {brief(left)} and {brief(right)}"]
        return ["the equations are the same, but inputs, results or the wiring differ"]


def _inside(equations: Any) -> str:
    """How many equations of a primitive there are at any depth, where these are fewer."""
    origin = equations.origin if isinstance(equations, Equations) else None
    if not isinstance(origin, ProgramView) or not equations.equations:
        return ""
    count = sum(e.primitive == equations.wanted for e in origin.deeper())
    if not equations.wanted or not count:
        return ""
    path = f"{origin.path}.all{in_brackets(equations.wanted)}"
    return f"at any depth it is {len(equations.equations) + count}: `{path}`"


def _named_one(value: Any) -> str:
    """A value that ``for`` binds: an equation by its primitive and type."""
    if isinstance(value, EquationView):
        kinds = [value.block.index.type_of(variable) for variable in value.equation.outputs]
        return " ".join([value.equation.primitive, *filter(None, kinds)])[:80]
    return " ".join(words(value).split())[:80]


def _named(failing: list[str]) -> str:
    named = [name for name in failing if name]
    more = len(failing) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return all(is_literal(item) for item in node.elts)
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    )


def _listed(value: Any, walker: Walker) -> Any:
    return value if isinstance(value, str) else elements(value, walker.asking, "`in`")


def _equations(value: Any) -> tuple[EquationView, ...]:
    if isinstance(value, EquationView):
        return (value,)
    return value.members() if isinstance(value, Equations) else ()


def _texts(value: Any) -> tuple[str, ...] | None:
    """The names of primitives, or texts, that are compared in order."""
    if isinstance(value, View):
        views = _equations(value)
        return tuple(view.equation.primitive for view in views) if views else None
    if isinstance(value, tuple) and value and all(isinstance(item, str) for item in value):
        return value
    return None


def _of_lists(name: str, left: tuple[str, ...], other: str, right: tuple[str, ...]) -> str:
    """How two lists of names differ."""
    more, fewer = Counter(left) - Counter(right), Counter(right) - Counter(left)
    if not more and not fewer:
        index = next(n for n, (a, b) in enumerate(zip(left, right, strict=True)) if a != b)
        return (
            f"`{name}` has the same in another order: at [{index}] it has {left[index]},"
            f" `{other}` has {right[index]}"
        )
    parts = []
    if more:
        parts.append(f"`{name}` has {_count(more)} more: {_with_counts(more)}")
    if fewer:
        whose = f"`{other}` has" if not more else "and lacks"
        text = f"{whose} {_count(fewer)} more: {_with_counts(fewer)}"
        parts.append(text if not more else f"{whose} {_with_counts(fewer)}")
    return " ".join(parts) + f" ({len(left)} and {len(right)} in all)"


def _count(counted: Counter[str]) -> str:
    total = counted.total()
    return "one" if total == 1 else str(total)


def _with_counts(counted: Counter[str]) -> str:
    names = [name if n == 1 else f"{n} \u00d7 {name}" for name, n in counted.items()]
    return ", ".join(names[:8]) + (", ..." if names[8:] else "")
