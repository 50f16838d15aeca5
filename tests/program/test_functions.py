"""The table of functions that are not primitives, against what the running JAX prints."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from sphinx_jaxpr.program.functions import EITHER, primitives_of, printed_for, tables
from sphinx_jaxpr.program.glossary.glossary import builtin

VECTOR, MATRIX, FLAGS = jnp.ones(4), jnp.ones((4, 4)), jnp.ones(4) > 0
NUMBERS, KEY = jnp.arange(4), jax.random.key(0)
HEADS = jnp.ones((1, 2, 1, 4))


def _over_devices(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    mesh = AbstractMesh((4,), ("i",), axis_types=(AxisType.Auto,))
    spec = PartitionSpec("i")
    return jax.shard_map(fn, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)


#: Arguments of those functions that take something else than one vector.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        "append arctan2 divide equal greater greater_equal inner less less_equal maximum minimum"
        " mod multiply not_equal outer power remainder subtract true_divide vdot".split(),
        (VECTOR, VECTOR),
    ),
    **dict.fromkeys("dot matmul tensordot".split(), (MATRIX, MATRIX)),
    **dict.fromkeys("matrix_transpose ravel tril triu".split(), (MATRIX,)),
    **dict.fromkeys("logical_and logical_or logical_xor".split(), (FLAGS, FLAGS)),
    **dict.fromkeys("all any logical_not".split(), (FLAGS,)),
    **dict.fromkeys("bitwise_and bitwise_or bitwise_xor".split(), (NUMBERS, NUMBERS)),
    **dict.fromkeys("bitwise_not invert".split(), (NUMBERS,)),
    **dict.fromkeys("concat hstack vstack".split(), ([VECTOR, VECTOR],)),
    "batch_matmul": (MATRIX[None], MATRIX[None]),
    "conjugate": (VECTOR * 1j,),
    "dot_product_attention": (HEADS, HEADS, HEADS),
    "take": (VECTOR, NUMBERS),
    "where": (FLAGS, VECTOR, VECTOR),
}
#: How functions are called that take more than arrays, and what words mean.
CALLS: dict[str, Callable[[], Any]] = {
    "all_reduce": lambda: _over_devices(lambda v: lax.psum(v, "i"))(VECTOR),
    "allgather": lambda: _over_devices(lambda v: lax.all_gather(v, "i", tiled=True))(VECTOR),
    "arange": lambda: jnp.arange(4),
    "associative_scan": lambda: lax.associative_scan(jnp.add, VECTOR),
    "astype": lambda: VECTOR.astype(jnp.int32),
    "attention": lambda: jax.nn.softmax(MATRIX @ MATRIX) @ MATRIX,
    "bernoulli": lambda: jax.random.bernoulli(KEY, 0.5, (4,)),
    "bmm": lambda: jnp.matmul(MATRIX[None], MATRIX[None]),
    "cast": lambda: VECTOR.astype(jnp.int32),
    "categorical": lambda: jax.random.categorical(KEY, VECTOR),
    "clip": lambda: jnp.clip(VECTOR, 0, 1),
    "conv": lambda: lax.conv(jnp.ones((1, 1, 4, 4)), jnp.ones((1, 1, 2, 2)), (1, 1), "SAME"),
    "cosine": lambda: jnp.cos(VECTOR),
    "division": lambda: VECTOR / VECTOR,
    "dropout": lambda: jnp.where(jax.random.bernoulli(KEY, 0.5, (4,)), VECTOR, 0),
    "einsum": lambda: jnp.einsum("ij,jk->ik", MATRIX, MATRIX),
    "embedding": lambda: MATRIX[NUMBERS],
    "expand_dims": lambda: jnp.expand_dims(VECTOR, 0),
    "exponential": lambda: jnp.exp(VECTOR),
    "eye": lambda: jnp.eye(4),
    "flatten": lambda: MATRIX.flatten(),
    "fold_in": lambda: jax.random.fold_in(KEY, 1),
    "fori_loop": lambda: lax.fori_loop(0, 3, lambda n, c: c + 1, VECTOR),
    "full": lambda: jnp.full(4, 2.0),
    "full_like": lambda: jnp.full_like(VECTOR, 2.0),
    "gelu": lambda: jax.nn.gelu(VECTOR),
    "identity": lambda: jnp.identity(4),
    "if": lambda: lax.cond(FLAGS[0], jnp.sin, jnp.cos, VECTOR),
    "key": lambda: jax.random.key(NUMBERS[0]),
    "linear": lambda: VECTOR @ MATRIX + VECTOR,
    "logarithm": lambda: jnp.log(VECTOR),
    "map": lambda: lax.map(jnp.sin, VECTOR),
    "minus": lambda: VECTOR - VECTOR,
    "moveaxis": lambda: jnp.moveaxis(MATRIX, 0, 1),
    "mult": lambda: VECTOR * VECTOR,
    "normal": lambda: jax.random.normal(KEY, (4,)),
    "one_hot": lambda: jax.nn.one_hot(NUMBERS, 4),
    "ones": lambda: jnp.ones(4),
    "permute": lambda: jnp.permute_dims(MATRIX, (1, 0)),
    "permute_dims": lambda: jnp.permute_dims(MATRIX, (1, 0)),
    "plus": lambda: VECTOR + VECTOR,
    "pmean": lambda: _over_devices(lambda v: lax.pmean(v, "i"))(VECTOR),
    "power": lambda: jnp.power(VECTOR, VECTOR),
    "reduce_mean": lambda: VECTOR.mean(),
    "repeat": lambda: jnp.repeat(VECTOR, 2),
    "segment_sum": lambda: jax.ops.segment_sum(VECTOR, NUMBERS, 4),
    "sine": lambda: jnp.sin(VECTOR),
    "slice_in_dim": lambda: lax.slice_in_dim(VECTOR, 0, 2),
    "swapaxes": lambda: jnp.swapaxes(MATRIX, 0, 1),
    "switch": lambda: lax.switch(NUMBERS[0], [jnp.sin, jnp.cos], VECTOR),
    "take_along_axis": lambda: jnp.take_along_axis(VECTOR, NUMBERS, 0),
    "uniform": lambda: jax.random.uniform(KEY, (4,)),
    "while_loop": lambda: lax.while_loop(lambda c: c[0] < 1, lambda c: c + 1, VECTOR),
    "zeros": lambda: jnp.zeros(4),
}
#: Words for the same as another name.
ALIKE = {
    "allreduce": "all_reduce",
    "contraction": "einsum",
    "convolution": "conv",
    "for_loop": "fori_loop",
    "gemm": "matmul",
    "mm": "matmul",
    "multiplication": "mult",
    "subtraction": "minus",
    "times": "mult",
}
#: Other arguments for which JAX prints the others of several primitives.
OTHERWISE: dict[str, Callable[[], Any]] = {
    "fori_loop": lambda: lax.fori_loop(0, NUMBERS[0], lambda n, c: c + 1, VECTOR),
    "gelu": lambda: jax.nn.gelu(VECTOR, approximate=False),
    "power": lambda: jnp.power(VECTOR, 3),
}
ROWS = [(module, name) for module, names in tables().items() for name in names]


def _primitives(jaxpr: Any) -> Iterator[str]:
    """The names of all primitives of a program and of those inside it."""
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        held = jax.tree.leaves([*equation.params.values()], is_leaf=_is_program)
        for inner in filter(_is_program, held):
            yield from _primitives(getattr(inner, "jaxpr", inner))


def _is_program(value: Any) -> bool:
    return hasattr(value, "eqns") or hasattr(value, "jaxpr")


def _printed(call: Callable[[], Any], *arguments: Any) -> set[str]:
    """What JAX prints for a call; arrays that it closes over are constants, which is the same."""
    return set(_primitives(jax.make_jaxpr(call)(*arguments).jaxpr))


@pytest.mark.parametrize(("module", "name"), ROWS)
def test_each_function_prints_its_primitives(module: str, name: str) -> None:
    primitives, meant = primitives_of(name), ALIKE.get(name, name)
    if meant in CALLS:
        printed = _printed(CALLS[meant])
    else:
        module = module if meant == name and module != "words" else "jax.numpy"
        function = getattr(importlib.import_module(module), meant)
        printed = _printed(function, *ARGUMENTS.get(meant, (VECTOR,)))
    if name in tables()[EITHER]:
        printed |= _printed(OTHERWISE[meant])
    assert not set(primitives) - printed, printed


def test_no_function_is_a_primitive() -> None:
    for _, name in ROWS:
        assert builtin().entry(name) is None, name
        assert all(primitive in builtin().known() for primitive in primitives_of(name)), name
    assert len({name for _, name in ROWS}) == len(ROWS)


def test_functions_are_found_with_their_modules_and_in_words() -> None:
    assert primitives_of("jnp.matmul") == primitives_of("MatMul") == ("dot_general",)
    assert printed_for("jax.nn.softmax") == (
        "JAX prints `reduce_max`, `exp`, `reduce_sum` and `div` for it"
    )
    assert printed_for("gelu") == "JAX prints `tanh` or `erfc` for it"
    assert printed_for("tanh") == "" == printed_for("")
