"""What a build keeps of the programs it read: some, not all, and each is there again when asked."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sphinx_jaxpr.block import TracedBlock
from sphinx_jaxpr.ext.judging.names.scopes import Scopes
from sphinx_jaxpr.ext.judging.recent import RecentBlocks
from sphinx_jaxpr.ext.judging.session import BuildSession
from sphinx_jaxpr.program.query.evaluate import judge
from tests.ext.sessions import TEXT, Results, arrived, directive, result, session_of

pytestmark = pytest.mark.once


def key(number: int) -> tuple[str, str, str, str]:
    return str(number), str(number), "f", ""


def test_the_blocks_unused_for_longest_are_dropped() -> None:
    blocks = RecentBlocks(most=3 * (len(TEXT) + 200))
    every = [TracedBlock("f", result=result()) for _ in range(4)]
    for number in range(3):
        blocks.add(key(number), every[number])
    assert blocks.is_full
    assert blocks.get(key(0)) is every[0]
    blocks.add(key(3), every[3])
    del every[1]
    assert [blocks.get(key(n)) for n in range(4)] == [every[0], None, *every[1:]]
    blocks.drop(key(0))
    blocks.drop(key(0))
    blocks.drop(key(2))
    assert not blocks.is_full
    blocks.drop(key(3))
    assert blocks.size == 0


def test_one_block_is_kept_however_long_it_is() -> None:
    blocks = RecentBlocks(most=10)
    for number in range(2):
        blocks.add(key(number), TracedBlock("f", result=result()))
        assert blocks.get(key(number)) is not None
    assert blocks.get(key(0)) is None
    same = TracedBlock("f", result=result())
    blocks.add(key(1), same)
    assert blocks.get(key(1)) is same
    assert blocks.size == len(TEXT) + 200


def test_a_block_that_somebody_holds_is_not_made_a_second_time() -> None:
    blocks = RecentBlocks(most=10)
    base, other = (TracedBlock("f", result=result()) for _ in range(2))
    variant = TracedBlock("f.vmap", "vmap", result=result(), base=base)
    blocks.add(key(0), base)
    blocks.add(key(1), variant)
    blocks.add(key(2), other)
    assert blocks.size == len(TEXT) + 200
    assert blocks.get(key(0)) is variant.base
    assert blocks.size == len(TEXT) + 200
    del base, variant
    blocks.add(key(2), other)
    assert blocks.get(key(1)) is None


@pytest.mark.parametrize(
    "claim",
    [
        "all(e in f0 for e in f0 if len(f1) > 0)",
        "len(f0) == 2 and f0.vmap.removed == [e for e in f0 if len(f1.vmap) > 0]",
    ],
)
def test_an_expression_reads_one_program_however_few_are_kept(claim: str) -> None:
    session = session_of(Results(variant="{ lambda ; a:f32[]. let b:f32[] = tan a in (b,) }"))
    session._blocks = RecentBlocks(most=1)
    directives = [directive(number) for number in range(2)]
    arrived(session, directives)
    pages = {"page": directives}
    scope = Scopes(session, pages, pages).of("page", claim)
    assert judge(claim, scope).is_true


@pytest.fixture
def store() -> Results:
    return Results()


@pytest.fixture
def session(store: Results) -> BuildSession:
    return session_of(store)


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """How many of the blocks that were made are still in memory."""
    blocks: list[weakref.ref[TracedBlock]] = []
    before = TracedBlock.__init__

    def init(self: TracedBlock, *args: Any, **more: Any) -> None:
        before(self, *args, **more)
        blocks.append(weakref.ref(self))

    monkeypatch.setattr(TracedBlock, "__init__", init)

    def count() -> int:
        gc.collect()
        return sum(block() is not None for block in blocks)

    yield count


def test_a_build_keeps_some_programs_however_many_it_reads(
    session: BuildSession,
    store: Results,
    alive: Callable[[], int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "_blocks", RecentBlocks(20 * (len(TEXT) + 200)))
    directives = [directive(number) for number in range(200)]
    arrived(session, directives)
    for each in directives:
        session.mend((each, block) for block in each.blocks)
        base, variant = session.traced_blocks(each).values()
        assert variant.base is base
        assert variant.header_words == ["2 \u2192 2 equations", "keeps all 2 equations"]
    assert alive() <= 20
    assert len(store.read) == 400  # each once
    again = session.traced(directives[0], directives[0].blocks[1])
    assert again.text == TEXT
    assert alive() <= 22


def test_a_page_that_was_shown_lets_go_of_its_programs(
    session: BuildSession, alive: Callable[[], int]
) -> None:
    directives = [directive(number) for number in range(3)]
    arrived(session, directives)
    for each in directives:
        for traced in session.traced_blocks(each).values():
            assert traced.printed.program is not None
    del traced
    assert alive() == 6
    session.release(directives[:2])
    assert alive() == 2
    session.release(directives)
    assert alive() == 0


def test_a_block_takes_no_more_memory_than_the_limit_assumes() -> None:
    lines = "".join(f"\n    v{n + 1}:f32[8,16] = sin v{n}" for n in range(500))
    text = f"{{ lambda ; v0:f32[8,16]. let{lines}\n  in (v500,) }}"
    base, variant = (TracedBlock("f", result=result(text)) for _ in range(2))
    variant.base = base
    tracemalloc.start()
    for block in (base, variant):
        assert block.header
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / (2 * len(text)) < 100  # bytes a character
