"""``shard_map`` over an abstract mesh: no devices needed.  Imports JAX."""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import AxisType, PartitionSpec

from ...tracing.grammar import Name
from ...tracing.result import ErrorKind
from ..avals import abstract_mesh, current, mesh_source, split_axes
from ..failures import RequestError
from ..stage import Options, Stage
from ..targets.arguments import describe, source_text

DEFAULT_MESH = {"data": 8}


def shard_map(stage: Stage, options: Options) -> Stage:
    """``jax.shard_map``; by default the first argument is split on its first axis."""
    stage.need("shard_map")
    context = current()
    mesh = _mesh(options.get("mesh", DEFAULT_MESH if context is None else dict(context.shape)))
    if context is not None and mesh != dict(context.shape):
        raise RequestError(
            ErrorKind.OPTION,
            f"shard_map: its mesh {mesh} is not the one of the option mesh,"
            f" {dict(context.shape)}; leave out one of them",
        )
    given = options.get("in_specs")
    in_specs: tuple[Any, ...]
    if given is None and context is not None and AxisType.Explicit in context.axis_types:
        in_specs = tuple(_own_spec(arg) for arg in stage.args)  # JAX accepts no others
    else:
        if given is None:
            given = {stage.names[0]: (next(iter(mesh)),)}
            _check_default(stage, mesh)
        in_specs = _in_specs(stage, given, mesh)
        _check_divides(stage, in_specs, mesh)
    out_specs = (
        _out_spec(options["out_specs"], mesh)
        if "out_specs" in options
        else _default_out(stage, in_specs)
    )
    arguments = f"in_specs={_source(in_specs)}, out_specs={_source(out_specs)}"
    if context is not None:
        fn = jax.shard_map(stage.fn, in_specs=in_specs, out_specs=out_specs)
    else:
        # Under Explicit axes a plain function would raise.
        over = abstract_mesh(tuple(mesh.values()), tuple(mesh), ["Auto"] * len(mesh))
        fn = jax.shard_map(stage.fn, mesh=over, in_specs=in_specs, out_specs=out_specs)
        arguments = f"mesh={mesh_source(over)}, {arguments}"
    return Stage.of(fn, stage.args, stage.names, f"jax.shard_map({stage.call}, {arguments})")


def _own_spec(arg: Any) -> Any:
    """How an argument is split according to its leaves' types: one spec if all agree."""
    specs = jax.tree.map(lambda leaf: split_axes(leaf) or PartitionSpec(), arg)
    each = jax.tree.leaves(specs, is_leaf=lambda item: isinstance(item, PartitionSpec))
    same = each and all(spec == each[0] for spec in each)
    return each[0] if same else specs if each else PartitionSpec()


def _mesh(value: Any) -> dict[str, int]:
    if (
        not isinstance(value, dict)
        or not value
        or not all(
            isinstance(k, str) and isinstance(v, int) and not isinstance(v, bool) and v > 0
            for k, v in value.items()
        )
    ):
        raise RequestError(
            ErrorKind.OPTION,
            f'mesh must be a dict of axis names and sizes such as {{"data": 8}}, not'
            f" {source_text(value)}",
        )
    return dict(value)


def _spec(value: Any, mesh: dict[str, int], subject: str) -> PartitionSpec:
    """``("data", None)``, ``"data"`` or ``None`` as a PartitionSpec."""
    entries = value if isinstance(value, (tuple, list)) else () if value is None else (value,)
    parts: list[Any] = []
    for entry in entries:
        group = entry if isinstance(entry, (tuple, list)) else (entry,)
        axes = [axis.text if isinstance(axis, Name) else axis for axis in group]
        for axis in axes:
            if axis is not None and axis not in mesh:
                raise RequestError(
                    ErrorKind.OPTION,
                    f"{subject}: {axis!r} is not an axis of the mesh ({', '.join(mesh)})",
                )
        parts.append(tuple(axes) if isinstance(entry, (tuple, list)) else axes[0])
    return PartitionSpec(*parts)


def _in_specs(stage: Stage, given: Any, mesh: dict[str, int]) -> tuple[PartitionSpec, ...]:
    specs = [PartitionSpec()] * len(stage.args)
    if isinstance(given, dict):
        for key, value in given.items():
            specs[stage.position(key, "in_specs")] = _spec(value, mesh, f"in_specs of {key}")
        return tuple(specs)
    if isinstance(given, (tuple, list)) and len(given) == len(specs):
        pairs = zip(given, stage.names, strict=True)
        return tuple(_spec(v, mesh, f"in_specs of {n}") for v, n in pairs)
    raise RequestError(
        ErrorKind.OPTION,
        f'in_specs must be a dict such as {{{stage.names[0]}: ("{next(iter(mesh))}", None)}}, not'
        f" {source_text(given)}",
    )


def _out_spec(value: Any, mesh: dict[str, int]) -> Any:
    """One spec for every result, or a dict or list of them for a pytree."""
    if isinstance(value, dict):
        return {key: _out_spec(item, mesh) for key, item in value.items()}
    if isinstance(value, list):
        return [_out_spec(item, mesh) for item in value]
    return _spec(value, mesh, "out_specs")


def _leading(value: Any) -> list[int]:
    return [leaf.shape[0] if getattr(leaf, "shape", ()) else 0 for leaf in jax.tree.leaves(value)]


def _check_default(stage: Stage, mesh: dict[str, int]) -> None:
    axis, size = next(iter(mesh.items()))
    first = _leading(stage.args[0])
    if first and all(n and n % size == 0 for n in first):
        return
    fitting = [n for n in range(2, min(first, default=0) + 1) if all(f % n == 0 for f in first)]
    closest = min(fitting, key=lambda n: (abs(n - size), n), default=0)
    hint = (
        f'try mesh={{"{axis}": {closest}}}'
        if closest
        else f'name what to split, as in in_specs={{NAME: ("{axis}",)}}'
    )
    raise RequestError(
        ErrorKind.OPTION,
        f"shard_map: {size} does not divide the first axis of {stage.names[0]}"
        f" ({describe(stage.args[0])}); {hint}",
    )


def _check_divides(stage: Stage, specs: tuple[PartitionSpec, ...], mesh: dict[str, int]) -> None:
    for name, arg, spec in zip(stage.names, stage.args, specs, strict=True):
        for leaf in jax.tree.leaves(arg):
            shape = getattr(leaf, "shape", ())
            if len(spec) > len(shape):
                raise RequestError(
                    ErrorKind.OPTION,
                    f"shard_map: in_specs of {name} has {len(spec)} entries,"
                    f" but {describe(leaf)} has {len(shape)} axes",
                )
            for dimension, entry in enumerate(spec):
                axes = entry if isinstance(entry, tuple) else (entry,)
                parts = 1
                for axis in axes:
                    parts *= mesh[axis] if axis is not None else 1
                if shape[dimension] % parts:
                    fits = [n for n in range(1, shape[dimension] + 1) if shape[dimension] % n == 0]
                    closest = min(fits, key=lambda n: (abs(n - parts), n), default=1)
                    raise RequestError(
                        ErrorKind.OPTION,
                        f"shard_map: {parts} shards do not divide axis {dimension} of {name}"
                        f" ({describe(leaf)}); the nearest size that does is {closest}",
                    )


def _default_out(stage: Stage, specs: tuple[Any, ...]) -> PartitionSpec:
    """Like the first split argument, if the results have its leading size."""
    for arg, spec in zip(stage.args, specs, strict=True):
        if isinstance(spec, PartitionSpec) and len(spec) and spec[0] is not None:
            sizes = set(_leading(arg))
            if len(sizes) == 1 and set(_leading(stage.out)) == sizes:
                ranks = [len(leaf.shape) for leaf in jax.tree.leaves(stage.out)]
                return PartitionSpec(*tuple(spec)[: min(ranks)])
            break
    return PartitionSpec()


def _source(spec: Any) -> str:
    if isinstance(spec, PartitionSpec):
        inner = ", ".join(repr(entry) for entry in spec)
        return f"jax.P({inner})"
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{k!r}: {_source(v)}" for k, v in spec.items()) + "}"
    if isinstance(spec, list):
        return "[" + ", ".join(_source(v) for v in spec) + "]"
    inner = ", ".join(_source(v) for v in spec)
    return f"({inner},)" if len(spec) == 1 else f"({inner})"
