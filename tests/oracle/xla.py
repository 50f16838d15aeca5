"""Operations of generated contractions and convolutions, beside XLA's own analysis."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .adapter import NAME, Product
from .report import Report

_Made = tuple[Callable[..., Any], list[Any], str]


def analysed(function: Callable[..., Any], arguments: list[Any]) -> float:
    """What XLA counts before it optimises: operations, and transcendental functions apart."""
    found: Any = jax.jit(function).lower(*arguments).cost_analysis()
    counts = found[0] if isinstance(found, list) else found or {}
    return float(counts.get("flops", 0) + counts.get("transcendentals", 0))


def contraction(dice: random.Random) -> _Made:
    """A ``dot_general`` of any axes."""
    counts = {sort: dice.randrange(3) for sort in "bclr"}
    sizes = {(sort, n): dice.randrange(1, 5) for sort in counts for n in range(counts[sort])}
    left, right = ([axis for axis in sizes if axis[0] in sorts] for sorts in ("bcl", "bcr"))
    dice.shuffle(left)
    dice.shuffle(right)
    numbers = tuple(
        tuple([side.index(axis) for axis in sizes if axis[0] == sort] for side in (left, right))
        for sort in "cb"
    )
    kind = dice.choice([jnp.float32, jnp.bfloat16, jnp.int32])
    shapes = [tuple(sizes[axis] for axis in side) for side in (left, right)]
    arguments = [jax.ShapeDtypeStruct(shape, kind) for shape in shapes]
    return lambda x, y: lax.dot_general(x, y, numbers), arguments, "dot_general"


def convolution(dice: random.Random) -> _Made:
    """A ``conv_general_dilated`` with padding, strides, dilations and groups."""
    rank, groups = dice.randrange(1, 4), dice.choice([1, 1, 2, 3])
    of_batch = 1 if groups > 1 else dice.choice([1, 1, 2])
    features = dice.randrange(1, 4)
    image = (of_batch * dice.randrange(1, 4), groups * features)
    image += tuple(dice.randrange(1, 10) for _ in range(rank))
    kernel = (groups * of_batch * dice.randrange(1, 4), features)
    kernel += tuple(dice.randrange(1, 6) for _ in range(rank))
    options = {
        "window_strides": [dice.randrange(1, 5) for _ in range(rank)],
        "padding": [(dice.randrange(-1, 5), dice.randrange(-1, 5)) for _ in range(rank)],
        "lhs_dilation": [dice.choice([1, 1, 2, 3, 4]) for _ in range(rank)],
        "rhs_dilation": [dice.choice([1, 1, 2, 3]) for _ in range(rank)],
    }
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in (image, kernel)]

    def convolved(x: Any, y: Any) -> Any:
        return lax.conv_general_dilated(
            x, y, feature_group_count=groups, batch_group_count=of_batch, **options
        )

    return convolved, arguments, "conv_general_dilated"


def _of_two(names: str) -> Iterator[tuple[str, Callable[[Any, Any], Any]]]:
    return ((name, getattr(lax, name)) for name in names.split())


def _of_one(names: str) -> Iterator[tuple[str, Callable[[Any, Any], Any]]]:
    def of_first(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda x, y: function(x)

    return ((name, of_first(getattr(lax, name))) for name in names.split())


#: What XLA counts as one operation for each element, reductions, and moves of data.
PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    **dict(_of_two("add sub mul div max min rem atan2 pow lt eq")),
    **dict(_of_one("abs neg sign floor ceil exp log tanh sin cos tan sqrt rsqrt cbrt expm1 log1p")),
    **dict(_of_one("erf square is_finite")),
    "cast": lambda x, y: x.astype(jnp.bfloat16),
    "reduce_precision": lambda x, y: lax.reduce_precision(x, 5, 4),
    "clamp": lambda x, y: lax.clamp(x, y, x),
    "select": lambda x, y: lax.select_n(lax.lt(x, y), x, y),
    "sum": lambda x, y: x.sum(1),
    "max of an axis": lambda x, y: x.max(0),
    "prod": lambda x, y: x.prod(),
    "windows": lambda x, y: lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (1, 2), "VALID"),
    "transpose": lambda x, y: x.T,
    "rev": lambda x, y: lax.rev(x, (0,)),
    "pad": lambda x, y: lax.pad(x, jnp.float32(0), [(1, 2, 0), (0, 0, 1)]),
}


def plain(name: str) -> _Made:
    """A program of one or two primitives, by a name in :data:`PLAIN`."""
    return PLAIN[name], [jax.ShapeDtypeStruct((5, 7), jnp.float32)] * 2, ""


def check(report: Report, count: int, seed: int = 0) -> None:
    """Compare ``count`` contractions and as many convolutions, and each plain primitive."""
    made = [plain(name) for name in PLAIN]
    names = [*PLAIN, *["dot_general"] * count, *["convolution"] * count]
    dice = random.Random(seed)
    made += [contraction(dice) for _ in range(count)]
    while len(made) < len(PLAIN) + 2 * count:
        drawn = convolution(dice)
        try:
            jax.eval_shape(drawn[0], *drawn[1])
        except ValueError:  # the kernel is larger than what it slides over
            continue
        made.append(drawn)
    for name, (function, arguments, primitive) in zip(names, made, strict=True):
        where = f"{NAME}.all[{primitive}].flops" if primitive else f"{NAME}.flops"
        product = Product(function, arguments, "").ask(where)
        told = f"{name} of {arguments}"
        report.check("as XLA", told, product, analysed(function, arguments))
