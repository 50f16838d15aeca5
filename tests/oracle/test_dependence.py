"""``depends`` against what changing an argument does to a result, and residuals by hand.

Each function lists which results depend on which arguments; that what does not depend
never changes is tried with numbers, so neither side alone decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sphinx_jaxpr import testing
from sphinx_jaxpr.program import evaluate
from sphinx_jaxpr.program.query.syntax import PathError
from tests.oracle.adapter import Product

VECTOR = jax.ShapeDtypeStruct((4,), jnp.float32)


def straight(x: Any, y: Any, z: Any) -> Any:
    return jnp.sin(x) * y, z + 1.0


def jitted(x: Any, y: Any, z: Any) -> Any:
    return jax.jit(lambda a, b, c: (a * 2.0, b + c))(x, y, z)


def scanned(x: Any, y: Any, z: Any) -> Any:
    def body(carry: Any, row: Any) -> Any:
        first, second, kept = carry
        return (first + 1.0, first * second, kept), row * kept

    (first, second, kept), rows = jax.lax.scan(body, (x, y, z), jnp.ones((3, 4)))
    return first, second, kept, rows


def handed_on(x: Any, y: Any, z: Any) -> Any:
    """What turns hand on takes as many turns as there are carries."""

    def body(_: Any, carry: Any) -> Any:
        first, second, third = carry
        return first, first + second, second + third

    return jax.lax.fori_loop(0, 5, body, (x, y, z))


def while_small(x: Any, y: Any, z: Any) -> Any:
    """The condition decides how often the body runs, so all that changes depends on it."""

    def body(carry: Any) -> Any:
        count, total, kept = carry
        return count + 1.0, total * 2.0, kept

    return jax.lax.while_loop(lambda carry: carry[0].sum() < 3.0, body, (x, y, z))


def while_closed(x: Any, y: Any, z: Any) -> Any:
    """A constant of the condition, and one of the body."""
    return jax.lax.while_loop(
        lambda carry: carry[0].sum() < jnp.sum(y),
        lambda carry: (carry[0] + 1.0, carry[1] + z),
        (x, x * 0.5),
    )


def chosen(x: Any, y: Any, z: Any) -> Any:
    return jax.lax.cond(
        x.sum() > 0.0, lambda a, b: (a, b, b * 2.0), lambda a, b: (a + 1.0, b, a), y, z
    )


def sorted_by(x: Any, y: Any, z: Any) -> Any:
    return jax.lax.sort((x, y), num_keys=1), z


@jax.custom_jvp
def cubed(x: Any, y: Any) -> Any:
    return x**3, y


@cubed.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    return cubed(x, y), (3 * x**2 * dx, dy)


def custom(x: Any, y: Any, z: Any) -> Any:
    first, second = cubed(x, y)
    return first, second + z


def in_remat(x: Any, y: Any, z: Any) -> Any:
    return jax.checkpoint(lambda a, b: (jnp.sin(a), b))(x, y), z


def nested(x: Any, y: Any, z: Any) -> Any:
    def body(carry: Any, _: Any) -> Any:
        first, second = carry
        return jax.lax.cond(
            z.sum() > 0, lambda a, b: (a + b, b), lambda a, b: (a, b), first, second
        ), None

    return jax.lax.scan(body, (x, y), None, length=2)[0]


def unused(x: Any, y: Any, z: Any) -> Any:
    return jnp.zeros(4) + 1.0, x


#: For each result the arguments that it depends on.
CASES: list[tuple[Callable[..., Any], list[str]]] = [
    (straight, ["xy", "z"]),
    (jitted, ["x", "yz"]),
    (scanned, ["x", "xy", "z", "z"]),
    (handed_on, ["x", "xy", "xyz"]),
    (while_small, ["x", "xy", "z"]),
    (while_closed, ["xy", "xyz"]),
    (chosen, ["xy", "z", "xyz"]),
    (sorted_by, ["x", "xy", "z"]),
    (custom, ["x", "yz"]),
    (in_remat, ["x", "y", "z"]),
    (nested, ["xyz", "y"]),
    (unused, ["", "x"]),
]


def changes(function: Callable[..., Any]) -> list[set[str]]:
    """For each result the arguments of which another value was seen to change it."""
    random = np.random.default_rng(0)
    run = jax.jit(lambda *values: jax.tree.leaves(function(*values)))
    seen: list[set[str]] = []
    for _ in range(12):
        values = [jnp.asarray(random.normal(size=4), jnp.float32) for _ in "xyz"]
        before = run(*values)
        seen = seen or [set() for _ in before]
        for place, name in enumerate("xyz"):
            other = jnp.asarray(random.normal(size=4), jnp.float32)
            after = run(*[other if n == place else v for n, v in enumerate(values)])
            for names, old, new in zip(seen, before, after, strict=True):
                if not np.array_equal(old, new):
                    names.add(name)
    return seen


@pytest.mark.parametrize(("function", "due"), CASES, ids=lambda each: getattr(each, "__name__", ""))
def test_what_does_not_depend_never_changes(function: Callable[..., Any], due: list[str]) -> None:
    product = Product(function, [VECTOR] * 3, "")
    said = [
        {name for name in "xyz" if product.ask(f"depends(f.outputs[{n}], f.inputs[{name}])")}
        for n in range(len(due))
    ]
    assert said == [set(names) for names in due]
    assert all(seen <= names for seen, names in zip(changes(function), said, strict=True))


def test_a_store_to_a_reference_is_followed() -> None:
    def stored(x: Any, y: Any) -> Any:
        ref = jax.new_ref(x)
        before = ref[...]
        ref[...] = y
        return before, ref[...]

    ask = Product(stored, [VECTOR] * 2, "").ask
    assert not ask("depends(f.outputs[0], f.inputs[y])")
    assert ask("depends(f.outputs[1], f.inputs[y])")


def test_direct_reads_and_what_is_between() -> None:
    def chain(x: Any, y: Any) -> Any:
        return jnp.exp(jnp.cos(jnp.sin(x))) + y

    ask = Product(chain, [VECTOR] * 2, "").ask
    assert ask("reads(f[cos], f[sin])") and ask("reads(f[sin], f.inputs[x])")
    assert not ask("reads(f[exp], f[sin])") and ask("depends(f[exp], f[sin])")
    assert not ask("depends(f[exp], f.inputs[y])") and ask("depends(f[add], f.inputs[y])")
    assert not ask("depends(f[sin], f[exp])") and not ask("depends(f[sin], f[sin])")
    assert ask("depends(f[sin].outputs[0], f[sin])")


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("reads(f.inputs[x], f[sin])", "takes an equation first"),
        ("depends(f[sin], f.jit[jit])", "are in different blocks"),
        ("depends(f.jit[jit], f.jit[jit].jaxpr[sin])", "are in different programs"),
        ("depends(f[sin], f.inputs)", "is 2 values: choose one, as in `f.inputs[0]`"),
        ("depends(f[mul], f[mul].inputs[1].dtype)", "takes equations or values"),
        ("reads(f[sin])", "reads"),
        ("reads(f[sin], f[mul], shapes=False)", "takes no named arguments"),
        ("same(f, f, shape=False)", "did you mean `shapes`?"),
        ("same(f, f, shapes=0)", "is `True` or `False`"),
        ("f.residuals", "has no phases"),
        ("f.jvp.residuals", "has no backward part"),
        ("f.grad_jit.residuals", "`f.grad_jit[jit].jaxpr.residuals`"),
    ],
)
def test_what_has_no_answer_says_why(expression: str, says: str) -> None:
    def wave(x: Any, y: Any) -> Any:
        return jnp.sin(x) * y

    product = Product(wave, [VECTOR] * 2, "jit, jvp, grad, grad | jit")
    with pytest.raises(PathError) as caught:
        product.ask(expression)
    assert says in caught.value.message


def test_equal_but_for_shapes() -> None:
    def layer(x: Any, w: Any) -> Any:
        return jnp.tanh(x @ w).sum()

    def other(x: Any, w: Any) -> Any:
        return jnp.sin(x @ w).sum()

    def swapped(x: Any, w: Any) -> Any:
        return jnp.tanh(w @ x).sum()

    def wide(*sizes: int) -> list[Any]:
        return [jax.ShapeDtypeStruct(sizes, jnp.float32)] * 2

    programs = {
        "f": testing.trace(layer, *wide(4, 4), name="f")["f"],
        "large": testing.trace(layer, *wide(8, 8), name="large")["large"],
        "half": testing.trace(
            layer, *[jax.ShapeDtypeStruct((4, 4), jnp.bfloat16)] * 2, name="half"
        )["half"],
        "sine": testing.trace(other, *wide(8, 8), name="sine")["sine"],
        "swapped": testing.trace(swapped, *wide(8, 8), name="swapped")["swapped"],
    }

    verdicts = {
        name: evaluate(f"same(f, {name}, shapes=False)", programs).value for name in programs
    }
    assert verdicts == {"f": True, "large": True, "half": False, "sine": False, "swapped": False}
    assert not evaluate("same(f, large)", programs).value


BYTES = 4 * 4  # of a vector


@pytest.mark.parametrize(
    ("function", "chain", "count", "size"),
    [
        (lambda x, y: jnp.sum(x * y), "grad(argnums=(x, y))", 2, 2 * BYTES),  # x and y
        (lambda x, y: jnp.sum(x * y), "grad", 1, BYTES),  # y alone
        (lambda x, y: jnp.sum(jnp.exp(x) + y), "grad", 1, BYTES),  # the exponential
        (lambda x, y: jnp.sum(x + y), "grad", 0, 0),
        (lambda x, y: x * y, "vjp", 1, BYTES),  # not the cotangent
        # The program of remat reads its inputs, the others are computed again.
        (lambda x, y: jnp.sum(jnp.sin(jnp.sin(x)) * y), "remat | grad", 2, 2 * BYTES),
        (
            lambda x, y: jnp.sum(x * y),
            "grad | vmap(in_axes={x: 0, y: None}, axis_size=3)",
            1,
            BYTES,
        ),
    ],
)
def test_what_is_kept(function: Callable[..., Any], chain: str, count: int, size: int) -> None:
    product = Product(function, [VECTOR] * 2, f"{chain} as it")
    assert product.ask("len(f.it.residuals)") == count
    assert product.ask("sum(v.bytes for v in f.it.residuals)") == size


def test_a_loop_keeps_what_it_stacks() -> None:
    def loop(x: Any, y: Any) -> Any:
        return jnp.sum(jax.lax.scan(lambda c, row: (jnp.sin(c) * row, None), x, y)[0])

    rows = jax.ShapeDtypeStruct((5, 4), jnp.float32)
    ask = Product(loop, [VECTOR, rows], "grad").ask
    assert ask("f.grad[scan][0].ys[0] in f.grad.residuals")
    assert all(shape == (5, 4) for shape in ask("[v.shape for v in f.grad.residuals]"))


def test_a_result_has_the_name_that_jax_gives_its_leaf() -> None:
    def loss(p: Any) -> Any:
        return jnp.sum(p["w"] * p["b"])

    ask = Product(loss, [{"w": VECTOR, "b": jax.ShapeDtypeStruct((), jnp.float32)}], "grad").ask
    assert ask("f.grad.outputs[\"result['w']\"].shape == f.inputs[\"p['w']\"].shape")
    assert ask("f.grad.outputs[\"result['b']\"].shape == ()")
