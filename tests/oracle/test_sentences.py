"""Sentences that people write about jaxprs, said in the language: the product judges them.

Each is true of one function and false of another (``sentences/``); ``test_by_hand.py``
holds that without the product.
"""

from __future__ import annotations

import pytest

from tests.oracle.adapter import asked
from tests.oracle.sentences.model import Sentence
from tests.oracle.sentences.table import TOPICS


def misjudged(sentence: Sentence) -> list[str]:
    """What the product says of a sentence and of its twin, where that isn't right."""
    claims = [(sentence.of, sentence.says, True), (*sentence.twin[:2], False)]
    verdicts = [(of, says, asked(of).judge(says), right) for of, says, right in claims]
    return [
        f"{says}\n    of {of.name} ({right}: {sentence.fact}): {verdict}"
        for of, says, verdict, right in verdicts
        if verdict is not right
    ]


# A topic is one test, so that its functions are traced once.
@pytest.mark.parametrize("topic", TOPICS)
def test_the_language_says_it(topic: str) -> None:
    wrong = [line for sentence in TOPICS[topic] for line in misjudged(sentence)]
    assert not wrong, "\n".join([f"{len(wrong)} wrong of {2 * len(TOPICS[topic])}:", *wrong])
