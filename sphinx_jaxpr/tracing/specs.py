"""The values that options of a page may hold, and the transforms that they name, as plain data.

The check of what a page writes and the reference page follow the one table of transforms; a new
transform starts there.  Its function is entered in ``worker/transforms/table.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

# --- the values

WIDE: Final = frozenset({"f64", "i64", "u64", "c128"})
#: Memory spaces, as jaxprs print them: ``f32<host>[4]``.
MEMORIES: Final = ("host", "device")
#: What the axes of a mesh may be, as in ``jax.sharding.AxisType``.
AXIS_TYPES: Final = ("Auto", "Explicit", "Manual")


@dataclass(frozen=True)
class Name:
    """A dotted name: an argument, an attribute of the target's module, or ``module:name``."""

    text: str


@dataclass(frozen=True)
class Aval:
    """An abstract array: short dtype and dimensions.

    ``axes`` has the mesh axes that split each dimension, if any is split;
    ``memory`` is a memory space other than the default one.
    """

    dtype: str
    shape: tuple[int, ...]
    axes: tuple[tuple[str, ...], ...] = ()
    memory: str = ""

    def __str__(self) -> str:
        dims = list(map(str, self.shape))
        for axis, names in enumerate(self.axes):
            if names:
                dims[axis] += f"@{names[0]}" if len(names) == 1 else f"@({','.join(names)})"
        space = f"<{self.memory}>" if self.memory else ""
        return f"{self.dtype}{space}[{','.join(dims)}]"


@dataclass(frozen=True)
class Ref:
    """A mutable array, ``Ref{f32[3]}``."""

    inner: Aval

    def __str__(self) -> str:
        return f"Ref{{{self.inner}}}"


@dataclass(frozen=True)
class Mesh:
    """Axes of a mesh with their sizes, and the type of each."""

    axes: tuple[tuple[str, int], ...]
    types: tuple[str, ...]

    def __str__(self) -> str:
        quoted = ((name if name.isidentifier() else repr(name), size) for name, size in self.axes)
        sizes = ", ".join(f"{name}: {size}" for name, size in quoted)
        kinds = dict.fromkeys(self.types)
        if kinds.keys() == {"Auto"}:
            return f"{{{sizes}}}"
        listed = ", ".join(f'"{kind}"' for kind in self.types)
        kinds_text = f'"{self.types[0]}"' if len(kinds) == 1 else f"({listed})"
        return f"{{{sizes}}}, axis_types={kinds_text}"

    @property
    def source(self) -> str:
        """The mesh as Python source."""
        kinds = ", ".join(f"jax.sharding.AxisType.{kind}" for kind in self.types)
        names, sizes = zip(*self.axes, strict=True)
        comma = "," if len(self.types) == 1 else ""
        return f"jax.sharding.AbstractMesh({sizes!r}, {names!r}, axis_types=({kinds}{comma}))"


@dataclass(frozen=True)
class Call:
    """A name with arguments: ``save_only_these_names("a")``, ``Model(w=f32[2,3])``."""

    name: str
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...] = ()

    @property
    def values(self) -> list[Value]:
        """All arguments, however they are passed."""
        return [*self.arguments, *(value for _, value in self.keywords)]


Value: TypeAlias = (
    "int | float | complex | str | bool | None | Name | Aval | Ref | Call"
    " | tuple[Any, ...] | list[Any] | dict[str | int, Any]"
)


def inside(value: Any) -> Iterable[Any]:
    """The values directly in a value."""
    if isinstance(value, Call):
        return value.values
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (tuple, list)) else ()


def parts_of(value: Any) -> Iterator[Any]:
    """A value and all values in it."""
    yield value
    for part in inside(value):
        yield from parts_of(part)


def names_in(value: Any) -> Iterator[str]:
    """All names in a value, those that are called as well."""
    for part in parts_of(value):
        if isinstance(part, Name):
            yield part.text
        elif isinstance(part, Call):
            yield part.name


@dataclass(frozen=True)
class Step:
    """One transform with the options that were written."""

    name: str
    options: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True)
class Chain:
    """Transforms applied left to right, and the label of the resulting variant."""

    steps: tuple[Step, ...]
    label: str
    offset: int = 0


# --- the built-in transforms


@dataclass(frozen=True)
class Transform:
    """``options`` maps each option to its default, in words; ``rule`` says what it does."""

    options: Mapping[str, str]
    rule: str


_ARGNUMS: Final = {"argnums": "first argument"}
_SUMMED: Final = {**_ARGNUMS, "sum": "True"}
_INTEGERS: Final = {"allow_int": "False"}

#: The built-in transforms by name: what a page may write, what the worker has a function
#: for, and what the reference lists.
TRANSFORMS: Final[Mapping[str, Transform]] = {
    "jit": Transform({}, "`jax.jit`: the program becomes one equation around a nested one."),
    "grad": Transform(
        {**_SUMMED, **_INTEGERS},
        "`jax.grad`. A result that is not a scalar is summed first, and the call in the header"
        " says so; with `sum=False` JAX's own error comes through. Integers, flags and random keys"
        " inside an argument are left out of differentiation, and the block lists them; with"
        " `allow_int=True` their gradients are JAX's zeros of type `float0`.",
    ),
    "value_and_grad": Transform(
        {**_SUMMED, **_INTEGERS}, "`jax.value_and_grad`, with the same sum and the same integers."
    ),
    "hessian": Transform(
        _SUMMED, "`jax.hessian`, with the same sum; integers and keys are left out."
    ),
    "jvp": Transform(
        _ARGNUMS,
        "`jax.jvp`: a tangent for each argument of `argnums` becomes an argument, of type `float0`"
        " for integers and keys.",
    ),
    "vjp": Transform(_ARGNUMS, "`jax.vjp`: the cotangent of the result becomes the last argument."),
    "linearize": Transform(
        _ARGNUMS,
        "`jax.linearize`, its linear function applied to tangents that become arguments.",
    ),
    "jacfwd": Transform(_ARGNUMS, "`jax.jacfwd`; integers and keys are left out, as of `grad`."),
    "jacrev": Transform(
        {**_ARGNUMS, **_INTEGERS},
        "`jax.jacrev`; integers and keys are left out, as of `grad`.",
    ),
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


# --- values as Python source


def call_source(call: Call, source: Callable[[Any], str], name: str = "") -> str:
    """A call as Python source, of a function with another ``name`` if one is given."""
    listed = [source(value) for value in call.arguments]
    listed += [f"{key}={source(value)}" for key, value in call.keywords]
    return f"{name or call.name}({', '.join(listed)})"


def nested_source(value: Any, source: Callable[[Any], str]) -> str:
    """A dict, tuple or list as Python source, ``""`` for anything else.

    ``source`` writes each value inside; a key that was written as a plain word is a string.
    """
    if type(value) is dict:
        return "{" + ", ".join(f"{key!r}: {source(part)}" for key, part in value.items()) + "}"
    if type(value) not in (tuple, list):
        return ""
    inner = ", ".join(map(source, value))
    if isinstance(value, list):
        return f"[{inner}]"
    return f"({inner},)" if len(value) == 1 else f"({inner})"
