"""From the specs of a page to abstract values, and from those to Python source.  Imports JAX."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from ...program.text import words
from ...tracing.grammar import DTYPES, KEYS, Aval, Call, Name, Ref, Value, shorten
from ...tracing.hints.meant import meant_name
from ...tracing.result import ErrorKind
from ...tracing.specs import call_source, nested_source
from ..avals import (
    current,
    in_host_memory,
    is_abstract,
    is_ref,
    mesh_source,
    printed,
    ref_of,
    split,
    split_axes,
    type_of,
)
from ..failures import Hint, RequestError
from .reach import ReachableNames, Unreachable

#: Structures of the objects that a page names or makes, with the source of each.
NamedTrees: TypeAlias = list[tuple[Any, str]]

# --- from the specs of a page to abstract values


@functools.cache
def _key_dtype(implementation: str) -> Any:
    return jax.eval_shape(lambda: jax.random.key(0, impl=implementation)).dtype


def abstract(spec: Aval | Ref, mesh: Any = None, subject: str = "args") -> Any:
    """The abstract array of a spec such as ``bf16[32,64]``, ``key<fry>[2]`` or ``Ref{f32[3]}``.

    ``mesh`` is the mesh that dimensions are split over; ``subject`` is the argument, for messages.
    """
    aval = spec.inner if isinstance(spec, Ref) else spec
    struct = jax.ShapeDtypeStruct(aval.shape, _dtype(aval), sharding=split(aval, mesh, subject))
    if aval.memory:
        struct = in_host_memory(struct)
    return ref_of(struct) if isinstance(spec, Ref) else struct


def _dtype(aval: Aval) -> Any:
    if aval.dtype in KEYS:
        return _key_dtype(KEYS[aval.dtype])
    try:
        dtype = jnp.dtype(DTYPES[aval.dtype])
    except TypeError:
        message = f"this JAX ({jax.__version__}) has no dtype {aval.dtype!r}"
        raise RequestError(ErrorKind.OPTION, message, option="args") from None
    if dtype.itemsize == 8 and dtype.kind in "fiu" and not jax.config.read("jax_enable_x64"):
        dtype = jnp.dtype(dtype.name.replace("64", "32"))
    elif dtype.name == "complex128" and not jax.config.read("jax_enable_x64"):
        dtype = jnp.dtype("complex64")
    return dtype


def attribute(names: ReachableNames, path: str, option: str, subject: str) -> Any:
    """What a dotted name in an option means.

    ``subject`` is the argument, as the author wrote it, that the name means.
    """
    try:
        return names.reach(path)
    except Unreachable as error:
        where = ""
        if error.inside is not None:
            where = f"{error.inside!r} " if error.inside else f"module {error.module!r} "
        meant = meant_name(path)
        hint = f"; for the value, write {meant}" if meant else ""
        message = f"{option}: {subject}: {where}{error}{hint}"
        raise RequestError(ErrorKind.OPTION, message, option=option) from None


def spec_value(value: Value, names: ReachableNames, subject: str, trees: NamedTrees) -> Any:
    """The meaning of a spec: a pytree in which the types of arrays, and calls, are as written.

    ``trees`` receives the structure and the source of each object that is named.
    """
    if isinstance(value, Name):
        named, text = attribute(names, value.text, "args", subject), value.text
        # A called object that isn't a pytree can't be an argument itself.
        if callable(named) and jax.tree.structure(named) == jax.tree.structure(0):
            named, text = call(names, named, text, "args"), f"{text}()"
        trees.append((jax.tree.structure(named), text))
        return named
    # For specs; an abstract value may already be a tree of any other kind.
    if isinstance(value, dict) and type(value) is dict:
        return {
            key: spec_value(item, names, f"{subject}[{key!r}]", trees)
            for key, item in value.items()
        }
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        items = enumerate(value)
        return type(value)(spec_value(item, names, f"{subject}[{i}]", trees) for i, item in items)
    return value


def call(names: ReachableNames, function: Any, path: str, option: str) -> Any:
    """The result of a function that an option names, which must not need an argument."""
    try:
        names.check_call(function, path)
    except Unreachable as error:
        raise RequestError(ErrorKind.OPTION, f"{option}: {error}", option=option) from None
    try:
        inspect.signature(function).bind()
    except ValueError:  # its signature is unknown
        pass
    except TypeError:
        needed = next(iter(inspect.signature(function).parameters), "x")
        meant = meant_name(path)
        instead = f"; for the value, write {meant}" if meant else ""
        message = f"{path!r} takes parameters: name a value, or a function without parameters"
        if not instead and option == "args":
            instead = f"; or call it, as in {path}({needed}=f32[8])"
            if not inspect.isroutine(function) and not isinstance(function, type):
                kind = type(function).__name__
                message = f"{path!r} is of type {kind}, which JAX can't trace"
                instead = "; give it in static"
        raise RequestError(
            ErrorKind.OPTION, f"{option}: {message}{instead}", option=option
        ) from None
    return function()


def check_refs(values: Mapping[str, object], labels: Mapping[str, str]) -> None:
    """Refuse a mutable array that two arguments share, as JAX does: types would hide it."""
    owners: dict[int, str] = {}
    for name, tree in values.items():
        for leaf in jax.tree.leaves(tree):
            if not isinstance(leaf, jax.Ref):
                continue
            owner = owners.get(id(leaf))
            if owner is not None:
                where = labels[name] if owner == labels[name] else f"{owner} and {labels[name]}"
                raise RequestError(
                    ErrorKind.OPTION,
                    f"args: {where} would get one Ref twice, which JAX refuses; name a function"
                    " that returns a new one",
                    option="args",
                )
            owners[id(leaf)] = labels[name]


def static_value(value: Value, names: ReachableNames, subject: str, option: str = "static") -> Any:
    """A value that is given as it is: a literal, an attribute by its name, what a call returns."""

    def inner(part: Value) -> Any:
        return static_value(part, names, subject, option)

    if isinstance(value, Name):
        return attribute(names, value.text, option, subject)
    if isinstance(value, Call):
        function = callable_of(value, names, option, subject)
        try:
            return function(
                *map(inner, value.arguments), **{key: inner(part) for key, part in value.keywords}
            )
        except RequestError:
            raise
        except Exception as error:
            text = words(source_text(value), 60)
            error.add_note(Hint(f"{text} raised it, for {subject} in {option}", option))
            raise
    if isinstance(value, dict):
        return {key: inner(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(inner, value))
    return value


def callable_of(
    value: Call, names: ReachableNames, option: str, subject: str
) -> Callable[..., Any]:
    """The function that a call in an option names, if the page may call it."""
    function = attribute(names, value.name, option, subject)
    problem = ""
    if not callable(function):
        problem = f"{value.name!r} is of type {type(function).__name__}: it can't be called"
    try:
        names.check_call(function, value.name)
    except Unreachable as error:
        problem = str(error)
    if problem:
        raise RequestError(ErrorKind.OPTION, f"{option}: {subject}: {problem}", option=option)
    made: Callable[..., Any] = function
    return made


def roots_of(values: Iterable[Value]) -> set[str]:
    """The first parts of all dotted names in values."""
    roots: set[str] = set()
    for value in values:
        if isinstance(value, Name):
            roots.add(plain_name(value.text).partition(".")[0])
        elif isinstance(value, Call):
            roots |= roots_of([Name(value.name), *value.values])
        elif isinstance(value, dict):
            roots |= roots_of(value.values())
        elif isinstance(value, (tuple, list)):
            roots |= roots_of(value)
    return roots


def plain_name(text: str) -> str:
    """A name as Python source: ``module:name`` is an attribute of the module, imported whole."""
    return text.replace(":", ".")


def source_text(value: Value) -> str:
    """A value as Python source, for the displayed call."""
    if isinstance(value, Name):
        return plain_name(value.text)
    if isinstance(value, Call):
        return call_source(value, source_text, plain_name(value.name))
    if isinstance(value, (Aval, Ref)):
        return str(value)
    return nested_source(value, source_text) or number_source(value)


def number_source(value: Any) -> str:
    """Any other value as source: Python has no literals for numbers that aren't finite."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{float(value)!r}")'
    if isinstance(value, complex) and not (math.isfinite(value.real) and math.isfinite(value.imag)):
        return f"complex({number_source(value.real)}, {number_source(value.imag)})"
    return repr(value)


def describe(value: Any) -> str:
    """An abstract value in the words of the page: ``{'w': f32[2]}``."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {describe(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        inner = ", ".join(map(describe, value))
        return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return printed(value)
    if isinstance(value, (bool, int, float, complex)):
        return repr(value) if not isinstance(value, int) else shorten(repr(value))[1:-1]
    return type(value).__name__


# --- abstract arguments as Python source that creates them


def abstract_source(value: Any, trees: Sequence[tuple[Any, str]]) -> str:
    """An abstract argument as Python source that creates it.

    ``trees`` has the structures of objects that the page names, and the source of each:
    a value with such a structure, and without a literal, is written by its leaves.
    """
    if _is_leaf(value):
        return _leaf_source(value)
    structure = jax.tree.structure(value)
    if not _is_literal(value):
        for tree, text in trees:
            if tree == structure:
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


def whole_source(tree: Any, trees: Sequence[tuple[Any, str]]) -> str:
    """A tree as Python source, with any values where it has types of arrays."""
    structure = jax.tree.structure(tree)
    sources: list[str] = [text for named, text in trees if named == structure]
    if sources and not _is_leaf(tree):
        return sources[-1]
    if nested := nested_source(tree, lambda item: whole_source(item, trees)):
        return nested
    return "0" if is_abstract(tree) else _leaf_source(tree)


def concrete_source(value: Any, trees: Sequence[tuple[Any, str]]) -> str:
    """An abstract argument as Python source that creates arrays of these types."""
    if not is_abstract(value):
        made = abstract_source(value, trees)
        if _is_leaf(value):
            return made
        return f"jax.tree.map(lambda leaf: jax.numpy.zeros(leaf.shape, leaf.dtype), {made})"
    aval = type_of(value)
    if jnp.issubdtype(aval.dtype, jax.dtypes.prng_key):
        key = f"jax.random.key(0, impl={KEYS.get(str(aval.dtype), 'threefry2x32')!r})"
        return f"jax.random.split({key}, {aval.shape})" if aval.shape else key
    array = f"jax.numpy.zeros({aval.shape}, {_dtype_source(aval)})"
    return f"jax.new_ref({array})" if is_ref(aval) else array


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
