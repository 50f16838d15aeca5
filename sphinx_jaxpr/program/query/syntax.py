"""The text of a path or expression -> a checked syntax tree.

Paths are written in Python's expression syntax, which :mod:`ast` reads and this
module checks against a white-list.  Nothing of a page is ever run by Python: the
tree is walked by :mod:`.evaluate`.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from ..text import message as bounded
from ..text import nearest as text_nearest
from ..text import spelled, words

#: Longest expression, in characters, after whitespace is collapsed.
MAX_CHARACTERS: Final = 2000
#: Deepest nesting; our walker and Python's own stack stay small.
MAX_DEPTH: Final = 50
#: Largest number that may be written, in bits.
MAX_BITS: Final = 128

#: What may be called.
FUNCTIONS: Final = frozenset(
    "len all any set sum min max sorted abs round ops same reads depends".split()
)
#: Functions of a project are often named so: a block may be, too, since only what is called
#: is the language's own.  No block can have the name of another function.
ALSO_BLOCKS: Final = frozenset({"reads", "depends"})
#: Arguments that are named, each `True` or `False`.
NAMED_ARGUMENTS: Final = {"same": ("shapes",)}
VERSIONS: Final = frozenset({"jax", "jaxlib", "python"})

_ALLOWED: Final = (
    "allowed are paths, numbers, texts, lists, comparisons, `in`, arithmetic, `and`, `or`, `not`,"
    " comprehensions and the functions " + ", ".join(sorted(FUNCTIONS))
)


class PathError(ValueError):
    """What is wrong with an expression; ``offset`` counts characters of its collapsed text.

    Messages are sentences for the author of a page, in MyST's and rST's common backquotes.
    """

    def __init__(self, message: str, offset: int = -1) -> None:
        self.message = bounded(message)
        super().__init__(self.message)
        self.offset = offset


# Tracebacks and pickles name it as callers import it.
PathError.__module__ = "sphinx_jaxpr.program"


class NoProgram(PathError):
    """An expression asks about a block that could not be traced, which has its own warning."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression: its collapsed text and its tree."""

    text: str
    body: ast.expr

    def offset(self, node: ast.AST) -> int:
        """Where a node begins, in characters of ``text``."""
        return len(self.text.encode()[: getattr(node, "col_offset", 0)].decode(errors="replace"))

    def place(self, node: ast.expr) -> int:
        """Where the last part of a node begins: the attribute, or what is in brackets."""
        data = self.text.encode()
        match node:
            case ast.Attribute(value=inner):
                at = data.index(b".", inner.end_col_offset or 0)
            case ast.Subscript(value=inner):
                at = data.index(b"[", inner.end_col_offset or 0)
            case _:
                return self.offset(node)
        return len(data[:at].decode(errors="replace"))

    def segment(self, node: ast.expr) -> str:
        """The text of a node."""
        data = self.text.encode()
        return data[node.col_offset : node.end_col_offset].decode(errors="replace")


def backquoted(name: str) -> str:
    """A name as messages about expressions quote it."""
    return f"`{words(name)}`"


#: ``", did you mean `a` or `b`?"``
nearest = partial(text_nearest, count=3, quoted=backquoted)


def parse(text: str) -> Expression:
    """Read ``text``; :class:`PathError` where it is too long, broken, or not allowed."""
    if len(text) > 4 * MAX_CHARACTERS:
        message = f"this expression is too long; at most {MAX_CHARACTERS} characters are allowed"
        raise PathError(message, MAX_CHARACTERS)
    text = " ".join(text.split())
    if not text:
        raise PathError("a path or expression is missing", 0)
    if len(text) > MAX_CHARACTERS:
        raise PathError(
            f"this expression has {len(text)} characters; at most {MAX_CHARACTERS} are allowed",
            MAX_CHARACTERS,
        )
    expression = Expression(text, _tree(text))
    _check(expression)
    return expression


def is_python(text: str) -> bool:
    """Whether a text, on one line, is an expression to Python; it may still be refused."""
    try:
        _tree(" ".join(text.split()))
    except PathError:
        return False
    return True


def readable(text: str) -> bool:
    """Whether :func:`parse` takes a text."""
    try:
        parse(text)
    except PathError:
        return False
    return True


def _tree(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        offset = max(0, min((error.offset or 1) - 1, len(text)))
        raise PathError(_syntax(text, error.msg), offset) from None
    except (MemoryError, RecursionError):
        raise PathError("this expression is nested too deeply", 0) from None
    except ValueError as error:
        raise PathError(f"this is not an expression: {error}", 0) from None


def _syntax(text: str, reason: str) -> str:
    words = re.findall(r"\[ ?(\w+) ?\]", text)
    if reserved := next((word for word in words if keyword.iskeyword(word)), ""):
        return f'`{reserved}` is a keyword of Python: write `["{reserved}"]`'
    if re.search(r"\[ ?[A-Za-z]\w*-\w*[A-Za-z_]\w*(-\w+)* ?\]", text):
        return 'a name with a `-` is quoted: `["scatter-add"]`'
    if re.search(r"(?<![=!<>:])=(?!=)", text):
        return "`=` can't be used here, compare with `==`"
    for sign, right in (("&&", "and"), ("||", "or"), ("!", "not")):
        if sign in text.replace("!=", ""):
            return f"`{sign}` is not Python: write `{right}`"
    return f"this is not a Python expression ({reason})"


_PLAIN: Final = (
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.Not,
    ast.USub,
    ast.UAdd,
    ast.UnaryOp,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.Pow,
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.Subscript,
    ast.Slice,
    ast.List,
    ast.Tuple,
    ast.Set,
    ast.ListComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.Name,
    ast.Load,
    ast.Store,
)

_INSTEAD: Final[dict[type[ast.AST], str]] = {
    ast.Lambda: "a lambda",
    ast.NamedExpr: "an assignment",
    ast.IfExp: "a conditional expression (combine with `and`, `or`)",
    ast.DictComp: "a dict",
    ast.Dict: "a dict",
    ast.JoinedStr: "an f-string",
    ast.Starred: "a `*`",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.Is: "`is` (compare with `==`)",
    ast.IsNot: "`is not` (compare with `!=`)",
    ast.Invert: "`~` (write `not`)",
    ast.MatMult: "`@`",
    ast.LShift: "`<<`",
    ast.RShift: "`>>`",
}


def _check(expression: Expression) -> None:
    """Every node against the white-list, without recursion."""
    todo: list[tuple[ast.AST, int, int]] = [(expression.body, 0, 0)]
    while todo:
        node, depth, offset = todo.pop()
        offset = expression.offset(node) if hasattr(node, "col_offset") else offset
        if depth > MAX_DEPTH:
            raise PathError(f"this expression is nested more than {MAX_DEPTH} deep", offset)
        problem = _problem(node)
        if problem:
            raise PathError(problem, offset)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            # As programs have it: what is spelled there may be written both ways.
            node.value = spelled(node.value)
        children: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if isinstance(node, ast.Call):
            children = node.args
        todo.extend((child, depth + 1, offset) for child in children)


def _problem(node: ast.AST) -> str:
    """Why a node is not allowed, or ``""``."""
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.Call():
            return _call(node)
        case ast.Attribute(attr=name):
            if name.startswith("_"):
                return f"`.{name}`: nothing has a name that begins with `_`"
            return ""
        case ast.comprehension(target=target, is_async=is_async):
            if is_async:
                return f"async can't be used here: {_ALLOWED}"
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            if not all(isinstance(name, ast.Name) for name in names):
                return "`for` takes a name, or names separated by commas"
            return ""
    if isinstance(node, _PLAIN):
        return ""
    construct = _INSTEAD.get(type(node), type(node).__name__.lower())
    return f"{construct} can't be used here: {_ALLOWED}"


def _constant(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return "this number is too large"
    if value is None or isinstance(value, (bool, int, float, str)):
        return ""
    return f"`{words(str(value))}` can't be used here: {_ALLOWED}"


def _call(node: ast.Call) -> str:
    if not isinstance(node.func, ast.Name):
        return f"only functions can be called, by their names: {', '.join(sorted(FUNCTIONS))}"
    name = node.func.id
    if name not in FUNCTIONS:
        listed = ", ".join(sorted(FUNCTIONS))
        return f"there is no function `{words(name)}`{nearest(name, FUNCTIONS)} (all: {listed})"
    return next(filter(None, (_keyword(name, keyword) for keyword in node.keywords)), "")


def named_arguments(node: ast.Call) -> dict[str, bool]:
    """The named arguments of a call, which were checked."""
    return {
        keyword.arg or "": keyword.value.value
        for keyword in node.keywords
        if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)
    }


def _keyword(function: str, keyword: ast.keyword) -> str:
    """Why a named argument is not allowed, or ``""``."""
    named = NAMED_ARGUMENTS.get(function, ())
    if not named:
        return f"`{function}` takes no named arguments"
    if keyword.arg not in named:
        near = nearest(keyword.arg or "", named) or f" (it takes {backquoted(named[0])})"
        return f"`{function}` has no argument {backquoted(keyword.arg or '**')}{near}"
    if not (isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, bool)):
        return f"`{keyword.arg}` of `{function}` is `True` or `False`"
    return ""
