"""Loops, branches and custom rules: their bodies, and operands by what they are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.oracle.sentences.model import Sentence, f32, i32, subject
from tests.oracle.sentences.objects import (
    Program,
    dtype,
    inner,
    is_literal,
    is_named,
    number,
    outline,
    programs_of,
    scan_groups,
    shape,
    while_groups,
)

# -- scan


@subject(f32(16), f32(16), f32())
def running_dot(left, right, extra):
    def step(total, pair):
        return total + pair[0] * pair[1] + extra, total

    return lax.scan(step, 0.0, (left, right))


@subject(f32(16), f32())
def two_carries(left, start):
    def step(state, item):
        return (state[0] + item, state[1] * item), None

    return lax.scan(step, (start, 1.0), left)[0]


@subject(f32(4, 16), f32(16), f32(16))
def layers(w, b, x):
    return lax.scan(lambda x, w: (jnp.sin(x * w) + b, None), x, w)[0]


@subject(f32(4, 8), f32(8), f32(8))
def layers_of_changed(w, b, x):
    bias = jnp.exp(b)
    return lax.scan(lambda x, w: (jnp.sin(x * w) + bias, None), x, jnp.flip(w, 0))[0]


@subject(f32(10))
def sums(x):
    return lax.scan(lambda total, item: (total + item, total), jnp.float32(0), x)


@subject(f32(9))
def shorter_sums(x):
    return lax.scan(lambda total, item: (total + item, total), jnp.float32(0), x)


@subject(f32(), chains="grad, jvp")
def newton(a):
    return lax.fori_loop(0, 5, lambda _, x: 0.5 * (x + a / x), a)


@subject(f32(), chains="grad")
def newton_in_two_loops(a):
    first = lax.fori_loop(0, 3, lambda _, x: 0.5 * (x + a / x), a)
    return lax.fori_loop(0, 2, lambda _, x: 0.5 * (x + a / x), first)


@subject(f32(), i32())
def newton_in(a, steps):
    return lax.fori_loop(0, steps, lambda _, x: 0.5 * (x + a / x), a)


@subject(f32(5), chains="grad")
def forwards(x):
    return lax.scan(lambda c, v: (jnp.sin(c * v), None), jnp.float32(1), x)[0]


@subject(f32(4), chains="grad")
def backwards(x):
    return lax.scan(lambda c, v: (jnp.sin(c * v), None), jnp.float32(1), x, reverse=True)[0]


@subject(f32(8), f32(8), chains="scan, vmap | scan")
def decayed(x, v):
    return jnp.sin(x) * v


# -- while


@subject(f32(16), i32())
def accumulated(arr, n):
    ones = jnp.ones(arr.shape)
    return lax.fori_loop(0, n, lambda _, v: v + ones * 3.0 + arr, arr + ones)


@subject(f32(), f32(), chains="jvp")
def doubled_until(x, limit):
    return lax.while_loop(lambda v: v < limit, lambda v: v * 2.0, x)


@subject(f32(), f32(), chains="jvp")
def doubled_until_twice(x, limit):
    far = limit * 2.0

    def body(state):
        return state[0] + 1, state[1] * 2.0 + limit

    return lax.while_loop(lambda state: state[1] < far, body, (0, x + 1.0))[1]


@subject(f32(), chains="jvp")
def halved(x):
    return lax.while_loop(lambda v: v > 1.0, lambda v: v / 2.0, x)


# -- cond


@subject(f32(), chains="vmap")
def leaky(x):
    return lax.cond(x > 0, lambda v: v, lambda v: 0.25 * v, x)


@subject(f32(), f32(), chains="vmap")
def leaky_by_another(x, y):
    return lax.cond(y > 0, lambda v, w: 0.25 * v + w, lambda v, w: v, jnp.sin(x), y)


@subject(i32(), f32())
def one_of_three(which, x):
    branches = [lambda v: v + 1.0, lambda v: v - 2.0, lambda v: v + 3.0]
    return lax.switch(which, branches, x)


# -- custom rules


@jax.custom_jvp
def damped(x, y):
    return jnp.sin(x) * y


damped.defjvp(lambda given, dots: (damped(*given), dots[0] * given[1]))


@jax.custom_vjp
def clipped_back(x):
    return jnp.sin(x)


clipped_back.defvjp(lambda x: (clipped_back(x), None), lambda _, ct: (jnp.clip(ct, -1.0, 1.0),))


@subject(f32(), f32())
def with_jvp(x, y):
    return damped(x, y)


@subject(f32(), f32())
def with_jvp_of_one(x, y):
    return jax.nn.relu(x) + y


@subject(f32(), chains="grad")
def with_vjp(x):
    return clipped_back(x)


@subject(f32(), chains="grad")
def without_vjp(x):
    return jnp.sin(x)


JAXPR_PAGE = "JAX docs: jaxpr page"
CONTROL_PAGE = "JAX docs: control flow"
LESSON = "our lesson: control flow"
REFERENCE = "our reference: recipes"
TRIALS = "the table of trials"


def consts(f):
    return scan_groups(f.base.only("scan"))[0]


def carry(f):
    return scan_groups(f.base.only("scan"))[1]


def xs(f):
    return scan_groups(f.base.only("scan"))[2]


def of_condition(f):
    return while_groups(f.base.only("while"))[0]


def of_body(f):
    return while_groups(f.base.only("while"))[1]


def carried(program):
    return while_groups(program.only("while"))[2]


SENTENCES = [
    Sentence(
        "The scan has one constant.",
        TRIALS,
        "len(f[scan].consts) == 1",
        running_dot,
        lambda f: len(consts(f)) == 1,
        sums,
    ),
    Sentence(
        "The scan has one carry.",
        TRIALS,
        "len(f[scan].carry) == 1",
        running_dot,
        lambda f: len(carry(f)) == 1,
        two_carries,
    ),
    Sentence(
        "The scan goes over two arrays.",
        TRIALS,
        "len(f[scan].xs) == 2",
        running_dot,
        lambda f: len(xs(f)) == 2,
        sums,
    ),
    Sentence(
        "A counted loop goes over no array.",
        LESSON,
        "len(f[scan].xs) == 0",
        newton,
        lambda f: len(xs(f)) == 0,
        sums,
    ),
    Sentence(
        "The running sum begins at zero.",
        JAXPR_PAGE,
        "f[scan].carry[0].value == 0.0",
        running_dot,
        lambda f: is_literal(carry(f)[0]) and number(carry(f)[0]) == 0,
        instead="f[scan].carry[0].value == 1.0",
        oracle_instead=lambda f: number(carry(f)[0]) == 1,
    ),
    Sentence(
        "The bias is the same in every turn.",
        "our lesson: transforms",
        "f[scan].consts[0] == f.inputs[b]",
        layers,
        lambda f: consts(f)[0] is f.base.ins[1],
        layers_of_changed,
    ),
    Sentence(
        "Each turn gets a slice of the weights.",
        "our lesson: transforms",
        "f[scan].xs[0] == f.inputs[w]",
        layers,
        lambda f: xs(f)[0] is f.base.ins[0],
        layers_of_changed,
    ),
    Sentence(
        "What is carried begins with x.",
        "our lesson: transforms",
        "f[scan].carry[0] == f.inputs[x]",
        layers,
        lambda f: carry(f)[0] is f.base.ins[2],
        instead="f[scan].carry[0] == f.inputs[b]",
        oracle_instead=lambda f: carry(f)[0] is f.base.ins[1],
    ),
    Sentence(
        "Inside, a weight has no axis for the layers.",
        JAXPR_PAGE,
        'f[scan].jaxpr.inputs[-1].type == "f32[16]"',
        layers,
        lambda f: shape(inner(f.base.only("scan")).ins[-1]) == (16,),
        layers_of_changed,
    ),
    Sentence(
        "It runs four times.",
        REFERENCE,
        "f.scan[scan].params[length] == 4",
        decayed,
        lambda f: f.scan.only("scan").params["length"] == 4,
        instead="f.scan[scan].params[length] == 8",
        oracle_instead=lambda f: f.scan.only("scan").params["length"] == 8,
    ),
    Sentence(
        "The body of the loop is the function, unchanged.",
        REFERENCE,
        "same(f.scan[scan].jaxpr[:], f[:])",
        decayed,
        lambda f: outline(inner(f.scan.only("scan")).eqns) == outline(f.base.eqns),
        instead="same(f.vmap_scan[scan].jaxpr[:], f[:])",
        oracle_instead=lambda f: (
            outline(inner(f.vmap_scan.only("scan")).eqns) == outline(f.base.eqns)
        ),
    ),
    Sentence(
        "The outputs of the turns are stacked.",
        LESSON,
        "f[scan].outputs[1].shape == (10,)",
        sums,
        lambda f: shape(f.base.only("scan").outvars[1]) == (10,),
        shorter_sums,
    ),
    Sentence(
        "A `fori_loop` with known ends is a scan.",
        LESSON,
        'ops(f) == ["scan"]',
        newton,
        lambda f: f.base.ops == ["scan"],
        newton_in,
    ),
    Sentence(
        "The body of the while closes over two arrays.",
        JAXPR_PAGE,
        'len(f["while"].body_consts) == 2',
        accumulated,
        lambda f: len(of_body(f)) == 2,
        doubled_until,
    ),
    Sentence(
        "The condition closes over nothing.",
        JAXPR_PAGE,
        'len(f["while"].cond_consts) == 0',
        accumulated,
        lambda f: len(of_condition(f)) == 0,
        doubled_until,
    ),
    Sentence(
        "Counter, end and value are carried.",
        JAXPR_PAGE,
        'len(f["while"].carry) == 3',
        accumulated,
        lambda f: len(carried(f.base)) == 3,
        doubled_until,
    ),
    Sentence(
        "The condition compares with the limit that was given.",
        CONTROL_PAGE,
        'f["while"].cond_consts[0] == f.inputs[limit]',
        doubled_until,
        lambda f: of_condition(f)[0] is f.base.ins[1],
        doubled_until_twice,
    ),
    Sentence(
        "The loop starts from x.",
        LESSON,
        'f["while"].carry[-1] == f.inputs[x]',
        doubled_until,
        lambda f: carried(f.base)[-1] is f.base.ins[0],
        doubled_until_twice,
    ),
    Sentence(
        "The loop has no fixed number of turns.",
        LESSON,
        '"length" not in f["while"].params',
        halved,
        lambda f: "length" not in f.base.only("while").params,
        instead='"cond_jaxpr" not in f["while"].params',
        oracle_instead=lambda f: "cond_jaxpr" not in f.base.only("while").params,
    ),
    Sentence(
        "Going forwards, the derivative of a while is one while.",
        LESSON,
        'ops(f.jvp) == ["while"]',
        halved,
        lambda f: f.jvp.ops == ["while"],
        newton,
    ),
    Sentence(
        "With tangents the carry is twice as large.",
        LESSON,
        'len(f.jvp["while"].carry) == 2 * len(f["while"].carry)',
        doubled_until,
        lambda f: len(carried(f.jvp)) == 2 * len(carried(f.base)),
        doubled_until_twice,  # its counter has no tangent
    ),
    Sentence(
        "What chooses the branch is a whole number.",
        JAXPR_PAGE,
        'f[cond].branch.dtype == "i32"',
        leaky,
        lambda f: dtype(f.base.only("cond").invars[0]) == "int32",
        instead='f[cond].branch.dtype == "bool"',
        oracle_instead=lambda f: dtype(f.base.only("cond").invars[0]) == "bool",
    ),
    Sentence(
        "The position of a switch is clamped first.",
        JAXPR_PAGE,
        "f[cond].branch == f[clamp].outputs[0]",
        one_of_three,
        lambda f: f.base.only("cond").invars[0] is f.base.only("clamp").outvars[0],
        instead="f[cond].branch == f.inputs[which]",
        oracle_instead=lambda f: f.base.only("cond").invars[0] is f.base.ins[0],
    ),
    Sentence(
        "The branch reads the truth value once it is converted.",
        JAXPR_PAGE,
        "reads(f[cond], f[convert_element_type])",
        leaky,
        lambda f: f.base.only("cond").invars[0] in f.base.only("convert_element_type").outvars,
        instead="reads(f[cond], f[gt])",
        oracle_instead=lambda f: (
            f.base.only("cond") in f.base.readers(f.base.only("gt").outvars[0])
        ),
    ),
    Sentence(
        "A switch holds all its branches.",
        JAXPR_PAGE,
        "len(f[cond].branches) == 3",
        one_of_three,
        lambda f: len(f.base.only("cond").params["branches"]) == 3,
        leaky,
    ),
    Sentence(
        "One operand goes into the chosen program.",
        JAXPR_PAGE,
        "len(f[cond].operands) == 1",
        leaky,
        lambda f: len(f.base.only("cond").invars) == 2,
        leaky_by_another,
    ),
    Sentence(
        "The branches get the argument itself.",
        JAXPR_PAGE,
        "f[cond].operands[0] == f.inputs[x]",
        leaky,
        lambda f: f.base.only("cond").invars[1] is f.base.ins[0],
        leaky_by_another,
    ),
    Sentence(
        "The program for false is the first one.",
        LESSON,
        "f[cond].branches[0][mul]",
        leaky,
        lambda f: bool(Program(programs_of(f.base.only("cond"))[0]).named("mul")),
        leaky_by_another,
    ),
    Sentence(
        "Under `vmap` over the condition, no branch is left.",
        LESSON,
        "not f.vmap[cond]",
        leaky,
        lambda f: not f.vmap.named("cond"),
        leaky_by_another,
    ),
    Sentence(
        "Under `vmap` a selection ends the program.",
        "issues: cond under vmap",
        'f.vmap[-1].primitive == "select_n"',
        leaky,
        lambda f: f.vmap.ops[-1] == "select_n",
        leaky_by_another,
    ),
    Sentence(
        "The gradient of a loop has two loops.",
        LESSON,
        "len(f.grad[scan]) == 2",
        newton,
        lambda f: len(f.grad.named("scan")) == 2,
        newton_in_two_loops,
    ),
    Sentence(
        "The way back through the loop runs in reverse.",
        LESSON,
        "f.grad.transpose[scan].params[reverse]",
        forwards,
        lambda f: bool(f.grad.only("scan", "transpose").params["reverse"]),
        backwards,
    ),
    Sentence(
        "The loop hands over values of each of its five turns.",
        LESSON,
        "any(v.shape == (5,) for v in f.grad.residuals)",
        forwards,
        lambda f: any(shape(v) == (5,) for v in f.grad.residuals),
        backwards,
    ),
    # -- custom rules
    Sentence(
        "The function with a rule of its own has two arguments.",
        "JAX docs: custom derivatives",
        "len(f[custom_jvp_call].operands) == 2",
        with_jvp,
        lambda f: (
            f.base.only("custom_jvp_call").params["num_consts"] == 0
            and len(f.base.only("custom_jvp_call").invars) == 2
        ),
        with_jvp_of_one,
    ),
    Sentence(
        "The rule's function closes over nothing.",
        "JAX docs: custom derivatives",
        "len(f[custom_vjp_call].consts) == 0",
        with_vjp,
        lambda f: f.base.only("custom_vjp_call").params["num_consts"] == 0,
        instead="len(f[custom_vjp_call].operands) == 0",
        oracle_instead=lambda f: len(f.base.only("custom_vjp_call").invars) == 0,
    ),
    Sentence(
        "Inside the rule's equation is the function itself.",
        "JAX docs: custom derivatives",
        "f[custom_vjp_call].call_jaxpr[sin]",
        with_vjp,
        lambda f: bool(inner(f.base.only("custom_vjp_call")).named("sin")),
        instead="f[custom_vjp_call].call_jaxpr[cos]",
        oracle_instead=lambda f: bool(inner(f.base.only("custom_vjp_call")).named("cos")),
    ),
    Sentence(
        "The gradient has no cosine, since the rule replaces it.",
        "JAX docs: custom derivatives",
        "not f.grad.all[cos]",
        with_vjp,
        lambda f: not any(is_named(e, "cos") for e in f.grad.everything),
        without_vjp,
    ),
]
