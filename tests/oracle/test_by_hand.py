"""The oracles of sentences and figures, without the product: JAX's objects, and XLA."""

from __future__ import annotations

import pytest

from tests.oracle.sentences.figures import FIGURES, Figures, by_xla, summed
from tests.oracle.sentences.model import MOST
from tests.oracle.sentences.objects import nbytes
from tests.oracle.sentences.table import TOPICS

SENTENCES = [sentence for topic in TOPICS.values() for sentence in topic]


@pytest.mark.parametrize("topic", TOPICS)
def test_a_sentence_is_true_and_its_twin_is_false(topic: str) -> None:
    for sentence in TOPICS[topic]:
        assert sentence.oracle(sentence.of.programs), sentence.fact
        other, _, oracle = sentence.twin
        assert not oracle(other.programs), f"{sentence.fact} (of {other.name})"


def test_a_fact_takes_few_characters() -> None:
    assert len(SENTENCES) >= 160
    assert [s.says for s in SENTENCES if (len(s.says) > MOST) != bool(s.long)] == []
    assert len({s.fact for s in SENTENCES}) == len(SENTENCES)


@pytest.mark.parametrize("figures", FIGURES, ids=lambda figures: figures.of.name)
def test_figures_are_those_of_objects_and_of_xla(figures: Figures) -> None:
    programs = figures.of.programs
    assert sum(map(nbytes, programs.grad.residuals)) == figures.kept
    assert sorted(map(by_xla, summed(programs.base))) == sorted(figures.base)
    assert sorted(map(by_xla, summed(programs.grad))) == sorted(figures.grad)
