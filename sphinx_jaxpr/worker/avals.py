"""Abstract values and abstract meshes, with all that JAX knows of them.  Imports JAX.

A ``jax.ShapeDtypeStruct`` holds shape, dtype, weak type and sharding.  What it can't
hold, a mutable array or another memory space, stays the abstract value that
``jax.typeof`` returns: ``jax.make_jaxpr`` takes both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from ..tracing.grammar import DTYPES, Aval, Mesh, nearest
from ..tracing.result import ErrorKind
from .failures import RequestError

# --- abstract values

#: The class of all abstract values: JAX has no public name for it.
_ABSTRACT = type(jax.typeof(0.0)).__mro__[-2]
_SHORT = {long: short for short, long in DTYPES.items()}
_PRINTED = re.compile(r"\{ lambda ; a:(.*?)\. let", re.DOTALL)


def is_abstract(value: Any) -> bool:
    """Whether a value is the type of an array rather than an array."""
    return isinstance(value, (jax.ShapeDtypeStruct, _ABSTRACT))


def abstract_leaf(leaf: Any) -> Any:
    """Only the type of an array matters; numbers stay what they are."""
    if isinstance(leaf, (bool, int, float, complex)) or is_abstract(leaf):
        return leaf
    try:
        return plain(jax.typeof(leaf))
    except TypeError:  # not an array of JAX, though it may look like one
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")):
            return leaf
        return jax.ShapeDtypeStruct(
            leaf.shape, leaf.dtype, weak_type=bool(getattr(leaf, "weak_type", False))
        )


def type_of(leaf: Any) -> Any:
    """The abstract value of an array, of a number or of its ``ShapeDtypeStruct``."""
    return leaf if isinstance(leaf, _ABSTRACT) else jax.typeof(leaf)


def plain(aval: Any) -> Any:
    """An abstract value as a ``ShapeDtypeStruct`` where that holds all of it."""
    if not hasattr(aval, "shape") or not hasattr(aval, "dtype") or is_ref(aval):
        return aval
    sharding = aval.sharding if split_axes(aval) is not None else None
    struct = jax.ShapeDtypeStruct(
        aval.shape, aval.dtype, sharding=sharding, weak_type=bool(aval.weak_type)
    )
    return struct if jax.typeof(struct) == aval else aval


def results(jaxpr: Any, out: Any) -> Any:
    """The abstract results of a program, in the tree that its function returns."""
    types = [plain(var.aval) for var in getattr(jaxpr, "jaxpr", jaxpr).outvars]
    return jax.tree.unflatten(jax.tree.structure(out), types)


def is_ref(value: Any) -> bool:
    """Whether a value is a mutable array, or the type of one."""
    return isinstance(value, _ABSTRACT) and type(value) is not type(jax.typeof(0.0))


def split_axes(value: Any) -> PartitionSpec | None:
    """How a value is split over a mesh, ``None`` if its type has no mesh."""
    sharding = getattr(type_of(value), "sharding", None)
    if not isinstance(sharding, NamedSharding) or sharding.mesh.empty:
        return None
    return sharding.spec


def _traced_type(function: Callable[..., Any], *types: Any) -> Any:
    """The type of a function's result, even one that JAX would not let it return."""
    traced: list[Any] = []
    jax.make_jaxpr(lambda *values: traced.append(jax.typeof(function(*values))))(*types)
    return plain(traced[0])


def ref_of(leaf: Any) -> Any:
    """The type of a mutable array of such values."""
    return _traced_type(jax.new_ref, leaf)


def another(aval: Any) -> Any:
    """A copy of the type of a mutable array: to JAX, one type object is one array."""
    return ref_of(_traced_type(lambda ref: ref[...], aval))


def in_host_memory(leaf: Any) -> Any:
    """The type of such a value in the host's memory."""
    return _traced_type(lambda value: jax.device_put(value, jax.memory.Space.Host), leaf)


def with_axis(leaf: Any, axis_index: int, size: int) -> Any:
    """The type of ``size`` such values stacked along a new, unsplit axis."""
    aval = type_of(leaf)
    if is_ref(aval):
        return ref_of(with_axis(_traced_type(lambda ref: ref[...], aval), axis_index, size))
    shape = list(aval.shape)
    shape.insert(axis_index, size)
    if isinstance(plain(aval), _ABSTRACT):
        rest = tuple(axis for axis in range(len(shape)) if axis != axis_index)
        return _traced_type(lambda x: jax.lax.broadcast_in_dim(x, tuple(shape), rest), aval)
    sharding = None
    spec = split_axes(aval)
    if spec is not None:
        entries = list(getattr(spec, "partitions", None) or tuple(spec))
        entries += [None] * (len(aval.shape) - len(entries))
        entries.insert(axis_index, None)
        more = {key: axes for key in ("unreduced", "reduced") if (axes := getattr(spec, key, None))}
        sharding = NamedSharding(aval.sharding.mesh, PartitionSpec(*entries, **more))
    return jax.ShapeDtypeStruct(
        tuple(shape), aval.dtype, sharding=sharding, weak_type=bool(aval.weak_type)
    )


def printed(leaf: Any) -> str:
    """The type of an array as jaxprs print it: ``f32[4@a,8]``, ``Ref{f32[3]}``."""
    if isinstance(leaf, jax.ShapeDtypeStruct) and leaf.sharding is None:
        return _short(leaf)
    try:
        match = _PRINTED.match(str(jax.make_jaxpr(lambda value: None)(leaf)))
    except Exception:  # JAX refuses it; the trace reports its error
        match = None
    return " ".join(match[1].split()) if match else _short(leaf)


def _short(leaf: Any) -> str:
    long = "float0" if leaf.dtype == jax.dtypes.float0 else str(leaf.dtype)
    name = _SHORT.get(long, long)
    return f"{name}[{','.join(map(str, leaf.shape))}]"


# --- abstract meshes, which need no devices

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
    mesh = getattr(value, "abstract_mesh", value)
    if not isinstance(mesh, AbstractMesh):
        raise RequestError(
            ErrorKind.OPTION,
            f"mesh names a {type(value).__name__}; expected a jax.sharding.AbstractMesh or Mesh",
            option="mesh",
        )
    return mesh


def under(mesh: AbstractMesh | None) -> AbstractContextManager[Any]:
    """A context in which a mesh is JAX's current one."""
    return nullcontext() if mesh is None else jax.sharding.use_abstract_mesh(mesh)


def current() -> AbstractMesh | None:
    """The mesh of the current trace, if any."""
    mesh = jax.sharding.get_abstract_mesh()
    return None if mesh.empty else mesh


def mesh_source(mesh: AbstractMesh) -> str:
    """A mesh as Python source."""
    pairs = tuple(zip(mesh.axis_names, mesh.axis_sizes, strict=True))
    return Mesh(pairs, tuple(kind.name for kind in mesh.axis_types)).source


def only_mesh(leaves: Sequence[Any]) -> AbstractMesh | None:
    """The one mesh that the types of the arguments refer to."""
    meshes = []
    for leaf in leaves:
        sharding = getattr(type_of(leaf), "sharding", None)
        if isinstance(sharding, NamedSharding) and not sharding.mesh.empty:
            meshes.append(mesh_of(sharding.mesh))
    return meshes[0] if meshes and all(mesh == meshes[0] for mesh in meshes) else None


def split(aval: Aval, mesh: AbstractMesh | None, subject: str) -> NamedSharding | None:
    """The sharding that a spec such as ``f32[4@a,8]`` asks for; ``subject`` is its argument."""
    if not aval.axes:
        return None
    used = [axis for names in aval.axes for axis in names]
    if mesh is None:
        sizes = ", ".join(f"{axis}: 2" for axis in used)
        raise _refused(
            f"{subject}: {aval} is split over a mesh, but there is none; add the option"
            f' mesh: {{{sizes}}}, axis_types="Explicit"'
        )
    for axis in used:
        _check_axis(axis, aval, mesh, subject)
    for dimension, (size, names) in enumerate(zip(aval.shape, aval.axes, strict=True)):
        parts = 1
        for axis in names:
            parts *= mesh.shape[axis]
        if size % parts:
            low = size - size % parts
            fits = f"{low} or {low + parts}" if low else str(parts)
            raise _refused(
                f"{subject}: {parts} shards do not divide dimension {dimension} of {aval}, which is"
                f" {size}; {fits} would do"
            )
    entries = [names[0] if len(names) == 1 else names or None for names in aval.axes]
    return NamedSharding(mesh, PartitionSpec(*entries))


def _check_axis(axis: str, aval: Aval, mesh: AbstractMesh, subject: str) -> None:
    if axis not in mesh.axis_names:
        raise _refused(
            f"{subject}: {aval} names {axis!r}, which is not an axis of the mesh"
            f"{nearest(axis, mesh.axis_names)} (axes: {', '.join(mesh.axis_names)})"
        )
    kind = mesh.axis_types[mesh.axis_names.index(axis)]
    if kind is not AxisType.Explicit:
        sizes = ", ".join(f"{name}: {size}" for name, size in mesh.shape.items())
        raise _refused(
            f"{subject}: {aval} names the axis {axis!r}, which is {kind.name}: types name Explicit"
            f' axes only, as in mesh: {{{sizes}}}, axis_types="Explicit"'
        )


def _refused(message: str) -> RequestError:
    return RequestError(ErrorKind.OPTION, f"args: {message}", option="args")
