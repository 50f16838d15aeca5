"""The built-in transforms: each turns a :class:`Stage` into the next one.

What is traced and the call that is shown are built side by side, and a test
holds that the shown call, run, gives the shown program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .failures import RequestError
from ..tracing.grammar import Call, Name, nearest
from .sharding import shard_map
from .stage import Stage
from .values import describe, source_text

Options = dict[str, Any]


def _positive(options: Options, key: str, default: int) -> int:
    value = options.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise RequestError("option", f"{key} is a positive number, not {value!r}")
    return value


def _flag(options: Options, key: str, default: bool) -> bool:
    value = options.get(key, default)
    if not isinstance(value, bool):
        raise RequestError("option", f"{key} is True or False, not {value!r}")
    return value


def _fresh(names: tuple[str, ...], wanted: str) -> str:
    while wanted in names:
        wanted += "_"
    return wanted


def jit(stage: Stage, options: Options) -> Stage:
    """``jax.jit``."""
    return Stage.of(jax.jit(stage.fn), stage.args, stage.names, f"jax.jit({stage.call})")


# -- differentiation


def _scalar(stage: Stage, options: Options) -> Stage:
    """The stage itself where its result is a scalar, else the sum of its result."""
    out = stage.out
    leaves = jax.tree.leaves(out)
    single = len(leaves) == 1 and jax.tree.structure(out) == jax.tree.structure(0)
    if not _flag(options, "sum", True) or (single and leaves[0].shape == ()):
        return stage
    fn = stage.fn
    if single:
        return Stage.written(
            lambda *values: fn(*values).sum(), stage.args, stage.names, f"{stage.applied}.sum()"
        )
    return Stage.written(
        lambda *values: sum(leaf.sum() for leaf in jax.tree.leaves(fn(*values))),
        stage.args,
        stage.names,
        f"sum(leaf.sum() for leaf in jax.tree.leaves({stage.applied}))",
    )


def _gradient(name: str) -> Callable[[Stage, Options], Stage]:
    transform = getattr(jax, name)

    def gradient(stage: Stage, options: Options) -> Stage:
        stage.need(name)
        where = stage.positions(options.get("argnums", 0), "argnums")
        inner = _scalar(stage, options)
        shown = "" if where == 0 else f", argnums={where}"
        return Stage.of(
            transform(inner.fn, argnums=where),
            stage.args,
            stage.names,
            f"jax.{name}({inner.call}{shown})",
        )

    return gradient


def _jacobian(name: str) -> Callable[[Stage, Options], Stage]:
    transform = getattr(jax, name)

    def jacobian(stage: Stage, options: Options) -> Stage:
        stage.need(name)
        where = stage.positions(options.get("argnums", 0), "argnums")
        shown = "" if where == 0 else f", argnums={where}"
        return Stage.of(
            transform(stage.fn, argnums=where),
            stage.args,
            stage.names,
            f"jax.{name}({stage.call}{shown})",
        )

    return jacobian


def _differentiated(stage: Stage, options: Options, name: str) -> tuple[tuple[int, ...], Stage]:
    """The positions that vary, and the function of those arguments alone."""
    stage.need(name)
    found = stage.positions(options.get("argnums", 0), "argnums")
    where = found if isinstance(found, tuple) else (found,)
    if where == tuple(range(len(stage.args))):
        return where, stage
    fn, names = stage.fn, [stage.names[i] for i in where]
    return where, Stage(fn, (), tuple(names), f"lambda {', '.join(names)}: {stage.applied}", "")


def _closed(stage: Stage, where: tuple[int, ...], values: tuple[Any, ...]) -> Callable[..., Any]:
    """``stage.fn`` as a function of the arguments at ``where``, others fixed."""
    if where == tuple(range(len(stage.args))):
        return stage.fn

    def closed(*varying: Any) -> Any:
        full = list(values[: len(stage.args)])
        for place, value in zip(where, varying, strict=True):
            full[place] = value
        return stage.fn(*full)

    closed.__name__ = closed.__qualname__ = "<lambda>"
    return closed


def _tangent(leaf: Any) -> Any:
    """The abstract tangent of a leaf; a Python number's is a weakly typed scalar."""
    aval = jax.eval_shape(lambda: leaf) if not hasattr(leaf, "dtype") else leaf
    if jnp.issubdtype(aval.dtype, jnp.inexact):
        return aval
    return jax.ShapeDtypeStruct(aval.shape, jax.dtypes.float0)


def _pushforward(name: str) -> Callable[[Stage, Options], Stage]:
    """``jvp`` and ``linearize``: tangents become arguments."""

    def pushforward(stage: Stage, options: Options) -> Stage:
        where, inner = _differentiated(stage, options, name)
        count = len(stage.args)
        names, dots = list(stage.names), []
        for place in where:
            dots.append(_fresh(tuple(names), f"{stage.names[place]}_dot"))
            names.append(dots[-1])
        args = [*stage.args, *(jax.tree.map(_tangent, stage.args[i]) for i in where)]
        primals = ", ".join(stage.names[i] for i in where)

        def run(*values: Any) -> Any:
            at = tuple(values[i] for i in where)
            if name == "jvp":
                return jax.jvp(_closed(stage, where, values), at, tuple(values[count:]))
            return jax.linearize(_closed(stage, where, values), *at)[1](*values[count:])

        comma = "," if len(where) == 1 else ""
        body = (
            f"jax.jvp({inner.call}, ({primals}{comma}), ({', '.join(dots)}{comma}))"
            if name == "jvp"
            else f"jax.linearize({inner.call}, {primals})[1]({', '.join(dots)})"
        )
        return Stage.written(run, args, names, body, frozenset(range(count, len(args))))

    return pushforward


def vjp(stage: Stage, options: Options) -> Stage:
    """``jax.vjp``: the cotangent of the result becomes an argument."""
    where, inner = _differentiated(stage, options, "vjp")
    primals = ", ".join(stage.names[i] for i in where)
    cotangent = _fresh(stage.names, "ct")

    def run(*values: Any) -> Any:
        at = tuple(values[i] for i in where)
        return jax.vjp(_closed(stage, where, values), *at)[1](values[-1])

    return Stage.written(
        run,
        [*stage.args, jax.tree.map(_tangent, stage.out)],
        [*stage.names, cotangent],
        f"jax.vjp({inner.call}, {primals})[1]({cotangent})",
    )


# -- mapping and looping


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
        "option",
        f"in_axes is an argument's name, a dict or one axis for each of"
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
                "option", f"in_axes: {name} is {describe(leaf)}, it has no place for axis {at!r}"
            )
        shape = list(aval.shape)
        shape.insert(at % rank, size)
        return jax.ShapeDtypeStruct(
            tuple(shape), aval.dtype, weak_type=bool(getattr(aval, "weak_type", False))
        )

    def is_none(item: Any) -> bool:
        return item is None

    try:
        per_leaf = jax.tree.broadcast(axis, arg, is_leaf=is_none)
    except ValueError:
        raise RequestError(
            "option", f"in_axes: {axis!r} does not fit {name}, which is {describe(arg)}"
        ) from None
    return jax.tree.map(grow, per_leaf, arg, is_leaf=is_none)


def vmap(stage: Stage, options: Options) -> Stage:
    """``jax.vmap``: specs of mapped arguments gain the axis."""
    stage.need("vmap")
    size = _positive(options, "axis_size", 8)
    axes = _axes(stage, options.get("in_axes", {stage.names[0]: 0}))
    out_axes = options.get("out_axes", 0)
    axis_name = options.get("axis_name")
    if not isinstance(axis_name, (str, Name, type(None))):
        raise RequestError("option", f'axis_name is a name such as "i", not {axis_name!r}')
    axis_name = axis_name.text if isinstance(axis_name, Name) else axis_name
    args = [
        _with_axis(arg, axis, size, name)
        for arg, axis, name in zip(stage.args, axes, stage.names, strict=True)
    ]
    shown = f"in_axes={source_text(axes if len(axes) > 1 else axes[0])}"
    if out_axes != 0:
        shown += f", out_axes={source_text(out_axes)}"
    shown += f", axis_size={size}"
    more: dict[str, Any] = {}
    if axis_name is not None:
        shown += f', axis_name="{axis_name}"'
        more["axis_name"] = axis_name
    fn = jax.vmap(
        stage.fn,
        in_axes=axes if len(axes) > 1 else axes[0],
        out_axes=out_axes,
        axis_size=size,
        **more,
    )
    return Stage.of(fn, args, stage.names, f"jax.vmap({stage.call}, {shown})")


def _same_type(one: Any, other: Any) -> bool:
    """Whether two abstract values have the same tree, shapes and dtypes."""
    if jax.tree.structure(one) != jax.tree.structure(other):
        return False

    def plain(leaf: Any) -> Any:
        aval = leaf if hasattr(leaf, "shape") else jax.eval_shape(lambda: leaf)
        return (tuple(aval.shape), aval.dtype)

    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(plain(a) == plain(b) for a, b in pairs)


def _scan_result(stage: Stage, carry: int) -> bool:
    """Whether the function returns a pair (carry, y); refuses anything but that or the carry."""
    wanted = stage.args[carry]
    if _same_type(stage.out, wanted):
        return False
    out = stage.out
    if isinstance(out, tuple) and len(out) == 2 and _same_type(out[0], wanted):
        return True
    raise RequestError(
        "option",
        f"scan: the function returns {describe(out)}, but it must return the carry's type"
        f" ({stage.names[carry]}: {describe(wanted)}) or a pair of that and a y;"
        f" carry= names another argument",
    )


def scan(stage: Stage, options: Options) -> Stage:
    """``jax.lax.scan``: ``over`` is stacked ``length`` times, ``carry`` threads through."""
    stage.need("scan")
    length = _positive(options, "length", 4)
    unroll = _positive(options, "unroll", 1)
    reverse = _flag(options, "reverse", False)
    carry = stage.position(options.get("carry", 0), "carry")
    default: Any = ()
    if len(stage.args) > 1:
        default = 1 if carry != 1 else 0
    found = stage.positions(options.get("over", default), "over")
    over = found if isinstance(found, tuple) else (found,)
    if carry in over:
        raise RequestError("option", f"scan: {stage.names[carry]!r} is both carry and over")
    pair = _scan_result(stage, carry)
    args = [
        _with_axis(arg, 0, length, stage.names[place]) if place in over else arg
        for place, arg in enumerate(stage.args)
    ]
    names = stage.names
    one = len(over) == 1

    def run(*values: Any) -> Any:
        def body(state: Any, x: Any) -> Any:
            full = list(values)
            full[carry] = state
            for place, value in zip(over, (x,) if one else x or (), strict=True):
                full[place] = value
            out = stage.fn(*full)
            return out if pair else (out, None)

        stacked = values[over[0]] if one else tuple(values[i] for i in over) or None
        result = jax.lax.scan(
            body, values[carry], stacked, length=length, reverse=reverse, unroll=unroll
        )
        return result if pair else result[0]

    shown = _scan_source(stage, carry, over, pair)
    shown += f", length={length}"
    shown += ", reverse=True" if reverse else ""
    shown += f", unroll={unroll}" if unroll != 1 else ""
    return Stage.written(run, args, names, f"jax.lax.scan({shown})" + ("" if pair else "[0]"))


def _scan_source(stage: Stage, carry: int, over: tuple[int, ...], pair: bool) -> str:
    state = stage.names[carry]
    result = stage.applied if pair else f"({stage.applied}, None)"
    if len(over) == 1:
        xs = stage.names[over[0]]
        return f"lambda {state}, {xs}: {result}, {state}, {xs}"
    if not over:
        return f"lambda {state}, {_fresh(stage.names, '_')}: {result}, {state}, None"
    # Several stacked arguments arrive as one tuple.
    each = _fresh(stage.names, "xs")
    inner = ", ".join(stage.names[i] for i in over)
    return (
        f"lambda {state}, {each}: (lambda {inner}: {result})(*{each}), {state}, ({inner})"
    )


# -- rematerialisation


def _policy(value: Any) -> tuple[Any, str]:
    """A policy of ``jax.checkpoint_policies`` and its source."""
    policies = jax.checkpoint_policies
    name = value.name if isinstance(value, Call) else getattr(value, "text", value)
    known = [n for n in dir(policies) if not n.startswith("_")]
    if not isinstance(name, str) or name.rpartition(".")[2] not in known:
        raise RequestError(
            "option",
            f"policy is a name of jax.checkpoint_policies, not {source_text(value)}"
            f"{nearest(str(name), known)} (known: {', '.join(known)})",
        )
    last = name.rpartition(".")[2]
    policy = getattr(policies, last)
    if not isinstance(value, Call):
        return policy, f"jax.checkpoint_policies.{last}"
    if not all(isinstance(item, str) for item in value.arguments):
        raise RequestError("option", f"policy {last} takes strings, as in {last}(\"a\", \"b\")")
    shown = ", ".join(f'"{item}"' for item in value.arguments)
    return policy(*value.arguments), f"jax.checkpoint_policies.{last}({shown})"


def _checkpoint(name: str) -> Callable[[Stage, Options], Stage]:
    def checkpoint(stage: Stage, options: Options) -> Stage:
        value = options.get("policy")
        if value is None:
            fn, shown = jax.checkpoint(stage.fn), ""
        else:
            policy, text = _policy(value)
            fn, shown = jax.checkpoint(stage.fn, policy=policy), f", policy={text}"
        return Stage.of(fn, stage.args, stage.names, f"jax.{name}({stage.call}{shown})")

    return checkpoint


BUILTIN: dict[str, Callable[[Stage, Options], Stage]] = {
    "jit": jit,
    "grad": _gradient("grad"),
    "value_and_grad": _gradient("value_and_grad"),
    "hessian": _gradient("hessian"),
    "jvp": _pushforward("jvp"),
    "linearize": _pushforward("linearize"),
    "vjp": vjp,
    "jacfwd": _jacobian("jacfwd"),
    "jacrev": _jacobian("jacrev"),
    "vmap": vmap,
    "scan": scan,
    "checkpoint": _checkpoint("checkpoint"),
    "remat": _checkpoint("remat"),
    "shard_map": shard_map,
}
