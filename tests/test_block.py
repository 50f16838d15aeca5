"""One traced block is read once, whoever asks."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from sphinx_jaxpr import block as blocks
from sphinx_jaxpr.block import TracedBlock
from sphinx_jaxpr.ext.judging.session import PAGES, BuildSession
from sphinx_jaxpr.ext.records import Asked, Block, DirectiveRecord
from sphinx_jaxpr.program.drift.compare import compare
from sphinx_jaxpr.program.drift.levels import Level
from sphinx_jaxpr.program.facts import Facts
from sphinx_jaxpr.program.query import blocks as query
from sphinx_jaxpr.program.query.evaluate import evaluate
from sphinx_jaxpr.program.query.scope import Scope
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import ErrorKind, Result, TracedProgram, TraceError
from sphinx_jaxpr.tracing.store import Seen

BASE = "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = tanh b in (c,) }"
VARIANT = "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = cos a in (b, c) }"


def result(text: str, **fields: Any) -> Result:
    return Result("0.10.2", program=TracedProgram(text, (), (), Facts()), **fields)


def pair() -> tuple[TracedBlock, TracedBlock]:
    args = (("x", "f32[]"),)
    base = TracedBlock("f", result=result(BASE, call="f", args=args))
    variant = TracedBlock("f.g", "g", result=result(VARIANT, call="g(f)", args=args), base=base)
    return base, variant


def test_what_is_asked_twice_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for module, name in ((blocks, "parse"), (query, "align"), (query, "match")):
        original = getattr(module, name)

        def counted(*args: Any, name: str = name, original: Any = original) -> Any:
            calls.append(name)
            return original(*args)

        monkeypatch.setattr(module, name, counted)
    base, variant = pair()
    scope = Scope({block.name: block.query for block in (base, variant)})
    for _ in range(2):
        assert variant.header_words == ["2 \u2192 2 equations", "drops tanh"]
        assert [equation.primitive for equation in variant.dropped] == ["tanh"]
        assert ("added", "c") in variant.marks()
        assert variant.phases == []
        assert variant.inputs.leaves == ("x",)
        assert variant.about == ["x: f32[]", "JAX 0.10.2"]
        assert evaluate("ops(f.g.added) == ['cos'] and len(f) == 2", scope).is_true
        assert compare(base, variant).level is Level.PROGRAM
    assert sorted(calls) == ["align", "align", "match", "parse", "parse"]


def test_a_block_without_a_program_says_why() -> None:
    error = TraceError(ErrorKind.TRACE, "no\nmore", "ValueError", ("ValueError",))
    expected = TracedBlock("f", result=Result(error=error), raises="ValueError: no")
    assert expected.is_expected and not expected.unmet and not expected.has_program
    assert expected.query.error == ("ValueError", "no")
    other = TracedBlock("f", result=Result(error=error), raises="TypeError")
    assert not other.is_expected and "expected TypeError" in other.unmet
    failed = TracedBlock("f", failure=error)
    assert failed.query.failed and failed.error is error and failed.raises is None
    none = TracedBlock("f", result=result(BASE), raises="ValueError")
    assert none.unmet == "expected ValueError, but no error occurred"
    assert compare(expected, failed).level is Level.SAME
    assert compare(expected, pair()[0]).level is Level.PROGRAM


def test_reading_a_damaged_result_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error to whoever reads it; ``mend`` traces it again before."""
    store: Any = SimpleNamespace(
        fresh=lambda key, raises: Seen("a", ""), load=lambda key: None, installed=None
    )
    storage: Any = SimpleNamespace(
        store=store, key=lambda digest, x64: "k" * 40, starts_over=False, flush=lambda: None
    )
    settings: Any = SimpleNamespace(mode="trace", total_timeout=math.inf, timeout=3.0)
    none: Any = None
    session = BuildSession(settings, none, storage, PAGES)
    block = Block("f", "", "jaxpr-f", Asked.of(Request("m:f")), "d")
    directive = DirectiveRecord("index.md", 1, "f", True, (block,))
    started: list[list[str]] = []
    monkeypatch.setattr(
        BuildSession, "_trace", lambda _, jobs: started.append([*jobs[False], *jobs[True]])
    )
    session.prepare([directive])
    assert started == [[]]
    failure = session.traced(directive, block).error
    assert failure is not None and failure.message == "its stored result is damaged"
    assert started == [[]]
    session.mend([(directive, block)])
    assert started == [[], ["d"]]
