"""What the oracle makes of a function: JAX's own transforms, by the rules of the reference.

Nothing of the product is imported.  A chain such as ``jvp | vmap`` becomes a function, the
types of its arguments, and the places of the arguments that are tangents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

SINGLE = (
    "jit grad value_and_grad vmap jvp vjp linearize jacfwd jacrev hessian remat scan shard_map"
).split()
CHAINS = [
    "jvp | vmap",
    "jvp | jit",
    "jvp | remat",
    "grad | jit",
    "grad | vmap",
    "vmap | grad",
    "remat | grad",
    "remat | vmap",
    "linearize | vmap",
    "vmap | jvp",
    "jit | grad",
    "jvp | grad",
]


@dataclass(frozen=True)
class Made:
    """A function of positional arguments; ``tangents`` are places of its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    names: tuple[str, ...]
    tangents: frozenset[int] = frozenset()
    cotangents: frozenset[int] = frozenset()
    #: If a transform makes cotangents in the program, how many ``jvp`` are around the function.
    seeded: int = 0
    #: The same function of one more argument, the basis that it makes for its tangents.
    based: tuple[Any, Any] | None = None


def leaf_names(names: tuple[str, ...], arguments: tuple[Any, ...]) -> tuple[tuple[str, str], ...]:
    """The argument and JAX's own name of each input of a program."""
    found = []
    for name, argument in zip(names, arguments, strict=True):
        for path, _ in jax.tree_util.tree_flatten_with_path(argument)[0]:
            found.append((name, name + jax.tree_util.keystr(path)))
    return tuple(found)


def tangent_places(made: Made) -> list[int]:
    """The flattened inputs that are tangents."""
    return places_of(made, made.tangents)


def places_of(made: Made, positions: frozenset[int]) -> list[int]:
    """The flattened inputs of some arguments."""
    found, place = [], 0
    for position, argument in enumerate(made.arguments):
        count = len(jax.tree.leaves(argument))
        if position in positions:
            found += range(place, place + count)
        place += count
    return found


def label(chain: str) -> str:
    """The name of a variant: ``jvp_vmap``."""
    return "_".join(part.strip() for part in chain.split("|"))


def apply(made: Made, chain: str) -> Made:
    """Apply a chain, from the left to the right."""
    for name in (part.strip() for part in chain.split("|")):
        made = TRANSFORMS[name](made)
    return made


def _leaves_with_axis(tree: Any, size: int) -> Any:
    def grow(leaf: Any) -> Any:
        weak = bool(getattr(leaf, "weak_type", False))
        return jax.ShapeDtypeStruct((size, *leaf.shape), leaf.dtype, weak_type=weak)

    return jax.tree.map(grow, tree)


def _out(made: Made) -> Any:
    return jax.eval_shape(made.function, *made.arguments)


def _summed(made: Made) -> Callable[..., Any]:
    """The function, its result summed where that is no scalar."""
    out, function = _out(made), made.function
    if isinstance(out, jax.ShapeDtypeStruct) and out.shape == ():
        return function
    # The name of these functions is printed where they are jitted.
    if isinstance(out, jax.ShapeDtypeStruct):
        return lambda *values: function(*values).sum()
    return lambda *values: sum(leaf.sum() for leaf in jax.tree.leaves(function(*values)))


def _kept(made: Made, function: Callable[..., Any]) -> Made:
    return replace(made, function=function, based=None)


def _gradient(transform: Callable[..., Any]) -> Callable[[Made], Made]:
    return lambda made: replace(_kept(made, transform(_summed(made))), seeded=1)


def _forward_jacobian(transform: Callable[..., Any]) -> Callable[[Made], Made]:
    """``jacfwd`` and ``hessian``, and the same with its basis as an argument."""

    def apply(made: Made) -> Made:
        if transform is jax.hessian:
            summed = _summed(made)
            found = replace(_kept(made, jax.hessian(summed)), seeded=2)
            inner = jax.jacrev(summed)
        else:
            found, inner = _kept(made, jax.jacfwd(made.function)), made.function
        first = made.arguments[0] if made.arguments else None
        if not isinstance(first, jax.ShapeDtypeStruct):
            return replace(found, based=(None, None))
        size = int(np.prod(first.shape))
        basis = jax.ShapeDtypeStruct((size, *first.shape), first.dtype)

        def based(rows: Any, *values: Any) -> Any:
            def push(row: Any) -> Any:
                return jax.jvp(lambda x: inner(x, *values[1:]), (values[0],), (row,))

            return jax.vmap(push, out_axes=(None, -1))(rows)

        return replace(found, based=(based, basis))

    return apply


def _tangent(leaf: Any) -> Any:
    if jnp.issubdtype(leaf.dtype, jnp.inexact):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.float0)


def _first(made: Made, values: tuple[Any, ...]) -> Callable[..., Any]:
    rest = values[1 : len(made.arguments)]
    return lambda x: made.function(x, *rest)


def _jvp(made: Made) -> Made:
    count = len(made.arguments)

    def run(*values: Any) -> Any:
        return jax.jvp(_first(made, values), values[:1], values[count:])

    return _pushed(made, run)


def _linearize(made: Made) -> Made:
    count = len(made.arguments)

    def run(*values: Any) -> Any:
        return jax.linearize(_first(made, values), values[0])[1](*values[count:])

    return _pushed(made, run)


def _pushed(made: Made, run: Callable[..., Any]) -> Made:
    count = len(made.arguments)
    run.__name__ = "<lambda>"
    more = jax.tree.map(_tangent, made.arguments[0])
    names = (*made.names, f"{made.names[0]}_dot")
    tangents = made.tangents | {count}
    arguments = (*made.arguments, more)
    return replace(
        made, function=run, arguments=arguments, names=names, tangents=tangents, based=None
    )


def _vjp(made: Made) -> Made:
    def run(*values: Any) -> Any:
        return jax.vjp(_first(made, values), values[0])[1](values[-1])

    run.__name__ = "<lambda>"
    more = jax.tree.map(_tangent, _out(made))
    arguments, names = (*made.arguments, more), (*made.names, "ct")
    cotangents = made.cotangents | {len(made.arguments)}
    return replace(
        made, function=run, arguments=arguments, names=names, cotangents=cotangents, based=None
    )


def _vmap(made: Made) -> Made:
    axes = (0, *[None] * (len(made.arguments) - 1))
    function = jax.vmap(made.function, in_axes=axes, axis_size=8)
    arguments = (_leaves_with_axis(made.arguments[0], 8), *made.arguments[1:])
    return replace(made, function=function, arguments=arguments, based=None)


def _scan(made: Made) -> Made:
    """The first argument is the carry, the second one is stacked four times."""
    out, wanted = _out(made), made.arguments[0]

    def types(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: (leaf.shape, str(leaf.dtype)), tree)

    pair = types(out) != types(wanted)
    if pair and not (isinstance(out, tuple) and types(out[0]) == types(wanted)):
        raise ValueError("returns neither the carry nor a pair")
    arguments = list(made.arguments)
    if len(arguments) > 1:
        arguments[1] = _leaves_with_axis(arguments[1], 4)

    def run(*values: Any) -> Any:
        def body(state: Any, item: Any) -> Any:
            given = (state, *([item] if len(values) > 1 else []), *values[2:])
            result = made.function(*given)
            return result if pair else (result, None)

        xs = values[1] if len(values) > 1 else None
        found = jax.lax.scan(body, values[0], xs, length=4)
        return found if pair else found[0]

    run.__name__ = "<lambda>"
    return replace(made, function=run, arguments=tuple(arguments), based=None)


def _shard_map(made: Made) -> Made:
    """The first axis of the first argument over eight devices; results alike where they fit."""
    first = [leaf.shape[0] if leaf.shape else 0 for leaf in jax.tree.leaves(made.arguments[0])]
    if not first or not all(size and size % 8 == 0 for size in first):
        raise ValueError("8 does not divide the first axis")
    spec = jax.sharding.PartitionSpec
    results = [leaf.shape[0] if leaf.shape else 0 for leaf in jax.tree.leaves(_out(made))]
    alike = len(set(first)) == 1 and set(results) == set(first)
    axis = jax.sharding.AxisType.Auto
    mesh = jax.sharding.AbstractMesh((8,), ("data",), axis_types=(axis,))
    into = (spec("data"), *[spec()] * (len(made.arguments) - 1))
    out = spec("data") if alike else spec()
    return _kept(made, jax.shard_map(made.function, mesh=mesh, in_specs=into, out_specs=out))


TRANSFORMS: dict[str, Callable[[Made], Made]] = {
    "jit": lambda made: _kept(made, jax.jit(made.function)),
    "remat": lambda made: _kept(made, jax.checkpoint(made.function)),
    "grad": _gradient(jax.grad),
    "value_and_grad": _gradient(jax.value_and_grad),
    "hessian": _forward_jacobian(jax.hessian),
    "jacfwd": _forward_jacobian(jax.jacfwd),
    "jacrev": lambda made: replace(_kept(made, jax.jacrev(made.function)), seeded=1),
    "jvp": _jvp,
    "linearize": _linearize,
    "vjp": _vjp,
    "vmap": _vmap,
    "scan": _scan,
    "shard_map": _shard_map,
}
