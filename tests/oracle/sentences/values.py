"""Types, sizes and bytes, casts, kinds of equations, contractions and what they cost."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.oracle.sentences.model import Sentence, bf16, f32, i32, subject
from tests.oracle.sentences.objects import contracted, dtype, multiplications, nbytes, shape, size

# -- types


@subject(bf16(32, 64), bf16(64, 64), bf16(64), chains="grad")
def dense(x, w, b):
    return jnp.tanh(x @ w + b)


@subject(f32(32, 64), f32(64, 64), f32(64), chains="grad")
def dense_in_f32(x, w, b):
    return jnp.tanh(x @ w + b)


@subject(bf16(32, 64), f32(64, 8), bf16(8))
def dense_of_two_types(x, w, b):
    return jnp.tanh(x @ w + b)


@subject(bf16(8, 4))
def summed(x):
    return jnp.sum(x)


@subject(jax.ShapeDtypeStruct((8, 4), jnp.int8))
def summed_bytes(x):
    return jnp.sum(x)


@subject(f32(8, 4), f32(4, 16))
def lowered(x, w):
    """The product in half the bytes."""
    return x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)


@subject(f32(8, 4), f32(4, 16))
def quantised(x, w):
    return x.astype(jnp.int8) @ w.astype(jnp.int8)


TABLE, WIDE_TABLE = jnp.arange(5.0), jnp.arange(50.0)


@subject(f32())
def looked_up(x):
    return x * TABLE


@subject(f32())
def looked_up_in_wide(x):
    return x * WIDE_TABLE


@subject(2.0, f32(3))
def with_number(x, y):
    return x * y


@subject(f32(), f32(3))
def with_scalar(x, y):
    return x * y


@subject(2.0)
def number_alone(x):
    return jnp.sin(x)


# -- kinds


@subject(f32(8))
def pointwise(x):
    return jnp.sin(x) * x + 1.0


@subject(f32(8, 8), f32(8, 8))
def two_products(x, w):
    return jnp.sin(x @ w) @ w


@subject(f32(8, 4))
def normalised(x):
    return x / jnp.sqrt(jnp.sum(x * x, axis=1, keepdims=True))


# -- contractions


@subject(f32(8, 4), f32(16, 4))
def by_rows(x, w):
    return jnp.einsum("ik,jk->ij", x, w)


@subject(f32(8, 4), f32(4, 16))
def product(x, w):
    return x @ w


@subject(f32(2, 8, 4), f32(8, 4, 5))
def two_axes(x, w):
    return jnp.tensordot(x, w, axes=2)


@subject(f32(3, 8, 4), f32(3, 4, 5))
def batched(x, w):
    return jnp.einsum("bij,bjk->bik", x, w)


@subject(f32(3), f32(4))
def outer(x, y):
    return lax.dot_general(x, y, (((), ()), ((), ())))


@subject(f32(8, 4), f32(4, 1))
def thin(x, w):
    return jnp.tanh(jnp.tanh(x @ w))


@subject(f32(1, 3, 8, 8), f32(4, 3, 3, 3))
def convolved(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "VALID")


@subject(f32(1, 3, 8, 8), f32(4, 3, 3, 3))
def convolved_in_steps(x, w):
    return lax.conv_general_dilated(x, w, (2, 2), "VALID")


@subject(f32(1000), f32(1000))
def large_between(x, y):
    return jnp.sum(jnp.outer(x, y))


@subject(f32(4))
def repeated(x):
    return jnp.broadcast_to(x, (3, 4)) * 2.0


@subject(i32(4), f32(10))
def gathered(at, x):
    return x[at]


LESSON = "our lesson: transforms"
TRIALS = "the table of trials"


def casts(f):
    return f.base.named("convert_element_type")


def by_formula(equation):
    """What an equation of a dense layer costs: two operations for each multiplication."""
    if equation.primitive.name == "dot_general":
        return 2 * multiplications(equation)
    moves = equation.primitive.name in ("broadcast_in_dim", "reshape")
    return 0 if moves else size(equation.outvars[0])


SENTENCES = [
    Sentence(
        "The result is a matrix of 8 by 16 numbers in f32.",
        "JAX docs: tracing",
        'f.outputs[0].type == "f32[8,16]"',
        product,
        lambda f: (shape(f.base.outs[0]), dtype(f.base.outs[0])) == ((8, 16), "float32"),
        lowered,
    ),
    Sentence(
        "The product is computed in bfloat16.",
        LESSON,
        'f[dot_general].type == "bf16[32,64]"',
        dense,
        lambda f: dtype(f.base.only("dot_general").outvars[0]) == "bfloat16",
        dense_in_f32,
    ),
    Sentence(
        "All values are in bfloat16.",
        LESSON,
        'all(v.dtype == "bf16" for v in f.variables)',
        dense,
        lambda f: {dtype(v) for v in f.base.variables} == {"bfloat16"},
        dense_of_two_types,
    ),
    Sentence(
        "A sum of bfloat16 numbers is taken in f32.",
        LESSON,
        'f[reduce_sum].dtype == "f32"',
        summed,
        lambda f: dtype(f.base.only("reduce_sum").outvars[0]) == "float32",
        summed_bytes,
    ),
    Sentence(
        "There and back: two casts.",
        LESSON,
        "len(f[convert_element_type]) == 2",
        summed,
        lambda f: len(casts(f)) == 2,
        summed_bytes,
    ),
    Sentence(
        "Every cast goes to bfloat16.",
        "blogs: mixed precision",
        'all(e.dtype == "bf16" for e in f[convert_element_type])',
        lowered,
        lambda f: {dtype(e.outvars[0]) for e in casts(f)} == {"bfloat16"},
        quantised,
    ),
    Sentence(
        "The gradient in f32 needs no cast.",
        LESSON,
        "not f.grad[convert_element_type]",
        dense_in_f32,
        lambda f: not f.grad.named("convert_element_type"),
        dense,
    ),
    Sentence(
        "The result has 2,048 numbers.",
        "blogs: shapes",
        "f.outputs[0].size == 2048",
        dense,
        lambda f: size(f.base.outs[0]) == 2048,
        dense_of_two_types,
    ),
    Sentence(
        "The largest value has 4,096 numbers.",
        TRIALS,
        "max(v.size for v in f.variables) == 4096",
        dense,
        lambda f: max(map(size, f.base.variables)) == 4096,
        dense_of_two_types,
    ),
    Sentence(
        "A value between is larger than all that goes in.",
        "issues: memory of an outer product",
        "max(e.size for e in f) > sum(v.size for v in f.inputs)",
        large_between,
        lambda f: max(size(e.outvars[0]) for e in f.base.eqns) > sum(map(size, f.base.ins)),
        dense,
    ),
    Sentence(
        "The weights take 8,192 bytes.",
        "blogs: memory of weights",
        "f.inputs[w].bytes == 8192",
        dense,
        lambda f: nbytes(f.base.ins[1]) == 8192,
        dense_in_f32,
    ),
    Sentence(
        "The cast halves the bytes of x.",
        "blogs: mixed precision",
        "2 * f[convert_element_type][0].bytes == f.inputs[x].bytes",
        lowered,
        lambda f: 2 * nbytes(casts(f)[0].outvars[0]) == nbytes(f.base.ins[0]),
        quantised,
    ),
    Sentence(
        "The captured constants take 20 bytes.",
        "issues: large captured constants",
        "sum(v.bytes for v in f.consts) == 20",
        looked_up,
        lambda f: sum(map(nbytes, f.base.consts)) == 20,
        looked_up_in_wide,
    ),
    Sentence(
        "A number of Python is weakly typed.",
        TRIALS,
        "f.inputs[x].weak",
        with_number,
        lambda f: f.base.ins[0].aval.weak_type,
        with_scalar,
    ),
    Sentence(
        "The result is not weakly typed.",
        "JAX docs: type promotion",
        "not f.outputs[0].weak",
        with_number,
        lambda f: not f.base.outs[0].aval.weak_type,
        number_alone,
    ),
    Sentence(
        "All equations work element by element.",
        "our lesson: reading",
        'all(e.kind == "elementwise" for e in f)',
        pointwise,
        lambda f: set(f.base.ops) <= {"sin", "mul", "add"},
        two_products,
    ),
    Sentence(
        "There is one contraction.",
        LESSON,
        'len([e for e in f if e.kind == "contraction"]) == 1',
        product,
        lambda f: len(f.base.named("dot_general")) == 1,
        two_products,
    ),
    Sentence(
        "Something is summed up.",
        "blogs: normalisation",
        'any(e.kind == "reduction" for e in f)',
        normalised,
        lambda f: bool(f.base.named("reduce_sum")),
        pointwise,
    ),
    Sentence(
        "Taking elements by an array of positions is a gather.",
        "questions and answers: indexing",
        "f.all[gather]",
        gathered,
        lambda f: bool(f.base.inside("gather")),
        pointwise,
    ),
    Sentence(
        "Axis 1 of x is contracted with axis 0 of w.",
        TRIALS,
        "f[dot_general].contracts == ((1, 0),)",
        dense,
        lambda f: contracted(f.base.only("dot_general")) == ((1, 0),),
        by_rows,
    ),
    Sentence(
        "Two pairs of axes are contracted.",
        "JAX docs: dot_general",
        "len(f[dot_general].contracts) == 2",
        two_axes,
        lambda f: len(contracted(f.base.only("dot_general"))) == 2,
        product,
    ),
    Sentence(
        "The first axis of both operands is a batch axis.",
        LESSON,
        "f[dot_general].params[dimension_numbers][1] == ((0,), (0,))",
        batched,
        lambda f: (
            [
                list(map(int, axes))
                for axes in f.base.only("dot_general").params["dimension_numbers"][1]
            ]
            == [[0], [0]]
        ),
        product,
    ),
    Sentence(
        "An outer product sums over nothing.",
        "JAX docs: dot_general",
        "len(f[dot_general].contracts) == 0",
        outer,
        lambda f: not contracted(f.base.only("dot_general")),
        product,
    ),
    Sentence(
        "The product takes 2 x 32 x 64 x 64 operations.",
        "blogs: counting FLOPs",
        "f[dot_general].flops == 2 * 32 * 64 * 64",
        dense,
        lambda f: 2 * multiplications(f.base.only("dot_general")) == 2 * 32 * 64 * 64,
        dense_of_two_types,
    ),
    Sentence(
        "The hyperbolic tangent takes one operation an element.",
        "blogs: counting FLOPs",
        "f[tanh].flops == f[tanh].size",
        dense,
        lambda f: by_formula(f.base.only("tanh")) == size(f.base.only("tanh").outvars[0]),
        instead="f[tanh].flops == f[dot_general].flops",
        oracle_instead=lambda f: (
            by_formula(f.base.only("tanh")) == by_formula(f.base.only("dot_general"))
        ),
    ),
    Sentence(
        "Nearly all operations are those of the product.",
        "blogs: counting FLOPs",
        "f[dot_general].flops > 0.9 * sum(e.flops for e in f)",
        dense,
        lambda f: by_formula(f.base.only("dot_general")) > 0.9 * sum(map(by_formula, f.base.eqns)),
        thin,
    ),
    Sentence(
        "Each of 144 results takes 27 multiplications and additions.",
        "blogs: counting FLOPs",
        "f[conv_general_dilated].flops == 2 * 144 * 27",
        convolved,
        # No padding: every position of the window meets an element.
        lambda f: size(f.base.only("conv_general_dilated").outvars[0]) * 3 * 3 * 3 == 144 * 27,
        convolved_in_steps,
    ),
    Sentence(
        "The bias gets a first axis of size 1.",
        LESSON,
        "f[broadcast_in_dim].shape[0] == 1",
        dense,
        lambda f: shape(f.base.only("broadcast_in_dim").outvars[0])[0] == 1,
        repeated,
    ),
]
