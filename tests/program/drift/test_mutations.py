"""Levels of drift of random programs after changes whose meaning is known."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from sphinx_jaxpr.program.drift import compare as comparison
from sphinx_jaxpr.program.drift.compare import Drift
from sphinx_jaxpr.program.drift.levels import Level
from sphinx_jaxpr.program.model import Operand, Program, Variable
from sphinx_jaxpr.program.parser.parser import parse
from tests.program.drift.mutations import (
    MUTATIONS,
    Mutation,
    body,
    equal_read,
    has_twins,
    recorded,
    reordered,
    somewhere,
)
from tests.program.record_versions import FOLDER
from tests.program.recordings import recording

pytestmark = pytest.mark.once


def compare(old: dict[str, Any], new: dict[str, Any]) -> Drift:
    return comparison.compare(recording(old), recording(new))


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


def others(text: str) -> Iterator[tuple[Operand, Variable]]:
    """Each operand of a printed program with each other value of its type that is bound above."""
    printed = parse(text)
    assert printed.program is not None
    todo: list[Program] = [printed.program, *(program for _, program in printed.shared)]
    while todo:
        program = todo.pop()
        bound = [*program.constants, *program.inputs]
        for equation in (*program.equations, None):
            for operand in equation.inputs if equation else program.outputs:
                for value in bound:
                    old = operand.variable
                    if old and value.index != old.index and value.type == old.type != "":
                        yield operand, value
            if equation:
                bound += [v for v in equation.outputs if v.name != "_"]
                todo += equation.programs


def test_another_value_is_noticed_in_programs_of_jax() -> None:
    choose, tried = random.Random(11), 0
    for file in sorted(FOLDER.glob("*.json")):
        recordings: dict[str, dict[str, Any]] = json.loads(file.read_text("utf-8"))
        for name, old in recordings.items():
            text = old["text"]
            found = list(others(text)) if len(text) < 4000 else []
            for operand, value in choose.sample(found, min(4, len(found))):
                end = operand.start + len(operand.text)
                new = {**old, "text": text[: operand.start] + value.name + text[end:]}
                tried += 1
                assert compare(old, new).level >= Level.RENAMED, (name, operand, value)
    assert tried > 200
