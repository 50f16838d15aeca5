"""What other extensions may use: every name is documented, and works without blocks."""

from __future__ import annotations

import pkgutil
import re
from types import SimpleNamespace
from typing import Any

import pytest
from sphinx.errors import ExtensionError

from sphinx_jaxpr.ext import api
from sphinx_jaxpr.ext.builders.check import CheckBuilder
from sphinx_jaxpr.ext.builders.lock import JaxprLock, JaxprRecord
from sphinx_jaxpr.ext.judging.events import BLOCK_TRACED, FIGURE
from sphinx_jaxpr.ext.links import ShownIds
from tests.support import PROJECT

#: Constants and types of functions have no docstrings: the reference page has words for them.
CONSTANTS = {"HIDDEN", "PLAIN", "Visitors"}


def test_what_the_page_says_is_public_can_be_imported() -> None:
    page = (PROJECT / "docs" / "reference" / "public.md").read_text("utf-8")
    listed = re.findall(r"`(sphinx_jaxpr(?:\.\w+)*)`", page.partition("## Sphinx")[0])
    assert len(set(listed)) == 7
    for name in listed:
        thing = pkgutil.resolve_name(name)
        for public in getattr(thing, "__all__", ()):
            assert hasattr(thing, public), f"{name}.{public}"
    assert all(hasattr(pkgutil.resolve_name(name), "__all__") for name in listed[:3])
    builders = [CheckBuilder.name, JaxprLock.name, JaxprRecord.name]
    for name in (BLOCK_TRACED, FIGURE, *builders):
        assert f"`{name}`" in page


@pytest.mark.parametrize("name", sorted({*api.__all__} - CONSTANTS))
def test_every_name_is_documented(name: str) -> None:
    value = getattr(api, name)
    assert value.__doc__ and not value.__doc__.startswith(f"{name}(")
    for member, method in vars(value).items() if isinstance(value, type) else ():
        if callable(method) and not member.startswith("_"):
            assert method.__doc__, f"{name}.{member}"


def test_a_project_without_blocks_has_none() -> None:
    def get_domain(name: str) -> None:
        raise ExtensionError(f"no domain {name}")

    env: Any = SimpleNamespace(get_domain=get_domain)
    index = api.ProjectBlocks(env)
    assert (index.ids("index"), index.shown_id("index", "dense")) == ({}, "")
    assert index.page_digest("index") is None


def test_blocks_of_a_page() -> None:
    ids = ShownIds()
    ids.show_blocks("index", {"jaxpr-dense.grad": "jaxpr-dense.grad-7"})
    domain = SimpleNamespace(
        ids_on=lambda page: {"dense.grad": "jaxpr-dense.grad"} if page == "index" else {},
        ids=ids,
        digests=SimpleNamespace(current={"index": "abc"}),
    )
    env: Any = SimpleNamespace(get_domain=lambda name: domain)
    index = api.ProjectBlocks(env)
    assert index.ids("index") == {"dense.grad": "jaxpr-dense.grad"}
    assert index.shown_id("index", "dense.grad") == "jaxpr-dense.grad-7"
    assert index.shown_id("index", "dense") == "" and index.ids("other") == {}
    assert (index.page_digest("index"), index.page_digest("other")) == ("abc", None)
