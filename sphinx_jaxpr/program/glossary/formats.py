"""Values in words: plain ones, templates with values in them, and structured parameters.

A format returns ``None`` for a value that is not of its sort.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..dtypes import long_dtype
from ..text import plural, series, spelled

# --- values in words, and templates of words with values in them

MOST: Final = 8  # of a longer list, only so many are spelled out
_CLASS: Final = re.compile(r"<class '(?:\w+\.)*(\w+)'>")
_FIELD: Final = re.compile(r"\{(\w+)(?::(\w+)|\?([^|}]*)\|?([^}]*))\}")


def integer(value: Any) -> int | None:
    """An integer that some machine could hold; flags don't count."""
    fits = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**64
    return value if fits else None


def integers(value: Any) -> list[int] | None:
    """A list of integers."""
    if not isinstance(value, (list, tuple)):
        return None
    numbers = [number for item in value if (number := integer(item)) is not None]
    return numbers if len(numbers) == len(value) else None


def listed(items: Iterable[object]) -> str:
    """``0``, ``0 and 1``, ``0, 1 and 2``, ``0, 1, ... and 9 more``."""
    words = [str(item) for item in items]
    if len(words) > MOST:
        words[MOST - 1 :] = [f"{len(words) - MOST + 1} more"]
    return series(words, "and")


def axes(value: Any) -> str | None:
    """``axis 0``, ``axes x and y``: by number or by name."""
    items = value if isinstance(value, (list, tuple)) else [value]
    for item in items:
        if not (item.isidentifier() if isinstance(item, str) else integer(item) is not None):
            return None
    return {0: "no axes", 1: "axis "}.get(len(items), "axes ") + listed(items)


def _axis(value: Any) -> str | None:
    """``axis 1``; a negative one counts from the end."""
    axis = integer(value)
    if axis is None:
        return None
    return "the last axis" if axis == -1 else f"axis {axis}"


def _number(value: Any) -> str | None:
    """``0.95``, ``2``."""
    return None if isinstance(value, bool) or not isinstance(value, (int, float)) else f"{value:g}"


def shape(value: Any) -> str | None:
    """``(8, 4)``."""
    numbers = integers(value)
    if numbers is None or len(numbers) <= MOST:
        return None if numbers is None else str(tuple(numbers))
    return f"({', '.join(map(str, numbers[:MOST]))}, …)"


def sizes(value: Any) -> str | None:
    """``8 × 4``."""
    numbers = integers(value) or []
    texts = [*map(str, numbers[:MOST]), *(["…"] if len(numbers) > MOST else ())]
    return " × ".join(texts) or None


def dtype(value: Any) -> str | None:
    """``float32``, also where its class is printed."""
    name = value.get("dtype") if isinstance(value, Mapping) else value
    if isinstance(name, str) and (match := _CLASS.fullmatch(name)):
        return match[1]
    return name if isinstance(name, str) and name.isidentifier() else None


def _quoted(value: Any) -> str | None:
    """A text on one line, cut where it is long."""
    if not isinstance(value, str) or not value.strip():
        return None
    line = spelled(" ".join(value.split()))
    return f'"{line if len(line) <= 60 else line[:59] + "…"}"'


def rows(value: Any, width: int) -> list[list[int]] | None:
    """A list of lists of ``width`` integers each."""
    if not isinstance(value, (list, tuple)):
        return None
    read = [row for item in value if (row := integers(item)) is not None and len(row) == width]
    return read if len(read) == len(value) else None


def _pairs(value: Any) -> str | None:
    """``0 to 1 and 1 to 0``."""
    return listed(f"{first} to {second}" for first, second in rows(value, 2) or ()) or None


def _groups(value: Any) -> str | None:
    """``(0, 1) and (2, 3)``."""
    groups = value if isinstance(value, (list, tuple)) else ()
    texts = [text for group in groups if (text := shape(group))]
    return listed(texts) if texts and len(texts) == len(groups) else None


FORMATS: Final[dict[str, Callable[[Any], str | None]]] = {
    "axes": axes,
    "axis": _axis,
    "dtype": dtype,
    "groups": _groups,
    "int": lambda value: None if integer(value) is None else str(value),
    "list": lambda value: listed(numbers) if (numbers := integers(value)) else None,
    "number": _number,
    "pairs": _pairs,
    "quoted": _quoted,
    "shape": shape,
    "sizes": sizes,
}


def fill(template: str, parameters: Mapping[str, Any]) -> list[str]:
    """The pieces of a template whose values are all there."""
    pieces = []
    for piece in template.split("; "):
        missing = False

        def value(match: re.Match[str]) -> str:
            nonlocal missing
            name, form, yes, no = match.groups()
            given = parameters.get(name)
            if form is None:
                text = (yes if given else no) if isinstance(given, bool) else None
            else:
                text = FORMATS[form](given) if form in FORMATS else None
            missing |= not text
            return text or ""

        text = _FIELD.sub(value, piece)
        if not missing:
            pieces.append(text)
    return pieces


# --- one use of a primitive with what is known of it, for its words

_SHAPE: Final = re.compile(r"[\w<>]+\[((?:[0-9]{1,19}(?:,|(?=\])))*)\]")


@dataclass(frozen=True, slots=True)
class Applied:
    """One use of a primitive, with all that is known about it; types are as jaxprs print them."""

    name: str
    parameters: Mapping[str, Any]
    types: Sequence[str]
    inputs: Sequence[str]
    programs: Mapping[str, Sequence[Any]]

    def ints(self, name: str) -> list[int] | None:
        """A parameter that is a list of integers, else ``None``."""
        return integers(self.parameters.get(name))

    def number(self, name: str) -> int | None:
        """A parameter that is an integer, else ``None``."""
        return integer(self.parameters.get(name))

    def is_true(self, name: str) -> bool:
        """Whether a parameter is ``True``."""
        return self.parameters.get(name) is True

    def shape(self, index: int) -> list[int] | None:
        """The shape of an operand, where its type is known and says it."""
        match = _SHAPE.match(self.inputs[index]) if index < len(self.inputs) else None
        return [int(size) for size in match[1].split(",") if size] if match else None

    def dtype(self, index: int) -> str:
        """The long name of an operand's type, or ``""``."""
        short = self.inputs[index].partition("[")[0] if index < len(self.inputs) else ""
        return long_dtype(short)


# --- structured parameters in words: products, windows, spectra and decompositions


def dot_general(use: Applied) -> Iterator[str]:
    match use.parameters.get("dimension_numbers"):
        case [[left, right], [left_batch, right_batch]]:
            lists = [integers(item) for item in (left, right, left_batch, right_batch)]
        case _:
            lists = [None]
    if None in lists or len(left) != len(right) or len(left_batch) != len(right_batch):
        return
    yield _contracted(left, right, left_batch, right_batch)
    yield _result(use)


def _contracted(left: Any, right: Any, left_batch: Any, right_batch: Any) -> str:
    contracted, batch = "contracts no axes", "no batch axes"
    if left:
        contracted = f"contracts {axes(left)} of the left"
        contracted += f" with {axes(right)} of the right"
    if left_batch:
        both = left_batch == right_batch
        batch = f"batch {axes(left_batch)} of "
        batch += "both" if both else f"the left with {axes(right_batch)} of the right"
    return f"{contracted}, {batch}"


def _result(use: Applied) -> str:
    """The type that the sums have, where it is not that of both operands."""
    result = dtype(use.parameters.get("preferred_element_type"))
    return f"gives {result}" if result and {use.dtype(0), use.dtype(1)} != {result} else ""


def ragged(use: Applied) -> Iterator[str]:
    match use.parameters.get("ragged_dot_dimension_numbers"):
        case [[[left, right], [left_batch, right_batch]], ragged, groups]:
            lists = [left, right, left_batch, right_batch, ragged, groups]
        case _:
            return
    if None in map(integers, lists) or len(left) != len(right):
        return
    yield _contracted(left, right, left_batch, right_batch)
    if ragged:
        yield f"groups along {axes(ragged)} of the left"
    if groups:
        yield f"a part for each group along {axes(groups)} of the right"
    yield _result(use)


def conv(use: Applied) -> Iterator[str]:
    match use.parameters.get("dimension_numbers"):
        case [array, kernel, result] if (order := integers(kernel)) and len(order) > 1:
            size = use.shape(1)
            if size and len(order) > 2 and all(0 <= axis < len(size) for axis in order[2:]):
                yield f"a window of {sizes([size[axis] for axis in order[2:]])}"
            for noun, layout in (("array", array), ("result", result)):
                places = integers(layout)
                if places and len(places) > 1 and places != sorted(places):
                    yield f"batch axis {places[0]} and feature axis {places[1]} of the {noun}"
            if order != sorted(order):
                yield (
                    f"output feature axis {order[0]} and input feature axis {order[1]}"
                    " of the kernel"
                )
    strides = use.ints("window_strides")
    if strides and set(strides) != {1}:
        yield f"moving by {sizes(strides)}"
    yield from _padded(use, "space axis")
    yield from _spread(use, ("lhs_dilation", "the array"), ("rhs_dilation", "the kernel"))
    for name in ("feature", "batch"):
        if (groups := use.number(f"{name}_group_count") or 1) > 1:
            yield plural(groups, f"{name} group")
    yield _result(use)


def _padded(use: Applied, noun: str) -> Iterator[str]:
    padding = rows(use.parameters.get("padding"), 2)
    for index, axis in enumerate(padding or ()):
        if any(axis):
            yield f"padded by {axis[0]} and {axis[1]} along {noun} {index}"


def _spread(use: Applied, *dilated: tuple[str, str]) -> Iterator[str]:
    for name, noun in dilated:
        dilation = use.ints(name)
        if dilation and set(dilation) != {1}:
            yield f"{noun} spread out by {sizes(dilation)}"


def window(use: Applied) -> Iterator[str]:
    """Reductions over windows, and what belongs to them."""
    if extent := sizes(use.parameters.get("window_dimensions")):
        yield f"a window of {extent}"
    if strides := sizes(use.parameters.get("window_strides")):
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
            f"{len(lengths)} axes, of length {sizes(lengths)}"
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
