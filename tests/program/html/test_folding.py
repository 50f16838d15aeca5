"""Which lines of parameters are folded away."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.program.facts import align
from sphinx_jaxpr.program.html.folding import POINTED, folds, reasons, runs
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.worker.facts import facts
from tests.program import corpus
from tests.program.recordings import collected

pytestmark = pytest.mark.once

SCAN = """{ lambda ; a:f32[]. let
    b:f32[] = scan[
      jaxpr={ lambda ; c:f32[]. let
          d:f32[] = sin c
        in (d,) }
      length=4
      linear=(False,)
      reverse=False
      unroll=1
    ] a
  in (b,) }"""


def names(text: str) -> list[tuple[str, ...]]:
    return [fold.names for fold in folds(parse(text))]


def test_neutral_neighbours_are_folded_together() -> None:
    assert names(SCAN) == [("linear", "reverse", "unroll")]
    assert names(SCAN.replace("unroll=1", "unroll=2")) == [("linear", "reverse")]
    assert names(SCAN.replace("reverse=False", "reverse=True")) == []
    letters_of_false = SCAN.replace("linear=(False,)", "linear=sale")
    assert names(letters_of_false) == [("reverse", "unroll")]


def test_what_shares_its_line_stays() -> None:
    assert names("{ lambda ; a:f32[]. let b:f32[] = f[x=None y=False] a in (b,) }") == []


def test_a_huge_value_is_folded_alone() -> None:
    jaxpr = jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(jnp.float32(1))
    assert any("np_printoptions" in found for found in names(str(jaxpr)))


@pytest.mark.parametrize("start", range(4))
def test_folds_are_whole_lines_without_programs(start: int) -> None:
    usable = [name for name, traced in corpus.PROGRAMS.items() if not traced.missing()]
    for name in usable[start::8]:
        text = str(corpus.PROGRAMS[name]())
        lines = text.split("\n")
        last = -1
        for fold in sorted(folds(parse(text)), key=lambda f: f.first):
            assert last < fold.first <= fold.last < len(lines)
            last = fold.last
            assert fold.names
            assert not any("lambda ;" in line for line in lines[fold.first : fold.last + 1])


# --- equations --------------------------------------------------------------

PLUMBING = """{ lambda ; a:f32[8]. let
    b:bf16[8] = convert_element_type[
      new_dtype=bfloat16
      weak_type=False
    ] a
    c:f32[8] = convert_element_type[new_dtype=float32 weak_type=False] b
    d:f32[8] = sin c
    e:f32[8] = mul d 2.0:f32[]
    f:f32[8] = mul e 3.0:f32[]
    g:f32[8] = scan[
      jaxpr={ lambda ; h:f32[8]. let
          i:f32[8] = mul h h
          j:bf16[8] = convert_element_type[new_dtype=bfloat16 weak_type=False] i
          k:f32[8] = sin i
        in (k,) }
      length=4
    ] f
  in (g,) }"""


def said(words: str, *pointed: str) -> list[str]:
    """The texts of the folds of a program in printed order; ``pointed`` are primitives."""
    printed = parse(PLUMBING)
    at = [e.start for e in printed.walk() if e.primitive in pointed]
    found = runs(printed, reasons(printed, {}, words.split(), at))
    return [run.text for run in sorted(found, key=lambda run: run.starts)]


def test_neighbours_are_folded_together_and_named() -> None:
    assert said("") == said("params") == []
    assert said("casts") == ["2 casts", "1 cast"]
    assert said("", "mul") == ["2 equations: mul", "1 equation: mul"]
    assert said("", "sin", "mul") == [
        "3 equations: 2 \u00d7 mul, sin", "1 equation: mul", "1 equation: sin",
    ]  # fmt: skip
    assert said("casts", "sin") == ["3 equations: 2 casts, sin", "2 equations: 1 cast, sin"]
    # What is in a folded equation is folded with it.
    assert said("casts", "scan") == ["2 casts", "1 equation: scan"]
    # Without the object nothing is known to be unused, whatever the text looks like.
    assert said("dead") == []


@pytest.mark.parametrize("start", range(4))
def test_unused_equations_have_no_readers_and_no_effects(start: int) -> None:
    usable = [name for name, traced in corpus.PROGRAMS.items() if not traced.missing()]
    for name in usable[start::4]:
        jaxpr = corpus.PROGRAMS[name]()
        printed = parse(facts.mask(str(jaxpr)))
        unused = reasons(printed, align(printed, collected(jaxpr)).equations, ["dead"])
        results = {
            v.index for e in printed.walk() if e.start in unused for v in e.outputs
        }  # fmt: skip
        read = {
            operand.variable.index
            for equation in printed.walk()
            if equation.start not in unused
            for operand in equation.inputs
            if operand.variable is not None
        }
        assert not results & read, name
        if printed.program is not None:
            given = {o.variable.index for o in printed.program.outputs if o.variable is not None}
            assert not results & given, name


@pytest.mark.parametrize("start", range(4))
def test_runs_are_whole_lines_that_never_overlap(start: int) -> None:
    usable = [name for name, traced in corpus.PROGRAMS.items() if not traced.missing()]
    for name in usable[start::4]:
        text = facts.mask(str(corpus.PROGRAMS[name]()))
        printed = parse(text)
        why = {e.start: POINTED for n, e in enumerate(printed.walk()) if n % 3}
        ends = {e.start: e.end for e in printed.walk()}
        last = -1
        for run in sorted(runs(printed, why), key=lambda run: run.starts):
            begin, end = run.starts[0], ends[run.starts[-1]]
            assert last < begin, name
            last = end
            before = text.rfind("\n", 0, begin) + 1
            assert not text[before:begin].strip(), name
            assert not text[end : text.find("\n", end)].strip(), name
