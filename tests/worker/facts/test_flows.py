"""What flows through equations, against programs that are run: a result that changes when one
argument does depends on it, and one that never changes need not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import custom_derivatives, lax

from sphinx_jaxpr.program.query.evaluate import Scope, evaluate
from sphinx_jaxpr.testing import trace
from tests.program.lesson import block

new_ref = getattr(jax, "new_ref", None) or jax.array_ref
NAMES = "xyzn"
#: Where arguments are changed, and what to.
AT = np.array(
    [[-1.3, 0.4, 2.0, 2.2], [1.7, -2.0, 0.3, 0.0], [0.5, 1.1, -0.7, 3.4], [2.3, 3.0, 1.5, 1.0]],
    np.float32,
)
OTHERS = np.array([-2.7, -0.6, 0.9, 1.6, 3.9], np.float32)


# -- loops and branches


def turned(x: Any, y: Any, z: Any, n: Any) -> Any:
    """How often the carries are turned depends on ``n``; a fixpoint needs three rounds."""
    return lax.while_loop(
        lambda c: c[3] < n, lambda c: (c[1], c[2] * 1.5, c[2], c[3] + 1), (x, y, z, 0.0)
    )


def counted(x: Any, y: Any, z: Any, n: Any) -> Any:
    return lax.fori_loop(0, jnp.int32(n), lambda i, c: (c[0] + y, c[1]), (x, z))


def replaced(x: Any, y: Any, z: Any, n: Any) -> Any:
    """A carry becomes a constant, if there is a turn at all."""
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, 3.0, c[2]), (x, y, z))


def scanned(x: Any, y: Any, z: Any, n: Any) -> Any:
    return lax.scan(lambda c, a: ((c[0] * a, c[1]), c[1] * 2), (x, z), jnp.stack([y, y]))


def branched(x: Any, y: Any, z: Any, n: Any) -> Any:
    """The first result is the same of all branches."""
    return lax.cond(n > 1, lambda a, b, c: (a, b), lambda a, b, c: (a, c), x, y, z)


def nested(x: Any, y: Any, z: Any, n: Any) -> Any:
    @jax.jit
    def inner(a: Any, b: Any) -> Any:
        def body(c: Any, t: Any) -> Any:
            return c * t, lax.cond(t > 1, lambda: c, lambda: b)

        return lax.scan(body, a, jnp.stack([a, a])), b

    return inner(x, y), inner(z, y)


# -- rules, calls, and equations of several results


@jax.custom_jvp
def _forward(x: Any, y: Any) -> Any:
    return x * 2.0, y + 1.0


_forward.defjvp(lambda primals, tangents: (_forward(*primals), tangents))


@jax.custom_vjp
def _back(x: Any, y: Any) -> Any:
    return x * 2.0, y + 1.0


_back.defvjp(lambda x, y: (_back(x, y), None), lambda _, cotangents: cotangents)


def ruled(x: Any, y: Any, z: Any, n: Any) -> Any:
    return _forward(x, y), _back(y, z)


def recomputed(x: Any, y: Any, z: Any, n: Any) -> Any:
    kept = jax.checkpoint(lambda a, b: (jnp.sin(a) * b, b))
    return kept(x, y), jax.grad(lambda a: kept(a, z)[0])(x)


def solved(x: Any, y: Any, z: Any, n: Any) -> Any:
    return lax.custom_linear_solve(lambda v: x * v, y, lambda _, b: b / x), z


def linear(x: Any, y: Any, z: Any, n: Any) -> Any:
    return custom_derivatives.linear_call(lambda r, a: a * r, lambda r, a: a * r, x, y)


def several(x: Any, y: Any, z: Any, n: Any) -> Any:
    return lax.optimization_barrier((x, y)), jnp.zeros(3).at[1].set(z), 3.0, z


def ordered(x: Any, y: Any, z: Any, n: Any) -> Any:
    """What is carried along depends on the keys, and on itself."""
    return lax.sort((jnp.stack([x, y]), jnp.stack([z, n])), num_keys=1)


# -- references


def stored(x: Any, y: Any, z: Any, n: Any) -> Any:
    ref = new_ref(z)

    @jax.jit
    def swap(ref: Any, new: Any) -> Any:
        old, ref[...] = ref[...], new
        return old

    return swap(ref, x), y * n


def carried_by_a_reference(x: Any, y: Any, z: Any, n: Any) -> Any:
    ref = new_ref(z)

    def body(c: Any, a: Any) -> Any:
        ref[...] = ref[...] + c * a
        return c + 1, None

    return lax.scan(body, x, jnp.stack([y, y]))[0], ref[...]


def written_in_a_branch(x: Any, y: Any, z: Any, n: Any) -> Any:
    """A constant is stored: what remains depends on the condition all the same."""
    ref = new_ref(z)
    lax.cond(x > 0, lambda: ref.__setitem__(..., 1.0), lambda: None)
    return ref[...]


def written_inside_a_branch(x: Any, y: Any, z: Any, n: Any) -> Any:
    ref = new_ref(z)
    write = jax.jit(lambda ref: ref.__setitem__(..., 2.0))
    lax.cond(x > 1, lambda: write(ref), lambda: None)
    return ref[...]


def read_in_a_branch(x: Any, y: Any, z: Any, n: Any) -> Any:
    ref = new_ref(z)
    return lax.cond(x > 1, lambda: ref[...], lambda: y), ref[...]


def written_in_a_loop(x: Any, y: Any, z: Any, n: Any) -> Any:
    ref = new_ref(z)

    def body(c: Any) -> Any:
        ref[...] = 7.0
        return c + 1

    return lax.while_loop(lambda c: c < n, body, x), ref[...], y


EXACT = [
    turned, counted, replaced, scanned, branched, nested, ruled, recomputed, solved, linear,
    several, ordered, stored, carried_by_a_reference, written_in_a_branch, written_inside_a_branch,
    read_in_a_branch, written_in_a_loop,
]  # fmt: skip


# -- those of which more is said than a run shows


def rotated(x: Any, y: Any, z: Any, n: Any) -> Any:
    """After three turns all are where they were; turns are not counted."""
    return lax.scan(lambda c, _: ((c[1], c[2], c[0]), None), (x, y, z), None, length=3)[0]


def overwritten(x: Any, y: Any, z: Any, n: Any) -> Any:
    """A store may leave elements as they were, so what was there still counts."""
    ref = new_ref(z)
    ref[...] = x
    return ref[...]


def alike(x: Any, y: Any, z: Any, n: Any) -> Any:
    return lax.cond(n > 1, lambda a: a * 1.0, lambda a: a * 1.0, x)


LOOSE = [rotated, overwritten, alike]


def changes(function: Callable[..., Any]) -> np.ndarray:
    """For each result whether it changes with each argument."""

    def results(arguments: Any) -> list[np.ndarray]:
        return [np.asarray(leaf) for leaf in jax.tree.leaves(run(*map(jnp.float32, arguments)))]

    run = jax.jit(function)
    seen = np.zeros((len(results(AT[0])), len(NAMES)), bool)
    for start in AT:
        before = results(start)
        for argument in range(len(NAMES)):
            for value in OTHERS:
                moved = start.copy()
                moved[argument] = value
                pairs = zip(before, results(moved), strict=True)
                seen[:, argument] |= [not np.array_equal(*pair, equal_nan=True) for pair in pairs]
    return seen


def dependent(function: Callable[..., Any]) -> np.ndarray:
    """For each result whether the language says that it depends on each argument."""
    program = block("f", function, [jnp.float32(value) for value in AT[0]], "x y z n")
    assert program.printed is not None and program.printed.program is not None
    scope = Scope({"f": program})
    asked = [
        [evaluate(f"depends(f.outputs[{n}], f.inputs[{name}])", scope).value for name in NAMES]
        for n in range(len(program.printed.program.outputs))
    ]
    return np.array(asked)


@pytest.mark.parametrize("function", EXACT)
def test_what_changes_depends(function: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(dependent(function), changes(function))


@pytest.mark.parametrize("function", LOOSE)
def test_more_may_depend_and_never_less(function: Callable[..., Any]) -> None:
    said, seen = dependent(function), changes(function)
    assert not (seen & ~said).any()
    assert (said & ~seen).any()


# -- what is kept, by the transforms of the product


def kernel(x: Any, y: Any) -> Any:
    return jnp.sin(x) * y


CLOSED_OVER = np.arange(8, dtype=np.float32)


def closed(x: Any, y: Any) -> Any:
    return x * CLOSED_OVER * jnp.sin(y)


def doubled(x: Any, y: Any) -> Any:
    return x * 2 + y


def looped(x: Any, y: Any) -> Any:
    return lax.scan(lambda c, a: (jnp.sin(c) * a, c), x, jnp.ones((3, 8)) * y)[0]


def chosen(x: Any, y: Any) -> Any:
    return lax.cond(x.sum() > 0, jnp.sin, lambda x: x * y, x)


def until(x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 3, lambda _, c: jnp.sin(c) * y, x)


def called(x: Any, y: Any) -> Any:
    return jax.jit(jnp.sin)(x) * y


@jax.custom_vjp
def _sine(x: Any) -> Any:
    return jnp.sin(x)


_sine.defvjp(lambda x: (_sine(x), x), lambda x, cotangent: (cotangent * jnp.cos(x),))


def own_rule(x: Any, y: Any) -> Any:
    return _sine(x) * y


def inner_remat(x: Any, y: Any) -> Any:
    return jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))(x) * y


X, Y = ("input", "f32[8]"), ("input", "f32[8]")
MADE = ("equation", "f32[8]")
#: Of each function and transform what is kept: where it comes from, and its type.
KEPT: list[tuple[Callable[..., Any], str, list[tuple[str, str]]]] = [
    (kernel, "grad", [Y, MADE]),
    (kernel, "value_and_grad", [Y, MADE]),
    (kernel, "vjp", [Y, MADE]),
    (kernel, "jacrev", [Y, MADE]),
    (kernel, "hessian", [Y, MADE, ("equation", "f32[8,8]")]),
    (kernel, "jit | grad", [Y, MADE]),
    (kernel, "remat | grad", [X, Y]),
    (kernel, "remat(policy=everything_saveable) | grad", [Y, MADE]),
    (kernel, "grad | vmap(axis_size=4)", [Y, ("equation", "f32[4,8]")]),
    (kernel, "vmap(axis_size=4) | grad", [("equation", "f32[4,8]"), ("equation", "f32[1,8]")]),
    (kernel, "shard_map | grad", [MADE, ("equation", "f32[64]")]),
    (closed, "grad", [("constant", "f32[8]"), MADE]),
    (doubled, "grad", []),
    (looped, "grad", [("equation", "f32[3,8]")] * 2),
    (looped, "remat | grad", [X, Y]),
    (until, "grad", [Y, ("equation", "f32[3,8]")]),
    (called, "grad", [Y, MADE]),
    (own_rule, "grad", [X, Y]),
    (inner_remat, "grad", [X, Y]),
]


@pytest.mark.parametrize("function, transforms, kept", KEPT)
def test_what_the_backward_part_reads_is_kept(
    function: Callable[..., Any], transforms: str, kept: list[tuple[str, str]]
) -> None:
    traced = trace(function, "f32[8], f32[8]", transforms=f"{transforms} as g", name="f")
    asked = evaluate("[[v.origin, v.type] for v in f.g.residuals]", Scope.of(traced)).value
    assert [tuple(pair) for pair in asked] == kept


def test_the_branch_that_was_taken_is_kept() -> None:
    """What else is kept of it depends on the JAX."""
    traced = trace(chosen, "f32[8], f32[8]", transforms="grad", name="f")
    asked = evaluate("[[v.origin, v.type] for v in f.grad.residuals]", Scope.of(traced)).value
    assert ("equation", "i32[]") in [tuple(pair) for pair in asked]
