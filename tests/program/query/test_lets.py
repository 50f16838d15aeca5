"""Lets: names for paths and values, evaluated once, in the order in which they need each other."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import pytest

from sphinx_jaxpr.program import PathError, evaluate, explain, find, judge
from sphinx_jaxpr.program.query.evaluate import check_let
from sphinx_jaxpr.program.query.lets import MAX_LETS, BrokenLet, free_names, needed
from sphinx_jaxpr.program.query.scope import Scope
from sphinx_jaxpr.program.query.syntax import parse

PROGRAMS = Scope.of(
    {
        "f": "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = mul b b in (c,) }",
        "f.two": "{ lambda ; a:f32[8]. let b:f32[8] = tanh a; c:f32[8] = mul b b;"
        " d:f32[8] = mul c b in (d,) }",
    }
)


def scope(**lets: str) -> Scope:
    return replace(PROGRAMS, lets=lets)


@pytest.mark.parametrize(
    ("claim", "lets"),
    [
        ("len(g) == 2", {"g": "f.two[mul]"}),
        ("g[0].uses == 1", {"g": "f.two[mul]"}),
        ("h.two[mul]", {"h": "f"}),
        ("len(f) * 3 == n * 3", {"n": "1 + 1"}),  # a value, not a text
        ("f[+n].primitive == 'mul'", {"n": "1"}),
        ("f[n - 1].primitive == 'tanh'", {"n": "1"}),
        ("f[n - m].primitive == 'tanh'", {"n": "1", "m": "n"}),
        ("ops(f)[n] == 'mul'", {"n": "1"}),
        ("len(f[:n]) == 1", {"n": "1"}),
        ("f[tanh] and tanh.shape == (8,)", {"tanh": "f[tanh]"}),  # a word in brackets is itself
        ("all(g.primitive == 'mul' for g in f[mul])", {"g": "f.three"}),  # bound by the loop
        ("all(e.shape == g.shape for e in f)", {"g": "f[mul]"}),
        ("works", {"works": "len(f) == 2"}),
        ("len(f) == 2", {"broken": "f.three"}),
        ("not f[tanh].dtype in word", {"word": "'tahn'"}),  # as in `not f[tanh].dtype in ('tahn')`
    ],
)
def test_names_for_paths_and_values(claim: str, lets: dict[str, str]) -> None:
    assert judge(claim, scope(**lets)).is_true


@pytest.mark.parametrize(
    ("claim", "lets", "message"),
    [
        ("f[n]", {"n": "1"}, "for the number that the let `n` gives, write `[+n]`"),
        ("h.tow[mul]", {"h": "f"}, "`f` has no variant or attribute `tow`, did you mean `two`?"),
        ("len(f) == 2 or h.tow", {"h": "f"}, "`f` has no variant or attribute `tow`"),
        ("len(f) == 2 or g.shap", {"g": "f[mul]"}, "there is no attribute `.shap`"),
        ("len(f) == 2 or 'tahn' in names", {"names": "ops(f)"}, "unknown primitive `tahn`"),
        ("len(f) == 2 or word in ops(f)", {"word": "'tahn'"}, "unknown primitive `tahn`"),
        ("len(f) == 2 or words == ops(f)", {"words": "['tahn']"}, "unknown primitive `tahn`"),
        (
            "not g",
            {"g": "[e for e in f[cos] if e.uses == 'tahn' and e.primitive == 'tahn']"},
            "the let `g` has no value: unknown primitive `tahn`",
        ),
        ("len(f) == 2 or g", {"g": "f.three"}, "the let `g` has no value: `f` has no variant"),
        ("gg", {"g": "f"}, "there is no block `gg`, did you mean `g`?"),
        ("1 == n", {"n": "1"}, "says nothing about a program"),
        ("none", {"none": "all(e.dtype == 'f64' for e in f[cos])"}, "this says nothing"),
        ("a", {"a": "b", "b": "a"}, "depends on itself: `a` needs `b` needs `a`"),
        ("ops(f)[a]", {"a": "ops(f)[a]"}, "the let `a` depends on itself"),
    ],
)
def test_what_is_wrong_with_them(claim: str, lets: dict[str, str], message: str) -> None:
    with pytest.raises(PathError) as error:
        judge(claim, scope(**lets))
    assert message in error.value.message


def test_a_let_is_judged_by_itself() -> None:
    lets = scope(a="b", b="a", c="a", d="f.tow", e="d", g="f")
    assert check_let("g", lets) == ()
    with pytest.raises(PathError, match="`a` needs `b` needs `a`"):
        check_let("a", lets)
    with pytest.raises(PathError, match="did you mean `two`") as error:
        check_let("d", lets)
    assert not isinstance(error.value, BrokenLet)
    for name in "bce":  # reported at another one
        with pytest.raises(BrokenLet):
            check_let(name, lets)


@pytest.mark.parametrize(
    ("form", "count"),
    [
        ("{0} + {0}", 90),
        ("[{0}, {0}]", 90),
        ("{0} or {0}", 90),
        ("{0}", 99),
        ("-" * 46 + "{0}", 95),
    ],
)
def test_chains_cost_no_more_than_their_lets(form: str, count: int) -> None:
    lets = {f"a{n}": form.format(f"a{n + 1}") for n in range(count)} | {f"a{count}": "len(f) - 2"}
    begin = perf_counter()
    for claim in ("a0 == 0", "a0", "not f or a0 in [1, a0]"):
        try:
            if not judge(claim, scope(**lets)).is_true:
                explain(claim, scope(**lets))
        except PathError as error:
            assert "steps" in error.message or "compare" in error.message or "is" in error.message
    assert perf_counter() - begin < 10


def test_there_may_be_only_so_many() -> None:
    lets = {f"a{n}": f"a{n + 1}" for n in range(MAX_LETS)} | {f"a{MAX_LETS}": "f"}
    with pytest.raises(PathError, match="more than 100 lets"):
        evaluate("a0", scope(**lets))
    assert evaluate("len(a1)", scope(**lets)).value == 2


def test_explanations_look_into_them() -> None:
    lets = scope(works="len(f) == 3", g="f[mul]")
    assert explain("works", lets) == "`len(f)` is 2"
    assert explain("len(g) == 4", lets) == "`len(g)` is 1"
    assert [view.path for view in find("g", lets)] == ["f[mul][0]"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("f[mul][g:].shape + n", "f g n"),
        ("[e for e in f if e.uses > n]", "f n"),
        ("[g for g in g for h in g]", "g"),
        ("all(x in y for x in f) and len(x)", "y f x"),
    ],
)
def test_names_that_are_looked_up(text: str, names: str) -> None:
    assert set(free_names(parse(text).body)) == set(names.split())


def test_each_comes_after_what_it_needs() -> None:
    lets = {"a": "b + c", "b": "c + c", "c": "d", "d": "1", "other": "a"}
    order = needed(parse("a + b"), lets)
    assert sorted(order) == list("abcd")
    assert all(order.index(x) > order.index(y) for x, y in ("ab", "ac", "bc", "cd"))
