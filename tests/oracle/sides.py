"""The values that a reviewer is shown beside a claim, against Python's ``eval`` over objects."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from .corpus import Traced
from .data import Dtype
from .listed import Listed
from .reading import Equation, Equations, Uses, Value
from .report import Report


def check(traced: Traced, claim: str, value: Callable[[str], Any], report: Report) -> None:
    """Compare the sides of one claim: which they are, and their values."""
    where = f"{traced.case.name}: {claim}"
    wanted = dict(_Sides(claim, value).of(ast.parse(claim, mode="eval").body))
    product = dict(traced.product.sides(claim))
    report.check("sides", where, list(product), list(wanted))
    for text, words in wanted.items():
        if words is None:
            report.skipped["values"] += 1
        else:
            report.check("values", f"{where}: {text}", product.get(text), words)


class _Sides:
    """What decides a claim, by Python's own rules; ``value`` evaluates a part of it."""

    def __init__(self, claim: str, value: Callable[[str], Any]) -> None:
        self.claim = claim
        self.value = value

    def text(self, node: ast.expr) -> str:
        found = ast.get_source_segment(self.claim, node)
        assert found is not None
        return found

    def of(self, node: ast.expr) -> Iterator[tuple[str, str | None]]:
        """Parts with their values in words, ``None`` where only the product has words."""
        match node:
            case ast.BoolOp(op=operator, values=parts):
                for part in parts:
                    yield from self.of(part)
                    if bool(self.value(self.text(part))) != isinstance(operator, ast.And):
                        return
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield from self.of(operand)
            case ast.Compare(left=left, ops=operators, comparators=others):
                yield from self.side(left)
                for operator, other in zip(operators, others, strict=True):
                    yield from self.side(other)
                    alone = ast.Compare(left, [operator], [other])
                    if not self.value(ast.unparse(alone)):
                        return
                    left = other
            case ast.Call(func=ast.Name(id="all" | "any"), args=[argument]):
                found = [bool(one) for one in self.value(f"[*{self.text(argument)}]")]
                yield self.text(node), f"true for {found.count(True)} of {len(found)}"
            case ast.Call(func=ast.Name(id="same" | "reads" | "depends"), args=arguments):
                for argument in arguments:
                    yield from self.side(argument)
            case _:
                yield from self.side(node)

    def side(self, node: ast.expr) -> Iterator[tuple[str, str | None]]:
        try:
            ast.literal_eval(node)
        except ValueError:
            yield self.text(node), shown(self.value(self.text(node)))


def shown(value: Any) -> str | None:
    """A value as the reference says that reviewers read it."""
    text = _shown(value)
    return text if text is None or len(text) <= 240 else text[:240] + "..."


def _shown(value: Any) -> str | None:
    match value:
        case bool():
            return str(value).lower()
        case Dtype() | str():
            return f'"{value}"'
        case Uses():
            return str(len(value))
        case Equations():
            return ", ".join(each.primitive for each in value) or "no equations"
        case Value() | Equation() | Listed():
            return None  # as JAX prints them: letters, which objects don't have
        case tuple() | list() if not value:
            return "empty"
        case tuple() | list() if all(isinstance(item, str) for item in value):
            return ", ".join(value)
        case tuple() | list():
            return _inner(value)
        case set() | frozenset():
            inner = [_inner(item) for item in value]
            return None if None in inner else "{" + ", ".join(sorted(map(str, inner))) + "}"
    return str(value)


def _inner(value: Any) -> str | None:
    """A value inside of another one: without quotation marks, in brackets where it is a list."""
    if isinstance(value, tuple | list) and not isinstance(value, Listed):
        inner = [_inner(item) for item in value]
        return None if None in inner else _in_brackets([str(item) for item in inner])
    return str(value) if isinstance(value, str | bool) else _shown(value)


def _in_brackets(items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
