"""Words of parameters: none that changes the meaning is left out; sentences tried on numbers."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AbstractMesh, AxisType
from jax.sharding import PartitionSpec as P

from sphinx_jaxpr.program.glossary.glossary import builtin, printed_value
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.worker.facts import facts

glossary = builtin()
in_words = glossary.in_words


def array(*shape: int, dtype: Any = jnp.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


X, V, W = array(8, 4), array(4), array(4, 4)
IMAGE = array(2, 2, 9, 9, dtype=jnp.bfloat16)
KERNEL = array(2, 2, 3, 3, dtype=jnp.bfloat16)


def words(primitive: str, function: Callable[..., Any], *arguments: Any) -> str:
    """The words of the first equation of a primitive, at the top or in the only body."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jaxpr = jax.make_jaxpr(function)(*arguments)
    text = str(jaxpr)
    equation = next(e for e in parse(text).walk() if e.primitive == primitive)
    rows = [
        row
        for program in facts.collect(jaxpr).facts.to_json()["programs"]
        for row in program["equations"]
    ]
    row = next(row for row in rows if row[0] == primitive)
    shown = {
        p.name: printed_value(text[p.start : p.end]) for p in equation.parameters if not p.members
    }
    inputs = [operand.type for operand in equation.inputs]
    return in_words(primitive, {**shown, **row[4]}, row[3], inputs=inputs, programs=row[5])


def window(**changed: Any) -> Callable[..., Any]:
    given: dict[str, Any] = {
        "window_dimensions": (2, 2),
        "window_strides": (1, 1),
        "padding": ((0, 0), (0, 0)),
        **changed,
    }
    return lambda x: lax.reduce_window(x, 0.0, lax.add, **given)


def conv(**changed: Any) -> Callable[..., Any]:
    given: dict[str, Any] = {"window_strides": (1, 1), "padding": ((0, 0), (0, 0)), **changed}
    return lambda x, k: lax.conv_general_dilated(x, k, **given)


def part(function: Callable[..., Any], *given: Any, **options: Any) -> Callable[..., Any]:
    return lambda *arguments: function(*arguments, *given, **options)


#: primitive, arguments, a function; functions with one parameter changed, and what is said.
CHANGES: dict[str, tuple[tuple[Any, ...], Callable[..., Any], list[tuple[Any, str]]]] = {
    "dot_general": ((X, W), lax.dot, [
        (part(lax.dot, precision="highest"), "precision HIGHEST"),
        (part(lax.dot, precision=("default", "high")), "precision DEFAULT and HIGH"),
        (part(lax.dot, precision="BF16_BF16_F32"), "precision BF16_BF16_F32"),
        (part(lax.dot, preferred_element_type=jnp.float16), "gives float16"),
    ]),
    "conv_general_dilated": ((IMAGE, KERNEL), conv(), [
        (conv(precision="highest"), "precision HIGHEST"),
        (conv(preferred_element_type=jnp.float32), "gives float32"),
        (conv(padding=((1, 2), (0, 0))), "padded by 1 and 2 along space axis 0"),
        (conv(lhs_dilation=(2, 1)), "the array spread out by 2 × 1"),
        (conv(rhs_dilation=(2, 1)), "the kernel spread out by 2 × 1"),
        (conv(dimension_numbers=("NCHW", "OIHW", "NHWC")),
            "batch axis 0 and feature axis 3 of the result"),
        (conv(dimension_numbers=("CNHW", "IOHW", "NCHW")),
            "batch axis 1 and feature axis 0 of the array"),
    ]),
    "reduce_window_sum": ((X,), window(), [
        (window(window_strides=(2, 1)), "moving by 2 × 1"),
        (window(padding=((1, 0), (0, 0))), "padded by 1 and 0 along axis 0"),
        (window(base_dilation=(2, 1)), "the array spread out by 2 × 1"),
        (window(window_dilation=(1, 3)), "the window spread out by 1 × 3"),
    ]),
    "reshape": ((X,), part(lax.reshape, (32,)), [
        (part(lax.reshape, (32,), (1, 0)), "reads the axes in the order 1 and 0"),
    ]),
    "approx_top_k": ((X,), part(lax.approx_max_k, 2), [
        (part(lax.approx_min_k, 2), "the smallest"),
        (part(lax.approx_max_k, 2, recall_target=0.8), "expects to find the share 0.8 of them"),
        (part(lax.approx_max_k, 2, aggregate_to_topk=False), "gives more candidates than that"),
        (part(lax.approx_max_k, 2, reduction_dimension=0), "along axis 0"),
    ]),
    "gather": ((X, array(3, dtype=jnp.int32)), lambda x, i: x.at[i].get(mode="fill"), [
        (lambda x, i: x.at[i].get(mode="fill", fill_value=7.0), "are filled with 7.0"),
        (lambda x, i: x.at[i].get(mode="clip"), "parts outside are moved to the edge"),
        (lambda x, i: x.at[i].get(mode="fill", unique_indices=True), "promised to be different"),
    ]),
    "sort": ((X,), lax.sort, [
        (part(lax.sort, is_stable=False), "equal elements in any order"),
        (part(lax.sort, dimension=0), "along axis 0"),
    ]),
    "exp": ((X,), lax.exp, [
        (part(lax.exp, accuracy=getattr(lax, "AccuracyMode", None) and lax.AccuracyMode.HIGHEST),
            "accuracy HIGHEST"),
    ]),
    "eig": ((W,), lax.linalg.eig, [
        (part(lax.linalg.eig, compute_left_eigenvectors=False), "without left eigenvectors"),
        (part(lax.linalg.eig, compute_right_eigenvectors=False), "without right eigenvectors"),
    ]),
    "eigh": ((W,), lax.linalg.eigh, [
        (part(lax.linalg.eigh, subset_by_index=(0, 2)), "only numbers 0 to 1"),
        (part(lax.linalg.eigh, lower=False), "reads the upper triangle"),
        (part(lax.linalg.eigh, sort_eigenvalues=False), "eigenvalues in any order"),
    ]),
    "scatter": ((V,), lambda x: x.at[0].set(2.0), [
        (lambda x: x.at[0].apply(jnp.sin), "update_jaxpr makes the new values of the old ones"),
    ]),
    "debug_callback": ((V,), lambda x: jax.debug.callback(print, x), [
        (lambda x: jax.debug.callback(print, x, ordered=True), "in the order of the program"),
    ]),
    "svd": ((X,), lax.linalg.svd, [
        (part(lax.linalg.svd, full_matrices=False), "factors cut to the smaller size"),
        (part(lax.linalg.svd, compute_uv=False), "singular values only"),
        (part(lax.linalg.svd, subset_by_index=(0, 2), full_matrices=False), "only numbers 0 to 1"),
    ]),
    "schur": ((W,), lax.linalg.schur, [
        (part(lax.linalg.schur, compute_schur_vectors=False), "without the basis"),
    ]),
    "symmetric_product": ((W, W), lax.linalg.symmetric_product, [
        (part(lax.linalg.symmetric_product, alpha=2.0), "2 times the product"),
        (part(lax.linalg.symmetric_product, beta=3.0), "3 times the symmetric matrix"),
    ]),
    "rng_bit_generator": ((array(4, dtype=jnp.uint32),), part(lax.rng_bit_generator, (3,)), [
        (part(lax.rng_bit_generator, (3,), algorithm=lax.RandomAlgorithm.RNG_PHILOX),
            "the generator Philox"),
    ]),
    "remat2": ((X,), jax.checkpoint(jnp.sin), [
        (jax.checkpoint(jnp.sin, prevent_cse=False), "the compiler may merge it"),
        (jax.checkpoint(jnp.sin, policy=jax.checkpoint_policies.save_only_these_names("a")),
            "a policy says what is kept"),
    ]),
    "fft": ((array(4, dtype=jnp.complex64),), jnp.fft.irfft, [
        (part(jnp.fft.irfft, n=5), "of length 5"),
    ]),
    "top_k": ((X,), part(lax.top_k, 2), [(part(lax.top_k, 3), "the 3 largest")]),
    "round": ((X,), part(lax.round, lax.RoundingMethod.AWAY_FROM_ZERO), [
        (part(lax.round, lax.RoundingMethod.TO_NEAREST_EVEN), "halves to the nearest even number"),
    ]),
    "triangular_solve": ((array(4, 4, dtype=jnp.complex64),) * 2, lax.linalg.triangular_solve, [
        (part(lax.linalg.triangular_solve, conjugate_a=True), "conjugated"),
        (part(lax.linalg.triangular_solve, unit_diagonal=True), "ones on its diagonal"),
    ]),
    "ragged_dot_general": ((X, array(2, 4, 5), array(2, dtype=jnp.int32)), lax.ragged_dot, [
        (part(lax.ragged_dot, precision="highest"), "precision HIGHEST"),
        (part(lax.ragged_dot, preferred_element_type=jnp.complex64), "gives complex64"),
    ]),
}  # fmt: skip


@pytest.mark.parametrize("primitive", CHANGES)
def test_a_parameter_that_changes_the_meaning_is_in_the_words(primitive: str) -> None:
    arguments, plain, changes = CHANGES[primitive]
    usual = words(primitive, plain, *arguments)
    for function, expected in changes:
        said = words(primitive, function, *arguments)
        assert expected in said
        assert expected not in usual


def test_shardings_are_in_the_words() -> None:
    mesh = "NamedSharding(mesh=AbstractMesh('x': 2, axis_types=(Explicit,)), spec="
    for spec, said in (
        ("P('x', None)", True),
        ("PartitionSpec(('x', 'y'),)", True),
        ("P()", False),
    ):
        told = in_words("reduce_sum", {"axes": [0], "out_sharding": f"{mesh}{spec})"})
        placed = f"; sharded as {spec.replace('PartitionSpec', 'P')}" if said else ""
        assert told == f"over axis 0{placed}"
    automatic = AbstractMesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    shard = functools.partial(
        jax.shard_map, mesh=automatic, in_specs=P("x"), out_specs=P(None, "x"), axis_names={"x"}
    )
    said = words("shard_map", shard(lambda a: a), array(4, 8))
    assert "manual over axis x only" in said
    assert "result 0 cut along axis 1 over x" in said


# -- numbers -----------------------------------------------------------------------------


def meaning(name: str) -> str:
    entry = glossary.entry(name)
    assert entry is not None
    return entry.meaning


def test_a_reshape_reads_the_axes_in_their_order_or_another() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert list(lax.reshape(x, (6,))) == list(x.ravel())
    assert list(lax.reshape(x, (6,), (1, 0))) == list(x.T.ravel())
    assert meaning("reshape").endswith("the last axis fastest, unless another order is given.")


def test_a_dynamic_slice_is_moved_inside() -> None:
    x = np.arange(5)
    assert list(lax.dynamic_slice(x, (4,), (3,))) == [2, 3, 4]
    assert list(lax.dynamic_update_slice(x, np.array([7, 7, 7]), (4,))) == [0, 1, 7, 7, 7]
    assert "moved inside" in meaning("dynamic_slice")
    assert "moved inside" in meaning("dynamic_update_slice")


def test_elementary_functions_are_accurate_and_not_exact() -> None:
    tiny = np.float32(1e-10)
    for name, function in (("expm1", np.expm1), ("log1p", np.log1p)):
        assert float(getattr(lax, name)(tiny)) == pytest.approx(float(function(1e-10)), rel=1e-6)
    for entry in map(glossary.entry, glossary.known()):
        assert entry is not None
        assert "exact also" not in entry.meaning


def test_a_polygamma_of_order_zero_is_the_digamma_function() -> None:
    assert float(lax.polygamma(0.0, 2.5)) == pytest.approx(float(lax.digamma(2.5)), rel=1e-5)
    assert meaning("polygamma").startswith("A derivative of the digamma function")


def test_a_symmetric_product_has_two_factors() -> None:
    a, c = np.array([[1.0, 2.0], [0.0, 1.0]]), np.eye(2)
    found = lax.linalg.symmetric_product(a, c, alpha=2.0, beta=3.0, symmetrize_output=True)
    assert np.allclose(found, 2.0 * a @ a.T + 3.0 * c)


def test_members_that_receive_nothing_get_zeros() -> None:
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Auto,))
    shard = functools.partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    given = np.array([5.0, 7.0], np.float32)
    assert list(shard(lambda x: lax.ppermute(x, "i", [(0, 0)]))(given)) == [5.0, 7.0]
    assert list(shard(lambda x: lax.ppermute(x, "i", []))(given)) == [0.0, 0.0]


def test_a_scatter_overwrites_or_applies_a_function() -> None:
    x = jnp.array([1.0, 2.0, 3.0])
    assert list(x.at[1].set(7.0)) == [1.0, 7.0, 3.0]
    assert list(x.at[1].apply(lambda old: old * 10)) == [1.0, 20.0, 3.0]
    assert "or puts there what a function that the program holds makes of them" in meaning(
        "scatter"
    )


@pytest.mark.parametrize(
    "name, reduced",
    [("psum", jnp.sum), ("pmax", jnp.max), ("pmin", jnp.min)],
)
def test_a_collective_over_an_axis_with_a_number_reduces_the_array(name: str, reduced: Any) -> None:
    function = jax.vmap(functools.partial(getattr(lax, name), axis_name="i"), axis_name="i")
    x = jnp.arange(6.0).reshape(3, 2)
    (first, *_) = jax.make_jaxpr(function)(x).eqns
    assert (first.primitive.name, first.params["axes"]) == (name, (0,))
    assert first.outvars[0].aval.shape == (2,)
    assert np.allclose(function(x), jnp.broadcast_to(reduced(x, axis=0), (3, 2)))
    assert "over a numbered axis of the array" in meaning(name)


def test_singular_values_alone_have_no_factors() -> None:
    alone = words("svd", functools.partial(lax.linalg.svd, compute_uv=False), X)
    assert "factors" not in alone


def test_a_real_number_has_a_complex_conjugate() -> None:
    assert lax.conj(jnp.float32(2.0)).dtype == jnp.complex64
    assert meaning("conj").endswith("of a real number, the same as a complex one.")


def test_windows_with_padding_and_dilation() -> None:
    x = np.array([1.0, 2.0, 3.0])
    padded = lax.reduce_window(x, 0.0, lax.add, (2,), (1,), ((1, 0),))
    assert list(padded) == [1.0, 3.0, 5.0]
    spread = lax.reduce_window(x, 0.0, lax.add, (2,), (1,), ((0, 0),), window_dilation=(2,))
    assert list(spread) == [4.0]


def test_select_n_picks_the_third_operand_where_the_first_is_true() -> None:
    picked = lax.select_n(np.array([False, True]), np.array([1, 2]), np.array([3, 4]))
    assert list(picked) == [1, 4]


def test_a_convolution_does_not_turn_its_kernel_around() -> None:
    x, k = np.arange(4.0).reshape(1, 1, 4), np.array([[[1.0, 10.0]]])
    assert lax.conv_general_dilated(x, k, (1,), "VALID").ravel().tolist() == [10.0, 21.0, 32.0]
    assert "without turning the kernel around" in meaning("conv_general_dilated")
