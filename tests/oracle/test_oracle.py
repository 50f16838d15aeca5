"""A part of the oracle's run, seeded; the whole is ``make oracle``."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.oracle import claims, facts, pages
from tests.oracle.corpus import corpus, trace
from tests.oracle.functions import CASES
from tests.oracle.phases import Phases
from tests.oracle.reading import Block
from tests.oracle.report import Report
from tests.oracle.runs import MOST_MISSED, Run

#: Facts of the printed text and of the object, beside those that have a test of their own.
FACTS = (
    "len ops shape dtype type size bytes weak varying value origin uses read_count calls params"
    " kind index effects variables inputs outputs consts wiring readers selection slices same"
    " operands contracts flops residuals reads depends"
).split()
REFUSED = [
    "closed words", "kinds", "nothing", "slices", "skipped", "no program", "two blocks",
    "one of many",
]  # fmt: skip


@pytest.fixture(scope="module")
def report() -> Report:
    """One run over a third of the functions, with few transforms each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Run(share=0.09, functions=0.3, claims=40, pages=0, loops=6, analysed=8, seed=3)()


def problems(report: Report, *kinds: str) -> str:
    """What was wrong, as text; some of each kind."""
    return "\n".join(line for kind in kinds for line in report.of(kind)[:4])


def test_it_looks_at_much(report: Report) -> None:
    for kind, least in {"wiring": 3000, "shape": 2000, "params": 1500, "phase": 700}.items():
        assert report.checked[kind] > least, kind
    assert report.checked["claims"] > 900
    assert abs(report.skipped["true claims"] / report.checked["claims"] - 0.5) < 0.1
    assert report.checked["verbatim"] > 40
    assert report.checked["missed"] > 60
    assert not report.wrong["crash"], problems(report, "crash")


@pytest.mark.parametrize("kind", FACTS)
def test_facts(report: Report, kind: str) -> None:
    assert report.checked[kind]
    assert not report.wrong[kind], problems(report, kind)


def test_operations_are_those_that_xla_counts(report: Report) -> None:
    assert report.checked["as XLA"] > 40
    assert not report.wrong["as XLA"], problems(report, "as XLA")


def test_programs_at_any_depth(report: Report) -> None:
    assert report.checked["all"] > 500
    assert not report.wrong["all"] + report.wrong["nested"], problems(report, "all", "nested")


def test_names_of_leaves(report: Report) -> None:
    assert not report.wrong["names"], problems(report, "names")


def test_phases(report: Report) -> None:
    assert not report.wrong["phase"], problems(report, "phase")


def test_verdicts_of_claims(report: Report) -> None:
    assert not report.wrong["claims"], problems(report, "claims")


def test_values_that_reviewers_are_shown(report: Report) -> None:
    assert report.checked["values"] > 900
    assert report.skipped["values"] < report.checked["values"] / 4
    assert not report.wrong["sides"] + report.wrong["values"], problems(report, "sides", "values")


@pytest.mark.parametrize("rule", REFUSED)
def test_refusals(report: Report, rule: str) -> None:
    kind = f"refused: {rule}"
    assert report.checked[kind] > 5
    assert not report.wrong[kind], problems(report, kind)


def test_headers(report: Report) -> None:
    assert report.checked["headers"] > 60
    assert not report.wrong["headers"], problems(report, "headers")


def test_nothing_that_stands_there_is_removed(report: Report) -> None:
    assert not report.wrong["marks"] + report.wrong["verbatim"], problems(
        report, "marks", "verbatim"
    )


def test_the_base_is_found_in_its_variants(report: Report) -> None:
    missed = report.wrong["missed"] / report.checked["missed"]
    assert missed <= MOST_MISSED, problems(report, "missed")
    assert not report.wrong["paired"], problems(report, "paired")


@pytest.mark.slow
def test_pages(tmp_path: Path) -> None:
    found = Report()
    pages.build(tmp_path, corpus(0.05, 4, 0.03), 30, found, 4)
    assert found.checked["pages"] > 60
    assert not found.problems, "\n".join(found.problems[:6])


# -- the oracle itself


def test_another_program_is_told_apart() -> None:
    """What the product says of one function is false of another."""
    one, two = trace(CASES["squares"], []), trace(CASES["powers"], [])
    mixed = Report()
    two.product = one.product
    facts.check(two, mixed)
    assert mixed.wrong["ops"]


def test_claims_are_told_apart() -> None:
    one, two = trace(CASES["reduced"], ["vmap"]), trace(CASES["reduced"], ["jvp"])
    found = facts.check(two, Report())
    one.blocks["f"].variants.clear()
    two.product = trace(CASES["shaped"], ["jvp"]).product
    mixed = Report()
    claims.check(two, found, mixed, 30)
    assert mixed.wrong["claims"] > 5
    assert mixed.wrong["values"] > 5


@pytest.mark.parametrize(("name", "tangents"), [("decayed", 3), ("looped_between", 4)])
def test_tangents_reach_the_fixed_point_of_a_loop(name: str, tangents: int) -> None:
    """A carry that begins as a number becomes a tangent in the second round."""
    block = trace(CASES[name], ["jvp"]).blocks["f.jvp"]
    loop = next(e for e in block if e.primitive in ("scan", "while"))
    body = loop.body_jaxpr if loop.primitive == "while" else loop.jaxpr
    assert sum(e.phase == "tangent" for e in body) == tangents
    if loop.primitive == "while":
        assert {e.phase for e in loop.cond_jaxpr} == {"forward"}


def test_a_scope_of_the_users_is_no_phase() -> None:
    block = trace(CASES["named"], []).base
    assert isinstance(block, Block)
    assert isinstance(block.phases, Phases)
    assert {e.phase for e in block.all} == {""}
