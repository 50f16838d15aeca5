"""Transforms from what authors write first: calls of JAX, other signs between two of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Final

from ..specs import TRANSFORMS
from .arguments import call

#: What a value without a name is meant for, by its kind: a number, a name, braces.
_OPTIONS: Final[Mapping[str, tuple[str, str, str]]] = {
    "vmap": ("axis_size", "in_axes", "in_axes"),
    "scan": ("length", "over", ""),
    "checkpoint": ("", "policy", ""),
    "remat": ("", "policy", ""),
    "shard_map": ("", "mesh", "mesh"),
}
_ARGNUMS: Final = ("argnums", "argnums", "")
#: Other names of transforms.
MEANT_TRANSFORMS: Final[Mapping[str, str]] = {
    **dict.fromkeys("gradient derivative differentiate diff backward reverse".split(), "grad"),
    **dict.fromkeys("batch batched vectorize vectorized map".split(), "vmap"),
    **dict.fromkeys("jacobian jac".split(), "jacrev"),
    **dict.fromkeys("pmap xmap spmd shard sharded parallel".split(), "shard_map"),
    **dict.fromkeys("loop fori_loop for".split(), "scan"),
    **dict.fromkeys("rematerialize recompute".split(), "remat"),
    **dict.fromkeys("pjit compile compiled".split(), "jit"),
    "forward": "jvp",
    "pullback": "vjp",
    "hess": "hessian",
}
#: Other names of options of transforms.
MEANT_OPTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys("argnum wrt arg args argument arguments".split(), "argnums"),
    **dict.fromkeys("axes dim in_axis".split(), "in_axes"),
    **dict.fromkeys("size batch batch_size n".split(), "axis_size"),
    **dict.fromkeys("steps iterations count".split(), "length"),
    **dict.fromkeys("xs stacked".split(), "over"),
    **dict.fromkeys("init initial".split(), "carry"),
    **dict.fromkeys("devices axis_sizes".split(), "mesh"),
}


def chain(text: str) -> str:
    """``grad | vmap`` from what others write between two transforms."""
    if "∘" in text:  # the last one is applied first
        return " | ".join(part.strip() for part in reversed(text.split("∘")))
    text = re.sub(r"(\w+) ?(?::|->|=>) ?([a-z]\w*)$", _labelled, text)
    text = re.sub(r"^([a-zA-Z]\w*) ?= ?([a-z]\w*)$", r"\2 as \1", text)
    text = re.sub(r" ?(?:->|=>|\|>|>>|>|;|\+|&|@| then ) ?|(?<=[a-z]) ?\. ?(?=[a-z])", " | ", text)
    return re.sub(r"(?<=[\w)]) (?!as )(?=[a-z]+\b)(?<!as )", " | ", text)


def _labelled(match: re.Match[str]) -> str:
    return match[0] if match[2] in TRANSFORMS else f"{match[1]} as {match[2]}"


def nested(text: str) -> str:
    """``grad | vmap`` from ``vmap(grad(f))``, and options with their names."""
    tree = call(text) if text.endswith(")") else call(f"{text}()")
    if tree is None:
        return ""
    steps: list[str] = []
    node: ast.expr = tree
    while isinstance(node, ast.Call):
        name, inner, options = _step(node)
        steps.append(f"{name}({options})" if options else name)
        node = inner
    return " | ".join(reversed(steps))


def _step(node: ast.Call) -> tuple[str, ast.expr, str]:
    """The name of a transform, what it is applied to, and its options with names."""
    path = ast.unparse(node.func)
    name = path.rpartition(".")[2]
    inner: ast.expr = ast.Constant(None)
    if path.partition(".")[0] in TRANSFORMS and path != name:  # grad.vmap
        return name, inner, "?"
    options: list[str] = []
    for argument in node.args:
        last = ast.unparse(argument).partition("(")[0].rpartition(".")[2]
        if last in TRANSFORMS:
            is_call = isinstance(argument, ast.Call)
            inner = argument if is_call else ast.Call(argument, [], [])
        elif option := _option(name, argument):
            options.append(option)
        elif not isinstance(argument, ast.Name | ast.Attribute):
            return name, inner, "?"  # which no grammar reads
    options += [f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in node.keywords]
    return name, inner, ", ".join(options)


def _option(name: str, node: ast.expr) -> str:
    """``axis_size=8`` for ``8``."""
    number, word, braces = _OPTIONS.get(name, _ARGNUMS)
    text = ast.unparse(node)
    match node:
        case ast.Constant(value=int(value)):
            number = "in_axes" if name == "vmap" and value == 0 else number
            return f"{number}={text}" if number else ""
        case ast.Constant(value=str(value)):
            return f"{word}={value}"
        case ast.Tuple() | ast.List():
            return f"{number}={text}" if number == "argnums" else ""
        case ast.Name(id=value) if value not in ("f", "fn", "fun", "func", "function"):
            return f"{word}={text}"
        case ast.Dict():
            return f"{braces}={text}" if braces else ""
    return ""


def options(text: str) -> str:
    """Options that were written without names, or numbers without their brackets."""
    return re.sub(r"=(\d+(?: ?, ?\d+)+)(?=\))", r"=(\1)", text)
