"""Every printed equation gets the facts of the equation object that it shows."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.program.facts import Facts, align
from sphinx_jaxpr.program.matching.numbering import bare
from sphinx_jaxpr.program.parser.parser import parse
from sphinx_jaxpr.worker.facts import facts
from tests.program import corpus
from tests.program.recordings import collected

#: Programs with equations that text and object show differently, and why.
PARTIAL = {
    "own equation long": "a value with a line that looks like an equation",
    "pallas masked": "masked loads and stores print as get and swap",
    "root": "newer JAX prints the name of a class, the object has another",
}


def usable() -> list[str]:
    return [name for name, traced in corpus.PROGRAMS.items() if not traced.missing()]


@pytest.mark.parametrize("start", range(6))
def test_facts_are_those_of_the_equation(start: int) -> None:
    """All programs of the corpus, in six shares."""
    unaligned = []
    for name in usable()[start::6]:
        jaxpr = corpus.PROGRAMS[name]()
        printed = parse(facts.mask(str(jaxpr)))
        found = align(printed, collected(jaxpr)).equations
        for equation in printed.walk():
            if equation.start not in found:
                unaligned.append((name, equation.primitive))
                continue
            known = found[equation.start]
            assert known.primitive == equation.primitive, name
            shown = [bare(v.type) for v in equation.outputs if v.name != "_" and v.type]
            types = [bare(kind) for kind in known.types]
            assert all(kind in types for kind in shown), (name, shown, types)
    assert not [pair for pair in unaligned if pair[0] not in PARTIAL]


def test_a_text_that_is_not_of_the_object_gets_no_facts() -> None:
    jaxpr = corpus.PROGRAMS[usable()[0]]()
    known = collected(jaxpr)
    assert align(parse("no program"), known).equations == {}
    assert align(parse("{ lambda ; a:f32[]. let  in (a,) }"), known).equations == {}
    assert align(parse(str(jaxpr)), Facts()).equations == {}
