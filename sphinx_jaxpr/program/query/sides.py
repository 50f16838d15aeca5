"""What an expression compares, with values: for those who review the words beside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ..text import expect
from .elements import elements, program_of
from .equality import compare
from .explain import brief, is_literal
from .facts.parameters import is_flag
from .operators import truth
from .scope import NamedPrograms, Scope
from .syntax import PathError, parse
from .walker import Walker


class Side(NamedTuple):
    """A part of an expression as written, and its value in words."""

    text: str
    value: str


def sides(expression: str, programs: NamedPrograms) -> tuple[Side, ...]:
    """The sides of every comparison that decides an expression, in order, without literals.

    Of ``and`` and ``or`` these are the sides of each part that was evaluated; of ``all`` and
    ``any`` it is how many elements were looked at; of other calls, such as ``same``, the
    arguments; of anything else its value.  Empty where finding that out takes more work than
    an expression may.  Raises :exc:`PathError` where the expression has no value.

    >>> f = "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = mul b b in (c,) }"
    >>> sides("len(f) == 2 and all(e.uses < 2 for e in f)", {"f": f})[0]
    Side(text='len(f)', value='2')
    """
    expect(expression, str, "an expression")
    walker = Walker(parse(expression), Scope.of(programs))
    walker.run()  # an expression without a value has no sides
    reader = _SideReader(Walker(walker.expression, walker.scope))
    try:
        reader.read(walker.expression.body)
    except PathError:  # these steps are counted like those of the expression itself
        return ()
    return tuple(dict.fromkeys(reader.sides))


class _SideReader:
    """Evaluates the parts that decide, in the walker's order, and notes their sides."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.sides: list[Side] = []

    def note(self, node: ast.expr, value: object) -> None:
        """Note the value of a part; a literal is its own value."""
        if not is_literal(node):
            text = str(bool(value)).lower() if is_flag(value) else brief(program_of(value))
            self.sides.append(Side(self.walker.expression.segment(node), text))

    def read(self, node: ast.expr) -> bool:
        """Note the sides of a part; whether it holds."""
        match node:
            case ast.BoolOp(op=operator, values=values):
                is_and = isinstance(operator, ast.And)
                parts = (self.read(value) for value in values)
                return all(parts) if is_and else any(parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.read(operand)
            case ast.Compare():
                return self.compared(node)
            case ast.Call(func=ast.Name(id="all" | "any" as name), args=[argument]):
                return self.quantified(node, name, argument)
        value = self.walker.visit(node)
        if isinstance(node, ast.Call) and is_flag(value):  # what it asks about says more
            for argument in node.args:
                self.note(argument, self.walker.visit(argument))
        else:
            self.note(node, value)
        return truth(value)

    def compared(self, node: ast.Compare) -> bool:
        """Note the operands of a comparison, as far as a chain goes."""
        left = self.walker.visit(node.left)
        self.note(node.left, left)
        for operator, operand in zip(node.ops, node.comparators, strict=True):
            right = self.walker.visit(operand)
            self.note(operand, right)
            if not compare(operator, left, right, self.walker.asking):
                return False
            left = right
        return True

    def quantified(self, node: ast.expr, name: str, argument: ast.expr) -> bool:
        """Note for how many elements ``all`` or ``any`` holds."""
        verdicts = list(self.verdicts(name, argument))
        text = self.walker.expression.segment(node)
        self.sides.append(Side(text, f"true for {sum(verdicts)} of {len(verdicts)}"))
        return all(verdicts) if name == "all" else any(verdicts)

    def verdicts(self, name: str, argument: ast.expr) -> Iterator[bool]:
        walker = self.walker
        if not isinstance(argument, ast.GeneratorExp | ast.ListComp):
            for item in elements(walker.visit(argument), walker.asking, f"`{name}`"):
                yield truth(item)
            return
        outer = dict(walker.bound)
        for _ in walker.rounds(argument.generators):
            yield walker.holds(argument.elt)
        walker.bound = outer
