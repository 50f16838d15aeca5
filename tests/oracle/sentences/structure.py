"""Counts, order, wiring, constants and literals, parameters, calls."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.oracle.sentences.model import Sentence, bf16, f32, i32, subject
from tests.oracle.sentences.objects import CONTROL_FLOW, inner, is_literal, number

KEY = jax.eval_shape(lambda: jax.random.key(0))
TABLE = jnp.arange(5.0)

# -- what Python did is gone


@subject(f32(4))
def unrolled(x):
    for _ in range(3):
        x = x * x
    return x


@subject(f32(4))
def looped(x):
    return lax.fori_loop(0, 3, lambda _, v: v * v, x)


def _scaled(x):
    return jnp.sin(x) * 3.0


@subject(f32(8), f32(8))
def inlined(first, second):
    return jnp.sum(first + _scaled(second))


@subject(f32(8), f32(8))
def called(first, second):
    return jnp.sum(first + jax.jit(_scaled)(second))


# -- values


@subject(f32(5), f32(5))
def straight(x, slope):
    return x * slope + 0.5


@subject(f32(5), f32(5))
def crossed(x, slope):
    return (x + 0.5) * jnp.sin(slope)


@subject(f32(5))
def shifted(x):
    return 2.0 * x + TABLE


@subject(f32(4, 8))
def by_rows(x):
    return jnp.sum(x * 2.0, axis=1)


@subject(f32(4, 8))
def by_columns(x):
    return jnp.sum(x * 3.0, axis=0)


@subject(f32(4), f32(4))
def dead(x, y):
    jnp.sin(y)
    return jnp.cos(x) * 2.0


@subject(f32(4), f32(4))
def alive(x, y):
    return jnp.cos(x) * jnp.sin(y)


@subject(f32(4))
def branched(x):
    t = jnp.tanh(x)
    return jnp.sin(t) * t


@subject(f32(4))
def squared(x):
    t = jnp.tanh(x)
    return t * t


@subject(f32(4))
def chained(x):
    return jnp.cos(jnp.sin(x))


@subject(f32(4))
def parallel(x):
    return jnp.sin(x), jnp.cos(x)


@subject(f32(4))
def returned(x):
    jnp.sin(x)
    return x


@subject(f32(4))
def constant(x):
    return 1.0


@subject(f32(4))
def tenth(x):
    return x * 0.1


@subject(f32(4))
def near_tenth(x):
    """0.1 as bfloat16 holds it, which is another number in float32."""
    return x * 0.10009765625


@subject(bf16(4))
def tenth_in_bf16(x):
    return x * 0.1


@subject(i32(4))
def counted(n):
    return n + 1


@subject(i32(4))
def counted_twice(n):
    return n + 2


@subject(f32(4))
def bounded_below(x):
    return lax.max(jnp.full((4,), -jnp.inf), lax.max(-jnp.inf, x[0]) * x)


@subject(f32(4))
def rectified(x):
    return lax.max(jnp.float32(0), x[0]) * x


@subject(f32(4))
def cubed(x):
    return x**3


# -- order


@subject(bf16(4, 8))
def softmax(x):
    return jax.nn.softmax(x.astype(jnp.float32))


@subject(bf16(4, 8))
def late_cast(x):
    return jnp.max(jnp.exp(x)).astype(jnp.float32)


# -- calls


@jax.jit
def half(x):
    return x * 0.5


@subject(f32(3), f32(3))
def twice_half(a, b):
    return half(a) + half(b)


@subject(f32(3), f32(2))
def half_of_two_types(a, b):
    return half(a).sum() + half(b).sum()


@subject(f32(3))
def clipped(x):
    return jnp.clip(x, -1.0, 1.0)


@subject(f32(3))
def chosen(x):
    return jnp.where(x > 0, x, 0.0)


@subject(f32(3), chains="vmap, jit")
def plain(x):
    return jnp.sin(x) + 1.0


@subject(f32(4), f32(4), chains="vmap")
def leaving_one_out(x, y):
    return jnp.outer(x, y)


@subject(f32(3))
def relu(x):
    return jax.nn.relu(x)


@jax.custom_jvp
def soft_sign(x):
    return x / (1 + jnp.abs(x))


soft_sign.defjvp(lambda given, dots: (soft_sign(*given), dots[0]))


@subject(f32(3))
def signed(x):
    return soft_sign(x)


@subject(f32(3))
def printing(x):
    jax.debug.print("{}", x)
    return x * 2.0


@subject(KEY)
def drawn(key):
    return jax.random.normal(key, (3,))


@subject(KEY)
def drawn_bytes(key):
    return jax.random.bits(key, (3,), "uint8")


@subject(jax.ShapeDtypeStruct((2,), jnp.uint32))
def old_key(key):
    return key + 1


JAXPR_PAGE = "JAX docs: jaxpr page"
READING = "our lesson: reading"
REFERENCE = "our reference: recipes"
TABLE_OF_TRIALS = "the table of trials"

SENTENCES = [
    Sentence(
        "A loop of Python leaves one equation for each turn.",
        READING,
        'ops(f) == ["mul"] * 3',
        unrolled,
        lambda f: f.base.ops == ["mul"] * 3,
        looped,
    ),
    Sentence(
        "There is no control flow in it.",
        TABLE_OF_TRIALS,
        'not any(e.kind == "control flow" for e in f.all)',
        unrolled,
        lambda f: not CONTROL_FLOW & {e.primitive.name for e in f.base.everything},
        looped,
    ),
    Sentence(
        "A plain Python function that is called leaves no call.",
        JAXPR_PAGE,
        'not any(e.kind == "call" for e in f)',
        inlined,
        lambda f: not f.base.named("jit"),
        called,
    ),
    Sentence(
        "The program has three equations.",
        READING,
        "len(f) == 3",
        branched,
        lambda f: len(f.base.eqns) == 3,
        squared,
    ),
    Sentence(
        "Some equations are inside another one.",
        READING,
        "len(f.all) > len(f)",
        called,
        lambda f: len(f.base.everything) > len(f.base.eqns),
        inlined,
    ),
    Sentence(
        "Nothing was captured as a constant.",
        JAXPR_PAGE,
        "not f.consts",
        inlined,
        lambda f: not f.base.consts,
        shifted,
    ),
    Sentence(
        "The captured array is what the addition reads second.",
        READING,
        'f[add].inputs[1].origin == "constant"',
        shifted,
        lambda f: f.base.only("add").invars[1] in f.base.consts,
        straight,
    ),
    Sentence(
        "The number 2.0 is kept in the equation.",
        JAXPR_PAGE,
        "f[mul].inputs[1].value == 2.0",
        by_rows,
        lambda f: number(f.base.only("mul").invars[1]) == 2.0,
        by_columns,
    ),
    Sentence(
        "The literal is 0.1.",
        TABLE_OF_TRIALS,
        "f[mul].inputs[1].value == 0.1",
        tenth,
        lambda f: number(f.base.only("mul").invars[1]) == float(np.float32(0.1)),
        near_tenth,
    ),
    Sentence(
        "The literal is 0.1 as bfloat16 holds it.",
        TABLE_OF_TRIALS,
        "f[mul].inputs[1].value == 0.1",
        tenth_in_bf16,
        lambda f: number(f.base.only("mul").invars[1]) == 0.10009765625,
        instead="f[mul].inputs[1].value == 0.101",
        oracle_instead=lambda f: number(f.base.only("mul").invars[1]) == 0.10107421875,
    ),
    Sentence(
        "One is added.",
        "questions and answers: counters",
        "f[add].inputs[1].value == 1",
        counted,
        lambda f: number(f.base.only("add").invars[1]) == 1,
        counted_twice,
    ),
    Sentence(
        "The maximum is taken with minus infinity.",
        "blogs: numerics of softmax",
        "f[max][0].inputs[0].value < -1e38",
        bounded_below,
        lambda f: number(f.base.named("max")[0].invars[0]) == -np.inf,
        rectified,
    ),
    Sentence(
        "One operand of the product is a literal.",
        READING,
        'f[mul].inputs[1].origin == "literal"',
        tenth,
        lambda f: is_literal(f.base.only("mul").invars[1]),
        straight,
    ),
    Sentence(
        "The product reads the two inputs in their order.",
        READING,
        "f[mul].inputs == [f.inputs[x], f.inputs[slope]]",
        straight,
        lambda f: list(map(id, f.base.only("mul").invars)) == list(map(id, f.base.ins)),
        crossed,
    ),
    Sentence(
        "The first operand is read from an argument.",
        REFERENCE,
        'f[mul].inputs[0].origin == "input"',
        straight,
        lambda f: any(f.base.only("mul").invars[0] is v for v in f.base.ins),
        squared,
    ),
    Sentence(
        "The program returns what the addition binds.",
        READING,
        "f.outputs == f[add].outputs",
        straight,
        lambda f: f.base.outs == f.base.only("add").outvars,
        crossed,
    ),
    Sentence(
        "It returns its argument unchanged.",
        "our lesson: control flow",
        "f.outputs[0] == f.inputs[x]",
        returned,
        lambda f: f.base.outs[0] is f.base.ins[0],
        chained,
    ),
    Sentence(
        "It returns the number 1.0, whatever it is given.",
        "JAX docs: control flow",
        "f.outputs[0].value == 1.0",
        constant,
        lambda f: number(f.base.outs[0]) == 1.0,
        instead="f.outputs[0].value == 2.0",
        oracle_instead=lambda f: number(f.base.outs[0]) == 2.0,
    ),
    Sentence(
        "Nothing reads the sine.",
        READING,
        "f[sin].uses == 0",
        dead,
        lambda f: not f.base.readers(f.base.only("sin").outvars[0]),
        alive,
    ),
    Sentence(
        "Two equations read it.",
        REFERENCE,
        "f[tanh].uses == 2",
        branched,
        lambda f: len(f.base.readers(f.base.only("tanh").outvars[0])) == 2,
        squared,
    ),
    Sentence(
        "It is read twice, by one equation.",
        TABLE_OF_TRIALS,
        "f[tanh].outputs[0].read_count == 2",
        squared,
        lambda f: f.base.times_read(f.base.only("tanh").outvars[0]) == 2,
        instead="f.inputs[x].read_count == 2",
        oracle_instead=lambda f: f.base.times_read(f.base.ins[0]) == 2,
    ),
    Sentence(
        "The second equation reads what the first computes.",
        "JAX docs: autodidax",
        "reads(f[1], f[0])",
        chained,
        lambda f: f.base.eqns[1] in f.base.readers(f.base.eqns[0].outvars[0]),
        parallel,
    ),
    Sentence(
        "The last equation does not read the argument itself.",
        "JAX docs: autodidax",
        "not reads(f[-1], f.inputs[x])",
        chained,
        lambda f: f.base.eqns[-1] not in f.base.readers(f.base.ins[0]),
        parallel,
    ),
    Sentence(
        "The result does not depend on y.",
        TABLE_OF_TRIALS,
        "not depends(f[-1], f.inputs[y])",
        dead,
        lambda f: not f.base.depends(f.base.eqns[-1], f.base.ins[1]),
        alive,
    ),
    Sentence(
        "The cast comes before the softmax.",
        TABLE_OF_TRIALS,
        "depends(f[exp], f[convert_element_type])",
        softmax,
        lambda f: f.base.depends(
            f.base.only("exp"), f.base.only("convert_element_type").outvars[0]
        ),
        late_cast,
    ),
    Sentence(
        "The maximum is computed before the exponential.",
        TABLE_OF_TRIALS,
        "f[reduce_max].index < f[exp].index",
        softmax,
        lambda f: f.base.ops.index("reduce_max") < f.base.ops.index("exp"),
        late_cast,
    ),
    Sentence(
        "The product is the third equation.",
        READING,
        "f[mul].index == 2",
        branched,
        lambda f: f.base.ops.index("mul") == 2,
        squared,
    ),
    Sentence(
        "The rows are summed over axis 1.",
        JAXPR_PAGE,
        "f[reduce_sum].params[axes] == (1,)",
        by_rows,
        lambda f: f.base.only("reduce_sum").params["axes"] == (1,),
        by_columns,
    ),
    Sentence(
        "A power with a whole exponent keeps it as a parameter.",
        "questions and answers: powers",
        "f[integer_pow].params[y] == 3",
        cubed,
        lambda f: f.base.only("integer_pow").params["y"] == 3,
        instead="f[integer_pow].params[y] == 4",
        oracle_instead=lambda f: f.base.only("integer_pow").params["y"] == 4,
    ),
    Sentence(
        "Two calls of a jitted function share one program.",
        READING,
        "f[jit][0].jaxpr.calls == 2",
        twice_half,
        lambda f: f.base.named("jit")[0].params["jaxpr"] is f.base.named("jit")[1].params["jaxpr"],
        half_of_two_types,
    ),
    Sentence(
        "The jitted function keeps its name.",
        JAXPR_PAGE,
        'f[jit].params[name] == "clip"',
        clipped,
        lambda f: f.base.only("jit").params["name"] == "clip",
        chosen,
    ),
    Sentence(
        "`jnp.where` is a call with a selection inside.",
        "questions and answers: where",
        "f[jit].jaxpr[select_n]",
        chosen,
        lambda f: inner(f.base.only("jit")).named("select_n"),
        clipped,
    ),
    Sentence(
        "`relu` has a derivative rule of its own.",
        "JAX docs: custom derivatives",
        'f[custom_jvp_call].params[name] == "relu"',
        relu,
        lambda f: "relu" in str(f.base.only("custom_jvp_call").params["call_jaxpr"]),
        signed,
    ),
    Sentence(
        "Under `jit` the body is the function's program.",
        "our lesson: composing",
        "same(f.jit[jit].jaxpr[:], f[:])",
        plain,
        lambda f: inner(f.jit.only("jit")).ops == f.base.ops,
        instead="same(f.jit[:], f[:])",
        oracle_instead=lambda f: f.jit.ops == f.base.ops,
    ),
    Sentence(
        "It has a side effect.",
        "JAX docs: effects of debugging",
        "len(f.effects) == 1",
        printing,
        lambda f: len(f.base.body.effects) == 1,
        plain,
    ),
    Sentence(
        "A normal number is made of 32 random bits.",
        "JAX docs: random numbers",
        "f.all[random_bits].params[bit_width] == 32",
        drawn,
        lambda f: f.base.inside("random_bits")[0].params["bit_width"] == 32,
        drawn_bytes,
    ),
    Sentence(
        "The key is an array of keys, not of integers.",
        "JAX docs: random numbers",
        'f.inputs[key].type == "key<fry>[]"',
        drawn,
        lambda f: str(f.base.ins[0].aval.dtype) == "key<fry>",
        old_key,
    ),
    Sentence(
        "These pages are checked on JAX 0.7 or later.",
        "changelogs of libraries",
        'jax >= "0.7"',
        plain,
        lambda f: tuple(map(int, jax.__version__.split(".")[:2])) >= (0, 7),
        instead='jax >= "99"',
        oracle_instead=lambda f: int(jax.__version__.split(".")[0]) >= 99,
    ),
    # -- vmap, by the list of equations
    Sentence(
        "Under `vmap` the list of equations is unchanged.",
        REFERENCE,
        "ops(f.vmap) == ops(f)",
        plain,
        lambda f: f.vmap.ops == f.base.ops,
        leaving_one_out,
    ),
    Sentence(
        "`vmap` adds one equation.",
        REFERENCE,
        "len(f.vmap) == len(f) + 1",
        leaving_one_out,
        lambda f: len(f.vmap.eqns) == len(f.base.eqns) + 1,
        plain,
    ),
]
