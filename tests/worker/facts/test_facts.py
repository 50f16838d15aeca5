"""What the walk of a jaxpr object writes down."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sphinx_jaxpr.testing import trace
from sphinx_jaxpr.worker.facts import facts, jaxprs
from tests.program.corpus import PROGRAMS

SQUARE = jax.ShapeDtypeStruct((4, 4), jnp.float32)


def collect(fn: Any, *args: Any, tangents: tuple[int, ...] = ()) -> dict[str, Any]:
    return as_json(facts.collect(jax.make_jaxpr(fn)(*args), tangents))


def as_json(collected: facts.Collected) -> dict[str, Any]:
    return {**collected.facts.to_json(), "captured": [*map(list, collected.captured)]}


def rows(found: dict[str, Any], program: int = 0) -> list[list[Any]]:
    return list(found["programs"][program]["equations"])


def where(found: dict[str, Any]) -> list[str]:
    """``file:line`` of every equation at any depth."""
    places = []
    for program in found["programs"]:
        for row in program["equations"]:
            file, line, _ = found["sources"][row[2]] if row[2] >= 0 else ("none", 0, "")
            places.append(f"{Path(file).name}:{line}")
    return places


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two modules that call the same functions of JAX, on other lines."""
    body = "    y = x @ w\n    return jnp.where(y > 0, y, 0).sum()\n"
    (tmp_path / "facts_one.py").write_text("import jax.numpy as jnp\ndef f(x, w):\n" + body)
    (tmp_path / "facts_two.py").write_text("import jax.numpy as jnp\n\n\n\ndef f(x, w):\n" + body)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("facts_one"), importlib.import_module("facts_two")
    del sys.modules["facts_one"], sys.modules["facts_two"]


@pytest.mark.parametrize("transform", [lambda fn: fn, jax.grad, jax.vmap])
def test_lines_do_not_depend_on_who_came_first(modules: Any, transform: Any) -> None:
    one, two = modules
    shape = SQUARE if transform is not jax.vmap else jax.ShapeDtypeStruct((2, 4, 4), jnp.float32)
    first = where(collect(transform(one.f), shape, shape))
    second = where(collect(transform(two.f), shape, shape))
    assert set(first) == {"facts_one.py:3", "facts_one.py:4"}
    assert set(second) == {"facts_two.py:6", "facts_two.py:7"}
    assert where(collect(transform(one.f), shape, shape)) == first


def test_plain_parameters_and_nested_programs() -> None:
    found = collect(lambda x: jax.lax.scan(lambda c, _: (c * 2.0, None), x, None, length=3)[0], 1.0)
    (scan,) = rows(found)
    assert scan[0] == "scan"
    assert scan[4]["length"] == 3
    assert scan[4]["reverse"] is False
    assert scan[5] == {"jaxpr": [1]}
    assert [row[0] for row in rows(found, 1)] == ["mul"]
    json.dumps(found, allow_nan=False)


def test_branches_are_listed_in_order() -> None:
    found = collect(
        lambda x: jax.lax.cond(x > 0, lambda y: y + 1.0, lambda y: y * 2.0, x), jnp.float32(1)
    )
    cond = rows(found)[-1]
    inner = [[row[0] for row in rows(found, place)] for place in cond[5]["branches"]]
    assert inner == [["mul"], ["add"]]


def test_odd_values_stay_out() -> None:
    for value in (object(), print, {"a": 1}, list(range(1000))):
        with pytest.raises(ValueError, match=r"object|long"):
            facts.plain_value(value)
    assert facts.plain_value(float("inf")) == {"text": "inf"}
    assert facts.plain_value(jnp.dtype("bfloat16")) == {"dtype": "bfloat16"}
    assert facts.plain_value((1, (True, None), "a")) == [1, [True, None], "a"]


def test_tangents_are_followed_into_nested_programs() -> None:
    inner = jax.jit(lambda x: jnp.sin(x) * 2.0)

    def push(x: Any, dot: Any) -> Any:
        return jax.jvp(inner, (x,), (dot,))

    found = collect(push, 1.0, 1.0, tangents=(1,))
    phases = {row[0]: row[1] for program in found["programs"] for row in program["equations"]}
    assert phases["sin"] == phases["cos"] == "forward"
    every = [row[1] for program in found["programs"] for row in program["equations"]]
    assert "tangent" in every


def test_a_program_called_in_several_phases_has_none() -> None:
    inner = jax.jit(jnp.sin)

    def mixed(x: Any) -> Any:
        return inner(x) + jax.jvp(inner, (x,), (x,))[0]

    found = collect(mixed, 1.0)
    (place,) = {place for row in rows(found) for place in row[5].get("jaxpr", ()) if not row[1]}
    assert [row[:2] for row in rows(found, place)] == [["sin", ""]]


def test_what_is_weakly_typed() -> None:
    def mixed(x: Any, y: Any) -> Any:
        return jnp.where(x > 0, y, -1), x + y, 2.0

    found = collect(mixed, 1.0, SQUARE)
    whole, *inner = (program["weak"] for program in found["programs"])
    assert whole["inputs"] == [0] and whole["outputs"] == [2] and "constants" not in whole
    called = next(n for n, row in enumerate(rows(found)) if row[0] in ("jit", "pjit"))
    assert whole["literals"][-1] == [called, 2]  # the -1, still a number of Python
    assert any(2 in weak.get("inputs", ()) for weak in inner)
    assert collect(jnp.sin, SQUARE)["programs"][0]["weak"] == {}


def test_unused_equations() -> None:
    def lost(x: jax.Array) -> jax.Array:
        jnp.sin(x) * 2.0  # both: only an unused one uses the first
        jax.debug.print("{}", jnp.cos(x))
        jax.jit(jnp.exp)(x)

        def body(carry: jax.Array, _: None) -> tuple[jax.Array, None]:
            jnp.tan(carry)
            return -carry, None

        return jax.lax.scan(body, x, None, length=2)[0]

    found = collect(lost, SQUARE)

    def unused(place: int) -> list[str]:
        return [str(rows(found, place)[n][0]) for n in found["programs"][place]["unused"]]

    assert unused(0)[:2] == ["sin", "mul"]
    assert len(unused(0)) == 3  # and the call
    inner = [place for place, program in enumerate(found["programs"]) if program["unused"]]
    assert [unused(place) for place in inner if place] == [["tan"]]


def test_an_equation_with_an_effect_is_used() -> None:
    def writes(ref: Any) -> None:
        ref[...] = ref[...] * 2.0

    ref = jax.new_ref if hasattr(jax, "new_ref") else jax.array_ref
    found = collect(lambda x: writes(ref(x)), SQUARE)
    assert found["programs"][0]["unused"] == []


def test_effects_have_no_addresses() -> None:
    found = as_json(facts.collect(PROGRAMS["reference_in_scan"]()))
    names = [name for program in found["programs"] for name in program["effects"]]
    assert any("Read" in name for name in names)
    assert not [name for name in names if "id=" in name]


TABLE = np.ones((40, 30), np.float32)
OTHER = np.ones((40, 30), np.float32)
_times = jax.jit(lambda x: x @ TABLE)


@jax.custom_jvp
def _ruled(x: Any) -> Any:
    return x @ TABLE


_ruled.defjvp(lambda primals, tangents: (_ruled(*primals), tangents[0] @ TABLE))


@pytest.mark.parametrize(
    ("fn", "arrays"),
    [
        (_times, 1),
        (lambda x: _times(x) + _times(x + 1.0), 1),  # one program, called twice
        (lambda x: _times(x) + x @ TABLE, 1),  # one array, in two programs
        (lambda x: _times(x) + x @ OTHER, 2),
        (jax.jit(lambda x: jax.jit(lambda y: y @ TABLE)(x) + x @ OTHER), 2),
        (lambda x: jax.lax.scan(lambda c, _: (c + _times(x), None), x[:30], None, length=2)[0], 1),
        (lambda x: jax.lax.cond(x[0] > 0, lambda y: y @ TABLE, lambda y: y @ TABLE * 2.0, x), 1),
        (jax.jit(_ruled), 1),
        (jax.grad(lambda x: jnp.sum(_times(x))), 1),
        (lambda x: x * 2.0, 0),
    ],
)
def test_captured_arrays_of_all_programs_count_once(fn: Any, arrays: int) -> None:
    found = collect(fn, jax.ShapeDtypeStruct((40,), jnp.float32))
    assert found["captured"] == [["f32[40,30]", 4800]] * arrays


def test_primitives_that_are_objects_have_the_names_and_parameters_that_are_printed() -> None:
    """Newer JAX has such: each equation holds the object under one primitive of all."""

    class Root:
        def __init__(self) -> None:
            program = jax.make_jaxpr(jnp.sin)(1.0)
            self.params = {"solve_jaxpr": program, "count": 3, "_tree": None}

    class Shown(Root):
        def pp_params(self) -> dict[str, Any]:
            return {"count": 4}

    def equation(name: str, **params: Any) -> Any:
        return SimpleNamespace(primitive=SimpleNamespace(name=name), params=params)

    plain = equation("call_hi_primitive", _prim=Root())
    assert jaxprs.primitive_name(plain) == "Root"
    assert set(jaxprs.parameters_of(plain)) == {"solve_jaxpr", "count"}
    assert list(jaxprs.HeldJaxpr().of(plain)) == ["solve_jaxpr"]
    assert jaxprs.parameters_of(equation("call_hi_primitive", _prim=Shown())) == {"count": 4}
    half = equation("call_hi_primitive_linearized", _prim=Root(), has_sres=False, tree=None)
    assert jaxprs.primitive_name(half) == "Root.linearized"
    assert jaxprs.parameters_of(half) == {"has_sres": False}
    usual = equation("sin", accuracy=None)
    assert (jaxprs.primitive_name(usual), jaxprs.parameters_of(usual)) == (
        "sin",
        {"accuracy": None},
    )


def test_a_root_has_facts_on_every_version() -> None:
    def root(x: Any) -> Any:
        return jax.lax.custom_root(lambda y: y**3 - x, 1.0, lambda f, y: f(y), lambda g, y: y)

    found = trace(root, "2.0", name="f")["f"]
    assert found.printed is not None
    assert all(equation.start in found.index.facts for equation in found.printed.walk())
