"""What is said of false claims: enough to mend the sentence."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.program.query.evaluate import PathError, evaluate
from sphinx_jaxpr.program.query.explain import MAX_VALUE, explain
from tests.program.lesson import scope
from tests.program.query.test_evaluate import CLAIMS

SAID = [
    ("len(dense) == 5", "`len(dense)` is 4"),
    ("5 < len(dense)", "`len(dense)` is 4"),
    ("len(dense.vmap) == len(dense)", "`len(dense.vmap)` is 5; `len(dense)` is 4"),
    (
        "ops(dense.vmap) == ops(dense)",
        "`ops(dense.vmap)` has one more: broadcast_in_dim (5 and 4 in all)",
    ),
    (
        "ops(dense) == ops(dense.vmap)",
        "`ops(dense.vmap)` has one more: broadcast_in_dim (4 and 5 in all)",
    ),
    (
        'ops(dense) == ["dot_general", "mul", "add", "tanh"]',
        "`ops(dense)` has one more: broadcast_in_dim and lacks mul (4 and 4 in all)",
    ),
    (
        'ops(dense)[:2] == ["broadcast_in_dim", "dot_general"]',
        "has the same in another order: at [0] it has dot_general,"
        ' `["broadcast_in_dim", "dot_general"]` has broadcast_in_dim',
    ),
    ('"tan" in ops(dense)', "is dot_general, broadcast_in_dim, add, tanh; did you mean `tanh`?"),
    (
        '"pbroadcast" not in ops(dense.shard_map[shard_map].jaxpr)',
        "`ops(dense.shard_map[shard_map].jaxpr)` is pvary, ",
    ),
    ('"tanh" not in ops(dense)', "`ops(dense)` is dot_general, broadcast_in_dim, add, tanh"),
    ('not "tanh" in ops(dense)', '`"tanh" in ops(dense)` is true'),
    ("len(dense[mul]) == 1", "`len(dense[mul])` is 0; `dense` has no equation `mul`"),
    ("len(dense[tanh]) == 1 and len(dense[add]) == 2", "`len(dense[add])` is 1"),
    ("len(dense) == 1 or len(dense) == 2", "`len(dense)` is 4"),
    ("3 < len(dense) < 4", "`len(dense)` is 4"),
    ("dense[mul]", "`dense[mul]` is no equations; `dense` has no equation `mul`"),
    ("not dense[tanh]", "`dense[tanh]` is not empty: tanh"),
    ("dense[tanh].shape == (1, 2)", "`dense[tanh].shape` is (32, 64)"),
    ('dense[tanh].dtype == "f32"', '`dense[tanh].dtype` is "bf16"'),
    ('jax >= "99"', "`jax` is "),
    (
        "all(v.shape[0] == 8 for v in dense.vmap.variables)",
        "it fails for 4 of 8: bf16[64,64] (`v.shape[0]` is 64)",
    ),
    (
        'any(e.primitive == "mul" for e in dense)',
        'it holds for none of 4: dot_general bf16[32,64] (`e.primitive` is "dot_general")',
    ),
    ("any(len(v.shape) == 9 for v in dense.consts)", "it holds for none of 0: there are none"),
    ("all([True, False])", "`[True, False]` is (True, False)"),
    (
        "dense.grad[dot_general][:1] == dense.grad[dot_general][1:]",
        "have the same primitives (dot_general), but are different equations",
    ),
    ("same(dense.vmap, dense)", "`dense.vmap` has one more: broadcast_in_dim"),
    ("same(dense.vmap[:1], dense[:1])", "the first difference is "),
    ("same(dense[tanh], dense[add])", "`dense[tanh]` has one more: tanh and lacks add"),
    ("False", "`False` is False"),
]


@pytest.mark.parametrize(("text", "part"), SAID)
def test_what_is_true_instead(text: str, part: str) -> None:
    assert not evaluate(text, scope()).is_true
    assert part in explain(text, scope())


def test_something_is_said_of_every_false_claim_of_the_lesson() -> None:
    false = []
    for name, text, *_ in CLAIMS:
        try:
            if evaluate(text, scope()).is_true:
                continue
        except PathError:
            continue
        said = explain(text, scope())
        false.append(name)
        # A value that is there, or what fails: never only the expression again.
        assert " is " in said or " has " in said or "fails for" in said, (name, said)
        assert len(said) < 6 * MAX_VALUE
    assert len(false) >= 12


def test_long_values_are_cut_short() -> None:
    said = explain('"x" * 5000 == "y"', scope())
    assert len(said) < MAX_VALUE + 60


def test_an_explanation_takes_no_longer_than_an_expression_may() -> None:
    text = "all(e.uses == f.uses for e in dense.grad for f in dense.grad for g in dense.grad)"
    try:
        evaluate(text, scope())
    except PathError:
        pytest.skip("the expression itself is too much work")
    assert explain(text, scope())
