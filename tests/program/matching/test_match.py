"""Base against variant: what is kept, reshaped, added, removed, and the line that says so."""

from __future__ import annotations

import random
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from sphinx_jaxpr.program.matching.match import ADDED, KEPT, RESHAPED, Match, match
from sphinx_jaxpr.program.matching.summary import acted, counts, summary
from sphinx_jaxpr.program.model import Printed
from sphinx_jaxpr.program.parser.parser import parse


def dense(x: Any, w: Any, b: Any) -> Any:
    return jnp.tanh(x @ w + b)


def bf16(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


ARGS = (bf16(32, 64), bf16(64, 64), bf16(64))
MESH = AbstractMesh((8,), ("data",), axis_types=(AxisType.Auto,))
P = PartitionSpec


def printed(fn: Any, *args: Any) -> Printed:
    return parse(str(jax.make_jaxpr(fn)(*args)))


BASE = printed(dense, *ARGS)


def compare(fn: Any, *args: Any) -> tuple[Printed, Match, str]:
    variant = printed(fn, *args)
    found = match(BASE, variant)
    line = "; ".join(f"{part.verb} {part.text}" for part in summary(BASE, variant, found))
    return variant, found, line


def changes(variant: Printed, found: Match) -> list[tuple[str, str]]:
    return [(equation.primitive, found.change[equation.start]) for equation in variant.walk()]


def test_grad_keeps_the_forward_half_and_grows() -> None:
    loss = jax.grad(lambda x, w, b: dense(x, w, b).sum(), argnums=1)
    variant, found, line = compare(loss, *ARGS)
    assert [change for _, change in changes(variant, found)[:4]] == [KEPT] * 4
    assert {change for _, change in changes(variant, found)[4:]} == {ADDED}
    assert found.removed == ()
    assert line == f"grows 4 → {len(variant.program.equations)} equations"


def test_vmap_reshapes_some_values_and_adds_one_broadcast() -> None:
    mapped = jax.vmap(dense, in_axes=(0, None, None))
    variant, found, line = compare(mapped, bf16(8, 32, 64), *ARGS[1:])
    assert changes(variant, found) == [
        ("dot_general", RESHAPED),
        ("broadcast_in_dim", KEPT),
        ("broadcast_in_dim", ADDED),
        ("add", RESHAPED),
        ("tanh", RESHAPED),
    ]
    assert line == (
        "grows 4 → 5 equations, adds broadcast_in_dim; reshapes 3 of 5 values (axis of 8 in front)"
    )


def test_vmap_over_all_adds_nothing() -> None:
    variant, found, line = compare(jax.vmap(dense), bf16(8, 32, 64), bf16(8, 64, 64), bf16(8, 64))
    assert {change for _, change in changes(variant, found)} == {RESHAPED}
    assert line == "reshapes 4 of 4 values (axis of 8 in front)"


@pytest.mark.parametrize(
    ("fn", "args", "line"),
    [
        (jax.jit(dense), ARGS, "nests the body in jit.jaxpr"),
        (jax.checkpoint(dense), ARGS, r"nests the body in \w+.jaxpr"),
        (
            lambda x, w, b: jax.lax.scan(lambda x, w: (dense(x, w, b), None), x, w)[0],
            (ARGS[0], bf16(4, 64, 64), ARGS[2]),
            "nests the body in scan.jaxpr",
        ),
    ],
)
def test_bodies_are_found_again(fn: Any, args: Any, line: str) -> None:
    variant, found, said = compare(fn, *args)
    assert [change for _, change in changes(variant, found)] == [ADDED, *[KEPT] * 4]
    assert said.split(".")[-1] == line.split(".")[-1]
    assert said.startswith("nests the body in ")


def test_shard_map_splits() -> None:
    mapped = jax.shard_map(dense, mesh=MESH, in_specs=(P("data"), P(), P()), out_specs=P("data"))
    _, _, line = compare(mapped, *ARGS)
    assert line == "nests the body in shard_map.jaxpr; splits 3 of 6 values over data"


def test_remat_under_grad_adds_what_is_recomputed() -> None:
    loss = jax.grad(lambda x, w, b: jax.checkpoint(dense)(x, w, b).sum(), argnums=1)
    variant, found, _ = compare(loss, *ARGS)
    assert sum(change == KEPT for _, change in changes(variant, found)) == 4
    inner = variant.program.equations[-1].programs[0]
    assert {found.change[equation.start] for equation in inner.equations} == {ADDED}


def test_the_same_program_is_kept_whole() -> None:
    _, found, line = compare(dense, *ARGS)
    assert set(found.change.values()) == {KEPT}
    assert line == "keeps all 4 equations"


def test_another_wiring_is_no_match() -> None:
    base = parse("{ lambda ; a:f32[] b:f32[]. let c:f32[] = sub a b in (c,) }")
    swapped = parse("{ lambda ; a:f32[] b:f32[]. let c:f32[] = sub b a in (c,) }")
    found = match(base, swapped)
    assert list(found.change.values()) == [ADDED]
    assert len(found.removed) == 1
    assert [p.verb for p in summary(base, swapped, found)] == ["rewrites"]


X = jax.ShapeDtypeStruct((4,), jnp.float32)
S = jax.ShapeDtypeStruct((), jnp.float32)
ARRAY = np.arange(4.0, dtype=np.float32)
HALVES = AbstractMesh((2,), ("data",), axis_types=(AxisType.Auto,))


def along(f: Any) -> Any:
    return lambda x, t: jax.jvp(f, (x,), (t,))


def split(f: Any) -> Any:
    return jax.shard_map(f, mesh=HALVES, in_specs=P("data"), out_specs=P("data"))


def total(f: Any) -> Any:
    return lambda *a: f(*a).sum()


def store(x: Any) -> Any:
    ref = jax.new_ref(x)
    ref[...] = jnp.sin(ref[...])
    return ref[...]


def accumulate(x: Any) -> Any:
    ref = jax.new_ref(x)

    def body(i: Any, c: Any) -> Any:
        ref[...] += c
        return c * 2

    y = jax.lax.fori_loop(0, 5, body, x)
    return ref[...] + y


CASES: dict[str, tuple[Any, Any, tuple[Any, ...], tuple[Any, ...]]] = {
    "two primitives, grad": (f := lambda x: jnp.cos(jnp.sin(x)), jax.grad(total(f)), (X,), (X,)),
    "two primitives, jvp": (f, along(f), (X,), (X, X)),
    "captured, jit": (f := lambda x: x * jnp.asarray(ARRAY), jax.jit(f), (X,), (X,)),
    "captured, grad of jit": (f, jax.grad(total(jax.jit(f))), (X,), (X,)),
    "while, jvp": (
        f := lambda x: jax.lax.while_loop(lambda c: c < 9, lambda c: c * 2, x),
        along(f), (S,), (S, S),
    ),
    "while, vmap": (f, jax.vmap(f), (S,), (X,)),
    "cond, grad": (
        f := lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x), jax.grad(f), (S,), (S,)
    ),
    "cond, vmap": (f, jax.vmap(f), (S,), (X,)),
    "scan, grad": (
        f := lambda x: jax.lax.scan(lambda c, v: (c * jnp.sin(v), c), 1.0, x)[0],
        jax.grad(f), (X,), (X,),
    ),
    "scan, jvp": (f, along(f), (X,), (X, X)),
    "scan from zero, jvp": (
        f := lambda x: jax.lax.scan(lambda c, v: (c * 0.9 + v, None), 0.0, x)[0],
        along(f), (X,), (X, X),
    ),
    "literal, shard_map": (f := lambda x: jnp.sin(x) * 2.0, split(f), (X,), (X,)),
    "store, jit": (store, jax.jit(store), (X,), (X,)),
    "store in a loop, grad": (accumulate, jax.grad(total(accumulate)), (X,), (X,)),
    "relu twice, grad": (
        f := lambda x: jax.nn.relu(jax.nn.relu(x)), jax.grad(total(f)), (X,), (X,)
    ),
    "checkpoint, grad": (
        f := jax.checkpoint(lambda x: jnp.sin(jnp.cos(x))), jax.grad(total(f)), (X,), (X,)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_nothing_that_is_there_is_called_removed(case: str) -> None:
    f, transformed, arguments, more = CASES[case]
    if "store" in case and not hasattr(jax, "new_ref"):
        pytest.skip("needs jax.new_ref")
    base, variant = printed(f, *arguments), printed(transformed, *more)
    found = match(base, variant)
    gone = [e.primitive for e in base.walk() if e in found.removed]
    # A batched `cond` is none any more, but all of its branches are there.
    assert gone == []
    verbs = {part.verb for part in summary(base, variant, found)}
    assert not verbs & {"drops", "rewrites"}
    # Each equation of the base is there once; what else there is was added.
    assert len(found.partner) <= sum(1 for _ in base.walk())
    assert all((change == ADDED) == (e not in found.partner) for e, change in found.change.items())


def test_additions_are_net() -> None:
    f, transformed, arguments, more = CASES["cond, grad"]
    base, variant = printed(f, *arguments), printed(transformed, *more)
    line = "; ".join(f"{p.verb} {p.text}" for p in summary(base, variant, match(base, variant)))
    assert "adds cond" in line and "2 \u00d7 cond" not in line


def test_a_shared_body_against_inline_ones() -> None:
    shared = parse(
        "let f = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in\n"
        "{ lambda ; c:f32[]. let d:f32[] = jit[name=f jaxpr=f] c; e:f32[] = jit[name=f jaxpr=f] d"
        " in (e,) }"
    )
    inline = parse(
        "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = sin b; d:f32[] = cos c in (d,) }"
    )
    found = match(shared, inline)
    assert found.removed == () and list(found.change.values()) == [KEPT, KEPT, ADDED]
    found = match(inline, shared)
    assert [inline.text[e.start :].split()[2] for e in found.removed] == ["cos"]


def test_a_read_after_a_store_is_another_value() -> None:
    base = parse(
        "{ lambda ; a:Ref{f32[]}. let b:f32[] <- a[]; c:f32[] = sin b; a[] <- c; d:f32[] <- a[]"
        " in (d,) }"
    )
    other = parse("{ lambda ; a:Ref{f32[]}. let b:f32[] <- a[]; c:f32[] <- a[] in (c,) }")
    kept = [change for change in match(base, other).change.values() if change == KEPT]
    assert len(kept) == 1


def test_drops_are_of_what_there_is_less_of() -> None:
    base = parse("{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = mul b 2.0 in (c,) }")
    other = parse("{ lambda ; a:f32[]. let b:f32[] = cos a; c:f32[] = mul b 2.0 in (c,) }")
    line = [(part.verb, part.text) for part in summary(base, other, match(base, other))]
    assert line == [("drops", "sin"), ("rewrites", "1 equation")]


def test_a_program_without_equations() -> None:
    base = parse("{ lambda ; a:f32[]. let  in (a,) }")
    assert [part.text for part in acted(base, base, match(base, base))] == ["no equations"]
    variant = parse("{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }")
    parts = acted(variant, base, match(base, variant))
    assert [(p.verb, p.text) for p in parts] == [("grows", "0 \u2192 1 equation, adds sin")]


def test_axes_that_are_sharded_over_several_axes_of_a_mesh() -> None:
    base = parse("{ lambda ; a:f32[8@(x,y),16]. let b:f32[8@(x,y),16] = sin a in (b,) }")
    variant = parse("{ lambda ; a:f32[3,8@(x,y),16]. let b:f32[3,8@(x,y),16] = sin a in (b,) }")
    line = [part.text for part in summary(base, variant, match(base, variant))]
    assert line == ["1 of 1 values (axis of 3 in front)"]


@pytest.mark.parametrize("kind", ["f32[]", "f32[8]"])
def test_shared_programs_that_call_shared_programs_are_bounded(kind: str) -> None:
    def tower(kind: str) -> Printed:
        lines = [f"let f0 = {{ lambda ; a:{kind}. let b:{kind} = sin a in (b,) }} in"]
        for n in range(1, 30):
            calls = (
                f"b:{kind} = jit[name=f jaxpr=f{n - 1}] a; c:{kind} = jit[name=f jaxpr=f{n - 1}] b"
            )
            lines.append(f"let f{n} = {{ lambda ; a:{kind}. let {calls} in (c,) }} in")
        lines.append(f"{{ lambda ; a:{kind}. let b:{kind} = jit[name=f jaxpr=f29] a in (b,) }}")
        return parse("\n".join(lines))

    found = match(tower("f32[]"), tower(kind))
    assert found.removed == ()


def test_letters_do_not_matter() -> None:
    base = parse("{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = cos b in (c,) }")
    other = parse("{ lambda ; q:f32[]. let a:f32[] = sin q; q2:f32[] = cos a in (q2,) }")
    assert set(match(base, other).change.values()) == {KEPT}


def test_work_is_linear_in_the_length_of_programs() -> None:
    def chain(count: int, kind: str = "f32[]") -> Printed:
        lines = [f"    v{n + 1}:{kind} = sin v{n}" for n in range(count)]
        body = "\n".join(lines)
        return parse(f"{{ lambda ; v0:{kind}. let\n{body}\n  in (v{count},) }}")

    def calls(base: Printed, variant: Printed) -> int:
        """How many functions matching calls: seconds depend on what else runs."""
        count = 0

        def note(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(note)
        try:
            found = match(base, variant)
        finally:
            sys.setprofile(None)
        assert ADDED not in found.change.values() and not found.removed
        return count

    for kind in ("f32[]", "f32[8]"):
        few, many = (calls(chain(n), chain(n, kind)) for n in (200, 2_000))
        assert many < 12 * few


def test_no_pair_of_programs_is_too_much() -> None:
    texts = [BASE.text, "", "nothing", "{ lambda ; . let  in () }", "{ lambda ; a:f32[]. let b = f"]
    random.seed(0)
    for _ in range(200):
        cut = random.randrange(len(BASE.text))
        texts.append(BASE.text[:cut] + BASE.text[cut + random.randrange(40) :])
    for text in texts:
        variant = parse(text)
        for one, two in ((BASE, variant), (variant, BASE)):
            found = match(one, two)
            summary(one, two, found)
            assert set(found.change) == ({e.start for e in two.walk()} if found.change else set())


def test_counts_with_nested() -> None:
    assert counts(printed(jax.jit(dense), *ARGS)) == (1, 5)
    assert counts(parse("no program")) == (0, 0)


def test_a_power_waits_for_its_own_exponent() -> None:
    def powers(x: Any) -> Any:
        return x**3 + x**-1 + 2**x

    def pushed(x: Any, dot: Any) -> Any:
        return jax.vmap(lambda v: jax.jvp(powers, (v,), (dot,)))(x)

    one, many = jnp.ones(3), jnp.ones((8, 3))
    base, variant = printed(powers, one), printed(pushed, many, one)
    found = match(base, variant)
    assert not found.removed
    kept = {new: old for new, old in found.partner.items() if variant.text[new:].startswith("h:")}
    assert [base.text[old:].partition(" ")[2][:21] for old in kept.values()] == [
        "= integer_pow[y=-1] a"
    ]


def test_a_call_stands_for_a_call_of_the_same_function() -> None:
    def rows(x: Any) -> Any:
        return jnp.sort(x, axis=1), jnp.argsort(x, axis=0)

    def total(x: Any) -> Any:
        return sum(leaf.sum() for leaf in jax.tree.leaves(jax.jit(lambda v: rows(v))(x)))

    x = jnp.ones((3, 4))
    base, variant = printed(rows, x), printed(jax.grad(total), x)
    found = match(base, variant)

    def named(text: str, start: int) -> str:
        return text[start:].partition("name=")[2].split()[0]

    calls = {e.start for e in base.walk() if e.primitive in ("jit", "pjit")}
    pairs = {
        (named(variant.text, new), named(base.text, old))
        for new, old in found.partner.items()
        if old in calls
    }
    assert pairs == {("sort", "sort"), ("argsort", "argsort")}


def test_a_body_that_is_printed_in_front_is_nested_too() -> None:
    base = parse("{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }")
    variant = parse(
        "let f = { lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) } in\n"
        "{ lambda ; c:f32[3]. let d:f32[3] = jit[name=f jaxpr=f] c in (d,) }"
    )
    line = [f"{p.verb} {p.text}" for p in summary(base, variant, match(base, variant))]
    assert line == ["nests the body in jit.jaxpr"]


def test_a_batched_branch_is_found_behind_what_hides_it() -> None:
    def chosen(x: Any, a: Any) -> Any:
        return jax.lax.cond(x.sum() > 0, lambda: a * 2, lambda: a) + x

    x = jnp.ones(3)
    base = printed(chosen, x, x)
    variant = printed(jax.vmap(chosen, in_axes=(0, None)), jnp.ones((8, 3)), x)
    removed = match(base, variant).removed
    assert "add" not in {e.primitive for e in removed}
