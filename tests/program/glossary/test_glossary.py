"""Definitions of primitives, and parameters in words."""

from __future__ import annotations

import functools
import importlib
import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from sphinx_jaxpr.program.glossary.glossary import (
    Entry,
    builtin,
    printed_value,
)
from sphinx_jaxpr.program.parser.parser import parse

glossary = builtin()
in_words = glossary.in_words
ENTRIES = [entry for name in glossary.known() if (entry := glossary.entry(name))]
NEWEST_LOOKED_AT = (0, 12)
#: The kinds of primitives of the package; a project's own are ``custom``.
KINDS = frozenset(
    {
        "elementwise",
        "contraction",
        "convolution",
        "reduction",
        "cumulative",
        "sorting",
        "shape",
        "indexing",
        "conversion",
        "constant",
        "random",
        "linear algebra",
        "control flow",
        "call",
        "autodiff",
        "collective",
        "sharding",
        "state",
        "callback",
        "ordering",
        "kernel",
    }
)


# --- the definitions ---------------------------------------------------------------


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_definition_is_one_short_sentence(entry: Entry) -> None:
    assert entry.kind in KINDS
    assert entry.meaning.endswith(".")
    assert 15 < len(entry.meaning) < 160
    assert entry.meaning[0].isupper()
    assert not re.search(r"[.!?] |`|\s\s|\n", entry.meaning)
    assert re.fullmatch(r"(jax(\.\w+)+)?", entry.page)
    assert "_src" not in entry.page


def test_definitions_differ() -> None:
    assert len({entry.meaning for entry in ENTRIES}) == len(ENTRIES)


def test_names_and_aliases_are_unique() -> None:
    names = [name for entry in ENTRIES for name in (entry.name, *entry.aliases)]
    assert len(names) == len(set(names))


def test_every_kind_is_used() -> None:
    assert {entry.kind for entry in ENTRIES} == KINDS


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("pjit", "jit"),
        ("xla_call", "jit"),
        ("checkpoint", "remat2"),
        ("psum2", "psum_invariant"),
        ("mutable_array", "new_ref"),
        ("copy_p", "copy"),
        ("scatter_add", "scatter-add"),
        ("dot_general", "dot_general"),
    ],
)
def test_aliases(alias: str, name: str) -> None:
    entry = glossary.entry(alias)
    assert entry is not None
    assert entry.name == name


def test_unknown_names() -> None:
    assert glossary.entry("no_such_primitive") is None
    assert glossary.entry("") is None


# --- a project's own -----------------------------------------------------------------


def test_merged() -> None:
    extra = {
        "my_prim": {
            "meaning": "Does my thing.",
            "aliases": "mine, my-own",
            "words": "{n:int} times",
        },
        "pjit": {"meaning": "Our words."},
    }
    merged = glossary.merged(extra)
    assert merged.entry("mine") == merged.entry("my_prim")
    assert merged.entry("my-own") == Entry(
        "my_prim", "Does my thing.", aliases=("mine", "my-own"), words="{n:int} times"
    )
    assert "my_prim" in merged.known()
    assert merged.in_words("mine", {"n": 3}) == "3 times"
    jit = glossary.entry("jit")
    assert jit is not None
    assert merged.entry("jit") == replace(jit, meaning="Our words.")
    assert glossary.entry("mine") is None  # the built-in ones stay as they are
    assert merged.merged({"other": {"meaning": "Other."}}).entry("mine") is not None


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"a": {"meaning": "A.", "color": "red"}}, "a: no such field: color"),
        ({"a": {"kind": "reduction"}}, "a: a new primitive needs a meaning"),
        ({"a": {"meaning": 3}}, "a: not a text: meaning"),
        ({"a": {"name": "b"}}, "a: no such field: name"),
    ],
)
def test_merged_says_what_is_wrong(extra: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        glossary.merged(extra)


# --- held against the running JAX ------------------------------------------------------


def version() -> tuple[int, ...]:
    jax = pytest.importorskip("jax")
    return tuple(int(part) for part in re.findall(r"\d+", jax.__version__)[:2])


def numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def exports() -> set[str]:
    """The primitives that this JAX exports."""
    module = importlib.import_module("jax.extend.core.primitives")
    return {getattr(module, name).name for name in dir(module) if name.endswith("_p")}


def test_every_exported_primitive_is_defined() -> None:
    pytest.importorskip("jax")
    missing = sorted(name for name in exports() if glossary.entry(name) is None)
    assert not missing, f"no definition in primitives.toml: {', '.join(missing)}"


def test_exported_primitives_have_the_right_versions() -> None:
    running = version()
    for name in exports():
        entry = glossary.entry(name)
        assert entry is not None
        assert name in (entry.name, *entry.aliases)
        assert running >= numbers(entry.since or "0"), name
        if running <= NEWEST_LOOKED_AT:
            assert running <= numbers(entry.until or "1"), name


def test_every_primitive_of_the_corpus_is_defined() -> None:
    pytest.importorskip("jax")
    from tests.program import corpus

    met = set()
    for name, program in corpus.PROGRAMS.items():
        if not name.startswith("own ") and not program.missing():
            met |= {equation.primitive for equation in parse(str(program())).walk()}
    missing = sorted(name for name in met if glossary.entry(name) is None)
    assert not missing, f"no definition in primitives.toml: {', '.join(missing)}"
    assert len(met) > 100


def test_pages_exist() -> None:
    running = version()
    if running < (0, 10):
        pytest.skip("the pages are those of today's names; tried with newer JAX")
    jax = importlib.import_module("jax")
    missing = []
    for entry in ENTRIES:
        if not entry.page or running < numbers(entry.since or "0") or entry.until:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not reachable(jax, entry.page):
                missing.append(entry.page)
    assert not missing


def reachable(jax: Any, page: str) -> bool:
    """Whether a dotted name leads somewhere, submodules imported as needed."""
    module, names = jax, page.split(".")[1:]
    for place, name in enumerate(names, 2):
        if not hasattr(module, name):
            try:
                importlib.import_module(".".join(page.split(".")[:place]))
            except ImportError:
                return False
        module = getattr(module, name)
    return True


# --- parameters in words: real equations -------------------------------------------------


def words_of(function: Callable[..., Any], *arguments: Any) -> Iterator[tuple[str, str]]:
    """(primitive, words) of every equation at any depth, from the worker's facts."""
    jax = pytest.importorskip("jax")
    from sphinx_jaxpr.worker.facts import facts
    from sphinx_jaxpr.worker.facts.jaxprs import is_jaxpr, open_jaxpr, short_type

    jaxpr = jax.make_jaxpr(function)(*arguments)
    queue = [open_jaxpr(jaxpr)]
    printed = list(parse(str(jaxpr)).walk())
    text = str(jaxpr)
    found = facts.collect(jaxpr).facts.to_json()
    operands = []
    while queue:
        body = queue.pop(0)
        for equation in body.eqns:
            operands.append([short_type(operand.aval) for operand in equation.invars])
            for value in equation.params.values():
                inner = value if isinstance(value, (tuple, list)) else [value]
                queue += [open_jaxpr(item) for item in inner if is_jaxpr(item)]
    equations = [equation for program in found["programs"] for equation in program["equations"]]
    for inputs, (name, _, _, types, plain, programs) in zip(operands, equations, strict=False):
        shown = next((e for e in printed if e.primitive == name), None)
        texts = (
            {p.name: printed_value(text[p.start : p.end]) for p in shown.parameters}
            if shown
            else {}
        )
        yield name, in_words(name, {**texts, **plain}, types, inputs=inputs, programs=programs)


def first(name: str, function: Callable[..., Any], *arguments: Any) -> str:
    return next(words for primitive, words in words_of(function, *arguments) if primitive == name)


def cases() -> dict[str, tuple[str, Callable[..., Any], tuple[Any, ...], str]]:
    """name -> primitive, function, arguments, the words it must give."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def array(*shape: int, dtype: Any = jnp.float32) -> Any:
        return jax.ShapeDtypeStruct(shape, dtype)

    x, v, s = array(8, 4), array(4), array()
    matrix = array(4, 4)
    mesh = jax.sharding.AbstractMesh(
        (2, 4), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2
    )
    P = jax.sharding.PartitionSpec
    shard = functools.partial(jax.shard_map, mesh=mesh, in_specs=(P("data"),))
    image = (array(1, 2, 9, 9), array(4, 1, 3, 5))

    def loop(x: Any, w: Any) -> Any:
        return lax.scan(lambda c, v: (c * w, c + v), x[0], x, reverse=True, unroll=2)

    return {
        "matmul": ("dot_general", lambda a, b: a @ b, (x, matrix),
            "contracts axis 1 of the left with axis 0 of the right, no batch axes"),
        "matmul to": ("dot_general",
            lambda a, b: jnp.matmul(a, b, preferred_element_type=jnp.float32),
            (array(8, 4, dtype=jnp.bfloat16), array(4, 2, dtype=jnp.bfloat16)),
            "contracts axis 1 of the left with axis 0 of the right, no batch axes; gives float32"),
        "batched": ("dot_general", lambda a, b: jnp.einsum("bij,bjk->bik", a, b),
            (array(3, 8, 4), array(3, 4, 2)),
            "contracts axis 2 of the left with axis 1 of the right, batch axis 0 of both"),
        "batched apart": ("dot_general",
            lambda a, b: lax.dot_general(a, b, (((1, 2), (0, 1)), ((0,), (2,)))),
            (array(3, 8, 4), array(8, 4, 3)),
            "contracts axes 1 and 2 of the left with axes 0 and 1 of the right, "
            "batch axis 0 of the left with axis 2 of the right"),
        "outer": ("dot_general", lambda a, b: jnp.tensordot(a, b, 0), (v, v),
            "contracts no axes, no batch axes"),
        "broadcast": ("broadcast_in_dim", lambda a: jnp.broadcast_to(a[:, None], (4, 1)), (v,),
            "to shape (4, 1); axis 1 is new"),
        "stretched": ("broadcast_in_dim",
            lambda a: lax.broadcast_in_dim(a, (3, 4, 5), (1, 2)), (array(4, 1),),
            "to shape (3, 4, 5); axis 0 is new; repeated along axis 2"),
        "two new": ("broadcast_in_dim", lambda a: lax.broadcast(a, (2, 3)), (v,),
            "to shape (2, 3, 4); axes 0 and 1 are new"),
        "constant": ("broadcast_in_dim", lambda: jnp.zeros((2, 3)), (),
            "to shape (2, 3); one value everywhere"),
        "sum": ("reduce_sum", lambda a: a.sum(), (x,), "over axes 0 and 1"),
        "max": ("reduce_max", lambda a: a.max(1), (x,), "over axis 1"),
        "argmax": ("argmax", lambda a: jnp.argmax(a, 1), (x,), "along axis 1; positions as int32"),
        "cumsum": ("cumsum", lambda a: lax.cumsum(a, 1, reverse=True), (x,),
            "along axis 1; from the end"),
        "transpose": ("transpose", lambda a: a.T, (x,), "swaps axes 0 and 1"),
        "transpose 3": ("transpose", lambda a: a.transpose(1, 2, 0), (array(2, 3, 4),),
            "the new order of axes is 1, 2 and 0"),
        "cast": ("convert_element_type", lambda a: a.astype(jnp.bfloat16), (x,),
            "from float32 to bfloat16"),
        "reshape": ("reshape", lambda a: a.reshape(2, -1), (x,),
            "from shape (8, 4) to shape (2, 16)"),
        "slice": ("slice", lambda a: lax.slice(a, (1, 0), (3, 4)), (x,),
            "indices 1 to 2 of axis 0"),
        "strided": ("slice", lambda a: lax.slice(a, (1, 2), (8, 3), (3, 1)), (x,),
            "indices 1 to 7 in steps of 3 of axis 0; index 2 of axis 1"),
        "dynamic_slice": ("dynamic_slice", lambda a: lax.dynamic_slice(a, (1, 0), (2, 3)), (x,),
            "a part of shape (2, 3)"),
        "gather": ("gather", lambda a, i: a.at[i].get(mode="clip"),
            (x, array(3, dtype=jnp.int32)),
            "the indices point along axis 0; each takes a part of shape (1, 4); "
            "parts outside are moved to the edge"),
        "scatter": ("scatter-add", lambda a, i: a.at[i, 0].add(1.0),
            (x, array(3, dtype=jnp.int32)),
            "the indices point along axes 0 and 1; parts outside are dropped"),
        "concatenate": ("concatenate", lambda a, b: jnp.concatenate([a, b]), (x, matrix),
            "joins 2 arrays along axis 0"),
        "pad": ("pad", lambda a: lax.pad(a, 0.0, ((1, 2, 0), (-1, 0, 3))), (x,),
            "axis 0 gains 1 before and 2 after; "
            "axis 1 gains 3 between elements and loses 1 before"),
        "iota": ("iota", lambda: lax.broadcasted_iota(jnp.int32, (2, 3), 1), (),
            "along axis 1; shape (2, 3); int32"),
        "select": ("select_n", lambda a: lax.select_n(a > 0, a, -a), (x,),
            "the second operand where the first is false, the third where it is true"),
        "clamp": ("clamp", lambda a: lax.clamp(0.0, a, 1.0), (x,),
            "the operands are the lower limit, the value and the upper limit"),
        "power": ("integer_pow", lambda a: a**3, (x,), "to the power 3"),
        "sort": ("sort", lambda a: lax.sort((a, a), dimension=0, num_keys=1), (x,),
            "along axis 0; by the first operand; equal elements keep their order"),
        "scan": ("scan", loop, (x, v),
            "8 steps; from the last to the first; 2 at a time; carries 1 value; reads 1 constant"),
        "while": ("while", lambda a, n: lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * a), (0, a)),
            (s, array(dtype=jnp.int32)),
            "carries 2 values; the condition reads 1 constant; the body reads 1 constant"),
        "cond": ("cond", lambda a: lax.cond(a > 0, lambda: 1.0, lambda: a), (s,),
            "one of 2 branches"),
        "switch": ("cond", lambda i: lax.switch(i, [lambda: 1, lambda: 2, lambda: 3]),
            (array(dtype=jnp.int32),), "one of 3 branches"),
        "jit": ("jit", jax.jit(jnp.square), (x,), 'the function "square"'),
        "donated": ("jit", jax.jit(lambda a, b: a + b, donate_argnums=1), (x, x),
            'may reuse the memory of operand 1; the function "<lambda>"'),
        "remat": ("remat2", jax.checkpoint(jnp.sin, prevent_cse=False), (x,),
            "no policy: keeps only its operands; "
            "the compiler may merge it with the first computation"),
        "remat_grad": ("remat2", jax.grad(jax.checkpoint(jnp.sin)), (1.0,),
            "after differentiation: computes again what was not kept; "
            "the compiler may not merge it with the first computation"),
        "shard_map": ("shard_map", shard(jnp.sin, out_specs=P("data")), (x,),
            "mesh data of 2 and model of 4; operand 0 cut along axis 0 over data; "
            "result 0 cut along axis 0 over data; "
            "the types say where devices may differ"),
        "psum": ("psum_invariant", shard(lambda a: lax.psum(a, "data"), out_specs=P()), (x,),
            "over axis data"),
        "pvary": ("pvary", jax.shard_map(lambda a, w: a * w, mesh=mesh,
            in_specs=(P("data"), P()), out_specs=P("data")), (x, s), "over axis data"),
        "all_gather": ("all_gather", shard(lambda a: lax.all_gather(a, "data", tiled=True),
            out_specs=P("data")), (x,), "over axis data; 2 members; joined along axis 0"),
        "psum_scatter": ("reduce_scatter", shard(
            lambda a: lax.psum_scatter(a, "data", tiled=True), out_specs=P("data")), (x,),
            "over axis data; 2 members; cuts axis 0"),
        "ppermute": ("ppermute", shard(lambda a: lax.ppermute(a, "data", [(0, 1), (1, 0)]),
            out_specs=P("data")), (x,), "over axis data; 0 to 1 and 1 to 0"),
        "random_bits": ("random_bits", lambda k: jax.random.bits(k, (3,)), (jax.random.key(0),),
            "32 bits each; shape (3,)"),
        "random_wrap": ("random_wrap", lambda k: jax.random.wrap_key_data(k, impl="threefry2x32"),
            (array(2, dtype=jnp.uint32),), "keys of the generator threefry2x32"),
        "random_split": ("random_split", lambda k: jax.random.split(k, 3), (jax.random.key(0),),
            "keys of shape (3,)"),
        "conv": ("conv_general_dilated", lambda a, k: lax.conv_general_dilated(
            a, k, (1, 2), ((1, 1), (0, 0)), rhs_dilation=(2, 1), feature_group_count=2), image,
            "a window of 3 × 5; moving by 1 × 2; padded by 1 and 1 along space axis 0; "
            "the kernel spread out by 2 × 1; 2 feature groups"),
        "squeeze": ("squeeze", lambda a: a.squeeze(1), (array(4, 1),), "drops axis 1"),
        "rev": ("rev", lambda a: a[::-1], (x,), "turns axis 0 around"),
        "round": ("round", lambda a: jnp.round(a), (x,), "halves to the nearest even number"),
        "fft": ("fft", lambda a: jnp.fft.rfft(a), (x,),
            "forwards, from real; over the last axis, of length 4"),
        "triangular": ("triangular_solve", lambda a, b: lax.linalg.triangular_solve(
            a, b, left_side=True, lower=True, transpose_a=True), (matrix, matrix),
            "the matrix on the left; lower triangular; transposed"),
        "print": ("debug_print", lambda a: jax.debug.print("a = {}", a), (x,), 'prints "a = {}"'),
        "callback": ("pure_callback", lambda a: jax.pure_callback(
            abs, x, a, vmap_method="sequential"), (x,), 'under vmap: "sequential"'),
        "exp2": ("exp2", lambda a: jnp.exp2(a), (x,), ""),
        "cholesky": ("cholesky", lambda a: lax.linalg.cholesky(a), (matrix,), ""),
    }  # fmt: skip


def test_words_of_real_equations() -> None:
    pytest.importorskip("jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [
            (name, words, expected)
            for name, (primitive, function, arguments, expected) in cases().items()
            if (words := first(primitive, function, *arguments)) != expected
        ]
    assert not wrong


# --- parameters in words: odd ones ---------------------------------------------------------


def test_words_through_an_alias() -> None:
    assert in_words("pjit", {"name": "relu"}) == 'the function "relu"'
    assert in_words("scatter_add", {"unique_indices": True}) == "indices promised to be different"


def test_words_without_parameters_or_definition() -> None:
    assert in_words("dot_general", {}) == ""
    assert in_words("no_such_primitive", {"axis": 1}) == ""
    assert in_words("sin", {"accuracy": None}) == ""


def test_words_say_only_what_is_known() -> None:
    assert in_words("iota", {"dimension": 1, "shape": "odd", "dtype": None}) == "along axis 1"
    assert in_words("scan", {"length": 1}) == "1 step"
    assert in_words("psum", {"axes": ["i"], "axis_index_groups": [[0, 1], [2]]}) == (
        "over axis i; in groups (0, 1) and (2,)"
    )
    assert in_words("transpose", {"permutation": [0, 0]}) == ""
    assert in_words("transpose", {"permutation": list(range(12))}) == "every axis stays"
    assert in_words("reduce_sum", {"axes": list(range(12))}) == (
        "over axes 0, 1, 2, 3, 4, 5, 6 and 5 more"
    )
    assert in_words("reshape", {"new_sizes": [1] * 9}) == ("to shape (1, 1, 1, 1, 1, 1, 1, 1, …)")
    assert in_words("dot_general", {"dimension_numbers": [[[1], [0, 1]], [[], []]]}) == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(8, 4)", [8, 4]),
        ("()", []),
        ("(([1], [0]), ([], []))", [[[1], [0]], [[], []]]),
        ("None", None),
        ("True", True),
        ("-1.5", -1.5),
        ("float32", "float32"),
        ("GatherScatterMode.CLIP", "GatherScatterMode.CLIP"),
        ("(P('data', None), P())", [["data", None], []]),
        ("frozenset({'data'})", ["data"]),
        ("Numbers(offset_dims=(1,), other=())", [[1], []]),
        ("x = {} ]", "x = {} ]"),
        ("lambda: 0", "lambda: 0"),
        ("(" * 500, "(" * 500),
        ("\0", "\0"),
        ("", ""),
    ],
)
def test_printed_value(text: str, value: Any) -> None:
    assert printed_value(text) == value


def odd(choose: random.Random, depth: int = 0) -> Any:
    """Any JSON value, and a few that are none."""
    if depth < 4 and choose.random() < 0.5:
        items = [odd(choose, depth + 1) for _ in range(choose.choice([0, 1, 2, 2, 3, 3, 12]))]
        return choose.choice([items, tuple(items), {"dtype": odd(choose, 4)}, items])
    return choose.choice(
        [None, True, False, 0, 1, 2, -1, -7, 10**30, 1.5, "", "x", "a b", "float32", "{", "P('a')",
         {"dtype": "float32"}, {"text": "nan"}, {}, b"", object(), "AbstractMesh('a': 2)"]
    )  # fmt: skip


NAMES = sorted(
    {name for entry in ENTRIES for name in re.findall(r"\{(\w+)", entry.words)}
    | set("dimension_numbers preferred_element_type window_strides padding lhs_dilation "
          "rhs_dilation feature_group_count shape broadcast_dimensions new_sizes permutation "
          "new_dtype weak_type start_indices limit_indices strides slice_sizes mode "
          "unique_indices padding_config dimension num_keys is_stable length reverse unroll "
          "num_carry num_consts ft_in cond_nconsts body_nconsts donated_invars policy mesh "
          "in_specs fft_type fft_lengths rounding_method differentiated".split())
)  # fmt: skip


TYPES = ["f32[8,4]", "bool[]", "", "Ref{f32[4]}", "f32[a,2]", "key<fry>[]", "[", "bf16[3]{V:x}"]
PARAMETERS: dict[str, dict[str, Any]] = {
    "dot_general": {"dimension_numbers": [[[1], [0]], [[2], [2]]], "preferred_element_type": "x"},
    "conv_general_dilated": {
        "dimension_numbers": [[0, 1, 2], [0, 1, 2], [0, 1, 2]],
        "window_strides": [2],
        "padding": [[1, 1]],
        "lhs_dilation": [2],
        "feature_group_count": 2,
    },
    "gather": {"dimension_numbers": [[1], [0], [0], [1], [0]], "slice_sizes": [1, 4]},
    "slice": {"start_indices": [0, 1], "limit_indices": [2, 4], "strides": [1, 2]},
    "pad": {"padding_config": [[1, 1, 0], [0, -1, 2]]},
    "broadcast_in_dim": {"shape": [3, 4], "broadcast_dimensions": [1]},
    "scan": {"length": 3, "ft_in": [[None], [None, [None]], []]},
    "shard_map": {"mesh": "AbstractMesh('a': 2)", "in_specs": [["a", None], [["a", "b"]]]},
    "ppermute": {"axis_name": ["x"], "perm": [[0, 1], [1, 0]]},
    "psum": {"axes": ["x"], "axis_index_groups": [[0, 1], [2, 3]]},
    "transpose": {"permutation": [1, 2, 0]},
}


def said(choose: random.Random, primitive: str, parameters: dict[str, Any]) -> str:
    return in_words(
        primitive,
        parameters,
        choose.choices(TYPES, k=choose.randrange(4)),
        inputs=choose.choices(TYPES, k=choose.randrange(4)),
        programs={"branches": [0] * choose.randrange(4)},
    )


def spoilt(choose: random.Random, value: Any) -> Any:
    """``value`` with one thing in it replaced, left out or said twice."""
    if isinstance(value, list) and value and choose.random() < 0.8:
        place = choose.randrange(len(value))
        copy = value.copy()
        copy[place] = spoilt(choose, value[place])
        return copy
    if isinstance(value, list) and value:
        return choose.choice([value[1:], value + value[:1], value * 10])
    return odd(choose, 3)


def test_words_of_odd_parameters_never_raise() -> None:
    choose = random.Random(0)
    for primitive in [*glossary.known(), "unknown"]:
        for _ in range(4):
            given = {name: odd(choose) for name in choose.sample(NAMES, len(NAMES) // 2)}
            check_words(said(choose, primitive, given))


def test_words_of_spoilt_parameters_never_raise() -> None:
    choose = random.Random(1)
    for primitive, parameters in PARAMETERS.items():
        assert in_words(primitive, parameters), primitive
        for _ in range(300):
            name = choose.choice(list(parameters))
            given = {**parameters, name: spoilt(choose, parameters[name])}
            check_words(said(choose, primitive, given))


def check_words(words: str) -> None:
    assert isinstance(words, str)
    assert "None" not in words
    assert not words.startswith(";")
    assert "; ;" not in words


def test_definitions_are_read_once() -> None:
    assert builtin() is builtin()
