"""The claims to start from, in the reference: each holds of a program, and fails of another."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

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
X, W = jnp.ones(4), jnp.ones((8, 8))
square = jax.grad(lambda x: (jnp.tanh(x) ** 2).sum())


def _tree(params: Any, x: Any) -> Any:
    return (x @ params["w"]).sum()


def _softened(x: Any, y: Any) -> Any:
    """An exponential of what was cast, beside something else that is cast."""
    return jnp.exp(x.astype(jnp.float32)) + y


def _cast_later(x: Any, y: Any) -> Any:
    return jnp.exp(x).astype(jnp.float32) + y


def _scan(body: Function) -> Function:
    return lambda x, n=4: lax.scan(lambda c, _: (body(c), None), x, length=n)[0]


def _broadcast(x: Any) -> Any:
    """Data moves, by a collective that few lists name."""
    mesh = AbstractMesh((4,), ("i",), axis_types=(AxisType.Auto,))
    part = functools.partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    return part(lambda x: lax.pbroadcast(x, "i", 0))(x)


def _dot(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ w)


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
    '"none of these collectives appears"': (
        "shard_map", BASE, (jnp.sin, (X,)), (_summed, (X,)),
    ),
    '"no other primitive appears", so no data moves between devices': (
        "shard_map", BASE, (jnp.sin, (X,)), (_broadcast, (X,)),
    ),
    '"every value gains an axis of 8"': (
        "vmap",
        (_dot, (jnp.ones((8, 8)), W)),
        (jax.vmap(_dot), (jnp.ones((8, 8, 8)), jnp.ones((8, 8, 8)))),
        (jax.vmap(_dot, in_axes=(0, None)), (jnp.ones((8, 8, 8)), W)),
    ),
    '"the body is unchanged"': ("scan", BASE, (_scan(jnp.sin), (X,)), (_scan(jnp.cos), (X,))),
    '"runs four times"': (
        "scan", BASE, (_scan(jnp.sin), (X,)), (lambda x: _scan(jnp.sin)(x, 5), (X,)),
    ),
    '"belongs to the backward part"': (
        "grad",
        BASE,
        (square, (X,)),
        (lambda x: jax.jvp(jnp.sin, (x,), (x,)), (X,)),
    ),
    '"the forward part hands on three values"': (
        "grad",
        BASE,
        (jax.grad(lambda x: jnp.sin(jnp.sin(jnp.sin(x))).sum()), (X,)),
        (jax.grad(lambda x: jnp.sin(x).sum()), (X,)),
    ),
    '"its result is kept"': (
        "grad",
        BASE,
        (jax.grad(lambda x: (jnp.tanh(x) * jnp.sin(x)).sum()), (X,)),
        (jax.grad(lambda x: (jnp.sin(x) + lax.stop_gradient(jnp.tanh(x)) * 2).sum()), (X,)),
    ),
    '"only arguments are kept"': (
        "remat_grad",
        BASE,
        (jax.grad(jax.checkpoint(lambda x: jnp.sin(x).sum())), (X,)),
        (jax.grad(lambda x: jnp.sin(x).sum()), (X,)),
    ),
    '"the same program but for shapes"': (
        "vmap",
        (lambda x: jnp.sin(x).sum(axis=0), (X,)),
        (jax.vmap(lambda x: jnp.sin(x).sum(axis=0)), (W,)),
        (jax.vmap(lambda x: jnp.cos(x).sum(axis=0)), (W,)),
    ),
    '"the gradient of `w` is 8 by 8"': (
        "grad",
        BASE,
        (jax.grad(_tree), ({"w": W}, jnp.ones(8))),
        (jax.grad(_tree), ({"w": jnp.ones((8, 4))}, jnp.ones(8))),
    ),
}  # fmt: skip
ALONE: dict[str, tuple[Given, Given]] = {
    '"two equations read it"': (
        (lambda x: (lambda y: jnp.sin(y) + jnp.cos(y))(jnp.tanh(x)), (X,)),
        (lambda x: (lambda y: y * y)(jnp.tanh(x)), (X,)),
    ),
    '"is read twice", also by one equation': (
        (lambda x: (lambda y: y * y)(jnp.tanh(x)), (X,)),
        (lambda x: jnp.sin(jnp.tanh(x)), (X,)),
    ),
    '"the result does not depend on `y`"': (
        (lambda x, y: jnp.sin(x), (X, X)),
        (lambda x, y: lax.scan(lambda c, _: (c + y, None), x, length=3)[0], (X, X)),
    ),
    '"the cast comes before the softmax"': (
        (_softened, (X.astype(jnp.bfloat16), X)),
        (_cast_later, (X.astype(jnp.bfloat16), X)),
    ),
    '"the sum reads the product"': (
        (lambda x, w: x @ w + 1.0, (X, W[:4])),
        (lambda x, w: jnp.sin(x @ w) + 1.0, (X, W[:4])),
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


@pytest.mark.parametrize("sentence", RECIPES)
def test_a_recipe_fails_of_the_contrary(sentence: str) -> None:
    if sentence in ALONE:
        scopes = [
            Scope({"f": block("f", function, given, "x y")}) for function, given in ALONE[sentence]
        ]
    else:
        label, (base, given), *variants = CASES[sentence]
        outer = block("f", base, given, "x w")
        scopes = [
            Scope({"f": outer, f"f.{label}": block(f"f.{label}", function, args, "x w", outer)})
            for function, args in variants
        ]
    assert [judge(RECIPES[sentence], one).is_true for one in scopes] == [True, False]
