"""The parameters of an equation in words, made of their values.

Most primitives need a template only, the field ``words`` of ``primitives.toml``:
pieces separated by ``"; "``.  ``{axes:axes}`` is a parameter's value in one of
``formats.FORMATS``, ``{reverse?from the end}`` a text where a flag is true, and
``{lower?lower|upper}`` one of two.  A piece is left out where a value is missing
or not of its format.  The others have a function in ``_SPECIAL``, which yields
pieces and goes by the same rule: rather say nothing than something wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from ..dtypes import KEYS
from ..text import plural
from . import formats
from .formats import Applied

# --- the parameters of an equation in words, made of their values

#: Where a value is to be placed, in the repr of a sharding.
_PLACED: Final = re.compile(r"spec=(?:P|PartitionSpec)(\((?:[^()]|\([^()]*\))*\))")
_FUNCTION: Final = re.compile(r"<function (?:\w+\.<locals>\.)*(\w+) at")


def words(use: Applied, template: str) -> str:
    """The pieces of one use, with the template of its primitive, joined; ``""`` for none."""
    special = _SPECIAL.get(use.name)
    pieces = [
        *(special(use) if special else ()),
        *(formats.fill(template, use.parameters) if template else ()),
        *_common(use),
    ]
    return "; ".join(piece for piece in pieces if piece)


def _common(use: Applied) -> Iterator[str]:
    """Parameters that many primitives have, where they ask for something."""
    precision = use.parameters.get("precision")
    both = precision if isinstance(precision, (list, tuple)) else [precision]
    names = list(dict.fromkeys(name.rpartition(".")[2] for name in both if isinstance(name, str)))
    if names and len(both) <= 2:
        yield f"precision {formats.listed(names)}"
    accuracy = use.parameters.get("accuracy")
    if isinstance(accuracy, str):
        _, dot, mode = accuracy.rpartition("AccuracyMode.")
        yield f"accuracy {mode}" if dot else "with a given accuracy"
    for name in ("sharding", "out_sharding", "dst_sharding"):
        text = use.parameters.get(name)
        placed = _PLACED.search(text) if isinstance(text, str) else None
        if placed and "'" in placed[1]:
            yield f"sharded as P{placed[1]}"


# -- primitives that need more than a template --------------------------------------------


def _broadcast(use: Applied) -> Iterator[str]:
    shape, kept = use.ints("shape"), use.ints("broadcast_dimensions")
    if shape is None:
        return
    yield f"to shape {formats.shape(shape)}"
    if kept is None or any(not 0 <= axis < len(shape) for axis in kept):
        return
    if not kept:
        yield "one value everywhere"
        return
    if new := [axis for axis in range(len(shape)) if axis not in kept]:
        yield f"{formats.axes(new)} {'is' if len(new) == 1 else 'are'} new"
    before = use.shape(0)
    if before is not None and len(before) == len(kept):
        stretched = [axis for axis, size in zip(kept, before, strict=True) if size != shape[axis]]
        if stretched:
            yield f"repeated along {formats.axes(stretched)}"


def _reshape(use: Applied) -> Iterator[str]:
    sizes, before = use.ints("new_sizes"), use.shape(0)
    if sizes is not None:
        yield (f"from shape {formats.shape(before)} " if before is not None else "") + (
            f"to shape {formats.shape(sizes)}"
        )
    order = use.ints("dimensions")
    if order and order != sorted(order):
        yield f"reads the axes in the order {formats.listed(order)}"


def _transpose(use: Applied) -> Iterator[str]:
    order = use.ints("permutation")
    if order is None or sorted(order) != list(range(len(order))):
        return
    moved = [axis for axis, origin in enumerate(order) if axis != origin]
    if not moved:
        yield "every axis stays"
    elif len(moved) == 2:
        yield f"swaps {formats.axes(moved)}"
    else:
        yield f"the new order of axes is {formats.listed(order)}"


def _convert(use: Applied) -> Iterator[str]:
    new, old = formats.dtype(use.parameters.get("new_dtype")), use.dtype(0)
    if new:
        yield (f"from {old} " if old and old != new else "") + f"to {new}"
    if use.is_true("weak_type"):
        yield "weakly typed"


def _slice(use: Applied) -> Iterator[str]:
    starts, limits = use.ints("start_indices"), use.ints("limit_indices")
    if starts is None or limits is None or len(starts) != len(limits):
        return
    steps, shape = use.ints("strides") or [1] * len(starts), use.shape(0)
    if len(steps) != len(starts) or min(steps, default=1) < 1:
        return
    whole = True
    for axis, (start, limit, step) in enumerate(zip(starts, limits, steps, strict=True)):
        if shape is not None and [start, limit, step] == [0, *shape[axis : axis + 1], 1]:
            continue
        whole = False
        last = start + (limit - start - 1) // step * step
        if limit <= start:
            yield f"nothing of axis {axis}"
        elif last == start:
            yield f"index {start} of axis {axis}"
        else:
            every = f" in steps of {step}" if step > 1 else ""
            yield f"indices {start} to {last}{every} of axis {axis}"
    if whole:
        yield "everything"


def _indexed(use: Applied) -> Iterator[str]:
    """Gather and scatter: which axes the indices point along."""
    numbers = use.parameters.get("dimension_numbers")
    listed = numbers if isinstance(numbers, (list, tuple)) else ()
    lists = [formats.integers(item) for item in listed]
    if len(lists) >= 3 and lists[2]:
        yield f"the indices point along {formats.axes(lists[2])}"
    if text := formats.shape(use.parameters.get("slice_sizes")):
        yield f"each takes a part of shape {text}"
    if len(lists) >= 4 and lists[3]:
        yield f"{formats.axes(lists[3])} in step with the indices"
    given = use.parameters.get("mode")
    mode = given.rpartition(".")[2] if isinstance(given, str) else ""
    promises = [
        *(["different"] if use.is_true("unique_indices") else ()),
        *(["sorted"] if use.is_true("indices_are_sorted") else ()),
        *(["in bounds"] if mode == "PROMISE_IN_BOUNDS" else ()),
    ]
    if promises:
        yield f"indices promised to be {formats.listed(promises)}"
    if mode == "CLIP":
        yield "parts outside are moved to the edge"
    if mode == "FILL_OR_DROP":
        value = use.parameters.get("fill_value")
        a_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        filled = f"filled with {value}" if a_number else "filled in"
        yield f"parts outside are {filled if use.name == 'gather' else 'dropped'}"
    if mode == "ONE_HOT":
        yield "computed as a product with one-hot rows"
    if use.name == "scatter" and use.programs.get("update_jaxpr"):
        yield "update_jaxpr makes the new values of the old ones and the updates"


def _pad(use: Applied) -> Iterator[str]:
    places = ("before", "after", "between elements")
    for axis, row in enumerate(formats.rows(use.parameters.get("padding_config"), 3) or ()):
        changes: list[str] = []
        for verb, sign in (("gains", 1), ("loses", -1)):
            amounts = [
                f"{abs(number)} {where}"
                for number, where in zip(row, places, strict=True)
                if number * sign > 0
            ]
            changes += [f"{verb} {formats.listed(amounts)}"] if amounts else []
        if changes:
            yield f"axis {axis} {' and '.join(changes)}"


def _concatenate(use: Applied) -> Iterator[str]:
    axis = use.number("dimension")
    if axis is not None:
        yield (f"joins {len(use.inputs)} arrays " if use.inputs else "") + f"along axis {axis}"


def _sort(use: Applied) -> Iterator[str]:
    axis, keys = use.number("dimension"), use.number("num_keys")
    if axis is not None:
        yield f"along axis {axis}"
    if keys and (keys > 1 or len(use.inputs) > 1):
        yield "by the first operand" if keys == 1 else f"by the first {keys} operands"
    if use.is_true("is_stable"):
        yield "equal elements keep their order"
    elif "is_stable" in use.parameters:
        yield "equal elements in any order"


def _select(use: Applied) -> Iterator[str]:
    if len(use.inputs) == 3 and use.dtype(0) == "bool":
        yield "the second operand where the first is false, the third where it is true"
    elif len(use.inputs) > 2:
        yield f"one of {len(use.inputs) - 1} arrays, by number"


def _scan(use: Applied) -> Iterator[str]:
    if (length := use.number("length")) is not None:
        yield plural(length, "step")
    if use.is_true("reverse"):
        yield "from the last to the first"
    if (unroll := use.number("unroll") or 1) > 1:
        yield f"{unroll} at a time"
    constants, carried = use.number("num_consts"), use.number("num_carry")
    match use.parameters.get("ft_in"):  # newer JAX: one leaf for each operand
        case [_, _, _] as groups:
            constants, carried = (_leaves(group) for group in groups[:2])
    if carried is not None:
        yield f"carries {plural(carried, 'value') if carried else 'nothing'}"
    if constants:
        yield f"reads {plural(constants, 'constant')}"


def _leaves(tree: Any, depth: int = 0) -> int | None:
    """How many ``None`` a tree of lists has; ``None`` where it has anything else."""
    if not isinstance(tree, (list, tuple)) or depth > 20:
        return 1 if tree is None else None
    counts = [_leaves(item, depth + 1) for item in tree]
    return None if None in counts else sum(filter(None, counts))


def _while(use: Applied) -> Iterator[str]:
    if use.types:
        yield f"carries {plural(len(use.types), 'value')}"
    for name in ("cond", "body"):
        if constants := use.number(f"{name}_nconsts"):
            who = "condition" if name == "cond" else name
            yield f"the {who} reads {plural(constants, 'constant')}"


def _cond(use: Applied) -> Iterator[str]:
    if number := len(use.programs.get("branches", ())):
        yield f"one of {plural(number, 'branch', 'branches')}"


def _jit(use: Applied) -> Iterator[str]:
    donated = use.parameters.get("donated_invars")
    if isinstance(donated, (list, tuple)):
        places = [index for index, flag in enumerate(donated) if flag is True]
        if places:
            which = f"operand{'s' if len(places) > 1 else ''} {formats.listed(places)}"
            yield f"may reuse the memory of {which}"


def _remat(use: Applied) -> Iterator[str]:
    if use.is_true("differentiated"):
        yield "after differentiation: computes again what was not kept"
    elif "policy" in use.parameters and use.parameters["policy"] is None:
        yield "no policy: keeps only its operands"
    if use.parameters.get("policy") is not None and not use.is_true("differentiated"):
        named = _FUNCTION.match(str(use.parameters["policy"]))
        plain = named and named[1] not in ("policy", "<lambda>")
        yield (
            f"the policy {named[1]} says what is kept"
            if named and plain
            else ("a policy says what is kept")
        )
    if use.is_true("prevent_cse"):
        yield "the compiler may not merge it with the first computation"
    elif "prevent_cse" in use.parameters:
        yield "the compiler may merge it with the first computation"


def _shard_map(use: Applied) -> Iterator[str]:
    mesh = use.parameters.get("mesh")
    axes = re.findall(r"'(\w+)': (\d+)", mesh) if isinstance(mesh, str) else []
    if axes:
        yield "mesh " + formats.listed(f"{name} of {size}" for name, size in axes)
    for parameter in ("newly_manual_axes", "manual_axes"):
        manual = use.parameters.get(parameter)
        names = manual if isinstance(manual, (list, tuple)) else ()
        are_names = names and all(isinstance(name, str) for name in names)
        if are_names and {name for name, _ in axes} - {*names}:
            yield f"manual over {formats.axes(sorted(names))} only"
    yield from _specs(use, "in_specs", "operand")
    yield from _specs(use, "out_specs", "result")


def _specs(use: Applied, name: str, noun: str) -> Iterator[str]:
    specs = use.parameters.get(name)
    for index, spec in enumerate(specs if isinstance(specs, (list, tuple)) else ()):
        if index == formats.MOST or not isinstance(spec, (list, tuple)):
            return
        cut = [(axis, _names(names)) for axis, names in enumerate(spec) if names]
        if all(names for _, names in cut):
            yield f"{noun} {index} " + (
                formats.listed(f"cut along axis {axis} over {names}" for axis, names in cut)
                or "whole"
            )


def _names(value: Any) -> str:
    names = value if isinstance(value, (list, tuple)) else [value]
    return formats.listed(names) if all(isinstance(name, str) for name in names) else ""


def _keys(use: Applied) -> Iterator[str]:
    """The generator of the keys that come out, which their type names."""
    match = re.match(r"key<(\w+)>", use.types[0]) if use.types else None
    if match:
        yield f"keys of the generator {KEYS.get(match[0], match[1])}"


def _debug_callback(use: Applied) -> Iterator[str]:
    if use.parameters.get("effect") == "OrderedDebug":
        yield "in the order of the program"


def _round(use: Applied) -> Iterator[str]:
    method = use.number("rounding_method")
    if method in (0, 1):
        yield ("halves away from zero", "halves to the nearest even number")[method]


_SPECIAL: Final[dict[str, Callable[[Applied], Iterator[str]]]] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": _concatenate,
    "cond": _cond,
    "conv_general_dilated": formats.conv,
    "convert_element_type": _convert,
    "debug_callback": _debug_callback,
    "dot_general": formats.dot_general,
    "bcoo_dot_general": formats.dot_general,
    "bcoo_dot_general_sampled": formats.dot_general,
    "bcoo_spdot_general": formats.dot_general,
    "bcsr_dot_general": formats.dot_general,
    "ragged_dot_general": formats.ragged,
    "eigh": formats.subset,
    "svd": formats.svd,
    "rng_bit_generator": formats.generator,
    **dict.fromkeys(
        (
            "reduce_window",
            "reduce_window_sum",
            "reduce_window_max",
            "reduce_window_min",
            "select_and_scatter",
            "select_and_scatter_add",
            "select_and_gather_add",
        ),
        formats.window,
    ),
    "fft": formats.fft,
    "gather": _indexed,
    "jit": _jit,
    "pad": _pad,
    "random_seed": _keys,
    "random_wrap": _keys,
    "remat2": _remat,
    "reshape": _reshape,
    "round": _round,
    "scan": _scan,
    "select_n": _select,
    "shard_map": _shard_map,
    "slice": _slice,
    "sort": _sort,
    "transpose": _transpose,
    "while": _while,
    **dict.fromkeys(
        ("scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-max", "scatter-min"),
        _indexed,
    ),
}
