"""Work that is done while the worker traces: what has arrived, in order, and not too much."""

from __future__ import annotations

import pytest

from sphinx_jaxpr.block import TracedBlock
from sphinx_jaxpr.ext.judging.recent import RecentBlocks
from sphinx_jaxpr.ext.judging.session import BuildSession
from sphinx_jaxpr.ext.showing import ahead
from sphinx_jaxpr.ext.showing.ahead import Ahead
from tests.ext.sessions import TEXT, Results, arrived, directive, session_of

pytestmark = pytest.mark.once


@pytest.fixture
def store() -> Results:
    return Results()


@pytest.fixture
def session(store: Results) -> BuildSession:
    return session_of(store)


def is_computed(block: TracedBlock) -> bool:
    return "header" in vars(block)


def test_what_has_arrived_is_computed_in_the_order_of_the_pages(
    session: BuildSession, store: Results
) -> None:
    directives = [directive(number) for number in range(3)]
    session._tracing = {block.digest for each in directives for block in each.blocks}
    work = Ahead(session, directives)
    assert not work()
    arrived(session, directives[1:2])  # a later one has to wait for the first
    assert not work()
    arrived(session, directives[:1])
    assert [work() for _ in range(5)] == [True] * 4 + [False]
    assert store.read == ["0 ", "0 vmap", "1 ", "1 vmap"]
    arrived(session, directives[2:])
    assert [work() for _ in range(3)] == [True, True, False]
    assert all(is_computed(b) for each in directives for b in session.traced_blocks(each).values())
    assert len(store.read) == 6


def test_what_this_build_does_not_trace_is_left_alone(
    session: BuildSession, store: Results
) -> None:
    directives = [directive(number) for number in range(3)]
    arrived(session, directives)
    session._tracing = {directives[2].blocks[1].digest}
    work = Ahead(session, directives)
    assert [work(), work()] == [True, False]
    assert store.read == ["2 ", "2 vmap"]  # the variant is matched with its base


def test_it_ends_before_blocks_that_are_needed_soon_are_dropped(
    session: BuildSession, store: Results
) -> None:
    directives = [directive(number) for number in range(30)]
    arrived(session, directives)
    session._tracing = {block.digest for each in directives for block in each.blocks}
    session._blocks = RecentBlocks(20 * (len(TEXT) + 200))
    work = Ahead(session, directives)
    assert [work() for _ in range(16)] == [True] * 15 + [False]
    assert len(store.read) == 15
    session.release(directives)
    assert work()


def test_long_programs_are_left_to_their_pages(
    session: BuildSession, store: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    directives = [directive(0)]
    arrived(session, directives)
    session._tracing = {block.digest for block in directives[0].blocks}
    monkeypatch.setattr(ahead, "LONGEST", len(TEXT) - 1)
    work = Ahead(session, directives)
    assert [work() for _ in range(3)] == [True, True, False]
    assert not any(map(is_computed, session.traced_blocks(directives[0]).values()))
