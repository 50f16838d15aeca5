"""From the specs of a page to abstract values.  Imports JAX."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import jax
import jax.numpy as jnp

from ..tracing.grammar import DTYPES, KEYS, Aval, Name, Value
from .failures import RequestError
from .reach import Names, Unreachable


@functools.cache
def _key_dtype(implementation: str) -> Any:
    return jax.eval_shape(lambda: jax.random.key(0, impl=implementation)).dtype


def abstract(aval: Aval) -> jax.ShapeDtypeStruct:
    """The abstract array of a spec such as ``bf16[32,64]`` or ``key<fry>[2]``."""
    if aval.dtype in KEYS:
        return jax.ShapeDtypeStruct(aval.shape, _key_dtype(KEYS[aval.dtype]))
    try:
        dtype = jnp.dtype(DTYPES[aval.dtype])
    except TypeError:
        message = f"this JAX ({jax.__version__}) has no dtype {aval.dtype!r}"
        raise RequestError("option", message, option="args") from None
    if dtype.itemsize == 8 and dtype.kind in "fiu" and not jax.config.read("jax_enable_x64"):
        dtype = jnp.dtype(dtype.name.replace("64", "32"))
    elif dtype.name == "complex128" and not jax.config.read("jax_enable_x64"):
        dtype = jnp.dtype("complex64")
    return jax.ShapeDtypeStruct(aval.shape, dtype)


def attribute(names: Names, path: str, option: str, what: str) -> Any:
    """What a dotted name in an option means.

    ``what`` is the argument, as the author wrote it, that the name stands for.
    """
    try:
        return names.reach(path)
    except Unreachable as error:
        where = ""
        if error.inside is not None:
            where = f"{error.inside!r} " if error.inside else f"module {names.module.__name__!r} "
        message = f"{option}: {what}: {where}{error}"
        raise RequestError("option", message, option=option) from None


def spec_value(value: Value, names: Names, what: str) -> Any:
    """A spec as the pytree that is traced: abstract arrays and Python numbers."""
    if isinstance(value, Aval):
        return abstract(value)
    if isinstance(value, Name):
        found = attribute(names, value.text, "args", what)
        if inspect.isfunction(found) or inspect.isbuiltin(found):
            found = _call(found, value.text)
        return jax.tree.map(abstract_leaf, found)
    # Of specs; what is abstract already may be a tree of any other kind.
    if isinstance(value, dict) and type(value) is dict:
        return {key: spec_value(item, names, f"{what}[{key!r}]") for key, item in value.items()}
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        items = enumerate(value)
        return type(value)(spec_value(item, names, f"{what}[{i}]") for i, item in items)
    return value


def _call(function: Any, path: str) -> Any:
    try:
        inspect.signature(function).bind()
    except TypeError:
        raise RequestError(
            "option",
            f"args: {path!r} takes parameters: a spec names a value, or a function without"
            " parameters",
            option="args",
        ) from None
    return function()


def abstract_leaf(leaf: Any) -> Any:
    """Only the shape and the type of an array matter; numbers stay what they are."""
    if isinstance(leaf, (bool, int, float, complex)) or not hasattr(leaf, "dtype"):
        return leaf
    return jax.ShapeDtypeStruct(
        leaf.shape, leaf.dtype, weak_type=bool(getattr(leaf, "weak_type", False))
    )


def static_value(value: Value, names: Names, what: str) -> Any:
    """A static value: literals as they are, dotted names as attributes."""
    if isinstance(value, Name):
        return attribute(names, value.text, "static", what)
    if isinstance(value, dict):
        return {key: static_value(item, names, what) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(static_value(item, names, what) for item in value)
    return value


def source_text(value: Value) -> str:
    """A value as Python source, for the call that is shown."""
    if isinstance(value, Name):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {source_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        inner = ", ".join(source_text(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, list):
        return "[" + ", ".join(source_text(item) for item in value) + "]"
    return repr(value)


def abstract_source(value: Any) -> str:
    """An abstract argument as Python source that makes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {abstract_source(v)}" for k, v in value.items()) + "}"
    if type(value) in (tuple, list):
        inner = ", ".join(map(abstract_source, value))
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, jax.ShapeDtypeStruct):
        return f"jax.ShapeDtypeStruct({value.shape}, {str(value.dtype)!r})"
    return repr(value)


def describe(value: Any) -> str:
    """An abstract value in the words of the page: ``{'w': f32[2]}``."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {describe(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        inner = ", ".join(map(describe, value))
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        short = {long: short for short, long in DTYPES.items()}
        name = short.get(str(value.dtype), str(value.dtype))
        return f"{name}[{','.join(map(str, value.shape))}]"
    return repr(value) if isinstance(value, (bool, int, float, complex)) else type(value).__name__
