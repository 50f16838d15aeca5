"""Base against variant: what is kept, reshaped, added, removed, and the line that says so."""

from __future__ import annotations

import random
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from sphinx_jaxpr.program.match import ADDED, KEPT, RESHAPED, Match, match
from sphinx_jaxpr.program.model import Printed
from sphinx_jaxpr.program.printed import parse
from sphinx_jaxpr.program.summary import counts, summary


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
    assert found.removed == []
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


def test_letters_do_not_matter() -> None:
    base = parse("{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = cos b in (c,) }")
    other = parse("{ lambda ; q:f32[]. let a:f32[] = sin q; q2:f32[] = cos a in (q2,) }")
    assert set(match(base, other).change.values()) == {KEPT}


def test_long_programs_are_matched_in_time_linear_in_their_length() -> None:
    def chain(count: int) -> Printed:
        lines = [f"    v{n + 1}:f32[] = sin v{n}" for n in range(count)]
        body = "\n".join(lines)
        return parse(f"{{ lambda ; v0:f32[]. let\n{body}\n  in (v{count},) }}")

    found = match(chain(3000), chain(3000))
    assert set(found.change.values()) == {KEPT}


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
