"""What JAX prints for functions and words that are not primitives, from ``functions.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from .text import series

#: The table of names of which JAX prints one of several primitives, not all.
EITHER: Final = "either"


@cache
def tables() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """The primitives of each name, by the module that publishes it; ``words`` are of no module."""
    data = tomllib.loads(files(__package__).joinpath("functions.toml").read_text("utf-8"))
    return {
        module: {name: tuple(primitives) for name, primitives in names.items()}
        for module, names in data.items()
    }


@cache
def _listed() -> Mapping[str, tuple[tuple[str, ...], bool]]:
    return {
        name: (primitives, module == EITHER)
        for module, names in tables().items()
        for name, primitives in names.items()
    }


def _row(function: str) -> tuple[tuple[str, ...], bool]:
    name = function.rpartition(".")[2]
    return _listed().get(name) or _listed().get(name.lower()) or ((), False)


def primitives_of(function: str) -> tuple[str, ...]:
    """What JAX prints for a function, ``jnp.matmul`` or ``matmul``; nothing if not listed."""
    return _row(function)[0]


def printed_for(function: str) -> str:
    """``JAX prints `reduce_sum` and `div` for it``, or ``""``."""
    primitives, is_either = _row(function)
    names = [f"`{primitive}`" for primitive in primitives]
    return f"JAX prints {series(names, 'or' if is_either else 'and')} for it" if names else ""
