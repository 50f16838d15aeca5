"""The parts of an expression that its evaluation skipped: their words must be right, too.

``and``, ``or``, conditions and empty loops leave parts out.  A name or a word that is
wrong there would come to light with another JAX, or never.  Names of blocks, labels,
attributes and words of closed vocabularies are looked up here, without a value; whether
equations, positions and parameters exist is asked only where it is evaluated, so that
``f[cos] and f[cos][0].uses == 1`` may guard itself.

A function that gives equations or values needs a case in :meth:`Unevaluated.sort`, one that
gives words a case in :meth:`Unevaluated.vocabulary`; without it what follows is not checked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from .base import Version
from .blocks import PHASES
from .derived.flops import cannot_contract
from .derived.operands import OF_OPERANDS, misplaced, unknown_inside
from .equality import versions
from .facts.words import ArrayType, AxisName, Kind
from .lets import BrokenLet, needed, parsed
from .scope import BlockView
from .syntax import VERSIONS, NoProgram, PathError, nearest
from .values import OF_VALUES, Value, Values
from .views import CHANGES, OF_EQUATIONS, OF_PROGRAMS, Equations, EquationView, ProgramView
from .vocabulary import (
    Dtype,
    Origin,
    ParameterName,
    ParametersView,
    Phase,
    Primitive,
    Word,
)

if TYPE_CHECKING:
    from .walker import Walker

_Vocabulary = type[Word]

_OF_ATTRIBUTES: Final[dict[str, _Vocabulary]] = {
    "primitive": Primitive,
    "phase": Phase,
    "origin": Origin,
    "dtype": Dtype,
    "type": ArrayType,
    "kind": Kind,
    "varying": AxisName,
    "params": ParameterName,
}
#: Those with words as elements, not in one text.
_COLLECTIONS: Final = frozenset({"params", "varying"})
_OF_ERRORS: Final = ("type", "message")
#: What a path may point at.
_PROGRAM: Final = "a program"
_EQUATION: Final = "an equation"
_VALUE: Final = "a value"
_FACT: Final = "a fact"
_SELECTING: Final = (*sorted(PHASES), *sorted(CHANGES))
_OF_SORTS: Final[dict[str, tuple[str, ...]]] = {
    _EQUATION: (*OF_EQUATIONS, *_SELECTING),
    _VALUE: OF_VALUES,
    _FACT: (),
}
_FACTS: Final = frozenset({*OF_EQUATIONS, *OF_VALUES}) - {
    "params",
    "inputs",
    "outputs",
    "uses",
    "calls",
}
#: How parameters end that are dtypes: ``new_dtype``, ``preferred_element_type``.
_OF_DTYPES: Final = ("dtype", "element_type")
#: Functions that give the elements of what they take.
_PASSING: Final = frozenset({"set", "sorted", "min", "max"})
#: Brackets behind these take names of their own.
_NAMED: Final = frozenset({"params", "inputs", "outputs"})


class Unevaluated:
    """Looks at every part of an expression that was evaluated."""

    def __init__(
        self, walker: Walker, of_lets: dict[str, _Vocabulary | None] | None = None
    ) -> None:
        self.walker = walker
        self.of_lets = {} if of_lets is None else of_lets  # the vocabularies of lets
        self.asking = walker.asking
        self.expression = walker.expression
        self.blocks = walker.scope.blocks
        self.bound: dict[str, _Vocabulary | None] = {}
        self.sorts: dict[str, str] = {}  # of bound names
        self.listed: dict[str, ast.expr] = {}  # what bound names go through, where it is written

    def check(self) -> None:
        """An error, with its place, for the first wrong word; lets were evaluated in parts, too."""
        self.visit(self.expression.body)
        for name, walker in self.walker.walkers.items():
            try:
                Unevaluated(walker, self.of_lets).visit(walker.expression.body)
            except (NoProgram, BrokenLet):
                raise
            except PathError as error:
                raise BrokenLet(f"the let `{name}` has no value: {error.message}", 0) from None

    def names_a_program(self) -> bool:
        """Whether a block or a version is named, by the expression or by a let that it uses."""
        lets = self.walker.scope.lets
        bodies = [self.expression.body]
        bodies += [parsed(lets[name]).body for name in needed(self.expression, lets)]
        return any(map(self._names_one, bodies))

    def _names_one(self, body: ast.expr) -> bool:
        loops = [part for part in ast.walk(body) if isinstance(part, ast.comprehension)]
        bound = {name.id for loop in loops for name in _names(loop.target)}
        roots = {*VERSIONS, *(name.partition(".")[0] for name in self.blocks)}
        named = {name.id for name in _names(body)}
        return bool(named & roots - bound)

    def visit(self, node: ast.AST) -> None:
        """Check a node; an error gets the offset of the innermost node that has one."""
        try:
            self.look(node)
        except PathError as error:
            if error.offset < 0 and isinstance(node, ast.expr):
                error.offset = self.expression.place(node)
            raise

    def look(self, node: ast.AST) -> None:
        """Check a node by its kind."""
        match node:
            case ast.Name(id=name):
                if not (
                    name in self.bound
                    or name in self.blocks
                    or name in VERSIONS
                    or self.walker.is_let(name)
                ):
                    raise PathError(self.walker.unknown(name))
            case ast.Attribute():
                self.attribute(node)
            case ast.Subscript(value=inner, slice=key):
                self.visit(inner)
                self.key(inner, key)
            case ast.Call(args=arguments):
                self.all(arguments)
            case ast.Compare():
                self.comparison(node)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor() | ast.Sub()):
                self.all((left, node.right))
                self.pair(left, node.right)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                self.comprehension(node)
            case _:
                self.all(ast.iter_child_nodes(node))

    def all(self, nodes: Iterable[ast.AST]) -> None:
        """Check each of the nodes."""
        for node in nodes:
            self.visit(node)

    # -- names

    def block(self, node: ast.expr) -> str:
        """The block that a path names, or ``""``."""
        match node:
            case ast.Name(id=name) if name not in self.bound and name in self.blocks:
                return name
            case ast.Name() if isinstance(view := self.let(node), BlockView):
                return view.path
            case ast.Attribute(value=inner, attr=name):
                outer = self.block(inner)
                if outer and f"{outer}.{name}" in self.blocks:
                    return f"{outer}.{name}"
        return ""

    def let(self, node: ast.expr) -> Any:
        """The value of a let that a part names, which was evaluated; ``None`` for all others."""
        match node:
            case ast.Name(id=name) if name not in self.bound and self.walker.is_let(name):
                return self.walker.let(name)
        return None

    def literal(self, node: ast.expr) -> ast.expr:
        """What is written where a name stands for it: in a loop or in a let; else the node."""
        match node:
            case ast.Name(id=name) if name in self.listed:
                return self.listed[name]
            case ast.Name(id=name) if self.let(node) is not None:
                return parsed(self.walker.scope.lets[name]).body
        return node

    def attribute(self, node: ast.Attribute) -> None:
        """Refuse a name that nothing of the sort of its owner has."""
        if self.block(node):
            return
        self.visit(node.value)
        if node in self.walker.reached:
            return
        name, outer = node.attr, self.block(node.value)
        if outer:
            if name not in OF_PROGRAMS:
                view = BlockView(self.blocks[outer])
                raise PathError(view.unknown(name, self.asking))
            return
        names = dict.fromkeys((*OF_EQUATIONS, *OF_PROGRAMS, *OF_VALUES, *_OF_ERRORS))
        sort = self.sort(node.value)
        if sort == _EQUATION:
            primitive = self.selected(node.value)
            if why := misplaced(primitive, name) or cannot_contract(primitive, name):
                raise PathError(why)
        if name in names and name not in _OF_SORTS.get(sort, names):
            held = sort == _EQUATION and any(name in b.parameters for b in self.asking.mentioned)
            if not held:
                path, has = self.expression.segment(node.value), _OF_SORTS[sort]
                near = nearest(name, has) or (f" (it has: {', '.join(has)})" if has else "")
                raise PathError(f"`{path}` is {sort} and has no `.{name}`{near}")
        if name not in names:
            try:
                ParameterName.check(name, self.asking)  # a program that it may hold
            except PathError:
                near = nearest(name, names) or f" (there are: {', '.join(names)})"
                raise PathError(f"there is no attribute `.{name}`{near}") from None

    def selected(self, node: ast.expr) -> str:
        """The primitive that a path selects by its last words, or ``""``."""
        match node:
            case ast.Subscript(slice=ast.Name(id=word)) if word not in self.bound:
                return word
            case ast.Subscript(slice=ast.Constant(value=str(word))):
                return word
            case ast.Subscript(value=inner, slice=ast.Constant(value=int()) | ast.UnaryOp()):
                return self.selected(inner)
        return ""

    def key(self, inner: ast.expr, key: ast.expr) -> None:
        """Refuse a word in brackets that its owner can't know."""
        match key:
            case ast.Name(id=word) if word not in self.bound:
                pass
            case ast.Constant(value=str(word)):
                pass
            case ast.Name(id=name) if name in self.listed:
                for text in _texts(self.listed[name]):
                    self.key(inner, text)
                return
            case ast.BinOp(op=ast.Sub()) if self.walker.is_hyphenated(key):
                return  # which was an error where it is evaluated
            case _:
                self.visit(key)
                return
        owner = self.let(inner)
        if isinstance(owner, Values):
            owner.item(word, self.asking)  # the names of inputs, which every JAX gives alike
            return
        taken = inner.attr if isinstance(inner, ast.Attribute) else ""
        if taken == "params" or isinstance(owner, ParametersView):
            ParameterName.check(word, self.asking)
        elif taken in ("inputs", "outputs") and isinstance(inner, ast.Attribute):
            self.leaf(inner.value, taken, word)
        elif taken not in _NAMED and not self.vocabulary(inner):
            Primitive.check(word, self.asking)

    def leaf(self, node: ast.expr, side: str, word: str) -> None:
        """The name of an input or output of a block, which every JAX gives alike."""
        block = self.blocks.get(self.block(node)) if self.block(node) else None
        if block is not None and block.printed is not None and block.printed.program is not None:
            leaves = BlockView(block).program().attribute(side, self.asking)
            leaves.item(word, self.asking)
        if self.sort(node) == _EQUATION:
            path = f"{self.expression.segment(node)}.{side}"
            raise PathError(f"`{path}` have positions, not names: `{path}[0]`")
        owner, parameter = _held(node)
        if side == "inputs" and owner is not None and self.sort(owner) == _EQUATION:
            why = unknown_inside(self.selected(owner), parameter, word)
            if why:
                raise PathError(why)

    def sort(self, node: ast.expr) -> str:
        """What a path points at, as far as its words say: a key of `_OF_SORTS`, or ``""``."""
        if self.block(node):
            return _PROGRAM
        match node:
            case ast.Name(id=name) if (value := self.let(node)) is not None:
                return _sort_of(value)
            case ast.Name(id=name):
                return self.sorts.get(name, "")
            case ast.Attribute(value=inner, attr=name):
                return self.sort_of_attribute(self.sort(inner), name)
            case ast.Subscript(value=inner, slice=key):
                sort = self.sort(inner)
                if isinstance(inner, ast.Attribute) and inner.attr == "params":
                    return ""
                return _EQUATION if sort == _PROGRAM and not isinstance(key, ast.Slice) else sort
        return ""

    def sort_of_attribute(self, sort: str, name: str) -> str:
        """The sort of ``.name`` of a thing of ``sort``; ``""`` if unclear."""
        if name in ("consts", "variables", "residuals") and sort == _PROGRAM:
            return _VALUE
        if name in OF_OPERANDS:
            return _VALUE if sort == _EQUATION else ""
        if name in ("all", "removed"):
            return _EQUATION if sort == _PROGRAM else ""
        if name in ("inputs", "outputs"):
            return _VALUE if sort in (_PROGRAM, _EQUATION) else ""
        if name in _SELECTING:
            return _EQUATION if sort in (_PROGRAM, _EQUATION) else ""
        if name == "uses":
            return _EQUATION if sort else ""
        return _FACT if sort and name in _FACTS else ""

    # -- closed words

    def comparison(self, node: ast.Compare) -> None:
        """Check the operands, and the words that are compared with closed vocabularies."""
        operands = [node.left, *node.comparators]
        self.all(operands)
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            self.version(left, right)
            for first, second in ((left, right), (right, left)):
                vocabulary = self.vocabulary(first)
                if (
                    isinstance(operator, ast.In | ast.NotIn)
                    and first is left
                    and _is_text(self.literal(second))
                ):
                    continue  # a word that is looked for in a text
                is_part = isinstance(operator, ast.In | ast.NotIn) and self.is_text(right)
                if vocabulary is not None:
                    for text in _texts(self.literal(second)):
                        self.word(vocabulary, text, is_part)

    def pair(self, left: ast.expr, right: ast.expr) -> None:
        """The words of one set, where the other has a vocabulary."""
        for first, second in ((left, right), (right, left)):
            vocabulary = self.vocabulary(first)
            if vocabulary is not None:
                for text in _texts(second):
                    self.word(vocabulary, text, is_part=False)

    def version(self, left: ast.expr, right: ast.expr) -> None:
        """A version compares with a text that is one."""
        for first, second in ((left, right), (right, left)):
            match first, second:
                case ast.Name(id=name), ast.Constant(value=value) if (
                    name in VERSIONS and name not in self.bound and name not in self.blocks
                ):
                    versions(Version(name, "0"), value)

    def word(self, vocabulary: _Vocabulary, text: ast.Constant, is_part: bool) -> None:
        """Look a text up in a vocabulary; an error gets the offset of the text."""
        try:
            (vocabulary.check_part if is_part else vocabulary.check)(str(text.value), self.asking)
        except PathError as error:
            error.offset = self.expression.offset(text)
            raise

    def is_text(self, node: ast.expr) -> bool:
        """Whether a part is one text, in which ``in`` looks for a part of it."""
        match node:
            case ast.Attribute(attr=name):
                return name in _OF_ATTRIBUTES and name not in _COLLECTIONS
            case ast.Name(id=name):
                return name in self.bound or isinstance(self.let(node), str)
            case ast.Subscript(slice=key):
                return not isinstance(key, ast.Slice)
        return _is_text(node)

    def vocabulary(self, node: ast.expr) -> _Vocabulary | None:
        """Whose words a part gives, itself or as its elements; ``None`` where not known."""
        match node:
            case ast.Name(id=name) if self.let(node) is not None:
                return self.vocabulary_of_let(name)
            case ast.Name(id=name):
                return self.bound.get(name)
            case ast.Attribute(value=ast.Attribute(attr="error")):
                return None  # any type, any message
            case ast.Attribute(attr=name):
                return _OF_ATTRIBUTES.get(name)
            case ast.Call(func=ast.Name(id="ops")):
                return Primitive
            case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _PASSING:
                return self.vocabulary(argument)
            case ast.Subscript(
                value=ast.Attribute(attr="params"),
                slice=ast.Name(id=name) | ast.Constant(value=str(name)),
            ):
                return Dtype if name.endswith(_OF_DTYPES) else None
            case ast.Subscript(value=ast.Attribute() | ast.Name()):
                return None  # part of a word
            case ast.Subscript(value=inner, slice=ast.Slice() | ast.Constant(value=int())):
                return self.vocabulary(inner)
            case ast.BinOp(left=left, right=right):
                if self.is_text(left) or self.is_text(right):
                    return None  # a text that is put together is any text
                return self.vocabulary(left) or self.vocabulary(right)
            case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                vocabularies = [self.vocabulary(item) for item in items]
                return next(filter(None, vocabularies), None) if len({*vocabularies}) == 1 else None
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                outer = self.bound, self.sorts, self.listed
                try:
                    self.bind(node.generators)
                    return self.vocabulary(node.elt)
                finally:
                    self.bound, self.sorts, self.listed = outer
        return None

    def vocabulary_of_let(self, name: str) -> _Vocabulary | None:
        """The same for a let, looked at once: others may use it many times."""
        if name not in self.of_lets:
            walker = self.walker.walkers[name]
            inner = Unevaluated(walker, self.of_lets)
            self.of_lets[name] = inner.vocabulary(walker.expression.body)
        return self.of_lets[name]

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> None:
        """Check loops and element, with the loops' names bound inside only."""
        outer = self.bound, self.sorts, self.listed
        try:
            for loop in node.generators:
                self.visit(loop.iter)
                self.bind([loop])
                self.all(loop.ifs)
            self.visit(node.elt)
        finally:
            self.bound, self.sorts, self.listed = outer

    def bind(self, loops: Iterable[ast.comprehension]) -> None:
        """Bind the names of loops, with the sort and the vocabulary of what they run over."""
        for loop in loops:
            is_one = isinstance(loop.target, ast.Name)
            vocabulary = self.vocabulary(loop.iter) if is_one else None
            sort = self.sort(loop.iter) if is_one else ""
            names = [name.id for name in _names(loop.target)]
            self.bound = self.bound | dict.fromkeys(names, vocabulary)
            # What goes through a program has its equations.
            sort = _EQUATION if sort == _PROGRAM else sort
            self.sorts = self.sorts | dict.fromkeys(names, "" if sort == _FACT else sort)
            self.listed = {n: v for n, v in self.listed.items() if n not in names}
            listed = self.literal(loop.iter)
            if is_one and isinstance(listed, ast.List | ast.Tuple | ast.Set):
                self.listed[names[0]] = listed


def _held(node: ast.expr) -> tuple[ast.expr | None, str]:
    """The equation and the parameter that hold the program, or one of several, of a path."""
    match node:
        case ast.Subscript(value=several, slice=ast.Constant(value=int())):
            return _held(several)
        case ast.Subscript(
            value=ast.Attribute(value=owner, attr="params"),
            slice=ast.Name(id=name) | ast.Constant(value=str(name)),
        ):
            return owner, name
        case ast.Attribute(value=owner, attr=name):
            return owner, name
    return None, ""


def _sort_of(value: Any) -> str:
    """The sort of the value of a let."""
    match value:
        case ProgramView() | BlockView():
            return _PROGRAM
        case Equations() | EquationView():
            return _EQUATION
        case Values() | Value():
            return _VALUE
    return ""


def _names(node: ast.AST) -> Iterator[ast.Name]:
    """The names in a part, without those of functions that it calls."""
    called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    return (
        part for part in ast.walk(node) if isinstance(part, ast.Name) and id(part) not in called
    )


def _texts(node: ast.expr) -> Iterator[ast.Constant]:
    """The texts that a part is, or lists."""
    match node:
        case ast.Constant(value=str()):
            yield node
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            for item in items:
                yield from _texts(item)
        case ast.BinOp(left=left, right=right) if not (_is_text(left) or _is_text(right)):
            yield from _texts(left)
            yield from _texts(right)
        case ast.Call(func=ast.Name(id=name), args=[argument]) if name in _PASSING:
            yield from _texts(argument)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
