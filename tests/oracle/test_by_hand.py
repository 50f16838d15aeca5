"""The oracles of sentences and figures, without the product: JAX's objects, and XLA."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.oracle.language import truth
from tests.oracle.reading import Block
from tests.oracle.sentences.figures import FIGURES, Figures, by_xla, summed
from tests.oracle.sentences.model import MOST, Subject
from tests.oracle.sentences.objects import nbytes
from tests.oracle.sentences.table import TOPICS
from tests.oracle.transforms import leaf_names, tangent_places

#: What the views of objects can't read: versions, arguments without leaves, and a parameter
#: that JAX prints and no equation has.
UNREAD = ("jax ", "len(f.inputs[opt])", "f[custom_jvp_call].params[name]")

SENTENCES = [sentence for topic in TOPICS.values() for sentence in topic]


@pytest.mark.parametrize("topic", TOPICS)
def test_a_sentence_is_true_and_its_twin_is_false(topic: str) -> None:
    for sentence in TOPICS[topic]:
        assert sentence.oracle(sentence.of.programs), sentence.fact
        other, _, oracle = sentence.twin
        assert not oracle(other.programs), f"{sentence.fact} (of {other.name})"


@pytest.mark.parametrize("topic", TOPICS)
def test_an_expression_says_what_its_oracle_reads(topic: str) -> None:
    """Python's own ``eval`` of it, over views of JAX's objects."""
    for sentence in TOPICS[topic]:
        if not sentence.says.startswith(UNREAD):
            assert said_of(sentence.of, sentence.says), sentence.says
            assert not said_of(*sentence.twin[:2]), sentence.says


def said_of(subject: Subject, expression: str) -> bool:
    # The views know no old names.
    expression = expression.replace("[psum]", "[psum_invariant]")
    words = re.findall(r"\[([a-z]\w*)\]", expression)
    return bool(truth(expression, {"f": view(subject)}, words))


@cache
def view(subject: Subject) -> Block:
    """The block of a function with its variants."""
    base = _block(subject, "base")
    for label in subject.programs.chains:
        base.variants[label] = _block(subject, label, base)
    return base


def _block(subject: Subject, label: str, base: Block | None = None) -> Block:
    program = getattr(subject.programs, label).closed
    made = subject.programs.traced[label]
    names = leaf_names(made.names, made.arguments)
    return Block(program, names, tangent_places(made), base)


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
