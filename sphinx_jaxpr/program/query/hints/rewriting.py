"""The rules that rewrite what authors write first; each may guess, since results are tried."""

from __future__ import annotations

import ast
import re
from keyword import iskeyword
from typing import Final

from ...dtypes import is_dtype
from ...functions import primitives_of
from ...glossary.glossary import builtin
from ..blocks import PHASES
from ..derived.operands import BRANCH, OF_OPERANDS, OF_RESULTS
from ..facts.numbers import NOT_FINITE
from ..facts.words import Kind
from ..scope import Scope
from ..syntax import FUNCTIONS, VERSIONS
from ..values import OF_VALUES
from ..views import OF_EQUATIONS, OF_PROGRAMS
from ..vocabulary import Origin, Phase

#: Attributes that JAX's objects have, or other languages, by their names here.
_ATTRIBUTES: Final = {
    **dict.fromkeys("invars operands input arguments args in_avals".split(), "inputs"),
    **dict.fromkeys("outvars output out result results out_avals returns".split(), "outputs"),
    **dict.fromkeys("constvars constants closed_over captured".split(), "consts"),
    **dict.fromkeys("users consumers used_by readers".split(), "uses"),
    **dict.fromkeys("prim op opcode op_name name kind".split(), "primitive"),
    **dict.fromkeys("predicate pred chooses".split(), "branch"),
    **dict.fromkeys("init init_val init_carry initial carried".split(), "carry"),
    **dict.fromkeys("body body_fun".split(), "body_jaxpr"),
    **dict.fromkeys("cond cond_fun condition".split(), "cond_jaxpr"),
    **dict.fromkeys("parameters attrs attributes kwargs".split(), "params"),
    **dict.fromkeys("lineno source_line source".split(), "line"),
    **dict.fromkeys("vars variable values".split(), "variables"),
    **dict.fromkeys("str string source_text".split(), "text"),
    **dict.fromkeys("everything nested deep recursive".split(), "all"),
    "val": "value",
    "vma": "varying",
    "category": "kind",
    "num_uses": "uses",
    "num_reads": "read_count",
    "subjaxpr": "jaxpr",
    "element_type": "dtype",
    "weak_type": "weak",
    "nbytes": "bytes",
    **dict.fromkeys("position pos".split(), "index"),
    **dict.fromkeys("cost flop".split(), "flops"),
    **dict.fromkeys("contracting contracting_dims contracted".split(), "contracts"),
}
#: What adds nothing here: a program is the list of its equations.
_NOTHING: Final = frozenset("aval jaxpr eqns equations version __version__ program closed".split())
_COUNTS: Final = frozenset("count len length n num number size_".split())
_RANKS: Final = frozenset({"ndim", "rank"})
_ENDS: Final = {"first": 0, "last": -1}
#: Facts that add up.
_ADDING: Final = frozenset("size bytes flops".split())
#: What lists values.
_LISTING: Final = frozenset("inputs outputs consts variables residuals".split()) | {
    word for word in OF_OPERANDS if word != BRANCH
}
#: Attributes with brackets behind them that take names.
_NAMED: Final = frozenset({"inputs", "params"})
#: Parameters that hold the program of a loop, and the words in brackets for its inputs.
_HOLDING: Final = frozenset({"jaxpr", "body_jaxpr", "cond_jaxpr", "call_jaxpr"})
_INSIDE: Final = frozenset(OF_OPERANDS) - OF_RESULTS - {"consts"}
#: Attributes that are numbers, and written so.
_NUMBERS: Final = frozenset("size bytes index flops read_count uses calls".split())
#: How programs name the modules that have functions and dtypes.
_MODULES: Final = frozenset("jax jnp np numpy lax nn jsp math operator".split())


class Rewriting(ast.NodeTransformer):
    """The rules.  Where a name is right somewhere, only ``rewrites_all`` takes it for wrong."""

    def __init__(self, scope: Scope, inside: str, rewrites_all: bool) -> None:
        self.scope = scope
        self.inside = inside
        self.rewrites_all = rewrites_all
        blocks = [*scope.blocks.values()]
        self.parameters = {name for block in blocks for name in block.parameters}
        self.arguments = {name for block in blocks for name in block.inputs.all_arguments}
        self.labels = {name.rpartition(".")[2] for name in scope.blocks if "." in name}
        attributes = {*OF_EQUATIONS, *OF_PROGRAMS, *OF_VALUES, *self.labels}
        right = attributes - _ATTRIBUTES.keys() if rewrites_all else attributes | self.parameters
        self.right = frozenset(right)
        self.bound: set[str] = set()

    # -- names and constants

    def is_variable(self, name: str) -> bool:
        """Whether a name means something in the expression."""
        names = (self.bound, self.scope.blocks, self.scope.lets, VERSIONS)
        is_label = bool(self.inside) and f"{self.inside}.{name}" in self.scope.blocks
        return is_label or any(name in some for some in names)

    def is_primitive(self, name: str) -> bool:
        return name in self.scope.primitives or builtin().entry(name) is not None

    def primitive(self, word: str) -> str:
        """The one primitive that a word means, ``""`` if none or several."""
        for name in (word, word.lower(), re.sub("[- ]", "_", word.lower())):
            if self.is_primitive(name):
                return name
        primitives = primitives_of(word)
        return primitives[0] if len(primitives) == 1 else ""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A word of a closed vocabulary is a text."""
        name = node.id
        if self.is_variable(name) or name in FUNCTIONS:
            return node
        words = (*Phase.words, *Origin.words, *Kind.words)
        if is_dtype(name) or name in words or self.is_primitive(name):
            return ast.Constant(name)
        meant = Phase.meant.get(name) or Origin.meant.get(name) or self.primitive(name)
        return ast.Constant(meant) if meant else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        """A text without anything to put in."""
        match node.values:
            case [ast.Constant() as only]:
                return only
        return node

    # -- attributes

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """An attribute by the name that it has here."""
        if word := self.of_module(node):
            return self.visit_Name(ast.Name(word, ast.Load()))
        if label := self.joined(node.value, node.attr):
            return label
        node.value = self.visit(node.value)
        inner, name = node.value, node.attr
        if isinstance(inner, ast.Attribute) and inner.attr in _NAMED and name not in self.right:
            return ast.Subscript(inner, ast.Name(name, ast.Load()), ast.Load())
        if name == "name" and isinstance(inner, ast.Attribute) and inner.attr == "primitive":
            return inner
        if name in _INSIDE and isinstance(inner, ast.Attribute) and inner.attr in _HOLDING:
            return ast.Subscript(
                ast.Attribute(inner, "inputs", ast.Load()), _word(name), ast.Load()
            )
        if name in ("shape", "dtype") and isinstance(inner, ast.Attribute) and inner.attr == "type":
            return ast.Attribute(inner.value, name, ast.Load())
        if name in _ADDING and self.rewrites_all and (total := _summed(inner, name)):
            return total
        return node if name in self.right else self.meant(node)

    def meant(self, node: ast.Attribute) -> ast.expr:
        """What an attribute is that nothing has."""
        inner, name = node.value, node.attr
        if name == "jaxpr" and _is_selected(inner):
            return node  # the message has the names of its programs
        if name in _NOTHING:
            return inner
        if name in self.parameters and name not in _ATTRIBUTES:
            params = ast.Attribute(inner, "params", ast.Load())
            return ast.Subscript(params, _word(name), ast.Load())
        if name in _COUNTS:
            return _call("len", inner)
        if name in _RANKS:
            return _call("len", ast.Attribute(inner, "shape", ast.Load()))
        if name in _ENDS:
            return ast.Subscript(inner, ast.Constant(_ENDS[name]), ast.Load())
        if name in FUNCTIONS:
            return _call(name, inner)
        if phase := Phase.meant.get(name, ""):
            return ast.Attribute(inner, phase, ast.Load())
        if name in _ATTRIBUTES:
            return ast.Attribute(inner, _ATTRIBUTES[name], ast.Load())
        if self.is_primitive(name):
            return ast.Subscript(inner, _word(name), ast.Load())
        if name in self.arguments:
            inputs = ast.Attribute(inner, "inputs", ast.Load())
            return ast.Subscript(inputs, _word(name), ast.Load())
        return node

    def of_module(self, node: ast.expr) -> str:
        """``exp`` of ``jnp.exp``; ``""`` for what is not an attribute of a module."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or not isinstance(node, ast.Attribute):
            return ""
        is_module = root.id in _MODULES and root.id not in self.scope.blocks
        return node.attr.removesuffix("_p") if is_module and node.attr not in _NOTHING else ""

    def joined(self, inner: ast.expr, name: str) -> ast.expr | None:
        """``f.vmap_grad`` where ``f.vmap.grad`` is written."""
        match inner:
            case ast.Attribute(value=ast.Name(id=base), attr=label):
                if f"{base}.{label}_{name}" in self.scope.blocks:
                    return ast.Attribute(inner.value, f"{label}_{name}", ast.Load())
        return None

    # -- brackets

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Words in brackets stay; a list of them is a condition."""
        if isinstance(node.value, ast.Name) and self.is_type(node.value):
            return ast.Constant(ast.unparse(node).replace(" ", ""))
        node.value, key = self.visit(node.value), node.slice
        if isinstance(key, ast.Tuple) and all(isinstance(word, ast.Name) for word in key.elts):
            words = [ast.Constant(word.id) for word in key.elts if isinstance(word, ast.Name)]
            return _chosen(node.value, words)
        if word := self.of_module(key):
            node.slice = _word(self.primitive(word) or word)
            return node
        match key:
            case ast.Name(id=word) if not self.is_variable(word):
                return self.by_word(node, word)
            case ast.Constant(value=str(word)):
                return self.by_word(node, word)
            case ast.Name():
                return node
        node.slice = self.visit(key)
        return node

    def is_type(self, node: ast.Name) -> bool:
        """Whether brackets behind a name make it a type, ``f32[8]``."""
        return is_dtype(node.id) and not self.is_variable(node.id)

    def by_word(self, node: ast.Subscript, word: str) -> ast.expr:
        """What is selected by a word, which may be that of a parameter, or a function's."""
        if isinstance(node.value, ast.Attribute) and node.value.attr in _NAMED:
            return node
        if word in _ENDS:
            node.slice = ast.Constant(_ENDS[word])
        elif self.is_primitive(word):
            return node
        elif word in self.parameters and self.rewrites_all:
            node.value = ast.Attribute(node.value, "params", ast.Load())
        elif primitive := self.primitive(word):
            node.slice = _word(primitive)
        return node

    # -- calls

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Functions that are attributes, variants or operators here."""
        module = self.of_module(node.func)
        node.args = [self.in_call(node.func, argument) for argument in node.args]
        match node.func:
            case ast.Name(id=name) if name in FUNCTIONS:
                return node
            case ast.Name(id=name):
                return self.function(name, node)
            case ast.Attribute() if module:
                return self.function(module, node)
            case ast.Attribute(value=inner, attr=name):
                return self.method(self.visit(inner), name, node)
        return node

    def in_call(self, function: ast.expr, argument: ast.expr) -> ast.expr:
        """An argument; what methods and parameters take in brackets stays a word."""
        is_word = isinstance(function, ast.Attribute) and isinstance(argument, ast.Name)
        return argument if is_word and not self.of_module(function) else self.visit(argument)

    def function(self, name: str, node: ast.Call) -> ast.expr:
        """A function that the language does not have."""
        match name, node.args:
            case (("map" | "filter"), [ast.Lambda(args=ast.arguments(args=[one])) as rule, items]):
                return _mapped(name, one.arg, rule.body, items)
            case (("prod" | "size"), [ast.Attribute(value=inner, attr="shape")]):
                return ast.Attribute(inner, "size", ast.Load())
            case _, [inner] if name in self.labels:
                return self.visit_Attribute(ast.Attribute(inner, name, ast.Load()))
            case _, [inner] if name in _COUNTS:
                return _call("len", inner)
            case (("list" | "tuple" | "str" | "bool" | "int"), [inner]):
                return inner
            case _, [inner] if name in self.right or name in _ATTRIBUTES or name in _RANKS:
                return self.visit_Attribute(ast.Attribute(inner, name, ast.Load()))
        return node

    def method(self, inner: ast.expr, name: str, node: ast.Call) -> ast.expr:
        """A method: nothing here has any."""
        match name, node.args:
            case "startswith", [ast.Constant(value=str(text))] if text:
                start = ast.Slice(None, ast.Constant(len(text)))
                return _equal(ast.Subscript(inner, start, ast.Load()), ast.Constant(text))
            case "endswith", [ast.Constant(value=str(text))] if text:
                end = ast.Slice(ast.UnaryOp(ast.USub(), ast.Constant(len(text))))
                return _equal(ast.Subscript(inner, end, ast.Load()), ast.Constant(text))
            case "count", [word]:
                return _call("len", ast.Subscript(inner, word, ast.Load()))
            case "get", [word]:
                return ast.Subscript(inner, word, ast.Load())
            case (("lower" | "strip" | "keys" | "tolist" | "items"), []):
                return inner
            case _, [ast.Name() | ast.Constant() as key] if not node.keywords:
                attribute = self.visit_Attribute(ast.Attribute(inner, name, ast.Load()))
                return ast.Subscript(attribute, key, ast.Load())
        return self.visit_Attribute(ast.Attribute(inner, name, ast.Load()))

    # -- operators

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """``~``"""
        node.operand = self.visit(node.operand)
        if isinstance(node.op, ast.Invert):
            node.op = ast.Not()
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """``is``, and sides that are never equal as they are written."""
        operands = [node.left, *node.comparators]
        dims = [_dims(operand) if self.compares_type(operand) else None for operand in operands]
        operands = [self.visit(operand) for operand in operands]
        node.ops = [_equality(operator) for operator in node.ops]
        for index, operator in enumerate(node.ops):
            left, right = operands[index : index + 2]
            right_dims, left_dims = dims[index + 1], dims[index]
            if isinstance(operator, ast.Eq | ast.NotEq) or VERSIONS & {_name(left), _name(right)}:
                operands[index + 1] = _like(left, right, right_dims)
                operands[index] = _like(right, left, left_dims)
            if isinstance(operator, ast.In | ast.NotIn):
                operands[index + 1] = self.searched(operands[index], operands[index + 1])
        node.left, *node.comparators = operands
        return self.with_values(node) if self.rewrites_all else node

    def compares_type(self, node: ast.expr) -> bool:
        match node:
            case ast.Subscript(value=ast.Name() as name):
                return self.is_type(name)
        return False

    def searched(self, part: ast.expr, whole: ast.expr) -> ast.expr:
        """``ops(f)`` where a primitive is looked for in ``f``."""
        is_word = isinstance(part, ast.Constant) and isinstance(part.value, str)
        match whole:
            case ast.Name(id=name) if is_word and name in self.scope.blocks:
                return _call("ops", whole)
            case ast.Attribute(attr=name) if is_word and name in {*self.labels, *PHASES, "all"}:
                return _call("ops", whole)
        return whole

    def with_values(self, node: ast.Compare) -> ast.expr:
        """A comparison of an equation with a value: that of its result, or ``reads``."""
        match node:
            case ast.Compare(
                left=ast.Subscript() as left,
                ops=[ast.In()],
                comparators=[ast.Attribute(value=reader, attr="inputs")],
            ) if "reads" in FUNCTIONS and not _is_value(left):
                return _call("reads", reader, left)
            case ast.Compare(
                left=ast.Subscript() as left,
                ops=[ast.Lt() | ast.Gt()],
                comparators=[ast.Subscript() as right],
            ):
                node.left = ast.Attribute(left, "index", ast.Load())
                node.comparators = [ast.Attribute(right, "index", ast.Load())]
                return node
        operands = [node.left, *node.comparators]
        if any(map(_is_value, operands)):
            node.left, *node.comparators = map(_result, operands)
        return node

    # -- loops

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        """A loop, whose names are bound inside."""
        return self.loop(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        """The same as a list."""
        return self.loop(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:
        """The same as a set."""
        return self.loop(node)

    def loop(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp) -> ast.expr:
        """Visit a comprehension with the names of its loops bound."""
        outer = self.bound
        targets = (part for loop in node.generators for part in ast.walk(loop.target))
        self.bound = outer | {part.id for part in targets if isinstance(part, ast.Name)}
        try:
            self.generic_visit(node)
        finally:
            self.bound = outer
        return node


def _not_finite(node: ast.expr) -> str:
    """``"-inf"`` of ``-inf``, ``-float("inf")`` and the like, ``""`` of all else."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=inner) if _not_finite(inner) == "inf":
            return "-inf"
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name if name in NOT_FINITE else ""
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
            return _short_number(text)
        case ast.Constant(value=str(text)) if text not in NOT_FINITE:
            return _short_number(text)
    return ""


def _short_number(text: str) -> str:
    """``"-inf"`` of ``"-Infinity"``, ``""`` of a text that is no such number."""
    short = text.lower().replace("infinity", "inf")
    return short if short in NOT_FINITE else ""


def _is_selected(node: ast.expr) -> bool:
    """Whether a path ends with equations, by a primitive or a position."""
    match node:
        case ast.Subscript(value=ast.Attribute(attr="branches")):
            return False
        case ast.Subscript(slice=key):
            return not isinstance(key, ast.Slice)
    return False


def _summed(items: ast.expr, fact: str) -> ast.expr | None:
    """A fact of several values or equations, added up; ``None`` where it is of one thing."""
    match items:
        case ast.Attribute(attr=name) if name in _LISTING:
            item = "v"
        case ast.Attribute(value=inner, attr="all") if fact == "flops":
            return ast.Attribute(inner, fact, ast.Load())  # which has what is inside, too
        case ast.Subscript(slice=ast.Slice() | ast.Name() | ast.Constant(value=str())):
            item = "e"
            if isinstance(items.value, ast.Attribute) and items.value.attr in _LISTING:
                item = "v"
        case _:
            return None
    element = ast.Attribute(ast.Name(item, ast.Load()), fact, ast.Load())
    loop = ast.comprehension(ast.Name(item, ast.Store()), items, [], 0)
    return _call("sum", ast.GeneratorExp(element, [loop]))


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [*arguments], [])


def _word(name: str) -> ast.expr:
    """A word in brackets, quoted where Python asks for it."""
    is_bare = name.isidentifier() and not iskeyword(name)
    return ast.Name(name, ast.Load()) if is_bare else ast.Constant(name)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _equal(left: ast.expr, right: ast.expr) -> ast.Compare:
    return ast.Compare(left, [ast.Eq()], [right])


def _equality(operator: ast.cmpop) -> ast.cmpop:
    match operator:
        case ast.Is():
            return ast.Eq()
        case ast.IsNot():
            return ast.NotEq()
    return operator


def _mapped(name: str, variable: str, body: ast.expr, items: ast.expr) -> ast.expr:
    """``map`` or ``filter`` as a comprehension."""
    bound, target = ast.Name(variable, ast.Load()), ast.Name(variable, ast.Store())
    tests = [body] if name == "filter" else []
    element = bound if name == "filter" else body
    return ast.GeneratorExp(element, [ast.comprehension(target, items, tests, 0)])


def _chosen(items: ast.expr, words: list[ast.Constant]) -> ast.expr:
    """The equations of several primitives."""
    primitive = ast.Attribute(ast.Name("e", ast.Load()), "primitive", ast.Load())
    test = ast.Compare(primitive, [ast.In()], [ast.Tuple([*words], ast.Load())])
    loop = ast.comprehension(ast.Name("e", ast.Store()), items, [test], 0)
    return ast.ListComp(ast.Name("e", ast.Load()), [loop])


def _dims(node: ast.expr) -> list[ast.expr] | None:
    """The dimensions of a type, ``f32[8,16]``."""
    match node:
        case ast.Subscript(slice=ast.Tuple(elts=dims)):
            return dims
        case ast.Subscript(slice=ast.Constant() as only):
            return [only]
    return None


_NUMBER: Final = re.compile(r"\d{1,9}(\.\d{1,9})?")
_SHAPE: Final = re.compile(r"[(\[]? *(\d+(?: *, *\d+)*) *,? *[)\]]?")


def _like(other: ast.expr, node: ast.expr, dims: list[ast.expr] | None) -> ast.expr:
    """A side of a comparison as the kind of the other one."""
    match other, node:
        case ast.Attribute(attr="shape"), _ if dims is not None:
            return ast.Tuple(dims, ast.Load())
        case ast.Attribute(attr="dtype"), ast.Constant(value=str(text)) if dims is not None:
            return ast.Constant(text.partition("[")[0])
        case ast.Attribute(attr="shape"), ast.Constant(value=int()):
            return ast.Tuple([node], ast.Load())
        case ast.Attribute(attr="shape"), ast.Constant(value=str(text)):
            if match := _SHAPE.fullmatch(text.strip()):
                sizes = [ast.Constant(int(size)) for size in match[1].split(",")]
                return ast.Tuple([*sizes], ast.Load())
        case ast.Attribute(attr="contracts"), ast.Tuple(elts=[_, _] as axes) if all(
            isinstance(axis, ast.Constant) for axis in axes
        ):
            return ast.Tuple([node], ast.Load())
        case ast.Attribute(attr=name), ast.Constant(value=str(text)) if name in _NUMBERS:
            if match := _NUMBER.fullmatch(text.strip()):
                return ast.Constant(float(text) if match[1] else int(text))
        case ast.Name(id=name), ast.Constant(value=int() | float()) if name in VERSIONS:
            return ast.Constant(node.kind or str(node.value))
        case ast.Call(func=ast.Name(id="len")), ast.Constant(value=str(text)) if text.isdecimal():
            return ast.Constant(int(text[:20]))
        case ast.Attribute(attr="kind"), ast.Name(id=name):
            return ast.Constant(name.replace("_", " "))
        case ast.Attribute(attr="value"), _ if number := _not_finite(node):
            return ast.Constant(number)
        case ast.Attribute(attr="value"), ast.Constant(value=str(text)):
            try:
                return node if text in NOT_FINITE else ast.Constant(float(text))
            except ValueError:
                return node
        case ast.Constant(value=int() | float()), ast.Attribute(value=inner, attr="text"):
            return ast.Attribute(inner, "value", ast.Load())
    return node


def _is_value(node: ast.expr) -> bool:
    """Whether a part is an operand or a result, or lists them."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr in ("inputs", "outputs")


def _result(node: ast.expr) -> ast.expr:
    """The result of an equation; a value as it is."""
    if _is_value(node) or not isinstance(node, ast.Subscript):
        return node
    outputs = ast.Attribute(node, "outputs", ast.Load())
    return ast.Subscript(outputs, ast.Constant(0), ast.Load())
