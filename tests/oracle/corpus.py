"""Functions times transforms, traced twice: by the oracle and by the product."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax

from .adapter import NAME, Product
from .functions import CASES, Case
from .phases import body_of, params_of
from .reading import Block
from .transforms import CHAINS, SINGLE, Made, apply, label, leaf_names, places_of, tangent_places

#: What a function that takes long is tried with.
FEW = ["jit", "grad", "vmap", "jvp"]


@dataclass
class Traced:
    """One function with its variants, as both sides see them; names are ``f``, ``f.grad``."""

    case: Case
    blocks: dict[str, Block]
    made: dict[str, Made]
    product: Product
    #: Chains that JAX refuses, with the type of its exception.
    refused: dict[str, str] = field(default_factory=dict)
    #: The chains that were tried.
    asked: list[str] = field(default_factory=list)

    @property
    def chains(self) -> dict[str, str]:
        """The chains of the variants by their labels."""
        return {label(chain): chain for chain in self.asked if chain not in self.refused}

    @property
    def base(self) -> Block:
        return self.blocks[NAME]

    @cached_property
    def words(self) -> set[str]:
        """What stands in brackets: primitives, parameters, arguments."""
        found = {argument for block in self.blocks.values() for argument, _ in block.names}
        for block in self.blocks.values():
            for equation in block.all:
                found |= {equation.primitive, *params_of(equation.raw)}
        return found


def names_of(case: Case) -> tuple[str, ...]:
    """The names of a function's parameters."""
    code = case.function.__code__
    return code.co_varnames[: code.co_argcount]


def chosen(case: Case, share: float, seed: int) -> list[str]:
    """The chains for a function: its own, and a part of those that all share."""
    every = FEW if case.heavy else [*SINGLE, *CHAINS]
    count = max(1, round(len(every) * share))
    found = random.Random(f"{seed} {case.name}").sample(every, count)
    return list(dict.fromkeys([*(case.own if share >= 0.3 else case.own[:2]), *found]))


def trace(case: Case, chains: list[str]) -> Traced:
    """Trace a function and its variants on both sides."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = Made(case.function, case.arguments, names_of(case))
        made, blocks, refused = {NAME: base}, {NAME: block_of(base)}, {}
        for chain in chains:
            name = f"{NAME}.{label(chain)}"
            try:
                made[name] = apply(base, chain)
                blocks[name] = block_of(made[name], blocks[NAME])
            except Exception as error:  # whatever JAX or the function raises
                refused[chain] = type(error).__name__
                made.pop(name, None)
                continue
            blocks[NAME].variants[label(chain)] = blocks[name]
        traced = [chain for chain in chains if chain not in refused]
        product = Product(case.function, case.arguments, ", ".join(traced))
    return Traced(case, blocks, made, product, refused, chains)


def block_of(made: Made, base: Block | None = None) -> Block:
    """The oracle's view of a function as it is traced."""
    program = jax.make_jaxpr(made.function)(*made.arguments)
    names = leaf_names(made.names, made.arguments)
    block = Block(program, names, tangent_places(made), base, _seeds(made, program))
    block.cotangents, block.seeded = places_of(made, made.cotangents), made.seeded
    return block


def _seeds(made: Made, program: Any) -> list[int] | None:
    """The basis that ``jacfwd`` makes for its tangents, as values of the program.

    The same is traced with the basis as an argument: what reads that argument there reads
    the basis here.  ``None`` where the two can't be laid beside one another.
    """
    if made.based is None:
        return []
    function, basis = made.based
    if function is None:
        return None
    inner = body_of(jax.make_jaxpr(function)(basis, *made.arguments))
    whole, length = body_of(program), len(inner.eqns)
    shapes = [_outline(equation) for equation in inner.eqns]
    for start in range(len(whole.eqns) - length + 1):
        part = whole.eqns[start : start + length]
        if [_outline(equation) for equation in part] != shapes:
            continue
        pairs = zip(inner.eqns, part, strict=True)
        return [
            id(there)
            for one, two in pairs
            for here, there in zip(one.invars, two.invars, strict=True)
            if here is inner.invars[0]
        ]
    return None


def _outline(equation: Any) -> Any:
    types = [str(v.aval) for v in (*equation.invars, *equation.outvars)]
    return equation.primitive.name, types


def corpus(share: float, seed: int = 0, functions: float = 1.0) -> Iterator[Traced]:
    """Every function that this JAX can trace, with ``share`` of the transforms."""
    names = sorted(name for name, case in CASES.items() if not case.missing)
    if functions < 1:
        names = sorted(random.Random(seed).sample(names, round(len(names) * functions)))
    for name in names:
        yield trace(CASES[name], chosen(CASES[name], share, seed))
