"""Abstract arguments as Python source that makes them.  Imports JAX."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from ..tracing.grammar import KEYS
from .avals import is_abstract, is_ref, split_axes, type_of
from .meshes import current, mesh_source
from .values import nested_source, number_source


def abstract_source(value: Any, trees: Sequence[tuple[Any, str]]) -> str:
    """An abstract argument as Python source that makes it.

    ``trees`` has the structures of objects that the page names, and the source of each:
    what has one of these, and no literal, is written by its leaves.
    """
    if _is_leaf(value):
        return _leaf_source(value)
    structure = jax.tree.structure(value)
    if not _is_literal(value):
        for known, text in trees:
            if known == structure:
                leaves = ", ".join(map(_leaf_source, jax.tree.leaves(value)))
                return f"jax.tree.unflatten(jax.tree.structure({text}), [{leaves}])"
    if nested := nested_source(value, lambda item: abstract_source(item, trees)):
        return nested
    names: Sequence[str] = getattr(value, "_fields", ())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.init]
    if not names:
        return repr(value)
    pairs = ((name, getattr(value, name)) for name in names)
    inner = ", ".join(f"{name}={abstract_source(item, trees)}" for name, item in pairs)
    return f"{type(value).__qualname__}({inner})"


def _is_leaf(value: Any) -> bool:
    return bool(jax.tree_util.all_leaves([value]))


def _is_literal(value: Any) -> bool:
    """Whether Python has a literal for the containers of a tree."""
    if type(value) is dict:
        return all(map(_is_literal, value.values()))
    if type(value) in (tuple, list):
        return all(map(_is_literal, value))
    return value is None or _is_leaf(value)


def _leaf_source(value: Any) -> str:
    if is_abstract(value):
        return _type_source(value)
    if type(value) in (bool, int, float, complex, str):
        return number_source(value)
    try:
        return _struct_source(jax.typeof(value))  # a number of NumPy, a member of an enum
    except TypeError:
        return repr(value)


def _type_source(value: Any) -> str:
    aval = type_of(value)
    if isinstance(value, jax.ShapeDtypeStruct):
        return _struct_source(aval)
    ref, split = is_ref(aval), split_axes(aval) is not None
    if split or current() is not None:  # arrays on a mesh need its devices
        inner = _struct_source(aval)
        if ref:
            made = f"jax.make_jaxpr(lambda x: jax.new_ref(x)[...])({inner})"
            return f"{made}.eqns[0].outvars[0].aval"
        return (
            "jax.make_jaxpr(lambda x: jax.device_put(x, jax.memory.Space.Host))"
            f"({inner}).out_avals[0]"
        )
    array = f"jax.numpy.zeros({aval.shape}, {_dtype_source(aval)})"
    if ref:
        return f"jax.typeof(jax.new_ref({array}))"
    return f"jax.typeof(jax.device_put({array}, jax.memory.Space.Host))"


def _dtype_source(aval: Any) -> str:
    if aval.dtype == jax.dtypes.float0:
        return "jax.dtypes.float0"
    if jnp.issubdtype(aval.dtype, jax.dtypes.prng_key):
        kind = KEYS.get(str(aval.dtype), "threefry2x32")
        key = f"jax.random.key(0, impl={kind!r})"
        return f"{key if current() is None else f'jax.eval_shape(lambda: {key})'}.dtype"
    return repr(str(aval.dtype))


def _struct_source(aval: Any) -> str:
    more = ", weak_type=True" if getattr(aval, "weak_type", False) else ""
    spec = split_axes(aval)
    if spec is not None:
        mesh = mesh_source(aval.sharding.mesh.abstract_mesh)
        entries = ", ".join(map(repr, tuple(spec)))
        more += f", sharding=jax.NamedSharding({mesh}, jax.P({entries}))"
    return f"jax.ShapeDtypeStruct({aval.shape}, {_dtype_source(aval)}{more})"
