"""Options as texts: one reader for the directive, the command and tests."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.tracing.grammar import Aval, Call, Mesh, Name
from sphinx_jaxpr.tracing.lock import readable
from sphinx_jaxpr.tracing.options import (
    called_target,
    names_function,
    narrowed,
    read_open,
    read_options,
    starts_open,
)
from sphinx_jaxpr.tracing.request import Request

pytestmark = pytest.mark.once


def test_options_become_a_request() -> None:
    options = read_options("f32[], x=f32[8]", "n=3", "grad, vmap as both", "{data: 8}")
    assert not options.problems and options.is_readable("args", "transforms")
    request = options.request("m:f", jit=True, around=("a", "b"), bare=True)
    assert request.args == (("", Aval("f32", ())), ("x", Aval("f32", (8,))))
    assert request.static == (("n", 3),) and isinstance(request.mesh, Mesh)
    assert (request.jit, request.x64, request.around, request.bare) == (
        True,
        False,
        ("a", "b"),
        True,
    )
    assert [chain.label for chain in options.transforms] == ["grad", "both"]


@pytest.mark.parametrize(
    ("text", "make"),
    [
        ("", None),
        ("()", ()),
        ("1e-3", (("", 0.001),)),
        ("3, key=jax.random.key(0), n=a.b:C", (
            ("", 3), ("key", Call("jax.random.key", (0,))), ("n", Name("a.b:C"))
        )),
        ("()\n()", (("", ()), ("", ()))),
    ],
)  # fmt: skip
def test_make(text: str, make: object) -> None:
    options = read_options(make=text, then="opt.1" if text else "")
    assert not options.problems and options.make == make
    request = options.request("m:f")
    assert (request.make, request.then) == (make, "opt.1" if text else "")
    again = Request.from_json(request.to_json())
    assert (again, again.digest) == (request, request.digest)
    assert (make is None) is (request.digest == Request("m:f").digest)
    assert set(readable(request)) == {"target", *(["make", "then"] if text else [])}
    assert request.base.make == make


def test_modules_of_names_are_those_of_the_request() -> None:
    options = read_options(
        "x=one:A, y={z: two.b:C}", "f=three:g(four:h)", "", "five:MESH", "6, k=six:x", "y"
    )
    request = options.request("m:f")
    assert request.option_modules == [
        ("args", "one"), ("args", "two.b"), ("static", "three"), ("static", "four"),
        ("mesh", "five"), ("make", "six"),
    ]  # fmt: skip
    assert request.top_modules == {"m", "one", "two", "three", "four", "five", "six"}
    assert not request.is_shareable


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({"then": "update"}, "then: 'update' is a part of what make returns"),
        ({"make": "a=1, 2"}, "make: an argument without a name follows one with a name at '2'"),
        ({"make": "a=1, a=2"}, "make: argument 'a' is given twice"),
        ({"make": "1", "then": "a.b()"}, "then: expected an attribute"),
        ({"make": "x=f(f32[3])"}, "make: 'x' is a spec, f32[3]: specs belong in args"),
        ({"make": "lambda: 0"}, "make: options hold no code"),
    ],
)
def test_what_is_refused_of_make(texts: dict[str, str], says: str) -> None:
    (problem,) = read_options(**texts).problems
    assert says in str(problem)


def test_targets_written_as_calls() -> None:
    called = called_target("optax:adam(1e-3, b1=f(2)).update.x")
    assert called == ("optax:adam", "1e-3, b1=f(2)", "update.x")
    assert called.hint() == (
        "a target is not called; write optax:adam with :make: 1e-3, b1=f(2) and :then: update.x"
    )
    assert called_target("m.f()") == ("m.f", "()", "")
    assert called_target("m:f") is called_target("m:f(1 + 2)") is called_target("m f(1)") is None


def test_each_problem_has_its_option_and_its_line() -> None:
    options = read_options("x=f32[8],\ny=f33[8]", "n=3", "grad(", "")
    assert [(problem.option, problem.line) for problem in options.problems] == [
        ("args", 1), ("transforms", 0),
    ]  # fmt: skip
    wrong, unfinished = map(str, options.problems)
    assert wrong.startswith("args: ") and wrong.endswith(" at 'f33[8]'")
    assert unfinished.startswith("transforms: ") and unfinished.endswith(" at its end")
    assert options.args == options.transforms == () and options.static == (("n", 3),)
    assert not options.is_readable("static", "args") and options.is_readable("static", "mesh")


@pytest.mark.parametrize(
    ("target", "may"),
    [("m:f", True), ("m.f", True), ("m:C.f", True), ("f", False), ("m:f()", False), ("", False)],
)
def test_what_may_name_a_function(target: str, may: bool) -> None:
    assert names_function(target) is may


def test_types_that_are_narrowed() -> None:
    assert narrowed("x=f64[3], y=c128[], z=f32[64], n=i64[2]") == {
        "c128": "c64", "f64": "f32", "i64": "i32",
    }  # fmt: skip


def test_which_blocks_start_open() -> None:
    labels = ["grad", "vmap"]
    for word in ("auto", "all", "none", "base"):
        assert read_open(f" {word} ", labels) == (word, [])
    assert read_open("", labels) == ("", [])
    assert read_open("grad,\n base", labels) == ("grad,base", [])
    assert read_open("gard vmap auto", labels) == ("gard,vmap,auto", ["gard", "auto"])
    long = "\n" * 40
    assert starts_open("auto", "", "") and not starts_open("auto", "", long)
    assert starts_open("all", "grad", long) and not starts_open("none", "", "")
    assert starts_open("grad,base", "", long) and starts_open("grad,base", "grad", long)
    assert not starts_open("grad", "", "") and not starts_open("grad", "vmap", "")
