"""Which equation of a base an equation of a variant comes from, as JAX's own names of scopes say.

:func:`scoped` makes a function in which every equation of another has a named
scope of its own, at any depth.  A transform keeps these names, so they tell the
truth about its result without any matching.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
from jax import lax
from jax.extend.core import ClosedJaxpr, Jaxpr

from sphinx_jaxpr.program.model import Equation, Printed, Program

_SCOPE = re.compile(r"eqn(\d+)")


def scoped(function: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """The same function; its equations, from the outside in, have scopes ``eqn0``, ``eqn1``..."""
    closed, shape = jax.make_jaxpr(function, return_shape=True)(*arguments)
    tree = jax.tree_util.tree_structure(shape)

    def again(*values: Any) -> Any:
        leaves = jax.tree_util.tree_leaves(values)
        count = iter(range(100_000))
        return jax.tree_util.tree_unflatten(tree, _run(closed.jaxpr, closed.consts, leaves, count))

    return again


def _run(jaxpr: Any, consts: Any, values: Any, count: Iterator[int]) -> list[Any]:
    known: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    known.update(zip(jaxpr.invars, values, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else known[atom]

    for equation in jaxpr.eqns:
        with jax.named_scope(f"eqn{next(count)}"):
            results = _bind(equation, [read(atom) for atom in equation.invars], count)
        known.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _bind(equation: Any, values: list[Any], count: Iterator[int]) -> list[Any]:
    parameters, name = equation.params, equation.primitive.name

    def body(inner: Any) -> Callable[..., list[Any]]:
        # A body may be traced more than once: each time its equations have the same scopes.
        jaxpr, consts = (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, ())
        places = [next(count) for _ in range(_size(jaxpr))]
        return lambda *a: _run(jaxpr, consts, a, iter(places))

    if name in ("jit", "pjit", "closed_call"):
        inner = parameters.get("jaxpr", parameters.get("call_jaxpr"))
        return list(jax.jit(body(inner))(*values))
    if name in ("remat2", "checkpoint", "remat"):
        function = body(parameters["jaxpr"])
        policy = parameters["policy"]
        return list(jax.checkpoint(function, policy=policy)(*values))
    if name == "scan":
        return _scan(equation, body(parameters["jaxpr"]), values)
    if name == "while":
        first, second = parameters["cond_nconsts"], parameters["body_nconsts"]
        condition, step = body(parameters["cond_jaxpr"]), body(parameters["body_jaxpr"])
        start, own = values[:first], values[first : first + second]
        carries = tuple(values[first + second :])
        return list(
            lax.while_loop(
                lambda c: condition(*start, *c)[0], lambda c: tuple(step(*own, *c)), carries
            )
        )
    if name == "cond":
        branches = [body(inner) for inner in parameters["branches"]]
        return list(lax.switch(values[0], branches, *values[1:]))
    bound = equation.primitive.get_bind_params(parameters)
    functions, bound = bound if isinstance(bound, tuple) else ((), bound)
    for inner in _programs(parameters):
        for _ in range(_size(inner)):
            next(count)
    found = equation.primitive.bind(*functions, *values, **bound)
    return list(found) if equation.primitive.multiple_results else [found]


def _scan(equation: Any, step: Callable[..., Any], values: list[Any]) -> list[Any]:
    parameters = equation.params
    inner = parameters["jaxpr"].jaxpr
    carries = sum(
        out.aval == body.aval for out, body in zip(equation.outvars, inner.outvars, strict=True)
    )
    walked = sum(
        one.aval.shape != body.aval.shape
        for one, body in zip(equation.invars, inner.invars, strict=True)
    )
    constants = len(values) - carries - walked
    own, start = values[:constants], values[constants : constants + carries]

    def function(carry: Any, xs: Any) -> Any:
        results = step(*own, *carry, *xs)
        return results[:carries], results[carries:]

    last, stacked = lax.scan(
        function,
        start,
        values[constants + carries :],
        length=parameters["length"],
        reverse=parameters["reverse"],
        unroll=parameters["unroll"],
    )
    return [*last, *stacked]


def _programs(parameters: dict[str, Any]) -> list[Any]:
    found = []
    for value in parameters.values():
        for one in value if isinstance(value, tuple | list) else (value,):
            if isinstance(one, ClosedJaxpr):
                found.append(one.jaxpr)
            elif isinstance(one, Jaxpr):
                found.append(one)
    return found


def _size(jaxpr: Any) -> int:
    return sum(1 + sum(map(_size, _programs(e.params))) for e in jaxpr.eqns)


def named(printed: Printed, closed: Any) -> dict[int, tuple[int, str]]:
    """Each equation's scope, and the whole stack of names, by its start in the text."""
    shared = dict(printed.shared)
    found: dict[int, tuple[int, str]] = {}
    seen: set[int] = set()
    assert printed.program is not None
    todo: list[tuple[Program, Any, str]] = [(printed.program, closed.jaxpr, "")]
    while todo:
        program, jaxpr, around = todo.pop()
        if program.start in seen or len(program.equations) != len(jaxpr.eqns):
            continue
        seen.add(program.start)
        for equation, object_ in zip(program.equations, jaxpr.eqns, strict=True):
            stack = f"{around}/{object_.source_info.name_stack}"
            scopes = _SCOPE.findall(stack)
            found[equation.start] = (int(scopes[-1]) if scopes else -1, stack)
            todo.extend((p, j, stack) for p, j in _held(equation, object_, shared))
    return found


def _held(
    equation: Equation, object_: Any, shared: dict[str, Program]
) -> Iterator[tuple[Program, Any]]:
    for parameter in equation.parameters:
        members = [shared[m] if isinstance(m, str) else m for m in parameter.members]
        programs = _programs({"": object_.params.get(parameter.name)})
        yield from zip(members, programs, strict=False)
