"""Specs and static values from what authors write first: NumPy's shapes, calls of Python."""

from __future__ import annotations

import ast
import re
from typing import Final

from ...program.dtypes import DTYPES, KEYS, long_dtype
from ...program.python import expression
from .meant import meant_dtype

_DTYPE: Final = r"\b(?:(?:jnp|np|numpy|jax\.numpy)\.)?(?P<dtype>{})".format(
    "|".join(sorted({*DTYPES, *map(long_dtype, DTYPES), "float", "int"}, key=len, reverse=True))
)


# --- specs in other notations

_SIGNS: Final = (
    # a name and its type
    (re.compile(rf"(\b[a-zA-Z_]\w*) ?(?::=|::?|->) ?(?={_DTYPE}[ [({{])"), r"\1="),
    (re.compile(rf"(?<![.\w])(?P<name>[a-z_]\w*) (?={_DTYPE}\[)"), r"\g<name>="),
    (re.compile(rf"(?P<type>{_DTYPE}\[[^]]*\]) (?P<name>[a-z_]\w*)(?= ?(?:,|$))"),
     r"\g<name>=\g<type>"),
    # between types
    (re.compile(r"\] ?;"), "],"),
    (re.compile(r"(\]) (?=[a-zA-Z_]\w* ?=|\w+\[)"), r"\1, "),
)  # fmt: skip
#: The sizes of a type, in brackets of any kind, between signs of any kind.
_SIZES: Final = re.compile(_DTYPE + r" ?(?P<sizes>(?:[\[({][\d ,;x×*]*[\])}])+)")
_GAP: Final = re.compile(r"[^\d]+")


def arguments(text: str) -> str:
    """Specs, from names with types and from shapes in other notations."""
    if "{" not in text.replace("Ref{", "").replace("f32{", ""):  # a dict has ':' inside
        for pattern, right in _SIGNS:
            text = pattern.sub(right, text)

    def sizes(match: re.Match[str]) -> str:
        numbers = ",".join(filter(None, _GAP.split(match["sizes"])))
        return f"{_short(match['dtype'])}[{numbers}]"

    return _SIZES.sub(sizes, text)


def _short(dtype: str) -> str:
    return dtype if dtype in DTYPES else meant_dtype(dtype)


# --- specs from Python that makes arrays


def values(text: str) -> str:
    """Specs, from Python that makes arrays: ``x=jnp.ones((8, 4))``."""
    tree = call(f"f({text})")
    if tree is None:
        return ""
    specs = [_spec(argument) for argument in tree.args]
    named = [(keyword.arg, _spec(keyword.value)) for keyword in tree.keywords]
    if not all(specs) or not all(name and spec for name, spec in named):
        return ""
    return ", ".join([*specs, *(f"{name}={spec}" for name, spec in named)])


def call(text: str) -> ast.Call | None:
    """The tree of a text that is a call, to Python."""
    tree = expression(text)
    return tree if isinstance(tree, ast.Call) else None


def made(text: str) -> str:
    """The spec of the array that a call of Python makes, ``""`` if it is not clear."""
    tree = call(text)
    return _made(tree) if tree is not None else ""


#: Functions that make an array of a shape, their first argument.
_FILLED: Final = frozenset(
    "ones zeros full empty ndarray ShapeDtypeStruct ShapedArray rand randn".split()
)
#: Of `jax.random`, a shape is behind the key.
_DRAWN: Final = frozenset("normal uniform truncated_normal exponential gumbel".split())


def _spec(node: ast.expr) -> str:
    """The spec that an expression means, ``""`` if it is not clear."""
    match node:
        case ast.Constant(value=str(text)):
            return text if _SIZES.fullmatch(text) else ""
        case ast.Constant(value=int() | float()):
            return ast.unparse(node)
        case ast.Name() | ast.Subscript():
            return ast.unparse(node).replace(", ", ",").replace("[()]", "[]")
        case ast.Call():
            return _made(node)
    return ""


def _made(node: ast.Call) -> str:
    """The type of what a call makes."""
    path = ast.unparse(node.func)
    name = path.rpartition(".")[2]
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    arguments = [*node.args]
    if name in ("key", "PRNGKey"):
        return "key<fry>[]" if name == "key" else "u32[2]"
    if name in _DRAWN and "random" in path:
        arguments = arguments[1:]
    elif name not in _FILLED and name not in ("arange", "eye", "identity"):
        return ""
    of_ints = name == "arange"
    if name in ("full", "arange", "eye", "identity"):
        dtype = given.get("dtype")
    else:
        dtype = given.get("dtype", arguments[1] if len(arguments) > 1 else None)
    if name in ("rand", "randn"):
        sizes, dtype = [_size(argument) for argument in arguments], None
    else:
        sizes = _shape(given.get("shape", arguments[0] if arguments else ast.Tuple([])))
    if not all(sizes) or (of_ints and len(arguments) != 1):
        return ""
    sizes = sizes * 2 if name in ("eye", "identity") else sizes
    short = _dtype(dtype) if dtype is not None else "i32" if of_ints else "f32"
    return f"{short}[{','.join(sizes)}]" if short else ""


def _shape(node: ast.expr) -> list[str]:
    items = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    return [_size(item) for item in items]


def _size(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=int(size)) if not isinstance(size, bool) and size >= 0:
            return str(size)
    return ""


def _dtype(node: ast.expr) -> str:
    name = node.value if isinstance(node, ast.Constant) else ast.unparse(node)
    last = str(name).rpartition(".")[2]
    return last if last in (*DTYPES, *KEYS) else meant_dtype(last)


# --- static values


def static(text: str) -> str:
    """``n=3`` for ``n: 3`` and ``n == 3``."""
    return re.sub(r"(\b[a-zA-Z_]\w*) ?(?:==|:=|::?|->) ?(?=[^=])", r"\1=", text)
