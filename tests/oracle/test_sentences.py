"""Sentences that people write about jaxprs: each true of one function, false of another.

What is true is read from JAX's own objects (``sentences/``); the product is asked with the
expressions of the language.
"""

from __future__ import annotations

import warnings
from functools import cache

import pytest

from tests.oracle.adapter import Product
from tests.oracle.sentences import derivatives, devices, loops, structure, trees, values
from tests.oracle.sentences.model import MOST, Sentence, Subject

TOPICS = [structure, values, loops, derivatives, devices, trees]
SENTENCES = [sentence for topic in TOPICS for sentence in topic.SENTENCES]


def name(sentence: Sentence) -> str:
    return sentence.fact


each = pytest.mark.parametrize("sentence", SENTENCES, ids=name)


@cache
def product(subject: Subject) -> Product:
    """A function and its variants, traced by the product once for all its sentences."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Product(subject.function, subject.arguments, ", ".join(subject.chains))


@each
def test_oracles_tell_true_from_false(sentence: Sentence) -> None:
    assert sentence.oracle(sentence.of.programs), sentence.fact
    other, _, oracle = sentence.twin
    assert not oracle(other.programs), f"{sentence.fact} (of {other.name})"


@each
def test_the_language_says_it(sentence: Sentence) -> None:
    assert product(sentence.of).judge(sentence.says) is True
    other, says, _ = sentence.twin
    assert product(other).judge(says) is False


def test_a_fact_takes_few_characters() -> None:
    assert len(SENTENCES) >= 60
    assert [s.says for s in SENTENCES if len(s.says) > MOST and not s.long] == []
    assert [s.says for s in SENTENCES if s.long and len(s.says) <= MOST] == []
    assert len({s.fact for s in SENTENCES}) == len(SENTENCES)
