"""The values that options of a page may hold, and the transforms that they name, as plain data.

The check of what a page writes and the reference page follow the one table of transforms; a new
transform starts there.  Its function is entered in ``worker/transforms/table.py``.
"""

from __future__ import annotations

import difflib
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ..program.dtypes import DTYPES, KEYS, MEANT_DTYPES
from ..program.text import shorten

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


def _inside(value: Any) -> Iterable[Any]:
    """The values directly in a value."""
    if isinstance(value, Call):
        return value.values
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (tuple, list)) else ()


def parts_of(value: Any) -> Iterator[Any]:
    """A value and all values in it."""
    yield value
    for part in _inside(value):
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


# --- the likely meaning of a value that isn't written in the language of the options

_SHORT: Final[dict[str, str]] = {
    **{long: short for short, long in DTYPES.items()},
    **MEANT_DTYPES,
}
#: A spec behind a colon, as in ``x: f32[2,3]``.
_SPEC: Final = re.compile(r":\s*([\w.]+(?:<\w+>)?\[[\w\s,@()]*\])")
_SINGLE: Final = {"true": "True", "false": "False", "none": "None", "null": "None"}
_ENDLESS: Final = {"inf": "inf", "infinity": "inf", "nan": "nan"}


def meant_dtype(name: str) -> str:
    """The dtype that a wrong name means, ``""`` if none is near: ``jnp.float32``."""
    last = name.rpartition(".")[2].lower()
    if last in DTYPES:
        return last
    if last in _SHORT:
        return _SHORT[last]
    letters = _letters(last)
    alike = [dtypes for dtypes in DTYPES if _letters(dtypes) == letters]
    dtypes = alike or [*DTYPES, *KEYS]
    near = difflib.get_close_matches(last, dtypes, n=1, cutoff=0.5)
    longer = [dtype for dtype in alike if dtype.startswith(f"{last}_")]
    return (longer or near or [""])[0]


def _letters(name: str) -> str:
    return name[: len(name) - len(name.lstrip(string.ascii_lowercase))]


def meant_name(name: str) -> str:
    """The value meant by a name that does not exist: ``f32`` is ``f32[]``."""
    last = name.rpartition(".")[2]
    short = {long: short for short, long in DTYPES.items()}.get(last, last)
    if short in DTYPES or name in KEYS:
        return f"{short}[]"
    return {**_ENDLESS, **_SINGLE}.get(last.lower(), "")


def meant_call(value: Any) -> str:
    """The value that a call means, ``""`` if there is none: ``float("-inf")``."""
    if isinstance(value, Call) and value.name == "float" and len(value.values) == 1:
        text = str(value.values[0]).strip().lower()
        sign = "-" if text.startswith("-") else ""
        if number := _ENDLESS.get(text.lstrip("+-"), ""):
            return f"{sign}{number}"
    return ""


#: How deep calls may be nested in each other where a page gives an argument as it is.
MAX_CALLS: Final = 4


def unfit(value: Any, calls: int = 0) -> str:
    """Why a page can't give a value as it is, untraced, or ``""``; ``calls`` are around it."""
    if isinstance(value, (Aval, Ref)):
        return f"is a spec, {value}: specs belong in args"
    if meant := meant_call(value):
        return f"is a call; write {meant}"
    calls += isinstance(value, Call)
    if calls > MAX_CALLS:
        return f"has more than {MAX_CALLS} calls inside each other: write a function for it"
    return next(filter(None, (unfit(part, calls) for part in _inside(value))), "")


def meant_array(value: Any) -> str:
    """The array whose shape a tuple of numbers looks like, ``""`` if it does not."""
    if not isinstance(value, (tuple, list)) or not value:
        return ""
    sizes = [size for size in value if type(size) is int and size > 0]
    return str(Aval("f32", tuple(sizes))) if len(sizes) == len(value) else ""


def call_source(call: Call, source: Callable[[Any], str], name: str = "") -> str:
    """A call as Python source, of a function with another ``name`` if one is given."""
    listed = [source(value) for value in call.arguments]
    listed += [f"{key}={source(value)}" for key, value in call.keywords]
    return f"{name or call.name}({', '.join(listed)})"


def separating(before: str, rest: str) -> str:
    """A hint for a character that is found instead of a comma, behind the text ``before``."""
    if rest.startswith("@"):
        return "; mesh axes follow a dimension, as in f32[4@a,8]"
    if rest.startswith(":"):
        name = re.split(r"[,\n]", before)[-1].strip()
        spec = _SPEC.match(rest)
        if name.isidentifier() and spec is not None:
            return f"; write {shorten(f'{name}={spec[1]}')[1:-1]}"
        return "; a name is joined with '=', as in x=f32[8]"
    if rest.startswith("{"):
        return "; a mutable array is written Ref{f32[3]}"
    if rest[:1] in set("+-*/%"):
        return "; options compute nothing: name an attribute of the target's module"
    return ""


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
