"""The built-in transforms: their names, their options, and what each does.

The check of what a page writes and the reference page follow this one table; a new transform
starts here.  Its function is entered in ``worker/transforms/table.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Transform:
    """``options`` maps each option to its default, in words; ``rule`` says what it does."""

    options: Mapping[str, str]
    rule: str


_ARGNUMS: Final = {"argnums": "first argument"}
_SUMMED: Final = {**_ARGNUMS, "sum": "True"}

#: The built-in transforms by name: what a page may write, what the worker has a function
#: for, and what the reference lists.
TRANSFORMS: Final[Mapping[str, Transform]] = {
    "jit": Transform({}, "`jax.jit`: the program becomes one equation around a nested one."),
    "grad": Transform(
        _SUMMED,
        "`jax.grad`. A result that is not a scalar is summed first, and the call in the header"
        " says so; with `sum=False` JAX's own error comes through.",
    ),
    "value_and_grad": Transform(_SUMMED, "`jax.value_and_grad`, with the same sum."),
    "hessian": Transform(_SUMMED, "`jax.hessian`, with the same sum."),
    "jvp": Transform(
        _ARGNUMS, "`jax.jvp`: a tangent for each argument of `argnums` becomes an argument."
    ),
    "vjp": Transform(_ARGNUMS, "`jax.vjp`: the cotangent of the result becomes the last argument."),
    "linearize": Transform(
        _ARGNUMS,
        "`jax.linearize`, its linear function applied to tangents that become arguments.",
    ),
    "jacfwd": Transform(_ARGNUMS, "`jax.jacfwd`."),
    "jacrev": Transform(_ARGNUMS, "`jax.jacrev`."),
    "vmap": Transform(
        {
            "in_axes": "first argument, axis 0",
            "out_axes": "0",
            "axis_size": "8",
            "axis_name": "None",
        },
        "`jax.vmap`. The types of mapped arguments gain the axis. `in_axes` is an argument's"
        " name (its axis 0), a dict such as `{x: 0, w: None}`, or one axis for each argument.",
    ),
    "scan": Transform(
        {
            "over": "second argument",
            "length": "4",
            "carry": "first argument",
            "reverse": "False",
            "unroll": "1",
        },
        "`jax.lax.scan`. The argument `over` (or several, as a tuple) is stacked `length`"
        " times; all others but the carry stay as they are. The function returns the carry's"
        " type, or a pair of that and an output for each step.",
    ),
    "checkpoint": Transform(
        {"policy": "None"},
        "`jax.checkpoint`. `policy` is a name of `jax.checkpoint_policies`, with strings"
        ' where it takes some: `policy=save_only_these_names("a")`.',
    ),
    "remat": Transform({"policy": "None"}, "The same under its other name, `jax.remat`."),
    "shard_map": Transform(
        {
            "mesh": '{"data": 8}',
            "in_specs": "first argument by its first axis",
            "out_specs": "like the first split argument",
        },
        "`jax.shard_map` over an abstract mesh, so no devices are needed."
        ' `in_specs={x: ("data", None)}` splits `x` by its first axis; arguments that are not'
        " named are on every device whole. The result is split like the first split argument"
        " if its leading size is the same, else it is whole.",
    ),
}
