"""Abstract meshes: no devices needed.  Imports JAX."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from ..tracing.grammar import Aval, Mesh, nearest
from .avals import type_of
from .failures import RequestError

#: The mesh of a program that has none.
NO_MESH = AbstractMesh((), ())


def abstract_mesh(sizes: Sequence[int], names: Sequence[str], types: Sequence[str]) -> AbstractMesh:
    """A mesh whose axes have these sizes, names and types.

    Types are always given: JAX 0.12 would default to Explicit axes, others to Auto.
    """
    kinds = tuple(getattr(AxisType, kind) for kind in types)
    return AbstractMesh(tuple(sizes), tuple(names), axis_types=kinds)


def mesh_of(value: Mesh | Any) -> AbstractMesh:
    """The mesh of the option ``mesh``: its axes, or the object that it names."""
    if isinstance(value, Mesh):
        names, sizes = zip(*value.axes, strict=True)
        return abstract_mesh(sizes, names, value.types)
    found = getattr(value, "abstract_mesh", value)
    if not isinstance(found, AbstractMesh):
        raise RequestError(
            "option",
            f"mesh names a {type(value).__name__}; expected a jax.sharding.AbstractMesh or Mesh",
            option="mesh",
        )
    return found


def under(mesh: AbstractMesh | None) -> AbstractContextManager[Any]:
    """The context in which a mesh is JAX's own one."""
    return nullcontext() if mesh is None else jax.sharding.use_abstract_mesh(mesh)


def current() -> AbstractMesh | None:
    """The mesh that something is traced under, if any."""
    mesh = jax.sharding.get_abstract_mesh()
    return None if mesh.empty else mesh


def mesh_source(mesh: AbstractMesh) -> str:
    """A mesh as Python source."""
    pairs = tuple(zip(mesh.axis_names, mesh.axis_sizes, strict=True))
    return Mesh(pairs, tuple(kind.name for kind in mesh.axis_types)).source


def only_mesh(leaves: Sequence[Any]) -> AbstractMesh | None:
    """The one mesh that the types of arguments know of."""
    found = []
    for leaf in leaves:
        sharding = getattr(type_of(leaf), "sharding", None)
        if isinstance(sharding, NamedSharding) and not sharding.mesh.empty:
            found.append(mesh_of(sharding.mesh))
    return found[0] if found and all(mesh == found[0] for mesh in found) else None


def split(aval: Aval, mesh: AbstractMesh | None, what: str) -> NamedSharding | None:
    """The sharding that a spec such as ``f32[4@a,8]`` asks for; ``what`` is its argument."""
    if not aval.axes:
        return None
    used = [axis for names in aval.axes for axis in names]
    if mesh is None:
        sizes = ", ".join(f"{axis}: 2" for axis in used)
        raise _refused(
            f"{what}: {aval} is split over a mesh, and there is none; add the option"
            f' mesh: {{{sizes}}}, axis_types="Explicit"'
        )
    for axis in used:
        _check_axis(axis, aval, mesh, what)
    for place, (size, names) in enumerate(zip(aval.shape, aval.axes, strict=True)):
        parts = 1
        for axis in names:
            parts *= mesh.shape[axis]
        if size % parts:
            low = size - size % parts
            fits = f"{low} or {low + parts}" if low else str(parts)
            raise _refused(
                f"{what}: {parts} shards do not divide dimension {place} of {aval}, which is"
                f" {size}; {fits} would do"
            )
    entries = [names[0] if len(names) == 1 else names or None for names in aval.axes]
    return NamedSharding(mesh, PartitionSpec(*entries))


def _check_axis(axis: str, aval: Aval, mesh: AbstractMesh, what: str) -> None:
    if axis not in mesh.axis_names:
        raise _refused(
            f"{what}: {aval} names {axis!r}, which is no axis of the mesh"
            f"{nearest(axis, mesh.axis_names)} (axes: {', '.join(mesh.axis_names)})"
        )
    kind = mesh.axis_types[mesh.axis_names.index(axis)]
    if kind is not AxisType.Explicit:
        sizes = ", ".join(f"{name}: {size}" for name, size in mesh.shape.items())
        raise _refused(
            f"{what}: {aval} names the axis {axis!r}, which is {kind.name}: types name Explicit"
            f' axes only, as in mesh: {{{sizes}}}, axis_types="Explicit"'
        )


def _refused(message: str) -> RequestError:
    return RequestError("option", f"args: {message}", option="args")
