"""What the environment keeps of a page: the same records, in few bytes."""

from __future__ import annotations

from typing import Any

import pytest

from sphinx_jaxpr.ext.records import (
    Asked,
    Block,
    DirectiveRecord,
    Finding,
    NamedLine,
    Note,
    PageRecords,
    Pasted,
    PrimitiveList,
    ShowRecord,
    Statement,
    packed,
    unpacked,
)
from sphinx_jaxpr.tracing.options import read_options

pytestmark = pytest.mark.once

OPTIONS = read_options("x=f32[4], w={a: (i32[], -inf), 3: 2j}", "n=inf", "grad(argnums=x) | jit")
BASE = OPTIONS.request("layers:dense", x64=True, allowed=("layers",), around=("doc",), bare=True)
REQUEST = BASE.variant(OPTIONS.transforms[0], {"grad": "own:grad"})


def is_whole(value: Any, kind: type) -> bool:
    """Whether no part of a record is a list, which JSON makes of tuples."""
    parts = value if isinstance(value, tuple) else ()
    return type(value) is kind and all(is_whole(part, type(part)) for part in parts)


def test_every_field_survives() -> None:
    finding, note = Finding("option", "wrong \ud800", "index.md", 3), Note("f[tanh]", "a.md", 4)
    block = Block("f", "", "jaxpr-f", Asked.of(REQUEST), "d", "no", False, 7, "p/f.json", True)
    pasted = Block("g", "g", "jaxpr-g", None, "e", pasted=Pasted("{ lambda ; }", "0.4"))
    directive = DirectiveRecord(
        *("index.md", 3, "f", True, (block, pasted), "auto", ("casts",), (note,), "compare", True),
        *("TypeError", float("inf"), ("wide",), "a caption", (finding,), (("args", 5),), (note,)),
        *(("layers",), ("html",), "show: none", (finding,), 3, "f", "index"),
    )
    show = ShowRecord(
        *("index.md", 9, "f.g", "all", ("dead",), (note,), "compare", True, ("wide",)),
        *("a caption", (finding,), (note,), ("html",), 4),
    )
    statement = Statement(
        *("claim", "a", "b", "c", 1, ("html",), ("jax",), "problem", "label"),
        *(("key",), ("a.md", 2)),
    )
    named = NamedLine(
        *("let", "g", ("g",), "f.grad", "a.md", 2, ("html",), ("jax",), True, "problem"),
    )
    lists = (PrimitiveList("page", 1, ("html",)),)
    page = PageRecords((directive,), lists, (statement,), (finding,), (show,), ("f.g",), (named,))
    records = (directive, block, statement, lists[0], show, named, page)
    for record in records:  # all fields were given
        assert len(record) == len(type(record)._fields)
    assert unpacked(packed(page)) == page
    assert is_whole(unpacked(packed(page)), PageRecords)
    assert unpacked(packed(PageRecords())) == PageRecords()


def test_what_is_asked_is_the_request() -> None:
    asked = Asked.of(REQUEST)
    assert asked.request == REQUEST and asked.digest == REQUEST.digest
    assert (asked.x64, asked.expects_error) == (True, False)
    assert Asked.of_json(REQUEST, REQUEST.variant_json(BASE.to_json())) == asked


def test_pages_with_alike_blocks_take_few_bytes() -> None:
    variants = [BASE.variant(chain, {}) for chain in OPTIONS.transforms] * 6
    blocks = tuple(
        Block(f"f.{n}", f"{n}", f"jaxpr-f.{n}", asked, asked.digest, lock=f"page/f.{n}.json")
        for n, asked in enumerate(map(Asked.of, variants))
    )
    directive = DirectiveRecord("/home/me/docs/index.md", 3, "f", False, blocks)
    one = len(packed(PageRecords((directive,))))
    many = len(packed(PageRecords((directive,) * 10)))
    assert (many - one) / 9 / len(blocks) < 40
