"""What decides an expression: which of its parts a reviewer is shown, and their values."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.program.query.scope import Scope
from sphinx_jaxpr.program.query.sides import sides
from sphinx_jaxpr.program.query.syntax import PathError

F = "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = mul b b in (c,) }"
SCOPE = Scope.of({"f": F}, {"jax": "0.10.2"})


def shown(expression: str) -> str:
    return "; ".join(f"{text} is {value}" for text, value in sides(expression, SCOPE))


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("len(f) == 2", "len(f) is 2"),  # a literal is its own value
        ("len(f) > len(f[mul])", "len(f) is 2; len(f[mul]) is 1"),
        ("ops(f) == ['tanh']", "ops(f) is tanh, mul"),
        ("'tanh' in ops(f)", "ops(f) is tanh, mul"),
        ("f[0].dtype == 'f32' and f[0].shape == (8,)", 'f[0].dtype is "f32"; f[0].shape is (8,)'),
        ("jax >= '0.3'", "jax is 0.10.2"),
        ("1 < len(f) < 3 - len(f[cos])", "len(f) is 2; 3 - len(f[cos]) is 3"),
        ("len(f) - 1", "len(f) - 1 is 1"),
        ("same(f, f)", "f is tanh, mul"),
        ("not f[cos]", "f[cos] is no equations"),
        ("f[tanh]", "f[tanh] is tanh"),
        # Of all and any it is how many were looked at.
        ("all(e.uses > 0 for e in f)", "all(e.uses > 0 for e in f) is true for 1 of 2"),
        ("not any(e.uses > 1 for e in f)", "any(e.uses > 1 for e in f) is true for 0 of 2"),
        ("any([e.uses > 0 for e in f if e.uses])", "any([e.uses > 0 for e in f if e.uses])"
         " is true for 1 of 1"),
        # Parts that decide nothing have no values: a guard keeps others from being evaluated.
        ("len(f) == 3 and f[9].uses == 1", "len(f) is 2"),
        ("len(f) == 2 or f[9].uses == 1", "len(f) is 2"),
        ("9 < len(f) < len(f[9].uses)", "len(f) is 2"),
        ("not (len(f) == 3 or len(f) == 4)", "len(f) is 2"),
        ("all(a.uses < 2 for a in f) and len([a for a in f]) == 2",
         "all(a.uses < 2 for a in f) is true for 2 of 2; len([a for a in f]) is 2"),
    ],
)  # fmt: skip
def test_the_sides_of_what_decides(expression: str, wanted: str) -> None:
    assert shown(expression) == wanted


def test_an_expression_without_a_value_has_no_sides() -> None:
    with pytest.raises(PathError, match="no equation `tahn`"):
        sides("len(f) == 2 and f[tahn].uses == 1", SCOPE)


def test_a_long_value_is_cut() -> None:
    long = "{ lambda ; a:f32[8]. let " + "; ".join(
        f"b{n}:f32[8] = tanh a" for n in range(100)
    ) + " in (b1,) }"  # fmt: skip
    ((_, value),) = sides("ops(f) == []", {"f": long})
    assert len(value) < 250 and value.endswith("...")
