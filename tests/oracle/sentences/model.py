"""What a sentence of the table is, and the programs that it is about."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp

from tests.oracle.sentences.objects import Program
from tests.oracle.transforms import Made, apply, label, tangent_places

#: As many characters as a sentence about one fact may take; ``f`` is the function.
MOST = 60


@dataclass(frozen=True, eq=False)
class Subject:
    """A function, the types of its arguments, and the chains of transforms to look at."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    chains: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__

    @cached_property
    def programs(self) -> Programs:
        return Programs(self)


class Programs:
    """The programs of a function as JAX makes them: ``f.base``, ``f.grad``, ``f.remat_grad``."""

    def __init__(self, subject: Subject) -> None:
        code = subject.function.__code__
        names = code.co_varnames[: code.co_argcount]
        self.made = Made(subject.function, subject.arguments, names)
        self.chains = {label(chain): chain for chain in subject.chains}
        self.traced: dict[str, Made] = {}

    def __getattr__(self, name: str) -> Program:
        if name != "base" and name not in self.chains:
            raise AttributeError(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = apply(self.made, self.chains[name]) if name in self.chains else self.made
            closed = jax.make_jaxpr(made.function)(*made.arguments)
        self.traced[name] = made
        # An attribute that is there isn't asked for again.
        self.__dict__[name] = found = Program(closed, tangent_places(made))
        return found


Oracle = Callable[[Programs], bool]


@dataclass(frozen=True, eq=False)
class Sentence:
    """One fact, how the language says it, and how it is read from JAX's objects.

    It is true of ``of``.  The false twin is the same of another function, ``not_of``, or
    another expression of the same function, ``instead``, with an oracle of its own.
    """

    fact: str
    source: str
    says: str
    of: Subject
    oracle: Oracle
    not_of: Subject | None = None
    instead: str = ""
    oracle_instead: Oracle | None = None
    #: Why it takes more than :data:`MOST` characters.
    long: str = ""

    def __post_init__(self) -> None:
        assert (self.not_of is None) == bool(self.instead) == bool(self.oracle_instead), self.fact

    @property
    def twin(self) -> tuple[Subject, str, Oracle]:
        """What is false: the function, the expression, the oracle."""
        if self.not_of is not None:
            return self.not_of, self.says, self.oracle
        assert self.oracle_instead is not None
        return self.of, self.instead, self.oracle_instead


def subject(*arguments: Any, chains: str = "") -> Callable[[Callable[..., Any]], Subject]:
    """Make a subject of the function that follows."""
    listed = tuple(chain.strip() for chain in chains.split(",") if chain.strip())
    return lambda function: Subject(function, arguments, listed)


def f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def bf16(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def i32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.int32)
