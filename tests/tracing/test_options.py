"""Options as texts: one reader for the directive, the command and tests."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.tracing.grammar import Aval, Mesh
from sphinx_jaxpr.tracing.options import (
    names_function,
    narrowed,
    read_open,
    read_options,
    starts_open,
)

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
