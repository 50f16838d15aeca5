"""Transforms that map and loop: ``vmap`` and ``scan``.  Imports JAX."""

from __future__ import annotations

from typing import Any

import jax

from ...tracing.grammar import Name
from ...tracing.result import ErrorKind
from ..avals import with_axis
from ..failures import RequestError
from ..stage import Options, Stage, flag, fresh, positive
from ..targets.arguments import describe, source_text


def _axes(stage: Stage, value: Any) -> tuple[Any, ...]:
    """``in_axes`` per argument: a name maps its axis 0, a dict gives the axes."""
    if isinstance(value, Name):
        value = {value.text: 0}
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * len(stage.args)
    if isinstance(value, dict):
        axes: list[Any] = [None] * len(stage.args)
        for key, axis in value.items():
            axes[stage.position(key, "in_axes")] = axis
        return tuple(axes)
    if isinstance(value, (tuple, list)) and value and all(isinstance(v, Name) for v in value):
        return _axes(stage, {name.text: 0 for name in value})
    if isinstance(value, (tuple, list)) and len(value) == len(stage.args):
        return tuple(value)
    raise RequestError(
        ErrorKind.OPTION,
        f"in_axes must be an argument's name, a dict or one axis for each of"
        f" {', '.join(stage.names)}; not {source_text(value)}",
    )


def _with_axis(arg: Any, axis: Any, size: int, name: str) -> Any:
    """``arg`` with an axis of ``size`` put in where it is mapped."""

    def grow(at: Any, leaf: Any) -> Any:
        if at is None:
            return leaf
        aval = leaf if hasattr(leaf, "shape") else jax.eval_shape(lambda: leaf)
        rank = len(aval.shape) + 1
        if not isinstance(at, int) or not -rank <= at < rank:
            raise RequestError(
                ErrorKind.OPTION,
                f"in_axes: {name} is {describe(leaf)}, which cannot gain axis {at!r}",
            )
        return with_axis(leaf, at % rank, size)

    def is_none(item: Any) -> bool:
        return item is None

    try:
        per_leaf = jax.tree.broadcast(axis, arg, is_leaf=is_none)
    except ValueError:
        raise RequestError(
            ErrorKind.OPTION, f"in_axes: {axis!r} does not fit {name}, which is {describe(arg)}"
        ) from None
    return jax.tree.map(grow, per_leaf, arg, is_leaf=is_none)


def vmap(stage: Stage, options: Options) -> Stage:
    """``jax.vmap``: specs of mapped arguments gain the axis."""
    stage.need("vmap")
    size = positive(options, "axis_size", 8)
    axes = _axes(stage, options.get("in_axes", {0: 0}))
    out_axes = options.get("out_axes", 0)
    axis_name = options.get("axis_name")
    if not isinstance(axis_name, (str, Name, type(None))):
        text = f'axis_name must be a name such as "i", not {axis_name!r}'
        raise RequestError(ErrorKind.OPTION, text)
    axis_name = axis_name.text if isinstance(axis_name, Name) else axis_name
    args = [
        _with_axis(arg, axis, size, name)
        for arg, axis, name in zip(stage.args, axes, stage.names, strict=True)
    ]
    arguments = f"in_axes={source_text(axes if len(axes) > 1 else axes[0])}"
    if out_axes != 0:
        arguments += f", out_axes={source_text(out_axes)}"
    arguments += f", axis_size={size}"
    more: Options = {}
    if axis_name is not None:
        arguments += f', axis_name="{axis_name}"'
        more["axis_name"] = axis_name
    fn = jax.vmap(
        stage.fn,
        in_axes=axes if len(axes) > 1 else axes[0],
        out_axes=out_axes,
        axis_size=size,
        **more,
    )
    return Stage.of(fn, args, stage.names, f"jax.vmap({stage.call}, {arguments})")


def _same_type(first: Any, second: Any) -> bool:
    """Whether two abstract values have the same tree, shapes and dtypes."""
    if jax.tree.structure(first) != jax.tree.structure(second):
        return False

    def plain(leaf: Any) -> Any:
        aval = leaf if hasattr(leaf, "shape") else jax.eval_shape(lambda: leaf)
        return (tuple(aval.shape), aval.dtype)

    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    return all(plain(a) == plain(b) for a, b in pairs)


def _scan_result(stage: Stage, carry: int) -> bool:
    """Whether the function returns a pair (carry, y); refuse anything but that or the carry."""
    wanted = stage.args[carry]
    if _same_type(stage.out, wanted):
        return False
    out = stage.out
    if isinstance(out, tuple) and len(out) == 2 and _same_type(out[0], wanted):
        return True
    raise RequestError(
        ErrorKind.OPTION,
        f"scan: the function returns {describe(out)}, but it must return the carry's type"
        f" ({stage.names[carry]}: {describe(wanted)}) or a pair of that and a y;"
        f" carry= names another argument",
    )


def scan(stage: Stage, options: Options) -> Stage:
    """``jax.lax.scan``: ``over`` is stacked ``length`` times, ``carry`` threads through."""
    stage.need("scan")
    length = positive(options, "length", 4)
    unroll = positive(options, "unroll", 1)
    reverse = flag(options, "reverse", False)
    carry = stage.position(options.get("carry", 0), "carry")
    default: Any = ()
    if len(stage.args) > 1:
        default = 1 if carry != 1 else 0
    positions = stage.positions(options.get("over", default), "over")
    over = positions if isinstance(positions, tuple) else (positions,)
    if carry in over:
        raise RequestError(ErrorKind.OPTION, f"scan: {stage.names[carry]!r} is both carry and over")
    pair = _scan_result(stage, carry)
    args = [
        _with_axis(arg, 0, length, stage.names[position]) if position in over else arg
        for position, arg in enumerate(stage.args)
    ]
    names = stage.names
    is_single = len(over) == 1

    def run(*values: Any) -> Any:
        def body(state: Any, x: Any) -> Any:
            full = list(values)
            full[carry] = state
            for position, value in zip(over, (x,) if is_single else x or (), strict=True):
                full[position] = value
            out = stage.fn(*full)
            return out if pair else (out, None)

        stacked = values[over[0]] if is_single else tuple(values[i] for i in over) or None
        result = jax.lax.scan(
            body, values[carry], stacked, length=length, reverse=reverse, unroll=unroll
        )
        return result if pair else result[0]

    arguments = _scan_source(stage, carry, over, pair)
    arguments += f", length={length}"
    arguments += ", reverse=True" if reverse else ""
    arguments += f", unroll={unroll}" if unroll != 1 else ""
    return Stage.written(run, args, names, f"jax.lax.scan({arguments})" + ("" if pair else "[0]"))


def _scan_source(stage: Stage, carry: int, over: tuple[int, ...], pair: bool) -> str:
    state = stage.names[carry]
    result = stage.applied if pair else f"({stage.applied}, None)"
    if len(over) == 1:
        xs = stage.names[over[0]]
        return f"lambda {state}, {xs}: {result}, {state}, {xs}"
    if not over:
        return f"lambda {state}, {fresh(stage.names, '_')}: {result}, {state}, None"
    # Several stacked arguments arrive as one tuple.
    each = fresh(stage.names, "xs")
    inner = ", ".join(stage.names[i] for i in over)
    return f"lambda {state}, {each}: (lambda {inner}: {result})(*{each}), {state}, ({inner})"
