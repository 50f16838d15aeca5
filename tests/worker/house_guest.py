"""A module beside ``house``, which ``jaxpr_allowed_modules`` does not list."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple


def strange(*args: Any) -> Any:
    """Outside: it must not be called."""
    raise AssertionError(args)


class Base:
    """A class that others inherit from."""

    shared = 3

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __call__(self, x: Any) -> Any:
        return x

    def inherited(self, x: Any) -> Any:
        return x

    def __matmul__(self, x: Any) -> Any:
        return x


class Optimizer(NamedTuple):
    """A record of functions, as optimizers are."""

    init: Callable[..., Any]


class Settings:
    """An object with attributes."""

    width = 3
    act = staticmethod(strange)


class Getter:
    """A descriptor."""

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return strange


class Answering:
    """A class that has an answer to any name."""

    @property
    def got(self) -> Any:
        return strange()

    def __getattr__(self, name: str) -> Any:
        return strange(name)


class Meta(type):
    """A class of classes."""

    def __call__(cls, *args: Any) -> Any:
        return strange(*args)


class Beginning:
    """A class whose objects begin with more than their fields."""

    def __post_init__(self) -> None:
        strange()


class Another(functools.partial[Any]):
    """A partial that calls something else."""

    def __call__(self, *args: Any) -> Any:
        return strange(*args)


def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that keeps the name and the module of what it wraps."""

    @functools.wraps(fn)
    def call(*args: Any) -> Any:
        return fn(*args)

    return call


instance = Base()
settings = Settings()
