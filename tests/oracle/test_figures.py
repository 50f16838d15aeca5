"""Bytes and operations as the product knows them, against figures made by hand and XLA's."""

from __future__ import annotations

import pytest

from tests.oracle.adapter import asked
from tests.oracle.sentences.figures import FIGURES, FORMS, Figures, by_xla, summed
from tests.oracle.sentences.model import Subject

SUMMED = 'e.kind in ("contraction", "convolution")'


@pytest.mark.parametrize("figures", FIGURES, ids=lambda figures: figures.of.name)
def test_it_says_what_is_kept(figures: Figures) -> None:
    assert asked(figures.of).ask("sum(v.bytes for v in f.grad.residuals)") == figures.kept


@pytest.mark.parametrize("figures", FIGURES, ids=lambda figures: figures.of.name)
def test_it_says_what_contractions_cost(figures: Figures) -> None:
    for block, wanted in (("f", figures.base), ("f.grad", figures.grad)):
        flops = asked(figures.of).ask(f"[e.flops for e in {block}.all if {SUMMED}]")
        assert sorted(flops) == sorted(wanted), block


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_other_forms_cost_what_xla_says(form: Subject) -> None:
    (equation,) = summed(form.programs.base)
    name = equation.primitive.name
    assert asked(form).ask(f"f[{name}].flops") == by_xla(equation)
