"""Matching against what names of scopes tell: which equation comes from which."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from sphinx_jaxpr.program.matching.match import KEPT, match
from sphinx_jaxpr.program.parser.parser import parse
from tests.program import corpus
from tests.program.matching.scopes import named, scoped

Function = Callable[..., Any]
ARRAY = np.arange(4.0, dtype=np.float32)
V, X, W, S = corpus.V, corpus.X, corpus.W, corpus.S


def _gru(h: Any, xs: Any, w: Any) -> Any:
    def cell(h: Any, x: Any) -> Any:
        z, n = jax.nn.sigmoid(x @ w + h), jnp.tanh(x)
        return (1 - z) * h + z * n, h

    return lax.scan(cell, h, xs)


def _step(w: Any, x: Any, y: Any) -> Any:
    def loss(w: Any) -> Any:
        return ((jnp.tanh(x @ w) - y) ** 2).mean()

    return w - 0.1 * jax.grad(loss)(w)


def _branches(x: Any, xs: Any) -> Any:
    def step(c: Any, v: Any) -> Any:
        return lax.cond(v > 0, lambda c: jnp.sin(c) * v, lambda c: c, c), None

    return lax.scan(step, x, xs)[0]


def _newton(a: Any) -> Any:
    return lax.while_loop(lambda s: jnp.abs(s * s - a) > 1e-3, lambda s: (s + a / s) / 2, a)


FUNCTIONS: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "gru": (_gru, (V, X, W)),
    "step": (_step, (W, X, X)),
    "branches": (_branches, (S, V)),
    "newton": (_newton, (S,)),
    "fori": (lambda x, y: lax.fori_loop(0, 5, lambda i, c: c * jnp.sin(y), x), (S, S)),
    "zeros": (lambda xs: lax.scan(lambda c, x: (c * 0.9 + x, c), 0.0, xs), (V,)),
    "captured": (lambda x: jnp.sin(x * jnp.asarray(ARRAY)) + ARRAY, (V,)),
    "attention": (lambda q, k: jax.nn.softmax(q @ k.T / 2.0) @ k, (X, X)),
    "relus": (lambda x, w: jax.nn.relu(jax.nn.relu(x @ w) @ w), (X, W)),
    "index": (lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 2)) * x[i, 0], (X, corpus.N)),
}
for _name in "dense scan_in_scan cond checkpoint_policy jit_shared sort switch softmax".split():
    FUNCTIONS[_name] = (corpus.PROGRAMS[_name].function, corpus.PROGRAMS[_name].arguments)  # type: ignore[assignment]  # of any function


def _transforms(
    f: Function, args: tuple[Any, ...]
) -> Iterator[tuple[str, Function, tuple[Any, ...]]]:
    floats = tuple(n for n, a in enumerate(args) if jnp.issubdtype(a.dtype, jnp.floating))
    mapped = tuple(jax.ShapeDtypeStruct((3, *a.shape), a.dtype) for a in args)
    count = len(args)

    def total(f: Function) -> Function:
        def function(*a: Any) -> Any:
            leaves = jax.tree_util.tree_leaves(f(*a))
            return sum(v.sum() for v in leaves if jnp.issubdtype(v.dtype, jnp.floating))

        return function

    gradient = jax.grad(total(f), floats)
    yield "jit", jax.jit(f), args
    yield "vmap", jax.vmap(f), mapped
    if "while" not in str(jax.make_jaxpr(f)(*args)):
        yield "grad", gradient, args
        yield "vmap of grad", jax.vmap(gradient), mapped
        yield "grad of remat", jax.grad(total(jax.checkpoint(f)), floats), args
        yield "jit of grad of jit", jax.jit(jax.grad(total(jax.jit(f)), floats)), args
    if len(floats) == count:
        yield "jvp", lambda *a: jax.jvp(f, a[:count], a[count:]), (*args, *args)


def _measure(f: Function, args: tuple[Any, ...]) -> Iterator[tuple[str, int, list[str], list[str]]]:
    """By transform: equations of the base, those missed, those with a partner of another scope."""
    f = scoped(f, *args)
    closed = jax.make_jaxpr(f)(*args)
    base = parse(str(closed))
    known = named(base, closed)
    for name, function, arguments in _transforms(f, args):
        closed = jax.make_jaxpr(function)(*arguments)
        variant = parse(str(closed))
        scopes = named(variant, closed)
        found = match(base, variant)
        there = {
            (scope, e.primitive)
            for e in variant.walk()
            for scope, stack in [scopes.get(e.start, (-1, ""))]
            if not re.search(r"transpose\(|rematted", stack)
        }
        own: dict[int, Any] = {}  # the outermost equation of each scope
        for e in base.walk():
            own.setdefault(known.get(e.start, (-1, ""))[0], e)
        own.pop(-1, None)
        partners = set(found.partner.values())
        missed = [
            f"{name}: {e.primitive} {scope}"
            for scope, e in own.items()
            if (scope, e.primitive) in there and e.start not in partners and e in found.removed
        ]
        # What is kept has the same value: JAX may compute it in another scope too.
        wrong = [
            f"{name}: {known[old]} {scopes[new]}"
            for new, old in found.partner.items()
            if found.change[new] != KEPT
            and min(known[old][0], scopes[new][0]) >= 0
            and known[old][0] != scopes[new][0]
        ]
        yield name, len(own), missed, wrong


def test_names_of_scopes_tell_which_equation_comes_from_which() -> None:
    count = 0
    missed: list[str] = []
    wrong: list[str] = []
    for name, (f, args) in FUNCTIONS.items():
        for _, own, some, others in _measure(f, args):
            count += own
            missed += [f"{name} {one}" for one in some]
            wrong += [f"{name} {one}" for one in others]
    assert count > 500
    assert len(missed) <= 0.01 * count, missed
    assert len(wrong) <= 0.02 * count, wrong


@pytest.mark.parametrize("name", ["gru", "branches", "zeros", "captured"])
def test_nothing_that_is_there_is_called_removed(name: str) -> None:
    for _, _, missed, wrong in _measure(*FUNCTIONS[name]):
        assert not missed and (name == "gru" or not wrong)
