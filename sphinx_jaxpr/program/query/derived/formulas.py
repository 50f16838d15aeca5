"""Floating-point operations by formula, from shapes and parameters.

Contractions and convolutions count as XLA's analysis of costs does: two for each product
that is summed, and none for products with the padding.  What is counted, and where XLA
counts otherwise, is in the reference: ``docs/reference/flops.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

Shape = Sequence[int]

#: A product and the addition to its sum.
MULTIPLY_ADD: Final = 2


class NoFormula(Exception):
    """What of an equation no formula knows, in words that go on after its name."""


def contraction(contracts: Sequence[tuple[int, int]], left: Shape, result: Shape) -> int:
    """Of ``dot_general``: each element of the result is a sum of products."""
    return MULTIPLY_ADD * math.prod(result) * math.prod(left[axis] for axis, _ in contracts)


def ragged(
    contracts: Sequence[tuple[int, int]], ragged_axis: int, left: Shape, result: Shape
) -> int:
    """Of ``ragged_dot_general``: each row of the left belongs to one group.

    Where the ragged axis is contracted, all groups together sum over it once.
    """
    contracted = [axis for axis, _ in contracts]
    total = MULTIPLY_ADD * math.prod(result) * math.prod(left[axis] for axis in contracted)
    return total // result[0] if ragged_axis in contracted and result and result[0] else total


@dataclass(frozen=True)
class Window:
    """One spatial axis of a convolution."""

    size: int  # of the input
    kernel: int
    result: int
    stride: int
    padding: int  # in front
    input_dilation: int
    kernel_dilation: int

    def products(self) -> int:
        """Pairs of a position of the result and one of the kernel that meet an element.

        The others meet the padding, or the zeros between elements of a dilated input.
        """
        # Which of both is gone through makes no difference, and one of them is short.
        sides = sorted([(self.kernel, self.kernel_dilation), (self.result, self.stride)])
        (short, near), (long, far) = sides
        starts = (position * near - self.padding for position in range(short))
        return sum(self._meeting(start, far, long) for start in starts)

    @property
    def work(self) -> int:
        """How many positions :meth:`products` looks at."""
        return min(self.kernel, self.result)

    def _meeting(self, start: int, step: int, count: int) -> int:
        """How many of ``start + step * n``, for ``n`` below ``count``, are elements."""
        dilation = self.input_dilation
        common = math.gcd(step, dilation)
        if start % common:
            return 0  # all are between elements
        # Every ``period``-th is not, from ``first`` on.
        period = dilation // common
        first = -(start // common) * pow(step // common, -1, period) % period
        least = max(0, -(start // step))
        most = min(count - 1, ((self.size - 1) * dilation - start) // step)
        return max(0, (most - first) // period - (least - 1 - first) // period)


@dataclass(frozen=True)
class Convolution:
    """A convolution: ``features`` products for each pair that meets in its windows."""

    features: int
    windows: tuple[Window, ...]

    @property
    def work(self) -> int:
        """How many positions :meth:`operations` looks at."""
        return sum(window.work for window in self.windows)

    def operations(self) -> int:
        """Two for each product that is summed."""
        try:
            pairs = math.prod(window.products() for window in self.windows)
        except ZeroDivisionError:
            raise NoFormula("has a stride or a dilation of 0") from None
        return MULTIPLY_ADD * self.features * pairs


def convolution(
    parameter: Callable[[str], Any], inputs: Shape, kernel: Shape, result: Shape
) -> Convolution:
    """``conv_general_dilated`` with its parameters, for operands and a result of these shapes.

    Raises :class:`NoFormula` where a parameter is not as JAX has it.
    """
    try:
        of_input, of_kernel, of_result = parameter("dimension_numbers")
        (batch, feature, *axes), (_, _, *kernel_axes) = of_input, of_kernel
        _, result_feature, *result_axes = of_result
        features = inputs[feature] // int(parameter("feature_group_count")) * result[result_feature]
        features *= inputs[batch] // int(parameter("batch_group_count"))
        rows = zip(
            *([inputs[axis] for axis in axes], [kernel[axis] for axis in kernel_axes]),
            *([result[axis] for axis in result_axes], parameter("window_strides")),
            *([low for low, _ in parameter("padding")], parameter("lhs_dilation")),
            parameter("rhs_dilation"),
            strict=True,
        )
        return Convolution(int(features), tuple(Window(*map(int, row)) for row in rows))
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        raise NoFormula("has parameters that can't be read") from None


def comparisons(shape: Shape, axis: int) -> int:
    """Of sorting along an axis: of ``n`` elements each is compared about ``log2(n)`` times."""
    return math.prod(shape) * max(shape[axis] - 1, 0).bit_length()


def cholesky(shape: Shape) -> int:
    """A third of the cube of its size."""
    return math.prod(shape) * shape[-1] // 3


def lu(shape: Shape) -> int:
    """Two thirds of the cube of its size, and the like for a matrix that isn't square."""
    rows, columns = shape[-2:]
    short = min(rows, columns)
    cubes = 6 * rows * columns * short - 3 * (rows + columns) * short**2 + 2 * short**3
    return math.prod(shape[:-2]) * cubes // 3


def triangular_solve(matrix: Shape, result: Shape) -> int:
    """The square of the matrix's size for each right-hand side."""
    return math.prod(result) * matrix[-1]


def fft(shape: Shape, lengths: Shape, is_real: bool) -> int:
    """``5 n log2(n)`` of ``n`` complex numbers, half of that for real ones."""
    logarithms = sum(max(length - 1, 0).bit_length() for length in lengths)
    return 5 * math.prod(shape) * logarithms // (2 if is_real else 1)
