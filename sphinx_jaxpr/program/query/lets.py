"""Names that a page gives to paths and values, as in ``let g = dense.grad``.

A let is an expression of its own, evaluated once for an expression that uses it: its text is
never put into another one.  The lets that an expression needs are evaluated before it, each after
those that it needs itself, so that a long chain of them is no deep recursion.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from .syntax import Expression, PathError, parse

#: How many lets one expression may use, those included that its lets use.
MAX_LETS: Final = 100


class BrokenLet(PathError):
    """An expression uses a let that has no value, which has its own warning."""


class LetCycle(BrokenLet):
    """A let depends on itself."""


@lru_cache(maxsize=256)
def parsed(text: str) -> Expression:
    """The expression of a let, which many others use."""
    return parse(text)


def free_names(node: ast.AST, bound: frozenset[str] = frozenset()) -> Iterator[str]:
    """The names that an expression looks up, without those that its loops bind.

    A bare word in brackets is no such name.
    """
    match node:
        case ast.Name(id=name):
            if name not in bound:
                yield name
        case ast.Subscript(value=inner, slice=key):
            yield from free_names(inner, bound)
            if not isinstance(key, ast.Name):
                yield from free_names(key, bound)
        case ast.Call(args=arguments):
            for argument in arguments:
                yield from free_names(argument, bound)
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
            for loop in node.generators:
                yield from free_names(loop.iter, bound)
                bound |= frozenset(free_names(loop.target))
                for test in loop.ifs:
                    yield from free_names(test, bound)
            yield from free_names(node.elt, bound)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from free_names(child, bound)


def needed(expression: Expression, lets: Mapping[str, str]) -> list[str]:
    """The lets that an expression needs, each after those that it needs itself.

    Raises :exc:`LetCycle` where one of them needs itself, and :exc:`PathError` for too many.
    """
    order: list[str] = []
    done: set[str] = set()
    path: list[str] = []  # the lets that are being looked at, each needed by the one before
    waiting = [iter(_used(expression, lets))]
    while waiting:
        name = next(waiting[-1], None)
        if name is None:
            waiting.pop()
            if path:
                order.append(path.pop())
            continue
        if name in path:
            raise LetCycle(_cycle(path[path.index(name) :], lets))
        if name in done:
            continue
        done.add(name)
        if len(done) > MAX_LETS:
            raise PathError(f"this expression uses more than {MAX_LETS} lets", 0)
        path.append(name)
        waiting.append(iter(_uses(lets[name], lets)))
    return order


def mentioned(expression: Expression, lets: Mapping[str, str]) -> dict[str, None]:
    """All names in an expression and in the lets that it may use.

    That some of them are bound by loops, or words in brackets, does no harm.
    """
    names = dict.fromkeys(_names(expression))
    todo = list(names)
    while todo:
        name = todo.pop()
        try:
            inside = _names(parsed(lets[name])) if name in lets else ()
        except PathError:  # which is an error where it is evaluated
            continue
        more = [other for other in inside if other not in names]
        names.update(dict.fromkeys(more))
        todo += more
    return names


def _names(expression: Expression) -> Iterator[str]:
    return (part.id for part in ast.walk(expression.body) if isinstance(part, ast.Name))


def cycle(name: str, lets: Mapping[str, str]) -> tuple[str, ...]:
    """The lets of the cycle that ``name`` is part of, from the first that is written; or none."""
    path, waiting = [name], [iter(_uses(lets[name], lets))]
    seen = {name}
    while waiting:
        following = next(waiting[-1], None)
        if following == name:
            first = min(range(len(path)), key=lambda n: [*lets].index(path[n]))
            return (*path[first:], *path[:first])
        if following is None:
            waiting.pop()
            path.pop()
        elif following not in seen:
            seen.add(following)
            path.append(following)
            waiting.append(iter(_uses(lets[following], lets)))
    return ()


def _cycle(names: list[str], lets: Mapping[str, str]) -> str:
    listed = " needs ".join(f"`{name}`" for name in [*names, names[0]])
    return f"this depends on itself: {listed}"


def _uses(text: str, lets: Mapping[str, str]) -> list[str]:
    try:
        return _used(parsed(text), lets)
    except PathError:  # which is an error where it is evaluated
        return []


def _used(expression: Expression, lets: Mapping[str, str]) -> list[str]:
    names = dict.fromkeys(free_names(expression.body))
    return [name for name in names if name in lets]
