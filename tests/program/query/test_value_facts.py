"""Facts of values and equations: types, sizes, axes, weak types, numbers, kinds, positions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import export, lax
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from sphinx_jaxpr.program.facts import Facts
from sphinx_jaxpr.program.glossary.glossary import builtin
from sphinx_jaxpr.program.glossary.kinds import KINDS, MEANT_KINDS
from sphinx_jaxpr.program.query import base
from sphinx_jaxpr.program.query.evaluate import PathError, Scope, evaluate, judge
from sphinx_jaxpr.program.query.facts.types import axes_in, plain_type, varying_axes
from tests.program.lesson import block


def _numbers(x: Any, k: Any) -> Any:
    y = jnp.tanh(x) * 0.1
    z = jnp.log(y * y) + jnp.inf
    half = x.astype(jnp.bfloat16) * 0.1
    loop = lax.while_loop(lambda c: c > 0.2, lambda c: c * 0.9, 1.0)
    small = x.astype(jnp.int4) * 3
    turned = lax.complex(x, x) * (1 + 2j) * 2.0
    return z - jnp.nan, half, loop, small, turned, jax.random.bits(k)


def _sharded(x: Any, w: Any) -> Any:
    return lax.psum(jnp.sin(x) * w * lax.axis_index("data"), "data")


def _shard(check: bool) -> Any:
    mesh = AbstractMesh((8, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
    spec = PartitionSpec
    specs = (spec(("data", "model")), spec("model"))
    return jax.shard_map(
        _sharded, mesh=mesh, in_specs=specs, out_specs=spec("model"), check_vma=check
    )


def _held(x: Any) -> Any:
    ref = (getattr(jax, "new_ref", None) or jax.array_ref)(x)
    ref[0] = 2.0
    return ref[...]


@cache
def scope() -> Scope:
    x, key = jnp.ones((4, 8)), jax.random.key(0)
    base_block = block("f", _numbers, (x, key), "x k")
    sharded = jnp.ones((16, 4)), jnp.ones((2, 4))
    (rows,) = export.symbolic_shape("n")
    free = jax.ShapeDtypeStruct((rows, 4), jnp.float32)
    blocks = {
        "f": base_block,
        "f.again": block("f.again", _numbers, (x, key), "x k", base_block),
        "s": block("s", _shard(True), sharded, "x w"),
        "u": block("u", _shard(False), sharded, "x w"),
        "free": block("free", lambda x: jnp.sin(x) * 2.0, (free,), "x"),
        "held": block("held", _held, (jnp.ones(4),), "x"),
        "weak": block("weak", lambda x, y: (x + 1, x * y), (1.0, jnp.ones(3)), "x y"),
        "pure": block("pure", jax.jit(lambda x: jnp.sin(jnp.cos(x))), (x,), "x"),
    }
    return Scope(blocks)


BODY = "s[shard_map].jaxpr"
LITERAL = "f[mul][0].inputs[1].value"
TRUE = [
    # types
    'f[tanh].type == "f32[4,8]"',
    'f[tanh].type == "f32[4, 8]" and f[tanh].type == "float32[4,8]"',
    'f.inputs[k].type == "key<fry>[]"',
    'f[tanh].type in ("f32[8]", "f32[4,8]") and f[tanh].type not in {"f32[8]"}',
    '{v.type for v in pure.variables} == {"f32[4,8]"}',
    '"f32" in f[tanh].type and "[4,8" in f[tanh].type',
    'f[tanh].type[:3] == "f32"',
    f'{BODY}[sin].type == "f32[1,4]"',
    'free[sin].type == "f32[n,4]" and free[sin].type != "f32[4]"',
    'held.variables[1].type in ("Ref{f32[4]}", "Ref<default>{f32[4]}")',
    "f[tanh].type == f.inputs[x].type and f[tanh].type == f.again[tanh].type",
    # sizes
    "f[tanh].size == 32 and f[tanh].bytes == 128",
    "f.inputs[k].size == 1 and f.inputs[k].bytes == 8",
    "sum(v.bytes for v in pure[jit].jaxpr.variables) == 3 * 128",
    "[v.bytes for v in f.variables if v.dtype == 'i4'] == [32, 32]",
    "{v.bytes for v in f.variables if v.dtype == 'c64'} == {256}",
    "held.variables[1].size == 4 and held.variables[1].bytes == 16",
    # weak types
    "weak.inputs[x].weak and not weak.inputs[y].weak",
    'f["while"].weak and f["while"].inputs[0].weak',
    "not f[tanh].weak and not f[mul][0].inputs[1].weak",
    "all(v.weak for v in f['while'].body_jaxpr.variables)",
    "[v.weak for v in weak.variables] == [True, False, True, False, False]"
    " or [v.weak for v in weak.variables] == [True, False, True, False]",
    # axes
    f'{BODY}[sin].varying == ("data", "model")',
    f'{BODY}[sin].varying == ["model", "data"] and {BODY}[sin].varying == {{"data", "model"}}',
    f'"data" in {BODY}[sin].varying and "data" not in {BODY}.outputs[0].varying',
    f'{BODY}.outputs[0].varying == ("model",) and {BODY}.outputs[0].varying != ("data",)',
    "s.outputs[0].varying == () and not s.inputs[x].varying",
    f'{{v.varying for v in {BODY}.inputs}} == {{("model", "data"), ("model",)}}',
    f"{BODY}[sin].varying == {BODY}.inputs[0].varying",
    # numbers
    f"{LITERAL} == 0.1 and {LITERAL} != 0.2 and {LITERAL} == 0.10000000149011612",
    f"{LITERAL} <= 0.1 and not {LITERAL} < 0.1 and {LITERAL} < 0.11 and {LITERAL} > 0.09",
    f"{LITERAL} in (0.2, 0.1) and {LITERAL} not in {{0.2}} and {{{LITERAL}}} == {{0.1}}",
    # which JAX prints as `0.9:f32[]`, since it is weakly typed
    "f['while'].body_jaxpr[mul].inputs[1].value == 0.8999999761581421",
    "f['while'].body_jaxpr[mul].inputs[1].value == 0.9",
    f"{LITERAL} * 2 == 0.2 and 1 / {LITERAL} == 10 and round({LITERAL}, 1) == 0.1",
    "[v.value for e in f[mul] for v in e.inputs if v.dtype == 'bf16'"
    " and v.origin == 'literal'] == [0.1]",
    f"{LITERAL} == f.again[mul][0].inputs[1].value",
    '[v.value for e in f[add] for v in e.inputs if v.origin == "literal"] == ["inf"]',
    'f[sub].inputs[1].value == "nan" and f[sub].inputs[1].value == f[sub].inputs[1].value',
    'f[sub].inputs[1].value != "inf" and f[sub].inputs[1].value != 3',
    "[v.value for e in f for v in e.inputs if v.dtype == 'i4' and v.origin == 'literal'] == [3]",
    # reads
    "f[mul][0].read_count == 2 and f[mul][0].uses == 1",
    "f[mul][0].outputs[0].read_count == 2 and f.inputs[x].read_count >= 3",
    # kinds
    'f[tanh].kind == "elementwise" and f["while"].kind == "control flow"',
    'f[tanh].kind in ("elementwise", "shape") and "elementwise" in {e.kind for e in f}',
    'any(e.kind == "collective" for e in s.all)',
    'not any(e.kind in ("collective", "control flow") for e in pure.all)',
    '[e.kind for e in s.all if e.primitive in ("axis_index", "pvary")][0] == "sharding"',
    'pure[jit].kind == "call" and "flow" in f["while"].kind',
    # positions
    "f[tanh].index == 0 and f[log].index == len(f[:3])",
    "f[tanh].index < f[log].index and f[log].index > f[mul][0].index",
    "f[f[log].index - 1].primitive == 'mul'",
    "f[log].index - f[mul][1].index == 1",
    "max(e.index for e in f) == len(f) - 1",
]


@pytest.mark.parametrize("claim", TRUE)
def test_true(claim: str) -> None:
    assert judge(claim, scope()).is_true


REFUSED = [
    ('f[tanh].type == "flaot32[8]"', "did you mean `f32[8]`?"),
    ('f[tanh].type != "jnp.float32[8]"', "did you mean `f32[8]`?"),
    ('f[tanh].type != "float[8]"', "did you mean `f32[8]`?"),
    ('f[tanh].type != "f32"', "did you mean `f32[]`?"),
    ('f[tanh].type != "f32[m,4]"', "no axis has the size `m`"),
    ('f[tanh].type != "f32[04,8]"', "no axis has the size `04`"),
    ('f[tanh].type != "f32[4,8,]"', "did you mean `f32[4,8]`?"),
    ('f[tanh].size != "33"', "a text with them; write `f[tanh].size != 33`"),
    (f'{LITERAL} != "0.1"', f"write `{LITERAL} != 0.1`"),
    (f"{LITERAL} != -jnp.inf", f'write `{LITERAL} != "-inf"`'),
    (f"{LITERAL.removesuffix('.value')}.text == 0.1", f"write `{LITERAL} == 0.1`"),
    ('f[tanh].type != "tensor"', "unknown type `tensor`"),
    (f'{BODY}[sin].type != "f32[1,4]{{V:data}}"', "did you mean `f32[1,4]`?"),
    ('f[tanh].type != "f32[4@data,8]"', "did you mean `f32[4,8]`?"),
    ('"f23" not in f[tanh].type', "did you mean `f32`?"),
    ("f[tanh].type != (4, 8)", "can't compare"),
    ("f[tanh].type != 4", "can't compare"),
    ('f[tanh].size != "32"', "write a number without quotes"),
    ("free[sin].bytes > 3", "the symbolic size `n`"),
    ("f.type == 3", "`f[0].type`"),
    ('u[shard_map].jaxpr[sin].varying != ("data",)', "check_vma=False"),
    (f'{BODY}[sin].varying != ("dta",)', "did you mean `data`?"),
    (f'"modle" not in {BODY}[sin].varying', "did you mean `model`?"),
    (f'{BODY}[sin].varying != "data"', '== ("data",)'),
    ('f[tanh].varying != ("data",)', "there is no mesh here"),
    ("f[tanh].weak != 1", "write `True` or `False`"),
    ("f[tanh].size == True", "and for a number its digits"),
    ("f[mul].bytes < 9", "`sum(e.bytes for e in f[mul])`, or write `f[mul][0].bytes`"),
    ("f.inputs.bytes < 9", "`sum(v.bytes for v in f.inputs)`"),
    ("f.contracts == ((1, 0),)", "belongs to one contraction, such as `dot_general`"),
    ("f[tanh].value == 1", "belongs to a literal, and it reads none"),
    ("f[tanh].weak < 1", "can't compare true or false with a number"),
    ('f[tanh].size != "32"', "write `f[tanh].size != 32`"),
    (f'{LITERAL} == "0.1"', f"write `{LITERAL} == 0.1`"),
    (f'{LITERAL} == "Inf"', f'write `{LITERAL} == "inf"`'),
    (f'{LITERAL} != "-Infinity"', f'write `{LITERAL} != "-inf"`'),
    (f"{LITERAL} == -jnp.inf", f'write `{LITERAL} == "-inf"`'),
    (f'{LITERAL} == "1e-3"', f"write `{LITERAL} == 0.001`"),
    ("f[tanh].kind == elementwise", 'write `f[tanh].kind == "elementwise"`'),
    ("f[tanh].outputs[0].aval.vma == ()", "write `f[tanh].outputs[0].varying == ()`"),
    ("f[tanh].position > 0", "write `f[tanh].index > 0`"),
    (f'{LITERAL} != "0.1"', "is a text"),
    ("f[sub].inputs[1].value < 3", "NaN"),
    ("f[mul][0].inputs[0].value != 0.1", "the result of an equation, not a literal"),
    ("f[tanh].inputs[0].value != 0.1", "an input, not a literal"),
    ("f[mul][0].value != 0.1", "`f[mul][0].inputs[1].value`"),
    ("[e.inputs[1].value for e in f[mul] if e.dtype == 'c64'] != []", "complex number (1+2j)"),
    ("f[mul][0].inputs[1].read_count != 1", "only variables are read"),
    ('f[tanh].kind != "colective"', "did you mean `collective`?"),
    ('not any(e.kind == "loop" for e in f.all)', "did you mean `control flow`?"),
    ('len(f) > 3 or f[tanh].kind == "colective"', "did you mean `collective`?"),
    ('len(f) > 3 or f[tanh].type == "f33[]"', "f32[]"),
    (f'len(s) > 0 or "dta" in {BODY}[sin].varying', "did you mean `data`?"),
    ("f[log].index != f.again[log].index", "different programs"),
    ("f[log].index + 1 < f.again[log].index", "different programs"),
    ("max(e.index for e in f.all) > 3", "different programs"),
    ("len({e.index for e in f.all} | {f[log].index, f.again[log].index}) < 0", "different"),
    (f'len(f) > 3 or {LITERAL} == "0.1"', "is a text"),
    ('len(f) > 3 or "0.1" in [v.value for v in f[mul][0].inputs]', "is a text"),
    ('len(f) > 3 or f["while"].body_jaxpr.inputs[crary]', "did you mean `carry`?"),
    ("f[tanh].sise == 3", "did you mean `size`?"),
]


@pytest.mark.parametrize(("claim", "message"), REFUSED)
def test_refused(claim: str, message: str) -> None:
    with pytest.raises(PathError) as raised:
        judge(claim, scope())
    assert message in raised.value.message


def test_values_are_plain_outside() -> None:
    for path in (LITERAL, "f[log].index", "f[tanh].bytes", "f[tanh].weak", "f[tanh].kind"):
        value = evaluate(path, scope()).value
        assert type(value) in (float, int, bool, str), path
    assert type(evaluate(f"{BODY}[sin].varying", scope()).value[0]) is str


# --- what a text alone says

TEXT = """{ lambda ; a:f32[4]. let
    b:f32[4] = mul a 0.10000000149011612
    c:f32[4] = mul b 2.0
    d:f32[4] = pbroadcast[axes=('i',) axis_index_groups=None] c
    e:f32[4] = pbroadcast[axes=('i',) axis_index_groups=None source=0] d
  in (e,) }"""


def asked(text: str) -> Any:
    return evaluate(text, {"p": TEXT}).value


def test_of_a_text_alone() -> None:
    assert asked("p[mul][1].inputs[1].value") == 2.0
    assert asked("p[mul][1].inputs[1].value == 3") is False
    with pytest.raises(PathError, match="without a dtype"):
        asked("p[mul][0].inputs[1].value == 0.1")
    with pytest.raises(PathError, match="only the text is known"):
        asked("p[mul][0].weak")
    assert asked("p[mul][0].bytes") == 16
    # The older mark of this name moves nothing.
    assert asked("[e.kind for e in p]")[2:] == ("sharding", "collective")


def test_an_older_recording_knows_no_weak_types() -> None:
    known = scope().blocks["weak"]
    programs = tuple(replace(program, weak=None) for program in known.facts.programs)
    older = Scope({"weak": replace(known, facts=Facts(programs, known.facts.sources))})
    with pytest.raises(PathError, match="jaxpr-lock` records it again"):
        evaluate("weak.inputs[x].weak", older)


def test_marks_of_types() -> None:
    cases = {
        "f32[4@a,8]": ("f32[4,8]", (), {"a"}),
        "f32[8@(a,b),16]{V:data}": ("f32[8,16]", ("data",), {"a", "b", "data"}),
        "f32[1]{V:(x,y), U:z}": ("f32[1]", ("x", "y"), {"x", "y", "z"}),
        "f32[1]{U:z}{x,y}": ("f32[1]", ("x", "y"), {"x", "y", "z"}),  # as JAX 0.7 has it
        "Ref<vmem>{f32[4]{V:x}}": ("Ref<vmem>{f32[4]}", ("x",), {"x"}),
        "Tok": ("Tok", (), set()),
    }
    for text, (plain, varying, axes) in cases.items():
        assert (plain_type(text), varying_axes(text), axes_in(text)) == (plain, varying, axes)


# --- kinds


def test_kinds_of_a_project() -> None:
    text = "{ lambda ; a:f32[4]. let b:f32[4] = swirl a in (b,) }"
    programs = Scope.of({"p": text})
    with pytest.raises(PathError, match="declare it in `jaxpr_glossary`"):
        evaluate("not any(e.kind == 'collective' for e in p)", programs)
    declared = replace(programs, kinds={"swirl": "collective"})
    assert evaluate("p[0].kind == 'collective'", declared).value is True


def test_what_moves_data_is_a_collective() -> None:
    moving = (
        "psum psum2 psum_invariant pmax pmin all_gather all_gather_invariant reduce_scatter"
        " all_to_all ragged_all_to_all ppermute pbroadcast pgather"
    ).split()
    staying = "pvary axis_index shard_map reshard sharding_constraint add jit scan".split()
    kinds = {name: entry.kind for name in (*moving, *staying) if (entry := builtin().entry(name))}
    assert {kinds[name] for name in moving} == {"collective"}
    assert "collective" not in {kinds[name] for name in staying}


def test_words_of_kinds() -> None:
    assert {*MEANT_KINDS.values()} <= {*KINDS}
    assert not {*MEANT_KINDS} & {*KINDS}


# --- cost


def test_questions_about_a_long_program_end() -> None:
    def long(x: Any) -> Any:
        for n in range(1000):
            x = jnp.sin(x) * (n + 1.5)
        return x

    here = Scope({"f": block("f", long, (jnp.ones(3),), "x")})
    ask = partial(judge, programs=here)
    for claim in (
        "sum(v.bytes for v in f.variables) == 12 * 2001",
        "all(e.kind == 'elementwise' for e in f)",
        "max(e.index for e in f) == 1999",
        "not any(v.weak for v in f.variables)",
        "{v.type for v in f.variables} == {'f32[3]'}",
        "all(e.inputs[1].value > 1 for e in f[mul])",
        "all(v.read_count < 2 for v in f.variables)",
        "all(v.varying == () for v in f.variables)",
    ):
        assert ask(claim).is_true
    assert base.MAX_STEPS == 100_000
