"""Walks a checked expression over frozen data.

Nothing of a page is run by Python: every node of the tree is handled here, names
refer to what the caller put into the :class:`~.views.Scope`, attributes to what views
list.  Work is counted, and sizes are bounded, so that every expression ends soon.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from ..glossary.glossary import builtin
from ..text import plural
from . import values
from .base import Asking, Version, View
from .elements import elements, kind, number_of, program_of, weigh
from .equality import compare, denied
from .equivalence import same
from .evidence import EvidenceList, Idle, Nothing, Pile, emptiness, idle, listing, verdict_of
from .facts.parameters import is_flag
from .lets import BrokenLet, LetCycle, mentioned, needed, parsed
from .operators import MAX_ITEMS, binary, call, make_set, number, truth
from .scope import BlockView, Scope
from .syntax import FUNCTIONS, VERSIONS, Expression, NoProgram, PathError, named_arguments, nearest
from .values import Values
from .views import OF_PROGRAMS, Equations
from .vocabulary import Word, part_of

_WORDS_OF_PROGRAMS: Final = frozenset(OF_PROGRAMS)
_PENDING: Final = object()  # the value of a let that is being evaluated


@cache
def _primitives() -> frozenset[str]:
    return frozenset(builtin().known())


class Emptiness:
    """Why a comprehension has no elements, as far as its rounds show."""

    def __init__(self) -> None:
        self.first: Nothing | None = None
        self.is_fact = False

    @property
    def reason(self) -> Nothing | None:
        """Why it looked at nothing; ``None`` where that there is nothing is a fact."""
        return None if self.is_fact else self.first

    def empty(self, reason: Nothing | None) -> None:
        """A loop has nothing to go through: for no reason that counts, or for one."""
        self.is_fact = self.is_fact or reason is None
        self.first = self.first or reason

    def refused(self, source: str, tests: str) -> None:
        """A condition leaves an element out."""
        self.first = self.first or Nothing(f"no element of {source} passes `{tests}`")


class Walker:
    """One evaluation: what is bound, what it has cost, what was noticed.

    ``outer`` is the evaluation that a let is evaluated for: they share what it costs, and the
    values of lets.
    """

    def __init__(
        self, expression: Expression, scope: Scope, inside: str = "", outer: Walker | None = None
    ) -> None:
        self.expression = expression
        self.scope = scope
        self.inside = inside
        self.bound: dict[str, object] = {}
        self.sides: list[tuple[str, Any]] = []
        self.reached: set[ast.AST] = set()  # attributes that were there
        self.lets: dict[str, object] = {}  # the values of those that were evaluated
        self.walkers: dict[str, Walker] = {}  # and what evaluated them
        self.asking: Asking
        if outer is not None:
            self.asking = outer.asking
            self.lets, self.walkers = outer.lets, outer.walkers
        else:
            named = frozenset(mentioned(expression, scope.lets)) | {inside}
            known = _primitives() | scope.primitives
            self.asking = Asking(scope.blocks, known, named, steps=scope.steps, kinds=scope.kinds)

    def run(self) -> Any:
        """The value of the whole expression; raises :exc:`PathError` with its offset."""
        return self.result(program_of)

    def result(self, settled: Callable[[Any], Any] = lambda value: value) -> Any:
        """The same; a path to a block gives the block, which may have no program."""
        try:
            self.evaluate_lets()
            value = settled(self.visit(self.expression.body))
            weigh(value, self.asking)
        except PathError as error:
            error.offset = max(error.offset, 0)
            raise
        except (RecursionError, MemoryError):
            raise PathError("this expression takes too much memory", 0) from None
        return value

    def evaluate_lets(self) -> None:
        """Evaluate the lets that the expression needs, so that none has to wait for another."""
        for name in needed(self.expression, self.scope.lets):
            if self.is_let(name):
                self.let(name)

    def holds(self, node: ast.expr) -> bool:
        """Whether a part counts as true."""
        return truth(self.visit(node))

    def same(self, left: Any, right: Any, shapes: bool) -> bool:
        """:func:`.equivalence.same` in this evaluation."""
        return same(left, right, self.asking, shapes)

    def visit(self, node: ast.expr) -> Any:
        """The value of a node; an error gets the offset of the innermost one."""
        try:
            self.asking.spend(3)
            return self.value(node)
        except PathError as error:
            if error.offset < 0:
                error.offset = self.expression.place(node)
            raise

    def value(self, node: ast.expr) -> Any:
        """The value of a node, by its kind."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.name(name)
            case ast.Attribute(value=inner, attr=name):
                result = self.attribute(self.visit(inner), name)
                self.reached.add(node)
                return result
            case ast.Subscript(value=inner, slice=key):
                return self.item(self.visit(inner), key, self.expression.segment(inner))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                listed = [self.visit(argument) for argument in arguments]
                return call(name, listed, self.asking, named_arguments(node))
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
                result = self.comprehension(element, node.generators)
                return make_set(result, self.asking, result.reason)
        raise PathError(f"`{self.expression.segment(node)[:40]}` can't be used here")

    # -- names and paths

    def name(self, name: str) -> Any:
        """What a bare name is: bound by ``for``, a block, a version."""
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
        if name in self.scope.lets:
            return self.let(name)
        raise PathError(self.unknown(name))

    def is_let(self, name: str) -> bool:
        """Whether a name that no loop binds is that of a let."""
        blocks = self.scope.blocks
        is_other = name in blocks or (self.inside and f"{self.inside}.{name}" in blocks)
        return name in self.scope.lets and not is_other

    def let(self, name: str) -> Any:
        """The value of a let; it is evaluated once, for an expression and all lets that it uses."""
        if name not in self.lets:
            self.lets[name] = _PENDING
            try:
                walker = self.walkers[name] = self.of_let(name)
                value = walker.visit(walker.expression.body)
                weigh(value, self.asking)
                self.lets[name] = value
            except (NoProgram, BrokenLet):
                raise
            except PathError as error:
                if self.asking.steps < 0:
                    raise
                raise BrokenLet(f"the let `{name}` has no value: {error.message}", 0) from None
        if self.lets[name] is _PENDING:
            raise LetCycle(f"the let `{name}` depends on itself", 0)
        return self.lets[name]

    def of_let(self, name: str) -> Walker:
        """What evaluates the expression of a let."""
        return Walker(parsed(self.scope.lets[name]), self.scope, outer=self)

    def unknown(self, name: str) -> str:
        """Why a name is none that an expression may use, with the nearest that is."""
        if name in FUNCTIONS:
            return f"`{name}` is a function: write `{name}(...)`"
        if name in self.scope.left_out:
            return f"this build leaves out the block `{name}` (directive `only`)"
        blocks = [*(self.scope.names or self.scope.blocks)]
        names = [*(key.partition(".")[0] for key in blocks), *VERSIONS, *self.bound]
        names += self.scope.lets
        if self.inside:
            start = f"{self.inside}."
            names += [key[len(start) :] for key in self.scope.blocks if key.startswith(start)]
        near = nearest(name, dict.fromkeys(names))
        if not near and self.asking.knows(name):
            return f'there is no block `{name}`; the primitive is written `"{name}"`'
        listed = ", ".join(sorted(blocks)[:8]) or "none"
        return f"there is no block `{name}`{near or f' (blocks: {listed})'}"

    def attribute(self, value: Any, name: str) -> Any:
        """``.name`` of a value."""
        if isinstance(value, View):
            return value.attribute(name, self.asking)
        if isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], View):
            return value[0].attribute(name, self.asking)
        raise PathError(f"{kind(value)} has no `.{name}`")

    def item(self, value: Any, key: ast.expr, source: str = "the list") -> Any:
        """``value[key]``; ``said`` is how the page writes the value."""
        value = program_of(value)
        if isinstance(value, View):
            index = self.key(key)
            if isinstance(key, ast.Slice) and isinstance(index, slice):
                self.within(value, index, key, source)
            try:
                return value.item(index, self.asking)
            except PathError as error:
                raise PathError(error.message + self.in_brackets(key), error.offset) from None
        if not isinstance(value, (tuple, str)):
            raise PathError(f"{kind(value)} takes no `[...]`")
        index = self.slice(key) if isinstance(key, ast.Slice) else number_of(self.visit(key))
        if isinstance(index, slice):
            self.asking.spend(len(value) // 10)
            if isinstance(value, Word):
                return part_of(value, index)
            if not isinstance(value, EvidenceList):
                return value[index]
            self.within(value, index, key, source)
            return listing(value[index], value.reason)
        if is_flag(index) or not isinstance(index, int):
            raise PathError(f"{kind(value)} takes a position in brackets, not {kind(index)}")
        if not -len(value) <= index < len(value):
            has = plural(len(value), "element")
            raise PathError(f"`{source}` has {has}, so there is no `[{index}]`")
        return part_of(value, index) if isinstance(value, Word) else value[index]

    def in_brackets(self, key: ast.expr) -> str:
        """How a let is written whose name was taken for a word; else nothing."""
        if not isinstance(key, ast.Name) or key.id in self.bound or not self.is_let(key.id):
            return ""
        if isinstance(self.let(key.id), int):
            return f"; for the number that the let `{key.id}` gives, write `[+{key.id}]`"
        return f"; in brackets `{key.id}` is a word, not the let of this name"

    def within(self, value: Any, span: slice, key: ast.expr, source: str) -> None:
        """An error where a slice begins beyond the end of equations or values."""
        match value:
            case Equations():
                count, noun, path = len(value.equations), "equation", value.path
            case Values():
                count, noun, path = len(value.values), "value", value.path
            case EvidenceList():
                count, noun, path = len(value), "element", source
            case _:
                return
        is_computed = isinstance(key, ast.Slice) and not isinstance(key.lower, ast.Constant)
        values.sliced(count, span, path, noun, is_computed)

    def key(self, node: ast.expr) -> int | slice | str:
        """The key in brackets after a path: a word is itself, unless it is bound."""
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
        if is_flag(value) or not isinstance(value, int):
            raise PathError(f"brackets take a word, a number or a slice, not {kind(value)}")
        return value

    def is_hyphenated(self, node: ast.expr) -> bool:
        """Whether a difference reads like one name with hyphens, as in ``my-block``."""
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            if not isinstance(node.right, ast.Name) or self.is_variable(node.right.id):
                return False
            node = node.left
        return isinstance(node, ast.Name) and not self.is_variable(node.id)

    def is_variable(self, name: str) -> bool:
        """Whether a name in a calculation is bound, by a loop or a let."""
        return name in self.bound or self.is_let(name)

    def slice(self, node: ast.Slice) -> slice:
        """A slice of integers."""
        parts: list[int | None] = []
        for part in (node.lower, node.upper, node.step):
            value = None if part is None else number_of(self.visit(part))
            if value is not None and (is_flag(value) or not isinstance(value, int)):
                raise PathError(f"a slice takes numbers, not {kind(value)}")
            parts.append(value)
        if parts[2] == 0:
            raise PathError("the step of a slice can't be 0")
        return slice(*parts)

    # -- the rest

    def comparison(self, node: ast.Compare) -> bool | Idle:
        """The verdict of a comparison, also of a chain such as ``1 < x < 3``."""
        operands = [node.left, *node.comparators]
        left = self.visit(node.left)
        sides = [(self.expression.segment(node.left), left)]
        answer: bool | Idle = True
        about: Nothing | None = None
        for operator, operand in zip(node.ops, operands[1:], strict=True):
            right = self.visit(operand)
            sides.append((self.expression.segment(operand), right))
            answer = compare(operator, left, right, self.asking)
            about = about or (answer.reason if isinstance(answer, Idle) else None)
            if not answer:
                break
            left = right
        if answer and about is not None:
            answer = idle(True, about)
        if node is self.expression.body:
            self.sides = sides
        return answer

    def logic(self, is_and: bool, values: list[ast.expr]) -> bool | Idle:
        """``and``, ``or``: as idle as the part that decides, or as any where all count."""
        about: Nothing | None = None
        for node in values:
            value = verdict_of(self.visit(node))
            reason = value.reason if isinstance(value, Idle) else None
            if truth(value) != is_and:
                return not is_and if reason is None else idle(not is_and, reason)
            about = about or reason
        return is_and if about is None else idle(is_and, about)

    def unary(self, operator: ast.unaryop, value: Any) -> Any:
        """``not``, ``+`` or ``-`` of a value."""
        if isinstance(operator, ast.Not):
            value = verdict_of(value)
            return denied(value if isinstance(value, Idle) else truth(value))
        value = number_of(value)
        if not isinstance(value, (int, float)):
            raise PathError(f"a sign cannot precede {kind(value)}")
        return number(-value if isinstance(operator, ast.USub) else +value)

    def comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> EvidenceList:
        """The items of a comprehension, and what came of its conditions."""
        items: list[Any] = []
        why = Emptiness()
        outer = dict(self.bound)
        try:
            for _ in self.rounds(generators, why):
                items.append(program_of(self.visit(element)))
                if len(items) > MAX_ITEMS:
                    raise PathError(f"a list grew longer than {MAX_ITEMS:,}")
        finally:
            self.bound = outer
        return listing(items, why.reason)

    def rounds(
        self, generators: list[ast.comprehension], why: Emptiness | None = None
    ) -> Iterator[None]:
        """Binds the variables of each round; one generator's loop is inside the last one's."""
        if not generators:
            yield None
            return
        first, *others = generators
        why = why or Emptiness()
        source = program_of(self.visit(first.iter))
        items = elements(source, self.asking, "`for`")
        if not items:
            why.empty(emptiness(source))
        for item in items:
            self.asking.spend(1)
            self.bind(first.target, item)
            if all(truth(self.visit(test)) for test in first.ifs):
                yield from self.rounds(others, why)
            elif isinstance(source, (View, EvidenceList, Pile)):
                why.refused(f"`{self.expression.segment(first.iter)}`", self.tests(first))

    def tests(self, loop: ast.comprehension) -> str:
        """The conditions of a loop as written."""
        return " ".join(f"if {self.expression.segment(test)}" for test in loop.ifs)

    def bind(self, target: ast.expr, item: Any) -> None:
        """Bind the names of a loop to the parts of one item."""
        if isinstance(target, ast.Name):
            self.bound[target.id] = item
            return
        assert isinstance(target, ast.Tuple)
        if not isinstance(item, tuple) or len(item) != len(target.elts):
            raise PathError(f"`for` cannot unpack {kind(item)} into {len(target.elts)} names")
        for name, part in zip(target.elts, item, strict=True):
            assert isinstance(name, ast.Name)
            self.bound[name.id] = part
