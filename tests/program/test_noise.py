"""Which lines of parameters are folded away."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from sphinx_jaxpr.program.noise import folds
from sphinx_jaxpr.program.printed import parse
from tests.program import corpus

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
