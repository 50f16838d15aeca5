"""Loops and branches with all mixes of what they are given, under transforms.

Each is checked for its operands by what they are, and for its operations, which no fixed
function could try in all combinations.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .corpus import trace
from .facts import Aligned, Facts
from .functions import Case
from .report import Report

V = jax.ShapeDtypeStruct((4,), jnp.float32)
ROWS = jax.ShapeDtypeStruct((3, 4), jnp.float32)
CHAINS = "jit, grad, vmap, jvp, checkpoint, checkpoint | grad, grad | vmap, vmap | grad".split(", ")


def _mixed(parts: Any) -> Any:
    """A number made of all values of a tree."""
    return sum((jnp.sin(leaf).sum() for leaf in jax.tree.leaves(parts)), jnp.float32(0.5))


def _tree(dice: random.Random, values: list[Any]) -> Any:
    """Some of the values, in a tree."""
    chosen = dice.choices(values, k=dice.randrange(3))
    return dice.choice([tuple(chosen), list(chosen), dict(zip("ab", chosen, strict=False))])


def _scan(dice: random.Random, x: Any, y: Any, rows: Any) -> Any:
    closed, carry = _tree(dice, [x, y]), _tree(dice, [x, x * y, y])
    xs, with_results = _tree(dice, [rows, rows * 2.0]), dice.random() < 0.6

    def body(carry: Any, row: Any) -> Any:
        mixed = _mixed((closed, row))
        ys = (mixed, carry) if with_results else None
        return jax.tree.map(lambda leaf: leaf * mixed, carry), ys

    found = lax.scan(body, carry, xs, length=3, reverse=dice.random() < 0.3)
    return _mixed(found)


def _while(dice: random.Random, x: Any, y: Any, rows: Any) -> Any:
    of_cond, of_body = _tree(dice, [x, y, rows]), _tree(dice, [x, y])
    carry = (jnp.float32(0.0), _tree(dice, [x, y]))

    def body(carry: Any) -> Any:
        count, rest = carry
        mixed = _mixed(of_body)
        return count + 1.0, jax.tree.map(lambda leaf: leaf * mixed, rest)

    return _mixed(lax.while_loop(lambda c: c[0] < _mixed(of_cond), body, carry))


def _switch(dice: random.Random, x: Any, y: Any, rows: Any) -> Any:
    count, operands = dice.choice([2, 5]), _tree(dice, [x, y, rows])
    branches: list[Callable[[Any], Any]] = [
        lambda parts, n=n: _mixed(parts) * n + (jnp.cos(y).sum() if n % 2 else 0.0)
        for n in range(count)
    ]
    return lax.switch(jnp.int32(x.sum()), branches, operands)


def generated(seed: int) -> Case:
    """A function with loops and branches."""

    def looped(x, y, rows):  # type: ignore[no-untyped-def]  # its names are those of the inputs
        dice = random.Random(seed)
        found = dice.choice([_scan, _scan, _while, _switch])(dice, x, y, rows)
        if dice.random() < 0.4:
            found += jax.jit(lambda v: _scan(dice, v, y, rows))(x)
        return found

    return Case(f"looped{seed}", looped, (V, V, ROWS))


def check(report: Report, count: int, seed: int = 0) -> None:
    """Compare operands and operations of ``count`` functions."""
    for number in range(count):
        case = generated(1000 * seed + number)
        dice = random.Random(case.name)
        traced = trace(case, dice.sample(CHAINS, 2))
        for name in traced.blocks:
            aligned = Aligned(traced, name, report)
            for path, program in aligned.programs:
                Facts(aligned, path, program).costs()
