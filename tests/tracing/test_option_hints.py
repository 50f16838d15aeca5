"""Each option that authors write first is answered with one that can be read."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.tracing.hints.arguments import made
from sphinx_jaxpr.tracing.options import read_options
from sphinx_jaxpr.tracing.request import checked

ARGS = [
    ("x: f32[128,64]", "x=f32[128,64]"),
    ("x: f32[8], w: bf16[4,4]", "x=f32[8], w=bf16[4,4]"),
    ("x -> f32[8]", "x=f32[8]"),
    ("x f32[8]", "x=f32[8]"),
    ("f32[8] x", "x=f32[8]"),
    ("x=f32[8] w=f32[3]", "x=f32[8], w=f32[3]"),
    ("f32[8];f32[3]", "f32[8],f32[3]"),
    ("f32(128,64)", "f32[128,64]"),
    ("f32 [8]", "f32[8]"),
    ("f32{8}", "f32[8]"),
    ("f32[128 64]", "f32[128,64]"),
    ("f32[128x64]", "f32[128,64]"),
    ("f32[128][64]", "f32[128,64]"),
    ("float32[8]", "f32[8]"),
    ("x=jnp.bfloat16[8]", "x=bf16[8]"),
    ("x='f32[8]'", "x=f32[8]"),
    ("x='f32[8]', y=jnp.ones(3)", "x=f32[8], y=f32[3]"),
]
#: Calls, which a trace carries out where it reaches their names.
CALLS = [
    ("jnp.ones((128,64))", "f32[128,64]"),
    ("jnp.zeros(3)", "f32[3]"),
    ("jnp.zeros((8, 4), dtype=jnp.bfloat16)", "bf16[8,4]"),
    ("jnp.zeros((8,), jnp.int32)", "i32[8]"),
    ("jax.ShapeDtypeStruct((8,), jnp.float32)", "f32[8]"),
    ("ShapeDtypeStruct(shape=(), dtype='int8')", "i8[]"),
    ("np.random.rand(3, 4)", "f32[3,4]"),
    ("jax.random.normal(key, (8,))", "f32[8]"),
    ("jnp.arange(8)", "i32[8]"),
    ("jnp.eye(3)", "f32[3,3]"),
    ("jax.random.key(0)", "key<fry>[]"),
    ("jnp.array(data)", ""),
    ("jnp.ones(n)", ""),
    ("init(params)", ""),
    ("not a call", ""),
]
STATIC = [("n: 3", "n=3"), ("n == 3, act: jax.nn.relu", "n=3, act=jax.nn.relu")]
TRANSFORMS = [
    ("vmap(8)", "vmap(axis_size=8)"),
    ("vmap(x)", "vmap(in_axes=x)"),
    ("grad(1)", "grad(argnums=1)"),
    ("grad('w')", "grad(argnums=w)"),
    ("grad((0, 1))", "grad(argnums=(0, 1))"),
    ("grad(argnums=0, 1)", "grad(argnums=(0, 1))"),
    ("scan(4)", "scan(length=4)"),
    ("checkpoint(dots_saveable)", "checkpoint(policy=dots_saveable)"),
    ("shard_map({'data': 8})", "shard_map(mesh={'data': 8})"),
    ("grad vmap", "grad | vmap"),
    ("grad -> vmap", "grad | vmap"),
    ("grad; vmap", "grad | vmap"),
    ("grad.vmap | jit + remat", "grad | vmap | jit | remat"),
    ("grad∘vmap", "vmap | grad"),
    ("grad(vmap)", "vmap | grad"),
    ("vmap(grad(f))", "grad | vmap"),
    ("jax.vmap(jax.grad(f, argnums=1), in_axes=0)", "grad(argnums=1) | vmap(in_axes=0)"),
    ("jax.grad(f)", "grad"),
    ("grad -> slope", "grad as slope"),
    ("slope = grad", "grad as slope"),
]


@pytest.mark.parametrize(
    ("option", "text", "proposal"),
    [
        *(("args", *row) for row in ARGS),
        *(("static", *row) for row in STATIC),
        *(("transforms", *row) for row in TRANSFORMS),
    ],
)
def test_what_to_write_is_proposed(option: str, text: str, proposal: str) -> None:
    (problem,) = read_options(**{option: text}).problems
    assert problem.proposal == proposal
    assert str(problem).endswith(f"write {proposal}")
    assert not read_options(**{option: proposal}).problems


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("args", "x=lambda x: x"),
        ("args", "f32[n]"),
        ("args", "x=" + "(" * 200),
        ("static", "3"),
        ("transforms", "grad(1"),
        ("transforms", "grad() grad("),
        ("transforms", "nothing(nowhere)"),
    ],
)
def test_where_nothing_is_clear_nothing_is_proposed(option: str, text: str) -> None:
    (problem,) = read_options(**{option: text}).problems
    assert problem.proposal == ""
    assert "write " not in str(problem)


@pytest.mark.parametrize(("text", "spec"), CALLS)
def test_a_call_that_makes_an_array_is_a_spec(text: str, spec: str) -> None:
    """Itself, or what is proposed where a name in it can't be reached."""
    assert made(text) == spec
    assert not spec or not read_options(args=spec).problems
    if text.endswith(")"):
        assert not read_options(args=f"x={text}").problems


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("jax.grad", "did you mean 'grad'?"),
        ("jax.lax.scan", "did you mean 'scan'?"),
        ("jacobian", "did you mean 'jacrev'?"),
        ("pmap", "did you mean 'shard_map'?"),
        ("grad(wrt=w)", "did you mean 'argnums'?"),
        ("vmap(dim=0)", "did you mean 'in_axes'?"),
        ("scan(steps=3)", "did you mean 'length'?"),
        ("none", "without the option, the function itself is shown"),
    ],
)
def test_names_of_other_libraries_are_answered(text: str, words: str) -> None:
    options = read_options(transforms=text)
    ((_, problem),) = checked(options.transforms, {})
    assert words in problem
