"""Levels of drift of random programs after changes whose meaning is known."""

from __future__ import annotations

import random

import pytest

from sphinx_jaxpr.program.drift import compare
from sphinx_jaxpr.program.levels import Level
from tests.program.mutations import (
    MUTATIONS,
    Mutation,
    body,
    equal_read,
    has_twins,
    recorded,
    reordered,
    somewhere,
)

pytestmark = pytest.mark.once


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_no_change_is_judged_too_mildly(mutation: Mutation) -> None:
    choose = random.Random(mutation.__name__)
    least, tried = MUTATIONS[mutation], 0
    while tried < 100:
        program = body(choose)
        changed = somewhere(choose, program, mutation)
        if changed is None or changed == program:
            continue
        tried += 1
        old, new = recorded(program), recorded(changed, "w")
        found = compare(old, new)
        assert found.level >= least, (old["text"], new["text"], found)
        assert found.level is compare(new, old).level, (old["text"], new["text"])
        # Where values are equal, equations in another order may be exchanged results.
        if mutation is equal_read or (mutation is reordered and not has_twins(program)):
            assert found.level is Level.RENAMED, (old["text"], new["text"], found)


def test_letters_are_printing() -> None:
    choose = random.Random(3)
    for _ in range(100):
        program = body(choose)
        assert compare(recorded(program), recorded(program)).level is Level.SAME
        assert compare(recorded(program), recorded(program, "w")).level is Level.PRINTING
