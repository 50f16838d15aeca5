"""What other extensions may use: every name is documented, and works without blocks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from sphinx.errors import ExtensionError

from sphinx_jaxpr.ext import api
from sphinx_jaxpr.ext.links import ShownIds

#: Constants and types of functions have no docstrings: the reference page has words for them.
CONSTANTS = {"HIDDEN", "PLAIN", "Visitors"}


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
    blocks = [
        SimpleNamespace(name="dense", identity="jaxpr-dense", shown=False),
        SimpleNamespace(name="dense.grad", identity="jaxpr-dense.grad", shown=True),
        SimpleNamespace(name="dense.grad", identity="jaxpr-dense.grad-2", shown=True),
    ]
    ids = ShownIds()
    ids.show_blocks("index", {"jaxpr-dense.grad": "jaxpr-dense.grad-7"})
    domain = SimpleNamespace(
        all_directives={"index": [SimpleNamespace(blocks=blocks)]},
        ids=ids,
        digests=SimpleNamespace(current={"index": "abc"}),
    )
    env: Any = SimpleNamespace(get_domain=lambda name: domain)
    index = api.ProjectBlocks(env)
    assert index.ids("index") == {"dense.grad": "jaxpr-dense.grad"}
    assert index.shown_id("index", "dense.grad") == "jaxpr-dense.grad-7"
    assert index.shown_id("index", "dense") == "" and index.ids("other") == {}
    assert (index.page_digest("index"), index.page_digest("other")) == ("abc", None)
