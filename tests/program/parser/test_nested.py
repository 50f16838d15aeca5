"""Programs inside of objects: read, linked, counted, and refused where they can't be read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
from jax.extend import core

from sphinx_jaxpr.program.html.code import code, equation_ids
from sphinx_jaxpr.program.matching.match import Match
from sphinx_jaxpr.program.matching.summary import acted
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.program.query.blocks import QueryBlock
from sphinx_jaxpr.program.query.evaluate import Scope, evaluate
from sphinx_jaxpr.program.query.syntax import PathError
from sphinx_jaxpr.testing import trace
from tests.program.recordings import collected

_SHARED = jax.jit(lambda a: jnp.cos(a))
ONE = jax.make_jaxpr(lambda a: jnp.sin(a))(1.0)
TWO = jax.make_jaxpr(lambda a: _SHARED(_SHARED(jnp.tan(a))))(1.0)  # prints what it shares first
BIG = jax.make_jaxpr(lambda a: jnp.exp(jnp.log(jnp.sqrt(a))))(jnp.ones((100, 200)))

HOLDER = core.Primitive("holder")
HOLDER.def_abstract_eval(lambda x, **params: x)


class Listed(list[Any]):
    __hash__ = object.__hash__  # type: ignore[assignment]  # a callable in its place


class Keyed(dict[Any, Any]):
    __hash__ = object.__hash__  # type: ignore[assignment]  # a callable in its place


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass(frozen=True)
class Held:
    program: Any
    number: int = 3
    hidden: Any = dataclasses.field(default=None, repr=False)


class Backwards:
    """Shows what it holds in another order than it has it."""

    def __init__(self, one: Any, two: Any) -> None:
        self.one, self.two = one, two

    def __repr__(self) -> str:
        return f"Backwards({self.two}, {self.one})"


class Away:
    """Shows a program that nobody can find in it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Away({ONE})"


VALUES: dict[str, tuple[Any, list[str]]] = {
    "list": (Listed([ONE, ONE]), ["sin"]),
    "list of one": (Listed([ONE]), ["sin"]),
    "tuple of tuples": (((ONE,), (TWO,)), ["sin", "cos", "tan", "jit", "jit"]),
    "tuple with others": ((ONE, 3, "a", TWO), ["sin", "cos", "tan", "jit", "jit"]),
    "others first": ((3, ONE), ["sin"]),
    "dict": (Keyed(a=ONE, b=Listed([BIG, 7])), ["sin", "sqrt", "log", "exp"]),
    "named tuple": (Pair(TWO, ONE), ["cos", "tan", "jit", "jit", "sin"]),
    "dataclass": (Held(BIG), ["sqrt", "log", "exp"]),
    "dataclass in a tuple": ((Held(Pair(ONE, BIG), hidden=TWO),), ["sin", "sqrt", "log", "exp"]),
    "another order": (Backwards(ONE, BIG), ["sqrt", "log", "exp", "sin"]),
    "deep": (Pair(Pair(Pair(ONE, 1), 2), Listed([Pair(3, BIG)])), ["sin", "sqrt", "log", "exp"]),
    "not to be found": (Away(), ["sin"]),
}


def held(value: Any) -> Any:
    return lambda x: HOLDER.bind(x, value=value, n=1)


@pytest.fixture(params=VALUES)
def case(request: pytest.FixtureRequest) -> Iterator[tuple[str, QueryBlock, list[str]]]:
    value, expected = VALUES[request.param]
    yield request.param, trace(held(value), jnp.ones(()), name="f")["f"], expected


def ask(expression: str, block: QueryBlock) -> Any:
    return evaluate(expression, Scope({"f": block})).value


def test_all_is_at_any_depth(case: tuple[str, QueryBlock, list[str]]) -> None:
    _, block, expected = case
    assert list(ask("ops(f.all)", block)) == ["holder", *expected]


def test_facts_are_those_of_the_program(case: tuple[str, QueryBlock, list[str]]) -> None:
    name, block, _ = case
    assert block.printed is not None
    unknown = [e.primitive for e in block.printed.walk() if e.start not in block.index.facts]
    assert unknown == (["sin"] if name == "not to be found" else [])
    for equation in block.printed.walk():
        found = block.index.facts.get(equation.start)
        assert found is None or found.primitive == equation.primitive


def test_ids_and_folds(case: tuple[str, QueryBlock, list[str]]) -> None:
    _, block, _ = case
    printed = block.printed
    assert printed is not None
    assert printed.program is not None
    (holder,) = printed.program.equations
    ids = equation_ids(printed, "b")
    for place, program in enumerate(holder.programs):
        for position, equation in enumerate(program.equations):
            assert ids[equation.start] == f"b-eqn-0-{place}-{position}"
    assert len(set(ids.values())) == len(ids) == len(list(printed.walk()))
    html = code(printed, block.index.facts, "b")
    assert all(f'id="{identity}"' in html for identity in ids.values())
    longest = max(len(program.equations) for program in holder.programs)
    assert ("jaxpr-body" in html) == (longest > 2)  # those that are printed over lines


def test_paths_lead_into_them() -> None:
    block = trace(held(Pair(TWO, Listed([ONE]))), jnp.ones(()), name="f")["f"]
    assert ask("len(f[holder].value)", block) == 2
    assert list(ask("ops(f[holder].value[0])", block)) == ["tan", "jit", "jit"]
    assert ask("ops(f[holder].value[1]) == ['sin']", block)
    assert ask("f[holder].value[0][jit][0].jaxpr[cos].calls", block) == 2
    one = trace(held(Held(ONE)), jnp.ones(()), name="f")["f"]
    assert list(ask("ops(f[holder].value[0])", one)) == ["sin"]


def test_the_same_letter_inside_an_object_is_another_value() -> None:
    block = trace(held(Listed([ONE])), jnp.ones(()), name="f")["f"]
    assert ask("f[holder].value[0][sin].inputs[0] != f.inputs[0]", block)
    assert ask("f.inputs[0].uses == 1", block)


def test_what_stands_around_programs_counts() -> None:
    values = [Pair(ONE, 3), Pair(ONE, 4), Pair(ONE, 3)]
    found = [trace(held(value), jnp.ones(()), name="f")["f"] for value in values]
    blocks = Scope(dict(zip("fgh", found, strict=True)))
    assert evaluate("same(f, g)", blocks).value is False
    assert evaluate("same(f, h)", blocks).value is True


def test_a_linear_solve_has_what_its_object_has() -> None:
    found = trace(jnp.linalg.solve, jnp.ones((3, 3)), jnp.ones(3), name="solve")
    found.assert_claims(
        [
            "solve.all[dot_general]",
            "len(solve.all[dot_general]) == 2",
            "len(solve.all[reduce_sum]) == 1",
            "len(solve.all[custom_linear_solve].jaxprs) == 4",
            "ops(solve.all[custom_linear_solve].jaxprs[0]) == ['dot_general']",
        ]
    )
    jaxpr = jax.make_jaxpr(jnp.linalg.solve)(jnp.ones((3, 3)), jnp.ones(3))
    count = sum(len(program.equations) for program in collected(jaxpr).programs)
    assert found.evaluate("len(solve.all)") == count


@pytest.mark.parametrize(
    "value",
    [
        "Box({ lambda ; a:f32[]. let b:f32[] = sin a in (b,",
        "<{ lambda ; ... }>",
        "Box(1, { lambda ; a:f32[] let b:f32[] = sin a in (b,) })",
    ],
)
def test_of_what_cannot_be_read_no_question_is_answered(value: str) -> None:
    text = f"""{{ lambda ; a:f32[]. let
    b:f32[] = holder[
      n=1
      value={value}
    ] a
    c:f32[] = cos b
  in (c,) }}"""
    block = QueryBlock("f", parse(text))
    assert ask("ops(f) == ['holder', 'cos']", block)
    for question in ("f.all[sin]", "not f.all[sin]", "len(f.all) == 2"):
        with pytest.raises(PathError) as caught:
            ask(question, block)
        assert "`value` of `holder` shows a program that can't be read" in caught.value.message


def test_nesting_of_objects_is_read_in_linear_time() -> None:
    """Each level could be read twice, so that a few levels would take for ever."""
    inner = "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"
    for wrap in ("({}, 3)", "[{}, 3]", "((3, {}),)"):
        text = inner
        for _ in range(60):
            value = wrap.format(text)
            text = f"{{ lambda ; a:f32[]. let b:f32[] = holder[value={value} n=1] a in (b,) }}"
        assert parse(text).program is not None


def test_a_program_that_several_texts_print_is_one() -> None:
    def solved(a: Any, b: Any) -> Any:
        return jax.scipy.sparse.linalg.cg(lambda v: a @ v, b, maxiter=5)[0]

    found = trace(solved, "f32[3,3], f32[3]", transforms="jvp", name="f")
    for name in ("f", "f.jvp"):
        printed = found[name].printed
        assert printed is not None
        count = found.evaluate(f"len({name}.all)")
        line = acted(printed, None, Match(), found[name].index.tables)
        assert f"({count} with nested)" in line[0].text
    everything = set(found.evaluate("[e for e in f.all]"))
    for place in range(4):
        own = found.evaluate(f"[e for e in f[custom_linear_solve].jaxprs[{place}]]")
        assert own
        assert everything.issuperset(own)
    # A symmetric solve has one program for both products, and what it runs is run once.
    found.assert_claims(["f[custom_linear_solve].jaxprs[0].calls == 2"])
    found.assert_claims(["{e.calls for e in f[custom_linear_solve].jaxprs[2]} == {1}"])


def test_what_objects_print_again_is_not_called_removed() -> None:
    found = trace(jnp.linalg.solve, "f32[3,3], f32[3]", transforms="jvp", name="f")
    assert found.evaluate("len(f.jvp.removed)") == 0


def test_a_text_that_lost_equations_is_not_asked() -> None:
    """The object knows how many there are."""
    found = trace(lambda x: jax.jit(lambda y: jnp.sin(jnp.cos(y)))(x), jnp.ones(()), name="f")["f"]
    assert found.printed is not None
    text = found.printed.text.replace("c:f32[] = cos a", "((", 1)
    assert text != found.printed.text
    block = QueryBlock("f", parse(text), found.facts)
    assert ask("len(f) == 1", block)
    with pytest.raises(PathError, match="1 of its 2 equations can be read"):
        ask("not f.all[cos]", block)


def test_a_text_alone_leads_into_each_of_its_programs() -> None:
    body = "{ lambda ; c:f32[]. let d:f32[] = sin c in (d,) }"
    text = f"{{ lambda ; a:f32[]. let b:f32[] = jit[jaxpr={body}] a in (b,) }}"
    scope = Scope({"f": QueryBlock("f", parse(text))})
    assert evaluate("ops(f[jit].jaxpr) == ['sin'] and len(f.all) == 2", scope).is_true


def test_a_result_without_a_letter_is_no_literal() -> None:
    text = "{ lambda ; a:f32[2]. let _:f32[2] _:i32[2] b:i32[2] = sort a in (_, b) }"
    scope = Scope({"f": QueryBlock("f", parse(text))})
    assert evaluate("f.outputs[1].origin == 'equation'", scope).is_true
    for name in ("origin", "shape", "text"):
        with pytest.raises(PathError, match="is printed as `_`"):
            evaluate(f"f.outputs[0].{name}", scope)
