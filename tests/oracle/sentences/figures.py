"""What ten functions keep and cost, worked out by hand from their shapes.

``kept`` are the bytes of :attr:`Program.residuals`: each value once that the backward part
reads and did not make.  ``base`` and ``grad`` are the operations of each contraction and
convolution of the function and of its gradient: two for each multiplication, and none where
a window lies on padding, on a hole of a dilated operand or beyond an edge.  That is what XLA
counts, too.  In a loop they are those of one turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from tests.oracle.sentences.model import Subject, bf16, f32, i32, subject
from tests.oracle.sentences.objects import Program

#: Bytes of a number.
F32, BF16 = 4, 2


@dataclass(frozen=True, eq=False)
class Figures:
    of: Subject
    kept: int
    base: list[int]
    #: Those that the gradient has beside those of ``base``.
    more: list[int]

    @property
    def grad(self) -> list[int]:
        return [*self.base, *self.more]


def summed(program: Program) -> Iterable[Any]:
    """The contractions and convolutions of a program at any depth."""
    return (
        e for e in program.everything if e.primitive.name in ("dot_general", "conv_general_dilated")
    )


def by_xla(equation: Any) -> float:
    """The operations of one equation, as XLA counts them in what JAX lowers it to.

    That is before compiling: for a processor without bfloat16, JAX 0.10 and 0.12 compile a
    contraction of such numbers with conversions, which are counted as well.
    """
    given = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in equation.invars]
    run = jax.jit(lambda *values: equation.primitive.bind(*values, **equation.params))
    analysis = run.lower(*given).cost_analysis()
    assert analysis is not None
    return float(analysis["flops"])


@subject(f32(16, 4), f32(8, 16), chains="grad")
def product(w, x):
    return x @ w


@subject(f32(3, 8, 16), f32(3, 16, 4), chains="grad")
def batched(x, w):
    return jnp.einsum("bij,bjk->bik", x, w)


@subject(f32(4, 3, 3, 3), f32(2, 3, 8, 8), chains="grad")
def convolution(w, x):
    return lax.conv_general_dilated(x, w, (2, 2), ((1, 1), (1, 1)))


MLP = {"b1": f32(32), "b2": f32(4), "w1": f32(16, 32), "w2": f32(32, 4)}


def _mlp(params, x):
    hidden = jnp.sin(x @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


@subject(MLP, f32(8, 16), chains="grad")
def mlp(params, x):
    return _mlp(params, x)


@subject(MLP, f32(8, 16), chains="grad")
def mlp_anew(params, x):
    return jax.checkpoint(_mlp)(params, x)


@subject({"k": f32(12, 8), "q": f32(10, 8), "v": f32(12, 6)}, chains="grad")
def attention(given):
    return jax.nn.softmax(given["q"] @ given["k"].T / 8.0) @ given["v"]


@subject(f32(5, 16, 16), f32(8, 16), chains="grad")
def layers(w, x):
    return lax.scan(lambda x, w: (jnp.sin(x @ w), None), x, w)[0]


@subject(bf16(16, 4), bf16(8, 16), chains="grad")
def mixed(w, x):
    return jnp.sin((x @ w).astype(jnp.float32))


@subject(f32(8, 10), f32(8, 10), chains="grad")
def softmax(x, weights):
    return jax.nn.softmax(x) * weights


@subject(f32(8, 10), f32(10), chains="grad")
def layer_norm(x, gain):
    centred = x - jnp.mean(x, axis=1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=1, keepdims=True)
    return centred * lax.rsqrt(variance + 1e-6) * gain


FIGURES = [
    # x, for the gradient of w.
    Figures(product, F32 * 8 * 16, [2 * 8 * 4 * 16], [2 * 16 * 4 * 8]),
    # w, for the gradient of x.
    Figures(batched, F32 * 3 * 16 * 4, [2 * 3 * 8 * 4 * 16], [2 * 3 * 8 * 16 * 4]),
    # x.  Along an axis the four windows lie on 2, 3, 3 and 3 elements: the first one begins
    # on the padding.  The gradient goes through the same pairs.
    Figures(
        convolution,
        F32 * 2 * 3 * 8 * 8,
        [2 * 2 * 4 * 3 * (2 + 3 + 3 + 3) ** 2],
        [2 * 2 * 4 * 3 * (2 + 3 + 3 + 3) ** 2],
    ),
    # x for w1, the cosine for the sine, the sine for w2, w2 for the sine.
    Figures(
        mlp,
        F32 * (8 * 16 + 8 * 32 + 8 * 32 + 32 * 4),
        [2 * 8 * 32 * 16, 2 * 8 * 4 * 32],
        [2 * 32 * 4 * 8, 2 * 8 * 32 * 4, 2 * 16 * 32 * 8],
    ),
    # All arguments but b2, which nothing on the way back needs; the first product again.
    Figures(
        mlp_anew,
        F32 * (8 * 16 + 16 * 32 + 32 + 32 * 4),
        [2 * 8 * 32 * 16, 2 * 8 * 4 * 32],
        [2 * 8 * 32 * 16, 2 * 32 * 4 * 8, 2 * 8 * 32 * 4, 2 * 16 * 32 * 8],
    ),
    # q, the transposed k, and v; of the softmax the exponentials, their sums, the inverse
    # squares of these, and the quotients.
    Figures(
        attention,
        F32 * (10 * 8 + 8 * 12 + 12 * 6 + 10 * 12 + 10 + 10 + 10 * 12),
        [2 * 10 * 12 * 8, 2 * 10 * 6 * 12],
        [2 * 12 * 6 * 10, 2 * 10 * 12 * 6, 2 * 12 * 8 * 10, 2 * 10 * 8 * 12],
    ),
    # The weights; of each of five turns what goes in, and the cosine.
    Figures(
        layers,
        F32 * (5 * 16 * 16 + 5 * 8 * 16 + 5 * 8 * 16),
        [2 * 8 * 16 * 16],
        [2 * 16 * 16 * 8, 2 * 8 * 16 * 16],
    ),
    # x in two bytes, the cosine in four.
    Figures(mixed, BF16 * 8 * 16 + F32 * 8 * 4, [2 * 8 * 4 * 16], [2 * 16 * 4 * 8]),
    # The weights, the exponentials, their sums, the inverse squares of these.
    Figures(softmax, F32 * (8 * 10 + 8 * 10 + 8 + 8), [], []),
    # The gain as a row, the centred rows, the inverse root, and its derivative.
    Figures(layer_norm, F32 * (10 + 8 * 10 + 8 + 8), [], []),
]


# -- further forms of contractions and convolutions, whose figures are XLA's

X, W = f32(2, 4, 9, 7), f32(6, 4, 3, 2)


@subject(X, W)
def in_steps(x, w):
    return lax.conv_general_dilated(x, w, (2, 3), ((2, 1), (0, 2)))


@subject(X, W)
def same_size(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME")


@subject(X, W)
def wide_windows(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (2, 0)), rhs_dilation=(2, 3))


@subject(X, W)
def with_holes(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), ((2, 2), (1, 1)), lhs_dilation=(2, 3))


@subject(X, W)
def cropped(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), ((-1, 0), (0, -2)))


@subject(X, f32(8, 1, 3, 3))
def by_channel(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=4)


@subject(X, W)
def by_half_batches(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", batch_group_count=2)


@subject(f32(2, 9, 4), f32(3, 4, 5))
def along_a_line(x, w):
    """Batch, place, channel: other orders of axes than above."""
    return lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


@subject(i32(3), i32(3))
def inner_product(x, y):
    return x @ y


@subject(f32(3), f32(4))
def outer_product(x, y):
    return lax.dot_general(x, y, (((), ()), ((), ())))


@subject(f32(5, 2, 3, 4), f32(2, 5, 4, 6, 3))
def two_and_two(x, y):
    return lax.dot_general(x, y, (((2, 3), (4, 2)), ((0, 1), (1, 0))))


FORMS = [
    in_steps, same_size, wide_windows, with_holes, cropped, by_channel, by_half_batches,
    along_a_line, inner_product, outer_product, two_and_two,
]  # fmt: skip
