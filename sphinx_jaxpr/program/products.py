"""Parameters in words: products, windows, spectra and decompositions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import formats
from .applied import Applied


def dot_general(use: Applied) -> Iterator[str]:
    match use.parameters.get("dimension_numbers"):
        case [[left, right], [left_batch, right_batch]]:
            lists = [formats.integers(item) for item in (left, right, left_batch, right_batch)]
        case _:
            lists = [None]
    if None in lists or len(left) != len(right) or len(left_batch) != len(right_batch):
        return
    yield _contracted(left, right, left_batch, right_batch)
    yield _result(use)


def _contracted(left: Any, right: Any, left_batch: Any, right_batch: Any) -> str:
    contracted, batch = "contracts no axes", "no batch axes"
    if left:
        contracted = f"contracts {formats.axes(left)} of the left"
        contracted += f" with {formats.axes(right)} of the right"
    if left_batch:
        both = left_batch == right_batch
        batch = f"batch {formats.axes(left_batch)} of "
        batch += "both" if both else f"the left with {formats.axes(right_batch)} of the right"
    return f"{contracted}, {batch}"


def _result(use: Applied) -> str:
    """The type that the sums have, where it is not that of both operands."""
    result = formats.dtype(use.parameters.get("preferred_element_type"))
    return f"gives {result}" if result and {use.dtype(0), use.dtype(1)} != {result} else ""


def ragged(use: Applied) -> Iterator[str]:
    match use.parameters.get("ragged_dot_dimension_numbers"):
        case [[[left, right], [left_batch, right_batch]], ragged, groups]:
            lists = [left, right, left_batch, right_batch, ragged, groups]
        case _:
            return
    if None in map(formats.integers, lists) or len(left) != len(right):
        return
    yield _contracted(left, right, left_batch, right_batch)
    if ragged:
        yield f"groups along {formats.axes(ragged)} of the left"
    if groups:
        yield f"a part for each group along {formats.axes(groups)} of the right"
    yield _result(use)


def conv(use: Applied) -> Iterator[str]:
    match use.parameters.get("dimension_numbers"):
        case [array, kernel, result] if (axes := formats.integers(kernel)) and len(axes) > 1:
            shape = use.shape(1)
            if shape and len(axes) > 2 and all(0 <= axis < len(shape) for axis in axes[2:]):
                yield f"a window of {formats.sizes([shape[axis] for axis in axes[2:]])}"
            for what, layout in (("array", array), ("result", result)):
                places = formats.integers(layout)
                if places and len(places) > 1 and places != sorted(places):
                    yield f"batch axis {places[0]} and feature axis {places[1]} of the {what}"
            if axes != sorted(axes):
                yield (
                    f"output feature axis {axes[0]} and input feature axis {axes[1]} of the kernel"
                )
    strides = use.ints("window_strides")
    if strides and set(strides) != {1}:
        yield f"moving by {formats.sizes(strides)}"
    yield from _padded(use, "space axis")
    yield from _spread(use, ("lhs_dilation", "the array"), ("rhs_dilation", "the kernel"))
    for name in ("feature", "batch"):
        if (groups := use.number(f"{name}_group_count") or 1) > 1:
            yield formats.count(groups, f"{name} group")
    yield _result(use)


def _padded(use: Applied, what: str) -> Iterator[str]:
    rows = formats.rows(use.parameters.get("padding"), 2)
    for place, axis in enumerate(rows or ()):
        if any(axis):
            yield f"padded by {axis[0]} and {axis[1]} along {what} {place}"


def _spread(use: Applied, *dilated: tuple[str, str]) -> Iterator[str]:
    for name, what in dilated:
        dilation = use.ints(name)
        if dilation and set(dilation) != {1}:
            yield f"{what} spread out by {formats.sizes(dilation)}"


def window(use: Applied) -> Iterator[str]:
    """Reductions over windows, and what belongs to them."""
    if sizes := formats.sizes(use.parameters.get("window_dimensions")):
        yield f"a window of {sizes}"
    if strides := formats.sizes(use.parameters.get("window_strides")):
        yield f"moving by {strides}"
    yield from _padded(use, "axis")
    yield from _spread(use, ("base_dilation", "the array"), ("window_dilation", "the window"))
    chosen = {"ge": "the largest element", "le": "the smallest element"}
    select = use.parameters.get("select_prim")
    if isinstance(select, str) and select in chosen:
        yield f"at {chosen[select]} of each window"


def fft(use: Applied) -> Iterator[str]:
    kinds = ("forwards", "backwards", "forwards, from real", "backwards, to real")
    kind, lengths = use.number("fft_type"), use.ints("fft_lengths")
    if kind is not None and 0 <= kind < len(kinds):
        yield kinds[kind]
    if lengths:
        yield "over the last " + (
            f"{len(lengths)} axes, of length {formats.sizes(lengths)}"
            if len(lengths) > 1
            else f"axis, of length {lengths[0]}"
        )


def subset(use: Applied) -> Iterator[str]:
    """Decompositions that give some of their values only."""
    bounds = use.ints("subset_by_index")
    if bounds and len(bounds) == 2:
        yield f"only numbers {bounds[0]} to {bounds[1] - 1}"
    algorithm = use.parameters.get("algorithm")
    if isinstance(algorithm, str) and not algorithm.endswith("DEFAULT"):
        yield f"by the algorithm {algorithm.rpartition('.')[2]}"


def svd(use: Applied) -> Iterator[str]:
    """Which factors there are; only where there are any, their size matters."""
    if use.is_true("compute_uv"):
        yield "with singular vectors"
        if "full_matrices" in use.parameters:
            full = use.is_true("full_matrices")
            yield "full square factors" if full else "factors cut to the smaller size"
    elif "compute_uv" in use.parameters:
        yield "singular values only"
    yield from subset(use)


def generator(use: Applied) -> Iterator[str]:
    algorithm = use.parameters.get("algorithm")
    kinds = ("", "Threefry", "Philox")  # the first is the compiler's choice
    if isinstance(algorithm, int) and not isinstance(algorithm, bool) and 0 < algorithm < 3:
        yield f"the generator {kinds[algorithm]}"
