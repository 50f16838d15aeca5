"""What a request gives does not depend on what else its worker traced."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import pytest

from sphinx_jaxpr.tracing import fingerprint
from sphinx_jaxpr.tracing.client import Client
from sphinx_jaxpr.tracing.grammar import arguments
from sphinx_jaxpr.tracing.jobs import Job
from sphinx_jaxpr.tracing.request import Request
from sphinx_jaxpr.tracing.result import Reply
from sphinx_jaxpr.worker.isolation.isolation import meddles, words
from sphinx_jaxpr.worker.isolation.objects import Walk
from sphinx_jaxpr.worker.isolation.state import MISSING, MappingSlot, same
from tests.support import once

HERE = Path(__file__).parents[1] / "neighbours"

#: Target -> a part of what it gives alone.  Each has another that would disturb it.
ALONE = {
    # Settings of JAX, at import, before another import, lazily, inside a trace.
    "wide:f": "i64[3]",
    "narrow:f": "i32[3]",
    "wide_common:f": "i64[3]",
    "common:f": "i32[3]",
    "lazy:wide": "i64[3]",
    "lazy:narrow": "i32[3]",
    "precise:f": "Precision.HIGHEST",
    "plain:dot": "))\n      preferred",
    "rbg:f": "key<rbg>",
    "plain:key": "key<fry>",
    "strict:f": "TypePromotionError",
    "plain:promotes": "f16[3]",
    "meshed:f": "mul a 1.0",
    "plain:mesh": "mul a 0.0",
    # Settings of Python and of the system.
    "system:sets": "mul a 50000.0",
    "plain:system": "mul a 1000.0",
    "plain:collects": "mul a 1.0",
    "plain:environment": "mul a 1.0",
    "folder:f": "mul a 1.0",
    "plain:draws": "mul a 0.84442",
    "plain:draws_again": "mul a 0.84442",
    "one_helper:f": "mul a 1.0",
    "two_helper:f": "mul a 2.0",
    # What belongs to others, changed at import.
    "patches:f": "mul a 77.0",
    "plain:sine": "sin a",
    "plain:nested": "= sin a",
    "plain:root": "mul a 2.0",
    "plain:relu": "select_n",
    "edits:f": "mul a 45.0",
    "edits:g": "mul b 9.0",
    "held:function": "mul a 1.0",
    "held:registry": "mul a 0.0",
    "held:layer": "mul a 2.0",
    "held:dispatched": "mul a 1.0",
    "held:jvp": "mul a 2.0",
    "held:context": "mul a 0.333333",
    "registers:f": "mul 2.0",
    "registers_too:f": "mul 4.0",
    "tree:f": "mul 1.0",
    "package_user:f": "mul a 3.0",
    "package_guesser:f": "has no attribute 'inner'",
    "makes_module:f": "mul a 3.0",
    "wants_module:f": "in (a,)",
    "becomes:f": "mul a 2.0",
    "plain:inside": "mul a 1.0",
    "plain:zone": "mul a 0.0",
    "plain:mask": "mul a 1.0",
    "replaces:f": "mul a 3.0",
    "inherits:f": "mul a 1.0",
    "around:inherit": "mul a 0.0",
    "around:loaded": "mul a 1.0",
    "threads:f": "mul a 1.0",
    "asks:f": "sin a",
    "threaded:f": "TypePromotionError",
    "plain:debugs": "mul a 1.0",
    "plain:board": "mul a 1.0",
    # JAX looks for devices once in a process.
    "devices:f": "mul a 8.0",
    "plain:devices": "mul a 1.0",
    # What a trace leaves behind, also one that fails.
    "becomes:later": "mul a 8.0",
    "held:named": "name=scale",
    "held:order": "mul a 1.0",
    "held:raw": "mul a 2.0",
    "plain:negates": "neg a",
    "plain:prints": "mul a 4.0",
    "leaves:counts": "mul a 1.0",
    "leaves:counts_inside": "mul a 1.0",
    "leaves:keeps": "mul a 1.0",
    "leaves:notes": "mul a 1.0",
    "leaves:fills": "mul a 1.0",
    "leaves:half": "ValueError: half-way",
    "leaves:whole": "mul a 2.0",
    "leaves:cached": "add a",
    "leaves:cached_too": "mul a",
    "leaves:noise": "mul a 0.12573",
    "leaves:noise_too": "mul a 0.12573",
    # Changed by traced code, before others that were imported earlier.
    "late:kind": "in (a,)",
    "plain:digits": "mul a 3.0",
    "late:lazy": "sin a",
    "plain:erf": "erf a",
    "lends:f": "mul a 7.0",
    # A module that another takes the place of.
    "itself:f": "mul a 2.0",
    "itself:g": "mul a 3.0",
}


def trace(targets: Iterable[str]) -> tuple[dict[str, str], int]:
    """Of each target the text or the error, and how many workers it took."""
    setup = fingerprint.setup(sys.executable, [str(HERE)], {}, 0, x64=False)
    jobs = [Job(t, Request(t, args=arguments("f32[3]")), 100) for t in targets]
    jobs = [
        Job(j.key, Request(j.key, args=arguments("f32[3,3]")), 100) if j.key in SQUARE else j
        for j in jobs
    ]
    client = Client(setup)
    return {job.key: _text(reply) for job, reply in client.run(jobs)}, client.starts


SQUARE = {"precise:f", "plain:dot"}


def _text(reply: Reply) -> str:
    if reply.result is not None and reply.result.program is not None:
        return reply.result.program.text
    assert reply.error is not None
    return f"{reply.error.type}: {reply.error.message}"


ORDERS = {
    "forth": list(ALONE),
    "back": list(reversed(ALONE)),
    "shuffled": random.Random(9).sample(list(ALONE), len(ALONE)),
}


@pytest.mark.parametrize("order", ["forth", *once("back", "shuffled")])
def test_the_order_makes_no_difference(order: str) -> None:
    found, starts = trace(ORDERS[order])
    assert found.keys() == ALONE.keys()
    wrong = {target: found[target] for target, part in ALONE.items() if part not in found[target]}
    assert not wrong
    assert starts < len(ALONE) / 4


def test_alone_it_is_the_same() -> None:
    together, _ = trace(ORDERS["shuffled"])
    assert {target: trace([target])[0][target] for target in ALONE} == together


REPLACED = (
    "jax.make_jaxpr",
    "jax.sharding",
    "jax.tree",
    "jax.clear_caches",
    "jax.sharding.get_abstract_mesh",
    "jax.ShapeDtypeStruct",
    "inspect.signature",
    "json.dumps",
)


def test_what_is_needed_to_trace_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that replaces a part of JAX costs its own block at most."""
    monkeypatch.setattr(sys.modules[__name__], "HERE", tmp_path)
    targets = []
    for number, name in enumerate(REPLACED):
        text = f"import {name.partition('.')[0]}\n{name} = lambda *args, **options: None\n"
        (tmp_path / f"bad{number}.py").write_text(f"{text}def f(x):\n    return x\n", "utf-8")
        text = "import jax.numpy as jnp\ndef f(x):\n    return jnp.sin(x)\n"
        (tmp_path / f"good{number}.py").write_text(text, "utf-8")
        targets += [f"bad{number}:f", f"good{number}:f"]
    found, _ = trace(targets)
    lost = [name for number, name in enumerate(REPLACED) if "sin a" not in found[f"good{number}:f"]]
    assert not lost


def _module(text: str) -> ModuleType:
    module = ModuleType("made_for_a_test")
    exec(compile(text, "made_for_a_test.py", "exec"), vars(module))  # noqa: S102 - the text is the test's own
    return module


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x): return x + 1", False),
        ("class A:\n def __init__(self, a): self.a = a", False),
        ("import m\nm.f = 1", True),
        ("def f(m): m.f.x = 1", True),
        ("def f(m): del m.f.x", True),
        ("def f(a, b): b.x = a", True),
        ("def f():\n def g(m): setattr(m, 'x', 1)", True),
        ("from jax.interpreters import ad", True),
    ],
)
def test_code_that_may_change_what_others_hold(text: str, expected: bool) -> None:
    assert meddles(compile(text, "m.py", "exec")) is expected


def test_names_and_short_texts_of_code() -> None:
    text = "import a.b\ndef f(x):\n return getattr(x.c, 'd.e')\nT = '" + "long " * 100 + "'"
    assert words(compile(text, "m.py", "exec")) >= {"a", "b", "c", "d", "e", "getattr"}
    assert "long" not in words(compile(text, "m.py", "exec"))


def test_values_are_compared_without_running_their_code() -> None:
    class Resists:
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = None  # type: ignore[assignment]  # it cannot be hashed

    one, two = Resists(), Resists()
    assert same(one, one) and not same(one, two)
    assert same(float("nan"), float("nan")) and not same(0.0, -0.0)
    assert not same(1, True) and same((1, "a"), (1, "a"))


def test_a_mapping_is_put_back_in_its_order() -> None:
    mapping = {"a": 1, "b": 2}
    place = MappingSlot("m", mapping)
    assert place.unchanged()
    del mapping["a"]
    mapping["c"] = 3
    assert place.changes() == [("a", 1, MISSING), ("c", MISSING, 3)]
    assert place.put_back()
    assert list(mapping.items()) == [("a", 1), ("b", 2)]


def test_a_cycle_of_objects_ends() -> None:
    module = _module("a = []\nb = {'a': a}\na.append(b)\nclass C: pass\nc = C(); c.c = c")
    names = {place.name for place in Walk({}, lambda name: True).module(module)}
    assert {"made_for_a_test.a", "made_for_a_test.c"} <= names
