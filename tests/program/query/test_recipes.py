"""The claims to start from, in the reference: each holds of a program, and fails of another."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from sphinx_jaxpr.program.facts import RESULT, output_names
from sphinx_jaxpr.program.query.blocks import QueryBlock
from sphinx_jaxpr.program.query.evaluate import Scope, judge
from tests.program.lesson import block
from tests.program.query.test_silence import _summed

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "paths.md"
RECIPES = dict(
    re.findall(
        r'^\| ("[^|]+) \| `(.+)` \|$',
        PAGE.read_text("utf-8").partition("## Claims to start from")[2],
        re.MULTILINE,
    )
)

Function = Callable[..., Any]
X, W, SQUARE = jnp.ones(4), jnp.ones((8, 8)), jnp.ones((4, 4))
square = jax.grad(lambda x: (jnp.tanh(x) ** 2).sum())


def _scan(body: Function) -> Function:
    return lambda x, n=4: lax.scan(lambda c, _: (body(c), None), x, length=n)[0]


def _broadcast(x: Any) -> Any:
    """Data moves, by a collective that few lists name."""
    mesh = AbstractMesh((4,), ("i",), axis_types=(AxisType.Auto,))
    part = functools.partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    return part(lambda x: lax.pbroadcast(x, "i", 0))(x)


def _over(spec: P) -> Function:
    mesh = AbstractMesh((4,), ("data",), axis_types=(AxisType.Auto,))
    return jax.shard_map(jnp.sin, mesh=mesh, in_specs=spec, out_specs=spec)


def _dot(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w)


def _sliced(x: Any) -> Any:
    return lax.scan(lambda c, row: (c * row, None), jnp.float32(1), x)[0]


#: For each recipe: a base, a variant of which it is true, and one of which it is not;
#: each with its arguments, and without a variant where the recipe asks of the base alone.
Given = tuple[Function, tuple[Any, ...]]
BASE: Given = (jnp.sin, (X,))
CASES: dict[str, tuple[str, Given, Given, Given]] = {
    '"one equation is added"': (
        "vmap", BASE, (lambda x: jnp.sin(x) + 1, (X,)), (jnp.sin, (X,)),
    ),
    '"the list of equations is unchanged"': (
        "vmap", BASE, (jax.vmap(jnp.sin), (X,)), (lambda x: jnp.sin(x) + 1, (X,)),
    ),
    '"the forward part stays"': (
        "grad",
        (lambda x: jnp.exp(jnp.tanh(jnp.sin(x) * 2)), (X,)),
        (lambda x: jnp.exp(jnp.tanh(jnp.sin(x) * 2)).sum(), (X,)),
        (lambda x: jnp.exp(jnp.sin(jnp.tanh(x) * 2)).sum(), (X,)),
    ),
    '"a `transpose` appears"': (
        "grad", BASE, (lambda x: x.T, (W,)), (jnp.sin, (X,)),
    ),
    '"no `psum` appears"': ("shard_map", BASE, (jnp.sin, (X,)), (_summed, (X,))),
    '"varies over `data`"': (
        "shard_map", BASE, (_over(P("data")), (X,)), (_over(P()), (X,)),
    ),
    '"the loss is computed before the gradient"': (
        "grad", BASE, (lambda x: jnp.log(x) * 2, (X,)), (lambda x: jnp.log(x * 2), (X,)),
    ),
    '"no other primitive appears", so no data moves between devices': (
        "shard_map", BASE, (jnp.sin, (X,)), (_broadcast, (X,)),
    ),
    '"every value has an axis of 8 in front"': (
        "vmap",
        (_dot, (SQUARE, SQUARE)),
        (jax.vmap(_dot), (jnp.ones((8, 4, 4)), jnp.ones((8, 4, 4)))),
        (jax.vmap(_dot, in_axes=(0, None)), (jnp.ones((8, 4, 4)), SQUARE)),
    ),
    '"the body is unchanged"': ("scan", BASE, (_scan(jnp.sin), (X,)), (_scan(jnp.cos), (X,))),
    '"runs four times"': (
        "scan", BASE, (_scan(jnp.sin), (X,)), (lambda x: _scan(jnp.sin)(x, 5), (X,)),
    ),
    '"the gradient costs three times as much"': (
        "grad",
        (lambda x: x * x, (X,)),
        (lambda x: jnp.sin(x) * (x + x), (X,)),
        (lambda x: jnp.sin(x) * x, (X,)),
    ),
    '"the same program but for shapes"': (
        "vmap", BASE, (jax.vmap(jnp.sin), (W,)), (jax.vmap(jnp.cos), (W,)),
    ),
    '"keeps three values for the backward part"': (
        "grad",
        BASE,
        (jax.grad(lambda x: (jnp.sin(x) * x * 2.0).sum()), (X,)),
        (jax.grad(lambda x: jnp.sin(x).sum()), (X,)),
    ),
    '"keeps 48 bytes"': (
        "grad",
        BASE,
        (jax.grad(lambda x: (jnp.sin(x) * x * 2.0).sum()), (X,)),
        (jax.grad(lambda x: jnp.sin(x).sum()), (X,)),
    ),
    '"the backward part reads `x` again"': (
        "grad",
        BASE,
        (jax.grad(lambda x: (jnp.sin(x) * x).sum()), (X,)),
        (jax.grad(lambda x: jnp.exp(x).sum()), (X,)),
    ),
    '"the gradient of the leaf `w` has shape (4,)"': (
        "grad",
        BASE,
        (jax.grad(lambda p: (p["w"] * p["b"]).sum()), ({"b": 1.0, "w": X},)),
        (jax.grad(lambda p: (p["w"] * p["b"]).sum()), ({"b": X, "w": 1.0},)),
    ),
    '"the result of `exp` is kept"': (
        "grad",
        BASE,
        (jax.grad(lambda x: jnp.exp(x).sum()), (X,)),
        (jax.grad(lambda x: (lax.stop_gradient(jnp.exp(x)) + x).sum()), (X,)),
    ),
    '"belongs to the backward part"': (
        "grad",
        BASE,
        (square, (X,)),
        (lambda x: jax.jvp(jnp.sin, (x,), (x,)), (X,)),
    ),
}  # fmt: skip
HALF = jnp.ones((32, 64), jnp.bfloat16)
ALONE: dict[str, tuple[Given, Given]] = {
    '"no collective appears"': ((_over(P("data")), (X,)), (_broadcast, (X,))),
    '"no control flow is left"': ((jax.jit(jnp.sin), (X,)), (jax.jit(_scan(jnp.sin)), (X,))),
    '"the result is a `bf16[32,64]`"': ((jnp.sin, (HALF,)), (jnp.sin, (HALF.T,))),
    '"the literal is 0.1"': ((lambda x: x * 0.1, (HALF,)), (lambda x: x * 0.2, (HALF,))),
    '"`x` is weakly typed"': ((jnp.sin, (1.0,)), (jnp.sin, (X,))),
    '"no value is larger than 8 kB"': ((jnp.sin, (HALF,)), (jnp.sin, (jnp.ones((64, 64)),))),
    '"the largest value has 2,048 elements"': ((jnp.sin, (HALF,)), (jnp.sin, (X,))),
    '"two equations read it"': (
        (lambda x: (lambda y: jnp.sin(y) + jnp.cos(y))(jnp.tanh(x)), (X,)),
        (lambda x: (lambda y: y * y)(jnp.tanh(x)), (X,)),
    ),
    '"is read twice", also by one equation': (
        (lambda x: (lambda y: y * y)(jnp.tanh(x)), (X,)),
        (lambda x: jnp.sin(jnp.tanh(x)), (X,)),
    ),
    '"loops over one array"': (
        (_sliced, (X,)),
        (_scan(jnp.sin), (X,)),
    ),
    '"the carry is one value"': (
        (_scan(jnp.sin), (X,)),
        (lambda x: lax.fori_loop(0, 4, lambda _, c: jnp.sin(c), x), (X,)),
    ),
    '"the body multiplies the carry"': ((_sliced, (X,)), (_scan(jnp.sin), (X,))),
    '"the condition closes over nothing"': (
        (lambda x: lax.while_loop(lambda c: c.sum() < 9, jnp.exp, x), (X,)),
        (lambda x: lax.while_loop(lambda c: c.sum() < x.sum(), jnp.exp, x), (X,)),
    ),
    '"the branches get two values"': (
        (lambda x: lax.cond(x.sum() > 0, jnp.add, jnp.subtract, x, jnp.sin(x)), (X,)),
        (lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), (X,)),
    ),
    '"sums over the last axis of the left"': (
        (_dot, (jnp.ones((8, 8)), W)),
        (lambda x, w: jnp.einsum("ij,ik->jk", x, w), (jnp.ones((8, 8)), W)),
    ),
    '"the product reads the sine"': (
        (lambda x: (lambda y: y * y)(jnp.sin(x)), (X,)),
        (lambda x: jnp.sin(x * x), (X,)),
    ),
    '"the result doesn\'t depend on `w`"': (
        (lambda x, w: jax.jit(lambda a, b: (a * 2, b))(x, w)[0], (X, X)),
        (lambda x, w: jax.jit(lambda a, b: (a * b, b))(x, w)[0], (X, X)),
    ),
    '"the cast comes before the exponential"': (
        (lambda x: jnp.exp(x.astype("float32") - 1), (HALF,)),
        (lambda x: jnp.exp(x - 1).astype("float32"), (HALF,)),
    ),
    '"is read from an argument"': (
        (_dot, (jnp.ones((8, 8)), W)),
        (lambda x, w: jnp.sin(x) @ w, (jnp.ones((8, 8)), W)),
    ),
}


def _marked(x: Any) -> Any:
    """Both: the mark, and the collective that has its former name."""
    mesh = AbstractMesh((4,), ("i",), axis_types=(AxisType.Auto,))
    part = functools.partial(jax.shard_map, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))
    return part(lambda x, y: lax.pbroadcast(x, "i", 0) + y)(x, jnp.float32(1))


@pytest.mark.parametrize(
    "function, claim, answer",
    [
        (_broadcast, '"pvary" in ops(f.all)', False),
        (_broadcast, "not f.all[pvary]", True),
        (_broadcast, "len(f.all[pbroadcast]) == 1", True),
        (_marked, "len(f.all[pbroadcast]) == 1 and len(f.all[pvary]) == 1", True),
    ],
)
def test_a_mark_is_not_the_collective_that_has_its_former_name(
    function: Function, claim: str, answer: bool
) -> None:
    assert judge(claim, Scope({"f": block("f", function, (X,), "x")})).is_true is answer


def test_each_recipe_has_its_counter_example() -> None:
    assert set(RECIPES) == set(CASES) | set(ALONE)


def test_recipes_are_short() -> None:
    assert {recipe: len(recipe) for recipe in RECIPES.values() if len(recipe) > 60} == {}


def _block(name: str, function: Function, given: Any, base: QueryBlock | None = None) -> QueryBlock:
    """A block whose results have their names, as the worker gives them."""
    leaves = jax.tree_util.tree_leaves_with_path(jax.eval_shape(function, *given))
    names = [RESULT + jax.tree_util.keystr(path) for path, _ in leaves]
    outputs = output_names(names, len(names))
    return replace(block(name, function, given, "x w", base), outputs=outputs)


@pytest.mark.parametrize("sentence", RECIPES)
def test_a_recipe_fails_of_the_contrary(sentence: str) -> None:
    if sentence in ALONE:
        scopes = [Scope({"f": _block("f", function, given)}) for function, given in ALONE[sentence]]
    else:
        label, (base, given), *variants = CASES[sentence]
        outer = _block("f", base, given)
        scopes = [
            Scope({"f": outer, f"f.{label}": _block(f"f.{label}", function, args, outer)})
            for function, args in variants
        ]
    assert [judge(RECIPES[sentence], one).is_true for one in scopes] == [True, False]
