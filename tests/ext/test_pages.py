"""What Sphinx pickles of our domains: where a bit of it flips, all pages are read again."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sphinx_jaxpr.ext.judging.domain import JaxprDomain
from sphinx_jaxpr.ext.pages import PageDigests, PageDomain
from sphinx_jaxpr.ext.records import PageRecords, Statement, packed
from sphinx_jaxpr.lesson.domain import LessonDomain

pytestmark = pytest.mark.once

CLAIM = Statement("claim", "len(dense) == 7", "seven", "index.md", 3)


class _App:
    """An application and its environment, as far as a domain needs them."""

    def __init__(self, kind: type[PageDomain]) -> None:
        self.handlers: dict[str, Any] = {}
        self.env: Any = SimpleNamespace(
            domaindata={}, all_docs={"index": 1}, found_docs={"index", "other"},
            get_domain=lambda name: self.domain,
        )  # fmt: skip
        kind.connect(self)  # type: ignore[arg-type] # all that it asks for

    def add_domain(self, kind: type[PageDomain]) -> None:
        self.domain = kind(self.env)

    def connect(self, event: str, handler: Any, priority: int = 500) -> None:
        self.handlers[event] = handler

    def emit(self, event: str, *more: Any) -> Any:
        return self.handlers[event](self, self.env, *more)

    def outdated(self) -> list[str]:
        return list(self.emit("env-get-outdated", set(), set(), set()))


def test_another_claim_than_was_read_is_not_believed() -> None:
    """``==`` and ``<=`` differ by a bit."""
    app = _App(JaxprDomain)
    pages = app.domain.data["pages"]
    pages["index"] = packed(PageRecords(statements=(CLAIM,)))
    app.emit("env-updated")
    app.domain.data["judged"] = "has a digest of its own"
    assert app.outdated() == []
    other = CLAIM._replace(expression="len(dense) <= 7")
    pages["index"] = packed(PageRecords(statements=(other,)))
    assert app.outdated() == ["index", "other"]
    assert app.domain.data["pages"] == {} and app.domain.data["judged"] == ""
    app.emit("env-updated")
    assert app.outdated() == []


@pytest.mark.parametrize("kind", [JaxprDomain, LessonDomain])
def test_data_that_is_gone_is_missed(kind: type[PageDomain]) -> None:
    app = _App(kind)
    assert app.outdated() == ["index", "other"]  # no digest, but pages that were read
    app.env.all_docs.clear()
    assert app.outdated() == []  # a new environment has read none
    app.env.all_docs["index"] = 1
    app.emit("env-updated")
    for part in kind.initial_data:
        app.domain.data[part + "x"] = app.domain.data.pop(part)
        assert app.outdated() == ["index", "other"], part
        assert part in app.domain.data
        app.emit("env-updated")


def test_what_cannot_be_replaced_is_of_any_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digests of pages in a folder that gives no right to write are those of an older build."""
    builder = SimpleNamespace(name="html")
    app: Any = SimpleNamespace(
        builder=builder, outdir="out", env=SimpleNamespace(found_docs={"index"})
    )
    written = PageDigests(app, tmp_path, {"index": "shown"})
    written.resolved.add("index")
    assert written.outdated() == ["index"]
    written.keep()
    assert written.outdated() == []
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert written.outdated() == ["index"]
