"""The functions of the language over the oracle's views, and the truth of an expression."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable
from typing import Any

from .data import Dtype
from .dataflow import Refused, depends, reads
from .phases import body_of, is_literal, is_program, params_of
from .reading import Block, Equation, Equations, Program


def ops(thing: Any) -> tuple[str, ...]:
    """The names of primitives in order."""
    return (thing.primitive,) if isinstance(thing, Equation) else tuple(e.primitive for e in thing)


def same(one: Any, two: Any, shapes: bool = True) -> bool:
    """Whether two programs or lists of equations are equal up to names of variables."""
    one, two = (Equations(None, [t]) if isinstance(t, Equation) else t for t in (one, two))
    if isinstance(one, Program) and isinstance(two, Program):
        return _Form(shapes).program(one.body) == _Form(shapes).program(two.body)
    return _Form(shapes).equations(one) == _Form(shapes).equations(two)


class _Form:
    """A program in which values are numbers."""

    def __init__(self, shapes: bool = True) -> None:
        self.shapes = shapes
        self.numbers: dict[int, int] = {}

    def bind(self, variable: Any) -> tuple[int, str]:
        self.numbers[id(variable)] = len(self.numbers)
        return self.numbers[id(variable)], self.type(variable)

    def type(self, operand: Any) -> str:
        """A type, without its sizes where these don't count."""
        text = str(operand.aval)
        return text if self.shapes else re.sub(r"\[[^]]*\]", "", text)

    def read(self, operand: Any) -> Any:
        if is_literal(operand):
            return self.type(operand), repr(operand.val)
        if id(operand) not in self.numbers:
            return "first", self.bind(operand)
        return self.numbers[id(operand)]

    def program(self, body: Any) -> Any:
        heads = [self.bind(v) for v in (*body.constvars, *body.invars)]
        rows = [self.equation(e) for e in body.eqns]
        return heads, rows, [self.read(v) for v in body.outvars]

    def equations(self, listed: Any) -> Any:
        return [self.equation(e.raw) for e in listed]

    def equation(self, raw: Any) -> Any:
        reads = [self.read(v) for v in raw.invars]
        given = sorted(params_of(raw).items())
        params = [(name, self.parameter(name, value)) for name, value in given]
        return raw.primitive.name, reads, [self.bind(v) for v in raw.outvars], params

    def parameter(self, name: str, value: Any) -> Any:
        if self.shapes or name not in ABOUT_SHAPES:
            return normal(value, self.shapes)
        return re.findall(r"[A-Za-z_]\w*", re.sub(r"\bnp\.\w+\(", "(", repr(value)))


#: What says how large something is, or which axes are meant: of these only words count.
ABOUT_SHAPES = frozenset(
    """shape new_sizes sizes slice_sizes axis axes dimension dimensions broadcast_dimensions
    dimension_numbers permutation start_indices limit_indices strides padding_config length
    axis_size axis_index_groups split_axis concat_axis all_gather_dimension scatter_dimension
    window_dimensions window_strides padding base_dilation window_dilation lhs_dilation
    rhs_dilation sharding out_sharding in_shardings out_shardings in_specs out_specs in_layouts
    out_layouts""".split()
)


def normal(value: Any, shapes: bool = True) -> Any:
    """A parameter in a form that can be compared."""
    if is_program(value):
        return "program", _Form(shapes).program(body_of(value))
    if isinstance(value, dict):
        return "dict", [(key, normal(item, shapes)) for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [normal(item, shapes) for item in value]
    if callable(value) and not isinstance(value, type):
        return "function", type(value).__name__
    return re.sub(r"0x[0-9a-f]{6,}", "0x", f"{type(value).__name__} {value!r}")


# -- truth of an expression


class _Adapted(ast.NodeTransformer):
    """Names of dtypes become dtypes, equal by any name; there is one kind of list."""

    def visit_List(self, node: ast.List) -> ast.expr:
        return ast.Tuple([self.visit(item) for item in node.elts], ast.Load())

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        # The language makes a list before ``all`` or ``any`` looks at it.
        return self.visit_ListComp(node)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        self.generic_visit(node)
        return ast.Call(
            ast.Name("_tuple", ast.Load()), [ast.GeneratorExp(node.elt, node.generators)], []
        )

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        text = node.value
        if isinstance(text, str) and re.fullmatch(r"(b?float|u?int|complex|bf|f|u|i|c)\d+", text):
            return ast.Call(ast.Name("_dtype", ast.Load()), [node], [])
        return node


def truth(expression: str, blocks: dict[str, Block], words: Iterable[str]) -> Any:
    """What Python's ``eval`` makes of an expression over the views.

    ``words`` are the names that stand in brackets.  :class:`Refused` where it has no value.
    """
    tree = ast.fix_missing_locations(_Adapted().visit(ast.parse(expression, mode="eval")))
    scope: dict[str, Any] = {name: name for name in words}
    scope |= {"ops": ops, "same": same, "reads": reads, "depends": depends}
    scope |= {"_dtype": Dtype, "_tuple": tuple, **blocks}
    for name in ("len", "all", "any", "set", "sum", "min", "max", "sorted", "abs", "round"):
        scope[name] = getattr(builtins, name)
    scope["sorted"] = lambda items: tuple(sorted(items))
    try:
        found = eval(compile(tree, expression, "eval"), {"__builtins__": {}, **scope})  # noqa: S307 - over the oracle's views alone
    except (TypeError, IndexError, ZeroDivisionError, ValueError) as error:
        raise Refused(str(error)) from None
    return found
