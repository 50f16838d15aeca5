"""Walks a checked expression over frozen data.

Nothing of a page is run by Python: every node of the tree is handled here, names
lead to what the caller put into the :class:`Scope`, attributes to what views
list.  Work is counted, and sizes are bounded, so that any expression ends soon.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from .arithmetic import MAX_ITEMS, binary, call, make_set, number, truth
from .comparing import compare, elements, kind, number_of, program_of, weigh
from .glossary import known
from .kinds import Asking, Version, View
from .paths import FUNCTIONS, VERSIONS, Expression, PathError, nearest, parse
from .same import same
from .scope import BlockView, Scope
from .views import OF_PROGRAMS, Equations, EquationView, Programs, ProgramView

__all__ = [
    "PathError",
    "Result",
    "Scope",
    "Walker",
    "evaluate",
    "resolve_block",
    "resolve_equation",
    "resolve_equations",
]

_WORDS_OF_PROGRAMS: Final = frozenset(OF_PROGRAMS)


@dataclass(frozen=True)
class Result:
    """The value of an expression.

    ``hints`` are what the author should know (names that JAX changed).  ``sides``
    are, where the whole is a comparison, its parts: (text, value) of each side.
    """

    value: Any
    hints: tuple[str, ...] = ()
    sides: tuple[tuple[str, Any], ...] = ()

    @property
    def is_true(self) -> bool:
        """Whether it holds, as a claim."""
        return truth(self.value)


def evaluate(text: str, scope: Scope) -> Result:
    """The value of an expression; :class:`PathError` where it has none."""
    walker = Walker(parse(text), scope)
    return Result(walker.run(), tuple(walker.asking.hints), tuple(walker.sides))


def resolve_equation(text: str, scope: Scope, inside: str = "") -> EquationView:
    """The one equation that a path points at.

    ``inside`` is the name of a directive's base block, in which a note's path may
    start: ``[tanh]`` is an equation of the base, ``grad[tanh]`` of a variant.
    """
    return resolve(text, scope, inside)[0]


def resolve(text: str, scope: Scope, inside: str = "") -> tuple[EquationView, tuple[str, ...]]:
    """:func:`resolve_equation`, and the hints."""
    text = " ".join(text.split())
    prefix = inside if inside and text.startswith(("[", ".")) else ""
    try:
        walker = Walker(parse(prefix + text), scope, inside)
        value = walker.run()
        if isinstance(value, ProgramView):
            raise PathError(
                f"`{value.path}` is a program, not one equation; an equation is"
                f" `{value.path}[0]` or `{value.path}[{_first(value)}]`"
            )
        if isinstance(value, Equations):
            value = value.only()
        if not isinstance(value, EquationView):
            raise PathError(f"this is {kind(value)}, not one equation")
    except PathError as error:
        error.offset = max(0, error.offset - len(prefix))
        raise
    return value, tuple(walker.asking.hints)


def resolve_equations(text: str, scope: Scope, inside: str = "") -> Equations:
    """The equations that a path points at: one or many, or those of a program; never none."""
    text = " ".join(text.split())
    prefix = inside if inside and text.startswith(("[", ".")) else ""
    try:
        value = Walker(parse(prefix + text), scope, inside).run()
        if isinstance(value, EquationView):
            value = Equations(value.block, value.path, (value.equation,))
        if isinstance(value, Programs):
            own = [e for program in value.programs for e in program.equations]
            value = Equations(value.programs[0].block, value.path, own) if own else value
        if not isinstance(value, Equations):
            raise PathError(f"this is {kind(value)}, not equations")
        if not value.equations:
            raise PathError(value.missing())
    except PathError as error:
        error.offset = max(0, error.offset - len(prefix))
        raise
    return value


def resolve_block(text: str, scope: Scope) -> BlockView:
    """The block that a path names."""
    walker = Walker(parse(text), scope)
    value = walker.visit(walker.expression.body)
    if isinstance(value, BlockView):
        return value
    raise PathError(f"this is {kind(value)}, not a block", 0)


def _first(program: ProgramView) -> str:
    return program.equations[0].primitive if program.equations else "add"


@cache
def _primitives() -> frozenset[str]:
    return frozenset(known())


class Walker:
    """One evaluation: what is bound, what it has cost, what was noticed."""

    def __init__(self, expression: Expression, scope: Scope, inside: str = "") -> None:
        self.expression = expression
        self.scope = scope
        self.inside = inside
        self.asking = Asking(scope.blocks, _primitives() | scope.primitives)
        self.bound: dict[str, Any] = {}
        self.sides: list[tuple[str, Any]] = []

    def run(self) -> Any:
        try:
            value = program_of(self.visit(self.expression.body))
            weigh(value, self.asking)
        except PathError as error:
            error.offset = max(error.offset, 0)
            raise
        except (RecursionError, MemoryError):
            raise PathError("this expression takes too much memory", 0) from None
        return value

    def holds(self, node: ast.expr) -> bool:
        """Whether a part counts as true."""
        return truth(self.visit(node))

    def same(self, one: Any, two: Any) -> bool:
        """:func:`.same.same` in this evaluation."""
        return same(one, two, self.asking)

    def visit(self, node: ast.expr) -> Any:
        """The value of a node; an error is given the place of the innermost one."""
        try:
            self.asking.spend(3)
            return self.value(node)
        except PathError as error:
            if error.offset < 0:
                error.offset = self.expression.place(node)
            raise

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=inner, attr=name):
                return self.attribute(self.visit(inner), name)
            case ast.Subscript(value=inner, slice=key):
                return self.item(self.visit(inner), key)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return call(name, [self.visit(argument) for argument in arguments], self.asking)
            case ast.Compare():
                return self.comparison(node)
            case ast.BoolOp(op=operator, values=values):
                return self.logic(isinstance(operator, ast.And), values)
            case ast.BinOp(left=left, op=operator, right=right):
                return binary(operator, self.visit(left), self.visit(right), self.asking)
            case ast.UnaryOp(op=operator, operand=operand):
                return self.unary(operator, self.visit(operand))
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return tuple(self.visit(item) for item in items)
            case ast.Set(elts=items):
                return make_set(tuple(self.visit(item) for item in items), self.asking)
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
                return self.comprehension(element, node.generators)
            case ast.SetComp(elt=element):
                return make_set(self.comprehension(element, node.generators), self.asking)
        raise PathError(f"`{self.expression.segment(node)[:40]}` can't be used here")

    # -- names and paths

    def name(self, name: str) -> Any:
        if name in self.bound:
            return self.bound[name]
        blocks = self.scope.blocks
        if self.inside:
            if f"{self.inside}.{name}" in blocks:
                return BlockView(blocks[f"{self.inside}.{name}"])
            if name in _WORDS_OF_PROGRAMS and self.inside in blocks:
                return self.attribute(BlockView(blocks[self.inside]), name)
        if name in VERSIONS:
            if name not in self.scope.versions:
                raise PathError(f"the version of `{name}` is not known here")
            return Version(name, self.scope.versions[name])
        if name in blocks:
            return BlockView(blocks[name])
        raise PathError(self.unknown(name))

    def unknown(self, name: str) -> str:
        if name in FUNCTIONS:
            return f"`{name}` is a function: write `{name}(...)`"
        names = [*(key.partition(".")[0] for key in self.scope.blocks), *VERSIONS, *self.bound]
        if self.inside:
            start = f"{self.inside}."
            names += [key[len(start) :] for key in self.scope.blocks if key.startswith(start)]
        near = nearest(name, dict.fromkeys(names))
        if not near and self.asking.knows(name):
            return f'there is no block `{name}`; the primitive is written `"{name}"`'
        listed = ", ".join(sorted(self.scope.blocks)[:8]) or "none"
        return f"there is no block `{name}`{near or f' (blocks: {listed})'}"

    def attribute(self, value: Any, name: str) -> Any:
        if isinstance(value, View):
            return value.attribute(name, self.asking)
        if isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], View):
            return value[0].attribute(name, self.asking)
        raise PathError(f"{kind(value)} has no `.{name}`")

    def item(self, value: Any, key: ast.expr) -> Any:
        value = program_of(value)
        if isinstance(value, View):
            return value.item(self.key(key), self.asking)
        if not isinstance(value, (tuple, str)):
            raise PathError(f"{kind(value)} takes no `[...]`")
        place = self.slice(key) if isinstance(key, ast.Slice) else number_of(self.visit(key))
        if isinstance(place, slice):
            self.asking.spend(len(value) // 10)
            return value[place]
        if isinstance(place, bool) or not isinstance(place, int):
            raise PathError(f"{kind(value)} takes a position in brackets, not {kind(place)}")
        if not -len(value) <= place < len(value):
            raise PathError(f"{kind(value)} has {len(value)} elements, there is no `[{place}]`")
        return value[place]

    def key(self, node: ast.expr) -> int | slice | str:
        """What stands in brackets after a path: a word is itself, unless it is bound."""
        match node:
            case ast.Slice():
                return self.slice(node)
            case ast.Name(id=name) if name not in self.bound:
                return name
            case ast.BinOp(op=ast.Sub()) if self.is_hyphenated(node):
                text = self.expression.segment(node).replace(" ", "")
                raise PathError(f'a name with a `-` is quoted: `["{text}"]`')
        value = number_of(self.visit(node))
        if isinstance(value, str):
            return str(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise PathError(f"brackets take a word, a number or a slice, not {kind(value)}")
        return value

    def is_hyphenated(self, node: ast.expr) -> bool:
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            if not isinstance(node.right, ast.Name) or node.right.id in self.bound:
                return False
            node = node.left
        return isinstance(node, ast.Name) and node.id not in self.bound

    def slice(self, node: ast.Slice) -> slice:
        parts: list[int | None] = []
        for part in (node.lower, node.upper, node.step):
            value = None if part is None else number_of(self.visit(part))
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise PathError(f"a slice takes numbers, not {kind(value)}")
            parts.append(value)
        if parts[2] == 0:
            raise PathError("the step of a slice can't be 0")
        return slice(*parts)

    # -- the rest

    def comparison(self, node: ast.Compare) -> bool:
        operands = [node.left, *node.comparators]
        left = self.visit(node.left)
        sides = [(self.expression.segment(node.left), left)]
        answer = True
        for operator, operand in zip(node.ops, operands[1:], strict=True):
            right = self.visit(operand)
            sides.append((self.expression.segment(operand), right))
            answer = compare(operator, left, right, self.asking)
            if not answer:
                break
            left = right
        if node is self.expression.body:
            self.sides = sides
        return answer

    def logic(self, is_and: bool, values: list[ast.expr]) -> bool:
        for value in values:
            if truth(self.visit(value)) != is_and:
                return not is_and
        return is_and

    def unary(self, operator: ast.unaryop, value: Any) -> Any:
        if isinstance(operator, ast.Not):
            return not truth(value)
        value = number_of(value)
        if not isinstance(value, (int, float)):
            raise PathError(f"a sign can't stand before {kind(value)}")
        return number(-value if isinstance(operator, ast.USub) else +value)

    def comprehension(
        self, element: ast.expr, generators: list[ast.comprehension]
    ) -> tuple[Any, ...]:
        found: list[Any] = []
        outer = dict(self.bound)
        try:
            for _ in self.rounds(generators):
                found.append(program_of(self.visit(element)))
                if len(found) > MAX_ITEMS:
                    raise PathError(f"a list became longer than {MAX_ITEMS:,}")
        finally:
            self.bound = outer
        return tuple(found)

    def rounds(self, generators: list[ast.comprehension]) -> Iterator[None]:
        """Binds the variables of each round; one generator's loop is inside the last one's."""
        if not generators:
            yield None
            return
        first, *others = generators
        for item in elements(self.visit(first.iter), self.asking, "`for`"):
            self.asking.spend(1)
            self.bind(first.target, item)
            if all(truth(self.visit(test)) for test in first.ifs):
                yield from self.rounds(others)

    def bind(self, target: ast.expr, item: Any) -> None:
        if isinstance(target, ast.Name):
            self.bound[target.id] = item
            return
        assert isinstance(target, ast.Tuple)
        if not isinstance(item, tuple) or len(item) != len(target.elts):
            raise PathError(f"`for` can't take {kind(item)} apart into {len(target.elts)}")
        for name, part in zip(target.elts, item, strict=True):
            assert isinstance(name, ast.Name)
            self.bound[name.id] = part
